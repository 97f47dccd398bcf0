"""Risk groups: who is at risk, by how much, and is the difference real?

A marimo notebook: `marimo edit examples/medical.py` opens it, `python examples/medical.py` runs it.
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
    # Risk groups in a trial

    4,000 simulated patients. The risk of an event depends on age, blood pressure and smoking; ten other
    measurements are noise. The question is not the best prediction but: which groups differ, by how much, and would
    they differ again?
    """)
    return


@app.cell
def _():
    import numpy as np

    import treewise as tw

    def patients(n, seed):
        rng = np.random.default_rng(seed)
        age = rng.integers(30, 85, n)
        pressure = rng.normal(130, 18, n).round()
        smoker = rng.random(n) < 0.25
        risk = 0.05 + 0.12 * (age > 60) + 0.15 * ((age > 60) & (pressure > 140)) + 0.08 * smoker
        return {
            "age": age,
            "pressure": np.where(rng.random(n) < 0.05, np.nan, pressure),  # not always measured
            "smoker": np.where(smoker, "yes", "no"),
            **{f"marker_{i}": rng.normal(size=n).round(2) for i in range(10)},
            "event": np.where(rng.random(n) < risk, "event", "none"),
        }

    study, replication = patients(4000, seed=1), patients(4000, seed=2)
    return (np, patients, replication, study, tw)


@app.cell
def _(mo):
    mo.md(r"""
    `selection="test"` splits only where a test of independence, adjusted for the number of columns, is significant:
    noise rarely gets into the tree. `monotone` says what is known: risk does not fall with age.
    """)
    return


@app.cell
def _(study, tw):
    tree = tw.grow(
        study,
        target="event",
        positive="event",
        selection="test",
        monotone={"age": +1},
        max_depth=3,
        min_samples_leaf=100,
    )
    used = [tree.columns[column] for column in tree.used_columns]
    assert "age" in used
    assert not any(name.startswith("marker") for name in used)
    print(tree)
    tree
    return (tree, used)


@app.cell
def _(mo):
    mo.md(r"""
    On the study itself the differences are overstated, because the groups were chosen by them. The replication
    tells which are real.
    """)
    return


@app.cell
def _(replication, study, tree):
    groups = tree.subgroups(study, test=replication)
    assert groups[0].test.confirmed
    print(groups)
    return (groups,)


@app.cell
def _(mo):
    mo.md(r"""
    Honest estimation without a second study: half of the patients choose the groups, the other half estimate the
    risks.
    """)
    return


@app.cell
def _(study, tw):
    honest = tw.grow(
        study,
        target="event",
        positive="event",
        honest=0.5,
        selection="test",
        max_depth=3,
        min_samples_leaf=100,
        random_state=0,
    )
    print(honest.rules())
    return (honest,)


if __name__ == "__main__":
    app.run()
