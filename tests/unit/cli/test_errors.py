"""Errors are one sentence and an exit code; files are written atomically; processes stop on signals."""

import ast
import gzip
import io
import os
import re
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import treewise as tw
from treewise.cli.app import VERBS, app, run_guarded
from treewise.cli.options import ENSEMBLE_OPTIONS, GROW_OPTIONS
from treewise.cli.output import encode_for, write_file
from treewise.cli.param_types import in_options, option_name
from treewise.errors import Call, Message, Param, ParameterError, PythonOnly


def command_line(*args, **settings):
    """Start the real command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "treewise", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **settings
    )


# -- errors and exit codes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("grwo penguins", 2, 'no verb "grwo". Did you mean "grow"?'),
        ("grow penguins --max-dept 3", 2, "--max-depth"),
        (
            "grow",
            2,
            "DATA is missing. Usage: treewise grow DATA",
        ),
        (
            "stump penguins species",
            2,
            "unexpected argument: species. Usage: treewise stump DATA --target COLUMN",
        ),
        ("grow penguins --max-depth x", 2, "--max-depth"),
        ("grow penguins --max-depth -1", 2, "--max-depth -1: must be a whole number, 0 or more."),
        ("grow penguins --max-features 0", 2, "a share of them above 0 and up to 1.\n"),
        ("grow penguins --min-samples-leaf none", 2, "neither a number of rows nor a share"),
        ("grow penguins --kind island", 2, "is not COLUMN=KIND"),
        ("grow penguins --targt species", 2, "no option --targt. Did you mean --target or --task? Help: treewise grow"),
        ("grow penguins --max-depth x", 2, '--max-depth: "x" is not a whole number. Help: treewise grow --help'),
        ("trace penguins --unit x", 2, '--unit: "x" is not one of bits, nats.'),
        ("grow penguins --target", 2, "--target needs a value."),
        ("subgroups penguins.json", 2, "DATA, the table of rows, is missing: treewise subgroups penguins.json DATA."),
        ("stability penguins.json", 2, "DATA is missing"),
        (
            "grow https://example.com/a.csv --target y",
            3,
            "https://example.com/a.csv is an address, and",
        ),
        (
            "grow penguins --kind island=category",
            2,
            'for column "island". Did you mean "nominal"?',
        ),
        ("grow penguins --kind island=nominl", 2, 'Did you mean "nominal"?'),
        ("grow penguins --class-weight Adelie=x", 2, '"Adelie=x" is not CLASS=WEIGHT, such as yes=5'),
        ("grow penguins --class-weight Emperor=2", 2, "Emperor"),
        ("grow penguins --class-weight Adelle=2", 2, 'Did you mean "Adelie"?'),
        ("grow penguins -o tree.dot", 2, "tree.dot: a tree is saved as a model (.json) or as text to edit (.txt)"),
        ("grow penguins -o tree", 2, "a tree is saved as a model (.json)"),
        ("predict good.json penguins -o out.xlsx", 2, "no format is known for .xlsx. Known endings are .csv"),
        ("data penguins -o out.xlsx", 2, "no format is known for .xlsx"),
        ("predict hand.txt --row GPA=3", 3, "treewise: the row stops at node 0, which has no branch for its"),
        ("grow penguins --criterion squared_error", 2, "--criterion squared_error: this criterion is for regression"),
        ("grow penguins --preset id4", 2, "--preset"),
        ("grow penguins --target specie", 3, 'no column "specie" in penguins. Did you mean "species"?'),
        ("grow penguins --ignore isle", 3, '--ignore: no column "isle"'),
        ("grow penguins --kind isle=nominal", 3, '--kind: no column "isle"'),
        ("grow penguins --pruning gain:threshold=-1", 2, "--pruning gain:threshold=-1: must be a number 0 or more."),
        ("prune hand.txt --method gain", 2, "--method gain needs the training rows of each node"),
        ("prune hand.txt --method cost_complexity --ccp-alpha 1", 2, "cost-complexity pruning needs the training"),
        (
            "grow penguins --class-weight even",
            2,
            'must be "balanced" or weights by class, such as --class-weight Gentoo=2.',
        ),
        ("grow penguins --kind sex=vague", 2, 'or the levels in their order, such as --kind "sex=low<high".'),
        ("explain good.json --row island=Dream --shap", 3, "An unknown value can be left empty: COLUMN="),
        (
            "importance good.json penguins --measure cost",
            2,
            "the tree has no costs; treewise grow --cost gives it some",
        ),
        ("grow admissions --class-weight Q=3", 2, '--class-weight names "Q"; the classes are N, P.'),
        ("grow nothing.csv --target y", 3, 'no file "nothing.csv"'),
        ("grow penguins --missing error", 3, "missing"),
        ("grow penguins -o no/such/folder/m.json", 2, 'there is no folder "no/such/folder"'),
        ("show m.json", 4, 'no file "m.json"'),
        ("show damaged.json", 4, "damaged"),
        ("show words.txt", 4, "words.txt line 1"),
        ("show picture.json", 4, "is not a model"),
        ("predict words.txt penguins", 4, "line"),
        ("predict penguins.csv good.json", 2, "MODEL comes first, then DATA"),
        ("predict - -", 2, "cannot both come from standard input"),
        ("predict good.json good.json", 3, "is a model, not a table"),
        ("evaluate good.json rows.csv", 3, 'no column "species"'),
        ("trace penguins --unit bytes", 2, "--unit"),
        ("trace penguins --all", 2, "--all is for the rows of a round, with --round N."),
        ("trace boosted.json admissions --round 4", 2, "--round 4: must be the number of a round, 1 to 3."),
        ("extend boosted.json admissions --trees 0 -o more.json", 2, "--trees 0: must be a whole number, from 1 to"),
        ("importance good.json penguins --repeats 0", 2, "--repeats 0: must be a whole number, from 1 to"),
        ("evaluate good.json penguins --fail-under 0.5", 2, '"0.5" is not NAME=NUMBER, such as accuracy=0.85.'),
        ("grow penguins --target body_mass_g --drop-missing-target --cost a:b=2", 2, "--cost: regression has no"),
        ("data nothing", 3, 'no file "nothing" or built-in table'),
    ],
)
def test_errors_are_one_sentence(run, tmp_path, line, code, message):
    tw.grow("penguins", max_depth=1).save(tmp_path / "good.json")
    tw.adaboost("admissions", n_estimators=3).save(tmp_path / "boosted.json")
    tmp_path.joinpath("damaged.json").write_text('{"format": 1, "nodes": ')
    tmp_path.joinpath("picture.json").write_bytes(b"\x89PNG\xff")
    tmp_path.joinpath("words.txt").write_text("hello world\n")
    tmp_path.joinpath("hand.txt").write_text("GPA = 4.0 -> P\nGPA = 3.5 -> N\n")
    tmp_path.joinpath("rows.csv").write_text("flipper_length_mm\n200\n")
    result = run(line)
    assert result.code == code, result
    assert result.out == ""
    last = result.err.splitlines()[-1]
    assert last.startswith("treewise: ")
    assert message in result.err, result.err
    assert len([text for text in result.err.splitlines() if text.startswith("treewise:")]) == 1
    assert not re.search(r"\b(max_depth|drop_missing_target|na_values)=", result.err)


def test_a_fault_of_ours_is_one_sentence_too(run, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr(import_module("treewise.train.grow"), "grow_training_set", broken)
    result = run("grow penguins")
    assert result.code == 70
    assert re.search(
        r"treewise: ZeroDivisionError in test_errors.py line \d+: division\. This is a bug in treewise",
        result.err,
    )


def test_every_call_in_a_message_has_a_form_for_the_command_line():
    """A ``Call`` names Python code; the command line must know the verb or the option that does the same."""
    source = "\n".join(path.read_text() for path in Path(tw.__file__).parent.rglob("*.py"))
    codes = {ast.literal_eval(code) for code in re.findall(r"\bCall\((\"[^\"]*\"|'[^']*')\)", source)}
    assert len(codes) >= 4
    for code in codes:
        assert in_options(Message(Call(code))) != code
    assert re.findall(r"\bCall\((?!\"|'|method\)|Reference\))[^)]*\)", source) == []


def test_stopped_by_hand(capsys):
    def stop():
        raise KeyboardInterrupt

    assert run_guarded(stop) == 130
    assert re.search(r"treewise: stopped by Ctrl-C after 0\.\d s; nothing was written\.", capsys.readouterr().err)


def test_control_characters_cannot_reach_the_terminal(run, tmp_path):
    tmp_path.joinpath("t.csv").write_text("\x1b[31mx,y\n1,a\x07\n2,b\n")
    for line in ("grow t.csv --target y -o m.json", "show m.json --summary", "evaluate m.json t.csv --paths"):
        result = run(line)
        assert result.code == 0
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", result.out + result.err), line
    bad = run("grow 'no\x1b[31m.csv'")
    assert "\x1b" not in bad.err


# -- messages -----------------------------------------------------------------------------------------


def test_messages_in_the_words_of_the_command_line():
    assert in_options("If missing: " + Param("na_values", ["n/d"]) + ".") == 'If missing: --na "n/d".'
    assert in_options(Message(Param("drop_missing_target", True))) == "--drop-missing-target"
    assert in_options(Message(Param("header", False))) == "--no-header"
    assert in_options(Message(Param("target", "last name"))) == '--target "last name"'
    assert in_options(Message(Param("target", ...))) == "--target COLUMN"
    assert in_options(Message(Param("ignore", ["customer id"]))) == '--ignore "customer id"'
    assert in_options(Message(Param("kinds", {"size": ["S", "M", "L"]}))) == '--kind "size=S<M<L"'
    assert in_options("must be 0 or more" + PythonOnly(", or None for no limit") + ".") == "must be 0 or more."
    assert in_options(Message(Param("class_weight", {"yes": 5}))) == "--class-weight yes=5"
    assert in_options("First " + Call("tree.refit(data)") + ".") == "First treewise refit MODEL DATA."
    assert in_options(ParameterError("must be 1 or more.", parameter="max_depth", value=-1).message) == (
        "--max-depth -1: must be 1 or more."
    )


def test_user_data_is_not_taken_for_parameters(run, tmp_path):
    tmp_path.joinpath("cell.csv").write_text("x,y\n" + "1,a\n2,b\n" * 20 + "n=3,a\n")
    assert 'column "x": 40 numbers and 1 cell that is not, "n=3" in row 41' in run("grow cell.csv --target y").err
    tmp_path.joinpath("name.csv").write_text("max_depth,y\n" + "1,a\n2,b\n" * 20 + "deep,a\n")
    result = run("grow name.csv --target y")
    assert 'column "max_depth": 40 numbers and 1 cell that is not, "deep"' in result.err
    assert "--kind max_depth=nominal" in result.err
    assert "--max-depth" not in result.err


def test_every_option_can_be_named():
    """A message of the Python interface names parameters; where a verb has an option for one, it is that option."""
    ours = {"output", "ensemble", "trees", "keep", "fail_under", "fail_over", "what"}  # of the command line alone
    for verb in VERBS:
        for option in app.get_command(None, verb).params:
            flag = max(option.opts, key=len)
            if (
                flag[2:].replace("-", "_") == option.name
                and option.name not in ours
                and not getattr(option, "is_flag", False)
            ):
                assert option_name(option.name) == flag, verb
    for each in (*GROW_OPTIONS, *ENSEMBLE_OPTIONS):
        assert option_name(each.parameter) == each.name


def test_ascii_stands_in_where_the_terminal_has_nothing_else():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    assert encode_for("12 − [4·H(0/4)] · → ├─ naïve", stream) == "12 - [4*H(0/4)] | -> |- na\\xefve"


def test_output_without_unicode():
    completed = subprocess.run(
        [sys.executable, "-m", "treewise", "grow", "admissions", "--preset", "id3"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=True,
    )
    assert b"|- GPA = 3.5                 -> N" in completed.stdout
    assert completed.stdout.isascii()
    assert completed.stderr.isascii()


# -- files --------------------------------------------------------------------------------------------


def test_files_are_written_at_once_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "m.json"
    path.write_text("old")
    path.chmod(0o640)
    write_file(path, b"new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(tw.DataError, match="no space left on device"):
        write_file(path, b"newer")
    assert path.read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


@pytest.mark.parametrize(
    "line",
    [
        "predict m.json t.csv -o m.json",
        "predict m.json t.csv -o ./t.csv",
        "predict m.json t.csv -o link.csv",
        "predict m.json --row a=1 -o m.json --format json",
        "trace m.json t.csv -o m.json",
        "trace m.json t.csv -o t.csv --format csv",
        "trace t.csv --target y -o t.csv",
        "grow t.csv --target y -o t.csv",
        "grow t.txt --target y -o t.txt",
    ],
)
def test_what_is_read_is_not_overwritten(run, tmp_path, line):
    for name in ("t.csv", "t.txt"):
        (tmp_path / name).write_text("a,y\n1,no\n2,yes\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "t.csv")
    assert run("grow t.csv --target y -o m.json -q").code == 0
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    result = run(line)
    assert result.code == 2
    assert "it is also an input. Give the output another name." in result.err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_output_that_is_no_input_may_be_written_again(run):
    assert run("grow xor -o m.json -q").code == 0
    assert run("grow xor -o m.json -q").code == 0
    assert run("predict m.json xor -o /dev/null --format csv").code == 0


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    write_file(tmp_path / "link.json", b"new")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_text() == "new"


def test_packed_tables(run, tmp_path):
    tmp_path.joinpath("p.csv.gz").write_bytes(gzip.compress(run("data penguins --rows").out.encode()))
    assert "344 rows" in run("grow p.csv.gz --target species --max-depth 1").err


# -- the real process ---------------------------------------------------------------------------------


def test_python_dash_m_and_standard_input():
    with command_line("grow", "-", "--target", "y", stdin=subprocess.PIPE) as process:
        out, err = process.communicate(b"x,y\n1,a\n2,b\n")
    assert process.returncode == 0
    assert b"x <= 1.5" in out
    assert err.startswith(b"standard input   2 rows")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe_is_no_error(tmp_path, unbuffered):
    rows = "".join(f"{i},{i * 7919 % 2003 % 2}\n" for i in range(2000))
    tmp_path.joinpath("t.csv").write_text("x,y\n" + rows)
    words = ["grow", "t.csv", "--target", "y", "--all", "-q"]
    with command_line(*words, cwd=tmp_path, env={**os.environ, "PYTHONUNBUFFERED": unbuffered}) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize("words", ["grow penguins -q -o out.json", "prune m.json --max-depth 3 -q -o out.json"])
def test_a_model_is_saved_before_its_page_is_printed(model, tmp_path, words):
    """Whoever reads the page may close it early."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        completed = subprocess.run(
            [sys.executable, "-m", "treewise", *words.split()],
            check=False,
            stdout=closed,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
        )
    assert (completed.returncode, completed.stderr) == (141, b"")
    assert tw.load(tmp_path / "out.json").n_leaves > 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a full disk to try")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [["grow", "penguins", "-q"], ["data", "penguins"], ["--help"], ["grow", "-h"]])
def test_a_full_disk_is_reported(words, unbuffered):
    with open("/dev/full", "wb") as full:
        completed = subprocess.run(
            [sys.executable, "-m", "treewise", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    assert completed.returncode == 3
    assert completed.stderr.decode() == "treewise: the output cannot be written: No space left on device.\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a full disk to try")
def test_a_full_disk_is_reported_of_a_file_too(run):
    completed = run("grow penguins -q --max-depth 1 -o /dev/full")
    assert completed.code == 3
    assert "cannot save /dev/full: no space left on device. Nothing was saved." in completed.err


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send to one process")
def test_ctrl_c_stops_a_long_growth(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 10**9, (120_000, 12))
    lines = [
        ",".join(map(str, row)) + f",{label}"
        for row, label in zip(rows.tolist(), rng.integers(0, 2, 120_000), strict=True)
    ]
    tmp_path.joinpath("t.csv").write_text(",".join(f"x{i}" for i in range(12)) + ",y\n" + "\n".join(lines) + "\n")
    with command_line("grow", "t.csv", "--target", "y", "-o", "m.json", cwd=tmp_path) as process:
        assert any(line.startswith(b"task") for line in process.stderr)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    assert re.fullmatch(r"treewise: stopped by Ctrl-C after \d+\.\d s; nothing was written\.", err.decode().strip())
    assert time.monotonic() - started < 5
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_standard_input_from_the_output_file_is_refused(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("x,y\n1,a\n2,b\n")
    with (
        table.open("rb") as redirected,
        command_line("grow", "-", "--target", "y", "-o", str(table), stdin=redirected) as p,
    ):
        _, message = p.communicate()
    assert p.returncode == 2
    assert b"it is also an input" in message
    assert table.read_text() == "x,y\n1,a\n2,b\n"
