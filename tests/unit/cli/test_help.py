"""Help pages, examples and the demo; the options match ``treewise.grow``."""

import inspect
import json
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np

import treewise as tw
from treewise.cli.app import VERBS, app
from treewise.cli.options import GROW_OPTIONS
from treewise.train.grow import grow
from treewise.train.settings import Settings

ROOT = Path(__file__).parents[3]

# -- help ---------------------------------------------------------------------------------------------


def test_help_loads_nothing_heavy():
    code = (
        "import sys\n"
        "from treewise.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'polars', 'narwhals', 'pandas', 'sklearn', 'rich'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    for words in (["--help"], ["--version"], ["grow", "--help"], ["evaluate", "--help"], ["trace", "--help"]):
        completed = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
        assert (completed.returncode, completed.stderr) == (0, ""), words


def test_help_of_everything(run):
    front = run("--help")
    assert front.code == 0
    for verb, purpose in VERBS.items():
        assert re.search(rf"^  {verb} +{purpose.split()[0]}", front.out, re.M)
        page = run(f"{verb} --help")
        assert page.code == 0
        assert page.lines[0].startswith(f"Usage: treewise {verb}")
        assert purpose.split()[0] in page.out
        assert "Examples:\n  treewise " in page.out
    assert run("help grow").out == run("grow --help").out
    assert run("help").out == front.out
    assert 'Did you mean "grow"?' in run("help grwo").err


def test_version_names_what_a_bug_report_needs(run):
    version, core, python, libraries = run("--version").lines
    assert version == f"treewise {tw.__version__}"
    assert re.fullmatch(r"core    (GCC|clang|MSVC) .+, 64-bit", core)
    assert sys.version.split()[0] in python
    assert f"numpy {np.__version__}" in libraries


def test_without_a_verb_the_help_is_shown(run):
    result = run("")
    assert result.code == 2
    assert "Start here:" in result.err


def test_help_lists_what_a_newcomer_needs_first(run):
    text = run("grow --help").out
    text = text[text.index("Examples:") :]
    options = ("--target COLUMN", "-o, --output", "--preset id3", "--max-depth N", "--random-state")
    places = [text.index(f"\n  {option}") for option in options]
    assert places == sorted(places)


def test_options_are_the_parameters_of_grow():
    parameters = dict(inspect.signature(grow).parameters)
    del parameters["data"], parameters["memory"]  # of every verb that reads DATA
    del parameters["engine"], parameters["show_queries"]  # --dask, --workers and --show-queries, of grow alone
    assert {"dask", "workers", "show_queries"} <= {each.name for each in app.get_command(None, "grow").params}
    assert {each.parameter for each in GROW_OPTIONS} == set(parameters)
    defaults = asdict(Settings.of())
    for each in GROW_OPTIONS:
        own = parameters[each.parameter].default
        if each.default is not None:
            assert each.default == own, each.parameter
        message = re.search(r"\(default (\w+)[^)]*\)", each.help)
        if message and each.parameter in defaults and defaults[each.parameter] is not None:
            assert message[1] == str(defaults[each.parameter]), each.parameter
    for verb in ("grow", "show", "trace"):
        names = {parameter.name for parameter in app.get_command(None, verb).params}
        assert names >= set(parameters), verb


def test_examples_in_the_help_work(run, officials):
    for verb in VERBS:
        for example in app.get_command(None, verb).examples:
            if re.search(r"yours\.csv|new\.(csv|parquet)|answers|> |treewise (serve|explore)", example):
                continue  # the reader's own files, the shell's work, and what does not end
            if "model.json" in example and "-o model.json" not in example:
                run("grow admissions --preset id3 -o model.json")
            for part in example.split(" && "):
                result = run(part.removeprefix("treewise "))
                assert result.code == 0, (part, result)


# -- demo and data ------------------------------------------------------------------------------------


def test_demo(run, tmp_path):
    result = run("demo")
    assert result.code == 0
    assert len(result.lines) <= 60
    assert result.err == ""
    assert not list(tmp_path.iterdir())
    for piece in (
        "5  │  │  ├─ University = top20  → P",
        "12 − [4·H(0/4) + 5·H(3/5) + 3·H(3/3)]  = 7.145  ◄ best",
        "Class = P (100.0 %: 1 of 1 row like this), because GPA is 3.7, Published is no and University is",
        "It would be N (100.0 %: 4 of 4 rows like that) if GPA were 3.5.",
        "Recommendation was not given and is not needed.",
        "344 penguins, 19 cells missing",
        "331 of 344 rows right (96.2 %)",
    ):
        assert piece in result.out


def test_demo_commands_work(run):
    for line in run("demo").lines:
        if line.startswith("   $ "):
            result = run(line.removeprefix("   $ treewise "))
            assert result.code == 0, result


def test_data_lists_what_is_built_in(run):
    result = run("data")
    names = [line.split()[0] for line in result.lines[1:]]
    assert names == list(tw.datasets.NAMES)
    assert re.search(r"^penguins +344 +species ", result.out, re.M)


def test_data_prints_csv_that_reads_back(run):
    result = run("data admissions --rows")
    assert result.lines[:2] == ["GPA,University,Published,Recommendation,Class", "4.0,top10,yes,good,P"]
    assert run("data admissions --rows -o a.csv").code == 0
    again = run("trace a.csv --target Class --preset id3 --kind GPA=nominal --per total")
    assert "12 − [4·H(0/4) + 5·H(3/5) + 3·H(3/3)]" in again.out
    assert json.loads(run("data or --rows --format json").out)[0]
    assert run("data penguins --rows").err == ""
    for name in ("admissions", "food"):
        options = run(f"data {name} --rows -o t.csv").err.partition(", add ")[2]
        assert options
        target = tw.datasets.NAMES[name]().target
        assert (
            run(f"grow t.csv --target {target} --preset id3 -q {options}").out
            == run(f"grow {name} --preset id3 -q").out
        )
    assert run("data admisions").code == 3
    assert 'Did you mean "admissions"?' in run("data admisions").err


def test_readme_and_changes_list_every_verb():
    for page, start in (("README.md", "| command line |"), ("CHANGELOG.md", "- **Command line**:")):
        text = ROOT.joinpath(page).read_text(encoding="utf-8")
        listed = re.split(r"\n[-|]", text.partition(start)[2], maxsplit=1)[0]
        assert re.findall(r"`([\w-]+)`", listed) == list(VERBS), page
