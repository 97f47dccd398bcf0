"""``treewise evaluate``: metrics, bounds, thresholds and a second model."""

import json
from pathlib import Path

import pytest

import treewise as tw


@pytest.fixture
def two_models(run, tmp_path):
    """Two trees and the rows of other draws: a.json, b.json, new.csv."""
    run("grow noisy --max-depth 1 -q -o a.json")
    run("grow noisy --max-depth 4 -q -o b.json")
    tw.datasets.noisy(seed=1).to_polars().write_csv(tmp_path / "new.csv")
    return ["a.json", "b.json", "new.csv"]


def test_metrics_in_text_and_json(run, two_models):
    _, b, new = two_models
    result = run(f"evaluate {b} {new}")
    for title in ("balanced accuracy", "precision of 1", "F1 of 1", "AUC", "KS", "lift of the top 10 %", "Brier score"):
        assert title in result.out
    parsed = json.loads(run(f"evaluate {b} {new} --format json").out)
    assert parsed["auc_interval"][0] < parsed["auc"] < parsed["auc_interval"][1]
    assert [entry["class"] for entry in parsed["by_class"]] == parsed["classes"]


@pytest.mark.parametrize(("bound", "code"), [("auc=0.5", 0), ("auc=0.99", 1), ("recall=0.1", 0), ("f1=0.99", 1)])
def test_metrics_as_bounds(run, two_models, bound, code):
    _, b, new = two_models
    result = run(f"evaluate {b} {new} --fail-under {bound}")
    assert result.code == code
    assert (f"no: {bound.split('=')[0]} is" in result.err) == bool(code)


def test_a_threshold_is_printed_with_the_costs_that_apply_it(run, two_models):
    _, b, new = two_models
    result = run(f"evaluate {b} {new} --threshold precision=0.8")
    line = next(line for line in result.lines if "to predict by it" in line)
    cost = line.split("by it: cost ")[1]
    chosen = json.loads(run(f"evaluate {b} {new} --threshold precision=0.8 --format json").out)["threshold"]
    run(f"predict {b} {new} --cost {cost} -o out.csv")
    predicted = [line.split(",")[-1] for line in Path("out.csv").read_text(encoding="utf-8").split()[1:]]
    assert predicted.count("1") == chosen["counts"]["tp"] + chosen["counts"]["fp"]


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ("recal=0.8", '--threshold recal: no such goal. Did you mean "recall"?'),
        ("recall=3", "between 0 and 1"),
        ("precision=1", "no threshold reaches a precision of 1"),
    ],
)
def test_goals_that_cannot_be(run, two_models, goal, message):
    _, b, new = two_models
    result = run(f"evaluate {b} {new} --threshold {goal}")
    assert result.code == 2
    assert message in result.err


def test_against_another_model(run, two_models):
    a, b, new = two_models
    result = run(f"evaluate {a} {new} --against {b}")
    assert "b.json has the lower error; the interval of the difference does not hold 0" in result.out
    pair = json.loads(run(f"evaluate {a} {new} --against {b} --format json").out)["against"]
    assert pair["models"] == ["a.json", "b.json"]
    assert [entry["metric"] for entry in pair["metrics"]] == ["error", "log loss", "Brier score", "AUC"]


def test_a_threshold_of_numbers_is_refused(run):
    run("grow penguins --target body_mass_g --drop-missing-target --max-depth 2 -q -o m.json")
    result = run("evaluate m.json penguins --drop-missing-target --threshold recall=0.5")
    assert result.code == 2
    assert "--threshold is for classes" in result.err
