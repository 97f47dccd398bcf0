"""Memory that a model file can claim: at most four times its size and 32 MB, the content of the file included.

The files are honest ones, and ones that describe millions of nodes in few bytes, under a right checksum.
"""

import base64
import os
import tracemalloc

import numpy as np
import pytest

import treewise as tw
from tests.support.hostile_files import Raw, rendered, sealed, taken_apart
from treewise import ModelFormatError
from treewise.formats.model_file import json_lines
from treewise.formats.model_file.model_file import dumps, loads

N_NODES = 3_000_000
FREE = 32 << 20
LONG = "TREEWISE_LONG" in os.environ


def noise(n):
    rng = np.random.default_rng(0)
    return {"x": np.arange(n), "z": rng.normal(size=n), "y": rng.integers(0, 2, n)}


def peak_memory(content):
    """Return the most memory in use while a file is loaded, and the model, or the error if it is refused."""
    tracemalloc.start()
    try:
        model = loads(content)
    except ModelFormatError as error:
        model = error.with_traceback(None)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak + len(content), model


def one_number(name):
    """Return the number that a hostile file gives for all nodes, of the type that the array has."""
    return 0.0 if name in ("cut", "weight", "impurity", "gain", "value", "spread") else 0


def packed_zeros(n):
    return {"uint8": base64.b64encode(bytes(n)).decode()}


def filled_tree(task):
    """Return a tree whose parents are stated in a byte each, and everything else by one number for all nodes."""
    parts = taken_apart(dumps(tw.grow({"x": [1, 2], "y": [0.5, 2.5] if task == "numbers" else ["a", "b"]}, "y"), True))
    nodes = {name: {"fill": one_number(name)} for name in parts["nodes"]}
    empty = {name: {"uint8": ""} for name in nodes if name in ("codes", "count_class", "count_weight")}
    return {**parts, "nodes": {**nodes, **empty, "count": N_NODES, "parent": packed_zeros(N_NODES)}}


def listed_tree():
    """Return a tree whose arrays are lists of one digit per number."""
    parts = filled_tree("classes")
    nodes = {
        name: [one_number(name)] * (N_NODES // 10 + name.endswith("_start")) if "fill" in value else value
        for name, value in parts["nodes"].items()
        if isinstance(value, dict)
    }
    nodes = {**nodes, "parent": [0] * (N_NODES // 10)}
    return {**parts, "nodes": {"count": N_NODES // 10, **nodes}}


def filled_forest():
    """Return a forest of one tree with leaves only."""
    parts = taken_apart(dumps(tw.forest({"x": [1, 2], "y": ["a", "b"]}, "y", 1), True))
    nodes = dict.fromkeys(parts["nodes"], packed_zeros(0))
    nodes |= {"trees": 1, "count": N_NODES, "size": [N_NODES], "votes": [1.0], "decreases": [0.0]}
    nodes |= {
        "kind": packed_zeros(N_NODES),
        "stop": {"fill": 1},
        "rows": {"fill": 1},
        "n_counts": packed_zeros(N_NODES),
    }
    return {**parts, "nodes": nodes}


def long_lists(parts, name, start_of_lists, n=6_000_000):
    """Return a model whose first list has millions of entries, all 0, and weights of 1."""
    nodes, ones = parts["nodes"], {"uint8": base64.b64encode(b"\1" * n).decode()}
    if start_of_lists.endswith("_start"):
        nodes = {**nodes, start_of_lists: [0] + [n] * nodes["count"]}
    else:
        nodes = {**nodes, start_of_lists: [n]}
    return {**parts, "nodes": {**nodes, name: packed_zeros(n)} | ({"count_weight": ones} if "count" in name else {})}


def levels(grow, **options):
    table = {"c": list("aabbcc") * 5, "y": list("ppqqrr") * 5}
    return taken_apart(dumps(grow(table, "y", categorical="multiway", **options), True))


def leaf(grow, **options):
    return taken_apart(dumps(grow({"x": [1, 1], "y": ["a", "a"]}, "y", **options), True))


ONE_TREE = {"n_estimators": 1, "bootstrap": False}
HOSTILE = {
    "a tree of many levels": lambda: long_lists(levels(tw.grow), "codes", "code_start"),
    "a forest of many levels": lambda: long_lists(levels(tw.forest, **ONE_TREE), "codes", "n_codes"),
    "a tree of many counts": lambda: long_lists(leaf(tw.grow), "count_class", "count_start", 2_000_000),
    "a forest of many counts": lambda: long_lists(leaf(tw.forest, **ONE_TREE), "count_class", "n_counts", 2_000_000),
    "a forest of one number": filled_forest,
    "a tree of classes": lambda: filled_tree("classes"),
    "a tree of numbers": lambda: filled_tree("numbers"),
    "a tree in lists": listed_tree,
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_claims_at_most_four_times_its_size(make):
    content = sealed(rendered(make()))
    peak, model = peak_memory(content)
    assert isinstance(model, ModelFormatError)
    assert peak <= 4 * len(content) + FREE


@pytest.mark.parametrize("compact", [False, True])
def test_an_honest_file_needs_at_most_four_times_its_size(compact):
    for grow in (tw.grow, lambda *table: tw.forest(*table, n_estimators=3)):
        tree = grow(noise(60_000), "y")
        content = dumps(tree, compact).encode()
        peak, loaded = peak_memory(content)
        assert loaded == tree
        assert peak <= 4 * len(content) + FREE


def names(n):
    """Return short names and a value for each."""
    return {f"{i:x}": 0 for i in range(n)}


def step(**fields):
    return [{"did": "grow", **fields}]


def target(classes):
    return {"name": "y", "task": "classification", "classes": [*classes]}


def column(levels):
    return {"name": "x", "kind": "nominal", "levels": [*levels]}


LONG_HEADERS = {  # the field of a header, and what it holds n times
    "lists": ("notes", lambda n: [[]] * n),
    "objects": ("history", lambda n: [{}] * n),
    "objects in a step": ("history", lambda n: step(x=[{}] * n)),
    "numbers": ("notes", lambda n: [0.5] * n),
    "nothing": ("notes", lambda n: [None] * n),
    "short notes": ("notes", lambda n: [*names(n)]),
    "notes and lists": ("notes", lambda n: ["", [], {}, 0.5] * (n // 4)),
    "wide characters": ("notes", lambda n: ["\U0001f332" + "a" * 16] * n),
    "escaped wide characters": ("notes", lambda n: [Raw('"\\ud83c\\udf32' + "a" * 16 + '"')] * (n // 8)),
    "a long wide note": ("notes", lambda n: ["\U0001f332" + "a" * 20 * n]),
    "steps": ("history", lambda n: step() * n),
    "one step of many fields": ("history", lambda n: step(**names(n))),
    "settings": ("history", lambda n: step(settings=names(n))),
    "decisions": ("history", lambda n: step(decisions=[{"node": i} for i in range(n)])),
    "fields of objects": ("history", lambda n: step(x={name: [{}] for name in names(n)})),
    "quartiles": ("quartiles", lambda n: {name: [0.0, 1.0] for name in names(n)}),
    "display": ("display", lambda n: {"labels": dict.fromkeys(names(n), "a"), "names": {}, "units": {}}),
    "classes": ("target", lambda n: target(names(n))),
    "equal classes": ("target", lambda n: target([""] * n)),
    "whole numbers as classes": ("target", lambda n: target(range(n))),
    "levels": ("columns", lambda n: [column(names(n))]),
    "equal levels": ("columns", lambda n: [column([""] * n)]),
    "columns": ("columns", lambda n: [{"name": name, "kind": "number"} for name in names(n)]),
    "equal columns": ("columns", lambda n: [column([])] * n),
}


def long_header(field, entries):
    """Return a file with many names, notes or steps, and without nodes."""
    parts = levels(tw.grow) | {"format": 2 if field == "quartiles" else 1, "quartiles": {}, "display": {}}
    fields = ["format", "treewise", "target", "criterion", "empty_branch", "columns", "history", "notes", "nodes"]
    if field == "quartiles":
        fields.insert(6, field)
    if field == "display":
        fields.insert(8, field)
    return sealed(rendered({name: parts[name] for name in fields} | {"nodes": {}, field: entries}))


@pytest.mark.parametrize("name", LONG_HEADERS if LONG else ["lists", "display", "levels"])
def test_a_long_header_claims_at_most_four_times_its_size(name):
    """Names and notes are Python objects, of which the smallest take three bytes of a file."""
    field, entries = LONG_HEADERS[name]
    n, is_refused = 100_000, True
    while is_refused:  # by the limit of the header, until as many are parsed as it allows
        content = long_header(field, entries(n))
        peak, error = peak_memory(content)
        assert isinstance(error, ModelFormatError)
        assert peak <= 4 * len(content) + FREE
        n, is_refused = n * 2 // 3, "three times its size" in str(error)


def test_the_error_names_the_limit():
    with pytest.raises(ModelFormatError, match=r"line 13: its values may take \d\d MB .* may take 34 MB, three times"):
        loads(long_header("notes", [[]] * 400_000))


def many_levels():
    level = np.tile(np.arange(600_000), 2)
    table = {"x": np.char.add("k", level.astype(str)), "y": np.where(level % 2, "odd", "even")}
    return tw.grow(table, "y", selection="gain", min_level_rows=1)


def many_columns():
    return tw.grow({f"x{i}": [0.5, i] for i in range(60_000)} | {"y": [0, 1]}, "y", task="classification")


def many_classes():
    return tw.grow({"x": np.arange(60_000), "y": np.char.add("c", np.arange(60_000).astype(str))}, "y", max_depth=8)


@pytest.mark.skipif(not LONG, reason="a minute; TREEWISE_LONG=1 runs it")
@pytest.mark.parametrize("make", [many_levels, many_columns, many_classes])
def test_models_of_many_names_are_saved_so_that_they_can_be_loaded(make):
    """What is too short for the memory its names take is followed by spaces."""
    model = make()
    content = dumps(model).encode()
    peak, loaded = peak_memory(content)
    assert loaded == model
    assert dumps(loaded).encode() == content
    assert peak <= 4 * len(content) + FREE


def test_a_file_that_is_too_short_for_its_names_is_padded(monkeypatch):
    tree = tw.grow("xor")
    short = dumps(tree)
    monkeypatch.setattr(json_lines, "header_memory_allowed", lambda file_size: file_size // 2)
    with pytest.raises(ModelFormatError, match="its values may take"):
        loads(short)
    padded = dumps(tree)
    assert padded.count(" ") >= 1 << 20
    assert loads(padded) == tree


def large_forest():
    """Return a forest of one tree of a million nodes."""
    n = 1 << 20
    return tw.forest({"x": np.arange(n), "y": np.random.default_rng(0).integers(0, 2, n)}, "y", **ONE_TREE)


def test_a_forest_of_one_large_tree_needs_no_more():
    """Every node of the tree is checked, in pieces: its check once took 72 bytes per node, in a file of 10."""
    forest = large_forest()
    assert len(forest.members.kind) > 1_000_000
    content = dumps(forest, True).encode()
    peak, loaded = peak_memory(content)
    assert loaded == forest
    assert peak <= 4 * len(content) + FREE


def test_what_would_be_too_small_when_packed_is_written_as_lists(monkeypatch):
    """A file that is saved can be loaded, however few bytes its arrays take when packed."""
    from treewise.formats.model_file import model_file

    tree = tw.grow({"x": np.arange(3000), "y": np.arange(3000) % 2}, "y")
    packed = dumps(tree, compact=True)
    allowed = 2 * len(packed)
    monkeypatch.setattr(model_file, "arrays_memory_allowed", lambda file_size: allowed)
    while len(dumps(tree, compact=True)) == len(packed):  # until the limit lies between the two forms
        allowed -= 1 << 12
    assert dumps(tree, compact=True) == dumps(tree, compact=False)


def main():
    """Print the sizes of files and the memory that loading them takes, for docs/reliability.md."""
    files = {name: sealed(rendered(make())) for name, make in HOSTILE.items()}
    files |= {f"a header of {name}": long_header(field, make(100_000)) for name, (field, make) in LONG_HEADERS.items()}
    files["an honest tree of a million nodes"] = dumps(tw.grow(noise(1_400_000), "y"), True).encode()
    files["an honest forest of a million nodes"] = dumps(large_forest(), True).encode()
    for make in (many_levels, many_columns, many_classes):
        files[make.__name__.replace("_", " ")] = dumps(make()).encode()
    for name, content in files.items():
        print(f"{name}: {len(content) / 1e6:.1f} MB in the file, {peak_memory(content)[0] / 1e6:.1f} MB in memory")


if __name__ == "__main__":
    main()
