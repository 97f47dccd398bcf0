"""Grow a tree: parameters → settings and training set → the core → a Tree.

The entry point of training. Decisions are made before (``train/settings.py``, ``train/training_set.py``) or in the core
(``src/core/grow``); this file passes one to the other and records how the tree was made.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import numpy as np

from treewise import _core
from treewise._lib.caller import warn_caller
from treewise._lib.checks import as_integer, check_choice, decimal_fraction
from treewise._lib.text import plural, safe
from treewise._version import __version__
from treewise.data.column import truncate
from treewise.data.frames import is_dask_frame
from treewise.data.table import KindSpec, read
from treewise.errors import DataError, Param, ParameterError, refuse_unknown
from treewise.predict.costs import CostMatrix, with_cost_labels
from treewise.train.column_roles import ColumnRoles
from treewise.train.round_thresholds import read_share, round_thresholds
from treewise.train.settings import PRESET_PRUNING, SETTINGS, Settings, TreeSettingOptions, with_settings
from treewise.train.training_set import Quartiles, TrainingSet, build_like, build_training_set, name_quartiles
from treewise.tree.arrays import KIND_NUMBERS, Arrays, Label, Task
from treewise.tree.history import HistoryStep
from treewise.tree.tree import Tree

if TYPE_CHECKING:
    from treewise.prune.grow_and_prune import PruningPlan

AnyTrainingSet = TypeVar("AnyTrainingSet", bound=TrainingSet)
Progress = Callable[[float], None]  # receives the share of the work that is done
StageProgress = Callable[[str], AbstractContextManager[Progress | None]]
OnPrepared = Callable[[TrainingSet], None]

SEARCHES = ("greedy", "lookahead")
ROLES = (
    "task",
    "kinds",
    "ignore",
    "columns",
    "na_values",
    "positive",
    "sample_weight",
    "class_weight",
    "priors",
    "drop_missing_target",
    "groups",
    "time",
    "exposure",
)
PRUNING = ("pruning", "validation", "ccp_alpha", "honest")  # what happens to a grown tree
DISPLAY = ("labels", "display_names", "units")  # the parameters of Model.with_display
NO_SPLIT_LEFT = "no split survived pruning"  # how the note about a single leaf begins
_MAX_WORKERS = 1024


@with_settings
def grow(
    data: Any,
    target: Any = None,
    *,
    task: Task | None = None,
    preset: str | None = None,
    kinds: Mapping[str, KindSpec] | None = None,
    ignore: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    na_values: Sequence[str] = (),
    positive: Label | None = None,
    sample_weight: Any = None,
    class_weight: Mapping[Label, float] | str | None = None,
    priors: Any = None,
    cost: Any = None,
    drop_missing_target: bool = False,
    groups: Any = None,
    time: Any = None,
    exposure: Any = None,
    pruning: Any = None,
    validation: Any = None,
    ccp_alpha: float = 0.0,
    honest: float | None = None,
    search: str = "greedy",
    round_thresholds: bool | float = False,
    labels: Mapping[Label, str] | None = None,
    display_names: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    n_jobs: int | None = None,
    memory: int | str | None = None,
    engine: Any = None,
    show_queries: bool | Callable[[str], None] = False,
    **settings: Unpack[TreeSettingOptions],
) -> Tree:
    """Grow a decision tree on a table.

    >>> import treewise as tw
    >>> tree = tw.grow(tw.datasets.admissions(), target="Class", preset="id3")
    >>> tree.predict({"GPA": "3.7", "Published": "no", "University": "top20"})
    'P'

    Parameters
    ----------
    data : DataFrame (pandas, polars, Arrow), dict of columns, NumPy array, path of a CSV or Parquet file, or the name
        of a built-in table. Many files are one table: a pattern such as ``"big/*.parquet"``, a folder, or a list of
        paths. A table of a database (DuckDB relation, Ibis table, PySpark or SQLFrame frame, or an address such as
        ``"duckdb:///file.db#table"``) stays where it is, and is counted by queries.
    target : the column to predict, by name, or an array of its values.
    task : ``"classification"`` or ``"regression"``. By default the target decides: text, booleans, categories and
        whole numbers with at most 20 different values are classes; other numbers are regression.
    preset : ``"id3"``, ``"cart"`` or ``"c45"``: the settings of the books; parameters you give take precedence.
    criterion : ``"entropy"`` (the default for classes), ``"gini"``, ``"error"``, ``"gain_ratio"``, ``"c45"``;
        ``"squared_error"`` (the default for numbers), ``"absolute_error"``, ``"poisson"``.
    categorical : how categories are split: ``"subset"`` (the default; ordered ones by their order), ``"multiway"``,
        ``"one_value"``, ``"ordinal"``, or ``"any"``: all of them compete.
    selection : how the candidates of a node compete: ``"priced"`` (the default), by gain minus a description-length
        penalty for sets of many levels, so that columns of names do not win by chance; ``"gain"``, by gain alone, as in
        the books; ``"test"``, the column with the smallest p-value of a test of independence wins, and a node without a
        significant column is a leaf (conditional inference trees).
    alpha : with ``selection="test"``: a node is split if the p-value, adjusted for the number of columns, is at most
        this (0.05 unless given).
    kinds : column kinds that cannot be inferred: ``{"GPA": "nominal", "Price": ["free", "cheap"] (ordered),
        "Hunger": {"starving", "full"} (levels)}``; a split kind such as ``"multiway"`` is for that column alone.
    ignore, columns : columns to leave out, or the only ones to use.
    na_values : texts that mean "missing".
    monotone : columns that the prediction must follow: ``{"age": +1}`` if the probability of the positive class, or the
        predicted number, does not fall as age grows, ``-1`` if it does not rise. Splits that break it are forbidden.
    interactions : groups of columns that may be tested together on one path: ``[["age", "dose"], ["income"]]``; the
        columns that no group names form one more group.
    feature_costs, cost_scale : what it costs to measure a column, ``{"MRI": 500}``. The first test of a column on a
        path competes by its gain per row less cost × ``cost_scale``, and is forbidden if that is negative; later tests
        of the column are free.
    missing : ``"learn"`` tries the rows with a missing value in every branch and keeps the best; ``"branch"`` gives
        them a branch of their own; ``"error"`` refuses them.
    empty_branch : the node whose distribution a branch without rows predicts by: its ``"parent"`` or the ``"root"``.
    positive : the class to count as positive (it is moved last).
    max_depth, min_samples_split, min_samples_leaf, max_leaf_nodes, min_weight_fraction_leaf, min_impurity_decrease :
        limits, as in scikit-learn.
    min_level_rows : in columns of more than ten levels, levels with fewer rows at a node go with the others instead of
        being named (default 5; 1 names all, as the presets do).
    sufficient_accuracy : a node whose majority class has this share of its rows is not split further.
    max_features : the number of columns sampled at each node: a whole number, a share, ``"sqrt"`` or ``"log2"`` of
        their number; None for all. Columns that cannot split a node are replaced by others.
    splitter : ``"best"``, or ``"random"``: draw one split per column at random, and take the best of these.
    search : ``"greedy"``, or ``"lookahead"``: the tests near the root are chosen together, by the training error two or
        three levels below, and greedy growth continues from there. Never worse than greedy on the training rows. With
        ``max_depth`` as the only limit, and without pruning. For the best tree of a size, see ``optimal``.
    groups : the column (or array) that says which rows belong together, such as a patient: it is not a feature, and
        folds, ``honest`` and a share as ``validation`` hold out whole groups.
    time : the column (or array) of dates or numbers that orders the rows: folds are chronological, so each tree is
        evaluated on later rows than it was grown on; it is not used as a feature.
    exposure : for counts: the column (or array) of time, area or people over which each row was observed. The tree
        predicts rates, counts per unit of exposure (criterion ``"poisson"``).
    pruning : ``"cv"`` chooses the size by cross-validation: ``{"method": "cv", "loss": "log_loss", "rule": "best",
        "folds": 5, "repeats": 3}`` (``Tree.prune`` explains these; by default the error, the 1-SE rule, ten folds).
        ``"reduced_error"`` chooses it by ``validation``; or ``"pessimistic"``, ``"mdl"``, ``"gain"``, ``"collapse"``,
        ``"cost_complexity"``, with options ``{"method": "gain", "threshold": 0.02}``. ``"none"`` also where a preset
        prunes (c45).
    validation : for ``"reduced_error"``: a table the tree has not seen, or the share of the rows to hold out.
    ccp_alpha : the complexity parameter, as in scikit-learn; above 0 the tree is pruned by cost complexity.
    honest : the share of the rows, such as 0.5, that is kept for the numbers in the leaves. The others grow and prune
        the tree, so that counts, probabilities, values and intervals hold for new rows (Athey and Imbens 2016).
    round_thresholds : True replaces each threshold by the roundest number that moves no training row (age <= 42.5
        becomes age <= 42, balance <= 47,328.49 perhaps 47,000); 0.01 allows 1 % of a node's rows to change branch.
    labels, display_names, units : words for readers, ``{0: "stays", 1: "leaves"}`` for classes, ``{"Balance": "account
        balance"}`` and ``{"Balance": "€"}`` for columns (``Model.with_display``). They change no prediction.
    sample_weight : a weight for each row: the name of a column, or an array.
    class_weight : ``{"yes": 5}`` or ``"balanced"``.
    priors : the share of each class where the tree will be used, ``{"no": 0.9, "yes": 0.1}``, or a list in the order of
        the classes: growth and probabilities are as if the table had these shares (as in rpart).
    cost : the costs of mistakes by true class, then predicted class: ``{"bad": {"good": 5}}``; mistakes that are not
        named cost 1. Also a dataframe or a matrix in the order of the classes. Nodes predict the class of least
        expected cost; splits do not change.
    drop_missing_target : drop rows whose target is missing, instead of raising an error.
    ties : among equally good splits take the ``"first"`` (earlier column, smaller threshold), or a ``"random"`` one.
    random_state : the seed for sampled columns, random splits and ties, folds and held-out rows.
    n_jobs : the number of threads: None or -1 for all processors, -2 for all but one. The tree does not depend on it.
    memory : for files: the memory that the table may take, ``"2GB"`` or a number of bytes; by default half of what is
        free. The columns of a larger table are kept in temporary files; the tree is the same.
    engine : for Dask dataframes, and for files: the Dask cluster that counts, as a client, the address of a scheduler,
        or a number of worker processes to start on this machine. ``"memory"`` fetches a table of a database, which is
        otherwise counted there. The tree is the same.
    show_queries : True prints the SQL that counts in the database; a function receives each query.
    """
    options = {**locals()}
    options |= options.pop("settings")
    if "ensemble" in options or "n_estimators" in options:
        raise ParameterError(
            "treewise.grow grows one tree.",
            hint="For ensembles call treewise.forest, extra_trees, bagging or adaboost.",
        )
    refuse_unknown(options, signature(grow).parameters, "help(treewise.grow)")
    tree = fit(options.pop("data"), options.pop("target"), options)
    _warn_single_leaf(tree)
    return tree


def _warn_single_leaf(tree: Tree) -> None:
    """Warn the caller of the package if pruning left no split, by the note that says what the full tree began with."""
    if tree.n_leaves == 1 and (notes := [note for note in tree.notes if note.startswith(NO_SPLIT_LEFT)]):
        warn_caller(notes[0])


def fit(
    data: Any,
    target: Any,
    options: Mapping[str, Any],
    *,
    on_prepared: OnPrepared | None = None,
    on_grown: Callable[[Tree], None] | None = None,
    progress: StageProgress | None = None,
) -> Tree:
    """Prepare a table, grow a tree on it and prune it: ``grow`` with callbacks for the command line.

    ``options`` are the keyword parameters of ``grow``. ``on_prepared`` receives the training set before growth begins,
    ``on_grown`` the tree before it is pruned. ``progress("grow")`` and ``progress("prune")`` return the context
    manager of a progress bar.
    """
    from treewise.sources.fit import find_source, fit_source

    source = find_source(data, options.get("engine"), options.get("show_queries", False))
    if source is not None:
        return fit_source(source, target, options, on_prepared=on_prepared, on_grown=on_grown, progress=progress)
    options = {name: value for name, value in options.items() if name not in ("engine", "show_queries")}
    n_jobs, search = options.pop("n_jobs", None), options.pop("search", "greedy")
    check_choice("search", search, SEARCHES)
    memory = options.pop("memory", None)
    words = {name: options.pop(name, None) for name in DISPLAY}
    share = read_share(options.pop("round_thresholds", None))
    plan = pruning_for(options.get("preset"), **{name: options.pop(name) for name in PRUNING if name in options})
    if memory is not None:
        data = read(data, na_values=options.get("na_values", ()), memory=memory)
    training_set = prepare(data, target, **options)
    if on_prepared is not None:
        on_prepared(training_set)
    if search == "lookahead":
        tree = _look_ahead(training_set, plan, n_jobs, on_grown)
    else:
        tree = grow_prepared(training_set, plan, n_jobs, on_grown=on_grown, progress=progress)
    tree = tree if share is None else round_thresholds(tree, training_set, share)
    has_words = share is not None or any(given is not None for given in words.values())
    return tree.with_display(**words) if has_words else tree


def _look_ahead(
    training_set: TrainingSet,
    plan: PruningPlan | None,
    n_jobs: int | None,
    on_grown: Callable[[Tree], None] | None,
) -> Tree:
    """Grow a tree with look-ahead, which takes no pruning."""
    from treewise.train.optimal.lookahead import grow_lookahead

    if plan is not None:
        raise ParameterError(
            "a tree that is pruned is grown greedily.", parameter="search", value="lookahead",
            hint="Prune it afterwards: tree.prune(…).",
        )  # fmt: skip
    tree = grow_lookahead(training_set, n_jobs)
    if on_grown is not None:
        on_grown(tree)
    return tree


def grow_prepared(
    training_set: TrainingSet,
    plan: PruningPlan | None = None,
    n_jobs: int | None = None,
    *,
    on_grown: Callable[[Tree], None] | None = None,
    progress: StageProgress | None = None,
) -> Tree:
    """Grow a tree on a prepared training set and prune it by the plan, if there is one (``pruning_for``)."""
    if plan is not None and plan.honest is not None:
        from treewise.train.honest import estimate_leaves, split_rows

        for_structure, for_leaves = split_rows(training_set, plan.honest)
        structure = grow_prepared(
            for_structure, replace(plan, honest=None), n_jobs, on_grown=on_grown, progress=progress
        )
        return estimate_leaves(structure, for_leaves, plan.honest, training_set)
    stage = progress or (lambda _: nullcontext())
    if plan is None:
        with stage("grow") as report:
            tree = grow_training_set(training_set, report, n_jobs)
        if on_grown is not None:
            on_grown(tree)
        return tree
    from treewise.prune.grow_and_prune import grow_unpruned, note_no_split_left, prune_grown

    with stage("grow") as report:
        full_tree, held_out = grow_unpruned(training_set, plan, n_jobs, report)
    if on_grown is not None:
        on_grown(full_tree)
    with stage("prune") as report:
        pruned = prune_grown(full_tree, training_set, plan, held_out, n_jobs, report)
    if pruned.n_leaves > 1 or full_tree.n_leaves == 1:
        return pruned
    return pruned.with_(notes=(*pruned.notes, *note_no_split_left(full_tree, pruned, training_set, plan, n_jobs)))


def pruning_for(
    preset: str | None = None,
    pruning: Any = None,
    validation: Any = None,
    ccp_alpha: float = 0.0,
    honest: float | None = None,
) -> PruningPlan | None:
    """Return how the tree is to be pruned and its leaves estimated; None: not at all."""
    from_preset = pruning is None and validation is None and isinstance(preset, str) and preset in PRESET_PRUNING
    if pruning is None and validation is None and isinstance(ccp_alpha, int | float) and ccp_alpha == 0:
        if not from_preset and honest is None:
            return None
        pruning = PRESET_PRUNING[preset] if from_preset else None  # type: ignore[index]
    from treewise.prune.grow_and_prune import PruningPlan

    return PruningPlan.of(pruning, validation, ccp_alpha, honest, only_classes=from_preset)


def prepare(data: Any, target: Any = None, **options: Any) -> TrainingSet:
    """Prepare a table under the options of ``grow``."""
    if is_dask_frame(data):
        raise DataError(
            "the rows of a Dask dataframe are on a cluster, where single trees are grown, but nothing that draws rows.",
            hint="Give a table in memory: frame.compute().",
        )
    roles, settings, cost = read_options(target, options)
    return record_cost(build_training_set(data, roles, settings), cost)


def read_options(target: Any, options: dict[str, Any]) -> tuple[ColumnRoles, Settings, Any]:
    """Return the options of ``grow`` as roles of columns, settings, and the costs of mistakes as given."""
    options = dict(options)
    roles = {name: options.pop(name) for name in ROLES if name in options}
    preset, cost = options.pop("preset", None), options.pop("cost", None)
    refuse_unknown(options, Settings.__dataclass_fields__, "help(treewise.grow)", also=(*ROLES, "preset", "cost"))
    if isinstance(roles.get("na_values"), str):
        marker = truncate(roles["na_values"])
        raise ParameterError(
            "must be a list, " + Param("na_values", [marker]) + ".", parameter="na_values", value=marker
        )
    column_roles = ColumnRoles(target=target, criterion=options.get("criterion"), **roles)
    return column_roles, Settings.of(preset, **options), cost


def record_cost(training_set: AnyTrainingSet, cost: Any) -> AnyTrainingSet:
    """Return a training set whose trees predict by the costs of mistakes, if there are any."""
    if cost is None:
        return training_set
    if training_set.target.task == "regression":
        raise ParameterError("regression has no classes.", parameter="cost", hint="Leave it out.")
    matrix = CostMatrix.of(cost, training_set.target.classes)
    return replace(training_set, fit_options=replace(training_set.fit_options, cost=matrix.to_dict()))


def prepare_like(tree: Tree, data: Any, sample_weight: Any = None, groups: Any = None, time: Any = None) -> TrainingSet:
    """Prepare a table like the training table of a tree: the same columns, target, criterion and settings."""
    info = tree.fit_info
    settings = Settings.from_values({"criterion": tree.criterion, "empty_branch": tree.empty_branch, **info.settings})
    return build_like(data, tree.encodings, tree.target, settings, info.fit_options, sample_weight, None, groups, time)


def grow_training_set(
    training_set: TrainingSet, progress: Progress | None = None, n_jobs: int | None = None, keep_quartiles: bool = True
) -> Tree:
    """Grow a tree on a prepared training set; ``progress`` receives the share of rows that have reached a leaf.

    Without ``keep_quartiles`` the tree has no quartiles: the tree of a fold is evaluated and discarded.
    """
    settings = core_settings(training_set)
    settings.n_jobs, settings.quartiles = resolve_n_jobs(n_jobs), keep_quartiles
    columns, target = core_columns(training_set), core_target(training_set)
    try:
        grown = _core.grow(columns, target, settings, progress)
    except MemoryError:
        raise _out_of_memory(training_set) from None
    quartile_arrays = grown.pop("quartiles", ())
    if os.environ.get("TREEWISE_VERIFY", "0") != "0":
        from treewise.train.self_check import check_growth

        check_growth(training_set, grown, columns, target, settings)
    quartiles = name_quartiles(training_set.encodings, quartile_arrays) if keep_quartiles else {}
    for array in grown.values():
        array.flags.writeable = False
    return finish_tree(training_set, Arrays(**grown), quartiles)


def grow_step(training_set: TrainingSet) -> dict[str, Any]:
    """Return the entry of the history that records how a tree was grown."""
    return {
        "did": "grow",
        "treewise": __version__,
        "rows": len(training_set),
        "settings": training_set.settings.non_default_values(),
        **training_set.fit_options.to_step(),
    }


def finish_tree(training_set: TrainingSet, arrays: Arrays, quartiles: Quartiles) -> Tree:
    """Return the tree of grown arrays, with a record of how it was grown and notes on the table."""
    tree_settings, step = training_set.settings, grow_step(training_set)
    assert tree_settings.criterion is not None
    tree = Tree(
        training_set.encodings,
        training_set.target,
        arrays,
        tree_settings.criterion,
        tree_settings.empty_branch,
        history=(HistoryStep(step),),
        quartiles=quartiles,
    )
    if training_set.fit_options.cost is not None:
        tree = with_cost_labels(tree)
    return tree.with_(notes=(*training_set.notes, *note_leakage(tree)))


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Return the number of threads, counted as in scikit-learn: -1 for all processors, -2 for all but one, …

    >>> resolve_n_jobs(3)
    3
    """
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return processors
    count = as_integer(n_jobs)
    if count is None or count == 0 or count > _MAX_WORKERS:
        raise ParameterError(
            f"must be a whole number of threads, at most {_MAX_WORKERS}, or -1 for all processors, -2 for all but one.",
            parameter="n_jobs",
            value=n_jobs,
        )
    return count if count > 0 else max(1, processors + 1 + count)


def _out_of_memory(training_set: TrainingSet) -> MemoryError:
    # Order, rank and value of every cell, and the row indices.
    needed = 16 * len(training_set) * (len(training_set.columns) + 1) / 2**20
    size = f"{plural(len(training_set), 'row')} and {plural(len(training_set.columns), 'column')}"
    return MemoryError(
        f"not enough memory: growing on {size} needs about {needed:,.0f} MB besides the table."
        " Use fewer rows or columns."
    )


def note_leakage(tree: Tree) -> list[str]:
    """Note a tree whose root split separates the target perfectly: that column may leak the target."""
    leaves = tree.arrays.rows[1:] > 0
    deeper = len(tree) == 1 or np.any(tree.arrays.parent[1:] > 0)
    if deeper or tree.arrays.rows[0] < 20 or not np.all(tree.arrays.impurity[1:][leaves] == 0):
        return []
    column, target = safe(tree.columns[tree.arrays.column[0]]), safe(tree.target.name)
    return [
        f"{column}: it alone predicts {target} perfectly. If it is not known before {target} is, leave it out: "
        + Param("ignore", [column])
    ]


def core_columns(training_set: TrainingSet) -> list[_core.Column]:
    """Return the columns for the core, each with its allowed split kinds."""
    columns = [
        _core.Column(values, len(encoding.levels), [KIND_NUMBERS[k] for k in kinds], encoding.kind == "ordered")
        for encoding, values, kinds in zip(
            training_set.encodings, training_set.columns, training_set.split_kinds, strict=True
        )
    ]
    for column, column_constraints in zip(columns, training_set.constraints, strict=True):
        column.constrain(
            column_constraints.monotone,
            column_constraints.interaction_groups,
            column_constraints.feature_cost,
            column_constraints.feature_cost_bit,
        )
    return columns


def core_target(training_set: TrainingSet) -> _core.Target:
    """Return the target and the weights for the core."""
    n_classes = len(training_set.target.classes)
    scales = (training_set.target_scale, training_set.weight_scale, training_set.target_top)
    return _core.Target(training_set.y, training_set.raw, training_set.weight, n_classes, *scales)


def core_settings(training_set: TrainingSet) -> _core.Settings:
    """Return the settings for the core: shares become counts, choices become flags."""
    settings, core = training_set.settings, _core.Settings()
    core.criterion = training_set.criterion.impurity or training_set.criterion.name
    core.rule = training_set.criterion.rule
    core.selection = settings.selection
    core.gain_per_branch = training_set.divides_gain_by_branches
    core.missing_branch = settings.missing == "branch"
    core.empty_from_root = settings.empty_branch == "root"
    core.random_ties = settings.ties == "random"
    core.random_cuts = settings.splitter == "random"
    core.max_features = settings.features_of(len(training_set.columns))
    core.seed = settings.random_state
    core.observation_weight = training_set.observation_weight
    for name, limit in training_set.limits.items():
        setattr(core, SETTINGS[name].core, limit)
    accuracy = decimal_fraction(settings.sufficient_accuracy)
    core.accuracy_numerator, core.accuracy_denominator = accuracy.numerator, accuracy.denominator
    return core
