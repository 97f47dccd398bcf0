"""``draw_boosting_weights``: what the error ε of a learner does to the weights of the rows in AdaBoost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treewise.show import palette
from treewise.show.mpl_helpers import add_legend, axes_for, set_title, style_axes, takes_image_options

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STEPS = 200


@takes_image_options
def draw_boosting_weights(ax: Axes | None = None) -> Axes:
    """Plot the factors 1/(2ε) of a mistake and 1/(2(1 − ε)) of a correct row against ε (CS221 section 5).

    Near ε = 1/2 both are 1 and the weights hardly change; a small ε gives the mistakes much more weight. Needs
    matplotlib.

    >>> import treewise as tw
    >>> ax = tw.draw_boosting_weights()
    >>> [round(float(line.get_ydata()[-1]), 3) for line in ax.lines[:2]]
    [1.0, 1.0]
    """
    ax = axes_for(ax, 5.4, 3.8)
    errors = [0.05 + 0.45 * i / _STEPS for i in range(_STEPS + 1)]
    (wrong,) = ax.plot(errors, [1 / (2 * e) for e in errors], color=palette.class_colour(5), linewidth=2)
    (right,) = ax.plot(errors, [1 / (2 * (1 - e)) for e in errors], "--", color=palette.class_colour(0), linewidth=2)
    ax.axhline(1, color=palette.MUTED, linewidth=0.8)
    ax.set(xlabel="ε, the weighted error of the learner", ylabel="factor of a row's weight")
    ax.set(xlim=(0.05, 0.5), ylim=(0, 10))
    style_axes(ax)
    set_title(ax, "near ε = 1/2 the weights hardly change; a small ε weighs mistakes much more")
    add_legend(ax, [(wrong, "misclassified: 1/(2ε)"), (right, "correct: 1/(2(1 − ε))")], loc="upper right")
    return ax
