"""``treewise monitor``."""

import json

import treewise as tw


def test_the_verb(run, model):
    answer = run(f"monitor {model} penguins")
    assert answer.code == 0
    assert "No sign of a change: PSI 0.000" in answer.out
    head = tw.datasets.penguins().to_polars()[:150]
    head.write_csv("new.csv")
    answer = run(f"monitor {model} new.csv --fail-over 0.25 --format json")
    assert answer.code == 1
    assert "is larger than 0.25" in answer.err
    assert json.loads(answer.out)["verdict"] == "a large change"
