"""Standard streams and signals: closed streams, terminals, SIGTERM, Ctrl-C while Python is still loading."""

import os
import random
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import treewise as tw

UNIX = pytest.mark.skipif(os.name == "nt", reason="closes descriptors and sends signals as Unix does")
LONG = bool(os.environ.get("TREEWISE_LONG"))
COMMAND = f"{sys.executable} -m treewise"


def shell(line, folder):
    """Run a command line in a shell."""
    return subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, timeout=120, check=False)


# -- closed streams ----------------------------------------------------------------------------------------


@UNIX
@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_does_not_stop_a_model_from_being_saved(tmp_path, closed):
    completed = shell(f"{COMMAND} grow penguins --max-depth 2 -o m.json {closed}", tmp_path)
    assert completed.returncode == 0, completed.stderr
    assert len(tw.load(tmp_path / "m.json")) > 2
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]
    completed = shell(f"{COMMAND} predict m.json penguins -o p.csv {closed}", tmp_path)
    assert completed.returncode == 0, completed.stderr
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 345


@UNIX
def test_a_closed_standard_input_is_named(tmp_path):
    for line, expected in (("grow - --target y", "a table"), ("show -", "a model"), ("predict - penguins", "a model")):
        completed = shell(f"{COMMAND} {line} <&-", tmp_path)
        assert completed.returncode == 3
        assert completed.stderr == f"treewise: standard input is closed; {expected} was expected.\n"


@UNIX
def test_a_result_without_a_place_is_an_error(tmp_path):
    tw.grow("penguins", max_depth=2).save(tmp_path / "m.json")
    for line in ("predict m.json penguins", "show m.json", "rules m.json", "data penguins"):
        completed = shell(f"{COMMAND} {line} >&-", tmp_path)
        assert completed.returncode == 3, line
        assert completed.stderr.endswith(
            "treewise: standard output is closed, and the result is lost. Name a file with -o.\n"
        )


# -- terminals ---------------------------------------------------------------------------------------------

HOSTILE = "\x1b]0;owned\x07\x1b[2Jevil\u202etxt"


def on_terminal(words, folder):
    """Run a command on a terminal of its own and return all bytes that it writes there."""
    import pty

    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "NO_COLOR": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "treewise", *words],
        cwd=folder, env=environment, stdin=child, stdout=child, stderr=child,
    ) as process:  # fmt: skip
        os.close(child)
        written = b""
        try:
            while piece := os.read(parent, 65536):
                written += piece
        except OSError:  # the other end is closed
            pass
    os.close(parent)
    return process.returncode, written.decode()


@UNIX
@pytest.mark.parametrize("form", ["csv", "json", "jsonl", "text"])
def test_predictions_on_a_terminal_hold_no_control_characters(tmp_path, form):
    data = {"x": [1, 2, 3, 4], "note": [HOSTILE, "a", "b", "c"], "y": ["fine", "fine", HOSTILE, HOSTILE]}
    tw.grow(data, "y", ignore=["note"]).save(tmp_path / "m.json")
    (tmp_path / "t.jsonl").write_text('{"x": 1, "note": "\\u001b[2J"}\n{"x": 4, "note": "\\u202e"}\n')
    words = ["predict", "m.json", "t.jsonl", "--proba", "--keep", "note", "--format", form]
    code, written = on_terminal(words, tmp_path)
    assert code == 0, written
    assert "evil" in written
    assert not set(written) - set("\r\n") & set(map(chr, [*range(32), 127, 0x202E]))
    piped = shell(f"{COMMAND} {' '.join(words[:-1])} csv", tmp_path).stdout
    assert HOSTILE in piped  # data is data


@UNIX
def test_binary_output_is_not_written_to_a_terminal(tmp_path):
    tw.grow("penguins", max_depth=2).save(tmp_path / "m.json")
    code, written = on_terminal(["predict", "m.json", "penguins", "--format", "parquet"], tmp_path)
    assert code == 2
    assert "not text, and is not written to a terminal. Name a file with -o." in written


# -- formulas ----------------------------------------------------------------------------------------------


def test_safe_csv_guards_text_that_a_spreadsheet_evaluates(run, tmp_path):
    evil = '=HYPERLINK("http://x","y")'
    tw.grow({"x": [1, 2], "y": [evil, "+1+cmd"]}, "y").save(tmp_path / "m.json")
    (tmp_path / "t.csv").write_text("x,-n\n1,-5\n2,@sum\n")
    plain = run("predict m.json t.csv --keep=-n").out
    assert plain == '-n,prediction\n-5,"=HYPERLINK(""http://x"",""y"")"\n@sum,+1+cmd\n'
    guarded = run("predict m.json t.csv --keep=-n --safe-csv").out
    assert guarded == '\'-n,prediction\n-5,"\'=HYPERLINK(""http://x"",""y"")"\n\'@sum,\'+1+cmd\n'
    assert "'=HYPERLINK" in run("rules m.json --format csv --safe-csv").out
    assert "'=HYPERLINK" not in run("rules m.json --format csv").out
    rules = tw.load(tmp_path / "m.json").rules()
    assert rules.to_csv(safe_csv=True) == run("rules m.json --format csv --safe-csv").out


# -- signals -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long_table(tmp_path_factory):
    """A table that takes seconds to read, to grow on and to predict."""
    folder = tmp_path_factory.mktemp("long")
    rng = np.random.default_rng(0)
    n = 60_000
    labels = rng.integers(0, 2, n)
    rows = np.column_stack([rng.integers(0, 10**9, (n, 12)), labels])
    header = ",".join([*(f"x{i + 1}" for i in range(12)), "y"])
    np.savetxt(folder / "t.csv", rows, fmt="%d", delimiter=",", header=header, comments="")
    tw.grow(rows[:20_000, :12], labels[:20_000]).save(folder / "m.json")
    return folder


LONG_COMMANDS = {
    "grow": "grow t.csv --target y -o new.json -q",
    "forest": "grow t.csv --target y --ensemble forest --n-estimators 200 -o new.json -q",
    "predict": "predict m.json t.csv -o new.csv",
    "report": "report m.json t.csv -o new.html",
    "save": "grow t.csv --target y -o m.json -q",
}


def signalled(folder, line, number, delay):
    """Start a command, send it a signal and return its exit status and messages."""
    with subprocess.Popen(
        [sys.executable, "-m", "treewise", *line.split()],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        time.sleep(delay)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    return process.returncode, err


@UNIX
@pytest.mark.parametrize("name", list(LONG_COMMANDS))
def test_sigterm_ends_a_command_with_143_and_leaves_no_partial_file(long_table, name):
    rng = random.Random(name)
    old = (long_table / "m.json").read_bytes()
    for _ in range(20 if LONG else 2):
        code, err = signalled(long_table, LONG_COMMANDS[name], signal.SIGTERM, rng.uniform(0.3, 3.0))
        assert code in (0, 143, -signal.SIGTERM), err  # -15: before the handler was there
        if code == 143:
            assert re.fullmatch(r"treewise: stopped by SIGTERM after \d+\.\d s; .*\.\n", err), err
        left = {path.name for path in long_table.iterdir()}
        assert left <= {"t.csv", "m.json", "new.json", "new.csv", "new.html"}, left
        if "new.json" in left:
            tw.load(long_table / "new.json")
        for path in long_table.glob("new.*"):
            path.unlink()
        if (long_table / "m.json").read_bytes() != old:
            tw.load(long_table / "m.json")
            (long_table / "m.json").write_bytes(old)


@UNIX
def test_a_signal_to_end_that_was_lost_is_repeated(monkeypatch):
    from treewise.cli import app

    class Dropping:
        def __del__(self):
            signal.raise_signal(signal.SIGTERM)

    def work():
        [Dropping()].clear()
        time.sleep(30)
        return 0

    monkeypatch.setattr(app, "_SIGNAL_REPEAT_SECONDS", 0.2)
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)]
    try:
        app._handle_termination()
        assert app.run_guarded(work) == 143
    finally:
        for number, handler in zip((signal.SIGTERM, signal.SIGHUP, signal.SIGALRM), before, strict=True):
            signal.signal(number, handler)


@UNIX
def test_a_process_that_ignores_sighup_goes_on(tmp_path):
    line = f"trap '' HUP; {COMMAND} grow penguins -o m.json -q & sleep 0.3; kill -HUP $!; wait $!"
    assert shell(line, tmp_path).returncode == 0
    assert (tmp_path / "m.json").exists()


@UNIX
def test_ctrl_c_while_python_is_loading_shows_no_traceback(tmp_path):
    """From the first line of ours on; Python's own start-up cannot be guarded."""
    program = "import sys, time; print('started', flush=True); from treewise.cli import main; main()"
    rng = random.Random(3)
    seen = set()
    for _ in range(100 if LONG else 12):
        with subprocess.Popen(
            [sys.executable, "-c", program, "grow", "penguins"],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            assert process.stdout.readline() == "started\n"
            time.sleep(rng.uniform(0.01, 0.5))
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        if err.count("  File ") == 1 and 'File "<string>", line 1' in err:
            continue  # before the first line of ours
        assert "Traceback" not in err, err
        assert process.returncode in (0, 130, -signal.SIGINT), err  # ended by the signal: while Python shuts down
        seen.add(process.returncode)
    assert 130 in seen
