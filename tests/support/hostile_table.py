"""A table with names and labels that matplotlib would interpret: formulas, hidden legend entries, markup."""

import treewise as tw

HOSTILE = (
    "$x_1^2$", "a$b", r"\$5$", "_hidden", "%d %s", "<script>alert(1)</script>", "a\nb", "\x1b[31mred", "{0}", "é ß Ж",
    "x" * 300, " ", r"\frac{1}{0}", "$\\undefined$", "=1+1", "#&~^",
)  # fmt: skip


def hostile_table(n=60):
    """Return a table of two numeric columns, a categorical one and a binary target, and the column names."""
    names = ["$\\alpha$ <b>", "_y$", "$$c"]
    a = [(7 * i) % 31 for i in range(n)]
    b = [(11 * i) % 29 / 2 for i in range(n)]
    c = [HOSTILE[i % len(HOSTILE)] for i in range(n)]
    y = ["_no$1$" if (x > 15) ^ (i % 9 == 0) else "$\\yes^$" for i, x in enumerate(a)]
    return tw.read({names[0]: a, names[1]: b, names[2]: c, "_t$": y}), names
