"""``treewise grow``, ``show`` and ``trace``: what is printed and saved."""

import csv
import io
import json
import re
import sys
from pathlib import Path

import numpy as np

import treewise as tw
from treewise.cli.app import VERBS

# -- grow ---------------------------------------------------------------------------------------------


def test_grow_reports_what_it_understood_and_prints_the_tree(run):
    result = run("grow penguins --target species --max-leaf-nodes 4 -o m.json")
    table, task, grown, blank, saved = result.err.splitlines()
    assert table == (
        "penguins   344 rows · 6 columns: 4 numbers, 2 categories · missing: sex 11, bill_length_mm 2,"
        " bill_depth_mm 2, flipper_length_mm 2, body_mass_g 2"
    )
    assert task == "task  classification of species: Adelie 152, Chinstrap 68, Gentoo 124"
    assert re.fullmatch(r"grow  \d+\.\d s   4 leaves · depth 2 · training error 3\.8 %", grown)
    assert blank == ""
    assert saved.startswith("saved m.json   next: treewise trace m.json penguins · ")
    assert result.lines[1].split() == ["0", "all", "rows", "344", "152", "68", "124"]
    assert tw.load("m.json") == tw.grow("penguins", "species", max_leaf_nodes=4)


def test_grow_names_only_verbs_that_exist(run):
    result = run("grow penguins -o m.json")
    assert set(re.findall(r"treewise (\w+)", result.err)) <= set(VERBS)


def test_grow_regression_line(run, tmp_path):
    tmp_path.joinpath("t.csv").write_text("x,y\n1,0.5\n2,1.5\n3,1000.25\n")
    assert "task  regression of y: 0.5 to 1,000.2, mean 334.08" in run("grow t.csv --target y").err


def test_grow_passes_every_option(run, tmp_path):
    rows = [
        "size,town,w,id,y",
        "S,Rome,1,1,a",
        "M,Bari,2,2,b",
        "L,?,1,3,b",
        "S,Rome,3,4,a",
        "M,Rome,1,5,",
        "L,Bari,1,6,b",
    ]
    tmp_path.joinpath("t.csv").write_text("\n".join(rows))
    result = run(
        "grow t.csv --target y --kind 'size=S<M<L' --kind 'town={Bari,Rome,Turin}' --na '?' --ignore id"
        " --drop-missing-target --preset cart --criterion gini --categorical one_value --missing branch"
        " --empty-branch root --positive a --max-depth 3 --max-leaf-nodes 5 --min-samples-leaf 1"
        " --min-samples-split 0.1 --min-impurity-decrease 0 --min-weight-fraction-leaf 0.0"
        " --sufficient-accuracy 1 --sample-weight w --class-weight a=2,b=1 --ties random --random-state 3"
        " --task classification -o m.json -q"
    )
    assert (result.code, result.err) == (0, "")
    expected = tw.grow(
        "t.csv",
        "y",
        kinds={"size": ["S", "M", "L"], "town": {"Bari", "Rome", "Turin"}},
        na_values=["?"],
        ignore=["id"],
        drop_missing_target=True,
        preset="cart",
        criterion="gini",
        categorical="one_value",
        missing="branch",
        empty_branch="root",
        positive="a",
        max_depth=3,
        max_leaf_nodes=5,
        min_samples_split=0.1,
        sample_weight="w",
        class_weight={"a": 2, "b": 1},
        ties="random",
        random_state=3,
    )
    assert tw.load("m.json") == expected
    assert expected.classes == ("b", "a")
    assert "1 row left out" in run("grow t.csv --target y --drop-missing-target").err


def test_grow_columns_and_ignore_take_lists(run):
    run("grow penguins --columns island,sex -o a.json")
    assert tw.load("a.json").columns == ("island", "sex")
    run("grow penguins --ignore island --ignore sex,body_mass_g -o b.json")
    assert tw.load("b.json").columns == ("bill_length_mm", "bill_depth_mm", "flipper_length_mm")


def test_grow_reads_standard_input_and_writes_standard_output(run):
    table = run("data penguins --rows").out.encode()
    result = run("grow - --target species --max-depth 1 -o -", stdin=table)
    assert json.loads(result.out)["format"] == 2
    assert result.err.startswith("standard input   344 rows")
    assert run("grow - --target species", stdin=b"").code == 3


def test_grow_saves_text_that_can_be_edited(run):
    run("grow admissions --preset id3 -o m.txt")
    assert tw.parse("m.txt") == tw.grow("admissions", preset="id3")


def test_a_tree_that_nobody_can_read_is_folded_in_a_pipe_too(run, tmp_path):
    rows = [f"{i},{i * i % 7919}" for i in range(600)]
    tmp_path.joinpath("t.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
    result = run("grow t.csv --target y -q -o m.json")
    assert len(result.lines) <= 62
    assert "every line: --all" in result.lines[-1]
    whole = run("grow t.csv --target y -q --all").out
    assert tw.parse(whole).n_leaves == tw.load("m.json").n_leaves > 500
    assert run("show m.json").out == whole


def test_grow_bounds_what_it_prints_on_a_terminal(run, tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    rows = [f"{x:.6f},{rng.integers(2)}" for x in rng.normal(size=400)]
    tmp_path.joinpath("t.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
    piped = run("grow t.csv --target y -o m.json")
    assert tw.parse(piped.out).n_leaves == tw.load("m.json").n_leaves
    assert run("show m.json").out == piped.out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    result = run("grow t.csv --target y")
    assert len(result.lines) <= 62
    assert "lines shown of" in result.lines[-1]
    assert "every line: --all" in result.lines[-1]
    assert "memorised" in result.err
    assert "--pruning cv" in result.err
    assert len(run("grow t.csv --target y --all").lines) > 100


def test_grow_fits_the_terminal(run, tmp_path, monkeypatch):
    text = run("grow penguins --max-leaf-nodes 4").out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr("treewise.cli.render.screen_width", lambda: 76)
    narrow = run("grow penguins --max-leaf-nodes 4")
    assert max(map(len, narrow.lines)) <= 76
    assert "flipper_length_mm > 206.5 or missing" in narrow.out
    assert run("grow penguins --max-leaf-nodes 4 --all").out == text


def test_grow_reports_what_was_found_after_growing(run, tmp_path):
    rows = "\n".join(f"{i},{i % 7},{i % 2},{'yes' if i % 2 else 'no'}" for i in range(40))
    tmp_path.joinpath("t.csv").write_text(f"case no,x,y,was it\n{rows}\n")
    result = run("grow t.csv --target y")
    text = [line for line in result.err.splitlines() if line.startswith("note")]
    assert text[0].endswith('Leave it out: --ignore "case no"')
    assert text[1].startswith("note  was it: it alone predicts y perfectly.")
    assert text[1].endswith('leave it out: --ignore "was it"')
    assert len(text) == 2


def test_grow_class_weights_of_classes_with_signs(run, tmp_path):
    tmp_path.joinpath("t.csv").write_text("x,y\n1,<=50K\n1,<=50K\n1,>50K\n2,>50K\n")
    run("grow t.csv --target y --class-weight '<=50K=1,>50K=3' -o m.json")
    assert tw.load("m.json")[1].counts == {"<=50K": 2, ">50K": 3}


def test_grow_records_why_rows_were_left_out(run, tmp_path):
    tmp_path.joinpath("t.csv").write_text("x,w,y\n1,1,a\n2,1,b\n3,1,\n4,0,b\n")
    assert (
        "2 rows left out (no target or no weight)"
        in run("grow t.csv --target y --drop-missing-target --sample-weight w").err
    )
    assert "1 row left out (no target)" in run("grow t.csv --target y --drop-missing-target").err
    tmp_path.joinpath("t.csv").write_text("x,w,y\n1,1,a\n2,1,b\n4,0,b\n")
    assert "1 row left out (no weight)" in run("grow t.csv --target y --sample-weight w").err


def test_what_is_next_is_to_see_all_lines_only_where_some_were_folded(run, tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    rows = [f"{x:.6f},{rng.integers(2)}" for x in rng.normal(size=1200)]
    tmp_path.joinpath("t.csv").write_text("x,y\n" + "\n".join(rows) + "\n")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "next: treewise show m.json --all · treewise rules m.json · " in run("grow t.csv --target y -o m.json").err
    assert (
        "next: treewise rules m.json · treewise evaluate m.json new.csv"
        in run("grow t.csv --target y --max-depth 2 -o m.json").err
    )


def test_notes_speak_the_command_line(run, tmp_path):
    rows = "\n".join(f"{i},{'NA' if i % 7 == 0 else i * 2},{i % 2}" for i in range(100, 160))
    tmp_path.joinpath("t.csv").write_text(f"visit_no,bp,y\n{rows}\n")
    result = run("grow t.csv --target y --max-depth 1")
    memorise = "note  visit_no: 60 different values in 60 rows; a tree can memorise it."
    assert f"{memorise} Leave it out: --ignore visit_no" in result.err
    assert 'note  bp: "NA" read as missing in' in result.err
    assert "ignore=[" not in result.err


# -- show ---------------------------------------------------------------------------------------------


def test_show_summary(run, model):
    head, leaves, needs, made = run(f"show {model} --summary").lines
    assert re.match(
        r"m\.json  format 2 · treewise \S+ · sha256 \w{12}… · target species: Adelie, .* · 4 leaves · depth 2",
        head,
    )
    assert leaves.split("  ")[-1].strip() == "1 pure · 3 max_leaf_nodes"
    assert needs.endswith(
        "island category (Biscoe, Dream, Torgersen) · bill_length_mm number · flipper_length_mm number"
    )
    assert "max_leaf_nodes=4" in made
    assert "on 344 rows" in made
    facts = json.loads(run(f"show {model} --summary --format json").out)
    assert [column["column"] for column in facts["needs"]] == [
        "island",
        "bill_length_mm",
        "flipper_length_mm",
    ]


def test_show_parts_of_a_model(run, model):
    assert len(run(f"show {model}").lines) == 8
    assert run(f"show {model} --node 4").lines[1].split()[:2] == ["4", "flipper_length_mm"]
    bounded = run(f"show {model} --max-depth 1")
    assert bounded.lines[-1].endswith("every line: --all; from node 1 down: --node 1")
    assert "node 99" in run(f"show {model} --node 99").err
    nodes = json.loads(run(f"show {model} --format json").out)["nodes"]
    assert [node["parent"] for node in nodes] == [None, 0, 1, 1, 0, 4, 4]


def test_show_by_hand_and_on_the_fly(run, officials):
    assert "5  │     ├─ University = top20    → P" in run("show stnordaf.txt").out
    assert "written by hand" in run("show stnordaf.txt --summary").out
    assert "├─ GPA = 3.5" in run("show admissions --preset id3").out
    assert "├─ GPA = 4.0" in run("show -", stdin=Path(officials).read_bytes()).out
    assert run("show stnordaf.txt --preset id3").code == 2
    assert "--preset is for growing, but stnordaf.txt is a model already" in run("show stnordaf.txt --preset id3").err


# -- trace --------------------------------------------------------------------------------------------


def test_trace_on_the_fly_and_of_a_model(run):
    line = "GPA             12 − [4·H(0/4) + 5·H(3/5) + 3·H(3/3)]"
    assert line in run("trace admissions --target Class --preset id3 --per total").out
    run("grow admissions --preset id3 -o m.json")
    assert line in run("trace m.json admissions --per total").out
    one = run("trace m.json admissions --node 2")
    assert "node 2" in one.out
    assert "node 0" not in one.out
    assert run("trace m.json").code == 2
    assert "a trace needs the table too" in run("trace m.json").err
    assert "no node 77" in run("trace m.json admissions --node 77").err
    assert "no node 77" in run("trace admissions --node 77").err


def test_trace_by_hand(run, officials):
    run("data admissions --rows -o a.csv")
    result = run("trace stnordaf.txt a.csv --node 7 --per total")
    assert result.code == 0
    assert "node 7 · GPA = 3.7" in result.out


def test_trace_uses_the_weights_it_was_grown_with(run, tmp_path):
    tmp_path.joinpath("t.csv").write_text("x,w,y\n0,5,a\n1,1,b\n2,1,a\n")
    result = run("trace t.csv --target y --sample-weight w --node 0 --format json")
    assert "6" in result.out
    assert json.loads(result.out)


def test_trace_forms(run):
    rows = list(csv.DictReader(io.StringIO(run("trace seven_points --unit nats --format csv").out)))
    assert rows
    assert json.loads(run("trace seven_points --format json").out)
    assert run("trace seven_points --format latex --blanks -o e.tex").code == 0
    assert "\\underline" in Path("e.tex").read_text()
    assert run("trace seven_points --format markdown").out.startswith("#")
    assert run("trace seven_points --format csv --blanks").code == 2
    assert re.search(r"island = Biscoe +\S", run("trace penguins --node 0 --column island").out)
    assert run("trace penguins --node 0 --column nope").code == 3


def test_text_files_of_other_forms(run, tmp_path):
    (tmp_path / "other.csv").write_text("3,5;N\n3,7;P\n4,0;P\n3,4;N\n")
    how = "--no-header --decimal , --separator ';'"
    result = run(f"grow other.csv {how} --target x2 -o m.json")
    assert result.code == 0, result
    assert "x1 <= 3.6" in result.out
    assert "prediction\nN\nP\nP\nN" in run(f"predict m.json other.csv {how}").out
    assert "0 of 4 rows wrong" in run(f"evaluate m.json other.csv {how}").out
    assert "x1 <= 3.6" in run(f"trace m.json other.csv {how}").out
    assert "x1 <= 3.6" in run(f"show other.csv {how} --target x2").out
    (tmp_path / "tabs.csv").write_text("x\ty, z\n1\ta\n2\tb\n")
    assert "x <= 1.5" in run("grow tabs.csv --separator tab --target 'y, z'").out


def test_a_decimal_comma_is_suspected_aloud(run, tmp_path):
    (tmp_path / "eu.csv").write_text("price;y\n3,5;a\n1.000,25;b\n")
    message = "its cells look like numbers with a decimal comma. Read the file with --decimal ,"
    assert f"price: read as categories, but {message}" in run("grow eu.csv --target y").err
    assert "price <= 501.875" in run("grow eu.csv --target y --decimal ,").out
    assert '--decimal x: must be "." or ",".' in run("grow eu.csv --target y --decimal x").err


def test_how_a_file_was_read_is_reported_where_that_may_be_why(run, tmp_path):
    (tmp_path / "bare.csv").write_text("7.1,0.27,a\n8.5,0.3,b\n")
    result = run("grow bare.csv --target quality")
    assert result.code == 3
    assert "if it is data: --no-header\n" in result.err
    assert 'no column "quality" in bare.csv' in result.err


def test_a_trace_is_printed_node_by_node(run, monkeypatch):
    from treewise.explain.trace.trace import Trace

    whole = run("trace penguins --max-depth 1").out

    def stopped(trace):
        yield trace[0]
        raise KeyboardInterrupt

    monkeypatch.setattr(Trace, "every", stopped)
    result = run("trace penguins --max-depth 1")
    assert result.code == 130
    assert result.out
    assert whole.startswith(result.out)
    assert "no file was written, and the printed output may be incomplete." in result.err
    result = run("trace penguins --max-depth 1 --format csv")
    assert result.out == ""
    assert "; nothing was written." in result.err


def test_the_task_tells_classes_that_are_numbers_from_their_rows(run):
    assert "task  classification of y: 0 (2), 1 (2) · positive class: 1" in run("grow xor").err
    assert "task  classification of Class: N 6, P 6 · positive class: P" in run("grow admissions").err


def test_columns_and_tests_may_be_drawn(run):
    assert run("grow penguins --max-features sqrt --splitter random --random-state 7 -q -o drawn.json").code == 0
    tree = tw.load("drawn.json")
    assert tree == tw.grow("penguins", max_features="sqrt", splitter="random", random_state=7)
    message = run("show drawn.json --summary").out
    assert 'grow(criterion="entropy", random_state=7, max_features="sqrt", splitter="random") on 344 rows\n' in message
    wrong = run("grow penguins --splitter worst")
    assert (wrong.code, wrong.err) == (2, "treewise: --splitter worst: must be one of best, random.\n")


def test_names_of_a_file_without_a_header(run, tmp_path):
    tmp_path.joinpath("bare.data").write_text("1,no\n2,no\n3,yes\n4,yes\n")
    result = run("grow bare.data --names age,bought --target bought -q -o m.json")
    assert "age <= 2.5" in result.out
    assert "accuracy" not in run("evaluate m.json bare.data --names age,bought").err
    refused = run("grow bare.data --names age --target age")
    assert refused.code == 2
    assert refused.err.startswith("treewise: --names: 1 name, but bare.data has 2 columns.")


def test_constraints_as_options(run, tmp_path):
    rows = [f"{a},{b},{'yes' if (a * b) % 3 else 'no'}" for a in range(8) for b in range(8)]
    tmp_path.joinpath("t.csv").write_text("\n".join(["age,dose,ill", *rows]) + "\n")
    run(
        "grow t.csv --target ill --monotone age=+1 --monotone dose=-1 --interactions age,dose --feature-costs age=0.01"
        " --cost-scale 0.5 -o m.json"
    )
    expected = tw.grow(
        tmp_path / "t.csv",
        "ill",
        monotone={"age": 1, "dose": -1},
        interactions=[["age", "dose"]],
        feature_costs={"age": 0.01},
        cost_scale=0.5,
    )
    assert tw.load("m.json") == expected
    assert expected.fit_info.settings["monotone"] == {"age": 1, "dose": -1}
    assert "forbidden: " in run("trace m.json t.csv").out


def test_too_little_memory_is_named_with_what_is_needed(run, tmp_path):
    rows = "".join(f"{i % 97},{i % 3},{i % 2}\n" for i in range(60_000))
    (tmp_path / "long.csv").write_text("a,b,y\n" + rows)
    grow = "grow long.csv --target y --max-depth 2 -q --memory"
    result = run(f"{grow} 3MB")
    assert result.code == 2
    needed = re.fullmatch(
        r"treewise: --memory 3MB: 60,000 rows of 3 columns need at least (\d+) MB while a tree grows, in addition to"
        r" the columns, which are in files\. Give more, or fewer columns\.\n",
        result.err,
    )
    assert needed, result.err
    in_files = run(f"{grow} {needed[1]}MB")
    assert in_files.code == 0
    assert in_files.out == run(grow.removesuffix("--memory")).out
    assert run(f"{grow} 3XB").err == 'treewise: --memory 3XB: must be an amount such as "2GB", or a number of bytes.\n'
