"""Write the golden files of a new file format: models as this version saves them, and their predictions.

    python -m tests.golden.make

Run it once for each new format number. Existing golden files are never overwritten:
``unit/formats/test_model_file.py`` checks that every later version loads them and gives the same predictions.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import treewise as tw
from treewise.formats.model_file.model_file import dumps, format_of

HERE = Path(__file__).parent
NAN, INF = float("nan"), float("inf")

BEASTS = {
    "legs": [4, 4, 2, 2, 0, 0, 6, 8, None, 4, 2, 0],
    "skin": ["fur", "fur", "feather", "feather", "scale", "scale", "shell", "shell", "fur", None, "feather", "scale"],
    "size": ["L", "M", "S", "M", "L", "S", "S", "S", "M", "L", None, "M"],
    "flies": [False, False, True, True, False, False, True, False, None, False, True, False],
    "seen": ["2024-02-29", "2024-03-01", None, "1969-12-31", "2000-01-01", "2038-01-19",
             "2024-02-28", "2023-07-04", "1582-10-15", "2024-02-29", "1999-12-31", "2262-04-11"],
    "id": [2**60, 2**60 + 1, 2**60 + 2, -(2**60), 2**53 + 1, 2**53, 0, 7, None, 2**60 + 3, 2**62, -1],
    "mass": [1e-300, 0.1, -0.0, 1.7e308, INF, -INF, 5e-324, 42.35, NAN, 0.30000000000000004, 3.3e38, 1e16],
}  # fmt: skip
SORT = ["mammal", "mammal", "bird", "bird", "fish", "fish", "bug", "bug", "mammal", "mammal", "bird", "fish"]
PRICE = [0.1, 0.2, 9.5, 1e-9, 1e12, 3.0, 3.0, 0.7, 2.5, 1 / 3, 7.25, 6.02e23]
KINDS = {"size": ["S", "M", "L", "XL"]}

# Rows that try every branch: values seen and never seen, missing ones, and the edges of numbers.
ROWS = {
    "legs": [0, 1, 2, 3, 4, 5, 6, 7, 8, None, -1, 1e300],
    "skin": ["fur", "feather", "scale", "shell", "velvet", None, "fur", "", "shell", "scale", "feather", "FUR"],
    "size": ["S", "M", "L", "XL", "XXL", None, "S", "M", "L", "XL", "S", "M"],
    "flies": [True, False, None, True, False, None, True, False, True, False, True, False],
    "seen": ["1582-10-14", "1969-12-31", "1970-01-01", "1999-12-31", "2000-01-01", "2024-02-28",
             "2024-02-29", "2024-03-01", None, "2038-01-19", "2262-04-11", "2262-04-10"],
    "id": [2**60, 2**60 + 1, 2**60 + 2, -(2**60), 2**53 + 1, 2**53, 0, 7, None, 2**60 + 3, 2**62, -1],
    "mass": [0.0, -0.0, 5e-324, 0.1, 0.30000000000000004, 42.35, INF, -INF, None, 1.7e308, 1e16, 3.3e38],
    "a\n\"b\" ☃": [0.4, 0.5, 0.6, None, 1.0, 2.0, 0.0, -1.0, 0.5, 0.5, 1e-9, 9.0],
}  # fmt: skip


def grown(target: list[Any], **options: Any) -> Any:
    return tw.grow({**BEASTS, "y": target}, "y", kinds=KINDS, **options)


def refitted() -> Any:
    """A tree by hand on one table, estimated on another with a level it has no branch for."""
    tree = tw.parse("skin = fur -> mammal\nskin = feather -> bird\nskin = scale -> fish", target="y")
    return tree.refit({"skin": ["fur", "scale", "shell", None, "fur"], "y": ["mammal", "fish", "bird", "bird", "fish"]})


MODELS: dict[str, Callable[[], Any]] = {
    "subset": lambda: grown(SORT),
    "multiway": lambda: grown(SORT, preset="id3", empty_branch="root"),
    "other-levels": lambda: grown(SORT, preset="id3", columns=["size", "flies"]),
    "one-value": lambda: grown(SORT, categorical="one_value", criterion="gini"),
    "ordinal": lambda: grown(SORT, categorical="ordinal", columns=["skin", "size", "flies"]),
    "any": lambda: grown(SORT, categorical="any", max_leaf_nodes=5),
    "wide-integers": lambda: grown(SORT, columns=["id"]),
    "datetimes": lambda: grown(SORT, columns=["seen"]),
    "numbers": lambda: grown(SORT, columns=["mass", "legs"]),
    "presence": lambda: tw.grow({"mass": [1.0, 2.0, None, None], "y": ["a", "a", "b", "b"]}, "y"),
    "tests": lambda: grown(SORT, selection="test", alpha=0.5),
    "tests-of-numbers": lambda: grown(PRICE, task="regression", selection="test", alpha=0.9),
    "missing-branch": lambda: grown(SORT, missing="branch"),
    "weights": lambda: grown(SORT, sample_weight=np.linspace(0.1, 2.3, 12), class_weight={"bug": 3.5}),
    "costs-and-priors": lambda: grown(
        SORT, max_depth=3, cost={"bug": {"fish": 4.5, "bird": 20}}, priors=[0.4, 0.3, 0.2, 0.1]
    ),
    "whole-number-classes": lambda: grown([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 1], max_depth=3),
    "true-false-classes": lambda: grown([True, False] * 6, max_depth=2, positive=False),
    "regression": lambda: grown(PRICE, task="regression"),
    "absolute-error": lambda: grown(PRICE, task="regression", criterion="absolute_error", max_depth=3),
    "poisson": lambda: grown(list(range(12)), task="regression", criterion="poisson", min_samples_leaf=2),
    "one-leaf": lambda: grown(["only"] * 12),
    "by-hand": lambda: tw.parse("legs <= 3\n  flies is true -> bird\n  flies is false -> fish\nlegs > 3 -> mammal"),
    "refitted": refitted,
    "half-grown": lambda: list(grown(SORT).steps())[2],
    "odd-names": lambda: tw.grow({'a\n"b" ☃': [0.0, 1.0], "y": ["c\td' --", "\x1b[31m"]}, "y"),
    "packed": lambda: grown(SORT),
    "packed-regression": lambda: grown(PRICE, task="regression"),
}


def many(learner: Callable[..., Any], target: list[Any], n: int = 4, **options: Any) -> Any:
    return learner({**BEASTS, "y": target}, "y", n, kinds=KINDS, **options)


ENSEMBLES: dict[str, Callable[[], Any]] = {
    "forest": lambda: many(tw.forest, SORT, oob_score=True),
    "extra-trees": lambda: many(tw.extra_trees, SORT, categorical="any", missing="branch"),
    "bagging-multiway": lambda: many(tw.bagging, SORT, preset="id3", empty_branch="root"),
    "forest-of-numbers": lambda: many(tw.forest, PRICE, task="regression"),
    "forest-of-medians": lambda: many(tw.forest, PRICE, task="regression", criterion="absolute_error", max_depth=3),
    "forest-with-weights": lambda: many(tw.forest, SORT, sample_weight=np.linspace(0.1, 2.3, 12)),
    "forest-of-one-leaf": lambda: many(tw.forest, ["only"] * 12, 2),
    "adaboost": lambda: many(tw.adaboost, SORT),
    "packed-forest": lambda: many(tw.forest, SORT),
    "packed-forest-of-numbers": lambda: many(tw.forest, PRICE, task="regression"),
}


def expected(tree: Any) -> dict[str, Any]:
    """Return what a tree answers to the rows, for those columns it has."""
    rows = {name: cells for name, cells in ROWS.items() if name in tree.columns}
    actual: dict[str, Any] = {"rows": rows or {"x": [0] * 12}}
    if not tree.columns or not rows:
        return actual
    actual["apply"] = tree.apply(rows).tolist()
    actual["predict"] = tree.predict(rows).tolist()
    if tree.task == "classification":
        actual["predict_proba"] = tree.predict_proba(rows).tolist()
    return actual


def main() -> None:
    for name, make in {**MODELS, **ENSEMBLES}.items():
        made = make()
        model = HERE / f"{format_of(made)}-{name}.json"
        if model.exists():
            continue
        model.write_text(dumps(made, compact=name.startswith("packed")), encoding="utf-8", newline="\n")
        answers = json.dumps(expected(made), ensure_ascii=False)
        model.with_suffix(".expected").write_text(answers + "\n", encoding="utf-8", newline="\n")
        print(f"{model.name}: {made!r}")


if __name__ == "__main__":
    main()
