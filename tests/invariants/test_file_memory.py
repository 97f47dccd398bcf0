"""Memory that a model file can claim: at most four times its size and 32 MB, the content of the file included.

The files are honest ones, and ones that describe millions of nodes in few bytes, under a right checksum.
"""

import base64
import tracemalloc

import numpy as np
import pytest

import treewise as tw
from tests.support.hostile_files import rendered, sealed, taken_apart
from treewise import ModelFormatError
from treewise.formats.model_file.model_file import dumps, loads

N_NODES = 3_000_000
FREE = 32 << 20


def noise(n):
    rng = np.random.default_rng(0)
    return {"x": np.arange(n), "z": rng.normal(size=n), "y": rng.integers(0, 2, n)}


def peak_memory(content):
    """Return the most memory in use while a file is loaded, and the model, or None if it is refused."""
    tracemalloc.start()
    try:
        model = loads(content)
    except ModelFormatError:
        model = None
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
    assert model is None
    assert peak <= 4 * len(content) + FREE


@pytest.mark.parametrize("compact", [False, True])
def test_an_honest_file_needs_at_most_four_times_its_size(compact):
    for grow in (tw.grow, lambda *table: tw.forest(*table, n_estimators=3)):
        grown = grow(noise(60_000), "y")
        content = dumps(grown, compact).encode()
        peak, loaded = peak_memory(content)
        assert loaded == grown
        assert peak <= 4 * len(content) + FREE


def long_header(field, entry):
    """Return a file whose notes or history are many equal entries."""
    return sealed(rendered({**levels(tw.grow), field: [entry] * 300_000}))


@pytest.mark.parametrize("entry", [[], {}, 0.5], ids=repr)
@pytest.mark.parametrize("field", ["notes", "history"])
def test_a_header_claims_at_most_thirty_times_its_size(field, entry):
    """Names and notes are Python objects, of which the smallest take three bytes of a file."""
    content = long_header(field, entry)
    peak, model = peak_memory(content)
    assert model is None
    assert peak <= 30 * len(content)


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
    monkeypatch.setattr(model_file, "_memory_allowed", lambda file_size: 2 * file_size)
    while len(dumps(tree, compact=True)) == len(packed):  # until the limit lies between the two forms
        monkeypatch.setattr(
            model_file, "_memory_allowed", lambda size, old=model_file._memory_allowed: old(size) - (1 << 12)
        )
    assert dumps(tree, compact=True) == dumps(tree, compact=False)


def main():
    """Print the sizes of files and the memory that loading them takes, for docs/reliability.md."""
    files = {name: sealed(rendered(make())) for name, make in HOSTILE.items()}
    files |= {
        f"{field} of {entry!r}": long_header(field, entry) for field in ("notes", "history") for entry in ([], {})
    }
    files["an honest tree of a million nodes"] = dumps(tw.grow(noise(1_400_000), "y"), True).encode()
    files["an honest forest of a million nodes"] = dumps(large_forest(), True).encode()
    for name, content in files.items():
        print(f"{name}: {len(content) / 1e6:.1f} MB in the file, {peak_memory(content)[0] / 1e6:.1f} MB in memory")


if __name__ == "__main__":
    main()
