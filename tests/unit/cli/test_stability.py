"""``treewise stability``: growing options, formats, Ctrl-C and errors."""

import json
import os
import signal
import subprocess
import sys
import time

import treewise as tw


def test_as_in_python(run):
    result = run("stability penguins --max-leaf-nodes 4 --resamples 10")
    stability = tw.stability("penguins", max_leaf_nodes=4, resamples=10)
    assert result.out == f"{stability}\n"
    assert result.err.startswith("penguins   344 rows")
    quiet = run("stability penguins --max-leaf-nodes 4 --resamples 10 -q --n-jobs 1")
    assert (quiet.out, quiet.err) == (result.out, "")


def test_pruning_seed_and_forms(run, tmp_path):
    options = {"pruning": "reduced_error", "validation": 0.3, "random_state": 5, "resamples": 4}
    stability = tw.stability("penguins", **options)
    line = "stability penguins --pruning reduced_error --validation 0.3 --random-state 5 --resamples 4 -q"
    assert json.loads(run(f"{line} --format json").out) == json.loads(json.dumps(stability.to_dict()))
    run(f"{line} -o s.csv")
    assert tmp_path.joinpath("s.csv").read_text() == stability.to_csv()
    assert run(f"{line} --format markdown").out == stability.to_markdown()
    run("data outlier_validation --rows -o v.csv")
    result = run("stability outlier --pruning reduced_error --validation v.csv --resamples 3 -q")
    expected = tw.stability("outlier", pruning="reduced_error", validation="v.csv", resamples=3)
    assert result.out == f"{expected}\n"


def test_errors(run):
    assert run("stability penguins --resamples 0").code == 2
    assert run("stability penguins --target nothing").code == 3
    assert run("stability nowhere.csv").code == 3
    assert run("stability penguins -o s.xlsx --resamples 1").code == 2
    assert run("stability penguins --max-deep 3").code == 2


def test_ctrl_c_is_answered(tmp_path):
    """A million resamples are stopped in the middle of one."""
    command = [sys.executable, "-m", "treewise", "stability", "penguins", "--resamples", "1000000"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=dict(os.environ)
    ) as child:
        child.stderr.readline()  # it has read the table
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=120)
    assert (child.returncode, out) == (130, b"")
