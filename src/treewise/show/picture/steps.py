"""``tree.draw_steps``: growth split by split, then pruning cut by cut, as a strip of pictures or a page with a slider.

A step is a tree. Steps of growth are those of ``Tree.steps``; those of pruning replace one subtree at a time by a leaf,
from below, until the pruned tree is reached.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from treewise._lib.atomic_write import write_whole
from treewise._lib.checks import check_integer
from treewise._lib.image_style import ImageStyle
from treewise._lib.text import plural, safe
from treewise.errors import ParameterError
from treewise.show.picture.build_scene import legend_heading
from treewise.show.picture.compose import MARGIN, fit, side_by_side
from treewise.show.picture.node_boxes import typeset
from treewise.show.picture.picture import DrawOptions, Picture, picture_format
from treewise.train.edit import best_first_order, collapse_nodes
from treewise.tree.arrays import LEAF, NOT_YET
from treewise.tree.tree import Tree

_ACROSS = 4


@dataclass(frozen=True)
class GrowthStep:
    """One step: the tree after it, a sentence about it, and the node that is split or cut next in that tree."""

    tree: Tree
    caption: str
    next_node: int | None = None  # to be split
    is_cut: bool = False


def draw_steps(
    tree: Tree,
    path: str | os.PathLike[str] | None = None,
    *,
    pruned: Tree | None = None,
    data: Any = None,
    x: str | None = None,
    y: str | None = None,
    across: int | None = None,
    max_steps: int = 12,
    fragment: bool = False,
    size: str | Sequence[float] | None = None,
    font_size: float | None = None,
    dpi: int | None = None,
    **options: Any,
) -> Picture:
    """Draw the steps; ``Tree.draw_steps`` explains the parameters."""
    is_page = path is not None and Path(os.fsdecode(path)).suffix.lower() in (".html", ".htm")
    if path is not None and not is_page:
        picture_format(path)
    style = ImageStyle.check(size, font_size, dpi)
    check_integer("max_steps", max_steps, 2)
    lists_rows = options.get("rows", False) is not False
    settings = DrawOptions(**options, data=data if lists_rows else None)
    steps = list_steps(tree, pruned, max_steps)
    panels = tuple((step.caption, settings.builder(step.tree, has_title=False, has_legend=False)) for step in steps)
    scenes = [(caption, builder.build()) for caption, builder in panels]
    check_integer("across", across, 1, none="4")
    heading = legend_heading(tree, MARGIN)
    scene = fit(side_by_side(scenes, across or _ACROSS, *heading, title="growth step by step"), style)
    picture = Picture(scene, panels=panels, across=across or _ACROSS, dpi=dpi, fragment=fragment)
    if is_page:
        from treewise.show.picture.steps_page import steps_page

        assert path is not None
        trees = [scene for _, scene in scenes]
        write_whole(path, steps_page(steps, trees, data, (x, y), settings.unit, settings.rows).encode())
    elif path is not None:
        picture.save(path)
    return picture


def list_steps(tree: Tree, pruned: Tree | None, max_steps: int) -> list[GrowthStep]:
    """Return up to ``max_steps`` steps: the first ones and the last one of growth, then those of pruning."""
    cuts = [] if pruned is None else find_cuts(tree, pruned)
    n_cuts = min(len(cuts), max_steps // 2)
    steps = _growth(tree, max_steps - n_cuts)
    for count in [*range(1, n_cuts), len(cuts)] if n_cuts else []:
        node, done = cuts[count - 1], cuts[:count]
        caption = f"pruned at {typeset(tree.condition(node)) if node else 'the root'}"
        caption += "" if count <= n_cuts - 1 or n_cuts == len(cuts) else f" … after {plural(len(cuts), 'cut')}"
        steps.append(GrowthStep(collapse_nodes(tree, done), caption, is_cut=True))
    return steps


def _growth(tree: Tree, max_steps: int) -> list[GrowthStep]:
    """Return the first steps of growth, and the last one where there are more."""
    a = tree.arrays
    inner = np.flatnonzero(a.kind != LEAF)
    is_best_first = tree.fit_info.is_best_first
    order = (best_first_order(tree, max_steps) if is_best_first else inner[:max_steps]).tolist()
    n_shown = len(inner) if len(inner) < max_steps else max_steps - 2
    steps: list[GrowthStep] = []
    split = np.zeros(len(tree), bool)
    for i, node in enumerate(order[: n_shown + 1] if len(inner) > n_shown else order):
        waiting = inner[~split[inner] & ((inner == 0) | split[a.parent[inner]])]
        number = np.cumsum(~a.below(np.isin(np.arange(len(tree)), waiting))) - 1
        caption = "start" if not i else _caption(tree, order[i - 1], i)
        steps.append(GrowthStep(collapse_nodes(tree, waiting.tolist(), NOT_YET), caption, int(number[node])))
        split[node] = True
    last = _caption(tree, order[-1], len(inner)) if len(order) == len(inner) and order else "the whole tree"
    if len(inner) > len(steps):
        last = f"… the whole tree, after {plural(len(inner), 'split')}"
    return [*steps, GrowthStep(tree, last if len(inner) else "start")]


def _caption(tree: Tree, node: int, number: int) -> str:
    column = tree.columns[tree.arrays.column[node]]
    first = tree.condition(tree.children(node)[0])
    is_two_way = len(tree.children(node)) == 2
    return f"split {number}: {typeset(first) if is_two_way else safe(column)}"


def find_cuts(tree: Tree, pruned: Tree) -> list[int]:
    """Return the nodes to be cut one after another until the pruned version of a tree is reached, deepest first.

    >>> import treewise as tw
    >>> full = tw.grow("outlier")
    >>> find_cuts(full, full.prune("reduced_error", validation="outlier_validation"))
    [5, 3, 2]
    """
    cuts: list[int] = []
    stack = [(0, 0)]
    while stack:
        node, other = stack.pop()
        split, children = pruned.split_at(other), pruned.children(other)
        if tree.split_at(node) is None:
            if split is not None:
                raise _not_pruned()
            continue
        if split is None:
            cuts.append(node)
            continue
        full_split = tree.split_at(node)
        is_same = full_split is not None and replace(full_split, missing=0) == replace(split, missing=0)
        if not is_same or len(children) != len(tree.children(node)):
            raise _not_pruned()
        stack += zip(tree.children(node), children, strict=True)
    inner = [node for node in range(len(tree)) if tree.arrays.kind[node] != LEAF]
    below = [node for node in inner if any(cut <= node < int(tree.arrays.ends[cut]) for cut in cuts)]
    return sorted(below, key=lambda node: (-int(tree.depths[node]), node))


def _not_pruned() -> ParameterError:
    return ParameterError(
        "is not a pruned version of this tree: its splits differ.",
        parameter="pruned",
        hint="Methods that raise subtrees have no such steps.",
    )
