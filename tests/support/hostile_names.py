"""Column, category and class names containing control sequences or markup, and a table made of them.

Names may contain anything; what a terminal, browser, spreadsheet or LaTeX would interpret must be printed as text.
"""

NAMES = [
    'quo"te',
    "apo's",
    "back\\slash\\",
    "two\nlines",
    "carriage\rreturn\ttab",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07bell",
    "\x9b31mcsi",
    "nul\0byte",
    "del\x7fete\x08",
    "\u202eright to left",
    "zero\u200bwidth\ufeff",
    "line\u2028paragraph\u2029",
    "nbsp\u00a0and\u3000wide",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</td></table><b>",
    "<!-- comment --> &amp; &#60;",
    "</pre></details>",
    "]]> <![CDATA[",
    "a|b|c",
    "`code` **bold** [link](javascript:alert(1)) ![x](y) # _under_ ~~no~~",
    "| --- |",
    "=1+1",
    "@SUM(A1)",
    "+cmd|' /C calc'!A0",
    "-2+3,4;5",
    "$x^2$ \\input{/etc/passwd} %c {b} #1 & ~",
    "\\end{document}",
    "%s {0} {name} $(id) ${IFS} `id`",
    "*/ // -- ; /* # '''",
    "x <= 1",
    "a → b",
    "in {a, b} or missing",
    "otherwise",
    "all rows",
    " leading and trailing ",
    "東京 naïve ☃ 👩\u200d👩\u200d👧 e\u0301",
    "\ud7ff\ue000\U0010fffd",
    "…",
    "True",
    "nan",
    "1e5",
    "-",
    "*",
    "^x.*$",
    "^.*$",
    "x" * 3000,
]


BATCH = 4
BATCHES = [NAMES[i : i + BATCH] for i in range(0, len(NAMES), BATCH)]


def table(names):
    """Return a table whose columns, categories, classes and target have these names, and the name of its target."""
    n, half = 40, len(names) // 2
    cells = {name: [float((i + j) % 7) for i in range(n)] for j, name in enumerate(names[:half])}
    cells |= {name: [names[(i + j) % len(names)] for i in range(n)] for j, name in enumerate(names[half:])}
    target = " ".join(names)
    cells[target] = [names[(i % 7 > 3) + 2 * (i % 4 > 1)] for i in range(n)]
    return cells, target
