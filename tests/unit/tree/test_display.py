"""Words for readers: labels, names, units and readable numbers change what is shown, and nothing else."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treewise as tw
from treewise.data.encoding import Encoding, NumberStyle
from treewise.errors import ColumnError, ModelFormatError, ParameterError
from treewise.formats.model_file.json_lines import append_checksum
from treewise.formats.model_file.model_file import dumps, loads
from treewise.tree.display import apply_display
from treewise.tree.history import HistoryStep
from treewise.tree.regions.condition import describe_condition, make_interval
from treewise.tree.splits import Threshold

ROWS = {
    "Products": [1, 2, 3, 1, 2, 3, 1, 2, 3, 4] * 3,
    "Active": [0, 1, 0, 1, 0, 1, 0, 1, 0, 1] * 3,
    "Balance": [10_000.5, 20_000.25, 0.0, 31_000.75, 5.5, 88_888.0, 12_345.5, 54_321.0, 7.0, 99_999.0] * 3,
    "Exited": [0, 0, 1, 0, 0, 1, 0, 1, 1, 1] * 3,
}
WORDS = {
    "labels": {0: "stays", 1: "leaves"},
    "display_names": {"Products": "number of products", "Exited": "customer"},
    "units": {"Balance": "€"},
}


@pytest.fixture(scope="module")
def tree():
    return tw.grow(ROWS, "Exited", min_samples_split=2)


@pytest.fixture(scope="module")
def worded(tree):
    return tree.with_display(**WORDS)


def test_every_outlet_uses_the_words(worded, tmp_path):
    row = {"Products": 3, "Active": 0, "Balance": 12_345.5}
    report = tmp_path / "r.html"
    worded.report(report, ROWS)
    outlets = {
        "text": str(worded),
        "rules": str(worded.rules()),
        "html": worded.rules().to_html(),
        "picture": worded.draw().svg,
        "notebook": worded._repr_mimebundle_()["text/html"],
        "explanation": str(worded.explain(row)),
        "rows": str(worded.explain(ROWS)),
        "evaluation": str(worded.evaluate(ROWS)),
        "groups": str(worded.subgroups(ROWS).all_groups),
        "summary": str(worded.summary()),
        "report": report.read_text(encoding="utf-8"),
    }
    for name, text in outlets.items():
        assert "leaves" in text, name
    for name in ("text", "rules", "explanation", "groups", "report", "notebook"):
        assert "number of products" in outlets[name], name
        assert "Products <=" not in outlets[name], name
    assert "number of products" in str(worded.importances())


def test_predictions_files_and_exports_keep_the_values(tree, worded):
    assert worded == tree
    assert worded.predict(ROWS).tolist() == tree.predict(ROWS).tolist()
    assert worded.classes == (0, 1)
    for form in ("sql", "python", "json", "if-else"):
        assert worded.export(form) == tree.export(form)
    assert worded.rules().to_csv() == tree.rules().to_csv()
    assert worded.evaluate(ROWS).to_dict() == tree.evaluate(ROWS).to_dict()
    assert tw.parse(worded.export("text")) == tree
    assert worded.rules()[0].prediction in (0, 1)


def test_a_label_names_its_class(worded):
    row = {"Products": 1, "Active": 0, "Balance": 10_000.5}
    by_label, by_value = (worded.explain(row, desired=desired) for desired in ("leaves", 1))
    assert by_label.sentences == by_value.sentences
    assert "It would be leaves" in by_label.sentences[1]
    assert worded.rules(cls="leaves").to_csv() == worded.rules(cls=1).to_csv()


def test_display_is_saved(worded, tmp_path):
    worded.save(tmp_path / "m.json")
    loaded = tw.load(tmp_path / "m.json")
    assert loaded.display == worded.display
    assert str(loaded) == str(worded)
    assert loaded.with_(display=None).displayed is not None
    forest = tw.forest(ROWS, "Exited", n_estimators=2).with_display(labels=WORDS["labels"])
    assert loads(dumps(forest)).display == forest.display
    assert "leaves" in str(forest[0])


@pytest.mark.parametrize(
    ("display", "fault"),
    [
        ([], "display is a list"),
        ({"labels": {}, "names": {}}, "display.units is missing"),
        ({"labels": {"2": "x"}, "names": {}, "units": {}}, "names the class 2"),
        ({"labels": {}, "names": {"no": "x"}, "units": {}}, 'names the column "no"'),
        ({"labels": {"0": 5}, "names": {}, "units": {}}, "display.labels is 5"),
    ],
)
def test_damaged_displays_are_refused(worded, display, fault):
    lines = dumps(worded).rstrip("\n").split("\n")[:-1]
    at = next(i for i, line in enumerate(lines) if line.startswith('"display"'))
    lines[at] = f'"display": {json.dumps(display)},'
    with pytest.raises(ModelFormatError, match=fault):
        loads(append_checksum(lines))


def test_wrong_words_are_refused(tree):
    with pytest.raises(ParameterError, match="names the class 7; the classes are 0, 1"):
        tree.with_display(labels={7: "x"})
    with pytest.raises(ColumnError, match='names the column "Product"'):
        tree.with_display(display_names={"Product": "x"})
    with pytest.raises(ParameterError, match='two of them would be called "x"'):
        tree.with_display(labels={0: "x", 1: "x"})
    with pytest.raises(ParameterError, match="must be a text"):
        tree.with_display(units={"Balance": ""})
    with pytest.raises(ParameterError, match="predicts numbers"):
        tw.grow("penguins", "body_mass_g", drop_missing_target=True, max_depth=1).with_display(labels={0: "x"})


def test_whole_numbers_and_binary_columns_are_recorded():
    data = {"i": [1, 2, 3, 4], "f": [1.0, 2.0, None, 4.0], "b": [0, 1, 1, 0], "x": [0.5, 1, 2, 3], "y": list("abab")}
    numbers = {e.name: e.numbers for e in tw.grow(data, "y").encodings}
    assert numbers == {"i": "whole", "f": "whole", "b": "binary", "x": ""}
    late = np.r_[np.zeros(150), [0.5, 2.0]]
    assert tw.grow({"x": late, "y": np.r_[np.zeros(76), np.ones(76)].astype(int)}, "y").encodings[0].numbers == ""


cuts = st.floats(-50, 50).filter(lambda cut: not math.isnan(cut))


@given(cuts, st.integers(-60, 60))
def test_a_displayed_threshold_is_true_of_every_whole_number(cut, value):
    encoding = Encoding("x", "number", numbers="whole", style=NumberStyle())
    split = Threshold("x", cut)
    condition = split.condition(split.branch(float(value), encoding), encoding)
    sign, bound = condition.split(" ")[1:]
    assert {"<=": value <= int(bound), ">": value > int(bound)}[sign]


@given(cuts, cuts, st.integers(-60, 60))
def test_a_displayed_interval_is_true_of_every_whole_number(low, high, value):
    encoding = Encoding("x", "number", numbers="whole", style=NumberStyle())
    interval = make_interval(low, high, False, encoding)
    if not interval.present:
        return
    text = describe_condition(interval, encoding).replace(" = ", " == ")
    assert eval(text, {"x": value}) == interval.holds(float(value))  # "3 < x <= 7" reads as Python


@given(st.floats(0, 1, exclude_max=True), st.sampled_from([0.0, 1.0]))
def test_a_binary_column_is_equal_to_0_or_1(cut, value):
    encoding = Encoding("x", "number", numbers="binary", style=NumberStyle())
    split = Threshold("x", cut)
    assert split.condition(split.branch(value, encoding), encoding) == f"x = {value:.0f}"


def test_the_text_for_readers_is_never_misread(worded):
    """It is for readers; a reader of text refuses what it does not understand, or reads the same rows."""
    with pytest.raises(tw.ParseError):
        tw.parse(str(worded.with_display(units={"Balance": "€", "Products": "pieces"})))


def test_words_on_the_command_line(run, tmp_path):
    tw.read(ROWS).to_polars().write_csv("churn.csv")
    words = "--labels 0=stays,1=leaves --display-names 'Products=number of products' --units Balance=€"
    assert run(f"grow churn.csv --target Exited {words} -o m.json").code == 0
    assert "number of products <= 2  " in run("show m.json").out
    rules = run("rules m.json --format json").out
    assert '"prediction": 1' in rules
    assert "Products > 2" in rules
    result = run("predict m.json --row 'Products=2.3, Active=0, Balance=5' --format csv")
    assert result.out.split("\n")[1] in ("0", "1")
    assert "Products: not a whole number in 1 row, unlike in training; exact thresholds apply" in result.err
    assert "→ gone" in run("show m.json --labels 0=stays,1=gone").out
    wrong = run("show m.json --labels 2=gone")
    assert wrong.code == 2
    assert "--labels names the class 2; the classes are 0, 1" in wrong.err


def test_names_of_columns_replace_no_other_words_of_a_history():
    """Here a column is called as a kind of split is."""
    rows = {"a": list("uvw") * 10, "subset": list(range(30)), "y": [0, 1, 1] * 10}
    text = '{"a": "subset", "subset": "threshold"}'
    tree = tw.grow(rows, "y").with_display(display_names={"subset": "number"})
    step = HistoryStep({**tree.history[0], "splits": json.loads(text), "sample_weight": "subset"})
    shown = apply_display(tree.with_(history=(step,))).history[0]
    assert shown["splits"] == {"a": "subset", "number": "threshold"}
    assert shown["sample_weight"] == "number"
