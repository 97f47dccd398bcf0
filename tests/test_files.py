"""Model files: exact, deterministic, whole or not at all."""

import json
import math
import os
import stat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treewise as tw
from treewise.files import dumps, loads

TREES = [
    lambda: tw.grow("admissions", preset="id3"),
    lambda: tw.grow("penguins"),
    lambda: tw.grow("food", preset="id3"),
    lambda: tw.grow(
        {
            "x": [2**60, 2**60 + 1, None],
            "d": np.array(["2024-01-01", "2024-01-02", "NaT"], "M8[D]"),
            "y": [0.1, 0.2, 9.5],
        },
        "y",
    ),
    lambda: tw.parse("x <= 0.1 -> a\nx > 0.1 -> b"),
]


@pytest.mark.parametrize("make", TREES)
def test_what_is_saved_is_what_is_loaded(make, tmp_path):
    tree = make()
    tree.save(tmp_path / "m.json")
    again = tw.load(tmp_path / "m.json")
    assert again == tree
    assert again.history == tree.history
    assert again.notes == tree.notes
    assert dumps(again) == dumps(tree)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False, allow_infinity=False)),
        min_size=2,
        max_size=12,
    )
)
def test_every_float_survives(rows):
    tree = tw.grow({"x": [x for x, _ in rows], "y": [y for _, y in rows]}, "y", task="regression")
    assert loads(dumps(tree)) == tree


def test_odd_names_survive():
    name, label = 'a "b"\n\x1b[31m</script>☃', "c\td' --"
    tree = tw.grow({name: [1, 2], "y": [label, "z"]}, "y")
    assert loads(dumps(tree)) == tree


def test_a_file_is_plain_json():
    found = json.loads(dumps(tw.grow("admissions", preset="id3")))
    assert found["format"] == 1
    assert found["nodes"]["parent"] == [-1, 0, 0, 2, 3, 3, 3, 2, 0]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": 1}', '{"format": 1, "nodes": {}}', "[" * 100_000])
def test_what_is_not_a_model_is_refused(text, tmp_path):
    path = tmp_path / "m.json"
    path.write_text(text)
    with pytest.raises(tw.ModelFormatError, match=r"m\.json"):
        tw.load(path)


def test_a_newer_format_names_both_versions(tmp_path):
    text = dumps(tw.grow("xor")).replace('"format": 1', '"format": 3')
    with pytest.raises(tw.ModelFormatError, match=r"format 3; .*treewise"):
        loads(text)


def test_bytes_that_are_not_text_are_refused(tmp_path):
    (tmp_path / "m.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(tw.ModelFormatError, match="is not a treewise model"):
        tw.load(tmp_path / "m.json")


def test_saving_over_a_file_keeps_its_mode_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "m.json"
    path.write_text("old")
    path.chmod(0o640)
    tw.grow("xor").save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["m.json"]


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "m.json"
    tw.grow("xor").save(path)
    old = path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        tw.grow("food").save(path)
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["m.json"]


def test_no_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="No such file"):
        tw.grow("xor").save(tmp_path / "none" / "m.json")


def test_infinite_cuts_are_written_so_that_they_read_back():
    tree = tw.grow({"x": [1.0, 2.0, None, None], "y": ["a", "a", "b", "b"]}, "y")
    assert math.isinf(tree[0].split.cut)
    assert loads(dumps(tree)) == tree
