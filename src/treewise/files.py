"""Model files: a tree as one flat JSON object, and back.

Beside the exports, above the tree. Numbers are exact (floats by their shortest repr, which reads back to the same bits;
integers as they are), keys are in a fixed order, and there is no time stamp, so equal trees are equal files. Nothing in
a file is ever executed. The arrays are those of ``tree.Arrays``; -1, 0 and empty lists stand where a node has nothing.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from treewise._version import __version__
from treewise.encode import Encoding
from treewise.errors import ModelFormatError
from treewise.tree import Arrays, Target, Tree

FORMAT = 1

DTYPES = {
    "parent": np.int64, "kind": np.uint8, "column": np.int32, "cut": np.float64, "cut_int": np.int64,
    "missing": np.int32, "other": np.int32, "code_start": np.int64, "codes": np.int32, "stop": np.uint8,
    "rows": np.int64, "missing_rows": np.int64, "weight": np.float64, "impurity": np.float64, "gain": np.float64,
    "label": np.int32, "count_start": np.int64, "count_class": np.int32, "count_weight": np.float64,
    "value": np.float64, "spread": np.float64,
}  # fmt: skip


def save(tree: Tree, path: str | os.PathLike[str]) -> None:
    """Write a tree to a file: whole or not at all."""
    path = Path(path)
    text = dumps(tree)
    folder = path.parent
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {folder}; nothing was saved.")
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=folder)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~current_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def current_umask() -> int:
    """Return the process's umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def load(path: str | os.PathLike[str]) -> Tree:
    """Read a tree from a file made by ``tree.save``."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ModelFormatError(f"{path} is not a treewise model: byte {error.start:,} is not text.") from None
    return loads(text, str(path))


def dumps(tree: Tree) -> str:
    """Return the text of a model file."""
    arrays = {f.name: getattr(tree.arrays, f.name).tolist() for f in fields(Arrays)}
    head = {
        "format": FORMAT,
        "treewise": __version__,
        "target": asdict(tree.target),
        "columns": [asdict(e) for e in tree.encodings],
        "criterion": tree.criterion,
        "empty_branch": tree.empty_branch,
        "history": tree.history,
        "notes": tree.notes,
    }
    lines = [f"{json.dumps(key)}: {compact(value)}" for key, value in head.items()]
    inner = ",\n  ".join(f"{json.dumps(key)}: {compact(value)}" for key, value in arrays.items())
    lines.append(f'"nodes": {{\n  {inner}\n}}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def compact(value: Any) -> str:
    """Write a value on one line. NaN and the infinities are JSON's usual extension words."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def loads(text: str, name: str = "the model") -> Tree:
    """Read the text of a model file."""
    try:
        found = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ModelFormatError(f"{name} is damaged or not a treewise model: {error}. Nothing was loaded.") from None
    if not isinstance(found, dict) or "format" not in found or "nodes" not in found:
        raise ModelFormatError(f"{name} is not a treewise model: no format and nodes in it.")
    if found["format"] != FORMAT:
        raise ModelFormatError(
            f"{name} is format {found['format']}; this treewise ({__version__}) reads format {FORMAT}."
            " pip install -U treewise."
        )
    return part(lambda: rebuild(found), name)


def part(build: Callable[[], Tree], name: str) -> Tree:
    """Turn whatever a wrong shape raises into one clear error."""
    try:
        return build()
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelFormatError(f"{name} is damaged: {type(error).__name__}: {error}. Nothing was loaded.") from None


def rebuild(found: dict[str, Any]) -> Tree:
    """Make the tree from its parsed parts."""
    arrays = {}
    for key, dtype in DTYPES.items():
        arrays[key] = np.array(found["nodes"][key], dtype)
        arrays[key].flags.writeable = False
    target = found["target"]
    return Tree(
        tuple(Encoding(c["name"], c["kind"], tuple(c["levels"]), c["unit"]) for c in found["columns"]),
        Target(target["name"], target["task"], tuple(target["classes"])),
        Arrays(**arrays),
        found["criterion"],
        found["empty_branch"],
        tuple(found["history"]),
        tuple(found["notes"]),
    )
