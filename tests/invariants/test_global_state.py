"""Global state is left unchanged: inputs, random generators, locale, signals, settings, threads, open files.

``TREEWISE_LONG=1`` tries every locale of the machine. This file is also the program that its child processes run.
"""

import decimal
import gc
import hashlib
import locale
import os
import random
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import treewise as tw
from tests.support.subprocesses import run_function
from treewise._lib.worker_thread import any_worker_alive
from treewise.formats.model_file.model_file import dumps

LONG = bool(os.environ.get("TREEWISE_LONG"))


def everything(folder):
    """Do a bit of everything."""
    rng = np.random.default_rng(7)
    n = 200
    x, t, g, y = rng.normal(size=n), rng.choice(["u", "v"], n), rng.integers(0, 9, n), rng.choice(["p", "q"], n)
    data = pd.DataFrame({"x": x, "t": t, "g": g, "y": y})
    data.loc[3, "x"] = np.nan
    tree = tw.grow(data, "y", ties="random", random_state=3, max_depth=4, sample_weight=rng.random(n))
    number = tw.grow(data, "x", drop_missing_target=True, criterion="absolute_error")
    tree.save(os.path.join(folder, "m.json"))
    data.to_csv(os.path.join(folder, "t.csv"), index=False)
    loaded = tw.load(os.path.join(folder, "m.json"))
    message = [
        str(tree), str(number), str(loaded.evaluate(data)), loaded.predict(os.path.join(folder, "t.csv")).tolist(),
        loaded.predict_proba(data).tolist(), str(tree.trace(data, node=0)), tree.export("text"), dumps(loaded),
        str(tw.entropy([3, 2])), tree.refit(data), list(tree.steps())[-1],
    ]  # fmt: skip
    return hashlib.sha256(repr(message).encode()).hexdigest()


def state():
    """Take down everything that is global and none of ours."""
    return {
        "random": random.getstate(),
        "NumPy's generator": repr(np.random.get_state(legacy=False)),
        "NumPy's errors": np.geterr(),
        "NumPy's printing": np.get_printoptions(),
        "locale": locale.setlocale(locale.LC_ALL),
        "decimal context": repr(decimal.getcontext()),
        "warnings": [*warnings.filters],
        "signals": {s: signal.getsignal(s) for s in signal.valid_signals() if s not in (signal.SIGCHLD,)},
        "recursion limit": sys.getrecursionlimit(),
        "longest whole number": sys.get_int_max_str_digits(),
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "umask": umask(),
        "denormals": 5e-324 * 1.0 > 0 and float(np.float64(5e-324) * np.float64(1.0)) > 0,
        "rounding": (1.0 + 2.0**-53, 1.0 - 2.0**-54, -1.0 - 2.0**-53),
        "threads": threading.active_count(),
        "display": pd.get_option("display.max_rows"),
        "switch interval": sys.getswitchinterval(),
    }


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_nothing_global_is_touched(tmp_path):
    everything(tmp_path)  # what is loaded is loaded
    random.seed(1)
    np.random.seed(1)
    decimal.getcontext().prec = 17
    before = state()
    try:
        everything(tmp_path)
        assert state() == before
    finally:
        decimal.setcontext(decimal.DefaultContext.copy())


def elsewhere(folder, name):
    """Do everything under another locale, precision, error handling and stride of hashing."""
    if name:
        locale.setlocale(locale.LC_ALL, name)
    decimal.getcontext().prec = 3
    decimal.getcontext().traps[decimal.Inexact] = True
    np.seterr(all="raise")
    np.set_printoptions(precision=1, legacy="1.13")
    print(everything(folder))


def test_other_peoples_settings_do_not_show(tmp_path):
    names = ["", "C"]
    for name in ("de_DE.UTF-8", "tr_TR.UTF-8", "fr_FR.UTF-8", "ar_SA.UTF-8"):
        command = [sys.executable, "-c", f"import locale; locale.setlocale(0, {name!r})"]
        known = subprocess.run(command, capture_output=True, check=False)
        names += [name] if known.returncode == 0 else []
    here = everything(tmp_path)
    for name in names[: None if LONG else 3]:
        assert run_function(__file__, "elsewhere", tmp_path, name).strip() == here, name


def frozen(array):
    array.setflags(write=False)
    return array


def test_inputs_stay_as_they_are_and_may_be_read_only():
    rng = np.random.default_rng(8)
    x, y, w = rng.normal(size=(50, 3)), rng.integers(0, 2, 50), rng.random(50)
    x[4, 1] = np.nan
    x[5, 2] = -0.0
    frame = pd.DataFrame({"a": x[:, 0], "t": pd.Categorical(rng.choice(["u", "v"], 50)), "o": ["é", None] * 25, "y": y})
    lists = {name: frame[name].tolist() for name in frame}
    holders = {
        "array": x,
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "Arrow": pa.Table.from_pandas(frame),
        "lists": lists,
        "dicts": [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)],
    }

    def look():
        return [x.tobytes(), y.tobytes(), w.tobytes(), *(repr(h) for h in holders.values()), frame.dtypes.tolist()]

    before = look()
    for data in holders.values():
        kept = {"kinds": {"t": {"u", "v", "w"}}, "ignore": [], "na_values": ["?"]} if data is not x else {}
        options = {key: value.copy() for key, value in kept.items()}
        tree = tw.grow(data, y, sample_weight=w, class_weight="balanced", **options)
        tree.predict(data)
        tree.predict_proba(data)
        assert options == kept
    assert look() == before
    tree = tw.grow(frozen(x.copy()), frozen(y.copy()), sample_weight=frozen(w.copy()))
    assert dumps(tree) == dumps(tw.grow(x, y, sample_weight=w))
    with pytest.raises(ValueError, match="read-only"):
        tree.arrays.cut[0] = 1.0  # nor can anybody change a tree
    mine = x.copy()
    model, expected = tw.grow(mine, y), tw.grow(x, y)
    mine[:] = 0.0
    assert model == expected, "a tree keeps nothing of the table"


def test_no_threads_and_no_open_files_are_left(tmp_path):
    everything(tmp_path)
    gc.collect()
    if sys.platform.startswith("linux"):
        before = sorted(os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if link(fd))
        everything(tmp_path)
        after = sorted(os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if link(fd))
        assert [name for name in after if "m.json" in name or "t.csv" in name] == []
        assert len(after) <= len(before) + 1
    assert not any_worker_alive()


def link(fd):
    return os.path.islink(f"/proc/self/fd/{fd}") and os.path.exists(f"/proc/self/fd/{fd}")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
