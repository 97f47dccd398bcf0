"""How good the tree is: the tiles at the top of the page, and the section with the charts of an evaluation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from treewise._lib.result_table import escape_html
from treewise._lib.text import format_percent, format_rounded, format_share, plural, safe
from treewise.evaluate import Evaluation
from treewise.evaluate.metrics import Metric
from treewise.evaluate.regression_results import RegressionEvaluation
from treewise.evaluate.result_tables import describe_fact
from treewise.evaluate.results import ClassificationEvaluation
from treewise.prune.losses import describe_cross_validation
from treewise.show.node_stats import has_training_rows, training_error
from treewise.show.picture.render import to_svg
from treewise.show.plots.chart import Chart
from treewise.show.plots.chart_scene import chart_scene
from treewise.show.plots.evaluation import draw_evaluation, draw_regression_evaluation
from treewise.tree.tree import Tree

_CHARTS = {
    "confusion": "Confusion matrix",
    "roc": "ROC curve",
    "precision_recall": "Precision and recall",
    "gains": "Gains",
    "lift": "Lift",
    "calibration": "Calibration",
}
_REGRESSION_CHARTS = {"predicted": "Predicted and true", "residuals": "Residuals"}
_MAX_CONFUSION_CLASSES = 20
_SIDE = 300.0  # of the confusion matrix at least, in pixels: about as large as the other charts
_LOSS = re.compile(r"^(\D*?) (<?>?-?[\d.,]+(?: ± [\d.,]+)?(?: %)?)(?: \((.*)\))?$")  # "error 3.5 % (95 % interval …)"


@dataclass(frozen=True)
class Tile:
    """A number in large type, with a label above it and a note below."""

    label: str
    value: str
    note: str = ""


def tiles_html(tiles: list[Tile]) -> str:
    """Return the tiles as a list of definitions."""
    items = "".join(
        f"<div><dt>{escape_html(tile.label)}</dt><dd><strong>{escape_html(tile.value)}</strong>"
        f"<span>{escape_html(tile.note)}</span></dd></div>"
        for tile in tiles
    )
    return f'<dl class="tiles">{items}</dl>'


def headline_tiles(tree: Tree, test: Evaluation | None, training: Evaluation | None) -> list[Tile]:
    """Return the error to expect on new rows first, then other metrics, then the size.

    Without a test table and a cross-validation the error is that of the training rows, and the tile says so.
    """
    tiles = []
    if test is not None:
        tiles.append(_error_tile(test, "Test"))
    elif (loss_text := describe_cross_validation(tree)) is not None:
        tiles.append(_cross_validation_tile(loss_text))
    elif training is not None:
        tiles.append(replace(_error_tile(training, "Training"), note="the error on new rows is unknown"))
    tiles += _metric_tiles(test or training)
    size = Tile("Size", plural(tree.n_leaves, "leaf", "leaves"), f"depth {tree.depth}")
    rows = [Tile("Grown on", plural(int(tree.arrays.rows[0]), "row"))] if has_training_rows(tree) else []
    if rows and (test is not None or describe_cross_validation(tree)) and (error := training_error(tree)) is not None:
        is_rate = tree.task == "classification"
        text = f"error {format_share(error)} %" if is_rate else f"RMSE {format_rounded(error)}"
        rows = [replace(rows[0], note=f"training {text}")]
    return [*tiles, size, *rows]


def _cross_validation_tile(text: str) -> Tile:
    """Return the tile of a cross-validated loss.

    >>> _cross_validation_tile("cross-validated error 3.5 % (95 % interval 1.3 to 9.0 %), corrected for the choice")
    Tile(label='Cross-validated error', value='3.5 %', note='95 % interval 1.3 to 9.0 %')
    """
    loss = _LOSS.match(text.split(", corrected", maxsplit=1)[0])
    if loss is None:
        return Tile("Cross-validated", text)
    return Tile(loss[1][:1].upper() + loss[1][1:], loss[2], loss[3] or "")


def _error_tile(evaluation: Evaluation, name: str) -> Tile:
    if isinstance(evaluation, RegressionEvaluation):
        _, value, interval, _ = evaluation.metric_cells()[1]
        return Tile(f"{name} RMSE", value, f"{evaluation.interval_name} {interval}" if interval else "")
    assert isinstance(evaluation, ClassificationEvaluation)
    low, high = evaluation.interval
    note = f"{evaluation.interval_name} {format_percent(low)} to {format_percent(high)} %"
    return Tile(f"{name} error", f"{format_share(evaluation.error)} %", note)


def _metric_tiles(evaluation: Evaluation | None) -> Iterator[Tile]:
    """Yield the metrics beside the error; those of the training rows are marked."""
    if evaluation is None:
        return
    rows = "training rows" if evaluation.is_training_data else "test rows"
    if isinstance(evaluation, RegressionEvaluation):
        if (baseline := evaluation.baseline_rmse) is not None and evaluation.root is not None:
            yield Tile("Baseline RMSE", format_rounded(baseline), f"always {format_rounded(evaluation.root)}")
        if evaluation.r2 is not None:
            yield Tile("R²", f"{evaluation.r2:.3f}", rows)
        return
    assert isinstance(evaluation, ClassificationEvaluation)
    baseline = evaluation.baseline_error
    if baseline is not None:
        yield Tile("Baseline error", f"{format_share(baseline)} %", f'always "{safe(evaluation.majority)}"')
    metrics = {metric.name: metric for metric in evaluation.metrics}
    auc: Metric | None = metrics.get("auc")
    if auc is not None and auc.value is not None:
        interval = "" if auc.interval is None else f"{auc.interval[0]:.3f} to {auc.interval[1]:.3f}, "
        yield Tile("AUC" if len(evaluation.classes) == 2 else "Mean AUC", f"{auc.value:.3f}", f"{interval}{rows}")


# -- the section --------------------------------------------------------------------------------------------------


def charts_html(evaluation: Evaluation, has_splits: bool) -> str:
    """Return the charts of an evaluation."""
    charts = evaluation_charts(evaluation, has_splits)
    figures = "".join(chart_figure(chart, title) for title, chart in charts)
    return f'<div class="charts">{figures}</div>' if figures else ""


def figures_html(heading: str, evaluation: Evaluation) -> str:
    """Return the figures of an evaluation with their intervals: a list of remarks, and a table."""
    evaluation = evaluation.displayed
    assert isinstance(evaluation, ClassificationEvaluation | RegressionEvaluation)
    tables, lines = [evaluation.metric_cells()], list(evaluation.notes)
    if isinstance(evaluation, ClassificationEvaluation):
        lines = [describe_fact(head, text) for head, text in evaluation.facts]
        if len(evaluation.labels) > _MAX_CONFUSION_CLASSES:
            tables.append(evaluation.confusion_cells())
    items = "".join(f"<p>{escape_html(line)}</p>" for line in lines)
    shown = "".join(_cells_html(cells) for cells in tables)
    return f'<div class="figures"><h3>{heading}</h3>{items}{shown}</div>'


def _cells_html(cells: list[list[str]]) -> str:
    """Return cells as a table: headings first, numbers from the second column on."""

    def row(tag: str, texts: list[str]) -> str:
        first, *others = map(escape_html, texts)
        numbers = "".join(f'<{tag} class="number">{text}</{tag}>' for text in others)
        return f"<tr><{tag}>{first}</{tag}>{numbers}</tr>"

    head, *body = cells
    rows = "".join(row("td", texts) for texts in body)
    return f'<div class="scroll"><table><thead>{row("th", head)}</thead><tbody>{rows}</tbody></table></div>'


def evaluation_charts(evaluation: Evaluation, has_splits: bool = True) -> Iterator[tuple[str, Chart]]:
    """Yield the charts of an evaluation with their titles; without a split nothing is ranked."""
    if isinstance(evaluation, RegressionEvaluation):
        for what, title in _REGRESSION_CHARTS.items() if has_splits else ():
            yield title, draw_regression_evaluation(evaluation, what).chart
        return
    assert isinstance(evaluation, ClassificationEvaluation)
    if len(evaluation.labels) <= _MAX_CONFUSION_CLASSES:
        matrix = draw_evaluation(evaluation, "confusion").chart
        yield _CHARTS["confusion"], replace(matrix, width=max(matrix.width, _SIDE), height=max(matrix.height, _SIDE))
    ranking = evaluation.ranking
    if has_splits and ranking is not None and ranking.auc is not None:
        for what in list(_CHARTS)[1:]:
            yield _CHARTS[what], draw_evaluation(evaluation, what).chart


def chart_figure(chart: Chart, title: str | None = None) -> str:
    """Return a chart as a figure of the page, under a title of its own."""
    if title is not None:
        chart = replace(chart, title=(title, *chart.title[1:]))
    return f'<figure class="chart">{to_svg(chart_scene(chart))}</figure>'
