"""Certificates of optimal trees: right ones are accepted, and no wrong statement is.

``TREEWISE_CERTIFICATES=20000`` is the long run: so many mutated files (default 3,000). ``TREEWISE_OPTIMAL_TABLES`` is a
folder of tables as in ``benchmarks/optimal.py``.
"""

import copy
import csv
import json
import math
import os
import random
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import treewise as tw
from tests.support.optimal_tables import random_options, random_table, specified
from treewise.train.grow import prepare
from treewise.train.optimal import check_certificate as checker_module
from treewise.train.optimal.certificate import certificate_of
from treewise.train.optimal.check_certificate import CertificateError, check
from treewise.train.optimal.optimal import solve
from treewise.train.optimal.problem import OptimalProblem, with_searchable_splits
from treewise.train.optimal.specification import find_best_tree

MUTATED = int(os.environ.get("TREEWISE_CERTIFICATES", "3000"))
TABLES = os.environ.get("TREEWISE_OPTIMAL_TABLES", "")
NAMED = ["used", "columns", "cost", "cost_unit", "range", "weights"]  # the answer names them
CLASS_OBJECTIVES = ["error", "error", "gini", "entropy"]


def random_problem(rng):
    """A small table of every kind of column, with limits, an objective, costs and weights."""
    table, task = random_table(rng)
    options = random_options(rng, task)
    objective = "cost" if "cost" in options else str(rng.choice(CLASS_OBJECTIVES))
    objective = "squared_error" if task == "regression" else objective
    training_set = with_searchable_splits(prepare(table, "y", **options))
    limits = int(rng.choice([1, 2, 3, 3, 4])), int(rng.choice([2, 3, 4, 8])), float(rng.choice([0, 0, 0.01, 0.2]))
    return table, OptimalProblem.of(training_set, objective, *limits)


def noisy_table(rng, n=60):
    """A table of numbers, with labels that need depth three: its proofs list cuts."""
    x = rng.integers(0, 12, (n, 3))
    y = (x[:, 0] > 5) ^ (x[:, 1] > 5) ^ (rng.random(n) < 0.3)
    return {f"x{i}": x[:, i].tolist() for i in range(3)} | {"y": [("no", "yes")[int(c)] for c in y]}


@pytest.mark.parametrize("seed", range(150))
def test_right_certificates_are_accepted(seed):
    rng = np.random.default_rng(seed)
    table, problem = random_problem(rng)
    result = solve(problem, n_jobs=1)
    found = check(json.loads(json.dumps(certificate_of(result))), table)
    assert found["is_proven"]
    off = 64e-9 if problem.objective == "entropy" else 0
    assert found["objective"] - off <= found["lower_bound"] <= found["objective"]
    assert found["objective"] == pytest.approx(result.objective, abs=1e-12)
    assert result.objective == pytest.approx(problem.value(specified(problem.training_set, problem)), abs=1e-12)


def least_cost(problem, depth, leaves, penalty):
    """The least cost by the specification, for integer limits that a mutated file may state."""
    n = len(problem.target)

    def cost(rows):
        return problem.leaf_cost(np.flatnonzero([rows >> row & 1 for row in range(n)]))

    tests = [
        sum(1 << row for row in range(n) if order[row] <= rank) for order in problem.ranks for rank in range(max(order))
    ]
    return find_best_tree(tests, cost, n, min(depth, 5), min(leaves, 32), penalty).cost


def mutate(rng, facts):
    """Change one thing in the statement or the proof, at any depth."""
    name = rng.choice(
        ["bound", "cost_of_tree", "tree", "proof", "proof", "max_depth", "max_leaf_nodes", "penalty", *NAMED]
    )
    holder, key = facts, name
    while isinstance(holder[key], (list, dict)) and holder[key] and rng.random() < 0.85:
        holder = holder[key]
        key = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
    old = holder[key]
    if isinstance(holder, list) and rng.random() < 0.3:
        del holder[key]
    elif isinstance(old, int):
        holder[key] = old + rng.choice([-1, 1, 1, 2, -3, 10, old, 1 << 40])
    else:
        holder[key] = rng.choice([0, None, [], ["like", 0], "x", math.nan, math.inf, -math.inf, {}])
    return name


def accepted(facts, table):
    try:
        return check(facts, table)
    except CertificateError:
        return None


def named(facts, table):
    """What the answer names beside the numbers: rows, weights, target, costs, columns and their tests."""
    conclusion = check(facts, table)["conclusion"]
    return re.findall(r" on \d+ of \d+ rows| with the weights .*?\)", conclusion), re.findall(
        r"\nTarget.*(?=\nTree)", conclusion, re.DOTALL
    )


def is_true(problem, facts):
    """Whether the statement of a mutated file is true, by the specification."""
    least = least_cost(problem, facts["max_depth"], facts["max_leaf_nodes"], facts["penalty"])
    slack = 1e-8 * len(problem.target) * problem.scale * 2**40 if problem.objective == "entropy" else 0
    return facts["bound"] <= least + slack and facts["cost_of_tree"] >= least - slack


def test_no_wrong_statement_is_accepted():
    """Thousands of mutated files: what is still accepted is true."""
    refused = 0
    for seed in range(MUTATED // 20):
        rng = np.random.default_rng(seed)
        table, problem = random_problem(rng)
        facts = certificate_of(solve(problem, n_jobs=1))
        random_state = random.Random(seed)
        for _ in range(20):
            mutated = copy.deepcopy(facts)
            mutate(random_state, mutated)
            if accepted(mutated, table) is None:
                refused += 1
            else:
                assert is_true(problem, mutated) or named(mutated, table) != named(facts, table), (seed, mutated)
    assert refused > MUTATED // 2


@pytest.mark.parametrize("seed", range(12))
def test_wrong_bounds_objectives_proofs_and_settings_are_refused(seed):
    """On proofs that list cuts, each kind of forgery by name."""
    rng = np.random.default_rng(seed)
    table = noisy_table(rng)
    result = tw.optimal(table, "y", max_depth=3, n_jobs=1)
    facts = certificate_of(result)
    assert check(facts, table)["is_proven"]
    forged = {
        "bound": {"bound": facts["bound"] + 1},
        "objective": {"cost_of_tree": facts["cost_of_tree"] - 1},
        "both": {"bound": facts["bound"] - 1, "cost_of_tree": facts["cost_of_tree"] - 1},
        "proof": {"proof": 0},
        "depth": {"max_depth": 2},
        "leaves": {"max_leaf_nodes": 3},
        "penalty": {"penalty": 1},
        "objective's name": {"objective": "gini"},
        "rows": {"rows": 59},
        "weights": {"weights": [3] * 60},
        "classes": {"classes": ["yes", "no"], "bound": facts["bound"] + 1},
        "tree": {"tree": facts["tree"][:-1]},
    }
    for name, change in forged.items():
        assert accepted(facts | change, table) is None, name
    for order, (_, _, entries) in enumerate(facts["proof"][2]):
        for number in range(len(entries)):
            pruned = copy.deepcopy(facts)
            del pruned["proof"][2][order][2][number]
            # A cut that another one closes too is not needed; without any, the column is open.
            if accepted(pruned, table) is not None:
                assert len(entries) > 1
    if any(entries for _, _, entries in facts["proof"][2]):
        assert accepted(facts | {"proof": [*facts["proof"][:2], []]}, table) is None


def restated(facts, table, **changes):
    """A certificate with other choices, whose tree is a leaf and whose bound is right for these choices."""
    facts = facts | changes | {"max_depth": 1, "max_leaf_nodes": 2, "tree": [[-1, -1]], "proof": 0}
    checker = checker_module.Checker(facts, table)
    rows = list(range(len(checker.vectors)))
    costs = [int(checker.stump(rows, leaves)) + checker.constant for leaves in (1, 2)]
    return facts | {"cost_of_tree": costs[0], "bound": costs[1]}


def shape_table():
    table = {"x": [3, 1, 2, 5, 4, 6, 8, 7], "city": list("abcdabcd"), "size": list("SMLSMLSM"), "y": list("ababbaab")}
    return table, {"kinds": {"size": ["S", "M", "L"]}, "max_depth": 1, "n_jobs": 1}


def changed(facts, number, **changes):
    columns = copy.deepcopy(facts["columns"])
    columns[number] |= changes
    return {"columns": columns}


def test_the_answer_names_what_a_certificate_leaves_out():
    table, options = shape_table()
    facts = certificate_of(tw.optimal(table, "y", **options))
    assert [column["name"] for column in facts["columns"]] == ["x", "city", "size"]
    honest = check(restated(facts, table), table)["conclusion"].splitlines()
    assert " on 8 of 8 rows, " in honest[0]
    assert honest[1:6] == [
        "Target: y (a, b)",
        "Tests:",
        "  cuts: x",
        "  any set of levels: city",
        "  cuts in the order S < M < L: size",
    ]
    narrowed = {
        " on 3 of 8 rows": {"used": [0, 1, 2], "rows": 3},
        "  cuts where 1, 2, 3 counts as missing (3 cells): x": changed(facts, 0, missing=["1", "2", "3"]),
        "  cuts in the order a < c < b < d: city": changed(facts, 1, tests="cuts", levels=list("acbd")),
        "  one level against the others: city": changed(facts, 1, tests="one_value"),
        "with the weights in the file (1 to 99)": {"weights": [99, *[1] * 7]},
        "Costs: all 0": {"objective": "cost", "cost": [0] * 4, "cost_unit": "7"},
        "Costs: a as b 0.5, b as a 1.5, all others 0": {"objective": "cost", "cost": [0, 1, 3, 0], "cost_unit": "2"},
        " on 1 columns has ": {"columns": facts["columns"][:1]},
    }
    for words, changes in narrowed.items():
        conclusion = check(restated(facts, table, **changes), table)["conclusion"]
        assert words in conclusion
        assert words not in "\n".join(honest)


def test_columns_are_distinct_and_not_the_target():
    table, options = shape_table()
    facts = certificate_of(tw.optimal(table, "y", **options))
    for name in ("size", "y"):
        columns = [*facts["columns"][1:], facts["columns"][1] | {"name": name, "levels": list("SMLab")}]
        with pytest.raises(CertificateError, match="listed twice, or is the target"):
            check(facts | {"columns": columns}, table)


def test_a_range_that_is_not_that_of_the_target_is_refused():
    table = {"x": [1, 2, 3, 4], "y": [0.0, 1.0, 5.0, 9.5]}
    facts = certificate_of(tw.optimal(table, "y", task="regression", max_depth=1, n_jobs=1))
    low, span, top = facts["range"]
    assert check(facts, table)["is_proven"]
    for wrong in ([0, 0, 0], [low, 0, 0], [low, span * 2, top], [low - 1, span, top], [low, span, float(top)]):
        with pytest.raises(CertificateError, match="wrong range"):
            check(facts | {"range": wrong, "tree": [[-1, -1]], "cost_of_tree": 0, "bound": 0, "proof": 0}, table)


def test_large_limits_and_many_sets_are_refused_at_once():
    table = noisy_table(np.random.default_rng(0))
    facts = certificate_of(tw.optimal(table, "y", max_depth=3, n_jobs=1))
    for depth, leaves in ((10**11, 10**30), (10**11, 1 << 40), (60, 1 << 59)):
        limits = {"max_depth": depth, "max_leaf_nodes": leaves}
        assert accepted(facts | limits | {"proof": ["cuts", [0, 0], []]}, table) is None
    many = {"x": [f"l{i}" for i in range(16)], "y": list("ab" * 8)}
    facts = certificate_of(tw.optimal(many, "y", max_depth=1, n_jobs=1))
    with pytest.raises(CertificateError, match="too many sets of levels"):
        check(facts | changed(facts, 0, tests="subset"), many)


def test_the_bound_of_entropy_allows_for_its_tolerance():
    """What is proven in doubles is less than stated by a tolerance a goal; sums of goals add them up."""
    table = noisy_table(np.random.default_rng(3), 40)
    facts = certificate_of(tw.optimal(table, "y", objective="entropy", max_depth=3, n_jobs=1))
    found = check(facts, table)
    assert facts["proof"][0] == "cuts"
    assert found["objective"] - found["lower_bound"] == pytest.approx(2e-9, rel=1e-3)
    assert "has a smaller one by more than 2e-09: checked." in found["conclusion"]
    assert accepted(facts | {"bound": facts["bound"] + 1}, table) is None
    facts = certificate_of(tw.optimal(table, "y", objective="entropy", max_depth=2, n_jobs=1))
    raised = check(facts | {"bound": facts["bound"] + 1}, table)  # within the tolerance, which is taken off again
    assert raised["lower_bound"] == check(facts, table)["lower_bound"] < raised["objective"]


def test_what_is_no_certificate_is_named():
    for other in ([], 3, None, "x", {}, {"certificate": "treewise 9"}):
        with pytest.raises(CertificateError, match="the file is no certificate of this kind"):
            check(other, {})


@pytest.mark.parametrize("seed", range(40))
def test_a_certificate_of_another_table_proves_nothing_wrong(seed):
    rng = np.random.default_rng(seed)
    table, problem = random_problem(rng)
    facts = certificate_of(solve(problem, n_jobs=1))
    row, other = int(rng.integers(len(table["y"]))), copy.deepcopy(table)
    other["y"][row] = rng.choice([cell for cell in sorted(set(table["y"])) if cell != table["y"][row]] or table["y"])
    if (found := accepted(facts, other)) is not None:
        own = objective_of(other, problem, facts)
        assert found["lower_bound"] <= own * (1 + 1e-8)
        assert own <= found["objective"] * (1 + 1e-8)


def objective_of(table, problem, facts):
    """The least objective of a changed table under the settings of a problem, by the specification."""
    if facts["range"] is None:
        codes = {name: i for i, name in enumerate(problem.training_set.target.classes)}
        target = [codes[cell] for cell in table["y"]]
    else:
        low, span, top = facts["range"]
        target = [round((cell - low) / span * top) for cell in table["y"]]
    changed = replace(problem, target=np.array(target, np.int64))
    return changed.value(specified(problem.training_set, changed))


def test_the_bound_of_a_stopped_search_is_checked_too():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 8)).round(1)
    table = {f"x{i}": x[:, i].tolist() for i in range(8)}
    table["y"] = (x[:, 0] * x[:, 1] + x[:, 2] * rng.normal(size=300) > 0).astype(int).tolist()
    result = tw.optimal(table, "y", max_depth=4, time_limit=0.1, n_jobs=1)
    assert result.status == "stopped"
    found = check(certificate_of(result), table)
    assert not found["is_proven"]
    assert found["lower_bound"] == pytest.approx(result.lower_bound)
    assert found["lower_bound"] < found["objective"] == pytest.approx(result.objective)


def test_the_checker_runs_alone(tmp_path):
    """Without treewise, and without any package of this environment."""
    table = noisy_table(np.random.default_rng(0))
    with open(tmp_path / "table.csv", "w", newline="") as file:
        csv.writer(file).writerows([list(table), *zip(*table.values(), strict=True)])
    tw.optimal(tmp_path / "table.csv", "y", max_depth=3).certificate(tmp_path / "proof.json")
    call = [sys.executable, "-I", "-S", checker_module.__file__, "proof.json", "table.csv"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "no tree of depth 3 on 3 columns has a smaller one: checked." in done.stdout
    text = (tmp_path / "table.csv").read_text()
    (tmp_path / "table.csv").write_text(text.replace("yes", "no", 1))
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Refused: ")


def test_the_lone_checker_says_what_is_wrong_with_its_files(tmp_path):
    table = noisy_table(np.random.default_rng(0))
    tw.optimal(table, "y", max_depth=1).certificate(tmp_path / "proof.json")
    rows = [",".join(map(str, row)) for row in [tuple(table), *zip(*table.values(), strict=True)]]

    def run_checker(*names):
        call = [sys.executable, "-I", "-S", checker_module.__file__, *names]
        done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr

    (tmp_path / "table.csv").write_text("\n".join([*rows, "", ""]))
    assert "has a smaller one: checked." in run_checker("proof.json", "table.csv")
    (tmp_path / "ragged.csv").write_text("\n".join([*rows, "1,2"]))
    assert "Refused: row 61 of ragged.csv has 2 cells for 4 columns." in run_checker("proof.json", "ragged.csv")
    (tmp_path / "twice.csv").write_text("\n".join(["x0,x1,x0,y", *rows[1:]]))
    assert "two columns of the same name" in run_checker("proof.json", "twice.csv")
    (tmp_path / "empty.csv").write_text("")
    assert "has no rows" in run_checker("proof.json", "empty.csv")
    assert "No such file" in run_checker("proof.json", "none.csv")
    assert "Refused: " in run_checker("table.csv", "table.csv")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    assert "Refused: " in run_checker("deep.json", "table.csv")
    assert run_checker("proof.json").startswith("usage: ")


def test_damaged_files_are_named(tmp_path, run):
    path = tmp_path / "proof.json"
    assert run(f"optimal penguins --target species --max-depth 2 --certificate {path}").code == 0
    assert (
        "no tree of depth 2 on 6 columns has a smaller one: checked." in run(f"check-certificate {path} penguins").out
    )
    other = run(f"check-certificate {path} admissions")
    assert other.code == 1
    assert "proves nothing about admissions: the table has no column" in other.out
    path.write_text(path.read_text()[:200])
    assert "is no certificate" in run(f"check-certificate {path} penguins").err
    with pytest.raises(tw.DataError, match="cannot be read"):
        tw.check_certificate(tmp_path / "none.json", "penguins")


@pytest.mark.skipif(not TABLES, reason="TREEWISE_OPTIMAL_TABLES names no folder")
@pytest.mark.parametrize(
    "name", ["continuous/bank", "binary/tic-tac-toe", "binary/german-credit", "continuous/bidding"]
)
def test_real_tables(name, tmp_path):
    path = Path(TABLES) / f"{name}.csv"
    tw.optimal(path, "y", max_depth=3, task="classification").certificate(tmp_path / "proof.json")
    assert tw.check_certificate(tmp_path / "proof.json", path).is_proven
    facts = json.loads((tmp_path / "proof.json").read_text())
    (tmp_path / "proof.json").write_text(json.dumps(facts | {"bound": facts["bound"] + 1}))
    assert not tw.check_certificate(tmp_path / "proof.json", path).ok
