"""Every entry point under address-space limits: a result or MemoryError, never a hang and never a signal.

``limited`` prepares models once and then forks for each call and limit; the children set a limit, call, lift the limit
and grow a tree. ``command`` does the same for a verb in a process of its own. ``TREEWISE_LONG=1`` tries more limits.
This file is also the program that runs.
"""

import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter

import pytest

from tests.support.subprocesses import ROOT, run_function

LONG = bool(os.environ.get("TREEWISE_LONG"))
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the address space as Linux does")
# kilobytes beyond what the process has
LIMITS = [0, 1024, 8192, 24576]
LONG_LIMITS = [
    *(0, 32, 64, 128, 256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 8256, 8448, 9216, 10240, 12288),
    *(16384, 16640, 20480, 24576, 25600, 32768, 49152, 65536, 98304, 131072, 262144, 524288),
]
STACK = 512  # kilobytes of a thread's stack in ``limited``, so that threads start under small limits too
PATIENCE = 60  # seconds without CPU time after which a child counts as hanging
MAX_CPU = 300  # seconds of CPU time after which it does too
DONE, SHORT, WRONG = 0, 10, 11


def entry_points(folder):
    """Return calls by name, of everything that users can call."""
    import numpy as np

    import treewise as tw
    from tests.support.criteria import CLASSIFICATION, REGRESSION
    from treewise.data.table import read_bytes

    rng = np.random.default_rng(4)
    n = 2000
    x = rng.normal(size=(n, 4))
    signal_ = x[:, 0] + x[:, 1] * (x[:, 2] > 0) + rng.normal(size=n)
    columns = {f"x{i}": x[:, i] for i in range(4)} | {"town": rng.choice(["Rome", "Bari", "Oslo"], n)}
    data = columns | {"y": np.where(signal_ > 0, "yes", "no")}
    number = columns | {"y": np.abs(signal_.round(2))}
    words = {"w": [f"k{i}" for i in rng.integers(0, n, 30_000)], "y": (["p", "q"] * 15_000)}
    csv = ("x,w,y\n" + "".join(f"{i},{w},{t}\n" for i, (w, t) in enumerate(zip(*words.values(), strict=True)))).encode()
    tree, other = tw.grow(data, "y"), tw.grow(data, "y", max_depth=4)
    small = tw.grow(data, "y", max_depth=3)
    forest = tw.forest(data, "y", n_estimators=20)
    boosted = tw.adaboost(data, "y", n_estimators=20)
    model, many = os.path.join(folder, "m.json"), os.path.join(folder, "f.json")
    tree.save(model)
    forest.save(many)
    row = {name: values[0] for name, values in columns.items()}
    sheet = tw.exercise("food", topic="leaves", max_depth=2)
    calls = {
        f"grow {criterion}": lambda criterion=criterion: tw.grow(
            number if criterion in REGRESSION else data, "y", criterion=criterion
        )
        for criterion in (*CLASSIFICATION, *REGRESSION)
    }
    calls |= {
        "grow on text": lambda: tw.grow(words, "y", max_depth=2),
        "read CSV": lambda: tw.grow(read_bytes(csv, "t.csv", ()), "y", max_depth=2),
        "grow pruning=cv": lambda: tw.grow(data, "y", pruning="cv"),
        "predict": lambda: tree.predict(data),
        "predict one row": lambda: tree.predict(row),
        "predict_proba": lambda: tree.predict_proba(data),
        "forest": lambda: tw.forest(data, "y", n_estimators=20, oob_score=True),
        "extra_trees": lambda: tw.extra_trees(data, "y", n_estimators=20),
        "bagging": lambda: tw.bagging(data, "y", n_estimators=5),
        "adaboost": lambda: tw.adaboost(data, "y", n_estimators=20),
        "forest predict": lambda: forest.predict(data),
        "adaboost predict": lambda: boosted.predict(data),
        "prune": lambda: tree.prune("pessimistic"),
        "prune cost_complexity": lambda: tree.prune("cost_complexity", ccp_alpha=0.001),
        "trace": lambda: str(small.trace(data)),
        "show": lambda: str(tree),
        "draw": lambda: small.draw().svg,
        "draw steps": lambda: small.draw_steps().svg,
        "draw regions": lambda: small.draw_regions(data, x="x0", y="x1"),
        "draw as TikZ": lambda: small.draw().tikz,
        "report": lambda: small.report(os.path.join(folder, f"{os.getpid()}.html"), data),
        "save": lambda: tree.save(os.path.join(folder, f"{os.getpid()}.json")),
        "load": lambda: tw.load(model),
        "load forest": lambda: tw.load(many),
        "rules": lambda: str(tree.rules()),
        "explain": lambda: str(tree.explain(row)),
        "evaluate": lambda: str(tree.evaluate(data)),
        "importances": lambda: str(tree.importances(data, repeats=2, n_jobs=2)),
        "shap": lambda: small.shap(data),
        "subgroups": lambda: str(tree.subgroups(data)),
        "compare": lambda: str(tw.compare(tree, other)),
        "stability": lambda: str(tw.stability(data, "y", resamples=4, max_depth=3)),
        "curve": lambda: str(tw.curve(data, "y", values=[2, 4, 8], folds=2)),
        "refit": lambda: small.refit(data),
        "estimator": lambda: tw.TreeClassifier(max_depth=4).fit(x, signal_ > 0).predict(x),
        "round_thresholds": lambda: tree.round_thresholds(data),
        "exercise": lambda: tw.exercise(random=3, topic="boosting").render("html"),
        "check_answers": lambda: tw.check_answers(sheet, sheet.key),
        "extend": lambda: boosted.extend(data, 2),
        "distill": lambda: str(tw.distill(forest, data, max_depth=3)),
    }
    formats = (
        "text",
        "if-else",
        "sql",
        "pmml",
        "dmn",
        "xlsx",
        "onnx",
        "python",
        "numpy",
        "c",
        "javascript",
        "r",
        "json",
    )
    calls |= {f"export {name}": lambda name=name: tree.export(name) for name in formats}
    calls |= {f"trace as {name}": lambda name=name: small.trace(data).render(name) for name in ("latex", "markdown")}
    return calls


def limit_memory(kilobytes):
    """Allow so much more address space than is in use, and take the memory that it has and does not use."""
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    limit = (used + kilobytes * 1024, resource.RLIM_INFINITY)
    taken = []
    resource.setrlimit(resource.RLIMIT_AS, (used, resource.RLIM_INFINITY))
    for size in (1 << 20, 1 << 16, 1 << 12):
        try:
            while True:
                taken.append(bytearray(size))
        except MemoryError:
            pass
    resource.setrlimit(resource.RLIMIT_AS, limit)
    return taken


def lift_limit():
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def child(call, kilobytes, check):
    """Call under a limit and return how it ended; then everything must work as before."""
    taken = limit_memory(kilobytes)
    try:
        call()
        outcome = DONE
    except MemoryError:
        outcome = SHORT
    except BaseException as error:  # such as an ImportError for lack of memory
        lift_limit()
        cause = error
        while cause is not None:
            if isinstance(cause, MemoryError) or "memory" in str(cause).lower():
                return SHORT
            cause = cause.__cause__ or cause.__context__
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
        return WRONG
    lift_limit()
    del taken
    return outcome if check() else WRONG


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return sum(map(int, file.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def outcome_of(pid):
    """Wait for a child; one that no longer works, or works for too long, is ended. A busy machine may take its time."""
    used, deadline = 0.0, time.monotonic() + PATIENCE
    while used < MAX_CPU and time.monotonic() < deadline:
        if (now := cpu_seconds(pid)) > used + 0.1:  # more than looking for the end of a thread takes in this time
            used, deadline = now, time.monotonic() + PATIENCE
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return {DONE: "done", SHORT: "MemoryError", WRONG: "wrong"}.get(code, f"ended with {code}")
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "hang"


def limit_stacks():
    """Start this program again with small stacks for its threads, which are fixed when a process starts."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if "TREEWISE_STACK" in os.environ:
        resource.setrlimit(resource.RLIMIT_STACK, (int(os.environ["TREEWISE_STACK"]), hard))
        return
    resource.setrlimit(resource.RLIMIT_STACK, (STACK << 10, hard))
    os.environ["TREEWISE_STACK"] = str(soft)
    os.execv(sys.executable, [sys.executable, "-m", "tests.invariants.test_memory_limits", *sys.argv[1:]])


def limited(*limits):
    """Call every entry point under every limit, each in a fork of its own; print the outcomes."""
    import resource

    limit_stacks()
    import treewise as tw
    from treewise.formats.model_file.model_file import dumps

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        calls = entry_points(folder)
        for call in calls.values():  # all modules are loaded, and the calls are right
            call()
        table = {"x": [1.0, 2.0, 3.0], "t": ["u", "v", "u"], "y": ["a", "b", "a"]}
        expected = dumps(tw.grow(table, "y"))
        outcomes = {}
        for name, call in calls.items():
            for limit in map(int, limits):
                pid = os.fork()
                if pid == 0:
                    os._exit(child(call, limit, lambda: dumps(tw.grow(table, "y")) == expected))
                outcomes[f"{name} at {limit} kB"] = outcome_of(pid)
    print(json.dumps(outcomes))


@LINUX
def test_every_entry_point_ends_under_every_limit(capsys):
    limits = LONG_LIMITS if LONG else LIMITS
    outcomes = json.loads(run_function(__file__, "limited", *limits, timeout=7200 if LONG else 1800))
    bad = {name: how for name, how in outcomes.items() if how not in ("done", "MemoryError")}
    with capsys.disabled():
        print(f"\n{len(outcomes)} calls under memory limits: {dict(Counter(outcomes.values()))}")
    assert not bad
    assert {"done", "MemoryError"} == set(outcomes.values())


# -- the command line --------------------------------------------------------------------------------------

VERBS = (
    "grow penguins --target species -o g.json -q",
    "grow penguins --ensemble forest --n-estimators 20 -o g.json -q",
    "grow penguins --target body_mass_g --drop-missing-target --criterion absolute_error -q",
    "grow penguins --ensemble adaboost --n-estimators 20 -q",
    "grow penguins --pruning cv",
    "predict m.json penguins",
    "predict m.json t.csv -o p.csv",
    "evaluate m.json penguins",
    "prune m.json --max-leaf-nodes 3",
    "trace m.json penguins",
    "show m.json",
    "rules m.json",
    "draw m.json -o d.svg",
    "report m.json penguins -o r.html",
    "stability penguins --resamples 4",
    "compare m.json m.json",
    "importance m.json penguins",
    "grow long.csv --target y --memory 4MB --max-depth 3 -o g.json -q",
    "export m.json --format sql",
    "exercise food --topic leaves --max-depth 2 -o sheet.json",
)


def command(megabytes, *words):
    """Run the command line twice: to load all libraries, which fail in ways of their own, and then under a limit."""
    from treewise.cli import main

    with pytest.raises(SystemExit) as ended:
        main(words)
    assert not ended.value.code
    taken = limit_memory(int(float(megabytes) * 1024))
    try:
        main(words)
    finally:
        del taken


@LINUX
def test_every_verb_ends_under_every_limit(tmp_path, capsys):
    import subprocess

    import treewise as tw

    tw.grow("penguins", max_depth=4).save(tmp_path / "m.json")
    tw.datasets.penguins().to_polars().write_csv(tmp_path / "t.csv")
    rows = "".join(f"{i % 97},{i * 7 % 101},{i % 3},{i % 2}\n" for i in range(60_000))
    (tmp_path / "long.csv").write_text("a,b,c,y\n" + rows)
    limits = [0, 1, 4, 8.25, 16.5, 64] if LONG else [0, 1, 9]
    outcomes = Counter()
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    for line in VERBS if LONG else (*VERBS[:2], *VERBS[5::4]):
        for limit in limits:
            completed = subprocess.run(
                [sys.executable, "-m", "tests.invariants.test_memory_limits", "command", str(limit), *line.split()],
                cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=10 * PATIENCE, check=False,
            )  # fmt: skip
            outcomes[completed.returncode] += 1
            assert completed.returncode in (0, 3), (line, limit, completed.returncode, completed.stderr[-1000:])
            assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    with capsys.disabled():
        print(f"\n{sum(outcomes.values())} commands under memory limits: exit status {dict(outcomes)}")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
