"""CONTRIBUTING.md and ARCHITECTURE.md match the code: the names exist, and the diffs apply and work."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PAGES = ["CONTRIBUTING.md", "ARCHITECTURE.md"]
PARTS = ("", "src/treewise", "src/core", "tests", "src/treewise/explain/trace", "src/treewise/ensemble")
FOLDERS = [ROOT / part for part in PARTS]


# -- names ---------------------------------------------------------------------------------------------------------


def prose(page):
    """The page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.M | re.S)


def quoted(page):
    return re.findall(r"`([^`\n]+)`", prose(page))


def sources():
    for pattern in ("src/treewise/**/*.py*", "src/core/*/*.?pp", "tests/**/*.py"):
        yield from (p.read_text(encoding="utf-8") for p in ROOT.glob(pattern) if p.suffix != ".pyc")


@pytest.mark.parametrize("page", PAGES)
def test_every_file_named_is_there(page):
    named = [q for q in quoted(page) if re.fullmatch(r"[\w./]+(\.(py|pyi|hpp|cpp|md|txt)|/)", q)]
    assert len(named) > 10
    for name in named:
        assert any((folder / name).exists() for folder in FOLDERS), f"{page} names {name}"


@pytest.mark.parametrize("page", PAGES)
def test_every_name_named_is_somewhere(page):
    """A word that looks like a name of the code (``NodeScorer.score``, ``KIND_NUMBERS``) is one."""
    everything = "\n".join(sources())
    known = set(re.findall(r"\w+", everything)) | set(re.findall(r"\w+", "".join(changes().values())))
    for name in quoted(page):
        if re.fullmatch(r"[A-Za-z_][\w.:]*(\(\))?", name) and not name.endswith((".py", ".pyi", ".hpp", ".cpp", ".md")):
            missing = [word for word in re.findall(r"\w+", name) if word not in known]
            assert not missing, f"{page} names {name}"


def test_every_source_file_named_in_a_comment_exists():
    """In comments of the core, and in backticks in the package; ``engines/python.py`` is named from its own folder."""
    paths = ["/" + p.relative_to(ROOT).as_posix() for p in ROOT.glob("**/*.*") if ".git" not in p.parts]
    named = []
    for pattern, comment in (("src/core/*/*.?pp", r"//(.*)$"), ("src/treewise/**/*.py", r"``([^`\n]+)``")):
        for path in ROOT.glob(pattern):
            for text in re.findall(comment, path.read_text(encoding="utf-8"), re.M):
                named += [
                    (path, name) for name in re.findall(r"(?<![\w.])(?:\w+/)*\w+\.(?:py|hpp|cpp|js|R)\b(?!\w)", text)
                ]
    assert len(named) > 200
    missing = [(path.name, name) for path, name in named if not any(each.endswith(f"/{name}") for each in paths)]
    assert missing == []


def test_the_architecture_describes_every_part():
    """Top-level modules and folders of the package, and folders of the core."""
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    parts = [p for p in (ROOT / "src/treewise").iterdir() if p.suffix in ("", ".py") and p.name[:2] != "__"]
    parts = [p for p in parts if p.name not in ("_version.py", "py.typed")]
    for path in [*parts, *(p for p in (ROOT / "src/core").iterdir() if p.is_dir())]:
        name = f"{path.name}/" if path.is_dir() else path.name
        assert f"`{name}`" in page, f"ARCHITECTURE.md does not describe {name}"


def test_every_file_of_the_core_begins_with_a_comment():
    """A header says what it is for; a source file without a header does, too."""
    for path in (ROOT / "src/core").glob("*/*"):
        if path.suffix == ".hpp" or not path.with_suffix(".hpp").exists():
            assert path.read_text(encoding="utf-8").startswith("// "), f"{path.name} does not say what it is for"


# -- changes -------------------------------------------------------------------------------------------------------


def changes():
    """The changes shown, by what they add: all diffs under the same remark."""
    actual = {}
    for what, diff in re.findall(r"<!-- (\w+) -->\n```diff\n(.*?)```", GUIDE, re.S):
        actual[what] = actual.get(what, "") + diff
    return actual


def apply(diff, folder):
    """Make a change: what a hunk shows as it is stands in the file once, and becomes what it shows as it will be."""
    for file in re.split(r"^--- ", diff, flags=re.M)[1:]:
        name, _, hunks = file.partition("\n")
        path = folder / name
        for hunk in re.split(r"^@@\n", hunks, flags=re.M)[1:]:
            lines = hunk.splitlines()
            before = "\n".join(line[1:] for line in lines if line[:1] != "+")
            after = "\n".join(line[1:] for line in lines if line[:1] != "-")
            if not before:
                path.write_text(after + "\n", encoding="utf-8")
                continue
            text = path.read_text(encoding="utf-8")
            assert text.count(f"\n{before}\n") == 1, f"{name}: {before!r} stands there {text.count(before)} times"
            path.write_text(text.replace(f"\n{before}\n", f"\n{after}\n"), encoding="utf-8")


# An editable installation looks into the checkout before anywhere else; Python runs this when it starts.
NOT_EDITABLE = """import sys
sys.meta_path[:] = [f for f in sys.meta_path if not type(f).__module__.startswith("_editable")]
"""


@pytest.fixture
def changed(tmp_path):
    """A copy of the sources with a change made, and a way to run code or a command on it."""

    def make(what):
        shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
        apply(changes()[what], tmp_path)
        for path in (tmp_path / "src/treewise").rglob("*.py"):
            ast.parse(path.read_text(encoding="utf-8"), str(path))
        return run

    def run(*words):
        import treewise._core

        core = Path(treewise._core.__file__)
        beside = tmp_path / "src/treewise" / core.name
        if not beside.exists():
            shutil.copy(core, beside)
        (tmp_path / "src" / "sitecustomize.py").write_text(NOT_EDITABLE, encoding="utf-8")
        completed = subprocess.run(
            [sys.executable, *words],
            env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        assert completed.returncode == 0, completed.stderr
        return completed.stdout

    return make


def test_the_guide_shows_each_of_them():
    assert set(changes()) == {"criterion", "limit", "kind", "export", "verb"}


def test_a_criterion_can_be_added(changed):
    run = changed("criterion")
    code = (
        "import treewise as tw\n"
        "data = {'x': list('aabbcc'), 'y': list('ppqqrr')}\n"
        "print(tw.candidates(data, 'y', criterion='runner_up', categorical='one_value', per='total'))\n"
    )
    message = run("-c", code)
    assert "R = 1 − the two largest p" in message
    assert "2 − [2·R(2/2, 0/2, 0/2) + " in message
    assert "runner_up" in run("-m", "treewise", "grow", "--help")


def test_a_limit_can_be_added(changed):
    run = changed("limit")
    code = (
        "import numpy as np, treewise as tw\n"
        "from treewise.train.grow import prepare\n"
        "from treewise.train.reference import compute_stats, leaf_condition\n"
        "training_set = prepare('food', min_weight_fraction_split=0.5)\n"
        "for rows in (np.arange(6), np.arange(2)):\n"
        "    print(leaf_condition(training_set, rows, compute_stats(training_set, rows), 0) or 'goes on')\n"
    )
    assert run("-c", code).split("\n") == ["goes on", "min_samples_split", ""]
    assert "--min-weight-fraction-split X" in run("-m", "treewise", "grow", "--help")


def test_a_kind_can_be_added(changed):
    code = (
        "import treewise as tw\n"
        "data = {'size': ['s', 'm', 'm', 'l', 'l'], 'y': list('ppqqq')}\n"
        "root = tw.candidates(data, 'y', categorical='halves', kinds={'size': ['s', 'm', 'l']})\n"
        "print([test.words for test in root['size'].tests])\n"
    )
    assert changed("kind")("-c", code) == "['size <= m']\n"


def test_an_export_format_can_be_added(changed):
    run = changed("export")
    run("-m", "treewise", "grow", "admissions", "--preset", "id3", "-o", "model.json")
    run("-m", "treewise", "export", "model.json", "-o", "tree.steps", "--option", "first=1")
    code = "import pathlib; print(pathlib.Path('tree.steps').read_text().splitlines()[2])"
    assert run("-c", code) == "2 Answer(number=0)\n"
    assert "steps lists tests and answers" in " ".join(run("-m", "treewise", "export", "--help").split())


def test_a_verb_can_be_added(changed):
    run = changed("verb")
    assert re.search(r"columns +List the columns a tree splits on\.", run("-m", "treewise", "--help"))
    run("-m", "treewise", "grow", "admissions", "--preset", "id3", "-o", "model.json")
    assert run("-m", "treewise", "columns", "model.json").split() == ["GPA", "University", "Published"]
