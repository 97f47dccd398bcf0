"""``treewise.lesson``: a page on which students grow a tree by hand, see every computation, and are graded.

The page knows nothing but what ``Lesson`` holds, and grades as ``Lesson.grade`` does (``assets/lesson.js``).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from treewise._lib.atomic_write import write_whole
from treewise._lib.checks import as_integer, check_choice, check_number
from treewise._lib.text import plural, safe
from treewise.data.table import Table, read
from treewise.errors import DataError, ParameterError, join_few
from treewise.explain.trace.nodes import TraceView
from treewise.train.candidates import MAX_EXHAUSTIVE_LEVELS
from treewise.train.grow import DISPLAY, OnPrepared, prepare
from treewise.train.training_set import TrainingSet
from treewise.workbench.lesson.best_trees import BestTree, OptimalSplits, can_be_optimal, compare_sizes
from treewise.workbench.lesson.situations import MAX_BRANCHES, Situations, enumerate_situations

MAX_ROWS = 2_000
_REFUSED = ("monotone", "interactions", "feature_costs", "max_features", "splitter", "cost", "alpha")
_NOT_LEARNT = ("pruning", "ccp_alpha", "validation", "honest", "search", "max_leaf_nodes")
_NOT_SHOWN = (*DISPLAY, "round_thresholds")


@dataclass(frozen=True)
class LessonGrade:
    """How good a tree is that a student has grown."""

    leaves: int
    lost: float  # rows it gets wrong; for numbers the squared error
    splits: int
    best_splits: int  # of which no test had a larger gain
    given_up: float  # gain per row of the table, summed over the splits, beside the best test at each
    greedy_lost: float  # of the greedy tree of at most as many leaves
    best_lost: float  # of the best tree of at most as many leaves
    is_proven: bool  # no tree of at most as many leaves and ``max_depth`` does better than ``best_lost``
    max_depth: int | None  # of the trees that are compared; None is any

    @property
    def is_best(self) -> bool:
        """Whether no tree of its size that the lesson offers does better."""
        return self.lost <= self.best_lost * (1 + 1e-9)


@dataclass(frozen=True, eq=False, repr=False)
class Lesson:
    """A lesson: the situations of a table with their tests, and the best trees of every size.

    >>> import treewise as tw
    >>> lesson = tw.lesson("admissions", preset="id3")
    >>> len(lesson.situations), lesson.situations[0].tests[0].formula
    (45, '1 − [4/12·H(0/4) + 5/12·H(3/5) + 3/12·H(3/3)]')
    >>> lesson.grade([0, None, None, None])                                   # GPA, and nothing below it
    LessonGrade(leaves=3, lost=2, splits=1, best_splits=1, given_up=0.0, greedy_lost=2, best_lost=2,
    is_proven=False, max_depth=None)
    """

    table: str
    target: str
    task: str
    classes: tuple[str, ...]
    columns: tuple[str, ...]
    training_set: TrainingSet
    situations: Situations
    trees: tuple[BestTree, ...]  # by the number of leaves
    lost_at_least: float  # by a tree of any size
    notes: tuple[str, ...]
    unit: str  # of gains; "" if they have none
    per: str

    def __repr__(self) -> str:
        return f"<Lesson on {self.table} · {plural(len(self.situations), 'situation')}>"

    @property
    def id(self) -> str:
        """What tells lessons apart whose pages keep answers on the same machine."""
        text = (
            f"{self.table}\n{self.target}\n{[(s.summary, [t.label for t in s.tests]) for s in self.situations.items]}"
        )
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def grade(self, choices: Sequence[int | None]) -> LessonGrade:
        """Grade a tree, given as the number of the test of each node in pre-order, None at leaves.

        >>> import treewise as tw
        >>> lesson = tw.lesson("admissions", preset="id3")
        >>> grade = lesson.grade(lesson.trees[2].choices)                     # the best tree of three leaves
        >>> grade.lost == grade.best_lost, grade.is_best
        (True, True)
        """
        leaves, n_splits, n_best, lost, given_up = 0, 0, 0, 0.0, 0.0
        remaining, stack = iter(choices), [(0, 0)]
        whole = self.situations[0].weight
        while stack:
            number, depth = stack.pop()
            situation, choice = self.situations[number], next(remaining, None)
            limit = self.situations.limits.depth
            if choice is None:
                leaves, lost = leaves + 1, lost + situation.lost
                continue
            if (limit is not None and depth >= limit) or not 0 <= choice < len(situation.tests):
                raise ParameterError(f"there is no test {choice} at this node.", parameter="choices", value=choices)
            test, best = situation.tests[choice], situation.tests[situation.winner]
            n_splits, n_best = n_splits + 1, n_best + test.is_best
            if not test.is_best:
                missed = best.gain - test.gain
                given_up += missed * (situation.weight / whole if self.per == "row" else 1)
            stack += [(branch, depth + 1) for branch in reversed(test.branches)]
        tree = self.trees[min(leaves, len(self.trees)) - 1]
        best_lost = tree.lost if leaves <= len(self.trees) else min(tree.lost, self.lost_at_least)
        lost = int(lost) if lost == int(lost) else lost
        return LessonGrade(
            leaves, lost, n_splits, n_best, given_up, tree.greedy_lost, best_lost,
            tree.is_proven and leaves <= len(self.trees), self.situations.limits.depth,
        )  # fmt: skip

    @property
    def scope(self) -> str:
        """What was computed, and what lies beyond it.

        >>> import treewise as tw
        >>> tw.lesson("admissions", preset="id3").scope
        'Everything that can be reached is here: 45 situations, every test of every column.'
        """
        limits, n = self.situations.limits, plural(len(self.situations), "situation")
        tests = "every test" if limits.tests is None else f"up to {plural(limits.tests, 'test')}"
        sets = self._sets_in_words()
        if limits.depth is None:
            return f"Everything that can be reached is here: {n}, {tests} of every column.{sets}"
        further = "" if limits.tests is None else ", its best one among them"
        if limits.tests is not None and any(tree.is_proven and tree.lost for tree in self.trees[1:]):
            further += ", and the tests of the best trees"
        beyond = "deeper trees" if limits.tests is None else "other tests and deeper trees"
        computed = f"{n}, {tests} of every column at a node{further}"
        return f"Computed to depth {limits.depth}: {computed}. Not here: {beyond}.{sets}"

    def _sets_in_words(self) -> str:
        """Say which sets of levels are offered, if not all."""
        is_ordered, names = len(self.classes) < 3, list[str]()  # else all sets of few levels are listed
        for encoding, kinds in zip(self.training_set.encodings, self.training_set.split_kinds, strict=True):
            if "subset" in kinds and len(encoding.levels) > (2 if is_ordered else MAX_EXHAUSTIVE_LEVELS):
                names.append(safe(encoding.name))
        if not names:
            return ""
        centre = self.training_set.criterion.centre
        by = centre if self.task == "regression" else f"share of {self.classes[-1] if is_ordered else 'a class'}"
        besides = " or as in the best trees" if can_be_optimal(self.training_set) else ""
        return f" The levels of {join_few(names)} are divided by their {by}{besides}, not into every set."

    def to_html(self) -> str:
        """Return the page: one file that works without a server.

        >>> import treewise as tw
        >>> tw.lesson("admissions", preset="id3").to_html()[:15]
        '<!doctype html>'
        """
        from treewise.workbench.lesson.page import lesson_page

        return lesson_page(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file.

        >>> import tempfile, treewise as tw
        >>> tw.lesson("admissions", preset="id3").save(tempfile.mktemp(".html"))
        """
        write_whole(path, self.to_html().encode())


def lesson(
    data: Any,
    target: Any = None,
    *,
    unit: str = "bits",
    per: str = "row",
    budget: int = 600,
    time_limit: float = 10.0,
    on_prepared: OnPrepared | None = None,
    **grow_options: Any,
) -> Lesson:
    """Make a lesson from a small table: a page on which a student grows a tree, and sees every computation.

    The student picks a leaf and a test; the page unfolds its arithmetic, compares its gain with the best one, and in
    the end grades the tree beside the greedy tree and the best tree of its size.

    >>> import treewise as tw
    >>> lesson = tw.lesson("penguins", "species", max_depth=2, budget=40)
    >>> lesson.situations.limits
    Limits(depth=2, tests=3)
    >>> [(tree.leaves, tree.lost, tree.is_proven, tree.greedy_lost) for tree in lesson.trees[2:]]
    [(3, 17, True, 18), (4, 6, True, 13)]

    Parameters
    ----------
    data, target : a table of at most 2,000 rows, as in ``grow``.
    unit, per : bits or nats, per row or in total, as in ``Tree.trace``.
    budget : how many nodes, that is sets of rows, are searched for tests beforehand. If everything that can be reached
        is more than that, fewer tests of each column are offered, then less depth; ``Lesson.scope`` says so.
    time_limit : seconds for the search for the best trees (``treewise.optimal``), where tests have two branches; what
        is not proven by then is the best of the trees that the lesson offers.
    **grow_options : those of ``grow``, such as ``preset="id3"``; not those that prune, draw at random or constrain.
    """
    check_choice("unit", unit, ("bits", "nats"))
    check_choice("per", per, ("row", "total"))
    if (n := as_integer(budget)) is None or not 1 <= n <= 100_000:
        raise ParameterError("must be a whole number, 1 to 100,000.", parameter="budget", value=budget)
    check_number("time_limit", time_limit, 0.0, 3_600.0)
    table = read(data, na_values=grow_options.get("na_values", ()))
    training_set, notes = _prepare(table, target, grow_options)
    if on_prepared is not None:
        on_prepared(training_set)
    optimal = OptimalSplits(training_set, float(time_limit))
    situations = enumerate_situations(training_set, TraceView(unit, per), n, optimal.at_depth)
    trees, lost_at_least = compare_sizes(situations, training_set, optimal)
    criterion = training_set.criterion
    return Lesson(
        table=safe(table.name),
        target=safe(training_set.target.name),
        task=training_set.target.task,
        classes=tuple(safe(label) for label in training_set.target.classes),
        columns=tuple(safe(encoding.name) for encoding in training_set.encodings),
        training_set=training_set,
        situations=situations,
        trees=tuple(trees),
        lost_at_least=lost_at_least,
        notes=notes,
        unit=unit if criterion.unit == "bits" else criterion.unit,
        per=per,
    )


def _prepare(table: Table, target: Any, grow_options: dict[str, Any]) -> tuple[TrainingSet, tuple[str, ...]]:
    """Return the training set, without columns that divide a node into very many branches, and notes."""
    for name in grow_options:
        if name in _REFUSED:
            raise ParameterError("is not for lessons, which know every test of every node.", parameter=name)
        if name in _NOT_LEARNT:
            raise ParameterError("is not for lessons: the student decides how the tree grows.", parameter=name)
        if name in _NOT_SHOWN:
            raise ParameterError("is not for lessons, which show the table as it is.", parameter=name)
    options = {name: value for name, value in grow_options.items() if name != "n_jobs"}
    training_set = prepare(table, target, **options)
    if training_set.criterion.rule not in ("gain", "ratio"):
        raise ParameterError(
            f"a lesson compares tests by one number; {training_set.criterion.name} compares them in two steps.",
            parameter="criterion",
            hint='Choose "entropy", "gini" or "gain_ratio".',
        )
    if training_set.settings.selection == "test" or training_set.settings.ties == "random":
        raise ParameterError("a lesson compares tests by their gain; ties go to the first.", parameter="selection")
    if len(training_set) > MAX_ROWS:
        raise DataError(
            f"{safe(table.name)} has {len(training_set):,} rows; a lesson holds up to {MAX_ROWS:,}.",
            hint="Take a part of the table.",
        )
    wide = [
        encoding.name
        for encoding, kinds in zip(training_set.encodings, training_set.split_kinds, strict=True)
        if "multiway" in kinds and len(encoding.levels) > MAX_BRANCHES
    ]
    notes = list(map(safe, training_set.notes))
    if wide:
        options["ignore"] = [*options.get("ignore", ()), *wide]
        training_set = prepare(table, target, **options)
        notes.append(f"left out, with more than {MAX_BRANCHES} branches: {join_few([safe(name) for name in wide])}")
    return training_set, tuple(notes)
