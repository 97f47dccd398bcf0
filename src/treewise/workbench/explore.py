"""``tw.explore``: the workbench in a notebook, if the notebook has widgets (extra ``notebook``)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from treewise.data.table import read
from treewise.errors import PackageError
from treewise.tree.tree import Tree
from treewise.workbench.opening import open_session

if TYPE_CHECKING:
    import os

    from treewise.workbench.notebook import Workbench


def explore(
    data: Any,
    target: str | Tree | None = None,
    *,
    validation: Any = None,
    output: str | os.PathLike[str] | None = None,
    autosave: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Workbench:
    """Grow, question and correct a tree on a page in a notebook: Jupyter, marimo or another host of anywidget.

    The page is that of ``treewise explore``, the verbs are those of ``Editor``. Needs
    ``pip install "treewise[notebook]"``.

    >>> import treewise as tw
    >>> page = tw.explore("penguins", "species", validation=0.3)       # the last line of a cell shows it
    >>> tree = page.editor.split(0, reason="the page shows this split, too")
    >>> page.tree.n_leaves
    2

    Parameters
    ----------
    data : the table.
    target : the column to predict, to start from a single leaf; or a tree to begin with.
    validation : a table of other rows, or a share of the rows to hold out (0.3): every edit shows what it does to them.
    output : the model file that *Save* writes.
    autosave : a file that keeps every edit; the next ``explore`` with the same file and start continues from it.
    options : for a target, the options of ``grow`` (criterion, limits, kinds, sample_weight …).
    """
    try:
        from treewise.workbench.notebook import Workbench
    except ImportError as error:
        raise PackageError('the page in a notebook needs anywidget: pip install "treewise[notebook]"') from error
    tree = target if isinstance(target, Tree) else None
    start = {} if tree is not None or target is None else {"target": target}
    table = read(data, na_values=options.get("na_values", ()) if tree is None else tree.na_values)
    return Workbench(open_session(table, tree, {**start, **options}, validation, _path(autosave), _path(output)))


def _path(path: str | os.PathLike[str] | None) -> Path | None:
    return None if path is None else Path(path)
