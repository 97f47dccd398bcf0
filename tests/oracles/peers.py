"""Shared by the optional oracles (rpart, Weka): tables, a peer's tree as a value, and the comparison of two trees.

Peers are compared by what a split does to the rows of its node, not by how it is written: ``side_by_side`` walks a
peer's tree and ours together and says at every node how each divides the rows. Where the two part ways (equal gains,
a rule of the peer's that we do not share) ours is grown anew on the rows of the peer's branches, so that one difference
does not hide the nodes below it.
"""

from __future__ import annotations

import csv
import math
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import treewise as tw

Rows = npt.NDArray[np.int64]
Parts = list[Rows]  # the rows of each branch that has any


@dataclass(frozen=True, repr=False)
class PeerTable:
    """A table every program can read: columns x1, x2, … of numbers or of levels v00, v01, …; a target y."""

    name: str
    columns: dict[str, list[Any]]
    y: list[Any]

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __len__(self) -> int:
        return len(self.y)

    def is_number(self, column: str) -> bool:
        return not isinstance(self.columns[column][0], str)

    def levels(self, column: str) -> list[str]:
        return sorted(set(self.columns[column]))

    def classes(self) -> list[str]:
        return sorted(set(self.y))

    @cached_property
    def codes(self) -> dict[str, npt.NDArray[np.int64]]:
        """Every column, and y, as numbers in order of value."""
        cells = {**self.columns, "y": self.y}
        return {name: np.unique(np.array(values), return_inverse=True)[1] for name, values in cells.items()}

    def grow(self, rows: Sequence[int] | Rows, **options: Any) -> tw.Tree:
        """Grow our tree on some rows; levels are declared, so that they do not depend on the rows."""
        data = {name: [cells[r] for r in rows] for name, cells in self.columns.items()}
        kinds = {name: set(self.levels(name)) for name in self.columns if not self.is_number(name)}
        books = {"selection": "gain", "min_level_rows": 1}
        return tw.grow({**data, "y": [self.y[r] for r in rows]}, "y", kinds=kinds, **{**books, **options})


@dataclass
class Peer:
    """A node of a peer's tree. A test on numbers sends x <= cut to the first child, one on levels goes by name."""

    column: str | None = None  # None: a leaf
    cut: float = 0.0
    levels: list[tuple[str, ...]] = field(default_factory=list)  # of each child
    children: list[Peer] = field(default_factory=list)

    def divide(self, sheet: PeerTable, rows: Rows) -> list[tuple[Rows, Peer]]:
        """Give each child its rows; children without any are left out."""
        if self.column is None:
            return []
        cells = sheet.columns[self.column]
        if self.levels:
            home = {level: i for i, levels in enumerate(self.levels) for level in levels}
            branch = np.array([home[cells[r]] for r in rows])
        else:
            branch = np.array([int(cells[r] > self.cut) for r in rows])
        parts = [(rows[branch == i], child) for i, child in enumerate(self.children)]
        return [(part, child) for part, child in parts if len(part)]


@dataclass(frozen=True)
class Place:
    """A node both programs came to, and how each divides its rows; no parts: it is a leaf there."""

    rows: Rows
    ours: Parts
    theirs: Parts
    columns: tuple[str, ...]  # those the two tests ask about

    @property
    def same(self) -> bool:
        return as_set(self.ours) == as_set(self.theirs)


def as_set(parts: Parts) -> set[bytes]:
    """Forget the order of the branches."""
    return {part.tobytes() for part in parts}


def side_by_side(sheet: PeerTable, peer: Peer, grow: Callable[[Rows], tw.Tree]) -> Iterator[Place]:
    """Walk both trees together, ours grown anew below a difference."""
    everything = np.arange(len(sheet))
    stack = [(everything, peer, grow(everything), 0)]
    while stack:
        rows, node, tree, number = stack.pop()
        ours = divide(sheet, rows, tree, number)
        theirs = node.divide(sheet, rows)
        split = tree.split_at(number)
        requested = tuple(column for column in (split and split.column, node.column) if column)
        place = Place(rows, [part for part, _ in ours], [part for part, _ in theirs], requested)
        yield place
        numbers = {part.tobytes(): child for part, child in ours}
        for part, child in theirs:
            if place.same:
                stack.append((part, child, tree, numbers[part.tobytes()]))
            else:
                stack.append((part, child, grow(part), 0))


def divide(sheet: PeerTable, rows: Rows, tree: tw.Tree, number: int) -> list[tuple[Rows, int]]:
    """Give each child of a node of ours its rows."""
    split = tree.split_at(number)
    if split is None:
        return []
    encoding, cells = tree.encoding_of(split.column), sheet.columns[split.column]
    branch = np.array([split.branch(cells[r], encoding) for r in rows])
    parts = [(rows[branch == i], child) for i, child in enumerate(tree[number].children)]
    return [(part, child) for part, child in parts if len(part)]


def gain(sheet: PeerTable, criterion: str, rows: Rows, parts: Sequence[Rows]) -> float:
    """Return the gain of a division per row, in plain floats."""
    before, after = impurity(sheet, criterion, rows), [impurity(sheet, criterion, part) for part in parts]
    return before - sum(len(part) * i for part, i in zip(parts, after, strict=True)) / len(rows)


def impurity(sheet: PeerTable, criterion: str, rows: Rows) -> float:
    if criterion == "squared_error":
        return float(np.var([sheet.y[r] for r in rows]))
    p = np.array(list(Counter(sheet.y[r] for r in rows).values())) / len(rows)
    return float(1 - (p * p).sum()) if criterion == "gini" else float(-(p * np.log2(p)).sum())


# -- the tables -------------------------------------------------------------------------------------------------------


def in_codes(name: str, columns: Sequence[Sequence[Any]], y: Sequence[Any]) -> PeerTable:
    """Make a sheet: names and levels become codes without blanks or quotes, numbers stay."""

    def coded(cells: Sequence[Any], letter: str) -> list[Any]:
        if not isinstance(cells[0], str):
            return [float(cell) for cell in cells]
        place = {level: f"{letter}{i:02}" for i, level in enumerate(sorted(set(cells)))}
        return [place[cell] for cell in cells]

    return PeerTable(name, {f"x{i + 1}": coded(cells, "v") for i, cells in enumerate(columns)}, coded(y, "c"))


def iris(target: str = "species") -> PeerTable:
    from sklearn.datasets import load_iris  # type: ignore[import-untyped,unused-ignore]

    actual = load_iris()
    columns = [actual.data[:, i].tolist() for i in range(4)]
    if target == "species":
        return in_codes("iris", columns, [str(label) for label in actual.target])
    return in_codes("iris, petal width", columns[:3], columns[3])


def penguins(target: str = "species") -> PeerTable:
    """The built-in penguins, those with nothing missing."""
    table = tw.datasets.penguins().to_pandas().dropna()
    inputs = [table[name].tolist() for name in table.columns if name not in ("species", target)]
    if target == "species":
        return in_codes("penguins", inputs, table["species"].tolist())
    return in_codes(f"penguins, {target}", [*inputs, table["species"].tolist()], table[target].tolist())


def textbook(name: str, target: str) -> PeerTable:
    """A table of the notes, every column as categories."""
    table = getattr(tw.datasets, name)().to_pandas().astype(str)
    inputs = [table[column].tolist() for column in table.columns if column != target]
    return in_codes(name, inputs, table[target].tolist())


def real(name: str) -> PeerTable:
    """A public table in the folder TREEWISE_DATA names; categories all, "?" one of them."""
    files = {"car": ("car.data", -1), "nursery": ("nursery.data", -1), "mushroom": ("mushroom.csv", 0)}
    file, at = files[name]
    path = Path(os.environ.get("TREEWISE_DATA", "")) / file
    if "TREEWISE_DATA" not in os.environ or not path.exists():
        pytest.skip(f"{file} is not there: TREEWISE_DATA names the folder of the UCI tables")
    with path.open(newline="") as lines:
        rows = [row for row in csv.reader(lines) if row]
    if name != "car":
        rows = rows[1:]  # the header
    columns = [list(cells) for cells in zip(*rows, strict=True)]
    y = columns.pop(at)
    return in_codes(name, columns, y)


def random_peer_table(seed: int, *, numbers: bool = True, regression: bool = False) -> PeerTable:
    """Draw a small table with many equal values; the target follows two columns, with noise."""
    rng = np.random.default_rng([7, seed])
    n, columns = int(rng.integers(20, 60)), []
    for _ in range(int(rng.integers(2, 5))):
        if numbers and rng.random() < 0.5:
            columns.append(rng.integers(0, int(rng.integers(2, 12)), n).astype(float).tolist())
        else:
            columns.append([f"{v:02}" for v in rng.integers(0, int(rng.integers(2, 7)), n)])
    signal = np.array([float(a) for a in columns[0]]) + np.array([float(b) for b in columns[1]])
    noisy = signal + rng.normal(0, signal.std() / 2 + 0.1, n)
    if regression:
        return in_codes(f"drawn {seed}", columns, np.round(noisy, 2).tolist())
    cuts = np.quantile(noisy, np.arange(1, k := int(rng.integers(2, 5))) / k)
    return in_codes(f"drawn {seed}", columns, [str(c) for c in np.searchsorted(cuts, noisy)])


def nearly(a: float, b: float) -> bool:
    """Tell whether two gains in bits (or their kind) are equal but for the rounding of doubles."""
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def rpart_is_there() -> bool:
    if shutil.which("Rscript") is None:
        return False
    return subprocess.run(["Rscript", "-e", "library(rpart)"], capture_output=True, check=False).returncode == 0


def write_table(sheet: PeerTable, path: Path) -> None:
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow([*sheet.columns, "y"])
        lines.writerows(zip(*sheet.columns.values(), sheet.y, strict=True))


JAR = Path(os.environ.get("TREEWISE_WEKA", "/usr/share/java/weka.jar"))


def weka(learner: str, sheet: PeerTable, *options: str) -> Peer:
    """Grow a tree with Weka and read what it prints."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.arff"
        path.write_text(as_arff(sheet))
        command = ["java", "-cp", str(JAR), f"weka.classifiers.trees.{learner}", *options, "-no-cv", "-t", str(path)]
        message = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return as_peer(message.splitlines())


def as_arff(sheet: PeerTable) -> str:
    kinds = {name: "numeric" if sheet.is_number(name) else braces(sheet.levels(name)) for name in sheet.columns}
    head = [f"@attribute {name} {kind}" for name, kind in {**kinds, "y": braces(sheet.classes())}.items()]
    rows = [",".join(map(str, row)) for row in zip(*sheet.columns.values(), sheet.y, strict=True)]
    return "\n".join(["@relation sheet", *head, "@data", *rows, ""])


def braces(levels: list[str]) -> str:
    return "{" + ",".join(levels) + "}"


LINE = re.compile(r"^((?:\| +)*)(x\d+) (=|<=|>) ([^:\s]+)(:.*)?$")


def as_peer(lines: list[str]) -> Peer:
    """Read the tree: one line a branch, ``|`` for each level below the root, a colon before a leaf's class."""
    root = Peer()
    open_nodes = [root]
    for line in lines:
        match = LINE.match(line)
        if not match:
            continue
        depth = match[1].count("|")
        del open_nodes[depth + 1 :]
        parent, child = open_nodes[depth], Peer()
        parent.column = match[2]
        parent.children.append(child)
        if match[3] == "=":
            parent.levels.append((match[4],))
        else:
            parent.cut = float(match[4])
        if not match[5]:
            open_nodes.append(child)
    return root
