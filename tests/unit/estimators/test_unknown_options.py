"""Unknown parameters are named in the error, with a suggestion."""

import pytest

import treewise as tw


@pytest.mark.parametrize(
    "grown_by", [tw.grow, tw.candidates, tw.stump, tw.forest, tw.extra_trees, tw.bagging, tw.adaboost]
)
def test_a_misspelt_parameter_is_named_with_the_one_that_was_meant(grown_by):
    with pytest.raises(tw.ParameterError, match=r'^no option max_dept\. Did you mean "max_depth"\? Options: help\('):
        grown_by("admissions", max_dept=3)
    with pytest.raises(tw.ParameterError, match=r"^no option qqq\. Options: help\("):
        grown_by("admissions", qqq=3)


def test_an_option_of_another_function_is_not_suggested_to_itself():
    with pytest.raises(tw.ParameterError, match=r"^no option learning_rate\. Options: help\("):
        tw.forest("admissions", learning_rate=0.5)
