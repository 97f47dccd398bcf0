"""All results and texts the package can print, by name, for tests that check every output.

``RESULTS`` holds functions returning result objects, which ``renderings`` renders in every format; ``text_outputs``
yields the texts that have no result object. ``invariants/test_hostile_names.py`` fails for a result class missing here.
"""

import json

import numpy as np

import treewise as tw
from tests.support.ensembles import ensemble_of
from treewise.ensemble import OutOfBag
from treewise.evaluate import paths
from treewise.explain.exercise.marking import ClassMarks
from treewise.explain.trace.render import TRACE_FORMATS
from treewise.formats.export.export import FORMATS
from treewise.show.text_tree.text_tree import header, show_text


def boosted(tree, data):
    """Return a boosted ensemble for the same table."""
    return tw.adaboost(data, tree.target.name, 2, categorical="multiway")


def marked(tree, data):
    """Return the marks of answers that are the names of the table."""
    is_small = len(data) <= 40  # as much as a sheet holds
    sheet = tw.exercise(data, tree.target.name, level=2) if is_small else tw.exercise("admissions", level=2)
    return tw.check_answers(sheet, {blank.id: str(tree.columns[-1]) for blank in sheet.blanks})


def two_class_evaluation(tree, data):
    """Return an evaluation of two of the table's classes."""
    truth = np.asarray(data.to_polars()[tree.target.name].cast(str))
    rows = data.take(np.flatnonzero(np.isin(truth, [str(label) for label in tree.classes[-2:]])))
    return tw.grow(rows, tree.target.name, task="classification").evaluate(rows)


def edited(tree, data):
    """An editor that has pruned the root, for a reason with hostile text."""
    editor = tw.Editor(tree, data)
    editor.prune(0, reason="<b>too | many & rows</b> $_^")
    return editor


RESULTS = {
    "tree": lambda tree, data: tree,
    "draw": lambda tree, data: tree.draw(data=data),
    "evaluate": lambda tree, data: tree.evaluate(data),
    "threshold": lambda tree, data: two_class_evaluation(tree, data).choose_threshold(rate=0.5),
    "describe": lambda tree, data: tw.describe(data, tree.target.name),
    "evaluate_pair": lambda tree, data: tw.evaluate_pair(tree, tree.prune(max_depth=1), data),
    "monitor": lambda tree, data: tree.monitor(data),
    "check": lambda tree, data: tree.check(data),
    "paths": paths,
    "summary": lambda tree, data: tree.summary(),
    "candidates of an editor": lambda tree, data: tw.Editor(tree, data).candidates(0),
    "log of edits": lambda tree, data: edited(tree, data).log(),
    "replay": lambda tree, data: edited(tree, data).replay(data),
    "smallest": lambda tree, data: tw.smallest(data, tree.target.name, error=1.0),
    "alternatives": lambda tree, data: tw.optimal(data, tree.target.name, max_depth=1).alternatives(2),
    "optimal": lambda tree, data: tw.optimal(data, tree.target.name, max_depth=1),
    "sizes of optimal trees": lambda tree, data: (
        tw.optimal(data, tree.target.name, max_depth=1, pruning={"method": "cv", "folds": 2}).sizes
    ),
    "ensemble": lambda tree, data: ensemble_of([tree, tree.prune(max_depth=1)]),
    "ensemble.importances": lambda tree, data: ensemble_of([tree, tree.prune(max_depth=1)]).importances(),
    "ensemble.agreement": lambda tree, data: ensemble_of([tree, tree.prune(max_depth=1)]).agreement(data),
    "ensemble.shap": lambda tree, data: ensemble_of([tree]).shap(data.take(np.arange(2))),
    "ensemble.stages": lambda tree, data: ensemble_of([tree, tree.prune(max_depth=1)]).stages(data, test=data),
    "ensemble.explain": lambda tree, data: ensemble_of([tree]).explain(data.take(np.arange(1))),
    "ensemble.summary": lambda tree, data: ensemble_of([tree], oob=OutOfBag(0.5, 1, 2)).summary(),
    "cp_table": lambda tree, data: tree.cp_table,
    "rounds": lambda tree, data: boosted(tree, data).rounds,
    "worked_round": lambda tree, data: boosted(tree, data).worked_round(data, 1),
    "trace": lambda tree, data: tree.trace(data),
    "trace of a node": lambda tree, data: tree.trace(data)[0],
    "stump": lambda tree, data: tw.stump(data, tree.target.name),
    "explain": lambda tree, data: tree.explain(data.take(np.arange(2)))[0],
    "explain some rows": lambda tree, data: tree.explain(data.take(np.arange(2))),
    "shap": lambda tree, data: tree.shap(data.take(np.arange(2))),
    "rules": lambda tree, data: tree.rules(),
    "subgroups": lambda tree, data: tree.subgroups(data, test=data),
    "compare": lambda tree, data: tw.compare(tree, tree.prune(max_depth=1), data),
    "compare with itself": lambda tree, data: tw.compare(tree, tree),
    "stability": lambda tree, data: tw.stability(data, tree.target.name, resamples=3, max_depth=2),
    "importances": lambda tree, data: tree.importances(),
    "importances on a table": lambda tree, data: tree.importances(data, repeats=2),
    "curve": lambda tree, data: tw.curve(data, tree.target.name, folds=2),
    "distill": lambda tree, data: tw.distill(tree, data, folds=2, max_depth=1),
    "indicators": lambda tree, data: tw.indicators(data, tree.target.name),
    "worked_impurity": lambda tree, data: tw.worked_impurity([5, 2]),
    "joint": lambda tree, data: tw.joint([[1, 2], [3, 4]], names=(tree.target.name, tree.columns[0])),
    "huffman_code": lambda tree, data: tw.huffman_code(dict.fromkeys(tree.classes, 1)),
    "check_answers": marked,
    "check_answers of a class": lambda tree, data: ClassMarks((marked(tree, data),) * 2),
    "leaf_likelihoods": lambda tree, data: tree.leaf_likelihoods(data),
    "knn_curve": lambda tree, data: tw.knn_curve(data, tree.target.name, ks=[1], leaves=[2], folds=2),
    "knn_scaling": lambda tree, data: tw.knn_scaling(rows=[50], columns=[2]),
    "compare_models": lambda tree, data: tw.compare_models(data, tree.target.name, "majority", folds=2),
}


def text_outputs(tree, data):
    """Yield (name, format, text) for outputs that are plain text."""
    yield "print(tree)", "text", str(tree)
    yield "show", "text", show_text(tree, max_lines=60, width=80)
    yield "header", "text", header(tree)
    for form, each in FORMATS.items():
        if each.reads == "tree":  # what runs is parsed by its real parser: tests/unit/formats/test_export_names.py
            yield f"export {form}", "text", tree.export(form)
    yield "history", "text", str(tree.prune(max_depth=1).history[-1])
    traced = tree.trace(data)
    for form in TRACE_FORMATS:
        yield f"trace {form}", form, traced.render(form)
    is_small = len(data) <= 40  # as much as a sheet holds
    sheet = tw.exercise(data, tree.target.name, level=2) if is_small else tw.exercise("admissions", level=2)
    for form in ("markdown", "latex", "json"):  # the form: tests/browser
        yield f"exercise {form}", form, sheet.render(form)
    for form in ("text", "markdown", "latex"):
        yield f"exercise {form}", form, traced.render(form, blanks=True)


FORMS = {"text/plain": "text", "text/html": "html", "text/markdown": "markdown", "image/svg+xml": "html"}


def renderings(result):
    """Yield (format, text) of a result: str, repr, the notebook's MIME bundle, and CSV and JSON if available."""
    yield "text", str(result)
    yield "text", repr(result)
    for kind, text in result._repr_mimebundle_(include=None, exclude=None).items():
        yield FORMS[kind], text
    if hasattr(result, "to_csv"):
        yield "csv", result.to_csv()
        assert len(result.to_frame().columns) >= 1
    if hasattr(result, "to_dict"):
        yield "json", json.dumps(result.to_dict(), allow_nan=False)
