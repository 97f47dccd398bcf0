"""Lessons: what a student might choose, and a table of hostile names."""


def grown_at_random(lesson, rng, eagerness=0.8):
    """Choose tests at random: the choices of a tree that a student might grow."""
    choices, stack = [], [(0, 0)]
    while stack:
        number, depth = stack.pop()
        situation, limit = lesson.situations[number], lesson.situations.limits.depth
        may = situation.tests and (limit is None or depth < limit)
        choice = rng.randrange(len(situation.tests)) if may and rng.random() < eagerness else None
        choices.append(choice)
        if choice is not None:
            stack += [(branch, depth + 1) for branch in reversed(situation.tests[choice].branches)]
    return choices


def hostile_table(names):
    """Columns, levels and classes with these names."""
    levels = names[: len(names) // 2 + 1]
    table = {name: [levels[(i * (k + 2) + k) % len(levels)] for i in range(24)] for k, name in enumerate(names)}
    return {**table, "the target": [names[i % 3] for i in range(24)]}


def table_of_three():
    """A table whose target is whether three columns are 1: four leaves, but of depth three."""
    rows = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)] * 4
    return dict(zip("abc", map(list, zip(*rows, strict=True)), strict=True)) | {"t": ["np"[all(row)] for row in rows]}
