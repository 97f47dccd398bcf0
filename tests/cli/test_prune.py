"""``treewise prune``, and pruning in ``treewise grow``: what is printed, what is saved, what is refused."""

import json

import treewise as tw


def test_decisions_then_the_tree(run):
    run("grow outlier -o full.json")
    answer = run("prune full.json --method reduced_error --validation outlier_validation -o small.json")
    assert answer.code == 0
    assert answer.lines[0] == 'prune("reduced_error", order="bottom-up") on 10 rows: 5 → 2 leaves'
    assert "T 2 of 10 wrong (20.0 %) · T' 0 of 10 wrong (0.0 %)" in answer.lines[1]
    assert answer.lines[-1].startswith("2  └─ x1 > 4")
    assert "reduced error: 5 → 2 leaves" in answer.err
    assert "saved small.json" in answer.err
    expected = tw.load("full.json").prune("reduced_error", validation="outlier_validation")
    assert tw.load("small.json") == expected
    quiet = run("prune full.json --method reduced_error --validation outlier_validation -q")
    assert (quiet.err, len(quiet.lines)) == ("", 4)


def test_folds_and_the_cp_table(run):
    run("grow penguins -o full.json")
    answer = run("prune full.json --method cost_complexity --data penguins --folds 5 --rule best -o m.json")
    assert "5 folds, best: cross-validated error" in answer.err
    assert any(line.startswith("cp table of species") for line in answer.lines)
    table = run("prune full.json --cp-table")
    assert table.lines[1].split() == ["cp", "nsplit", "leaves", "rel_error"]
    chosen = run("prune m.json --cp-table")
    assert chosen.lines[1].split()[-2:] == ["xerror", "xstd"]
    rows = json.loads(run("prune full.json --cp-table --format json").out)["rows"]
    assert rows[0]["nsplit"] == 0


def test_sizes_and_forms(run):
    run("grow penguins -o full.json")
    assert tw.parse(run("prune full.json --max-leaf-nodes 4 -q").out).n_leaves == 4
    assert tw.parse(run("prune full.json --at 1,20 -q").out).n_leaves == 2
    step = json.loads(run("prune full.json --max-depth 2 --format json").out)
    assert step["leaves"] == [13, 4]
    saved = run("prune full.json --method mdl -o -")
    assert json.loads(saved.out)["format"] == 1
    raised = run("prune full.json --method pessimistic --raising --data penguins")
    assert "subtrees raised" in raised.out


def test_what_goes_wrong(run):
    run("grow penguins -o full.json")
    for line, part in (
        ("prune full.json", "prune needs one of the methods"),
        ("prune full.json --method x", "--method x: must be one of"),
        ("prune full.json --method reduced_error", "--validation valid.csv"),
        ("prune full.json --at 99", "no node 99"),
        ("prune full.json --at x", "not a list of node numbers"),
        ("prune full.json --method gain --folds 3", "has no option folds"),
        ("prune full.json --cp-table --method mdl", "--cp-table cuts nothing"),
        ("grow penguins --pruning reduced_error", "--validation valid.csv or --validation 0.3"),
        ("grow penguins --pruning cvv", 'Did you mean "cv"'),
        ("grow penguins --pruning gain:threshold", "is not OPTION=VALUE"),
    ):
        answer = run(line)
        assert answer.code == 2, answer
        assert part in answer.err, answer
    assert run("prune full.json --method reduced_error --validation nothing.csv").code == 3
    assert run("prune nothing.json --method mdl").code == 4


def test_growing_and_pruning_at_once(run):
    answer = run("grow penguins --pruning cv -o m.json")
    assert "full tree: 13 leaves" in answer.err
    assert "cost complexity: 13 → 8 leaves · 10 folds, 1-SE" in answer.err
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
    answer = run("prune m.json --method reduced_error --validation v.csv")
    assert 'note: "dead" in 2 rows: not a class of the tree, so wrong' in answer.lines
