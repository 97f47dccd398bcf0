"""Model files: exact, deterministic, backward compatible and written atomically."""

import errno
import json
import math
import os
import pickle
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treewise as tw
from tests.support import handmade_trees as handmade
from tests.support.hostile_files import chain
from treewise._lib import atomic_write as disk
from treewise.formats.model_file.json_lines import checksum
from treewise.formats.model_file.model_file import dumps, loads
from treewise.tree.arrays import STOPS, Target

LONG = bool(os.environ.get("TREEWISE_LONG"))
GOLDEN = sorted((Path(__file__).parents[2] / "golden").glob("*.json"))

FRACTIONS = np.linspace(0.1, 3.0, 344)
MASSES = {"x": [1, 2, 3, 4], "k": list("abab"), "mass": [0.1, 12.25, 7.5, 1e9]}
TREES = {
    "categories": lambda: tw.grow("admissions", preset="id3"),
    "missing": lambda: tw.grow("penguins"),
    "a branch without rows": lambda: tw.grow("food", preset="id3"),
    "wide integers, datetimes": lambda: tw.grow(
        {
            "x": [2**60, 2**60 + 1, None],
            "d": np.array(["2024-01-01", "2024-01-02", "NaT"], "M8[D]"),
            "y": [0.1, 0.2, 9.5],
        },
        "y",
    ),
    "by hand": lambda: tw.parse("x <= 0.1 -> a\nx > 0.1 -> b"),
    "printed and read": lambda: tw.parse(str(tw.grow("penguins", max_depth=3, sample_weight=FRACTIONS))),
    "printed regression": lambda: tw.parse(str(tw.grow(MASSES, "mass", max_depth=2))),
    "refitted": lambda: tw.grow("penguins", max_depth=2).refit("penguins"),
    "split by hand": lambda: tw.grow("xor", max_depth=0).split(0, "x1 <= 0.5", "xor"),
    "one leaf": lambda: tw.grow({"x": [1, 2], "y": ["a", "a"]}, "y"),
    "no columns": lambda: tw.grow({"y": ["a", "a", "b"]}, "y"),
    "an empty column": lambda: tw.grow({"x": [None, None], "z": [1, 2], "y": ["a", "b"]}, "y"),
    "weights": lambda: tw.grow("penguins", class_weight={"Adelie": np.float32(0.1)}, sample_weight=FRACTIONS),
    "numbers for classes": lambda: tw.grow({"x": [1, 2, 3], "y": [0, 1, 2]}, "y", class_weight={0: 2, 1: np.int64(3)}),
    "truths for classes": lambda: tw.grow({"x": [1, 2, 3], "y": [True, False, True]}, "y", class_weight={True: 2}),
    "fractions for classes": lambda: tw.grow({"x": [1, 2], "y": [0.5, 1.5]}, "y", task="classification"),
    "numpy settings": lambda: tw.grow("xor", max_depth=np.int64(2), min_impurity_decrease=np.float64(0.0)),
    "huge regression": lambda: tw.grow({"x": [1, 2, 3], "y": [1.7e308, -1.7e308, 0.5]}, "y"),
}  # fmt: skip


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("name", TREES)
def test_what_is_saved_is_what_is_loaded(name, compact, tmp_path):
    tree = TREES[name]()
    tree.save(tmp_path / "m.json", compact=compact)
    loaded = tw.load(tmp_path / "m.json")
    assert loaded == tree
    assert loaded.notes == tree.notes
    assert loaded.encodings == tree.stored_encodings
    assert [type(c) for c in loaded.classes] == [type(c) for c in tree.classes]
    assert dumps(loaded, compact).encode() == (tmp_path / "m.json").read_bytes()
    assert all(not getattr(loaded.arrays, name).flags.writeable for name in loaded.arrays.__dataclass_fields__)


def test_every_step_of_growth_can_be_saved():
    for tree in (
        tw.grow("penguins", max_leaf_nodes=6),
        tw.grow("food", preset="id3"),
        tw.parse("x <= 1 -> a\nx > 1 -> b"),
    ):
        for step in tree.steps():
            assert loads(dumps(step)) == step
            assert loads(dumps(step, compact=True)) == step


def test_a_loaded_tree_behaves_as_before():
    tree = tw.grow("penguins", max_depth=3, class_weight={"Adelie": 2.5}, kinds={"island": "multiway"})
    parsed = loads(dumps(tree))
    assert parsed.history == tree.history
    assert parsed.refit("penguins") == tree.refit("penguins")
    assert np.array_equal(parsed.predict("penguins"), tree.predict("penguins"))


def sound(tree):
    """Make a random tree sound: where there are rows it did not stop for want of them; a criterion of its task."""
    stop = np.where((tree.arrays.stop == 1) & (tree.arrays.rows > 0), STOPS.index("by_hand"), tree.arrays.stop)
    criterion = "gini" if tree.task == "classification" else "squared_error"
    return tree.with_(arrays=replace(tree.arrays, stop=stop.astype(np.uint8)), criterion=criterion)


@settings(max_examples=2000 if LONG else 60, deadline=None)
@given(handmade.trees().map(sound))
def test_any_tree_survives_in_both_forms(tree):
    for compact in (False, True):
        text = dumps(tree, compact)
        parsed = loads(text)
        assert parsed == tree
        assert parsed.history == tree.history
        assert dumps(parsed, compact) == text
        assert dumps(parsed, not compact) == dumps(tree, not compact)


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
    assert loads(dumps(tree)) == loads(dumps(tree, compact=True)) == tree


def bits_of(tree):
    return {name: getattr(tree.arrays, name).tobytes() for name in tree.arrays.__dataclass_fields__}


@pytest.mark.parametrize(
    "cut", [-0.0, 5e-324, -5e-324, 1.7976931348623157e308, math.inf, -math.inf, 0.1, 2.0**53 + 2, 1e16]
)
@pytest.mark.parametrize("compact", [False, True])
def test_cuts_survive_to_the_bit(cut, compact):
    tree = tw.parse("x <= 1 -> a\nx > 1 -> b")
    tree = tree.with_(arrays=replace(tree.arrays, cut=np.array([cut, 0.0, 0.0])))
    assert bits_of(loads(dumps(tree, compact))) == bits_of(tree)


@pytest.mark.parametrize("cut", [2**63 - 1, -(2**63), 2**53 + 1, -(2**53) - 1, 0, 1])
@pytest.mark.parametrize("compact", [False, True])
def test_whole_cuts_survive_to_the_bit(cut, compact):
    tree = tw.parse(f"x <= {2**60} -> a\nx > {2**60} -> b")
    tree = tree.with_(arrays=replace(tree.arrays, cut_int=np.array([cut, 0, 0])))
    assert bits_of(loads(dumps(tree, compact))) == bits_of(tree)


def test_every_nan_is_one_nan():
    tree = tw.parse("x <= 1 -> a\nx > 1 -> b")
    odd = np.array([0x7FF8000000000001, 0xFFF8000000000000, 0x7FF0000000000001], np.uint64).view(np.float64)
    other = tree.with_(arrays=replace(tree.arrays, impurity=odd))
    assert dumps(other) == dumps(tree)
    assert dumps(other, compact=True) == dumps(tree, compact=True)


def test_odd_names_survive():
    name, label = 'a "b"\n\x1b[31m</script>☃\u2028', "c\td' --\x00\x7f"
    tree = tw.grow({name: [1, 2], "y": [label, "z"]}, "y")
    assert loads(dumps(tree)) == tree
    half = tree.with_(target=Target("half a letter: \ud800", "classification", tree.classes))
    assert loads(dumps(half).encode()) == half


def test_equal_trees_are_equal_files_whatever_the_hash_seed():
    code = (
        "import treewise as tw, treewise.formats.model_file.model_file as f;"
        "print(f.dumps(tw.grow('penguins', class_weight='balanced')))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


def test_a_file_is_plain_json_with_its_checksum_last():
    text = dumps(tw.grow("admissions", preset="id3"))
    parsed = json.loads(text)
    assert next(iter(parsed)) == "format"
    assert parsed["format"] == 1
    assert parsed["nodes"]["parent"] == [-1, 0, 0, 2, 3, 3, 3, 2, 0]
    body, _, last = text.rstrip("\n").rpartition("\n")
    assert last == f'"sha256": "{checksum((body + chr(10)).encode())}"}}'


def test_large_trees_are_packed_unless_asked():
    tree = chain(5_000)
    assert len(tree) == 10_001
    assert dumps(tree) == dumps(tree, compact=True)
    assert dumps(tree) != dumps(tree, compact=False)
    assert loads(dumps(tree)) == loads(dumps(tree, compact=False)) == tree
    small = tw.grow("xor")
    assert dumps(small) == dumps(small, compact=False)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"parent": np.array([-1, 0, 5])}, "nodes.parent[2] is 5: a parent comes before its children"),
        ({"cut": np.array([math.nan, 0.0, 0.0])}, "nodes.cut[0] is nan"),
        ({"label": np.array([-1, 0, 7], np.int32)}, "nodes.label[2] is 7"),
        ({"rows": np.zeros(2, np.int64)}, "nodes.rows has 2 entries: 3 are needed"),
        ({"value": np.zeros(3)}, "nodes.value has 3 entries: 0 are needed"),
        ({"codes": np.zeros(1, np.int32)}, "nodes.code_start[3] is 0: the last list ends at 1"),
        ({"count_weight": np.ones(1)}, "nodes.count_weight and nodes.count_class differ in length"),
        ({"parent": np.empty(0, np.int64)}, "there are no nodes"),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(change, words, tmp_path):
    tree = tw.parse("x <= 1 -> a\nx > 1 -> b")
    broken = tree.with_(arrays=replace(tree.arrays, **change))
    with pytest.raises(tw.ModelFormatError) as caught:
        broken.save(tmp_path / "m.json")
    assert str(caught.value).startswith(f"the tree cannot be saved: {words}")
    assert os.listdir(tmp_path) == []


def test_torn_letters_and_odd_objects_are_not_saved():
    tree = tw.grow("xor")
    with pytest.raises(tw.ModelFormatError, match="lone half of a surrogate"):
        dumps(tree.with_(notes=("\ud83c\udf32",)))
    with pytest.raises(tw.ModelFormatError, match="contains a complex, which a model file cannot"):
        dumps(tree.with_(history=({"did": "grow", "z": 1j},)))


# -- for ever ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_files_of_every_format_load_and_answer_as_they_did(path):
    tree = tw.load(path)
    expected = json.loads(path.with_suffix(".expected").read_text(encoding="utf-8"))
    rows = expected.pop("rows")
    for method, answers in expected.items():
        actual = getattr(tree, method)(rows).tolist()
        assert repr(actual) == repr(answers), method  # repr: nan is nan, -0.0 is not 0.0, 1 is not True


@pytest.mark.parametrize("path", [p for p in GOLDEN if not p.name.startswith("2-")], ids=lambda p: p.stem)
def test_a_loaded_file_is_saved_as_it_was(path):
    text, model = path.read_text(encoding="utf-8"), tw.load(path)
    again = dumps(model, compact="packed" in path.stem, complete=True)

    def but_for_the_version(written):
        return [line for line in written.splitlines() if not line.startswith(('"treewise"', '"sha256"'))]

    assert but_for_the_version(again) == but_for_the_version(text)


# -- what a file does not tell ---------------------------------------------------------------------------------------


def patients():
    """A table with a column of names, which a pruned tree does not use."""
    rng = np.random.default_rng(3)
    age = rng.integers(20, 80, 400)
    name = [f"Patient {i}" for i in rng.integers(0, 60, 400)]
    ill = np.where((age > 50) ^ (rng.random(400) < 0.1), "yes", "no")
    return {"name": name, "age": age.tolist(), "ill": ill.tolist()}


@pytest.mark.parametrize("method", ["mdl", "cv"])
def test_a_file_names_no_levels_of_columns_without_splits_and_no_pruned_tests(method):
    data = patients()
    tree = tw.grow(data, "ill", selection="gain", min_level_rows=1)
    assert "name" in {node.split.column for node in tree if node.split}
    pruned = tree.prune(method, data=data) if method == "cv" else tree.prune(method)
    assert pruned.columns[pruned.used_columns[0]] == "age"
    assert len(pruned.used_columns) == 1
    for text in (dumps(pruned), dumps(pruned, compact=True), pruned.export("text")):
        assert "Patient" not in text
    assert "Patient" in dumps(pruned, complete=True)
    assert str(loads(dumps(pruned, complete=True)).history[-1]) == str(pruned.history[-1])
    assert "Patient" not in dumps(tw.bagging(data, "ill", n_estimators=3, max_depth=1))


def test_levels_that_a_file_leaves_out_are_read_from_the_table_again():
    data = patients()
    tree = tw.grow(data, "ill", pruning="cv")
    parsed = loads(dumps(tree))
    assert parsed.encoding_of("name").levels == ()
    assert parsed == tree
    assert hash(parsed) == hash(tree)
    assert str(parsed.stability(data, resamples=5)) == str(tree.stability(data, resamples=5))
    assert str(parsed.trace(data)) == str(tree.trace(data))
    leaf = next(node.id for node in tree if node.is_leaf)
    by_hand = parsed.split(leaf, 'name = "Patient 7"', data)
    assert by_hand == tree.split(leaf, 'name = "Patient 7"', data)
    assert by_hand[leaf].split.column == "name"
    assert pickle.loads(pickle.dumps(tree)).encodings == tree.encodings


# -- onto the disk ----------------------------------------------------------------------------------------------------


def test_saving_over_a_file_keeps_its_mode_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "m.json"
    path.write_text("old")
    path.chmod(0o640)
    tw.grow("xor").save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["m.json"]


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path):
    (tmp_path / "any").write_text("")
    tw.grow("xor").save(tmp_path / "m.json")
    assert (tmp_path / "m.json").stat().st_mode == (tmp_path / "any").stat().st_mode


def test_links_are_followed(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link.json").symlink_to("there/real.json")
    for tree in (tw.grow("xor"), tw.grow("food")):  # first it points to nothing, then to a file
        tree.save(tmp_path / "link.json")
        assert (tmp_path / "link.json").is_symlink()
        assert tw.load(tmp_path / "there" / "real.json") == tree
    (tmp_path / "round.json").symlink_to("round.json")
    with pytest.raises(OSError, match=r"cannot save .*round\.json: .*Nothing was saved"):
        tree.save(tmp_path / "round.json")


def test_places_that_do_not_exist_are_named(tmp_path):
    tree = tw.grow("xor")
    with pytest.raises(FileNotFoundError, match=r'm\.json: there is no folder ".*none"\. Nothing was saved\.'):
        tree.save(tmp_path / "none" / "m.json")
    with pytest.raises(IsADirectoryError, match="is a folder: give the name of a file in it"):
        tree.save(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="there is no folder"):
        tree.save(tmp_path / "file" / "m.json")
    with pytest.raises(OSError, match=r"cannot save /proc/m\.json: (no such file|permission denied|the folder)"):
        tree.save("/proc/m.json")
    with pytest.raises(OSError, match="name too long"):
        tree.save(tmp_path / ("n" * 300))
    with pytest.raises(FileNotFoundError, match=r"no file .*x\.json\. Nothing was loaded\."):
        tw.load(tmp_path / "x.json")
    with pytest.raises(IsADirectoryError, match=r"is a folder\. Nothing was loaded\."):
        tw.load(tmp_path)


def test_a_long_name_is_no_trouble(tmp_path):
    path = tmp_path / ("é" * 120 + ".json")
    tw.grow("xor").save(path)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="may not be written to"):
        tw.grow("xor").save(tmp_path / "m.json")


def test_a_pipe_is_written_to_as_it_is(tmp_path):
    reader, writer = os.pipe()
    tree = tw.grow("xor")
    tree.save(f"/dev/fd/{writer}")
    os.close(writer)
    with open(reader, "rb") as file:
        assert loads(file.read()) == tree
    with pytest.raises(OSError, match=r"cannot save /dev/full: no space left on device\. Nothing was saved\."):
        tree.save("/dev/full")
    with pytest.raises(tw.ModelFormatError, match="zero is not a treewise model"):
        tw.load("/dev/zero")


def test_bytes_and_name_are_on_the_disk_before_a_save_is_over(tmp_path, monkeypatch):
    """The file is synced before it takes its place, and the folder after."""
    calls = []
    for name in ("write", "fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(disk.os, name, lambda *args, name=name, real=real: (calls.append(name), real(*args))[1])
    tw.grow("xor").save(tmp_path / "m.json")
    assert calls == ["write", "fsync", "replace", "fsync"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_the_mode_of_a_file_is_kept_also_where_a_new_file_would_have_another(tmp_path):
    path = tmp_path / "m.json"
    for mode in (0o666, 0o640, 0o777):
        tw.grow("xor").save(path)
        path.chmod(mode)
        tw.grow("xor", max_depth=1).save(path)
        assert path.stat().st_mode & 0o777 == mode


STEPS = ("open", "fchmod", "write", "fsync", "close", "replace")


class Fault:
    """Lets the n-th call to the operating system fail, or that one and every later one."""

    def __init__(self, monkeypatch, at, error, and_after):
        self.calls, self.at, self.error, self.and_after = 0, at, error, and_after
        for name in (*STEPS, "unlink"):
            monkeypatch.setattr(disk.os, name, self.around(getattr(os, name), name))

    def around(self, real, name):
        def call(*args, **more):
            if name == "unlink" and not (self.and_after and self.calls > self.at):
                return real(*args, **more)
            self.calls += 1
            if self.calls == self.at or (self.and_after and self.calls > self.at):
                if name == "close":
                    real(*args, **more)  # a failed close still closes
                raise self.error
            if name == "write":
                return real(args[0], args[1][:100])  # a little at a time, as a slow pipe would
            return real(*args, **more)

        return call


def failure(tree, path):
    """Save, and return what went wrong."""
    try:
        tree.save(path)
    except (OSError, KeyboardInterrupt) as error:
        return error
    return None


@pytest.mark.parametrize("and_after", [False, True])
@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EIO, "I/O error"), KeyboardInterrupt()]
)
def test_whatever_call_fails_the_file_is_the_old_or_the_new(tmp_path, monkeypatch, error, and_after):
    path = tmp_path / "m.json"
    old, new = tw.grow("xor", max_depth=1), tw.grow("xor")
    old.save(path)
    path.chmod(0o600)
    contents = {dumps(old).encode(), dumps(new).encode()}
    for at in range(1, 1000):
        with monkeypatch.context() as patch:
            fault = Fault(patch, at, error, and_after)
            failed = failure(new, path)
        if isinstance(failed, OSError):
            assert str(failed).startswith("cannot save ")
            assert failed.errno == error.errno
        assert path.read_bytes() in contents
        left = set(os.listdir(tmp_path)) - {"m.json"}
        assert not left or and_after
        for name in left:
            (tmp_path / name).unlink()
        if not failed and fault.calls < at:
            break
        path.write_bytes(dumps(old).encode())
    assert at > 15
    assert path.read_bytes() == dumps(new).encode()


FULL = """
import resource, sys
import treewise as tw
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    tw.grow("penguins").save(sys.argv[1])
except OSError as error:
    print(error)
"""


def test_a_disk_that_is_full_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.json"
    tw.grow("xor").save(path)
    old = path.read_bytes()
    completed = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True)
    assert completed.stdout == f"cannot save {path}: file too large. Nothing was saved.\n"
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["m.json"]


KILLED = """
import os, random, signal, sys, time
from pathlib import Path
import treewise as tw
from treewise.formats.model_file.model_file import dumps, save

path, times = Path(sys.argv[1]), int(sys.argv[2])
trees = [tw.grow("penguins"), tw.grow("penguins", criterion="gini", max_depth=4)]
contents = [dumps(tree).encode() for tree in trees]
save(trees[0], path)
rng = random.Random(0)
seen = [0, 0, 0]
for _ in range(times):
    child = os.fork()
    if child == 0:
        while True:
            for tree in trees:
                save(tree, path)
    time.sleep(rng.uniform(0, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    seen[contents.index(path.read_bytes())] += 1  # ValueError: a torn file
    for left in path.parent.glob(".m.json.*.tmp"):
        left.unlink()
        seen[2] += 1
print(*seen)
"""


def test_a_kill_at_any_moment_leaves_a_whole_file(tmp_path):
    times = 1000 if LONG else 50
    completed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "m.json"), str(times)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    one, other, in_the_middle = map(int, completed.stdout.split())
    assert one + other == times
    assert in_the_middle > 0  # some were killed while they wrote


def test_a_file_that_was_cut_short_is_reported_to_be():
    text = dumps(tw.grow("xor"))
    with pytest.raises(tw.ModelFormatError, match=r"does not end with its checksum: it was cut short or edited\. Noth"):
        loads(text[:-30])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            dumps(tw.grow("xor")),
            r"not the text in it\. treewise\.formats\.model_file\S*\.loads\(text\) reads a saved one\.",
        ),
        ("x <= 1 -> a\nx > 1 -> b", r"not the text in it\. treewise\.parse\(text\) reads words\."),
        (5, r"load takes the name of a file, not 5\."),
        (None, r"load takes the name of a file, not None\."),
    ],
    ids=["saved", "words", "number", "none"],
)
def test_load_takes_a_file_and_is_reported(given, message):
    with pytest.raises(tw.ParameterError, match=message):
        tw.load(given)


def test_a_nul_in_a_path_is_a_clear_error(tmp_path):
    for call in (tw.load, tw.grow("penguins", max_depth=1).save):
        with pytest.raises(tw.TreewiseError, match="cannot be a path: it contains a NUL character"):
            call(str(tmp_path / "a\0b.json"))
