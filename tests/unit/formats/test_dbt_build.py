"""The dbt package in a project, built by dbt itself: in .ci/nightly, where TREEWISE_DBT names the program."""

import os
import subprocess

import pytest

import treewise as tw

DBT = os.environ.get("TREEWISE_DBT")
pytestmark = pytest.mark.skipif(not DBT, reason="TREEWISE_DBT names no dbt")
PROFILE = """
shop:
  target: test
  outputs:
    test:
      type: duckdb
      path: shop.duckdb
"""
MODELS = {
    "labels": ("penguins", lambda: tw.grow("penguins", max_leaf_nodes=6, random_state=0)),
    "values": ("penguins", lambda: tw.grow("penguins", "body_mass_g", max_depth=4, drop_missing_target=True)),
    "multiway": ("admissions", lambda: tw.grow("admissions", preset="id3")),
}


def build(folder, tree, data):
    """Write a project with the package and the rows as a seed, and build it."""
    for path, text in tree.export("dbt", name="scores", dialect="duckdb").items():
        (folder / "scores" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "scores" / path).write_text(text, encoding="utf-8")
    (folder / "seeds").mkdir()
    data.to_pandas().assign(row=range(len(data))).to_csv(folder / "seeds" / "data.csv", index=False)
    (folder / "dbt_project.yml").write_text("name: shop\nversion: 1.0.0\nconfig-version: 2\nprofile: shop\n")
    (folder / "packages.yml").write_text("packages:\n  - local: scores\n")
    (folder / "profiles.yml").write_text(PROFILE)
    done = []
    for verb in ("deps", "build"):
        command = [DBT, "--no-send-anonymous-usage-stats", "--no-use-colors", verb, "--profiles-dir", "."]
        done.append(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False))
    return done[-1]


@pytest.mark.parametrize("name", MODELS)
def test_a_project_is_built_and_predicts_as_the_tree(tmp_path, name):
    duckdb = pytest.importorskip("duckdb")
    table, make = MODELS[name]
    data, tree = tw.read(table), make()
    done = build(tmp_path, tree, data)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "ERROR=0" in done.stdout
    assert "PASS scores_boundaries" in done.stdout
    assert "DeprecationsSummary" not in done.stdout
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        actual = connection.execute("SELECT prediction, leaf FROM scores_scores ORDER BY row").fetchall()
    assert actual == list(zip(tree.predict(data).tolist(), tree.apply(data).tolist(), strict=True))


def test_a_wrong_package_fails(tmp_path):
    tree = tw.parse("GPA <= 3.5 -> a\nGPA > 3.5 -> b")
    data = tw.read({"GPA": [3.0, 4.0]})
    assert build(tmp_path, tree, data).returncode == 0
    macros = tmp_path / "scores" / "macros" / "scores.sql"
    macros.write_text(macros.read_text().replace("3.5e0", "3.6e0"))
    command = [DBT, "--no-send-anonymous-usage-stats", "--no-use-colors", "build", "--profiles-dir", "."]
    completed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "FAIL" in completed.stdout
    assert completed.returncode == 1
