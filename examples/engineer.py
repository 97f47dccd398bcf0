"""The engineer: a model leaves the notebook as SQL, Python and a safe file, and is verified there.

A marimo notebook: `marimo edit examples/engineer.py` opens it, `python examples/engineer.py` runs it.
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
    # Ship a tree

    A tree is grown here and decides elsewhere. Each copy is run in its real engine and compared with the model on
    the table and on generated rows at every threshold.
    """)
    return


@app.cell
def _():
    import tempfile
    from pathlib import Path

    import treewise as tw

    folder = Path(tempfile.mkdtemp())
    customers, later = tw.datasets.customers(), tw.datasets.customers_later()
    tree = tw.grow(customers, ignore=["customer_id"], na_values=["999"], pruning="cv")
    tree.save(folder / "model.json")
    assert tw.load(folder / "model.json").predict(later).tolist() == tree.predict(later).tolist()
    return (Path, customers, folder, later, tempfile, tree, tw)


@app.cell
def _(mo):
    mo.md(r"""
    SQL for the database, a module without dependencies for a service, and a page of JavaScript.
    """)
    return


@app.cell
def _(folder, tree):
    sql = tree.export("sql", dialect="sqlite")
    (folder / "model.py").write_text(tree.export("python"))
    (folder / "model.js").write_text(tree.export("javascript"))
    print(sql[:1200])
    return (sql,)


@app.cell
def _(mo):
    mo.md(r"""
    SQLite is part of Python, so the SQL runs here. `treewise verify model.json model.sql` does the same for ten
    engines.
    """)
    return


@app.cell
def _(later, sql, tree, tw):
    verified = tw.verify_export(tree, sql, later)
    assert verified.ok
    print(verified)
    return (verified,)


@app.cell
def _(mo):
    mo.md(r"""
    A forest is one file as well, and one tree can imitate it where it must be read.
    """)
    return


@app.cell
def _(customers, tw):
    forest = tw.forest(
        customers, ignore=["customer_id"], na_values=["999"], n_estimators=50, random_state=0, oob_score=True
    )
    distilled = tw.distill(forest, customers, max_leaf_nodes=8, folds=3)
    assert distilled.training.agreement > 0.75
    print(distilled)
    return (distilled, forest)


if __name__ == "__main__":
    app.run()
