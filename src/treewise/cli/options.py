"""The options of growing: one table that mirrors the parameters of ``treewise.grow``.

Used by every verb that can grow a tree (grow; show and trace on a table). A name, meaning or default is
written here once; a test compares the table with the signature of ``treewise.grow``, so that the two cannot
drift apart. Ranges and spellings are checked where the Python interface checks them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from treewise.cli.values import (
    read_class_weight,
    read_costs,
    read_count_or_share,
    read_kind,
    read_method,
    read_names,
    read_share_or_name,
    read_shares,
)
from treewise.cli.verb import CUT, LEARNING, LIMITS, TABLE, WEIGHTS, Function, option
from treewise.criteria import names_for


@dataclass(frozen=True)
class GrowOption:
    """One parameter of ``treewise.grow`` as an option."""

    parameter: str
    section: str
    help: str
    metavar: str | None = None
    type: Any = str
    default: Any = None  # what treewise.grow does without it; said in the help, never passed on
    flag: str | None = None  # where it differs from the parameter's name
    many: bool = False

    @property
    def name(self) -> str:
        """The option as typed."""
        return self.flag or "--" + self.parameter.replace("_", "-")

    def add_to(self, function: Function) -> Function:
        """Put the option on a verb."""
        shown = "" if self.default is None else f" (default {self.default})"
        about: dict[str, Any] = {"help": f"{self.help}{shown}."}
        if self.type is bool:
            about["is_flag"] = True
        else:
            about |= {"type": self.type, "metavar": self.metavar, "multiple": self.many}
        return option(self.name, self.parameter, section=self.section, **about)(function)


class TextForm(NamedTuple):
    """How delimited text is written, under the names of ``treewise.read``."""

    separator: str | None = None
    decimal: str = "."
    header: bool = True


GROW_OPTIONS = (
    GrowOption("target", TABLE, "Column to predict; a built-in table knows its own", "COLUMN"),
    GrowOption("task", TABLE, "What the target is, when its values leave it open", "classification|regression"),
    GrowOption(
        "ignore",
        TABLE,
        "Column to leave out; repeat it, or separate by commas",
        "COLUMN",
        read_names,
        many=True,
    ),
    GrowOption("columns", TABLE, "Learn from these columns only", "A,B,…", read_names, many=True),
    GrowOption(
        "kinds",
        TABLE,
        'What a column is: GPA=nominal, "Price=free<cheap<expensive" (ordered), "Hunger={a,b}" (its levels)',
        "COLUMN=KIND",
        read_kind,
        flag="--kind",
        many=True,
    ),
    GrowOption(
        "na_values",
        TABLE,
        'Text that means missing, such as "?"; repeat it for more',
        "TEXT",
        flag="--na",
        many=True,
    ),
    GrowOption("drop_missing_target", TABLE, "Leave out rows whose target is missing", type=bool),
    GrowOption("preset", LEARNING, "A book's settings; other options win over them", "id3|cart|c45"),
    GrowOption(
        "criterion",
        LEARNING,
        f"{names_for('classification')}; {names_for('regression')} for numbers (default entropy or squared_error)",
        "NAME",
    ),
    GrowOption(
        "categorical",
        LEARNING,
        "How categories are tested: subset, multiway, one_value, ordinal or any (default subset)",
        "NAME",
    ),
    GrowOption("missing", LEARNING, "Missing values: learn, branch (of their own) or error", "NAME", default="learn"),
    GrowOption(
        "empty_branch",
        LEARNING,
        "What a branch without rows answers with: parent or root",
        "NAME",
        default="parent",
    ),
    GrowOption("positive", LEARNING, "The class that percentages speak of (default: the last)", "CLASS"),
    GrowOption("max_depth", LIMITS, "Most tests on a path", "N", int),
    GrowOption("max_leaf_nodes", LIMITS, "Most leaves; the best splits first", "N", int),
    GrowOption(
        "min_samples_leaf",
        LIMITS,
        "Fewest rows in a leaf, or their share (default 1)",
        "N",
        read_count_or_share,
    ),
    GrowOption(
        "min_samples_split",
        LIMITS,
        "Fewest rows in a node to be split, or their share",
        "N",
        read_count_or_share,
        2,
    ),
    GrowOption("min_impurity_decrease", LIMITS, "Least gain of a split, per row of the table", "X", float, 0.0),
    GrowOption("min_weight_fraction_leaf", LIMITS, "Least share of all weight in a leaf", "X", float, 0.0),
    GrowOption("sufficient_accuracy", LIMITS, "Share of one class at which a node is left alone", "X", float, 1.0),
    GrowOption(
        "pruning",
        CUT,
        "cv (size by cross-validation), reduced_error, pessimistic, mdl, gain, collapse, cost_complexity, or none;"
        " with options gain:threshold=0.02",
        "METHOD",
        read_method,
    ),
    GrowOption(
        "validation",
        CUT,
        "For reduced_error: a table the tree has not seen, or the share of rows to hold back",
        "DATA|X",
        read_share_or_name,
    ),
    GrowOption("ccp_alpha", CUT, "Price of a leaf; above 0 the tree is pruned by cost complexity", "X", float, 0.0),
    GrowOption("sample_weight", WEIGHTS, "Column with the weight of each row", "COLUMN"),
    GrowOption(
        "class_weight",
        WEIGHTS,
        "balanced, or a weight for each class: yes=5,no=1",
        "WEIGHTS",
        read_class_weight,
    ),
    GrowOption(
        "priors",
        WEIGHTS,
        "The share of each class where the tree will be used: no=0.9,yes=0.1",
        "SHARES",
        read_shares,
    ),
    GrowOption(
        "cost",
        WEIGHTS,
        'What mistakes cost, true class then predicted one: "bad:good=5"; any other costs 1',
        "COSTS",
        read_costs,
    ),
    GrowOption(
        "ties",
        WEIGHTS,
        "Of equally good splits take the first, or one at random",
        "first|random",
        default="first",
    ),
    GrowOption("random_state", WEIGHTS, "Seed for random ties, folds and rows held back", "N", int, 0),
    GrowOption("n_jobs", WEIGHTS, "Threads that work on it (default: one a processor)", "N", int),
)


def na_option(function: Function) -> Function:
    """Put ``--na`` on a verb that reads a table but does not grow."""
    help = 'Text that means missing, such as "?".'
    return option("--na", "na_values", multiple=True, metavar="TEXT", section=TABLE, help=help)(function)


def cost_option(help: str) -> Callable[[Function], Function]:
    """Put ``--cost`` on a verb that takes a finished tree."""
    return option("--cost", type=read_costs, metavar="TRUE:PREDICTED=X", help=help)


estimate_option = option(
    "--estimate",
    metavar="NAME",
    help="How probabilities are made of counts: maximum_likelihood, laplace, m_estimate=M, shrinkage=L"
    " (default maximum_likelihood).",
)


def text_options(function: Function) -> Function:
    """Put the options for reading delimited text on a verb; all verbs that take DATA have them."""
    separator = option(
        "--separator",
        metavar="CHAR",
        section=TABLE,
        help='What stands between the cells of a text file: ";", "tab" (default: by its first line).',
    )
    decimal = option(
        "--decimal", metavar="CHAR", section=TABLE, help="Decimal mark of its numbers: . or , (default .)."
    )
    header = option(
        "--no-header",
        "header",
        flag_value=False,
        default=True,
        section=TABLE,
        help="Its first line is data already; the columns are x1, x2, …",
    )
    return separator(decimal(header(function)))


def take_text_options(options: dict[str, Any]) -> TextForm:
    """Take the options for delimited text out of all options of a verb."""
    separator, decimal = options.pop("separator"), options.pop("decimal")
    named = {"tab": "\t", "\\t": "\t", "space": " "}.get(separator, separator)
    return TextForm(named, decimal or ".", options.pop("header"))


def grow_options(function: Function) -> Function:
    """Put all options of growing on a verb."""
    for each in reversed(GROW_OPTIONS):
        function = each.add_to(function)
    return function


def unpruned_grow_options(function: Function) -> Function:
    """Put the options of growing on a verb that chooses the size itself."""
    for each in reversed(GROW_OPTIONS):
        function = function if each.section == CUT else each.add_to(function)
    return function


def given(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given, as parameters of ``treewise.grow``.

    >>> given({"max_depth": 3, "ties": None, "ignore": (["id"], ["name", "town"]), "columns": ()})
    {'ignore': ['id', 'name', 'town'], 'max_depth': 3}
    """
    found: dict[str, Any] = {}
    for each in GROW_OPTIONS:
        value = options.get(each.parameter)
        if value is None or value is False or value == ():
            continue
        if each.type is read_names:
            value = [name for names in value for name in names]
        elif each.type is read_kind:
            value = dict(value)
        elif each.many:
            value = list(value)
        found[each.parameter] = value
    return found


def take_grow_options(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of growing out of all options of a verb."""
    return given({each.parameter: options.pop(each.parameter, None) for each in GROW_OPTIONS})
