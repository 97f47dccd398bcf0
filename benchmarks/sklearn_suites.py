"""Run scikit-learn's own tests of trees and ensembles with treewise's estimators in the place of theirs.

python -m benchmarks.sklearn_suites                       all suites (about a quarter of an hour)
python -m benchmarks.sklearn_suites test_tree test_bagging
python -m benchmarks.sklearn_suites test_tree --failures  also list each failure with its message

The tests are those of the installed scikit-learn, unchanged: before they are collected, this file, as a plugin of
pytest, puts subclasses of our estimators into ``sklearn.tree`` and ``sklearn.ensemble``, under the names and with the
defaults of theirs. A failure is put down to the first reason below whose pattern its message contains.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

SUITES = {
    "test_tree": "sklearn.tree.tests.test_tree",
    "test_monotonic_tree": "sklearn.tree.tests.test_monotonic_tree",
    "test_export": "sklearn.tree.tests.test_export",
    "test_forest": "sklearn.ensemble.tests.test_forest",
    "test_bagging": "sklearn.ensemble.tests.test_bagging",
    "test_weight_boosting": "sklearn.ensemble.tests.test_weight_boosting",
}
REASONS = (
    ("several targets", r"one target|y should be a 1d array|1d array or one column|n_outputs"),
    ("sparse X", r"is sparse|sparse matrix"),
    (
        "their classes only (plot_tree, export_*)",
        r"'decision_tree' parameter of|must be an instance of|InvalidParameterError",
    ),
    ("low-level tree or private method", r"'Tree' object has no attribute|has no attribute '_|_validate|Cython"),
    ("no such parameter", r"has no parameter|unexpected keyword"),
    ("no such attribute", r"has no attribute"),
    ("wording of an error or warning", r"Regex pattern did not match|DID NOT WARN|match="),
    ("an error where theirs has none", r"treewise\.errors"),
    ("no error where theirs has one", r"DID NOT RAISE"),
    ("other trees or numbers", r"Mismatch|Not equal|Arrays are not|AssertionError|assert "),
)


# -- as a plugin of pytest ---------------------------------------------------------------------------------------------


def pytest_configure() -> None:
    """Put our estimators in the place of theirs."""
    import sklearn.ensemble
    import sklearn.tree

    import treewise as tw

    drawn = {"splitter": "random", "max_features": "sqrt"}
    places: list[tuple[Any, str, type, dict[str, Any]]] = [
        (sklearn.tree, "DecisionTreeClassifier", tw.TreeClassifier, {"criterion": "gini"}),
        (sklearn.tree, "DecisionTreeRegressor", tw.TreeRegressor, {}),
        (sklearn.tree, "ExtraTreeClassifier", tw.TreeClassifier, {"criterion": "gini", **drawn}),
        (sklearn.tree, "ExtraTreeRegressor", tw.TreeRegressor, {"splitter": "random", "max_features": 1.0}),
        (sklearn.ensemble, "RandomForestClassifier", tw.ForestClassifier, {"criterion": "gini"}),
        (sklearn.ensemble, "RandomForestRegressor", tw.ForestRegressor, {}),
        (sklearn.ensemble, "ExtraTreesClassifier", tw.ExtraTreesClassifier, {"criterion": "gini"}),
        (sklearn.ensemble, "ExtraTreesRegressor", tw.ExtraTreesRegressor, {}),
        (sklearn.ensemble, "BaggingClassifier", tw.BaggingClassifier, {"criterion": "gini"}),
        (sklearn.ensemble, "BaggingRegressor", tw.BaggingRegressor, {}),
        (sklearn.ensemble, "AdaBoostClassifier", tw.AdaBoostClassifier, {"criterion": "gini"}),
    ]
    for module, name, ours, defaults in places:
        setattr(module, name, _with_defaults(name, ours, defaults))


def _with_defaults(name: str, ours: type, defaults: dict[str, Any]) -> type:
    """Return a subclass under another name, with other defaults."""
    from inspect import Signature, signature

    parameters = [
        p.replace(default=defaults.get(p.name, p.default)) for p in signature(ours.__init__).parameters.values()
    ]

    def init(self: Any, *args: Any, **options: Any) -> None:
        ours.__init__(self, *args, **{n: v for n, v in defaults.items() if n not in options}, **options)

    init.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    subclass = type(name, (ours,), {"__init__": init, "__module__": __name__})
    globals()[name] = subclass  # so that it can be pickled
    return subclass


# -- as a script -------------------------------------------------------------------------------------------------------


def main(words: list[str] | None = None) -> None:
    """Run the suites and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sklearn_suites", description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="*", choices=[[], *SUITES], help=", ".join(SUITES))
    parser.add_argument("--failures", action="store_true", help="list each failure")
    parser.add_argument("-k", dest="select", default="", help="tests whose name contains this, as for pytest")
    options = parser.parse_args(words)
    print("| suite | passed | failed | skipped | why, most frequent first |")
    print("|---|---|---|---|---|")
    for name in options.suites or SUITES:
        cases = run(SUITES[name], options.select)
        counts = Counter(outcome for _, outcome, _ in cases)
        failures = [(test, message) for test, outcome, message in cases if outcome == "failed"]
        reasons = Counter(reason_of(message) for _, message in failures)
        why = "; ".join(f"{reason} {n}" for reason, n in reasons.most_common())
        print(f"| {name} | {counts['passed']} | {counts['failed']} | {counts['skipped']} | {why} |", flush=True)
        if options.failures:
            for test, message in failures:
                print(f"    {test} [{reason_of(message)}]\n        {message[:300]}", flush=True)


def run(suite: str, select: str = "") -> list[tuple[str, str, str]]:
    """Run one suite in a process of its own, and return name, outcome and message of each test."""
    root = Path(__file__).resolve().parents[1]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "benchmarks.sklearn_suites", "-p", "no:cacheprovider"]
        command += ["-c", str(Path(folder) / "none.ini"), f"--rootdir={folder}", f"--junitxml={report}", "--tb=short"]
        command += ["-W", "ignore", "-k", select, "--pyargs", suite]
        (Path(folder) / "none.ini").write_text("[pytest]\n", encoding="utf-8")
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        if not report.exists() or done.returncode not in (0, 1):
            raise SystemExit(f"{suite} did not run:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return [_read_case(case) for case in ElementTree.parse(report).iter("testcase")]


def _read_case(case: ElementTree.Element) -> tuple[str, str, str]:
    for tag, outcome in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
        if (child := case.find(tag)) is not None:
            message = " ".join(f"{child.get('message') or ''} {(child.text or '')[-600:]}".split())
            return case.get("name", ""), outcome, message
    return case.get("name", ""), "passed", ""


def reason_of(message: str) -> str:
    """Return the first reason whose pattern is in the message of a failure.

    >>> reason_of("DataError: y should be a 1d array, one value a row"), reason_of("ZeroDivisionError")
    ('several targets', 'other')
    """
    return next((reason for reason, pattern in REASONS if re.search(pattern, message)), "other")


if __name__ == "__main__":
    main()
