"""Errors as values: fields, rendering, pickling."""

import pickle

import pytest

import treewise as tw
from treewise.errors import Call, Given, Message, Param, PythonOnly, join_message


def test_an_error_has_fields():
    with pytest.raises(tw.ParameterError) as caught:
        tw.grow("penguins", criterion="entropie")
    error = caught.value
    assert (error.parameter, error.value) == ("criterion", "entropie")
    assert error.rule.startswith("must be one of entropy, gini")
    assert error.hint == 'Did you mean "entropy"?'
    assert str(error) == f'criterion="entropie": {error.rule} {error.hint}'


def test_a_data_error_names_its_cell():
    with pytest.raises(tw.DataError) as caught:
        tw.grow({"x": ["1"] * 40 + ["n=3"], "y": ["a", "b"] * 20 + ["a"]}, "y")
    assert (caught.value.column, caught.value.row) == ("x", 40)
    assert Param("na_values", ["n=3"]) in caught.value.message.parts


def test_messages_keep_their_references():
    message = "a " + Param("x", 1) + " b" + PythonOnly(", or None") + Call("tree.refit(data)")
    assert isinstance(message, Message)
    assert message == "a x=1 b, or Nonetree.refit(data)"
    assert message.render(lambda part: f"<{type(part).__name__}>") == "a <Param> b<PythonOnly><Call>"
    assert isinstance("prefix " + message, Message)
    assert join_message(", ", [Param("a"), Param("b", [2])]).parts == (Param("a"), ", ", Param("b", [2]))
    assert str(Param("kinds", {"GPA": "nominal"})) == 'kinds={"GPA": "nominal"}'


def test_errors_and_notes_can_be_pickled():
    error = tw.ParameterError("must be a number.", parameter="cost", value=lambda: 1, hint="Leave it out.")
    parsed = pickle.loads(pickle.dumps(error))
    assert type(parsed) is tw.ParameterError
    assert str(parsed) == str(error) == "cost=a function: must be a number. Leave it out."
    assert (parsed.parameter, parsed.rule, parsed.hint) == ("cost", "must be a number.", "Leave it out.")
    note = pickle.loads(pickle.dumps("leave it out: " + Param("ignore", ["id"])))
    assert note.parts == ("leave it out: ", Param("ignore", ["id"]))


def test_values_are_shortened_and_safe():
    assert len(str(Given("target", "x" * 1000))) < 80
    assert "\x1b" not in str(tw.ParameterError("no.", parameter="target", value="\x1b[31m"))
    assert "\x1b" not in str(tw.DataError("column \x1b[31m"))
