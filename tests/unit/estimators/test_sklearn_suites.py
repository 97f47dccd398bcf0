"""``python -m benchmarks.sklearn_suites``: our estimators really run in scikit-learn's tests, and failures are told."""

from benchmarks.sklearn_suites import SUITES, main, reason_of, run


def test_a_few_of_their_tests(capsys):
    cases = run(SUITES["test_tree"], "test_xor or test_multioutput or test_importances_raises")
    outcomes = {name: (outcome, reason_of(message)) for name, outcome, message in cases}
    assert outcomes["test_xor"][0] == "passed"
    several = [outcome for name, outcome in outcomes.items() if name.startswith("test_multioutput[")]
    assert several
    assert set(several) == {("failed", "several targets")}
    main(["test_export", "-k", "test_plot_tree_entropy"])
    assert "| test_export | 0 | 1 | 0 | their classes only (plot_tree, export_*) 1 |" in capsys.readouterr().out
