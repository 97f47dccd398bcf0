"""Model files built to break the loader, and an independent, slower version of its checks.

``mutants`` takes a sound file apart, changes something a program or an attacker might change (a number, an array, a
field, a line, a byte), and seals it with a right checksum. ``check_slowly`` looks at a tree node by node, in plain
Python, and knows nothing of ``treewise.formats.model_file.validate``.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import treewise as tw
from treewise.data.encoding import INT64_MIN
from treewise.formats.model_file.model_file import loads
from treewise.predict.predict import find_leaves
from treewise.tree.arrays import STOPS
from treewise.tree.tree import Tree

Parts = dict[str, Any]


RAW = re.compile(r'"\\u0000raw:((?:[^"\\]|\\.)*)"')


def Raw(text: str) -> str:
    """Something to be written as it is, though it is no value: ``1e400``."""
    return f"\0raw:{text}"


def taken_apart(text: str) -> Parts:
    parts: Parts = json.loads(text)
    del parts["sha256"]
    return parts


def rendered(parts: Parts) -> bytes:
    """Write parts in the layout of a model file; an independent twin of ``treewise.formats.model_file.model_file``."""
    lines = ["{"]
    for name, value in parts.items():
        if name in ("columns", "history") and isinstance(value, list):
            lines += [f'"{name}": [', *between([written(item) for item in value]), "],"]
        elif name == "nodes" and isinstance(value, dict):
            fields = [f"{json.dumps(key)}: {written(item)}" for key, item in value.items()]
            lines += ['"nodes": {', *between(fields), "},"]
        else:
            lines.append(f"{json.dumps(name)}: {written(value)},")
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogatepass")


def between(lines: list[str]) -> list[str]:
    return [line + "," for line in lines[:-1]] + lines[-1:]


def written(value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"))
    return RAW.sub(lambda raw: json.loads(f'"{raw[1]}"'), text) if "u0000raw:" in text else text


def sealed(body: bytes) -> bytes:
    return body + b'"sha256": "' + hashlib.sha256(body).hexdigest().encode() + b'"}\n'


# -- mutants ----------------------------------------------------------------------------------------------------------

WHOLE = [-2, -1, 0, 1, 2, 3, 5, 6, 11, 12, 127, 255, 256, 10**6, 10**8, 2**31 - 1, 2**31, 2**53, 2**63 - 1, 2**63]
WHOLE += [-(2**31), -(2**63), -(2**63) - 1, 10**30]
FLOATS = [math.nan, math.inf, -math.inf, -0.0, 0.0, 1.0, -1.0, 0.5, 1e308, 5e-324, 2.0**53, 1e-9]
JUNK = ["", "x", None, True, False, [], {}, [[]], {"fill": 0}, Raw("1e400"), Raw("-1E999"), Raw("0x1"), Raw("1" * 5000)]
JUNK += [Raw('"\\ud800"'), Raw("nan"), Raw("+1"), Raw("01"), Raw("1,2"), Raw(""), Raw('{"a":1,"a":2}'), "parent", 1e300]
WORDS = ["number", "integer", "datetime", "boolean", "nominal", "ordered", "classification", "regression", "root", "D"]
WORDS += ["gini", "squared_error", "false", "true", "name", "levels", "did", "grow", "settings", "kinds", "error"]


def mutants(text: str, seed: int, many: int) -> Iterator[bytes]:
    """Yield changed files with a right checksum, always the same ones for a seed."""
    rng = random.Random(seed)
    whole = taken_apart(text)
    for _ in range(many):
        if rng.random() < 0.2:
            yield sealed(change_bytes(rendered(whole), rng))
            continue
        parts = json.loads(json.dumps(whole))
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            change_parts(parts, rng)
        yield sealed(rendered(parts))


def change_parts(parts: Parts, rng: random.Random) -> None:
    nodes = parts.get("nodes")
    if rng.random() < 0.75 and isinstance(nodes, dict) and nodes:
        name = rng.choice(list(nodes))
        array = nodes[name]
        if isinstance(array, list):
            change_list(array, rng)
        elif isinstance(array, dict) and array:
            nodes[name] = change_packed(array, rng)
        if rng.random() < 0.1:
            change_fields(nodes, rng)
        return
    change_anywhere(parts, rng)


def change_list(array: list[Any], rng: random.Random) -> None:
    at = rng.randrange(len(array)) if array else 0
    other = rng.randrange(len(array)) if array else 0
    what = rng.randrange(12)
    if not array or what == 0:
        array.insert(at, array[at] if array else 0)
    elif what <= 5:
        array[at] = other_value(array[at], rng)
    elif what == 6:
        array[at], array[other] = array[other], array[at]
    elif what == 7:
        array[at] = array[other]
    elif what == 8:
        del array[at]
    elif what == 9:
        array[:] = [array[at]] * len(array)
    elif what == 10:
        rng.shuffle(array)
    else:
        del array[at:]


def other_value(value: Any, rng: random.Random) -> Any:
    if rng.random() < 0.1:
        return rng.choice(JUNK)
    if type(value) is float:
        return rng.choice([*FLOATS, value + 1, value * 2, -value, math.nextafter(value, math.inf)])
    if type(value) is int:
        return rng.choice([*WHOLE, value + 1, value - 1, value + 1, value - 1, float(value % 2**60)])
    return rng.choice([*WORDS, *JUNK])


def change_packed(array: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    kind, data = next(iter(array.items()))
    if kind == "fill":
        return {"fill": other_value(data, rng)}
    what = rng.randrange(6)
    try:
        content = bytearray(base64.b64decode(data)) or bytearray(1)
        numbers = np.frombuffer(content, kind).tolist()
    except (TypeError, ValueError):  # changed before
        return {kind: str(data)[1:]}
    if what == 0:
        return {rng.choice(["int8", "uint8", "int16", "int32", "uint32", "int64", "float32", "float64", "O"]): data}
    if what == 1:
        return {kind: data[: rng.randrange(len(data) + 1)]}
    if what == 2:
        return {"fill": rng.choice([0, -1, 1, 0.0, math.nan, 10**9])}
    if what == 3:
        change_list(numbers, rng)
        return numbers
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return {kind: base64.b64encode(content).decode()}


def change_anywhere(parts: Parts, rng: random.Random) -> None:
    """Walk down to some value that is no array of nodes, and change it or its surroundings."""
    at: Any = parts
    while True:
        if not at:
            return
        if isinstance(at, dict):
            key = rng.choice([k for k in at if k != "nodes"] or list(at))
        else:
            key = rng.randrange(len(at))
        if isinstance(at[key], dict | list) and at[key] and rng.random() < 0.8:
            at = at[key]
            continue
        if isinstance(at, list):
            change_list(at, rng)
        elif rng.random() < 0.6:
            at[key] = other_value(at[key], rng)
        else:
            change_fields(at, rng)
        return


def change_fields(fields: dict[str, Any], rng: random.Random) -> None:
    if not fields:
        return
    name = rng.choice(list(fields))
    what = rng.randrange(4)
    if what == 0:
        del fields[name]
    elif what == 1:
        fields[rng.choice([*WORDS, "", "extra", "parent"])] = fields[name]
    elif what == 2:
        other = rng.choice(list(fields))
        fields[name], fields[other] = fields[other], fields[name]
    else:
        items = list(fields.items())
        rng.shuffle(items)
        fields.clear()
        fields.update(items)


def change_bytes(body: bytes, rng: random.Random) -> bytes:
    content = bytearray(body)
    at, what = rng.randrange(len(content)), rng.randrange(7)
    if what == 0:
        content[at] ^= 1 << rng.randrange(8)
    elif what == 1:
        content[at] = rng.choice(b'0123456789-.,[]{}":eE\n\r\\ \x00\xff')
    elif what == 2:
        del content[at : at + rng.randrange(1, 40)]
    elif what == 3:
        content[at:at] = rng.choice(
            [b"\xff", b"\x00", b"[" * 200, b'"', b",,", b"\n", b"\xed\xa0\x80", b"NaN", b"9" * 30]
        )
    elif what == 4:
        content[at : at + 1] = rng.choice(b"0123456789").to_bytes(1, "big")
    else:
        lines = bytes(content).split(b"\n")
        one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        if what == 5:
            lines[one], lines[other] = lines[other], lines[one]
        else:
            lines.insert(one, lines[other])
        content = bytearray(b"\n".join(lines))
    return bytes(content)


# -- the slow twin ----------------------------------------------------------------------------------------------------


def check_slowly(tree: Tree) -> None:
    """Look at every node by itself: is this a tree one can walk, print and count on?"""
    a, n = tree.arrays, len(tree.arrays.parent)
    assert len(set(tree.columns)) == len(tree.columns)
    assert len(set(tree.classes)) == len(tree.classes)
    assert (tree.task == "classification") == bool(tree.classes)
    children: list[list[int]] = [[] for _ in range(n)]
    open_nodes: list[int] = []  # the path to the node before: in pre-order the parent is on it
    for i in range(n):
        parent = int(a.parent[i])
        if i == 0:
            assert parent == -1
        else:
            assert parent in open_nodes, f"{i} is not in pre-order"
            children[parent].append(i)
            while open_nodes[-1] != parent:
                open_nodes.pop()
        open_nodes.append(i)
    for i in range(n):
        check_node(tree, i, children[i])
        check_statistics(tree, i, children[i])


def check_node(tree: Tree, i: int, children: list[int]) -> None:
    a, split = tree.arrays, tree.split_at(i)
    assert 0 <= a.stop[i] < len(STOPS)
    assert (a.stop[i] == 0) == (split is not None)
    if split is None:
        assert not children
        assert (a.column[i], a.missing[i], a.other[i], a.missing_rows[i]) == (-1, -1, -1, 0)
        assert math.isnan(a.gain[i]) or a.gain[i] == 0
        return
    encoding = tree.encodings[a.column[i]]
    assert len(children) == split.n_branches
    assert 0 <= split.missing <= split.own_branches
    assert split.kind == "presence" or encoding.is_categorical == (split.kind != "threshold")
    levels = getattr(split, "levels", ())
    assert len(set(levels)) == len(levels)
    if split.kind == "threshold":
        assert split.cut == split.cut
        assert isinstance(split.cut, float if encoding.kind == "number" else int)


def check_statistics(tree: Tree, i: int, children: list[int]) -> None:
    a, counts = tree.arrays, tree.counts(i)
    assert 0 <= a.missing_rows[i] < 2**53
    assert 0 <= a.rows[i] < 2**53
    assert 0 <= a.weight[i] < math.inf
    assert all(0 < w < math.inf for w in counts.values())
    assert not a.impurity[i] < 0
    if tree.task == "classification":
        assert -1 <= a.label[i] < len(tree.classes)
    if STOPS[a.stop[i]] == "no_rows":
        assert a.rows[i] == 0
        assert not counts
    if math.isnan(a.impurity[i]):
        return
    assert a.missing_rows[i] <= a.rows[i]
    if counts:
        assert math.isclose(sum(counts.values()), a.weight[i], rel_tol=1e-8)
    split = tree.split_at(i)
    if split is None:
        return
    stays = split.kind == "multiway" and not split.other
    rows = sum(int(a.rows[c]) for c in children)
    assert rows == a.rows[i] or (stays and rows < a.rows[i])
    assert a.missing_rows[i] <= a.rows[children[split.missing]]
    for label in {*counts, *(c for child in children for c in tree.counts(child))}:
        below = sum(tree.counts(c).get(label, 0.0) for c in children)
        above = counts.get(label, 0.0)
        assert math.isclose(below, above, rel_tol=1e-8) or (stays and below < above)


def check_answers(tree: Tree) -> None:
    """Walk rows of all sorts down the tree, in the core and by its splits in words."""
    columns, cells = [], []
    for i, encoding in enumerate(tree.encodings):
        array, values = probes(tree, i)
        columns.append(array)
        cells.append((encoding, values))
    rows = 12
    nodes = find_leaves(tree, columns, rows).tolist()
    for row in range(rows):
        at = 0
        while (split := tree.split_at(at)) is not None:
            encoding, values = cells[tree.arrays.column[at]]
            branch = split.branch(values[row], encoding)
            if branch is None:
                break
            at = tree.children(at)[branch]
        assert nodes[row] == at
        tree.prediction(at)
        if tree.task == "classification":
            shares = tree.probabilities(at)
            assert shares.sum() == 0 or math.isclose(shares.sum(), 1.0)


def probes(tree: Tree, i: int) -> tuple[np.ndarray, list[Any]]:
    """Twelve values of a column, encoded and as they are: at its cuts, missing, never seen, and at the edges."""
    encoding, at = tree.encodings[i], tree.arrays.column == i
    if encoding.kind == "number":
        cuts = tree.arrays.cut[at].tolist()[:6]
        near = [value for cut in cuts for value in (cut, math.nextafter(cut, math.inf))]
        numbers = [*near, math.nan, math.inf, -math.inf, 0.0, 1.0, -1.0, 1e308, -1e308, 5e-324, 0.5, 2.0, 3.0][:12]
        return np.array(numbers), [None if math.isnan(x) else x for x in numbers]
    if not encoding.is_categorical:
        cuts = tree.arrays.cut_int[at].tolist()[:6]
        near = [value for cut in cuts for value in (cut, min(cut + 1, 2**63 - 1))]
        whole = [*near, INT64_MIN, 2**63 - 1, INT64_MIN + 1, 0, 1, -1, 2, 3, 4, 5, 6, 7][:12]
        return np.array(whole, np.int64), [None if x == INT64_MIN else x for x in whole]
    codes = [*range(-2, min(len(encoding.levels), 10))]
    codes = (codes * 12)[:12]
    names = {-1: None, -2: "never seen before", **dict(enumerate(encoding.levels))}
    if encoding.levels and "never seen before" in encoding.levels:
        names[-2] = "\0 never seen before"
    return np.array(codes, np.int32), [names[c] for c in codes]


def chain(depth: int) -> Tree:
    """Each test takes one leaf off: as deep as can be."""
    nodes = 2 * depth + 1
    inner = np.arange(nodes) % 2 == 0
    inner[-1] = False
    parent = np.arange(nodes) - 1
    parent[2::2] -= 1
    tree = tw.parse("x <= 1 -> a\nx > 1 -> b")
    a = tree.arrays
    fresh = {
        "parent": parent,
        "kind": inner,
        "column": np.where(inner, 0, -1),
        "cut": np.where(inner, np.arange(nodes) / 2, 0.0),
        "cut_int": np.zeros(nodes),
        "missing": np.where(inner, 0, -1),
        "other": np.full(nodes, -1),
        "code_start": np.zeros(nodes + 1),
        "stop": np.where(inner, 0, 10),
        "rows": np.zeros(nodes),
        "missing_rows": np.zeros(nodes),
        "weight": np.zeros(nodes),
        "impurity": np.full(nodes, np.nan),
        "gain": np.full(nodes, np.nan),
        "label": np.where(inner, -1, np.arange(nodes) % 2),
        "count_start": np.zeros(nodes + 1),
    }
    arrays = {name: value.astype(getattr(a, name).dtype) for name, value in fresh.items()}
    return tree.with_(arrays=replace(a, **arrays))


ROWS = {
    "x": [1.0, 2.0, None, 4.0, 5.0, 6.0, 7.0],
    "c": ["a", "b", "a", "c", "c", None, "b"],
    "y": ["n", "p", "p", "n", "n", "q", "q"],
}


def assert_load_refused(content, *words):
    with pytest.raises(tw.ModelFormatError) as caught:
        loads(content, "m.json")
    message = str(caught.value)
    assert message.startswith("m.json is ")
    assert len(message) < 400
    assert "\n" not in message
    for word in words:
        assert word in message, message
    return message
