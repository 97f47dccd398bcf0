"""Draws the pictures of docs/pictures.md and the README: ``python docs/make_gallery.py`` writes docs/img.

``--check`` writes nothing and says whether the files are what the code draws today; a test runs it. SVG pictures must
be so to the last letter; the others are painted by matplotlib, whose pixels differ from one version to the next, so of
these it only sees that they can be drawn and that there is a file of each.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import treewise as tw
from treewise.show.mpl_helpers import figure_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = Path(__file__).parent / "img"
BY_HAND = """
fever = yes
    cough = yes -> flu
    cough = no  -> doctor
fever = no
    days <= 3 -> cold
    days > 3  -> doctor
"""
FIGURE_1 = """
Hunger = starving -> y
Hunger = hungry
    Like = y -> y
    Like = n
        Price = expensive -> n
        Price = cheap -> y
        Price = free -> y
Hunger = can-eat
    Like = y -> y 0.75
    Like = n -> n
Hunger = full -> n
"""
OFFICIALS = """
GPA = 4.0
    Recommendation = good -> P
    Recommendation = normal
        University = top10 -> N
        University = top20 -> P
        University = top30 -> N
GPA = 3.7
    Published = yes -> P
    Published = no
        University = top10 -> N
        University = top20 -> P
        University = top30 -> N
GPA = 3.5 -> N
"""
RULE = """
classes: -1, 1
x3 is false -> -1
x3 is true
    x5 <= 3.2 -> 1
    x5 > 3.2 -> -1
"""
OR = """
if x1 == 1:
    return 1
else:
    if x2 == 1:
        return 1
    else:
        return 0
"""


def _customers() -> tw.Tree:
    """Return the tree of docs/from-a-csv-to-a-signed-report.md."""
    return tw.grow(
        "customers",
        ignore=["customer_id"],
        na_values=["999"],
        pruning="cv",
        round_thresholds=True,
        labels={0: "stays", 1: "leaves"},
        units={"balance": "€", "age": "years"},
    )


def pictures() -> dict[str, str]:
    """Return every picture of the page by the name of its file."""
    admissions, penguins = tw.grow("admissions", preset="id3"), tw.grow("penguins", max_leaf_nodes=4)
    mass = tw.grow("penguins", target="body_mass_g", max_leaf_nodes=6, min_samples_leaf=20, drop_missing_target=True)
    noisy = tw.datasets.noisy(5000)
    student = {"GPA": 3.7, "Published": "no", "University": "top20"}
    judged = tw.grow(tw.datasets.noisy(), "y", max_depth=3).evaluate(tw.datasets.noisy(seed=1))
    mass_errors = mass.evaluate("penguins", drop_missing_target=True)
    letters = {"X": list("abbbccccdd"), "y": list("ppnnppppnp")}
    kinds = {"a branch per value": "multiway", "one value": "one_value", "an order": "ordinal", "a set": "subset"}
    drawn = {
        "tree-teaching": tw.grow("seven_points").draw(
            show=["counts", "impurity", "gain"], unit="nats", questions=True, data="seven_points", rows="abcdefg"
        ),
        "steps": tw.grow("four_points").draw_steps(data="four_points", rows="abcd", questions=True),
        "trees-side-by-side": tw.draw_trees(
            {name: tw.grow(letters, "y", categorical=kind, max_depth=1) for name, kind in kinds.items()}
        ),
        "tree-table-code": tw.parse(OR, target="y").draw(data="or", beside=["table", "code"]),
        "tree-penguins": penguins.draw(),
        "tree-histograms": penguins.draw(direction="right", data="penguins"),
        "tree-numbers": mass.draw(data="penguins"),
        "tree-row": admissions.draw(highlight=student),
        "tree-folded": tw.grow(noisy).draw(max_leaves=10, direction="right"),
        "tree-customers": _customers().draw(),
        "tree-figure-1": tw.parse(FIGURE_1, target="Eat").draw(),
        "tree-officials": tw.parse(OFFICIALS, data="admissions").draw(),
        "tree-rule": tw.parse(RULE, target="y").draw(),
        "tree-by-hand": tw.parse(BY_HAND, target="what it is").draw(),
        "curve": tw.curve("noisy").draw(),
        "roc": judged.draw("roc"),
        "lift": judged.draw("lift"),
        "calibration": judged.draw("calibration"),
        "confusion": penguins.evaluate("penguins").draw(),
        "predicted": mass_errors.draw(),
        "residuals": mass_errors.draw("residuals"),
        "importances": tw.grow("penguins", max_leaf_nodes=8).importances("penguins").draw(),
    }
    return {name: picture.svg for name, picture in drawn.items()}


def charts() -> dict[str, Axes]:
    """Return every chart of the page by the name of its file."""
    from sklearn.neighbors import KNeighborsClassifier

    outlier, noisy = tw.grow("outlier"), tw.datasets.noisy()
    pruned = outlier.prune("reduced_error", validation="outlier_validation")
    table = noisy.to_polars().to_numpy()
    near = {f"{k}-NN": KNeighborsClassifier(k).fit(table[:, :2], table[:, 2]) for k in (1, 15)}
    penguins = tw.grow("penguins", max_leaf_nodes=8)
    bills = tw.grow("penguins", max_leaf_nodes=4, columns=["bill_length_mm", "flipper_length_mm"])
    sizes = "bill_length_mm", "flipper_length_mm"
    both = tw.draw_regions({"T": outlier, "T'": pruned}, "outlier_validation", "x1", "x2")
    models = tw.draw_regions({"tree": tw.grow(noisy, "y", pruning="cv"), **near}, noisy, "x1", "x2")
    return {
        "points": tw.draw_points("four_points", rows="abcd"),
        "boundaries": tw.candidates("seven_points", unit="nats").draw_boundaries(),
        "regions-tree": bills.draw_regions("penguins", *sizes, with_tree=True),
        "regions-pruning": both[0],
        "regions-grid": tw.draw_regions_grid("noisy")[0, 0],
        "regions-models": models[0],
        "regions-levels": penguins.draw_regions("penguins", "bill_length_mm", "island"),
        "regions-seven": tw.grow("seven_points").draw_regions("seven_points", "x1", "x2", with_tree=True),
        "impurity": tw.draw_impurity(),
        "entropy": tw.draw_impurity(["entropy"]),
        "boosting-weights": tw.draw_boosting_weights(),
        "gains": tw.candidates("penguins").draw("flipper_length_mm"),
        "stages": tw.forest(noisy, "y", 60, oob_score=True).draw_stages(noisy, test=tw.datasets.noisy(seed=1)),
    }


def main(words: list[str]) -> int:
    """Write the pictures, or compare them with those that are there."""
    stale = []
    for name, svg in pictures().items():
        place = FOLDER / f"{name}.svg"
        if words != ["--check"]:
            place.write_text(svg + "\n", encoding="utf-8")
        elif not place.exists() or place.read_text(encoding="utf-8") != svg + "\n":
            stale.append(place.name)
    for name, ax in charts().items():
        place, figure = FOLDER / f"{name}.png", ax.get_figure(root=True)
        assert figure is not None
        if words != ["--check"]:
            place.write_bytes(figure_bytes(figure, "png", dpi=60 if name == "regions-grid" else 80))
        elif not place.exists():
            stale.append(place.name)
    if stale:
        print(f"not what is drawn today: {', '.join(stale)}. Look at them, then: python docs/make_gallery.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
