"""``treewise stump``: all candidates for the first split, ranked."""

import csv
import io
import json

import treewise as tw


def test_every_test_is_ranked_and_what_was_understood_is_reported(run):
    result = run("stump four_points")
    assert result.out == f"{tw.stump('four_points')}\n"
    assert result.lines[3].split() == ["1", "x1", "<=", "0.5", "0.3113", "[1", "1]", "[2", "0]", "◄", "best"]
    assert result.err.splitlines() == [
        "four_points   4 rows · 2 columns: 2 numbers",
        "task  classification of y: 0 (3), 1 (1) · positive class: 1",
        "",
    ]
    assert run("stump four_points -q").err == ""


def test_the_first_few_are_shown_and_data_holds_all(run):
    result = run("stump penguins --top 2 -q")
    assert [line.split()[0] for line in result.lines[3:6]] == ["rank", "1", "2"]
    assert "… 786 more candidates" in result.lines
    rows = list(csv.DictReader(io.StringIO(run("stump penguins --top 2 -q --format csv").out)))
    assert len(rows) == 788
    assert rows[0]["column"] == "flipper_length_mm"


def test_a_pipe_gets_the_best_splits_and_all_on_request(run):
    result = run("stump penguins -q")
    assert "… 768 more candidates: --all" in result.lines
    assert len(run("stump penguins -q --all").lines) > 788


def test_options_of_growing_and_units_are_passed_on(run):
    message = json.loads(run("stump penguins --criterion gini --per total --columns island,sex --format json -q").out)
    assert (message["criterion"], message["per"], {row["column"] for row in message["candidates"]}) == (
        "gini",
        "total",
        {"island", "sex"},
    )
    assert run("stump four_points --unit nats -q").out == f"{tw.stump('four_points', unit='nats')}\n"


def test_a_stump_has_no_depth(run):
    for words in ("--max-depth 2", "--pruning cv", "--max-leaf-nodes 3"):
        result = run(f"stump penguins {words}")
        assert result.code == 2
        assert words.split()[0] in result.err
