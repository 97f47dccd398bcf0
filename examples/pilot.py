"""Imitating a pilot: a tree learns to act from recorded decisions, and is tried in the loop.

A marimo notebook: `marimo edit examples/pilot.py` opens it, `python examples/pilot.py` runs it.
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
    # Learn to fly from a pilot

    CS221 notes 6 tell of a tree that learned to fly a simulator from the recorded actions of pilots. Here a glider
    has to hold its height: the pilot looks at height and climb rate, and pulls, pushes or waits.
    """)
    return


@app.cell
def _():
    import numpy as np

    import treewise as tw

    ACTIONS = {"pull": 1.0, "wait": 0.0, "push": -1.0}

    def pilot(height, climb):
        expected = height + 2.0 * climb
        return "pull" if expected < -3 else "push" if expected > 3 else "wait"

    def fly(decide, steps=400, seed=0):
        rng = np.random.default_rng(seed)
        height, climb, log = 20.0, 0.0, []
        for _ in range(steps):
            action = decide(height, climb)
            log.append((round(height, 1), round(climb, 1), action))
            climb += 0.4 * ACTIONS[action] - 0.1 * climb + rng.normal(0, 0.15)
            height += climb
        return log

    flights = [row for _seed in range(5) for row in fly(pilot, seed=_seed)]
    log = {name: [row[i] for row in flights] for i, name in enumerate(("height", "climb", "action"))}
    return (ACTIONS, flights, fly, log, np, pilot, tw)


@app.cell
def _(mo):
    mo.md(r"""
    The tree imitates the log, and its fidelity is measured on flights' rows that it has not seen.
    """)
    return


@app.cell
def _(log, tw):
    distilled = tw.distill("action", log, max_leaf_nodes=12)
    print(distilled)
    print(distilled.tree)
    return (distilled,)


@app.cell
def _(mo):
    mo.md(r"""
    Agreement in single decisions is not yet flying: the tree now flies itself, in weather it has not seen.
    """)
    return


@app.cell
def _(distilled, fly, np, pilot):
    def tree_pilot(height, climb):
        return distilled.tree.predict({"height": height, "climb": climb})

    heights = {
        name: np.array([row[0] for row in fly(each, seed=99)][100:])
        for name, each in {"pilot": pilot, "tree": tree_pilot}.items()
    }
    deviation = {name: float(np.sqrt((h**2).mean())) for name, h in heights.items()}
    assert deviation["tree"] < 2 * deviation["pilot"] + 1
    deviation
    return (deviation, heights, tree_pilot)


if __name__ == "__main__":
    app.run()
