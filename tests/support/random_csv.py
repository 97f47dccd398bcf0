"""Random delimited text: quoted cells, stray quotes, blank lines, every kind of line ending."""

import random

PLAIN = ["", " ", "a", "b", "1", "2.5", "7 mm", "ü", "it's", "NA", "2024-01-31"]
QUOTED = ['""', '" "', '"a"', '"a,b"', '"a;b"', '"two\nlines"', '"two\r\nlines"', '"one\n\n\ntwo"', '"x ""y"""', '"\n"']
STRAY = ['5" pipe', 'say "no"', ' "a"', '6""', 'a"', '"a"b', '"', "a\rb"]


def random_file(seed: int) -> tuple[str, str]:
    """Return the text of a file, and its separator."""
    rng = random.Random(seed)
    width, separator = rng.choice([1, 1, 2, 3]), rng.choice(",,,;\t")
    cells = PLAIN + QUOTED * rng.randrange(2) + STRAY * (rng.random() < 0.4)
    end = rng.choice(["\n", "\n", "\r\n", "\r"])
    names = [rng.choice([f"c{j}", f'"c{j}"', f'c"{j}', f'"c\n{j}"'][: rng.choice([1, 2, 4])]) for j in range(width)]
    lines = [separator.join(names)]
    for _ in range(rng.randrange(1, 9)):
        n_cells = width if rng.random() < 0.98 else rng.randrange(1, 4)
        lines.append(separator.join(rng.choice(cells) for _ in range(n_cells)))
        if rng.random() < 0.25:
            lines += [rng.choice(["", "", " ", "   "])] * rng.randrange(1, 3)
    text = end.join(lines) + end * rng.randrange(3)
    return "\n" * rng.randrange(2) + (text.replace(end, "\n", 1) if rng.random() < 0.1 else text), separator
