"""``treewise prune``, and pruning in ``treewise grow``: output, saved trees and errors."""

import json

import treewise as tw


def test_decisions_then_the_tree(run):
    run("grow outlier -o full.json")
    result = run("prune full.json --method reduced_error --validation outlier_validation -o small.json")
    assert result.code == 0
    assert result.lines[0] == "prune --method reduced_error --order bottom-up on 10 rows: 5 → 2 leaves"
    assert "T 2 of 10 wrong (20.0 %) · T' 0 of 10 wrong (0.0 %)" in result.lines[1]
    assert result.lines[-1].startswith("2  └─ x1 > 4")
    assert "saved small.json" in result.err
    expected = tw.load("full.json").prune("reduced_error", validation="outlier_validation")
    assert tw.load("small.json") == expected
    quiet = run("prune full.json --method reduced_error --validation outlier_validation -q")
    assert (quiet.err, len(quiet.lines)) == ("", 4)


def test_folds_and_the_cp_table(run):
    run("grow penguins -o full.json")
    result = run("prune full.json --method cv --data penguins --folds 5 --rule best -o m.json")
    assert any("5 folds, best: cross-validated error" in line for line in result.lines)
    assert any(line.startswith("cp table of species") for line in result.lines)
    table = run("prune full.json --cp-table")
    assert table.lines[1].split() == ["cp", "nsplit", "leaves", "rel_error"]
    chosen = run("prune m.json --cp-table")
    assert chosen.lines[1].split()[-2:] == ["xerror", "xstd"]
    rows = json.loads(run("prune full.json --cp-table --format json").out)["rows"]
    assert rows[0]["nsplit"] == 0


def test_the_sequence_has_as_many_trees_as_its_table_has_rows(run):
    run("grow noisy --max-depth 6 -o full.json")  # with splits that lower no error: they are in no tree
    result = run("prune full.json --method cv --data noisy --folds 3")
    message = next(line for line in result.lines if line.startswith("nested sequence of "))
    head = next(i for i, line in enumerate(result.lines) if line.startswith("cp table of "))
    rows = result.lines[head + 2 : result.lines.index("", head)]
    assert int(message.split()[3]) == len(rows)
    assert tw.load("full.json").n_leaves > int(rows[-1].split()[2])


def test_a_size_is_explained_by_the_gains_that_decide(run):
    """Best-first growth compares gain times rows: 150 rows that gain little each may come before 8 that gain much."""
    run("grow penguins -o full.json")
    lines = run("prune full.json --max-leaf-nodes 4").lines
    assert lines[1].startswith("before and after: total gain of the node's split")
    tree = tw.load("full.json")
    kept = [n for n in tree.prune(max_leaf_nodes=4) if not n.is_leaf]
    for line in lines[3:6]:
        node = tree[int(line.split()[0])]
        assert f"{node.gain * node.rows:.5g}" in line.split()
        assert line.endswith("cut  other splits gain more")
        assert node.gain * node.rows < min(n.gain * n.rows for n in kept)
    run("grow admissions --preset id3 -o wide.json")
    result = run("prune wide.json --max-leaf-nodes 2")
    assert result.lines[3].endswith("cut  too many branches for the remaining leaves")


def test_sizes_and_forms(run):
    run("grow penguins -o full.json")
    assert tw.parse(run("prune full.json --max-leaf-nodes 4 -q").out).n_leaves == 4
    assert tw.parse(run("prune full.json --at 1,20 -q").out).n_leaves == 2
    step = json.loads(run("prune full.json --max-depth 2 --format json").out)
    assert step["leaves"] == [13, 4]
    saved = run("prune full.json --method mdl -o -")
    assert json.loads(saved.out)["format"] == 2
    raised = run("prune full.json --method pessimistic --raising --data penguins")
    assert "subtrees raised" in raised.out


def test_errors(run):
    run("grow penguins -o full.json")
    for line, part in (
        ("prune full.json", "prune needs a method"),
        ("prune full.json --method x", "--method x: must be one of"),
        ("prune full.json --method reduced_error", "--validation valid.csv"),
        ("prune full.json --at 99", "no node 99"),
        ("prune full.json --at x", "not a list of node numbers"),
        (
            "prune full.json --at 2 --max-depth 2",
            "--max-depth 2 and --at 2 cannot be combined. Give one of them, or prune twice.",
        ),
        ("prune full.json --method cv", "needs --data DATA, the training table"),
        ("prune full.json --method pessimistic --raising", "--raising needs the training table: give --data"),
        ("prune full.json --method pessimistic --confidence 2", "2.0: must be a number above 0 and at most 0.5 ("),
        ("prune full.json --method pessimistic --confidence 0", "0.0: must be a number above 0 and at most 0.5 ("),
        (
            "prune full.json --method cost_complexity",
            "needs --ccp-alpha X, a penalty per leaf. Cross-validation chooses one: --method cv, --data",
        ),
        (
            "prune full.json --method cost_complexity --ccp-alpha 1 --folds 3",
            "has no option folds",
        ),
        ("grow penguins --pruning gain:foo=1", "pruning by gain has no option foo. It takes threshold, measure."),
        ("predict full.json penguins --estimate foo", "maximum_likelihood, laplace, m_estimate=2, shrinkage=10."),
        ("prune full.json --method gain --folds 3", "has no option folds"),
        ("prune full.json --cp-table --method mdl", "--cp-table cuts nothing"),
        ("grow penguins --pruning reduced_error", "--validation valid.csv or --validation 0.3"),
        ("grow penguins --pruning cvv", 'Did you mean "cv"'),
        ("grow penguins --pruning gain:threshold", "is not OPTION=VALUE"),
    ):
        result = run(line)
        assert result.code == 2, result
        assert part in result.err, result
    assert run("prune full.json --method reduced_error --validation nothing.csv").code == 3
    assert run("prune nothing.json --method mdl").code == 4


def test_a_table_in_the_place_of_a_model_is_reported(run):
    run("data penguins --rows -o t.csv")
    for name, message in (
        ("t.csv", "t.csv is a table, not a model."),
        ("penguins", "is a built-in table, not a model."),
    ):
        result = run(f"prune {name} --method mdl")
        assert result.code == 4
        assert message in result.err


def test_methods_are_written_as_in_grow_and_printed_as_they_can_be_typed(run):
    run("grow penguins -o full.json")
    run("grow penguins --pruning cv:loss=log_loss,rule=best -o grown.json")
    result = run("prune full.json penguins --method cv:loss=log_loss,rule=best -o pruned.json")
    assert tw.load("pruned.json") == tw.load("grown.json")
    typed = result.out.partition(":")[0]
    assert typed == "prune --method cv --risk impurity --loss log_loss --folds 10 --rule best"
    assert run(typed.replace("prune", "prune full.json penguins") + " -o again.json").code == 0
    assert tw.load("again.json") == tw.load("grown.json")
    assert 'no option rul. Did you mean "rule"' in run("prune full.json penguins --method cv:rul=best").err


def test_a_pruning_of_no_effect_is_reported(run):
    run("grow penguins -o full.json")
    for line, message in (
        ("--max-leaf-nodes 50", "nothing is cut: the tree has 13 leaves"),
        ("--max-depth 50", "nothing is cut: the tree has depth 5"),
        ("--at 5", "node 5 is a leaf already"),
        ("--at 4,5,6", "nodes 5, 6 are leaves already"),
        ("--method collapse", "nothing is cut; 12 decisions: --all"),
    ):
        assert message in run(f"prune full.json {line}").lines


def test_cuts_are_listed_and_with_all_every_decision(run):
    run("grow penguins -o full.json")
    few, every = run("prune full.json --method mdl"), run("prune full.json --method mdl --all")
    assert [line.split()[0] for line in few.lines if " cut  shorter" in line] == ["2", "12", "15", "21"]
    assert "… 8 more decisions: --all" in few.lines
    assert "kept" not in few.out
    assert sum("  kept  " in line or "  cut  " in line for line in every.lines) == 12
    assert "13 → 5 leaves" not in few.err  # the page says it
    assert "mdl: 13 → 5 leaves" in run("prune full.json --method mdl --format json").err


def test_growing_and_pruning_at_once(run):
    result = run("grow penguins --pruning cv -o m.json")
    assert "full tree: 13 leaves" in result.err
    assert "cv: 13 → 8 leaves · 10 folds, 1se" in result.err
    assert tw.load("m.json") == tw.grow("penguins", pruning="cv")
    run("grow outlier --pruning reduced_error --validation outlier_validation -o o.json")
    assert tw.load("o.json").n_leaves == 2
    run("grow penguins --pruning gain:threshold=0.3,measure=criterion -o g.json")
    assert tw.load("g.json") == tw.grow("penguins").prune("gain", threshold=0.3, measure="criterion")
    assert run("show penguins --pruning mdl").code == 0
    assert "3 pruned(cost_complexity)" in run("show m.json --summary").out


def test_labels_the_tree_does_not_know_are_noted(run, tmp_path):
    tmp_path.joinpath("t.csv").write_text("x,y\n1,a\n2,b\n3,a\n4,b\n")
    tmp_path.joinpath("v.csv").write_text("x,y\n1,a\n2,dead\n3,dead\n")
    run("grow t.csv --target y -o m.json")
    result = run("prune m.json --method reduced_error --validation v.csv")
    message = '"dead" in 2 rows: not a class of the tree, so wrong'
    assert f"note: {message}" in result.lines
    for line in (
        "prune m.json --method reduced_error --validation v.csv -o -",
        "grow t.csv --target y --pruning reduced_error --validation v.csv",
    ):
        assert f"note  {message}" in run(line).err
