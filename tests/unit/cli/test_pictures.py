"""Charts of evaluations, importances and gains on the command line, and their errors."""

import sys

import pytest


def test_pictures_of_an_evaluation(run, tmp_path):
    run("grow noisy --max-depth 3 -q -o m.json")
    plain = run("evaluate m.json noisy")
    result = run("evaluate m.json noisy --picture roc=r.svg --picture confusion=c.png")
    assert result.code == 0
    assert result.out == plain.out
    assert result.err.splitlines() == ["roc → r.svg", "confusion → c.png"]
    assert b"<svg" in tmp_path.joinpath("r.svg").read_bytes()
    assert tmp_path.joinpath("c.png").read_bytes().startswith(b"\x89PNG")


def test_what_goes_wrong_is_reported_before_anything_is_written(run, tmp_path):
    run("grow noisy --max-depth 2 -q -o m.json")
    run("grow penguins --max-depth 2 -q -o p.json")
    run("grow penguins --target body_mass_g --drop-missing-target --max-depth 2 -q -o n.json")
    before = sorted(tmp_path.iterdir())
    for words, message in {
        "m.json noisy --picture rok=r.png": 'no picture "rok". Did you mean "roc"? There are confusion, roc,',
        "m.json noisy --picture roc": '"roc" is not WHAT=FILE with a picture\'s ending, such as roc=roc.png',
        "m.json noisy --picture roc=r.gif": "is not WHAT=FILE with a picture's ending",
        "m.json noisy --picture roc=no/r.png": 'cannot write no/r.png: there is no folder "no".',
        "p.json penguins --picture roc=r.png": "is for two classes, and there are 3",
        "n.json penguins --drop-missing-target --picture roc=r.png": "is for classes, and this predicts numbers.",
    }.items():
        result = run(f"evaluate {words}")
        assert (result.code, result.out) == (2, ""), result
        assert message in result.err
    assert sorted(tmp_path.iterdir()) == before


def test_importances_and_gains_by_the_ending_of_their_file(run, model, tmp_path):
    result = run(f"importance {model} -o i.svg")
    assert (result.code, result.out, result.err) == (0, "", "→ i.svg\n")
    result = run(f"importance {model} penguins --repeats 2 -o j.png")
    assert (result.code, result.out, result.err.splitlines()[-1]) == (0, "", "→ j.png")
    result = run(f"trace {model} penguins --column island --node 1 -o g.pdf")
    assert (result.code, result.out, result.err) == (0, "", "node 1 → g.pdf\n")
    heads = [tmp_path.joinpath(name).read_bytes()[:5] for name in ("i.svg", "j.png", "g.pdf")]
    assert heads == [b"<svg ", b"\x89PNG\r", b"%PDF-"]
    result = run(f"trace {model} penguins --node 2 --column species -o h.png")
    assert (result.code, tmp_path.joinpath("h.png").exists()) == (3, False)


@pytest.mark.parametrize(
    "words",
    [
        "curve none.csv --target y -o c.png",
        "draw none.csv --target y -o t.pdf",
        "evaluate none.json none.csv --picture roc=r.png",
        "importance none.json -o i.svg",
        "regions none.csv -o r.png",
        "trace none.csv --target y --column x -o g.png",
    ],
)
def test_that_matplotlib_is_missing_is_reported_before_any_work(run, monkeypatch, words):
    for name in [m for m in sys.modules if m.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run(words)
    assert 'matplotlib, which is not installed: pip install "treewise[plot]"' in result.err
    assert "none" not in result.err


def test_names_of_files_steer_no_terminal(run, model):
    for words in (
        "evaluate {m} penguins --picture 'confusion=\x1b[31m.svg'",
        "importance {m} -o '\x1b[31m.svg'",
        "importance {m} -o '\x1b[31m.csv'",
        "regions {m} penguins -o '\x1b[31m.svg'",
        "trace {m} penguins --column island -o '\x1b[31m.svg'",
    ):
        result = run(words.format(m=model))
        assert (result.code, "\\x1b[31m." in result.err, "\x1b" in result.err) == (0, True, False), (words, result)
