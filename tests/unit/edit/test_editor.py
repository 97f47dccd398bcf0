"""The editor: random sequences of edits, against trees written from scratch; undo, replay, the log, and errors."""

import json
import os

import numpy as np
import pytest

import treewise as tw
from tests.support.random_problems import random_table
from treewise.edit.log import edit_steps, split_from_dict, split_to_dict
from treewise.errors import ColumnError, ModelFormatError, ParameterError, TreewiseError
from treewise.formats.model_file.header import read_history

LONG = 300 if os.environ.get("TREEWISE_LONG") else 12
VERBS = ("split", "split", "split_best", "prune", "merge", "relabel", "regrow", "lock", "unlock", "forbid", "first")


def random_editor(rng):
    while True:
        regression = bool(rng.random() < 0.3)
        data, n = random_table(rng, regression)
        if n < 8:
            continue
        data["y"] = [float(v) % 7 for v in data["y"]] if regression else data["y"]
        validation = {name: values[: n // 2] for name, values in data.items()}
        options = {"categorical": str(rng.choice(["subset", "multiway", "one_value"]))}
        options["missing"] = str(rng.choice(["learn", "branch"]))
        start = "y" if rng.random() < 0.6 else tw.grow(data, "y", max_depth=3, **options)
        try:
            return tw.Editor(start, data, validation=validation, **(options if start == "y" else {})), data
        except TreewiseError:
            continue


def random_edit(editor, rng):
    """Make one random edit; those that are refused say why."""
    tree, verb = editor.tree, str(rng.choice(VERBS))
    node = int(rng.integers(len(tree)))
    column = str(rng.choice(tree.columns))
    encoding = tree.encoding_of(column)
    reason = str(rng.choice(["", "because"]))
    missing = str(rng.choice(["yes", "no", "own"])) if rng.random() < 0.3 else None
    match verb:
        case "split" if encoding.kind == "number":
            editor.split(node, column, at=float(rng.normal()), missing=missing, reason=reason)
        case "split" if encoding.is_categorical and len(encoding.levels) > 1:
            levels = list(rng.choice(encoding.levels, int(rng.integers(1, len(encoding.levels))), replace=False))
            editor.split(node, column, values=levels, missing=missing, reason=reason)
        case "split" | "split_best":
            editor.split(node, column if rng.random() < 0.5 else None, reason=reason)
        case "prune":
            editor.prune(node, reason=reason)
        case "merge":
            leaves = [child for child in tree.children(node) if tree[child].is_leaf]
            editor.merge(leaves[:2], reason=reason)
        case "relabel":
            label = (
                float(rng.integers(5))
                if tree.task == "regression"
                else tree.classes[int(rng.integers(len(tree.classes)))]
            )
            editor.relabel(node, label, reason=reason)
        case "regrow":
            editor.regrow(node, max_depth=int(rng.integers(1, 3)), reason=reason)
        case "lock" | "unlock":
            getattr(editor, verb)(node if rng.random() < 0.5 else column, reason=reason)
        case "forbid" | "first":
            getattr(editor, verb)(column, reason=reason)


@pytest.mark.parametrize("seed", range(LONG))
def test_random_edits(seed, tmp_path):
    rng = np.random.default_rng(seed)
    editor, data = random_editor(rng)
    made, trees = 0, [editor.tree]
    for _ in range(14):
        before = editor.tree
        try:
            random_edit(editor, rng)
        except TreewiseError as error:
            assert str(error)
            assert editor.tree is before
            continue
        made += 1
        trees.append(editor.tree)
        check_statistics(editor, data)
    assert made
    for tree in reversed(trees[:-1]):  # undo and redo are the identity
        assert editor.undo() is tree
    for tree in trees[1:]:
        assert editor.redo() is tree
    result = editor.replay(data, validation={name: values[: len(values) // 2] for name, values in data.items()})
    assert [c for c in result.conflicts if not c.was_made] == []
    assert result.tree == editor.tree
    assert [s["what"] for s in edit_steps(result.tree)] == [s["what"] for s in edit_steps(editor.tree)]
    path = tmp_path / "model.json"
    editor.save(path)
    loaded = tw.load(path)
    assert loaded == editor.tree
    assert [dict(step) for step in loaded.history] == json.loads(json.dumps([dict(s) for s in editor.tree.history]))
    assert str(tw.Editor(loaded, data).log()) == str(editor.log())


def check_statistics(editor, data):
    """Every number of the tree is the one that a refit of its splits counts; relabelled leaves differ in the label."""
    tree = editor.tree
    refitted = tree.refit(data)
    for name in (
        "rows",
        "weight",
        "impurity",
        "gain",
        "count_class",
        "count_weight",
        "spread",
        "parent",
        "kind",
        "codes",
    ):
        np.testing.assert_array_equal(getattr(tree.arrays, name), getattr(refitted.arrays, name), name)
    own = set(editor._state.labels)
    answers = "value" if tree.task == "regression" else "label"
    for node in range(len(tree)):
        if tree.arrays.rows[node] and editor._state.ids[node] not in own:
            assert getattr(tree.arrays, answers)[node] == getattr(refitted.arrays, answers)[node]
    assert len(editor._state.ids) == len(set(editor._state.ids.tolist())) == len(tree)
    losses = editor.losses()
    predicted = tree.predict(data)
    if tree.task == "classification":
        assert losses.training.lost == sum(str(p) != y for p, y in zip(predicted, data["y"], strict=True))
        half = len(data["y"]) // 2
        assert losses.validation.lost == sum(
            str(p) != y for p, y in zip(predicted[:half], data["y"][:half], strict=True)
        )
    else:
        squares = [(p - y) ** 2 for p, y in zip(predicted, data["y"], strict=True)]
        assert losses.training.lost == pytest.approx(sum(squares), abs=1e-9)


@pytest.mark.parametrize("name", ["admissions", "penguins"])
def test_a_tree_grown_by_hand_is_the_tree_written_as_text(name):
    editor = tw.Editor(None, name)
    rng = np.random.default_rng(1)
    for _ in range(6):
        leaves = [n.id for n in editor.tree if n.is_leaf and len(n.counts) > 1]
        if not leaves:
            break
        editor.split(int(rng.choice(leaves)), reason="the best")
    target = editor.tree.target.name
    text = tw.parse(editor.tree.export("text"), target=target).refit(name)
    for array in ("rows", "weight", "impurity", "count_weight"):
        np.testing.assert_array_equal(getattr(text.arrays, array), getattr(editor.tree.arrays, array))
    assert [text.condition(n) for n in range(len(text))] == [editor.tree.condition(n) for n in range(len(text))]


def test_the_best_split_of_every_leaf_grows_the_tree_of_grow():
    grown = tw.grow("penguins", max_depth=3)
    editor = tw.Editor("species", "penguins")
    for depth in range(3):
        for leaf in sorted((n.id for n in editor.tree if n.is_leaf and n.depth == depth), reverse=True):
            if editor.best(leaf) is not None:
                editor.split(leaf)
    assert [editor.tree.condition(n) for n in range(len(editor.tree))] == [
        grown.condition(n) for n in range(len(grown))
    ]
    assert editor.regrow(0, max_depth=3).arrays.same_as(grown.arrays)


def test_regrowing_any_node_gives_its_subtree_again():
    options = {"min_samples_leaf": 3, "min_impurity_decrease": 0.005}
    tree = tw.grow("penguins", **options)
    editor = tw.Editor(tree, "penguins")
    for node in range(len(tree)):
        assert editor.regrow(node) == tree


def test_forced_splits_are_obeyed_and_raise_the_validation_error():
    data = tw.datasets.penguins()
    editor = tw.Editor("species", data, validation=0.4)
    editor.split(0)
    good = editor.losses()
    editor.split(0, "body_mass_g", at=3000, missing="no", reason="to see what it does")
    assert editor.tree.condition(1) == "body_mass_g <= 3000"
    assert editor.losses().validation.lost > good.validation.lost
    assert editor.tree.history[-1]["after"]["validation"][2] == editor.losses().validation.lost
    editor.undo()
    assert editor.losses() == good


def test_candidates_say_what_another_test_costs():
    editor = tw.Editor("Class", "admissions", preset="id3", validation="admissions")
    tests = editor.candidates(0)
    assert tests[0].column == "GPA" == editor.best(0).column
    for test in tests:
        after = tw.Editor("Class", "admissions", preset="id3").split(0, test.column)
        error = after.evaluate("admissions").error
        assert test.wrong == pytest.approx(12 * error)
        assert test.validation_wrong == test.wrong
        assert test.costs == test.wrong - tests[0].wrong
        assert test.gain == pytest.approx(after[0].gain)
    assert editor.candidates(0).of("GPA").points == ()
    assert len(tw.Editor("species", "penguins").candidates(0).of("body_mass_g").points) == 93


def test_locks_and_forbidden_columns():
    editor = tw.Editor(tw.grow("penguins", max_leaf_nodes=6), "penguins")
    editor.lock(1)
    for call in (
        lambda: editor.prune(0),
        lambda: editor.regrow(1),
        lambda: editor.split(2),
        lambda: editor.first("island"),
    ):
        with pytest.raises(ParameterError, match="lock"):
            call()
    assert editor.locked == (1,)
    with pytest.raises(ParameterError, match="node 1"):
        editor.forbid("flipper_length_mm")
    editor.unlock(1)
    editor.forbid("flipper_length_mm")
    assert "flipper_length_mm" not in {n.split.column for n in editor.tree if n.split}
    assert editor.candidates(0).of("flipper_length_mm") is None
    with pytest.raises(ParameterError, match="forbidden"):
        editor.split(0, "flipper_length_mm", at=200)
    editor.unlock("flipper_length_mm")
    assert editor.candidates(0).of("flipper_length_mm").rank == 1


def test_merging_levels_keeps_the_other_branches():
    editor = tw.Editor(tw.grow("admissions", preset="id3"), "admissions")
    before = editor.tree
    assert editor.merge([1, 8]).n_leaves == before.n_leaves - 1
    assert editor.tree.condition(1) == "GPA in {3.5, 4.0}"
    assert editor.tree[1].counts == {"N": 4, "P": 3}
    assert editor.tree.condition(2) == "GPA = 3.7 or missing"  # as before the edit
    assert editor.tree[2].split == before[2].split


def test_replay_on_other_rows_reports_what_does_not_fit():
    data = tw.datasets.penguins()
    editor = tw.Editor("species", data)
    editor.split(0, "island", values=["Dream"], reason="the ferry")
    editor.split(1, "body_mass_g", at=4000)
    editor.split(2, "flipper_length_mm", at=206)
    table = tw.read(data)
    without = table.take(np.flatnonzero(table["island"].values != table["island"].labels.index("Dream")))
    result = editor.replay(without)
    assert [(c.number, c.edit, c.was_made) for c in result.conflicts] == [(1, "split", True)]
    assert result.tree.n_leaves == 4
    smaller = tw.Editor("species", data)
    smaller.split(0, "island")
    smaller.regrow(1, max_depth=1)
    result = smaller.replay(without)
    assert "no conflicts" in str(result) or len(result.conflicts)


def test_replay_on_a_table_without_a_column():
    data = tw.read("penguins")
    editor = tw.Editor("species", data)
    editor.split(0, "flipper_length_mm", at=205)
    editor.split(1, "bill_length_mm")
    editor.forbid("sex")
    assert editor.replay(data.drop(["island", "sex"])).conflicts == ()  # no edit needs them
    result = editor.replay(data.drop(["bill_length_mm"]), validation=data.drop(["bill_length_mm"]))
    assert [(c.number, c.why, c.was_made) for c in result.conflicts] == [
        (2, "the table has no column bill_length_mm", False)
    ]
    assert result.tree.n_leaves == 2
    grown = tw.Editor(tw.grow("penguins", max_depth=1), data)
    grown.prune(0)
    with pytest.raises(tw.ColumnError, match="flipper_length_mm"):  # the first tree tests it
        grown.replay(data.drop(["flipper_length_mm"]))


def test_candidates_that_are_known_are_those_of_a_new_editor():
    editor = tw.Editor("species", "penguins", validation=0.3)
    editor.candidates(0), editor.split(0), editor.candidates(1), editor.split(1, "island"), editor.candidates(1)
    editor.forbid("bill_depth_mm"), editor.candidates(1), editor.lock("sex"), editor.undo()
    other = tw.Editor("species", "penguins", validation=0.3)
    other.split(0), other.split(1, "island"), other.forbid("bill_depth_mm")
    for node in range(len(editor.tree)):
        assert editor.candidates(node).to_text() == other.candidates(node).to_text()


def test_a_model_is_not_saved_as_a_picture(tmp_path):
    editor = tw.Editor("species", "penguins")
    for name in ("x.png", "x.svg", "x.pdf", "x.html"):
        with pytest.raises(ParameterError, match=r"x\.\w+ would be taken for another format"):
            editor.save(tmp_path / name)
        assert not (tmp_path / name).exists()


def test_regression_and_costs():
    editor = tw.Editor("body_mass_g", "penguins", drop_missing_target=True, validation=0.3)
    tests = editor.candidates(0)
    tree = editor.split(0, tests[0].column)
    assert tests[0].wrong == pytest.approx(float((tree.arrays.impurity * tree.arrays.weight)[1:].sum()))
    assert tests[0].validation_wrong == pytest.approx(editor.losses().validation.lost)
    editor.relabel(1, 3000.0, reason="a round number")
    assert editor.tree.predict({tests[0].column: None}) is not None
    assert editor.tree.prediction(1) == 3000.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.split(0, "GPAA"), 'no column "GPAA"'),
        (lambda e: e.split(9), "no node 9"),
        (lambda e: e.split(0, "GPA", at=3), "has no order"),
        (lambda e: e.split(0, "GPA", values=["3.6"]), '"3.6" is no level'),
        (lambda e: e.split(0, "GPA", values=["3.5", "3.7", "4.0"]), "not none and not all"),
        (lambda e: e.split(0, "GPA", at=3, values=["3.5"]), "either a threshold or levels"),
        (lambda e: e.split(0, "GPA", missing="left"), '"yes", "no" or "own"'),
        (lambda e: e.prune(0), "node 0 is a leaf already"),
        (lambda e: e.regrow(0, max_dept=2), 'no limit max_dept. Did you mean "max_depth"'),
        (lambda e: e.regrow(0, max_depth=-2), "max_depth"),
        (lambda e: e.relabel(0, "Q"), "is no class"),
        (lambda e: e.merge([0]), "not several leaves"),
        (lambda e: e.unlock(0), "node 0 is not locked"),
        (lambda e: e.unlock("GPA"), "neither locked nor forbidden"),
        (lambda e: e.undo(), "nothing to undo"),
        (lambda e: e.redo(), "nothing to redo"),
        (lambda e: e.split(0, reason=3), "reason=3: must be a text"),
        (lambda e: e.split(0, reason="x" * 10_001), "at most 10,000 characters"),
        (lambda e: e.split(0, reason="half a pair: \udc80"), "in valid Unicode"),
    ],
)
def test_errors_say_what_to_do(call, message):
    editor = tw.Editor("Class", "admissions", preset="id3")
    with pytest.raises((ParameterError, ColumnError), match=message.replace("[", r"\[")):
        call(editor)
    assert editor.tree is editor.start
    assert not editor.can_undo


def test_a_share_of_the_rows_is_held_out():
    editor = tw.Editor("species", "penguins", validation=0.25)
    losses = editor.losses()
    assert (losses.training.rows, losses.validation.rows) == (258, 86)
    with pytest.raises(ParameterError, match=r"validation=1\.5"):
        tw.Editor("species", "penguins", validation=1.5)


def test_splits_survive_the_log():
    editor = tw.Editor("species", "penguins")
    for node, column in ((0, "island"), (1, "sex"), (1, "bill_length_mm missing")):
        editor.split(node, column)
        split = editor.tree.split_at(node)
        assert split_from_dict(json.loads(json.dumps(split_to_dict(split)))) == split


@pytest.mark.parametrize(
    "damage",
    [
        {"edit": "explode"},
        {"reason": 7},
        {"reason": "x" * 100_001},
        {"path": [-1]},
        {"path": "0"},
        {"call": []},
        {"call": {}},
        {"call": {"split": {"kind": "threshold", "column": "x", "missing": 0}}},
        {"call": {"split": {"kind": "threshold", "column": "x", "missing": 0, "cut": "1"}}},
        {"call": {"split": {"kind": "lookup", "column": "x", "missing": 0}}},
        {"call": {"split": {"kind": "subset", "column": "x", "missing": 0, "levels": [1]}}},
        {"call": {"shell": "rm"}},
        {"before": {"training": [1, 2]}},
        {"after": {"test": [1, 2, 3]}},
        {"leaves": [1]},
        {"touched_after": {"training": [1, 2, "3"]}},
    ],
)
def test_hostile_logs_are_refused(damage, tmp_path):
    editor = tw.Editor("species", "penguins")
    editor.split(0, "flipper_length_mm", at=206)
    *steps, last = editor.tree.history
    history = json.loads(json.dumps([*map(dict, steps), {**last, **damage}]))
    with pytest.raises(ModelFormatError, match=r"history\[2\] is not a valid edit"):
        read_history(history, editor.tree.target)
    with pytest.raises(ModelFormatError, match="Nothing was saved"):
        editor.tree.with_(history=history).save(tmp_path / "m.json")
