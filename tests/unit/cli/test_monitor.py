"""``treewise monitor``."""

import json

import treewise as tw


def test_the_verb(run, model):
    result = run(f"monitor {model} penguins")
    assert result.code == 0
    assert "No sign of a change: PSI 0.000" in result.out
    head = tw.datasets.penguins().to_polars()[:150]
    head.write_csv("new.csv")
    result = run(f"monitor {model} new.csv --fail-over 0.25 --format json")
    assert result.code == 1
    assert "is larger than 0.25" in result.err
    assert json.loads(result.out)["verdict"] == "a large change"


def test_a_bound_that_nothing_exceeds_is_refused(run, model):
    for bound in ("nan", "-1"):
        refused = run(f"monitor {model} penguins --fail-over {bound}")
        assert (refused.code, "--fail-over" in refused.err, refused.out) == (2, True, "")
