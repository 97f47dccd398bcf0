"""Run every example in docstrings, README and docs."""

import doctest
import functools
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import treewise

ROOT = Path(__file__).parents[2]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
MODULES = sorted(
    m.name for m in pkgutil.walk_packages(treewise.__path__, "treewise.") if not m.name.endswith(("__main__", "._core"))
)
OPTIONAL = {  # examples that need packages beyond those of treewise itself
    "treewise.formats.export.onnx": ("onnx", "onnxruntime"),
    "treewise.formats.export.xlsx": ("openpyxl",),
    "treewise.workbench.explore": ("anywidget",),
    "treewise.workbench.notebook": ("anywidget",),
    "workbench.md": ("anywidget",),
    "when-one-machine-is-not-enough.md": ("distributed",),
    "exchange-formats.md": ("onnx", "onnxruntime", "openpyxl"),
}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def skip_without(name):
    for package in OPTIONAL.get(name, ()):
        pytest.importorskip(package)


@pytest.mark.parametrize("name", ["treewise", *MODULES])
def test_docstrings(name):
    skip_without(name)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for example in docstring_examples(importlib.import_module(name)):
        runner.run(example)
    assert runner.summarize().failed == 0


def docstring_examples(module):
    """Find the examples of a module as ``doctest.testmod`` does, and those of cached properties, which it skips."""
    finder = doctest.DocTestFinder()
    yield from finder.find(module)
    for cls in vars(module).values():
        if inspect.isclass(cls) and cls.__module__ == module.__name__:
            for name, member in vars(cls).items():
                if isinstance(member, functools.cached_property):
                    yield from finder.find(member.func, f"{cls.__name__}.{name}", module)


def test_examples_of_cached_properties_are_found():
    import treewise.evaluate.results as module

    assert "ClassificationEvaluation.metrics" in [example.name for example in docstring_examples(module)]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_pages(page, monkeypatch, tmp_path):
    skip_without(page.name)
    monkeypatch.chdir(tmp_path)  # examples may write files
    assert doctest.testfile(str(page), module_relative=False, optionflags=FLAGS, encoding="utf-8").failed == 0
