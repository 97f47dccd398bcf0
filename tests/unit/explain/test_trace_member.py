"""The trace of a member states which rows and weights it uses."""

import pytest

import treewise as tw


@pytest.mark.parametrize(
    ("grow", "options", "how"),
    [
        ("forest", {}, "on a sample of the rows, with columns sampled at each node"),
        ("forest", {"bootstrap": False}, "with columns sampled at each node"),
        ("extra_trees", {"max_features": 1.0}, "with random splits"),
        ("bagging", {}, "on a sample of the rows"),
        ("bagging", {"bootstrap": False, "max_samples": 0.5}, "on a sample of the rows"),
        ("bagging", {"bootstrap": False, "max_features": 0.5}, "on sampled columns"),
        ("adaboost", {}, "on the weights of its round"),
        ("adaboost", {"resample": True}, "on rows sampled in its round"),
    ],
)
def test_a_tree_of_many_says_that_it_was_grown_on_something_else(grow, options, how):
    trace = getattr(tw, grow)("penguins", n_estimators=2, **options)[1].trace("penguins", node=0)
    note = f"counted on all rows of penguins; this tree was grown {how}, so another test may be best here"
    assert trace.notes == (note,)
    assert f"note {note}" in " ".join(str(trace).split())


def test_a_tree_of_many_that_saw_what_the_trace_sees_says_nothing():
    assert tw.bagging("penguins", n_estimators=2, bootstrap=False)[1].trace("penguins").notes == ()
    assert tw.grow("penguins").trace("penguins").notes == ()
