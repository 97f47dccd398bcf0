"""Damaged or malicious model files raise ModelFormatError: no crash, no hang, no wrong tree."""

import base64
import contextlib
import faulthandler
import os
import subprocess
import sys
import time
import tracemalloc
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import treewise as tw
from tests.support.hostile_files import (
    ROWS,
    Raw,
    assert_load_refused,
    chain,
    check_answers,
    check_slowly,
    mutants,
    rendered,
    sealed,
    taken_apart,
)
from treewise.formats.model_file import header
from treewise.formats.model_file import validate as soundness
from treewise.formats.model_file.model_file import dumps, loads

LONG = bool(os.environ.get("TREEWISE_LONG"))
SHARDS = 8
MUTANTS = (200_000 if LONG else 20_000) // SHARDS


@cache
def small():
    """A threshold with missing rows, a set, a multiway split, and a branch without rows."""
    text = """
        x <= 3.5 or missing
          c = a -> n
          c = b -> p
          c otherwise -> p
        x > 3.5
          c in {a, c} -> n
          c otherwise -> q"""
    return tw.parse(text, target="y", data=ROWS).refit({**ROWS, "y": ROWS["y"]})


def by_hand():
    return tw.parse("x <= 3\n  c = a -> n\n  c = b -> p\n  c missing -> n\nx > 3 -> q")


def regression():
    data = {"t": np.array(["2020-01-01", "NaT", "2021-01-01", "2022-01-01"], "M8[D]"), "i": [2**60, 2**61, None, 5]}
    return tw.grow({**data, "y": [0.1, 0.2, 5.5, 7.5]}, "y", task="regression")


def wide():
    return tw.grow(
        {"k": list("abcdef"), "b": [True, False] * 3, "w": [0.5, 1.5, 2.5, 0.25, 1, 1], "y": list("nnppqq")},
        "y",
        categorical="multiway",
        kinds={"k": set("abcdefgh")},
        sample_weight="w",
    )


def presence():
    return tw.grow({"c": ["a", None, "b", None], "y": ["n", "p", "n", "p"]}, "y")


MODELS = {"small": small, "by_hand": by_hand, "regression": regression, "wide": wide}


# -- accidents: the checksum ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compact", [False, True])
def test_every_truncation_is_refused(compact):
    content = dumps(small(), compact).encode()
    for length in range(len(content)):
        assert_load_refused(content[:length])


@pytest.mark.parametrize("compact", [False, True])
def test_every_flipped_bit_is_refused(compact):
    content = bytearray(dumps(tw.grow("xor"), compact).encode())
    for at in range(len(content)):
        for bit in range(8):
            content[at] ^= 1 << bit
            assert_load_refused(bytes(content))
            content[at] ^= 1 << bit
    assert loads(bytes(content)) == tw.grow("xor")


@pytest.mark.parametrize("more", [b"\n", b" ", b"\0", b"x", b"{}", b'"sha256": "' + b"0" * 64 + b'"}\n'])
def test_trailing_bytes_are_refused(more):
    assert_load_refused(dumps(small()).encode() + more)


def test_a_changed_number_in_the_text():
    message = assert_load_refused(dumps(small()).replace('"rows": [7', '"rows": [8'))
    assert message.startswith("m.json is damaged: checksum differs (the last line says ")
    assert message.endswith("). Nothing was loaded.")


def test_changed_line_ends_are_named():
    assert_load_refused(dumps(small()).replace("\n", "\r\n"), "line ends were changed to CRLF")


def test_a_newer_format_is_named_whatever_else_is_in_it():
    for rest in ('{"format": 5, "trees": ["…"]}', '{\n"format":5}', '{ "format" : 5 ,\0\xff'):
        message = assert_load_refused(rest)
        assert (
            message == f"m.json is format 5; this treewise ({tw.__version__}) reads up to 4. pip install -U treewise."
        )


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\x80\x04\x95", b"PK\x03\x04", b"tree\nversion=v4\n"])
def test_files_that_are_not_models_are_refused(content):
    assert_load_refused(content, "is not a treewise model")


# -- on purpose: the checksum is right --------------------------------------------------------------------------------


def changed(array, at, value, make=small):
    parts = taken_apart(dumps(make()))
    parts["nodes"][array][at] = value
    return sealed(rendered(parts))


def test_what_is_put_together_again_is_the_same():
    for make in MODELS.values():
        for compact in (False, True):
            text = dumps(make(), compact)
            assert sealed(rendered(taken_apart(text))).decode() == text


NAN, INF = float("nan"), float("inf")
CRAFTED = {
    "a cycle": (changed("parent", 2, 5), "nodes.parent[2] is 5: a parent comes before its children"),
    "a node its own parent": (changed("parent", 2, 2), "nodes.parent[2] is 2"),
    "two roots": (changed("parent", 2, -1), "there is one root"),
    "no root": (changed("parent", 0, 0), "the first node is the root"),
    "a shared node": (changed("parent", 3, 2), "children"),
    "a parent of 1e8": (changed("parent", 1, 10**8), "nodes.parent[1] is 100000000"),
    "a column of 1e6": (changed("column", 0, 10**6), "nodes.column[0] is 1000000: there are 2 columns"),
    "a column below": (changed("column", 0, -1), "nodes.column[0] is -1"),
    "a level that is none": (changed("codes", 0, 3), "the column has no such level"),
    "a level below": (changed("codes", 0, -1), "the column has no such level"),
    "a NaN cut": (changed("cut", 0, NAN), "nodes.cut[0] is nan"),
    "a cut at a leaf": (changed("cut", -1, 1.5), "nodes.cut["),
    "an unknown kind": (changed("kind", 0, 6), "unknown split kind"),
    "a kind below": (changed("kind", 0, -1), "nodes.kind[0] is -1: out of range"),
    "numbers asked for levels": (changed("kind", 0, 4), "a numeric column takes only threshold splits"),
    "an ordinal test of two levels": (changed("kind", 5, 2), "the split at this node names fewer levels"),
    "an unknown stop": (changed("stop", -1, 99), "unknown stop reason"),
    "no stop at a leaf": (changed("stop", -1, 0), "a leaf has a reason to stop"),
    "a stop inside": (changed("stop", 0, 2), "an inner node has no reason to stop"),
    "a missing branch of 9": (changed("missing", 0, 9), "nodes.missing[0] is 9: there is no such branch"),
    "a missing branch of 3": (changed("missing", 0, 3), "nodes.missing[0] is 3: there is no such branch"),
    "a multiway test of no level": (changed("kind", 0, 5, presence), "names fewer levels"),
    "an infinite prediction": (changed("value", 0, INF, regression), "a predicted number is finite"),
    "a class the parent has not": (changed("count_class", 6, 2), "its parent does not count this class"),
    "an other branch of 1": (changed("other", 0, 1), "nodes.other[0] is 1"),
    "a class of 3": (changed("label", 0, 3), "nodes.label[0] is 3: there are 3 classes"),
    "a class below": (changed("label", 0, -2), "nodes.label[0] is -2"),
    "a counted class of 3": (changed("count_class", 0, 3), "there are 3 classes"),
    "classes out of order": (changed("count_class", 0, 1), "a node's classes are in order"),
    "a count of 0": (changed("count_weight", 0, 0.0), "positive, finite"),
    "a negative count": (changed("count_weight", 0, -2.0), "positive, finite"),
    "an infinite count": (changed("count_weight", 0, INF), "positive, finite"),
    "a NaN count": (changed("count_weight", 0, NAN), "positive, finite"),
    "a count too high": (changed("count_weight", 0, 4.0), "the sum of the counts of the node differs"),
    "a row more": (changed("rows", 0, 8), "nodes.rows[0] is 8: the sum over its children differs"),
    "rows below 0": (changed("rows", 0, -1), "nodes.rows[0] is -1"),
    "2^53 rows": (changed("rows", 0, 2**53), "no table has that many rows"),
    "a negative weight": (changed("weight", 0, -1.0), "nodes.weight[0] is -1.0"),
    "an infinite weight": (changed("weight", 0, INF), "nodes.weight[0] is inf"),
    "a negative impurity": (changed("impurity", 0, -0.5), "nodes.impurity[0] is -0.5"),
    "more missing than rows": (changed("missing_rows", 0, 8), "nodes.missing_rows[0] is 8: the node has fewer rows"),
    "more missing than their branch": (changed("missing_rows", 0, 4), "the branch they take has fewer rows"),
    "missing rows at a leaf": (changed("missing_rows", -1, 1), "a leaf has no test"),
    "a gain at a leaf": (changed("gain", -1, 0.5), "a leaf gains nothing"),
    "an infinite gain": (changed("gain", 0, INF), "no split can gain that much"),
    "rows where there are none": (changed("stop", -1, 1), "its stop reason is no_rows"),
    "a start before 0": (changed("code_start", 1, -5), "nodes.code_start[1] is -5"),
    "a start far out": (changed("code_start", -1, 10**12), "nodes.codes has"),
    "a start that wraps": (changed("code_start", 1, 2**63 - 1), "nodes.code_start[2]"),
    "2^63": (changed("rows", 0, 2**63), "nodes.rows[0] is 9223372036854775808: out of range"),
    "1e400": (changed("cut", 0, Raw("1e400")), "too large for a double"),
    "5,000 digits": (changed("rows", 0, Raw("9" * 5000)), "too many digits"),
    "5,000 digits of a float": (changed("cut", 0, Raw("9" * 5000 + ".0")), "too many digits"),
    "an int for a float": (changed("cut", 0, 3), "nodes.cut[0] is 3: it must be a number with a point"),
    "a float for an int": (changed("rows", 0, 6.0), "nodes.rows[0] is 6.0: it must be a whole number"),
    "true": (changed("rows", 0, True), "not a number"),
    "null": (changed("rows", 0, None), "not a number"),
    "text": (changed("rows", 0, "6"), "not a number"),
    "a list": (changed("rows", 0, []), "not a number"),
}


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted(name):
    content, words = CRAFTED[name]
    assert_load_refused(content, words)


def with_parts(make=small, **changes):
    return sealed(rendered({**taken_apart(dumps(make())), **changes}))


def with_nodes(**arrays):
    parts = taken_apart(dumps(small()))
    return sealed(rendered({**parts, "nodes": {**parts["nodes"], **arrays}}))


def column(**fields):
    parts = taken_apart(dumps(small()))
    parts["columns"][0] = fields
    if fields.get("kind") != "number":
        del parts["quartiles"]  # of a column that is no column of numbers any more
        parts["format"] = 1
    return sealed(rendered(parts))


DEEP = Raw("[" * 200_000 + "]" * 200_000)
HEADERS = {
    "no columns": (with_parts(by_hand, columns=[]), "there are 0 columns"),
    "columns that are none": (with_parts(columns=7), "line 7"),
    "the same column twice": (
        with_parts(columns=taken_apart(dumps(small()))["columns"][:1] * 3),
        "a duplicate",
    ),
    "a column of an unknown kind": (column(name="x", kind="complex"), "columns[0].kind"),
    "a number with levels": (column(name="x", kind="number", levels=[]), 'has a field "levels"'),
    "a category without": (column(name="x", kind="nominal"), "columns[0].levels is missing"),
    "a level twice": (column(name="x", kind="nominal", levels=["a", "a"]), "columns[0].levels[1]"),
    "a level of 3": (column(name="x", kind="nominal", levels=["a", 3]), "columns[0].levels[1] is 3"),
    "a boolean of three": (column(name="x", kind="boolean", levels=["a", "b", "c"]), "a boolean's levels"),
    "a strange unit": (column(name="x", kind="datetime", unit="fortnight"), "columns[0].unit"),
    "a name of 3": (column(name=3, kind="number"), "columns[0].name is 3"),
    "a kind that is a list": (column(name="x", kind=["number"]), "columns[0].kind is a list"),
    "categories cut": (column(name="x", kind="nominal", levels=["a"]), "a column of levels is not cut"),
    "no classes": (with_parts(target={"name": "y", "task": "classification", "classes": []}), "nothing to predict"),
    "classes 1 and true": (
        with_parts(target={"name": "y", "task": "classification", "classes": [1, True, 2]}),
        "target.classes[1] is true",
    ),
    "a class null": (
        with_parts(target={"name": "y", "task": "classification", "classes": [None, 1, 2]}),
        "target.classes[0] is nothing",
    ),
    "a class that is no number": (
        with_parts(target={"name": "y", "task": "classification", "classes": [Raw("NaN"), 1, 2]}),
        "target.classes[0] is nan",
    ),
    "a huge class": (
        with_parts(target={"name": "y", "task": "classification", "classes": [Raw("9" * 5000), 1, 2]}),
        "too many digits",
    ),
    "another task": (with_parts(target={"name": "y", "task": "regression"}, criterion="squared_error"), "value"),
    "a criterion of the other task": (with_parts(criterion="poisson"), "criterion"),
    "an unknown criterion": (with_parts(criterion=["gini"]), "criterion"),
    "an unknown empty_branch": (with_parts(empty_branch="left"), "empty_branch"),
    "notes that are none": (with_parts(notes="a"), "notes"),
    "a note of 3": (with_parts(notes=[3]), "notes[0]"),
    "a history that is none": (with_parts(history={}), "history"),
    "a step that is none": (with_parts(history=[[]]), "history[0]"),
    "settings that are none": (with_parts(history=[{"did": "grow", "settings": []}]), "history[0].settings"),
    "a wrong setting": (with_parts(history=[{"did": "grow", "settings": {"max_depth": "2"}}]), "max_depth"),
    "an unknown setting": (with_parts(history=[{"did": "grow", "settings": {"__class__": 1}}]), "no setting"),
    "a wrong class weight": (with_parts(history=[{"did": "grow", "class_weight": {"a": -1}}]), "class_weight"),
    **{
        f"a column of {role} that is none": (
            with_parts(history=[{"did": "grow", role: []}]),
            f"history[0].{role} is a list: it must be text",
        )
        for role in ("groups", "time", "exposure")
    },
    "a pruning that is none": (
        with_parts(history=[{"did": "prune", "leaves": [3]}]),
        "history[0] is not a valid pruning step",
    ),
    "a decision that is none": (
        with_parts(history=[{"did": "prune", "leaves": [3, 1], "decisions": [{"node": "a"}]}]),
        "history[0] is not a valid pruning step",
    ),
    "options that are none": (with_parts(history=[{"did": "prune", "options": []}]), "history[0].options"),
    "a marker of missing values alone": (
        with_parts(history=[{"did": "grow", "na_values": 5}]),
        "history[0].na_values is 5: it must be a list",
    ),
    "a text for markers of missing values": (
        with_parts(history=[{"did": "grow", "na_values": "?"}]),
        'history[0].na_values is "?": it must be a list',
    ),
    "a marker of missing values that is a number": (
        with_parts(history=[{"did": "grow", "na_values": ["?", 5]}]),
        "history[0].na_values[1] is 5: it must be text",
    ),
    "deep nesting": (with_parts(history=[{"did": "grow", "deep": DEEP}]), "nested more than 64 deep"),
    "deep nesting in nodes": (changed("rows", 0, DEEP), "not a number"),
    "a field twice": (with_parts(history=[Raw('{"did":"grow","did":"x"}')]), "occurs twice"),
    "a number past doubles": (with_parts(history=[{"did": "grow", "x": Raw("1e999")}]), "too large for a double"),
    "no nodes": (with_parts(nodes={}), 'should be "count"'),
    "0 nodes": (with_nodes(count=0), "nodes.count is 0: a tree has at least a root"),
    "a number more": (with_nodes(rows=[7, 4, 2, 1, 1, 3, 2, 1, 0]), "nodes.rows has 9 numbers or more: 8 are needed"),
    "quartiles of nothing": (with_parts(quartiles={}), "quartiles is an object: it must be names and pairs of numbers"),
    "quartiles in a list": (with_parts(quartiles=[[1.0, 2.0]]), "quartiles is a list"),
    "quartiles of a stranger": (with_parts(quartiles={"zzz": [1.0, 2.0]}), 'for "zzz", which is not a numeric column'),
    "quartiles of levels": (with_parts(quartiles={"c": [1.0, 2.0]}), 'for "c", which is not a numeric column'),
    "one quartile": (with_parts(quartiles={"x": [1.0]}), 'quartiles of "x" must be two numbers with a point'),
    "whole quartiles": (with_parts(quartiles={"x": [1, 2]}), 'quartiles of "x" must be two numbers with a point'),
    "quartiles in words": (with_parts(quartiles={"x": ["1.0", 2.0]}), 'quartiles of "x" must be two numbers'),
    "quartiles that are none": (with_parts(quartiles={"x": [Raw("NaN"), 2.0]}), "the lower one comes first"),
    "quartiles the wrong way": (with_parts(quartiles={"x": [2.0, 1.0]}), "are 2.0 and 1.0: the lower one comes first"),
    "quartiles in format 1": (with_parts(format=1), 'line 11 should be "history": ['),
    "an older format": (sealed(b'{\n"format": 0,\n'), "m.json is format 0; this treewise"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers(name):
    content, words = HEADERS[name]
    assert_load_refused(content, words)


def test_whole_sums_must_be_exact_and_others_nearly_so():
    one, other = np.array([1e12, 3.0, 0.1 + 0.2, 0.5]), np.array([1e12 + 1, 3.0, 0.3, 0.6])
    assert soundness.are_near(one, other).tolist() == [False, True, True, False]


def test_invalid_utf8_is_refused():
    body = rendered(taken_apart(dumps(small()))).replace(b'"name":"c"', b'"name":"\xff\xfe"')
    assert_load_refused(sealed(body), "line 9: byte 9 is not text in UTF-8")


def test_text_is_not_too_long(monkeypatch):
    content = with_parts(notes=["abcde"])
    assert loads(content)
    monkeypatch.setattr(header, "MAX_CHARACTERS", 4)
    assert_load_refused(content, "has 5 characters; at most 4 are allowed")


def test_brackets_in_text_are_no_nesting():
    note = "[{" * 100
    assert loads(with_parts(notes=[note])).notes == (note,)


def test_a_block_must_have_its_commas():
    body = rendered(taken_apart(dumps(small())))
    for whole, damaged, message in (
        (b'"whole"},\n', b'"whole"}\n', "should end with a comma"),
        (b"]}\n],", b"]},\n],", "should not end with a comma"),
    ):
        assert whole in body
        assert_load_refused(sealed(body.replace(whole, damaged, 1)), message)


def test_fields_stand_in_their_order():
    parts = taken_apart(dumps(small()))
    turned = dict(reversed(list(parts.items())))
    assert_load_refused(sealed(rendered({"format": 1, **turned})), "line 3")
    assert_load_refused(sealed(rendered({**parts, "more": 1})), "should be the checksum")
    assert_load_refused(sealed(rendered({**parts, "nodes": {**parts["nodes"], "more": []}})), "the last of its block")


# -- packed arrays ----------------------------------------------------------------------------------------------------


def packed(name, value, make=small):
    parts = taken_apart(dumps(make(), compact=True))
    parts["nodes"][name] = value
    return sealed(rendered(parts))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("parent", {"fill": -1}, "nodes.parent cannot be a fill"),
        ("codes", {"fill": 0}, "nodes.codes cannot be a fill"),
        ("count_weight", {"fill": 1.0}, "nodes.count_weight cannot be a fill"),
        ("rows", {"fill": 6.0}, "it must be a whole number"),
        ("rows", {"fill": 2**63}, "out of range"),
        ("kind", {"fill": 256}, "nodes.kind[0] is 256: out of range"),
        ("cut", {"fill": Raw("1e400")}, "too large for a double"),
        ("rows", {"int8": "AAAA"}, "characters of base64"),
        ("rows", {"int8": "A" * 16}, "characters of base64"),
        ("weight", {"int64": base64.b64encode(np.full(8, 2**53 + 1).tobytes()).decode()}, "numbers past 2^53"),
        ("rows", {"int8": "!!!!"}, "neither a list, nor packed, nor a fill"),
        ("rows", {"object": "AAAA"}, "neither a list, nor packed, nor a fill"),
        ("rows", {"float64": "AAAA"}, "cannot be packed as float64"),
        ("rows", {"int128": "AAAA"}, "neither a list, nor packed, nor a fill"),
        ("rows", "AAAA", "neither a list, nor packed, nor a fill"),
        ("rows", {"int8": "AAAA", "int16": "AAAA"}, "neither a list, nor packed, nor a fill"),
    ],
)
def test_packed_arrays_are_what_they_must_be(name, value, words):
    assert_load_refused(packed(name, value), words)


def test_a_declared_size_allocates_nothing():
    parts = taken_apart(dumps(small(), compact=True))
    for count in (10**18, 2**63 - 1, 10**12):
        parts["nodes"]["count"] = count
        content = sealed(rendered(parts))
        tracemalloc.start()
        assert_load_refused(content, "nodes.parent has")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
        tracemalloc.stop()
    starts = np.zeros(len(small()) + 1, "<i8")
    starts[-1] = 2**62
    assert_load_refused(
        packed("count_start", {"int64": base64.b64encode(starts.tobytes()).decode()}), "nodes.count_class has"
    )


# -- mutants ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shard", range(SHARDS))
def test_mutants_are_refused_or_are_trees(shard):
    """A file with a right checksum either is refused, or is a sound tree that answers: nothing in between."""
    faulthandler.dump_traceback_later(7200 if LONG else 600, exit=True)  # a hang ends here
    make = list(MODELS.values())[shard % 4]
    accepted = 0
    try:
        for content in mutants(dumps(make(), compact=shard >= 4), shard, MUTANTS):
            try:
                tree = loads(content, "m.json")
            except tw.ModelFormatError:
                continue
            accepted += 1
            check_slowly(tree)
            check_answers(tree)
            parsed = loads(dumps(tree))
            assert parsed == tree
            if accepted % 20 == 0:
                str(tree)
                tree.export("text")
    finally:
        faulthandler.cancel_dump_traceback_later()
    assert 0.005 < accepted / MUTANTS < 0.5  # enough get through that the twin has something to look at


# -- nothing is executed, nothing else is opened ----------------------------------------------------------------------

WATCH = """
import sys, pathlib
from treewise.formats.model_file.model_file import load
seen = []
sys.addaudithook(lambda event, args: seen.append((event, str(args[:1]))))
for path in sys.argv[1:]:
    try:
        load(path)
    except ValueError:
        pass
print([s for s in seen if s[0] not in ("open", "object.__getattr__", "object.__setattr__")])
print([s[1] for s in seen if s[0] == "open"])
"""


def test_loading_runs_nothing_and_opens_nothing_else(tmp_path):
    paths = []
    for name, content in {
        "a.json": dumps(small()).encode(),
        "b.json": dumps(regression(), compact=True).encode(),
        "c.json": CRAFTED["a cycle"][0],
        "d.json": b"\x80\x04\x95\x0e\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.",
        "e.json": dumps(small()).encode()[:-9],
    }.items():
        paths.append(tmp_path / name)
        paths[-1].write_bytes(content)
    completed = subprocess.run(
        [sys.executable, "-c", WATCH, *map(str, paths)], capture_output=True, text=True, check=True
    )
    others, opened = completed.stdout.splitlines()
    assert others == "[]"
    assert opened == str([str((str(path),)) for path in paths])


def test_the_loader_knows_no_pickle():
    for path in (Path(tw.__file__).parent / "files").glob("*.py"):
        words = path.read_text(encoding="utf-8")
        assert not any(
            word in words for word in ("import pickle", "import marshal", "import shelve", "joblib", "eval(", "exec(")
        )


# -- time and memory --------------------------------------------------------------------------------------------------


def test_quadratic_traps_are_linear():
    """Things that could take a time of more than n: brackets, quotes, numbers, levels, one long line."""
    n = 300_000
    traps = [
        with_parts(notes=Raw('["' + '\\"' * n + '"]')),
        with_parts(notes=Raw("[" + '"a",' * n + '"a"]')),
        with_parts(notes=Raw("[" * n)),
        with_parts(notes=Raw('"' * n)),
        with_parts(history=[{"did": "x", "y": Raw("[" + "[]," * n + "[]]")}]),
        with_parts(columns=[{"name": "x", "kind": "nominal", "levels": [str(i) for i in range(n)]}] * 2),
        with_parts(treewise=Raw('"' + "\\\\" * n)),
        changed("rows", 0, Raw("1," * n + "1")),
        changed("rows", 0, Raw("-" * n)),
        packed("rows", {"int8": "A" * n}),
        packed("rows", {"int8": "=" * n}),
        sealed(b"{\n" + b'"format": 1,\n' + b"\n" * n),
    ]
    begin = time.process_time()
    for content in traps:
        with contextlib.suppress(tw.ModelFormatError):
            loads(content)
    assert time.process_time() - begin < 20


def test_classes_made_to_collide_are_refused_before_they_are_compared():
    collide = [Raw(str(k * (2**61 - 1))) for k in range(1, 20_000)]
    begin = time.process_time()
    assert_load_refused(with_parts(target={"name": "y", "task": "classification", "classes": collide}), "")
    assert time.process_time() - begin < 5


def test_reading_needs_little_more_than_the_tree(tmp_path):
    """Peak memory: the file, the finished arrays, and less than twice the file and 16 MB besides."""
    tree = big_tree(50_000)
    for compact in (False, True):
        content = dumps(tree, compact).encode()
        arrays = sum(getattr(tree.arrays, name).nbytes for name in tree.arrays.__dataclass_fields__)
        tracemalloc.start()
        loads(content)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < arrays + 2 * len(content) + (16 << 20)


def big_tree(leaves):
    rng = np.random.default_rng(0)
    return tw.grow({"x": np.arange(leaves), "y": rng.integers(0, 2, leaves)}, "y")


def test_a_chain_of_100_000_levels_loads():
    n = 100_000
    tree = chain(n)
    assert tree.depth == n
    for compact in (False, True):
        text = dumps(tree, compact)
        assert loads(text) == tree
    parts = taken_apart(text)
    parts["nodes"]["parent"] = tree.arrays.parent.tolist()
    parts["nodes"]["parent"][-1] = 0
    assert_load_refused(sealed(rendered(parts)), "children")
