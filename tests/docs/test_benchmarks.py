"""The benchmarks run on a few rows and report what was measured."""

import json
import re

import numpy as np
import pytest
from benchmarks.__main__ import main
from benchmarks.coverage.__main__ import main as measure_coverage
from benchmarks.coverage.measured import Measured
from benchmarks.coverage.parts import PARTS
from benchmarks.exports import differences
from benchmarks.exports import main as compare_exports
from benchmarks.peers import LEARNERS
from benchmarks.report import draw_times, growth_table, times_table
from benchmarks.workloads import WORKLOADS, load_table, store_table


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda w: w.name)
def test_a_table_is_the_same_each_time_and_has_rows_held_out(workload, tmp_path):
    homes = [store_table(workload, 200, tmp_path / name) for name in "ab"]
    (x, y, x_new, y_new), again = (load_table(home, 200) for home in homes)
    assert all(np.array_equal(a, b) for a, b in zip((x, y, x_new, y_new), again, strict=True))
    assert (len(x), len(y), len(x_new), len(y_new)) == (200, 200, 20, 20)
    assert x.shape[1] in (20, 50, 100)


def test_our_times_are_measured_and_written(tmp_path, capsys):
    words = [word for workload in ("W1 depth 8", "W3", "W9") for word in ("--workload", workload)]
    main(
        [
            *words,
            "--rows",
            "600",
            "--peers",
            "none",
            "--rounds",
            "1",
            "--repeat",
            "1",
            "--seconds",
            "0",
            "--write",
            str(tmp_path),
        ]
    )
    printed = capsys.readouterr().out
    assert len(re.findall(r"^  treewise .* wall .* nodes", printed, re.MULTILINE)) == 3
    assert re.search(r"one row +\d+\.\d us", printed)
    page = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert [line.split("|")[2].strip() for line in page.splitlines() if line.startswith("| W")] == ["treewise"] * 3


def test_unknown_names_are_refused(capsys):
    for words in (["--peers", "weka"], ["--workload", "W70"]):
        with pytest.raises(SystemExit):
            main(words)
        assert "known are" in capsys.readouterr().err


def test_ratios_are_to_our_time():
    ours = {"wall": 0.5, "cpu": 0.9, "peak": 10.0, "nodes": 3, "quality": 0.75}
    message = times_table({"W2": {"treewise": ours, "ydf": {**ours, "wall": 6.0}}}, {"W2": "floats"})
    assert "| ydf | 6 | 0.9 | 12.0 | 10 | 3 | 0.7500 |" in message
    kept = {**ours, "kept": 40.0, "file": 21.4}
    assert "| 0.7500 | 40 | 21 |" in times_table({"W6": {"treewise": kept}}, {"W6": "a forest"})
    assert "| W1 | 1,024 | 0.001 | 97.7 |" in growth_table({"W1": {1024: 0.001}})


@pytest.mark.filterwarnings("error")
def test_the_picture_shows_what_was_measured_and_nothing_else(tmp_path):
    pytest.importorskip("matplotlib")
    times, growth = {"W2": {"treewise": {"wall": 0.5}}}, {"W1": {1024: 0.001, 2048: 0.003}}
    for name, found, grown in (("both", times, growth), ("times", times, {}), ("growth", {}, growth)):
        draw_times(found, grown, tmp_path / f"{name}.svg")
        text = (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
        assert [f'id="axes_{k}"' in text for k in (1, 2)] == [True, name == "both"]
    draw_times({}, {}, tmp_path / "none.svg")
    assert not (tmp_path / "none.svg").exists()


def test_treewise_comes_first_and_names_differ():
    assert LEARNERS[0].name == "treewise"
    assert len({one.name for one in LEARNERS}) == len(LEARNERS)
    assert len({workload.name for workload in WORKLOADS}) == len(WORKLOADS)


def test_pruning_is_measured_beside_growth(capsys):
    from benchmarks.pruning import main

    main(600)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines if not line.startswith(" ")] == ["classes", "numbers"]
    assert all("× growth" in line for line in lines if line.startswith(" "))


def test_accuracy_beside_scikit_learn_is_printed_by_table_and_method(tmp_path, capsys):
    from benchmarks.forest_accuracy import TABLES
    from benchmarks.forest_accuracy import main as compare

    rng = np.random.default_rng(0)
    for real in TABLES:
        x, word = rng.normal(size=60).round(2), rng.choice(["a", "b"], 60)
        y = (x * 3).round(1) if real.regression else np.where(x > 0, "1", "2")
        lines = [f"{a},{b},{c}" for a, b, c in zip(x, word, y, strict=True)]
        lines[3] = f",{word[3]},{y[3]}"  # a missing number
        head = [f"x,word,{real.target}"] if real.header else []
        (tmp_path / real.file).write_text("\n".join([*head, *lines]) + "\n")
    compare([str(tmp_path), "--seeds", "2", "--trees", "5"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [
        [real.file, method] for real in TABLES for method in ("forest", "extra_trees")
    ]
    for line in lines[1:]:
        as_it_is, ours, theirs = map(float, line.split()[2:5])
        assert max(as_it_is, ours, theirs) < 0.5
        assert float(line.split()[5]) == pytest.approx(ours - theirs, abs=1.5e-4)


def test_single_trees_are_compared_table_by_table_and_a_stopped_run_continues(tmp_path, capsys):
    from benchmarks.tree_accuracy import main as compare

    rng = np.random.default_rng(0)
    names, x = rng.integers(0, 90, 120), rng.normal(size=120)
    rows = [f"car {i},{a:.3f},{3 * a + rng.normal():.2f}" for i, a in zip(names, x, strict=True)]
    (tmp_path / "mpg.csv").write_text("\n".join(["name,weight,mpg", *rows]) + "\n")
    words = [str(tmp_path), "--splits", "2", "--tables", "mpg", "--save", str(tmp_path / "found.json")]
    compare(words)
    head, _, line, *rest = capsys.readouterr().out.splitlines()
    cells = dict(zip(head.split(" | "), line.split(" | "), strict=True))
    errors = {name: float(cells[name].split()[0]) for name in ("cv", "test", "without names", "sklearn min")}
    assert errors["cv"] == errors["without names"]  # a column of names costs nothing
    assert max(errors.values()) < 2
    assert any(text.startswith("Names cost on mpg: +0.0000") for text in rest)
    parsed = json.loads((tmp_path / "found.json").read_text())
    assert len(parsed["mpg"]["cv"]) == 2
    (tmp_path / "found.json").write_text(json.dumps({"mpg": {**parsed["mpg"], "cv": [[9.0, 1], [9.0, 1]]}}))
    compare(words)
    assert "| 9 (1) |" in capsys.readouterr().out


def test_the_root_of_tables_without_signal_is_counted(monkeypatch, capsys):
    from benchmarks import selection

    monkeypatch.setattr(selection, "SITUATIONS", [(200, 50)])
    selection.main(["--tables", "12"])
    lines = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| `")]
    shares = {(cells[0].strip("| `"), cells[1]): [float(cell) for cell in cells[4:7]] for cells in lines}
    assert shares["gain", "classes"] == shares["gain", "numbers"] == [0, 0, 1]
    assert shares["priced", "classes"][2] == shares["priced", "numbers"][2] == 0
    assert all(sum(found) == pytest.approx(1, abs=0.002) for found in shares.values())


def test_same_models_compares_saved_files_and_on_request_only_the_models(monkeypatch, capsys, tmp_path):
    from benchmarks import same_models

    import treewise as tw

    golden = same_models.GOLDEN / "1-subset.json"  # in the format of an earlier version

    class OldFile:
        def save(self, path):
            path.write_bytes(golden.read_bytes())

    def run(action, folder, python, _path):
        folder.mkdir(exist_ok=True)
        monkeypatch.setattr(same_models, "grown_models", lambda _tw: builds[python])
        {"--save": same_models.save_models, "--resave": same_models.resave_models}[action](folder)

    xor, subset = tw.grow("xor"), tw.load(golden)
    builds = {
        "old": [("a", lambda: xor), ("b", OldFile), ("c", lambda: xor), ("d", lambda: xor)],
        "new": [("a", lambda: xor), ("b", lambda: subset), ("c", lambda: xor.prune(max_depth=1))],
    }
    monkeypatch.setattr(same_models, "run", run)
    monkeypatch.setattr(same_models, "GOLDEN", tmp_path)
    outputs = []
    for arguments, code in (["new", "new"], 0), (["old", "new"], 1), (["old", "new", "--resave"], 1):
        assert same_models.main(arguments) == code
        outputs.append([line.strip() for line in capsys.readouterr().out.splitlines()])
    head = "3 models, 0 of them refused, "
    assert outputs == [[head + "0 differ"], [head + "3 differ", "b", "c", "d"], [head + "2 differ", "c", "d"]]


def test_same_models_grows_at_least_fifty_and_reads_golden_files():
    from benchmarks.same_models import GOLDEN, grown_models

    import treewise as tw

    names = [name for name, _ in grown_models(tw)]
    assert len(names) == len(set(names)) >= 50
    assert list(GOLDEN.glob("*.json"))


@pytest.mark.parametrize("part", PARTS)
def test_coverage_is_measured_for_every_part(part, capsys, monkeypatch):
    monkeypatch.setattr("benchmarks.coverage.chosen_size.SIZES", (150,))
    tables = "1" if part in ("size", "losses") else "2"  # too few to judge
    assert measure_coverage([part, "--tables", tables]) in (0, 1)
    lines = capsys.readouterr().out.splitlines()[2:]
    assert lines
    assert all(line.startswith(f"| {part} |") for line in lines)


@pytest.mark.parametrize(
    ("share", "promise", "holds"),
    [
        (0.95, "interval", True),
        (0.9, "interval", False),
        (0.05, "p-value", True),
        (0.2, "p-value", False),
        (0.2, "", True),
    ],
)
def test_a_figure_holds_within_the_range_of_its_promise(share, promise, holds):
    assert Measured("part", "figure", "table", share, 10_000, promise).holds is holds


def test_our_exports_of_models_of_scikit_learn_agree_on_every_row(capsys):
    compare_exports(["--rows", "60", "--model", "tree", "--tool", "m2cgen"])
    lines = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if "treewise" in line]
    assert len(lines) >= 3
    assert all(cells[2:] == ["0 (0)", "0 (0)", "0 (0) |"] for cells in lines)


def test_differences_are_counted_by_row():
    truth = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]])
    actual = np.array([[0.25, 0.75], [0.5, 0.5 + 1e-9], [np.nan, np.nan]])
    assert differences(actual, truth) == (2, 2)  # of the second row the class differs
    assert differences(truth, truth) == (0, 0)
