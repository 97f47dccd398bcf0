"""Random tables of every column type, and random options for growing a tree on them."""

import numpy as np

from treewise.train.criteria import CRITERIA

CLASSIFICATION = [c.name for c in CRITERIA.values() if c.task == "classification"]


MAX_FEATURES = (1, 1, 2, 3, 0.5, "sqrt", "log2")


REGRESSION = [c.name for c in CRITERIA.values() if c.task == "regression"]


def random_table(rng, regression):
    n = int(rng.integers(1, 30))
    data = {}
    for i in range(int(rng.integers(1, 5))):
        kind = rng.choice(["few", "float", "int", "text", "bool", "date"])
        if kind == "few":
            values = rng.integers(0, 4, n).astype(float)
        elif kind == "float":
            values = rng.normal(size=n).round(int(rng.integers(0, 3)))
        elif kind == "int":
            values = (rng.integers(0, 3, n) + 2**60).tolist()
        elif kind == "text":
            levels = list("abcdefghijklmnopqrst")[: int(rng.integers(1, 14) if rng.random() < 0.7 else 20)]
            values = rng.choice(levels, n).tolist()
        elif kind == "bool":
            values = rng.integers(0, 2, n).astype(bool).tolist()
        else:
            values = [np.datetime64("2024-01-01") + int(d) for d in rng.integers(0, 4, n)]
        values = list(values)
        if rng.random() < 0.4:
            for r in np.flatnonzero(rng.random(n) < 0.25):
                values[r] = None
        if all(v is None for v in values):
            values[0] = "a" if kind == "text" else 1.0 if kind in ("few", "float") else None
        data[f"x{i}"] = values
    if regression:
        y = rng.integers(0, 6, n) + (rng.random(n).round(2) if rng.random() < 0.7 else 0)
        if rng.random() < 0.3:  # numbers that do not fit side by side in 61 bits, down to the smallest there are
            y = y * rng.choice([1.0, 1e-5, 1e30, 1e-300, 5e-324, 1e150, 1e300], n)
        data["y"] = y.astype(float).tolist()
    else:
        data["y"] = [f"c{v}" for v in rng.integers(0, int(rng.integers(1, 5)), n)]
    return data, n


def random_options(rng, data, n, regression):
    kinds = {name: rng.choice(["nominal", None]) for name in data if name != "y" and rng.random() < 0.2}
    options = {
        "task": "regression" if regression else "classification",
        "criterion": str(rng.choice(REGRESSION if regression else CLASSIFICATION)),
        "categorical": str(rng.choice(["subset", "multiway", "one_value", "ordinal", "any"])),
        "missing": str(rng.choice(["learn", "branch"])),
        "empty_branch": str(rng.choice(["parent", "root"])),
        "ties": str(rng.choice(["first", "random"])),
        "random_state": int(rng.integers(0, 99)),
        "kinds": {k: v for k, v in kinds.items() if v and not isinstance(data[k][0], np.datetime64)},
    }
    limits = {
        "max_depth": int(rng.integers(0, 4)),
        "min_samples_split": int(rng.integers(2, 6)),
        "min_samples_leaf": int(rng.integers(1, 4)),
        "max_leaf_nodes": int(rng.integers(1, 8)),
        "min_weight_fraction_leaf": float(rng.random() * 0.3),
        "min_impurity_decrease": float(rng.random() * 0.1),
        "sufficient_accuracy": float(rng.random()),
    }
    for name, value in limits.items():
        if rng.random() < 0.2:
            options[name] = value
    if rng.random() < 0.5:
        options["min_level_rows"] = int(rng.integers(1, 5))
    if CRITERIA[options["criterion"]].rule == "gain" and rng.random() < 0.7:
        options["selection"] = str(rng.choice(["gain", "priced", "priced"]))
    if regression:
        options.pop("sufficient_accuracy", None)
    if rng.random() < 0.4:
        scale = rng.choice([1.0, 0.1, 1e-9])
        options["sample_weight"] = rng.integers(0 if n > 3 else 1, 4, n) * scale
        options["sample_weight"][0] = scale
    if rng.random() < 0.4:
        options["max_features"] = MAX_FEATURES[rng.integers(len(MAX_FEATURES))]
    if rng.random() < 0.3:
        options["splitter"] = "random"
    if (regression or len(set(data["y"])) <= 2) and rng.random() < 0.4:
        numbers = [name for name in data if name != "y" and _is_number(data[name]) and name not in options["kinds"]]
        options["monotone"] = {name: int(rng.choice([-1, 1])) for name in numbers if rng.random() < 0.7}
        options["empty_branch"] = "parent"
    names = [name for name in data if name != "y"]
    if rng.random() < 0.2:
        options["interactions"] = [
            rng.permutation(names)[: rng.integers(1, 3)].tolist() for _ in range(rng.integers(1, 4))
        ]
    if rng.random() < 0.3 and CRITERIA[options["criterion"]].rule == "gain":
        costs = rng.choice([0.0, 0.01, 0.1, 1.0], len(names)) * rng.choice([1.0, 1e-3])
        return options | {"feature_costs": dict(zip(names, costs.tolist(), strict=True)), "cost_scale": 0.5}
    if rng.random() < 0.4:
        options |= {"selection": "test", "alpha": float(rng.choice([0.05, 0.5, 1.0]))}
    return options


def _is_number(values):
    present = [v for v in values if v is not None]
    return bool(present) and not isinstance(present[0], str | bool)
