"""Models of every kind, which every export must decide like."""

import datetime as dt

import numpy as np

import treewise as tw

MODELS = {
    "numbers and categories": lambda: tw.grow("penguins"),
    "multiway": lambda: tw.grow("admissions", preset="id3"),
    "regression": lambda: tw.grow("penguins", "body_mass_g", max_depth=6, drop_missing_target=True),
    "one leaf": lambda: tw.grow("penguins", max_depth=0),
    "forest": lambda: tw.forest("penguins", n_estimators=7),
    "forest of numbers": lambda: tw.forest("penguins", "body_mass_g", 5, drop_missing_target=True, max_depth=5),
    "bagging": lambda: tw.bagging("admissions", n_estimators=5),
    "adaboost": lambda: tw.adaboost("penguins", n_estimators=9),
    "many classes boosted": lambda: tw.adaboost(many_classes(), "y", n_estimators=25),
    "sums that overflow": lambda: tw.forest({"x": [1, 2, 3, 4], "y": [1e308, 1.5e308, -1e308, 1.7e308]}, "y", 9),
    "refuses missing": lambda: tw.grow(whole_table(), "y", missing="error"),
    "forest that refuses missing": lambda: tw.forest(whole_table(), "y", 3, missing="error"),
    "forest of numbers that refuses missing": lambda: tw.forest(
        {**whole_table(), "y": [1.0, 2, 4, 8, 16, 32]}, "y", 3, missing="error"
    ),
    "wide integers and datetimes": lambda: tw.grow(wide_table(), "y"),
    "forest of wide columns": lambda: tw.forest(wide_table(), "y", 5),
    "answers of the root": lambda: tw.grow("admissions", preset="id3", empty_branch="root"),
}


def many_classes():
    return {
        "x": [float(i) for i in range(60)],
        "z": [i * i % 17 for i in range(60)],
        "y": [f"c{i % 11}" for i in range(60)],
    }


def whole_table():
    return {"x": [1.0, 2, 3, 4, 5, 6], "z": list("aabbca"), "b": [True, False] * 3, "y": list("ppqqrq")}


def wide_table():
    n = 60
    start = dt.datetime(2024, 2, 28, 23, 59, 59)
    return {
        "id": [2**60 + (i * 37) % n for i in range(n)],
        "day": [dt.date(1960, 1, 1) + dt.timedelta(days=(i * 31) % 97) for i in range(n)],
        "moment": [start + dt.timedelta(microseconds=(i * 17) % 53) for i in range(n)],
        "tick": np.array([1_709_164_799_123_456_700 + (i * 23) % 61 for i in range(n)], "M8[ns]"),
        "flag": [None if i % 9 == 0 else i % 3 == 0 for i in range(n)],
        "y": ["abc"[(i * i + i // 7) % 3] for i in range(n)],
    }
