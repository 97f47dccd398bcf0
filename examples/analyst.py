"""The analyst: which customers leave? From a table to a tree that somebody can sign.

A marimo notebook: `marimo edit examples/analyst.py` opens it, `python examples/analyst.py` runs it.
"""

import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo

    return (mo,)


@app.cell
def _(mo):
    mo.md(r"""
    # Which customers leave?

    3,000 simulated customers of a bank; `left` is 1 for those who left. A year later there are 1,500 others, which
    the tree has not seen.
    """)
    return


@app.cell
def _():
    import treewise as tw

    customers, later = tw.datasets.customers(), tw.datasets.customers_later()
    tw.describe(customers)
    return (customers, later, tw)


@app.cell
def _(mo):
    mo.md(r"""
    `age` has cells of 999, which stand for "unknown", and `customer_id` is a key. Both would mislead a tree. The
    size of the tree is chosen by cross-validation.
    """)
    return


@app.cell
def _(customers, tw):
    tree = tw.grow(
        customers,
        ignore=["customer_id"],
        na_values=["999"],
        pruning="cv",
        round_thresholds=True,
        labels={0: "stays", 1: "leaves"},
        units={"age": "years"},
    )
    print(tree.displayed)
    tree
    return (tree,)


@app.cell
def _(mo):
    mo.md(r"""
    The error on customers that the tree has not seen, with its interval; and the rules for those who leave.
    """)
    return


@app.cell
def _(later, tree):
    evaluation = tree.evaluate(later)
    rules = tree.displayed.rules(sort="probability", cls="leaves")
    assert evaluation.error < 0.22
    print(evaluation)
    print(rules)
    return (evaluation, rules)


@app.cell
def _(mo):
    mo.md(r"""
    Is the finding stable? Trees on resampled tables test the same columns at the top, or they do not.
    """)
    return


@app.cell
def _(customers, tree):
    stability = tree.stability(customers, resamples=30, random_state=0)
    print(stability)
    return (stability,)


@app.cell
def _(mo):
    mo.md(r"""
    One customer: the reason for the prediction, and what would change it.
    """)
    return


@app.cell
def _(tree):
    explanation = tree.displayed.explain({"age": 55, "products": 1, "active": 0, "balance": 120_000})
    print(explanation)
    return (explanation,)


if __name__ == "__main__":
    app.run()
