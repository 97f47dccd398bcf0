"""Separate processes with different hash seeds produce the same bytes: models, texts, pictures, reports and exports.

``outputs`` runs in a process of its own for each seed and prints a checksum of everything. ``TREEWISE_LONG=1`` tries
twelve seeds instead of three.
"""

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path

from tests.support.subprocesses import start_function

SEEDS = range(12) if os.environ.get("TREEWISE_LONG") else range(3)


def make_outputs(folder):
    """Yield names and contents of what treewise writes, for a tree, regression and ensembles."""
    import treewise as tw
    from tests.support.displayables import RESULTS, renderings, text_outputs
    from tests.support.hostile_names import BATCHES, table
    from treewise.data.table import read
    from treewise.formats.model_file.model_file import dumps

    penguins = tw.datasets.penguins()
    tree = tw.grow(penguins, "species", max_depth=4, class_weight="balanced")
    numbers = tw.grow(penguins, "body_mass_g", drop_missing_target=True, max_depth=3, categorical="multiway")
    forest = tw.forest(penguins, "species", 10, oob_score=True)
    boosted = tw.adaboost(penguins, "species", 5, max_depth=2)
    for name, model in {"tree": tree, "numbers": numbers, "forest": forest, "boosted": boosted}.items():
        yield f"{name}, model file", dumps(model)
        yield f"{name}, text", str(model)
        yield f"{name}, predictions", model.predict(penguins).tolist()
    cells, target = table(BATCHES[0])
    data = read(cells, name=target)
    small = tw.grow(data, target, max_depth=3, categorical="multiway")
    for outlet, make in RESULTS.items():
        if outlet in ("compare_models", "knn_scaling"):  # show how long each took
            continue
        for i, (form, text) in enumerate(renderings(make(small, data))):
            yield f"{outlet} as {form} {i}", text
    for outlet, form, text in text_outputs(small, data):
        yield f"{outlet} as {form}", text
    for suffix in ("svg", "pdf", "png"):
        tree.draw().save(Path(folder) / f"tree.{suffix}")
        yield f"picture as {suffix}", (Path(folder) / f"tree.{suffix}").read_bytes()
    tree.report(Path(folder) / "report.html", penguins, rows="all")
    yield "report", (Path(folder) / "report.html").read_text(encoding="utf-8")


def outputs():
    """Print a checksum of each output."""
    actual = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, content in make_outputs(folder):
            data = content if isinstance(content, bytes) else str(content).encode()
            actual[name] = hashlib.sha256(data).hexdigest()
    print(json.dumps(actual))


def test_hash_seeds_and_processes_change_no_byte():
    results = []
    for seed in SEEDS:
        with start_function(__file__, "outputs", env={**os.environ, "PYTHONHASHSEED": str(seed)}) as process:
            out, _ = process.communicate(timeout=600)
        assert process.returncode == 0
        results.append(json.loads(out))
    assert len(results[0]) > 40
    differing = sorted({name for result in results for name in result if result[name] != results[0][name]})
    assert differing == []
    assert all(result.keys() == results[0].keys() for result in results)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
