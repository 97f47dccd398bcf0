"""What an ensemble knows of how good it is: small values that are kept with it.

Stands below ``model.py``; whoever grows trees on a part of the rows fills them in.
"""

from __future__ import annotations

from dataclasses import dataclass

from treewise._lib.text import plural


@dataclass(frozen=True)
class OutOfBag:
    """How good the answers are on rows that a tree has not seen: each row is answered for by those trees alone.

    >>> print(OutOfBag(0.9375, 340, 344))
    out-of-bag score 0.9375 on 340 of 344 rows
    """

    score: float  # share of right answers, by the weights of rows alone; of numbers R²
    rows: int  # rows that some tree has not seen
    of: int  # all rows

    def __str__(self) -> str:
        return f"out-of-bag score {self.score:.4g} on {self.rows:,} of {plural(self.of, 'row')}"
