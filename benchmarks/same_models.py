"""Check that two builds of treewise save byte-identical models.

    python -m benchmarks.same_models OLD_PYTHON NEW_PYTHON [--old-path DIR] [--new-path DIR] [--resave]

Each interpreter runs this file: it grows trees and ensembles on the built-in and on generated tables with many
combinations of options, loads every golden file, and saves all these models. Only the public interface is used, so that
builds with a different internal layout can be compared. The paths become ``PYTHONPATH`` of the interpreter. With
``--resave``, the new build loads the files of the old one and saves them again before they are compared, so that a
change of the file format does not count. Exits with 1 and lists the models if any differ.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden"
CLASSIFICATION = ("entropy", "gini", "error", "gain_ratio", "c45")
REFUSED = "refused"
REGRESSION = ("squared_error", "absolute_error", "poisson")


def save_models(folder: Path) -> None:
    """Save every model in a folder, numbered, with the list of their names."""
    import treewise as tw

    models = [*grown_models(tw), *((f"golden {f.name}", lambda f=f: tw.load(f)) for f in sorted(GOLDEN.glob("*.json")))]
    for number, (_, make) in enumerate(models):
        path = folder / f"{number}.json"
        try:
            make().save(path)
        except tw.TreewiseError as error:
            path.write_text(f"{REFUSED}: {type(error).__name__}")  # messages may differ between builds
    (folder / "names.txt").write_text("\n".join(name for name, _ in models), encoding="utf-8")
    (folder / "origin.txt").write_text(str(Path(tw.__file__).resolve()), encoding="utf-8")


def resave_models(folder: Path) -> None:
    """Load the models of a folder, which another build saved, and save them again."""
    import treewise as tw

    for path in folder.glob("*.json"):
        if not path.read_bytes().startswith(REFUSED.encode()):
            tw.load(path).save(path)


def grown_models(tw: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the name of each model and a function that grows it."""
    tables = {name: (make(), make().target) for name, make in tw.datasets.NAMES.items()}
    generated = {"generated": generated_table(3000), "large": generated_table(12_000)}  # the latter is binned

    def model(function: str, table: str, **options: Any) -> tuple[str, Callable[[], Any]]:
        name = " ".join([function, table, *(f"{k}={v}" for k, v in options.items() if k != "sample_weight")])
        if "sample_weight" in options:
            name += " weighted"
        data, target = (generated[table], "y") if table in generated else tables[table]
        return name, lambda: getattr(tw, function)(data, **{"target": target, **options})

    for table in tables:
        for preset in (None, "id3", "cart", "c45"):
            yield model("grow", table, preset=preset)
    weight = {table: (np.arange(len(data)) % 5 + 1) / 2 for table, (data, _) in tables.items()}
    for criterion in CLASSIFICATION:
        for categorical in ("subset", "multiway", "one_value", "any"):
            yield model("grow", "penguins", criterion=criterion, categorical=categorical)
        yield model("grow", "penguins", criterion=criterion, missing="branch")
        yield model("grow", "penguins", criterion=criterion, sample_weight=weight["penguins"])
        yield model("grow", "generated", criterion=criterion, ignore=["value", "flag"])
    mass = {"target": "body_mass_g", "task": "regression", "drop_missing_target": True}
    for criterion in REGRESSION:
        yield model("grow", "penguins", criterion=criterion, max_depth=6, **mass)
        yield model("grow", "generated", target="value", ignore=["y", "flag"], criterion=criterion)
    limits = [
        {"max_depth": 3},
        {"max_leaf_nodes": 7},
        {"min_samples_leaf": 5},
        {"min_samples_split": 20},
        {"min_impurity_decrease": 0.01},
        {"min_weight_fraction_leaf": 0.05},
        {"sufficient_accuracy": 0.9},
        {"max_features": "sqrt", "random_state": 3},
        {"splitter": "random", "random_state": 3},
        {"ties": "random", "random_state": 3},
        {"class_weight": "balanced"},
        {"empty_branch": "root", "categorical": "multiway"},
    ]
    for options in limits:
        yield model("grow", "penguins", **options)
        yield model("grow", "generated", ignore=["value", "flag"], **options)
    for pruning in ("cv", "cost_complexity", "pessimistic", "mdl", "reduced_error", "gain"):
        more = {"reduced_error": {"validation": 0.3}, "cost_complexity": {"ccp_alpha": 0.01}}.get(pruning, {})
        yield model("grow", "penguins", pruning=pruning, **more)
        yield model("grow", "noisy", pruning=pruning, **more)
    yield model("grow", "penguins", ccp_alpha=0.01)
    for method in ("forest", "extra_trees", "bagging", "adaboost"):
        for table in ("admissions", "noisy", "penguins"):
            yield model(method, table, n_estimators=7, random_state=1)
        yield model(method, "penguins", n_estimators=5, criterion="gini", sample_weight=weight["penguins"])
        yield model(method, "generated", n_estimators=5, ignore=["value", "flag"])
    for method in ("forest", "extra_trees", "bagging"):
        bootstrap = {} if method == "bagging" else {"bootstrap": True}
        yield model(method, "penguins", n_estimators=7, oob_score=True, **bootstrap)
        yield model(method, "penguins", n_estimators=5, **mass)
    yield model("adaboost", "penguins", n_estimators=6, max_depth=2, learning_rate=0.5)
    yield from large_models(model)


def large_models(model: Callable[..., tuple[str, Callable[[], Any]]]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield models of a table large enough to be binned, for two classes, three classes and a number."""
    weight = np.arange(12_000) % 3 + 1
    targets = {"flag": ["y", "value"], "y": ["flag", "value"]}
    for target, ignore in targets.items():
        for criterion in ("entropy", "gini", "error"):
            for options in ({}, {"missing": "branch"}, {"sample_weight": weight}, {"min_samples_leaf": 50}):
                yield model("grow", "large", target=target, ignore=ignore, criterion=criterion, **options)
        for method in ("forest", "extra_trees", "adaboost"):
            yield model(method, "large", target=target, ignore=ignore, n_estimators=3)
        yield model("forest", "large", target=target, ignore=ignore, n_estimators=3, sample_weight=weight)
    for options in ({}, {"missing": "branch"}, {"sample_weight": weight}, {"ties": "random"}, {"criterion": "poisson"}):
        yield model("grow", "large", target="value", ignore=["y", "flag"], min_samples_leaf=5, **options)


def generated_table(n: int) -> dict[str, Any]:
    """Return rows of numbers with many and few values, missing cells and categories, and targets of each kind."""
    rng = np.random.default_rng(0)
    x, few, gaps = rng.normal(size=n), rng.integers(0, 9, n).astype(float), rng.normal(size=n).round(2)
    gaps[rng.random(n) < 0.2] = np.nan
    letter, place = rng.choice(list("abcdefgh"), n), rng.integers(0, 300, n)
    signal = np.sin(3 * x) + np.nan_to_num(gaps) + (letter < "d") + rng.normal(size=n)
    return {
        "x": x,
        "few": few,
        "gaps": gaps,
        "letter": letter.tolist(),
        "place": [f"p{i}" for i in place],
        "value": np.exp(signal).round(4),
        "flag": (signal > 1).tolist(),
        "y": np.digitize(signal, [0, 1.5]).astype(str).tolist(),
    }


def run(action: str, folder: Path, python: str, path: str | None) -> None:
    """Let another interpreter save or resave the models of a folder."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if path:
        environment["PYTHONPATH"] = str(Path(path).resolve())
    folder.mkdir(exist_ok=True)
    subprocess.run([python, "-P", "-W", "ignore", __file__, action, str(folder)], env=environment, check=True)


def read_models(folder: Path) -> dict[str, bytes]:
    """Return the content of every file that was saved, by the name of the model."""
    names = (folder / "names.txt").read_text(encoding="utf-8").splitlines()
    return {name: (folder / f"{number}.json").read_bytes() for number, name in enumerate(names)}


def differences(old: dict[str, bytes], new: dict[str, bytes]) -> list[str]:
    """Name the models that differ or exist on one side only.

    >>> differences({"a": b"1", "b": b"2"}, {"a": b"1", "b": b"3", "c": b"4"})
    ['b', 'c']
    """
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def main(arguments: list[str]) -> int:
    """Compare two builds; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.same_models", description=__doc__.splitlines()[0])
    parser.add_argument("old_python")
    parser.add_argument("new_python")
    parser.add_argument("--old-path", help="PYTHONPATH of the old interpreter")
    parser.add_argument("--new-path", help="PYTHONPATH of the new interpreter")
    parser.add_argument("--resave", action="store_true", help="compare the models, not the format of their files")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as home:
        old_folder, new_folder = Path(home, "old"), Path(home, "new")
        run("--save", old_folder, given.old_python, given.old_path)
        run("--save", new_folder, given.new_python, given.new_path)
        origins = {(folder / "origin.txt").read_text(encoding="utf-8") for folder in (old_folder, new_folder)}
        if len(origins) == 1:
            print(
                f"note: both interpreters import {origins.pop()} (an editable install precedes --old-path)",
                file=sys.stderr,
            )
        if given.resave:
            run("--resave", old_folder, given.new_python, given.new_path)
        old, new = read_models(old_folder), read_models(new_folder)
    differing = differences(old, new)
    refused = sum(content.startswith(REFUSED.encode()) for content in new.values())
    print(f"{len(new)} models, {refused} of them refused, {len(differing)} differ")
    for name in differing:
        print(f"  {name}")
    return 1 if differing else 0


if __name__ == "__main__":
    actions = {"--save": save_models, "--resave": resave_models}
    if sys.argv[1] in actions:
        actions[sys.argv[1]](Path(sys.argv[2]))
    else:
        sys.exit(main(sys.argv[1:]))
