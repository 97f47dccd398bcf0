"""The plot of ``knn_curve``: error of K-NN over k, beside the error of trees over their leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from treewise.show import palette
from treewise.show.mpl_helpers import add_legend, new_figure, set_title, style_axes, takes_image_options

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from treewise.evaluate.baselines.knn_lesson import KnnCurve


@takes_image_options
def draw_knn_curve(curve: KnnCurve, axes: Sequence[Axes] | None = None) -> Any:
    """Plot both curves on a pair of axes with a common scale; k decreases to the right, as flexibility grows."""
    pair: Any = new_figure(8.4, 3.8).subplots(1, 2, sharey=True) if axes is None else axes
    for ax, model, label in zip(pair, ("knn", "tree"), ("k", "leaves"), strict=True):
        points = [p for p in curve.points if p.model == model]
        sizes = [p.size for p in points]
        (own,) = ax.plot(sizes, [p.training_error for p in points], "o--", color=palette.class_colour(0), markersize=4)
        (held_out,) = ax.plot(sizes, [p.error for p in points], "^-", color=palette.class_colour(1), markersize=5)
        ax.set_xscale("log")
        ax.set_xticks(sizes, [str(size) for size in sizes])
        ax.minorticks_off()
        if model == "knn":
            ax.invert_xaxis()
        ax.set(xlabel=label, ylabel=curve.measure if model == "knn" else "")
        ax.set_ylim(bottom=0)
        style_axes(ax)
        set_title(ax, f"{'K-NN' if model == 'knn' else 'trees'}: best {label} {curve.best(model).size}")
        add_legend(ax, [(own, "training"), (held_out, "held out")])
    return pair
