"""Architecture rules: imports point downwards, heavy modules load only when used, the public names are pinned."""

import ast
import doctest
import inspect
import re
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import treewise

PACKAGE = Path(treewise.__file__).parent

# Bottom up. A module may import from lower layers and from its own.
LAYERS = [
    {"_version", "errors", "_lib"},
    {"data"},
    {"tree"},
    {"predict", "train"},
    {"sources"},
    {"formats.text_format", "show.text_tree", "show.palette", "show.node_stats"},
    {"prune"},
    {"ensemble", "formats.model_file"},
    {"evaluate"},
    {"explain"},
    {"formats", "show"},
    {"edit"},
    {"estimators"},
    {"web", "mlflow"},
    {"workbench"},
    {"cli", "__main__"},
]
# Files that import from a higher layer, inside functions only: methods of models and results (drawing, saving,
# explaining), `parse`, which recognises the complete text format, and `grow` and `fit_source`, which prune on request.
LATE_IMPORTS = {
    "_lib/result_table.py",
    "tree/tree.py",
    "tree/editable.py",
    "tree/flat_view.py",
    "tree/model.py",
    "train/grow.py",
    "train/edit.py",
    "train/optimal/optimal.py",
    "sources/fit.py",
    "formats/text_format/parse.py",
    "ensemble/model.py",
    "evaluate/importances.py",
    "evaluate/regression_results.py",
    "evaluate/results.py",
    "evaluate/baselines/knn_lesson.py",
    "evaluate/validation_curve/result.py",
    "explain/ensemble/stages.py",
    "explain/trace/nodes.py",
}
UNLAYERED = {"datasets", "_core", "__init__"}


def layer(name):
    """The layer of ``a.b.c``: that of ``a.b`` where it has one of its own, else that of ``a``."""
    parts = name.split(".")
    for prefix in (".".join(parts[:2]), parts[0]):
        for i, names in enumerate(LAYERS):
            if prefix in names:
                return i
    return None


def home(path):
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def imported(tree):
    """Names of our own modules imported at the top level of a file (not inside functions or TYPE_CHECKING)."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "treewise":
            parts = node.module.split(".")
            yield from [".".join(parts[1:])] if len(parts) > 1 else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from (a.name.removeprefix("treewise.") for a in node.names if a.name.startswith("treewise."))


def test_imports_point_one_way():
    for path in PACKAGE.rglob("*.py"):
        here = home(path)
        if here.split(".")[0] in UNLAYERED:
            continue
        assert layer(here) is not None, f"{path.name} has no layer"
        for other in imported(ast.parse(path.read_text(encoding="utf-8"))):
            if other.split(".")[0] in UNLAYERED:
                continue
            assert layer(other) is not None, f"{here} imports {other}, which has no layer"
            assert layer(other) <= layer(here), f"{here} imports {other}, which is in a higher layer"


def test_late_imports_point_upwards_only_where_listed():
    for path in PACKAGE.rglob("*.py"):
        here = home(path)
        if here.split(".")[0] in UNLAYERED or path.relative_to(PACKAGE).as_posix() in LATE_IMPORTS:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for other in imported(ast.Module([node], [])):
                assert other.split(".")[0] in UNLAYERED or layer(other) <= layer(here), (
                    f"{path.name} imports {other}, which is in a higher layer"
                )


def test_late_imports_are_needed():
    """No file is listed that does not import from a higher layer."""
    for name in LATE_IMPORTS:
        tree = ast.parse((PACKAGE / name).read_text(encoding="utf-8"))
        here = name.removesuffix(".py").replace("/", ".")
        others = [other for node in ast.walk(tree) for other in imported(ast.Module([node], []))]
        assert any(layer(other) > layer(here) for other in others if other.split(".")[0] not in UNLAYERED), name


def test_the_whole_package_is_for_the_command_line():
    """``import treewise`` reaches every layer, so below the command line it would defeat the check above."""
    for path in PACKAGE.rglob("*.py"):
        if home(path).split(".")[0] in ("cli", "__main__"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert "treewise" not in named, f"{path.name} imports the whole package"


def test_late_imports_are_listed_in_the_architecture():
    page = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    paragraph = re.search(r"^Late imports .*?(?=\n\n)", page, re.M | re.S)[0]
    assert set(re.findall(r"`([a-z_/]+\.py)`", paragraph)) == LATE_IMPORTS


def test_only_the_table_knows_dataframes():
    libraries = {"polars", "pandas", "narwhals", "pyarrow", "duckdb"}
    for path in PACKAGE.rglob("*.py"):
        names = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {a.name.split(".")[0] for a in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.split(".")[0])
        if path.parent.name == "engines" and path.parent.parent.name == "verify":
            names.discard("duckdb")  # an engine, which runs exports
        if home(path).split(".")[0] != "data":
            assert not names & libraries, f"{path.name} imports {names & libraries}"


def test_no_test_imports_another():
    """What tests share is in ``tests/support``: a test can be read, moved and deleted by itself."""
    tests = Path(__file__).parents[1]
    actual, n_imports = [], 0
    for path in sorted(tests.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                parent = ".".join(path.relative_to(tests.parent).parts[: -node.level]) if node.level else ""
                module = f"{parent}.{node.module or ''}".strip(".")
                names = [f"{module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            own = [name for name in names if name.startswith("tests.")]
            n_imports += len(own)
            shown = path.relative_to(tests).as_posix()
            actual += [f"{shown}: {name}" for name in own if re.search(r"\.test_\w+\.?", name)]
    assert n_imports > 300
    assert actual == []


def loaded(code):
    """Names of the top-level modules loaded after running some code in a new interpreter."""
    completed = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*{{m.split('.')[0] for m in sys.modules}})"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(completed.stdout.split())


def test_importing_treewise_is_light():
    heavy = {"numpy", "polars", "pandas", "narwhals", "pyarrow", "sklearn", "matplotlib", "rich", "click"}
    assert not loaded("import treewise") & heavy
    assert not loaded("import treewise as tw\ntw.entropy([3, 2])") & heavy


def test_growing_in_memory_needs_no_dataframe_library():
    code = "import treewise as tw, numpy as np\ntw.grow(np.eye(4), ['a', 'b', 'a', 'b']).predict(np.eye(4))"
    assert not loaded(code) & {"polars", "pandas", "pyarrow", "sklearn", "matplotlib", "click"}


def test_functions_win_over_modules_of_the_same_name():
    for code in (
        "import treewise.formats.text_format.parse",
        "import treewise.train.grow",
        "import treewise as tw; tw.candidates('food')",
    ):
        loaded(f"{code}\nimport treewise\nassert callable(treewise.grow) and callable(treewise.parse)")


def test_public_names_are_pinned():
    assert treewise.__all__ == [
        "__version__", "read", "datasets", "grow", "optimal", "smallest", "check_certificate", "candidates", "stump",
        "Editor", "explore", "lesson", "forest",
        "extra_trees", "bagging", "adaboost", "curve", "compare_models", "evaluate_pair", "knn_curve", "knn_scaling",
        "indicators",
        "describe", "distill", "compare", "stability", "draw_trees", "draw_points", "draw_regions", "draw_regions_grid",
        "draw_impurity", "draw_boosting_weights",
        "parse", "load", "verify_export", "from_sklearn", "from_lightgbm", "from_xgboost", "mlflow",
        "TreeClassifier", "TreeRegressor", "OptimalTreeClassifier", "OptimalTreeRegressor",
        "ForestClassifier", "ForestRegressor",
        "ExtraTreesClassifier", "ExtraTreesRegressor", "BaggingClassifier", "BaggingRegressor", "AdaBoostClassifier",
        "count_trees", "exercise", "check_answers", "worked_impurity", "joint", "huffman_code",
        "entropy", "gini", "conditional_entropy", "information_gain", "Table", "Encoding", "Tree", "Ensemble", "Node",
        "Threshold", "Ordinal", "OneValue", "Subset", "Multiway", "Presence", "TreewiseError", "DataError",
        "ColumnError", "ParameterError", "ParseError", "ModelFormatError",
    ]  # fmt: skip
    assert all(getattr(treewise, name) is not None for name in treewise.__all__)


def test_every_file_reports_what_it_is_and_none_is_long():
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert ast.get_docstring(ast.parse(text)), f"{path.name} has no docstring"
        assert len(text.splitlines()) <= 600, f"{path.name} is long"


def test_no_two_classes_share_a_name():
    """A name means one thing in the whole package, also where an underscore makes it private."""
    homes = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name.lstrip("_"), []).append(home(path))
    assert len(homes) > 300
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


# A variable says what it holds, not that somebody said, asked or found it.
VAGUE_NAMES = {"said", "says", "told", "asked", "gone", "held", "sealed", "heard", "meant", "made", "who", "thing"}
VAGUE_NAMES |= {"found", "wanted", "got", "taken", "room", "todo", "how", "mine", "here"}
VAGUE_NAMES |= {
    "place",
    "places",
    "weighed",
    "usual",
    "stated",
    "able",
}  # an index, a class, a branch, a line of a file?


def test_no_variable_has_a_vague_name():
    actual = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.arg):
                name = node.arg
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                name = node.id
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                name = node.attr
            else:
                continue
            if name in VAGUE_NAMES:
                actual.append(f"{home(path)} line {node.lineno}: {name}")
    assert actual == []


# Files that read ``history``: those that append a step, store it, or show it to people. Facts are in ``fit_info``.
READS_HISTORY = {
    "tree/model.py",
    "tree/display.py",
    "train/round_thresholds.py",
    "ensemble/model.py",
    "predict/costs.py",
    "prune/prune.py",
    "train/edit.py",
    "prune/optimal_size.py",
    "train/honest.py",
    "formats/model_file/model_file.py",
    "formats/export/text.py",
    "formats/importers/foreign_tree.py",
    "show/summary.py",
    "show/notebook.py",
    "show/report/sections.py",
    "cli/verbs/prune.py",
    "edit/edited_tree.py",  # the log
    "edit/editor.py",
    "edit/log.py",
    "edit/opening.py",
    "edit/state.py",
    "workbench/session.py",
}


def test_only_display_and_files_read_the_history():
    actual = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "history" and isinstance(node.ctx, ast.Load)
    }
    assert actual == READS_HISTORY


def public_things():
    """Every public function and class with its name, and every public member of a public class with the class."""
    for name in treewise.__all__:
        thing = getattr(treewise, name)
        if inspect.isclass(thing):
            yield name, thing, None
            for member, value in inspect.getmembers(thing):
                made_by = [c.__module__ for c in thing.__mro__ if member in vars(c)]
                ours = made_by and all(m.startswith("treewise") for m in made_by) and not member.endswith("_request")
                if ours and member[0] != "_" and (callable(value) or isinstance(value, (property, cached_property))):
                    yield f"{name}.{member}", value, thing
        elif callable(thing):
            yield name, thing, None


def examples_in(thing):
    return "".join(e.source for e in doctest.DocTestParser().get_examples(inspect.getdoc(thing) or ""))


def test_everything_public_is_documented_with_an_example():
    """In its own docstring; or, for a member, in the example of its class (``docs/test_doctests.py`` runs them)."""
    for name, thing, owner in public_things():
        if not inspect.isclass(thing) or owner is None:
            assert inspect.getdoc(thing), f"{name} has no docstring"
        shown = examples_in(thing)
        if owner is not None:
            beside = "".join(examples_in(c) for c in owner.__mro__ if c.__module__.startswith("treewise"))
            shown = shown or re.search(rf"\.{name.split('.')[1]}\b", beside)
        assert shown, f"{name} has no example"


def test_everything_public_is_typed():
    """mypy --strict checks the types; this, that no public function hides what it takes."""
    for name, thing, _ in public_things():
        made = getattr(thing, "func", None) or getattr(thing, "fget", None) or thing
        if inspect.isfunction(made):
            bare = [p.name for p in inspect.signature(made).parameters.values() if p.annotation is p.empty]
            assert set(bare) <= {"self", "cls"}, f"{name}: {bare}"
            assert inspect.signature(made).return_annotation is not inspect.Signature.empty, name
