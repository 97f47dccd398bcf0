"""``--format json`` of every verb: valid JSON with the fields that docs/json-output.md lists."""

import json
import re
from pathlib import Path

import pytest

from treewise.cli.app import VERBS

PAGE = Path(__file__).parents[3] / "docs" / "json-output.md"
TEXT_ONLY = {"completion", "serve", "explore", "demo"}
COMMANDS = {
    "data": "data",
    "data DATA": "data penguins --target species",
    "grow": "grow penguins --target species --max-leaf-nodes 3",
    "grow --ensemble adaboost": "grow penguins --target species --ensemble adaboost --n-estimators 2",
    "refit": "refit tree.json penguins",
    "extend": "extend boosted.json penguins --trees 1 -o more.json",
    "optimal": "optimal penguins --target species --max-depth 2",
    "check-certificate": "check-certificate proof.json distractor",
    "stump": "stump penguins --target species",
    "distill": "distill boosted.json penguins",
    "prune": "prune tree.json --max-leaf-nodes 2",
    "prune --cp-table": "prune tree.json --cp-table",
    "show": "show tree.json",
    "show --summary": "show tree.json --summary",
    "draw": "draw tree.json -o tree.svg",
    "regions": "regions tree.json penguins -o plane.svg",
    "report": "report tree.json penguins -o report.html",
    "trace": "trace tree.json penguins",
    "exercise": "exercise admissions",
    "check": "check sheet.json answers.txt",
    "explain": "explain tree.json penguins --rows 1",
    "predict": "predict tree.json penguins",
    "evaluate": "evaluate stays.json customers_later",
    "evaluate NUMBERS": "evaluate mass.json penguins --drop-missing-target",
    "rules": "rules tree.json",
    "subgroups": "subgroups tree.json penguins",
    "importance": "importance tree.json",
    "agreement": "agreement boosted.json penguins",
    "stages": "stages boosted.json penguins",
    "monitor": "monitor tree.json penguins",
    "stability": "stability tree.json penguins --resamples 3",
    "export": "export tree.json",
    "verify": "verify tree.json tree.py --rows 50",
    "compare": "compare tree.json smaller.json",
    "curve": "curve penguins --target species --over max_depth",
}
PREPARED = (
    "grow penguins --target species --max-leaf-nodes 4 -q -o tree.json",
    "prune tree.json --max-leaf-nodes 2 -q -o smaller.json",
    "grow penguins --target species --ensemble adaboost --n-estimators 2 -q -o boosted.json",
    "grow customers --max-depth 2 --ignore customer_id -q -o stays.json",
    "grow penguins --target body_mass_g --drop-missing-target --max-depth 2 -q -o mass.json",
    "export tree.json -o tree.py",
    "exercise admissions -o sheet.json",
    "optimal distractor --target y --max-depth 2 --certificate proof.json -q",
)


def documented():
    """The fields of each row of the page: the code spans outside of parentheses, and the intervals inside."""
    fields = {}
    for name, cell in re.findall(r"^\| `([^`]+)` \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE):
        match = re.match(r"as `([^`]+)`$", cell)
        plain = re.sub(r"\((?!`)[^()]*\)|;.*", "", cell)
        fields[name] = fields[match[1]] if match else [f for f in re.findall(r"`([^`]+)`", plain) if "…" not in f]
    return fields


@pytest.fixture
def prepared(run, tmp_path):
    for line in PREPARED:
        assert run(line).code == 0, line
    (tmp_path / "answers.txt").write_text("1 = 1")


def test_the_page_has_every_verb():
    assert {name.split()[0] for name in COMMANDS} == set(VERBS) - TEXT_ONLY
    assert documented().keys() == COMMANDS.keys()


@pytest.mark.usefixtures("prepared")
def test_every_verb_prints_the_fields_of_the_page(run):
    for name, fields in documented().items():
        result = run(f"{COMMANDS[name]} --format json")
        assert result.code in (0, 1), (name, result)  # compare: 1, because the trees differ
        parsed = json.loads(result.out)
        first = parsed[0] if isinstance(parsed, list) else parsed
        assert list(first) == fields, name


@pytest.mark.usefixtures("prepared")
def test_json_is_not_mixed_with_what_else_goes_to_standard_output(run, tmp_path):
    result = run("grow penguins --target species --max-leaf-nodes 3 -o - --format json")
    assert result.code == 2
    assert result.err == "treewise: --format json and -o - both write to standard output. Name a file: -o model.json.\n"
    assert "the picture itself needs a file: -o FILE" in run("draw tree.json --format json").err
    saved = json.loads(run("grow penguins --target species --max-leaf-nodes 3 -q -o new.json --format json").out)
    assert (saved["model"], len(saved["nodes"]), (tmp_path / "new.json").exists()) == ("new.json", 5, True)
    parsed = json.loads(run("draw tree.json -o tree.png --format json").out)
    assert (parsed["file"], parsed["format"], parsed["trees"][0]["leaves"]) == ("tree.png", "png", 4)
    assert (tmp_path / "tree.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("prepared")
def test_verify_lists_the_rows_that_differ(run, tmp_path):
    wrong = (tmp_path / "tree.py").read_text().replace("206.5", "190.5")
    (tmp_path / "wrong.py").write_text(wrong)
    result = run("verify tree.json wrong.py penguins --rows 50 --format json")
    assert result.code == 1
    parsed = json.loads(result.out)
    assert not parsed["ok"]
    assert parsed["runs"][0]["mismatches"][0].keys() == {"row", "output", "expected", "actual"}
