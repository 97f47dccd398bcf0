"""``treewise grow``: a table in; a tree to read and to save, and on the way what was understood."""

from __future__ import annotations

import os
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treewise._lib.text import plural, safe
from treewise.cli.describe_input import prepare_and_report
from treewise.cli.inputs import read_data
from treewise.cli.messages import in_options
from treewise.cli.options import ensemble_options, grow_options, take_ensemble_options, take_grow_options
from treewise.cli.output import check_place, deliver, is_plain, remark
from treewise.cli.render import coloured, has_style, say_styled
from treewise.cli.shared_options import TextOptions, quiet_option, take_text_options, text_options, whole_option
from treewise.cli.verb import output_option, verb
from treewise.errors import ParameterError

if TYPE_CHECKING:
    from treewise.data.table import Table
    from treewise.prune.grow_and_prune import PruningPlan
    from treewise.train.training_set import TrainingSet
    from treewise.tree.tree import Tree

MOST_LINES = 60  # of a bounded view
MODEL_FORMS = (".json", ".txt")
EVERY_LINE = "every line: --all"


@verb(
    "grow",
    "DATA --target COLUMN [-o MODEL] [options]",
    examples=(
        "treewise grow admissions --target Class --preset id3",
        "treewise grow penguins --target species --max-leaf-nodes 4 -o model.json",
        "treewise grow yours.csv --target readmitted --ignore patient_id --na '?' --pruning cv",
    ),
    about='DATA is a CSV, TSV or Parquet file (.gz too), "-" for CSV on standard input, or a built-in table'
    " (treewise data lists them). Nothing has to be said about column types; --kind corrects a wrong guess.",
)
@click.argument("data")
@grow_options
@ensemble_options
@text_options
@output_option("Save the tree as a model file (.json), or as text to edit (.txt).")
@whole_option
@quiet_option
def command(data: str, ensemble: str | None, output: str | None, whole: bool, quiet: bool, **options: Any) -> None:
    """Grow, show, save."""
    check_place(output, data)
    form = take_text_options(options)
    asked, many = take_grow_options(options), take_ensemble_options(options, ensemble)
    if ensemble is not None:
        from treewise.cli.grow_ensemble import grow_and_show

        return grow_and_show(data, ensemble, many, asked, form, output, whole, quiet)
    check_ending(output)
    return grow_one(data, asked, form, output, whole, quiet)


def grow_one(data: str, asked: dict[str, Any], form: TextOptions, output: str | None, whole: bool, quiet: bool) -> None:
    """Grow one tree, show it, save it."""
    training_set, tree = grow_aloud(data, asked, form, quiet)
    model = None if output is None else written_form(tree, output)
    if output == "-":
        assert model is not None
        deliver(model, None)
        return
    if model is not None:  # before the page, whose reader may leave early
        deliver(model, output)
    view = drawn(tree, whole, training_set=training_set)
    say_styled(view)
    if output is not None and not quiet:
        small = int(tree.arrays.rows[0]) <= 1000 and not asked.get("sample_weight")
        remark("", saved_line(output, data, small, folded=EVERY_LINE in view.rpartition("\n")[2]))


def grow_aloud(
    data: str | Table, asked: dict[str, Any], form: TextOptions, quiet: bool = False
) -> tuple[TrainingSet, Tree]:
    """Grow a tree, saying on standard error what was understood and how it went."""
    from treewise.cli.progress import bar
    from treewise.train.grow import PRUNING, grow_training_set, pruning_for

    later = {name: asked[name] for name in PRUNING if name in asked}
    if isinstance(later.get("validation"), str):
        later["validation"] = read_data(later["validation"], asked.get("na_values", ()), form)
    wanted = pruning_for(asked.get("preset"), **later)
    n_jobs = asked.get("n_jobs")
    growing = {name: value for name, value in asked.items() if name not in PRUNING}
    training_set = prepare_and_report(data, growing, form, quiet)
    started = time.monotonic()
    if wanted is None:
        with bar("grow") as progress:
            tree = grow_training_set(training_set, progress, n_jobs)
        lines = grown_lines(tree, time.monotonic() - started)
    else:
        tree, lines = grow_and_cut(training_set, wanted, n_jobs)
    if not quiet:
        for head, line in lines:
            remark(head, line)
        for note in tree.notes:
            if note not in training_set.notes:
                remark("note", in_options(note))
        remark("", "")
    return training_set, tree


def grow_and_cut(
    training_set: TrainingSet, wanted: PruningPlan, n_jobs: int | None
) -> tuple[Tree, list[tuple[str, str]]]:
    """Grow a tree and prune it, with a bar for each; and what to say of it."""
    from treewise.cli.progress import bar
    from treewise.prune.grow_and_prune import grow_unpruned, prune_grown

    started = time.monotonic()
    with bar("grow") as progress:
        full, held = grow_unpruned(training_set, wanted, n_jobs, progress)
    grown = time.monotonic()
    lines = [("grow", f"{grown - started:.1f} s   full tree: {size_in_words(full)}")]
    with bar("prune") as progress:
        tree = prune_grown(full, training_set, wanted, held, n_jobs, progress)
    if tree is full:
        return tree, lines
    lines.append(("prune", f"{time.monotonic() - grown:.1f} s   {pruned_in_words(tree)}"))
    return tree, [*lines, *(("note", note) for note in notes_of_pruning(tree))]


def notes_of_pruning(tree: Tree) -> list[str]:
    """Return what the last pruning noted of its table, such as labels the tree does not know."""
    return [fact.removeprefix("note: ") for fact in tree.history[-1]["facts"] if fact.startswith("note: ")]


def pruned_in_words(tree: Tree) -> str:
    """Say what the last pruning did: its method, the leaves, and the last fact it found out."""
    step = tree.history[-1]
    method = step["method"].replace("_", " ") if "method" in step else "to a size"
    before, after = step["leaves"]
    return " · ".join([f"{method}: {before:,} → {plural(after, 'leaf', 'leaves')}", *step["facts"][-1:]])


def size_in_words(tree: Tree) -> str:
    """Say how large a tree is, and how well it fits its table."""
    from treewise.show.node_stats import describe_training_error

    return " · ".join([plural(tree.n_leaves, "leaf", "leaves"), f"depth {tree.depth}", *describe_training_error(tree)])


def grown_lines(tree: Tree, seconds: float) -> list[tuple[str, str]]:
    """Say how large the tree has become, and whether it has memorised its table."""
    from treewise.show.text_tree.text_tree import remarks

    return [
        ("grow", f"{seconds:.1f} s   {size_in_words(tree)}"),
        *(("note", in_options(line)) for line in remarks(tree)),
    ]


def drawn(tree: Tree, whole: bool = False, bars: bool | None = None, training_set: TrainingSet | None = None) -> str:
    """Draw a tree: bounded on a terminal unless every line is asked for, whole into a file or a pipe."""
    if whole or not sys.stdout.isatty():
        return in_text(tree, bool(bars), training_set)
    text = in_text(tree, bars, training_set, max_lines=MOST_LINES, width=screen_width())
    return in_options(text, node="treewise show MODEL --node")  # grow itself has no --node


def in_text(tree: Tree, bars: bool | None, training_set: TrainingSet | None, **bounds: Any) -> str:
    """Write a tree as standard output can show it; with bars where asked for, or (None) on a terminal with colours.

    The bars of numbers are histograms where the tree has just been grown on a training set.
    """
    from treewise.show.node_stats import NodeSamples
    from treewise.show.text_tree.columns import unpainted
    from treewise.show.text_tree.text_tree import render

    style = has_style()
    wanted = bars if bars is not None or style else False
    paint = coloured if style else unpainted
    seen = wanted is not False and training_set is not None and tree.task == "regression"
    samples = NodeSamples.from_training_set(tree, training_set) if seen and training_set is not None else None
    return render(tree, ascii=is_plain(sys.stdout), bars=wanted, paint=paint, samples=samples, **bounds)


def screen_width() -> int | None:
    """Return how wide a line may be; no limit where nobody reads a screen."""
    if not sys.stdout.isatty():
        return None
    try:
        return max(60, os.get_terminal_size(sys.stdout.fileno()).columns)
    except OSError:
        return None


def check_ending(output: str | None) -> None:
    """Refuse a file whose ending promises something we do not write, before any work is done for it."""
    if output in (None, "-") or str(output).lower().endswith(MODEL_FORMS):
        return
    path = Path(str(output)).expanduser()
    if path.exists() and not path.is_file():
        return  # a pipe or a device: no name to go by
    known = "a tree is saved as a model (.json) or as text to edit (.txt)"
    raise ParameterError(f"cannot write {safe(output)}: {known}.")


def written_form(tree: Tree, output: str) -> str:
    """Return the file to save: JSON, or the complete text form that can be edited and read back."""
    from treewise.formats.model_file.model_file import dumps

    return tree.export("text") if output.lower().endswith(".txt") else dumps(tree)


def saved_line(output: str, data: str, small: bool, folded: bool) -> str:
    """Say what was written and what can be done with it: traced where that is read, shown where lines were folded."""
    model, table = shlex.quote(output), shlex.quote(data if data != "-" else "DATA")
    steps = [f"treewise trace {model} {table}"] * small
    steps += [f"treewise show {model} --all"] * (folded and not small)
    steps += [f"treewise rules {model}", f"treewise evaluate {model} new.csv"]
    return f"saved {safe(output)}   next: {' · '.join(steps)}"
