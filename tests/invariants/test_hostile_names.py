"""Names of columns, categories, classes and tables are printed as plain text in every output."""

import csv
import importlib
import io
import pkgutil
import shlex
from collections import Counter
from xml.etree import ElementTree

import numpy as np
import pytest

import treewise as tw
from tests.support.displayables import RESULTS, renderings, text_outputs
from tests.support.hostile_names import BATCHES, table
from tests.support.output_checks import CHECKS, check_csv, check_text
from tests.support.random_tables import LONG
from treewise._lib.result_table import Displayable
from treewise.cli.app import VERBS, app
from treewise.data.table import read
from treewise.explain.trace.render import TRACE_FORMATS
from treewise.formats.export.export import FORMATS
from treewise.formats.export.sql.dialects import DIALECTS
from treewise.tree.structure import TreeStructure
from treewise.tree.tree import Tree


def ids(names):
    return " ".join(name.encode("unicode_escape").decode()[:8] for name in names)


@pytest.fixture(scope="module", params=BATCHES, ids=ids)
def grown(request):
    cells, target = table(request.param)
    data = read(cells, name=target)
    return request.param, tw.grow(data, target, max_depth=3, categorical="multiway"), data


def test_results_in_every_form(grown):
    _, tree, data = grown
    for outlet, make in RESULTS.items():
        for form, text in renderings(make(tree, data)):
            try:
                CHECKS[form](text)
            except AssertionError as error:
                raise AssertionError(f"{outlet} as {form}: {error}") from error


def test_texts(grown):
    _, tree, data = grown
    for outlet, form, text in text_outputs(tree, data):
        try:
            CHECKS[form](text)
        except AssertionError as error:
            raise AssertionError(f"{outlet}: {error}") from error
    assert tw.parse(tree.export("text")) == tree


def test_data_hold_the_names_as_they_are(grown):
    names, tree, data = grown
    rows = check_csv(tree.evaluate(data).to_csv())
    assert {cell for row in rows[1:] for cell in row[:2]} <= set(names)
    assert set(tree.importances().to_frame()["column"].to_list()) == set(names)


def test_errors_say_names_safely(grown):
    names, tree, data = grown
    wrong = [
        lambda: tree.predict({"other": 1}),
        lambda: tree.predict({**dict.fromkeys(names), names[0]: f"{names[0]} ?"}),
        lambda: tw.grow(data, f"{names[0]} z"),
        lambda: tw.grow(data, tree.target.name, kinds={names[2]: "number"}),
        lambda: tree.with_cost({f"{names[3]}?": {names[0]: 2}}),
    ]
    for call in wrong:
        with pytest.raises(tw.TreewiseError) as error:
            call()
        check_text(str(error.value))


# -- the command line ---------------------------------------------------------------------------------------

COMMANDS = {
    "demo": [],  # has no names but its own
    "completion": [],  # likewise
    "data": [],
    "grow": ["grow {data} --target {target} --max-depth 3", "grow {data} --target {target} -o again.json"],
    "prune": ["prune m.json --max-depth 1", "prune m.json --cp-table", "prune m.json --max-depth 1 --format json"],
    "show": [
        "show m.json",
        "show m.json --summary",
        "show m.json --format json",
        "show m.json --summary --format json",
    ],
    "draw": ["draw m.json -o tree.svg"],
    "report": [
        "report m.json {data} -o report.html --rows all"
    ],  # tests/unit/show/test_report.py and tests/browser look inside
    "trace": [f"trace m.json {{data}} --format {form}" for form in TRACE_FORMATS],
    "exercise": [  # the form: tests/browser
        f"exercise {{data}} --target {{target}} --format {form}" for form in ("markdown", "latex", "json")
    ],
    "check": [
        "exercise {data} --target {target} -o sheet.json",
        *(f"check sheet.json answers.txt --format {form}" for form in ("text", "markdown", "csv", "json", "html")),
    ],
    "explain": [f"explain m.json {{data}} --rows 1,2 --format {form}" for form in ("text", "markdown", "csv", "json")],
    "predict": [f"predict m.json {{data}} --proba --format {form}" for form in ("csv", "json", "text")],
    "evaluate": ["evaluate m.json {data} --paths --check", "evaluate m.json {data} --paths --check --format json"],
    "rules": [f"rules m.json --format {form}" for form in ("text", "markdown", "csv", "json", "html")],
    "subgroups": [f"subgroups m.json {{data}} --all --format {form}" for form in ("text", "markdown", "csv", "json")],
    "compare": [f"compare m.json m.json --data {{data}} --format {form}" for form in ("text", "markdown", "json")],
    "monitor": ["monitor m.json {data}"],
    "serve": [],  # its answers are JSON
    "explore": [],  # a page: tests/unit/workbench has hostile names
    "stability": ["stability {data} --target {target} --resamples 2 --max-depth 2"],
    "regions": [],  # a picture: matplotlib's text, which tests/draw holds to be text
    "importance": [f"importance m.json --format {form}" for form in ("text", "markdown", "csv", "json", "html")],
    "refit": ["refit m.json {data}"],
    "export": [f"export m.json --format {form}" for form, each in FORMATS.items() if each.reads == "tree"],
    "verify": ["export m.json -o m.py", "verify m.json m.py {data} --rows 20"],
    "optimal": ["optimal {data} --target {target} --max-depth 1 --alternatives 2"],
    "check-certificate": [
        "optimal {data} --target {target} --max-depth 1 --certificate proof.json",
        "check-certificate proof.json {data}",
    ],
    "stump": ["stump {data} --target {target}", "stump {data} --target {target} --format csv"],
    "distill": ["distill m.json {data} --max-depth 2 --folds 2"],
    "extend": ["extend many.json {data} --trees 1 -o more.json"],
    "agreement": [f"agreement many.json {{data}} --format {form}" for form in ("text", "markdown", "csv", "json")],
    "stages": ["stages many.json {data}", "stages many.json {data} --format csv"],
    "curve": ["curve {data} --target {target} --folds 2", "curve {data} --target {target} --folds 2 --format csv"],
}


def form_of(command):
    words = shlex.split(command)
    return words[words.index("--format") + 1] if "--format" in words else "text"


@pytest.mark.parametrize("names", BATCHES, ids=ids)
def test_verbs(names, run, tmp_path):
    names = [name.replace("\0", "0") for name in names]  # no file has such a cell
    cells, target = table(names)
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([list(cells), *zip(*cells.values(), strict=True)])
    data = "".join(name.replace("/", "")[:12] for name in names) + ".csv"
    tmp_path.joinpath(data).write_text(out.getvalue(), encoding="utf-8", newline="")
    quoted = {"data": shlex.quote(f"./{data}"), "target": shlex.quote(target)}
    grow = f"grow {quoted['data']} --target {quoted['target']} --max-depth 3"
    assert run(f"{grow} -o m.json").code == 0
    assert run(f"{grow} --ensemble forest --n-estimators 2 -o many.json").code == 0
    (tmp_path / "answers.txt").write_text("1 = 0.97\n2 = <b>\n")
    for commands in COMMANDS.values():
        for command in commands:
            result = run(command.format(**quoted))
            assert result.code == 0, (command, result)
            check_text(result.err)
            form = "text" if command.startswith("export") else form_of(command)
            CHECKS[form](result.out.removesuffix("\n") if form == "text" else result.out)


def long_attempts(target):
    """Yield command lines with long names in every place, most of them wrong, and of files that do not exist."""
    word = "w" * 3000
    seen = set()
    for verb, commands in COMMANDS.items():
        for command in commands[:1]:
            line = command.format(data="t.csv", target=target)
            yield line
            for data in ("other.csv", "cells.csv", f"{word}.csv"):
                yield command.format(data=data, target=target)
            yield command.format(data="t.csv", target=word)
            yield from (line.replace(model, word) for model in ("m.json", "many.json"))
            yield from (f"{line} {end}" for end in (word, f"--{word}", f"-o {word}/x.json", f"-o {word}.json"))
            for option in {name for each in app.get_command(None, verb).params for name in each.opts[:1]}:
                if option.startswith("--") and option not in seen:
                    yield f"{line} {option} {word}"
                    yield f"{line} {option} {'n' * 3000}={word}"
                    seen |= set() if LONG else {option}
    yield from (word, f"demo {word}", f"regions {word} t.csv", f"regions m.json {word}")


def test_remarks_and_errors_stay_short(run, tmp_path):
    """On the command line of every verb, whatever they quote; a full line of a terminal has about 100 characters."""
    names = [letter * 3000 for letter in "nmt"]
    rows = [[i % 4, "uvwu"[i % 4] * 3000, "qpqr"[i % 4] * 3000] for i in range(24)]
    for name, cells in (("t", rows), ("cells", [[letter * 3000 for letter in "xyz"]] * 3)):
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([names, *cells])
    (tmp_path / "other.csv").write_text("other\n1\n")
    (tmp_path / "answers.txt").write_text("1 = 0.97\n")
    assert run(f"grow t.csv --target {names[2]} -o m.json").code == 0
    assert run(f"grow t.csv --target {names[2]} --ensemble forest --n-estimators 2 -o many.json").code == 0
    codes = Counter()
    for line in long_attempts(names[2]):
        result = run(line)
        codes[result.code] += 1
        assert result.code in (0, 1, 2, 3, 4), (line[-3100:], result.err[:500])
        assert all(len(each) < 1000 for each in result.err.splitlines()), (line[:200], result.err[:500])
        assert "wwwwwwwwww" * 7 not in result.err
    assert min(codes[0], codes[2], codes[3], codes[4]) > 5


# -- nothing is forgotten -----------------------------------------------------------------------------------


def test_every_verb_is_here():
    assert set(COMMANDS) == set(VERBS)


def all_results(of=Displayable):
    for kind in of.__subclasses__():
        yield kind
        yield from all_results(kind)


def test_every_result_is_here():
    for found in pkgutil.walk_packages(tw.__path__, "treewise."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    cells, target = table(["a", "b", "c", "d"])
    data = read(cells)
    tree = tw.grow(data, target)
    tested = {type(make(tree, data)) for make in RESULTS.values()}
    known = {"Evaluation", "RegressionEvaluation"}  # the idea of one, and that of numbers, whose names are tested here
    missing = {
        k.__name__
        for k in all_results()
        if k.__module__.startswith("treewise.") and k.__name__[0] != "_" and k not in tested
    } - known
    assert not missing, f"add them to tests/support/displayables.py: {missing}"


def test_every_public_method_of_a_tree_is_thought_of():
    shown = {"evaluate", "check", "trace", "summary", "cp_table", "rules", "importances", "show", "export", "draw"}
    shown |= {"subgroups", "draw_regions", "explain", "shap", "report", "leaf_likelihoods", "stability", "monitor"}
    silent = {
        *(
            "encode",
            "leaves",
            "answers",
            "predictor",
            "used_columns",
            "where_used",
            "split_counts",
            "impurity_decreases",
        ),
        *("votes", "trees", "baseline", "fit_info", "with_", "classes", "task", "columns", "na_values"),
        *(
            "predict",
            "predict_proba",
            "predict_batches",
            "predict_interval",
            "predict_quantiles",
            "interval",
            "cost",
            "with_cost",
            "apply",
        ),
        *("log_likelihood", "split", "with_split", "rows", "refit", "prune", "steps", "save", "to_frame"),
        *("score", "with_display", "displayed", "round_thresholds"),
        "stored_encodings",
        # numbers alone, under scikit-learn's names: tree/flat_view.py
        *("children_left", "children_right", "feature", "threshold", "missing_go_to_left", "value", "impurity"),
        *("n_node_samples", "weighted_n_node_samples", "node_count", "max_depth", "n_features", "n_outputs"),
        *("n_classes", "max_n_classes", "to_sklearn"),
        "draw_steps",  # its page with hostile names: tests/unit/show/test_slides.py
    }
    own = {name for name in set(dir(Tree)) - set(vars(TreeStructure)) if not name.startswith("_")}
    assert own <= shown | silent, f"does it print names? {own - shown - silent}"


@pytest.mark.parametrize("part", ["name", "label", "level"])
@pytest.mark.parametrize("ending", ["", "\0", "\r", "${x}", "\U0010ffff", "*/"], ids=ascii)
def test_exports_refuse_long_names_in_short_messages(part, ending):
    long = "n" * 3000 + ending
    when = np.array(["0001-01-01", "2020-01-01", "2021-01-01", "2022-01-01"], "M8[D]")
    name = long if part == "name" else "x"
    for values in (when, [2**60, 2**60 + 1, 2**60 + 2, 5], [long if part == "level" else "b", "a", "a", "a"]):
        tree = tw.grow({name: values, "y": [long if part == "label" else "q", "p", "p", "p"]}, "y", selection="gain")
        for format in FORMATS:
            for options in [{"dialect": dialect} for dialect in DIALECTS] if format == "sql" else [{}]:
                try:
                    tree.export(format, **options)
                except tw.TreewiseError as error:
                    assert len(str(error)) < 500, (format, options)


@pytest.mark.parametrize("names", BATCHES, ids=ids)
def test_units_are_text(names):
    for unit in names:
        tree = tw.grow({"x": [1, 2, 3, 4], "y": list("aabb")}, "y", units={"x": unit})
        check_text(str(tree))
        ElementTree.fromstring(tree.draw().svg)
