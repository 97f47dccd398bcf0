"""``huffman_code``: the code behind "the average number of bits needed to transmit Y" (Bengio's slides).

No code needs fewer bits on average than the entropy. Huffman's (1952) joins the two rarest values again and again, and
needs the fewest of all codes that give each value a word of its own: less than one bit more than the entropy, and
exactly the entropy where all probabilities are powers of 1/2.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from treewise._lib.result_table import ColumnSpec, Displayable, ResultTable
from treewise._lib.text import format_rounded
from treewise.errors import ParameterError
from treewise.explain.worked.closed_form import as_fraction
from treewise.train.criteria import entropy


@dataclass(frozen=True, repr=False)
class HuffmanCode(Displayable):
    """A code word of 0s and 1s for each value; ``mean_bits`` is its average length, never less than ``entropy``.

    >>> code = huffman_code({"a": 1/2, "b": 1/4, "c": 1/8, "d": 1/8})
    >>> code.words, code.mean_bits, code.entropy
    ({'a': '0', 'b': '10', 'c': '110', 'd': '111'}, 1.75, 1.75)
    >>> code.encode("abad"), code.decode("0100111")
    ('0100111', ['a', 'b', 'a', 'd'])
    """

    words: Mapping[Any, str]
    probabilities: Mapping[Any, float]

    @property
    def mean_bits(self) -> float:
        """The average length of a word."""
        return math.fsum(p * len(self.words[value]) for value, p in self.probabilities.items())

    @property
    def entropy(self) -> float:
        """The entropy in bits, which no code can go below."""
        return entropy(list(self.probabilities.values()))

    def encode(self, values: Sequence[Any]) -> str:
        """Return the words of some values in a row."""
        return "".join(self.words[value] for value in values)

    def decode(self, bits: str) -> list[Any]:
        """Return the values of a row of words: no word begins another, so it can be read from left to right."""
        by_word = {word: value for value, word in self.words.items()}
        values, word = [], ""
        for bit in bits:
            word += bit
            if word in by_word:
                values.append(by_word[word])
                word = ""
        if word:
            raise ParameterError(f'ends within a word: "{word}".', parameter="bits")
        return values

    def result_table(self) -> ResultTable:
        """Lay out one value per line."""
        columns = (
            ColumnSpec("value", "label"),
            ColumnSpec("probability", "number", title="p", formatter=_share_text),
            ColumnSpec("word"),
            ColumnSpec("bits", "count"),
            ColumnSpec("ideal", "number", title="−log₂ p"),
        )
        rows = [
            (value, p, self.words[value], len(self.words[value]), -math.log2(p))
            for value, p in self.probabilities.items()
        ]
        mean, entropy = format_rounded(self.mean_bits), format_rounded(self.entropy)
        relation = "as few as any code can" if math.isclose(self.mean_bits, self.entropy) else f"at least H = {entropy}"
        below = (f"average number of bits: {mean}, {relation}; the entropy H is {entropy} bits",)
        return ResultTable("Huffman code", columns, rows, below=below, row_name="value")


def huffman_code(probabilities: Mapping[Any, float] | Sequence[float]) -> HuffmanCode:
    """Return the code of fewest bits on average for values of these probabilities (or counts).

    A list names its values 0, 1, …; values of probability 0 are left out.

    >>> print(huffman_code({"star": 5, "dot": 2}))
    Huffman code
    value    p  word  bits  −log₂ p
    star   5/7  0        1  0.48543
    dot    2/7  1        1   1.8074
    average number of bits: 1, at least H = 0.86312; the entropy H is 0.86312 bits
    """
    named = dict(probabilities) if isinstance(probabilities, Mapping) else dict(enumerate(probabilities))
    entropy(list(named.values()))  # raises for anything but counts or probabilities
    total = math.fsum(float(p) for p in named.values())
    shares = {value: float(p) / total for value, p in named.items() if p > 0}
    order = count()
    groups: list[tuple[float, int, list[Any]]] = [(p, next(order), [value]) for value, p in shares.items()]
    heapq.heapify(groups)
    words = {value: "" if len(shares) > 1 else "0" for value in shares}
    while len(groups) > 1:
        low, high = heapq.heappop(groups), heapq.heappop(groups)
        for bit, (_, _, values) in (("1", low), ("0", high)):
            for value in values:
                words[value] = bit + words[value]
        heapq.heappush(groups, (low[0] + high[0], next(order), [*high[2], *low[2]]))
    return HuffmanCode(_in_order_of_length(words, shares), shares)


def _in_order_of_length(words: Mapping[Any, str], shares: Mapping[Any, float]) -> dict[Any, str]:
    """Give words of the same lengths in counting order, likelier values first: 0, 10, 110, 111 (a canonical code)."""
    ordered = sorted(words, key=lambda value: (len(words[value]), -shares[value]))
    codes: dict[Any, str] = {}
    number, length = 0, len(words[ordered[0]])
    for value in ordered:
        number <<= len(words[value]) - length
        length = len(words[value])
        codes[value] = format(number, f"0{length}b")
        number += 1
    return {value: codes[value] for value in shares}


def _share_text(share: float) -> str:
    exact = as_fraction(share)
    return str(exact) if exact is not None and exact.denominator <= 999 else format_rounded(share)
