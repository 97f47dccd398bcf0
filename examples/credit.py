"""Credit: a default costs five times as much as a customer sent away.

A marimo notebook: `marimo edit examples/credit.py` opens it, `python examples/credit.py` runs it.
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
    # Credit with costs

    3,000 simulated loans. Granting a loan that defaults costs five times as much as refusing one that would have
    been repaid. The tree that makes the fewest errors is not the tree that loses the least money.
    """)
    return


@app.cell
def _():
    import numpy as np

    import treewise as tw

    def loans(n, seed):
        rng = np.random.default_rng(seed)
        income = rng.lognormal(10.3, 0.5, n).round(-2)
        amount = rng.lognormal(9.0, 0.7, n).round(-2)
        purpose = rng.choice(["car", "furniture", "education", "business", "repairs"], n)
        history = rng.choice(["none", "paid", "late"], n, p=[0.3, 0.5, 0.2])
        score = 2.2 * amount / income + 1.3 * (history == "late") + 0.5 * (purpose == "business") - 2.4
        return {
            "income": income,
            "amount": amount,
            "purpose": purpose,
            "history": history,
            "outcome": np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "default", "repaid"),
        }

    past, next_year = loans(3000, seed=1), loans(3000, seed=2)
    cost = {"default": {"repaid": 5}, "repaid": {"default": 1}}  # true class: {predicted class: cost}
    return (cost, loans, next_year, np, past, tw)


@app.cell
def _(mo):
    mo.md(r"""
    Both trees are pruned by cross-validation: one by its errors, one by its costs.
    """)
    return


@app.cell
def _(cost, past, tw):
    by_errors = tw.grow(past, target="outcome", pruning="cv")
    by_costs = tw.grow(past, target="outcome", cost=cost, pruning="cv")
    print(by_costs)
    by_costs
    return (by_costs, by_errors)


@app.cell
def _(mo):
    mo.md(r"""
    What each would have cost a year later, per loan.
    """)
    return


@app.cell
def _(by_costs, by_errors, cost, next_year):
    costs = {
        name: tree.evaluate(next_year, cost=cost).cost
        for name, tree in {"by errors": by_errors, "by costs": by_costs}.items()
    }
    assert costs["by costs"] < costs["by errors"]
    costs
    return (costs,)


@app.cell
def _(mo):
    mo.md(r"""
    An applicant who is refused may ask why, and what would change it: amounts can be changed, history cannot.
    """)
    return


@app.cell
def _(by_costs):
    applicant = {"income": 24_000, "amount": 30_000, "purpose": "car", "history": "none"}
    explanation = by_costs.explain(applicant, fixed=["history", "income"])
    print(explanation)
    return (applicant, explanation)


if __name__ == "__main__":
    app.run()
