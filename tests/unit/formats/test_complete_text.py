"""The complete text format reads back as an equal tree, and can be edited."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings

import treewise as tw
from tests.support.handmade_trees import OFFICIALS, chain, trees
from treewise.errors import ParameterError, ParseError
from treewise.formats.export.export import FORMATS, export
from treewise.formats.text_format.parse import parse
from treewise.tree.splits import Multiway, Threshold
from treewise.tree.tree import Tree


@settings(max_examples=150, deadline=None)
@given(trees())
@example(chain(3))
def test_the_complete_form_gives_back_an_equal_tree(tree: Tree) -> None:
    text = export(tree)
    assert text.replace("\n", "").isprintable()
    back = parse(text)
    assert back == tree
    assert (back.history, back.notes) == (tree.history, tree.notes)
    assert [type(label) for label in back.classes] == [type(label) for label in tree.classes]
    assert export(back) == text


def test_a_chain_in_complete_form() -> None:
    tree = chain(2_000)
    text = export(tree)
    assert len(text) < 400 * len(tree)
    assert parse(text) == tree


def test_without_its_numbers_the_complete_form_is_a_tree_written_by_hand() -> None:
    bare = "\n".join(line.partition("  # {")[0] for line in export(parse(OFFICIALS)).split("\n") if line[:1] != "#")
    assert parse(bare) == parse(OFFICIALS)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("tree 1", "tree 99", "the text has format version 99; this treewise reads version 1"),
        ("GPA = 3.5  ", "GPA <= 3.5  ", r'line \d+: "GPA <= 3.5" '),
        ("→ P", "→ Q", r"line \d+: Q is not one of the declared classes: N, P"),
        ('"split": "multiway"', '"split": "thresh"', "line .* is damaged"),
        (
            '"split": "multiway"',
            '"split": "threshold"',
            r"line .* damaged \(this kind of split does not fit this kind of column",
        ),
        ('"missing": 0', '"missing": 77', r"line .* damaged \(missing values cannot take branch 77"),
        ('{"stop"', '{"stop', "line .* the part after # is damaged"),
        ('{"stop": "by_hand", "label": "P"}', "[1]", "line .* the part after # is damaged"),
        ('"label": "P"', '"label": "Q"', "line .* the part after # is damaged"),
        ('"stop": "by_hand"', '"rows": 1e400', "do not make a tree"),
        ("# target", "# targets", "at the top are damaged"),
    ],
)
def test_a_damaged_complete_form_is_refused(old: str, new: str, message: str) -> None:
    text = export(parse(OFFICIALS))
    assert old in text
    with pytest.raises(ParseError, match=message):
        parse(text.replace(old, new, 1))


def edit_words(text: str, old: str, new: str) -> str:
    """Edit what stands left of the numbers, as people do."""
    halves = [line.partition("  # {") for line in text.split("\n")]
    return "\n".join(words.replace(old, new) + mark + rest for words, mark, rest in halves)


def test_who_edits_the_words_gets_what_they_say() -> None:
    tree = tw.grow("penguins", max_leaf_nodes=4)
    back = parse(edit_words(export(tree), "206.5", "208.5"))
    assert back.split_at(0) == Threshold("flipper_length_mm", 208.5, missing=1)
    for inner in (1, 4):  # where missing values go without saying so is kept too
        assert back.split_at(inner) == tree.split_at(inner)
    assert (back.encodings, back.target) == (tree.stored_encodings, tree.target)
    assert back.arrays.rows.sum() == 0
    assert back.notes[-1].startswith("line 13 was edited: the text was read")
    assert back.history == (*tree.history, {"did": "edit"})
    assert parse(export(back)) == back


def test_an_edited_tree_of_numbers_keeps_the_digits_of_what_was_not_edited() -> None:
    data = {"x": [1.0, 2.0, 3.0, 4.0], "y": [1 / 3, 2 / 3, 10 / 3, 11 / 3]}
    tree = tw.grow(data, "y", task="regression")
    back = parse(edit_words(export(tree), "→ 3.6667", "→ 5"))
    assert back.predict({"x": [1, 2, 3, 4]}).tolist() == [1 / 3, 2 / 3, 10 / 3, 5.0]


def test_a_new_level_may_be_written_into_the_words() -> None:
    back = parse(edit_words(export(parse(OFFICIALS)), "GPA = 3.5", "GPA = 3.6"))
    assert back.split_at(0) == Multiway("GPA", ("4.0", "3.7", "3.6"))


def without_lines(text: str, *nodes: int) -> str:
    """Cut the lines of some nodes out of a complete form."""
    return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith(tuple(f"{n} " for n in nodes)))


def test_a_node_whose_branches_are_cut_out_predicts_what_it_would_have() -> None:
    tree = tw.grow("admissions", preset="id3")
    back = parse(without_lines(export(tree), 4, 5, 6))
    assert [back.prediction(n) for n in (1, 3, 4, 5)] == ["N", "N", "P", "P"]
    assert (back.split_at(0), back.split_at(2)) == (tree.split_at(0), tree.split_at(2))
    assert back.notes[-1].startswith("some lines were edited")
    assert (back.encodings, back.history) == (tree.stored_encodings, (*tree.history, {"did": "edit"}))
    assert back.refit("admissions")[3].counts == {"N": 2.0, "P": 1.0}
    assert (
        parse(without_lines(edit_words(export(tree), "Published = no", "Published = no → P"), 4, 5, 6))[3].prediction
        == "P"
    )
    numbers = tw.grow({"x": [1.0, 2.0, 3.0, 4.0], "y": [1 / 3, 2 / 3, 10 / 3, 11 / 3]}, "y", task="regression")
    assert parse(without_lines(export(numbers), 2, 3)).predict({"x": [1, 4]}).tolist() == [0.5, 11 / 3]


def test_one_of_several_branches_may_be_cut_out_and_one_may_be_added() -> None:
    text = export(parse(OFFICIALS))
    assert parse(without_lines(text, 13)).split_at(0) == Multiway("GPA", ("4.0", "3.7"))
    more = text.rstrip("\n").replace("└─ GPA", "├─ GPA") + "\n14  └─ GPA = 3.0  → N\n"
    assert parse(more).split_at(0) == Multiway("GPA", ("4.0", "3.7", "3.5", "3.0"))


def test_one_side_of_a_cut_alone_is_refused() -> None:
    with pytest.raises(ParseError, match=r'line 13: "flipper_length_mm <= 206.5" has no sibling'):
        parse(without_lines(export(tw.grow("penguins", max_depth=1)), 2))


def test_unknown_formats_are_named() -> None:
    known = re.escape(", ".join(FORMATS))
    with pytest.raises(ParameterError, match=rf'format="txt": must be one of {known}. Did you mean "text"\?'):
        export(parse(OFFICIALS), "txt")
