"""Public tables for benchmarks of single trees: those that come with scikit-learn, and files of a folder.

The folder is an argument or the environment variable ``TREEWISE_DATA``; its subfolders are searched by file name. Files
that are not there are skipped, so a benchmark runs on what is at hand.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets as sklearn_datasets  # type: ignore[import-untyped]

Prepare = Callable[[pd.DataFrame], pd.DataFrame]


@dataclass(frozen=True)
class Source:
    """A file or a table of scikit-learn, its target, and what is left out."""

    name: str
    file: str  # "sklearn:NAME" for a table of scikit-learn
    target: str | int = "y"  # a number: the column of a file without a header
    regression: bool = False
    drop: tuple[str, ...] = ()  # the target in other words, keys that are no names, dates
    names: tuple[str, ...] = ()  # columns of names: categories of many levels
    prepare: Prepare | None = None
    max_rows: int = 5000  # more are sampled


@dataclass(frozen=True)
class RealTable:
    """A table whose target is the column "y": text for classes, numbers for regression."""

    name: str
    frame: pd.DataFrame = field(repr=False)
    regression: bool
    names: tuple[str, ...]

    def split(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of a random split: 70 % for training, 30 % for the test."""
        order = np.random.default_rng(seed).permutation(len(self.frame))
        cut = int(0.7 * len(order))
        return order[:cut], order[cut:]


def _late(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame.dropna(subset=["arr_delay"])
    return frame.assign(late=np.where(frame["arr_delay"] > 15, "yes", "no"))


def _sick(frame: pd.DataFrame) -> pd.DataFrame:
    frame.columns = [name.split(")")[0].strip("(") for name in frame.columns]
    return frame.assign(num=np.where(frame["num"] > 0, "yes", "no"))


_TITANIC = ("survived", "class", "who", "adult_male", "embark_town", "alone")  # the same in other words
SOURCES = (
    Source("churn", "churn.csv", "Exited", names=("Surname",), max_rows=10_000),
    Source("taxis, payment", "taxis.csv", "payment", drop=("pickup", "dropoff", "tip", "total"),
           names=("pickup_zone", "dropoff_zone"), max_rows=10_000),
    Source("adult", "adult.csv", "income", names=("native_country",), max_rows=10_000),
    Source("mpg", "mpg.csv", "mpg", regression=True, names=("name",)),
    Source("taxis, tip", "taxis.csv", "tip", regression=True, drop=("pickup", "dropoff", "total"),
           names=("pickup_zone", "dropoff_zone"), max_rows=10_000),
    Source("flights, late", "flights.csv.gz", "late", drop=("arr_delay", "dep_delay", "air_time"),
           names=("tailnum", "dest"), prepare=_late, max_rows=10_000),
    Source("german credit", "german_credit.csv", -1),
    Source("heart", "heart-cleveland.data", "num", prepare=_sick),
    Source("titanic", "titanic.csv", "alive", drop=_TITANIC),
    Source("penguins", "penguins.csv", "species"),
    Source("car", "car.data", -1),
    Source("nursery", "nursery.data", "classification"),
    Source("mushroom", "mushroom.csv", "class"),
    Source("mammography", "mammography.csv", -1),
    Source("wine quality, classes", "winequality-white.csv", -1),
    *(Source(name, f"{name}.csv") for name in ("bidding", "htru", "magic", "page", "raisin", "rice", "segment")),
    Source("wilt", "wilt.csv"),
    Source("compas", "compas-binary.csv"),
    Source("fico", "fico-binary.csv"),
    *(Source(name, f"{name}.csv") for name in ("hypothyroid", "ionosphere", "kr-vs-kp", "splice-1", "tic-tac-toe")),
    *(Source(name, f"sklearn:{name}", "target") for name in ("breast_cancer", "wine", "digits")),
    Source("diamonds", "diamonds.csv", "price", regression=True),
    Source("california housing", "california_housing.csv", "median_house_value", regression=True),
    Source("concrete", "concrete.csv", regression=True, drop=("split",)),
    Source("fish", "fish.csv", regression=True, drop=("split",)),
    Source("diabetes", "sklearn:diabetes", "target", regression=True),
)  # fmt: skip


def data_folder(given: str | None) -> Path | None:
    """Return the folder with the files: as given, or by ``TREEWISE_DATA``."""
    actual = given or os.environ.get("TREEWISE_DATA")
    return Path(actual) if actual else None


def read_tables(folder: Path | None, wanted: str = "") -> Iterator[RealTable]:
    """Yield the tables that are at hand and whose name contains ``wanted``."""
    for source in SOURCES:
        if wanted in source.name and (frame := _read(source, folder)) is not None:
            target = frame.columns[source.target] if isinstance(source.target, int) else source.target
            frame = frame.drop(columns=list(source.drop)).dropna(subset=[target])
            frame = frame.rename(columns={"y": "y of the file"} if target != "y" else {}).rename(columns={target: "y"})
            frame = frame.sample(min(len(frame), source.max_rows), random_state=0).reset_index(drop=True)
            classes = {} if source.regression else {"y": str}
            yield RealTable(source.name, frame.astype(classes), source.regression, source.names)


def _read(source: Source, folder: Path | None) -> pd.DataFrame | None:
    if source.file.startswith("sklearn:"):
        frame: pd.DataFrame = getattr(sklearn_datasets, "load_" + source.file.split(":")[1])(as_frame=True).frame
    else:
        for path in [] if folder is None else sorted(folder.rglob(source.file)):
            header = None if isinstance(source.target, int) else 0
            frame = pd.read_csv(path, header=header, na_values=["?"], skipinitialspace=True)
            if header is None or source.prepare or source.target in frame.columns:
                break
        else:
            return None
    frame.columns = [f"x{name}" if isinstance(name, int) else str(name) for name in frame.columns]
    return source.prepare(frame) if source.prepare else frame
