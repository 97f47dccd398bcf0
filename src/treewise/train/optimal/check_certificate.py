"""Check the certificate of an optimal tree: plain Python, without treewise or any other library.

    python check_certificate.py FILE DATA.csv

A certificate (``certificate.py``) states a problem, a tree, its cost and a bound. This file reads the cells of the
table itself, adds up the cost of the tree, and proves the bound: no tree within the limits costs less. Costs are
integers; only entropy is compared in doubles, and how far its bound may be off is counted. A *goal* is "every tree of
at most this depth and number of leaves, on these rows, costs at least this value"; its proof is one of

    0                       depth two or less: stumps are added up, and a cut is skipped only by the two rules below
    ["like", i]             an earlier goal i, less the reach of its rows that are missing here
    ["cuts", whole, list]   for every order of a column, the cuts that were evaluated, with a goal for each side

Two rules close the cuts between evaluated ones. A side costs no less when rows are added. And where a row changes the
cost of a tree by at most its reach, a cut costs no less than another one, less the reach of the rows between them.

The answer names everything that the certificate chose: rows, weights, costs, columns, their tests and missing values.
"""

import csv
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, combinations, compress
from typing import Any

Rows = list[int]
Probe = tuple[int, float, float]  # the reach of the rows on the left of a cut, and what its sides cost at least
Columns = Mapping[str, Sequence[Any]]
TESTS = {"cuts": "cuts", "subset": "any set of levels", "one_value": "one level against the others"}
MAX_SET_LEVELS, MAX_RANKS, MAX_SLACK = 8, 10**8, 64


class CertificateError(Exception):
    """The certificate proves nothing about this table; the message says why."""


def require(holds: bool, message: str) -> None:
    """Refuse unless something holds."""
    if not holds:
        raise CertificateError(message)


def add(a: Sequence[int], b: Sequence[int], sign: int = 1) -> list[int]:
    """Return the sum or the difference of two vectors."""
    return [x + sign * y for x, y in zip(a, b, strict=True)]


def cell_text(cell: Any) -> str:
    """Return a cell as the level or class that it is called by."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return repr(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def number_of(cell: Any) -> Any:
    """Return a cell as a number; dates and other text stay text, and are compared as such."""
    try:
        return cell if isinstance(cell, (int, float)) else int(cell) if cell.isdecimal() else float(cell)
    except ValueError:
        return cell


def shown(name: Any) -> str:
    """Return a name as the answer writes it: quoted where it could be taken for something else."""
    text = cell_text(name)
    return text if text.isprintable() and not set(text) & set(',:;<>{}"') and text.strip() == text != "" else repr(text)


def listed(names: Any) -> str:
    """Return names with commas between them."""
    return ", ".join(map(shown, names))


def rank_columns(columns: Columns, c: Mapping[str, Any], rows: Rows, kinds: dict[str, list[str]]) -> Iterator[Any]:
    """Yield the orders of the columns: ranks of the rows, where a cut sends rank <= t to the left, and of what.

    ``kinds`` receives the names of the columns by their tests.
    """
    names = [column["name"] for column in c["columns"]]
    require(len({*names, c["target"]}) == len(names) + 1, "a column is listed twice, or is the target")
    for column in c["columns"]:
        name, levels, markers = column["name"], column["levels"], ["", *column["missing"]]
        require(name in columns, f'the table has no column "{name}"')
        cells = [columns[name][row] for row in rows]
        lacks = [x is None or x != x or cell_text(x).strip() in markers for x in cells]
        code_of = {level: i for i, level in enumerate(levels or ())}
        values = [
            None if lack else number_of(x) if levels is None else code_of.get(cell_text(x))
            for x, lack in zip(cells, lacks, strict=True)
        ]
        require([value is None for value in values] == lacks, f'column "{name}" has other levels')
        require(
            all(value is None or value == value for value in values), f'column "{name}" has cells that are no number'
        )
        distinct: list[Any] = sorted(set(values) - {None})
        rank_of = {value: i for i, value in enumerate(distinct)}
        code, n, has_gaps = [rank_of.get(value, -1) for value in values], len(distinct), any(lacks)
        tests, facts = column["tests"], (name, column["tests"], levels, values)
        require(tests in TESTS, "unknown tests")
        kind = TESTS[tests]
        if tests == "cuts" and levels is not None:
            kind += " in the order " + " < ".join(shown(levels[i]) for i in distinct)
        elif tests == "cuts" and any(isinstance(value, str) for value in distinct):
            kind += " in the order of the text"
        hidden = [
            cell_text(x).strip() for x, lack in zip(cells, lacks, strict=True) if lack and x is not None and x == x
        ]
        if set(hidden) - {""}:
            kind += f" where {listed(sorted({*hidden} - {''}))} counts as missing ({sum(map(bool, hidden))} cells)"
        kinds.setdefault(kind, []).append(name)
        if n == 0 or n + has_gaps < 2:
            continue
        if tests == "cuts":  # missing values below all others, then above them
            yield [i + has_gaps for i in code], facts
            if has_gaps:
                yield [n if i < 0 else i for i in code], facts
            continue
        is_subset = tests == "subset"
        require(not is_subset or n <= MAX_SET_LEVELS, "too many sets of levels")
        for size in range(1, (n if is_subset else 2) if n > 1 else 1):
            for chosen in combinations(range(is_subset, n), size):
                yield [int(i not in chosen) for i in code], facts
                if has_gaps:
                    yield [int(i not in chosen and i >= 0) for i in code], facts
        if has_gaps:
            yield [int(i >= 0) for i in code], facts


def leaf_shares(depth: int, leaves: int, n_rows: int) -> list[tuple[int, int]]:
    """Return how many leaves the two branches may have; more leaves never cost more, nor gain beyond one a row."""
    most = 1 << min(depth, 60) - 1
    if leaves >= min(2 * most, n_rows):
        return [(min(most, leaves),) * 2]
    return [(left, leaves - left) for left in range(max(1, leaves - most), min(most, leaves - 1) + 1)]


class Checker:
    """The integers of a problem, and the goals that are proven so far."""

    def __init__(self, c: Mapping[str, Any], columns: Columns) -> None:
        require(c["target"] in columns, f'the table has no column "{c["target"]}"')
        n = len(columns[c["target"]])
        used = list(range(n)) if c["used"] is None else list(c["used"])
        require(len(used) == c["rows"], f"the table has {len(used)} rows, and the certificate {c['rows']}")
        self.n_rows = n
        require(used == sorted(set(used)) and bool(used) and used[0] >= 0 and used[-1] < n, "wrong rows")
        weight = [1] * len(used) if c["weights"] is None else c["weights"]
        require(len(weight) == len(used) and all(type(w) is int and w > 0 for w in weight), "wrong weights")
        self.kind, units = c["objective"], [c["scale"] - 1, c["penalty"], c["shift"]]
        require(all(type(x) is int and x >= 0 for x in units), "wrong units")
        require(c["cost_unit"].replace("/", "", 1).isdecimal() and Fraction(c["cost_unit"]) > 0, "wrong units")
        self.scale, self.penalty, self.shift = (int(c[name]) for name in ("scale", "penalty", "shift"))
        self.has_reach = self.kind in ("error", "cost")  # sums of costs, of which a leaf takes the least
        added = list(self._vectors(c, [columns[c["target"]][row] for row in used], weight))
        self.kinds: dict[str, list[str]] = {}
        orders, self.facts = [], []
        for order, facts in rank_columns(columns, c, used, self.kinds):
            orders.append(order)
            self.facts.append(facts)
            require(len(orders) * len(used) <= MAX_RANKS, "too many columns and sets of levels")
        groups: dict[tuple[int, ...], int] = {}  # rows that no test tells apart are one
        keys = list(zip(*orders, strict=True)) if orders else [()] * len(used)
        self.group_of = [groups.setdefault(key, len(groups)) for key in keys]
        sums = [[0] * len(added[0]) for _ in groups]
        for group, vector in zip(self.group_of, added, strict=True):
            sums[group] = add(sums[group], vector)
        least = [min(s) if self.has_reach else 0 for s in sums]  # what the rows of a group cost in every tree
        self.vectors = [[a - low for a in s] for s, low in zip(sums, least, strict=True)]
        self.base, self.reach = [low * self.scale for low in least], [max(s) * self.scale for s in self.vectors]
        self.constant, self.k, total = sum(self.base), len(added[0]), sum(weight)
        self.orders = [list(order) for order in zip(*groups, strict=True)]
        self.tolerance: float = math.ldexp(1e-9 * total, 40 - self.shift) * self.scale if self.kind == "entropy" else 0
        self.unit = 1 / (Fraction(c["cost_unit"]) * total * self.scale)  # what a cost of 1 adds to the objective
        if not self.has_reach:
            top, step = (c["range"][2], Fraction(c["range"][1])) if self.kind == "squared_error" else (1 << 20, 1 << 20)
            require(self.shift == 0 or total * top * top >> self.shift >= 1 << 30, "costs are rounded too much")
            self.unit = (step / max(top, 1)) ** 2 * (1 << self.shift) / Fraction(total * self.scale)
            self.unit /= 1 if self.kind == "squared_error" else 1 << 40
        # For orders of two ranks, the vectors of rows of rank 1 side by side in one integer: sums of all at once.
        self.binary = [i for i, order in enumerate(self.orders) if max(order) == 1]
        self.numeric = [i for i, order in enumerate(self.orders) if max(order) > 1]
        self.size = (sum(map(sum, self.vectors)).bit_length() + 8) // 8
        self.packed = [self._pack(row) for row in range(len(groups))]
        self.goals: list[tuple[Rows, int, int, float, int]] = []  # the last: how many tolerances it may be off
        self.n_stumps = 0

    def _vectors(self, c: Mapping[str, Any], cells: list[Any], weight: Rows) -> Iterator[Rows]:
        """Yield what each row adds to a leaf: costs by predicted class, class counts, or moments of the target."""
        if self.kind == "squared_error":
            numbers, top = [float(cell) for cell in cells], c["range"][2]
            low, span = min(numbers), max(numbers) - min(numbers)
            require(all(map(math.isfinite, [*numbers, span])), "the target has cells that are no number")
            require(c["range"][:2] == [low, span] and type(top) is int, "wrong range")
            require(top >= 1 << 19 if span else top == 0, "wrong range")
            targets = [round((y - low) / span * top) if span else 0 for y in numbers]
            yield from ([w, w * y, w * y * y] for y, w in zip(targets, weight, strict=True))
            return
        class_number: dict[str, int] = {name: i for i, name in enumerate(c["classes"])}
        k, cost = len(class_number), c["cost"]
        if self.kind != "cost":
            require(self.kind in ("error", "gini", "entropy") and c["cost_unit"] == "1", "unknown objective")
            cost = [int((i == j) == (self.kind != "error")) for i in range(k) for j in range(k)]
        require(len(cost) == k * k == len(c["classes"]) ** 2, "wrong costs")
        require(all(type(x) is int and x >= 0 for x in cost), "wrong costs")
        for cell, w in zip(cells, weight, strict=True):
            require(cell_text(cell) in class_number, f'the target has another class, "{cell}"')
            y = class_number[cell_text(cell)]
            yield [w * x for x in cost[y * k : y * k + k]]

    def _pack(self, row: int) -> int:
        nothing, own = [0] * self.k, self.vectors[row]
        fields = sum((own if self.orders[order][row] else nothing for order in self.binary), start=own)
        return int.from_bytes(b"".join(field.to_bytes(self.size, "little") for field in fields), "little")

    def cost(self, s: Sequence[int]) -> float:
        """Return what a leaf costs without the penalty, given the sum of its vectors."""
        if self.has_reach:
            return min(s) * self.scale
        total = s[0] if self.kind == "squared_error" else sum(s)
        if not total:
            return 0
        if self.kind == "squared_error":
            return ((s[2] * total - s[1] * s[1]) // total >> self.shift) * self.scale
        if self.kind == "gini":
            return (((total * total - sum(n * n for n in s)) << 40) // total >> self.shift) * self.scale
        return math.ldexp(sum(n * math.log2(total / n) for n in s if n), 40 - self.shift) * self.scale

    def sums(self, rows: Rows) -> list[Rows]:
        """Return the sum of the vectors of some rows, and then those of rank 1 in each order of two ranks."""
        width = self.size * self.k
        data = sum(map(self.packed.__getitem__, rows)).to_bytes(width * (1 + len(self.binary)), "little")
        fields = [int.from_bytes(data[i : i + self.size], "little") for i in range(0, len(data), self.size)]
        return [fields[i : i + self.k] for i in range(0, len(fields), self.k)]

    def stump(self, rows: Rows, leaves: int = 2) -> float:
        """Return what the best tree of at most one test costs."""
        total, *ones = self.sums(rows)
        leaf = self.cost(total) + self.penalty
        if leaves == 1:
            return leaf
        self.n_stumps += 1
        best = min([math.inf, *(self.cost(one) + self.cost(add(total, one, -1)) for one in ones)])
        for order in self.numeric:
            rank, n_ranks = self.orders[order], max(self.orders[order]) + 1
            if self.has_reach and self.k == 2:  # the least sum follows from the extremes of one running sum
                steps = [0] * n_ranks
                for row in rows:
                    steps[rank[row]] += self.vectors[row][0] - self.vectors[row][1]
                runs = list(accumulate(steps))
                best = min(best, (total[1] + min(runs)) * self.scale, (total[0] - max(runs)) * self.scale)
                continue
            by_rank: dict[int, Rows] = {}
            for row in rows:
                s = by_rank.get(rank[row])
                by_rank[rank[row]] = self.vectors[row] if s is None else add(s, self.vectors[row])
            left = [0] * self.k
            for at in sorted(by_rank)[:-1]:
                left = add(left, by_rank[at])
                best = min(best, self.cost(left) + self.cost(add(total, left, -1)))
        return min(leaf, best + 2 * self.penalty)

    def prove(self, rows: Rows, depth: int, leaves: int, value: float, proof: Any) -> int:
        """Refuse unless every tree of the size costs at least ``value``, less the tolerances that are returned."""
        leaves, at_least, slack = min(leaves, 1 << min(depth, 60)), value - self.tolerance, 1
        require(self.stump(rows, 1) >= at_least, "a leaf costs less than stated")
        if leaves == 1 or value <= 2 * self.penalty:
            pass
        elif leaves == 2:
            require(self.stump(rows) >= at_least, "a tree of two leaves costs less than stated")
        elif proof == 0:
            require(depth == 2, "a proof is missing")
            for order in range(len(self.orders)):
                for share in leaf_shares(depth, leaves, len(rows)):
                    self._search(rows, order, share, at_least)
        elif proof[0] == "like":
            require(0 <= proof[1] < len(self.goals), "no such goal")
            earlier, its_depth, its_leaves, its_value, slack = self.goals[proof[1]]
            lost = set(earlier) - set(rows)
            require(its_depth >= depth and its_leaves >= leaves, "the earlier goal is about smaller trees")
            require(self.has_reach or not lost, "the earlier goal is about other rows")
            require(its_value - sum(self.reach[row] for row in lost) >= value, "the earlier goal says less")
        else:
            require(proof[0] == "cuts", "unknown kind of proof")
            slack = 2 * self._check_cuts(rows, depth, leaves, value, *proof[1:])
        require(not self.tolerance or slack <= MAX_SLACK, "the proof is too deep to be checked in doubles")
        self.goals.append((rows, depth, leaves, value, slack))
        return slack

    def _search(self, rows: Rows, order: int, share: tuple[int, int], at_least: float) -> None:
        """Evaluate the cuts of an order at depth two, as far as the rules leave any open."""
        cuts, reaches, start, end = self.cuts_of(rows, order, 2 * self.penalty)
        spans = [(0, len(cuts), start, end)]
        while spans:
            low, high, before, after = spans.pop()
            low, high = self.open_cuts(reaches, low, high, before, after, at_least)
            if low < high:
                middle = (low + high) // 2
                left, right = map(self.stump, self.sides_of(rows, order, cuts[middle]), share)
                require(left + right >= at_least, "a cut at depth two costs less than stated")
                probe = (reaches[middle], left, right)
                spans += [(low, middle, before, probe), (middle + 1, high, probe, after)]

    def _check_cuts(self, rows: Rows, depth: int, leaves: int, at_least: float, whole: Any, listed: Any) -> int:
        """Prove the goals of the listed cuts, and that the rules close all others; return the tolerances of a side."""
        slack = self.prove(rows, depth - 1, leaves, *whole)
        entries = {(order, left): cuts for order, left, cuts in listed}
        for order in range(len(self.orders)):
            cuts, reaches, start, end = self.cuts_of(rows, order, whole[0])
            for share in leaf_shares(depth, leaves, len(rows)):
                probes = {len(cuts): end}
                for cut, left, left_proof, right, right_proof in entries.get((order, share[0]), ()):
                    sides, at = self.sides_of(rows, order, cut), cuts.index(cut)
                    slack = max(slack, self.prove(sides[0], depth - 1, share[0], left, left_proof))
                    slack = max(slack, self.prove(sides[1], depth - 1, share[1], right, right_proof))
                    require(left + right >= at_least, "a listed cut costs less than stated")
                    probes[at] = (reaches[at], left, right)
                before, low = start, 0
                for at in sorted(probes):
                    first, last = self.open_cuts(reaches, low, at, before, probes[at], at_least)
                    require(first >= last, "cuts between the listed ones are open")
                    before, low = probes[at], at + 1
        return slack

    def sides_of(self, rows: Rows, order: int, cut: int) -> tuple[Rows, Rows]:
        """Return the rows on both sides of a cut."""
        is_left = [self.orders[order][row] <= cut for row in rows]
        return list(compress(rows, is_left)), list(compress(rows, [not side for side in is_left]))

    def cuts_of(self, rows: Rows, order: int, shallow: float) -> tuple[Rows, Rows, Probe, Probe]:
        """Return the cuts of an order, the reach left of each, and the ends, where all rows are on one side."""
        by_rank: dict[int, int] = {}
        for row in rows:
            by_rank[self.orders[order][row]] = by_rank.get(self.orders[order][row], 0) + self.reach[row]
        cuts = sorted(by_rank)
        reaches = list(accumulate(by_rank[cut] for cut in cuts))
        return cuts[:-1], reaches[:-1], (0, self.penalty, shallow), (reaches[-1], shallow, self.penalty)

    def open_cuts(self, reaches: Rows, low: int, high: int, before: Probe, after: Probe, at_least: float) -> Any:
        """Return the range of cuts between two evaluated ones that neither rule closes."""
        if before[1] + after[2] >= at_least:
            return low, low
        if self.has_reach:
            while low < high and before[1] + before[2] - (reaches[low] - before[0]) >= at_least:
                low += 1
            while low < high and after[1] + after[2] - (after[0] - reaches[high - 1]) >= at_least:
                high -= 1
        return low, high

    def tree_cost(self, nodes: Iterator[Any], rows: Rows, depth: int, lines: list[str], indent: str) -> Any:
        """Return what a tree costs, given in pre-order, and its leaves; add its lines."""
        order, cut = next(nodes)
        if order == -1:
            members = set(rows)
            lines.append(f"{indent}leaf of {sum(group in members for group in self.group_of)} rows")
            return self.stump(rows, 1), 1
        require(depth > 0 and 0 <= order < len(self.orders), "the tree is too deep, or has other columns")
        costs, n_leaves = 0, 0
        for words, side in zip((f"if {self.test(order, cut)}:", "else:"), self.sides_of(rows, order, cut), strict=True):
            lines.append(indent + words)
            cost, n = self.tree_cost(nodes, side, depth - 1, lines, indent + "  ")
            costs, n_leaves = costs + cost, n_leaves + n
        return costs, n_leaves

    def test(self, order: int, cut: int) -> str:
        """Say what sends a row to the left of a cut."""
        name, tests, levels, values = self.facts[order]
        ranks = self.orders[order]
        left = {value for value, group in zip(values, self.group_of, strict=True) if ranks[group] <= cut}
        present = [levels[value] if levels else value for value in sorted(left - {None})]
        text = f"{shown(name)} <= {shown(present[-1])}" if present and tests == "cuts" else ""
        text = text or (f"{shown(name)} in {{{listed(present)}}}" if present else "")
        return " or ".join(filter(None, [text, f"{shown(name)} is missing" if None in left else ""]))


def check(c: Any, columns: Columns) -> dict[str, Any]:
    """Return what a certificate proves about a table; raise ``CertificateError`` if it proves nothing."""
    require(isinstance(c, dict) and c.get("certificate") == "treewise 1", "the file is no certificate of this kind")
    tree: list[str] = []
    try:
        checker, depth, leaves, bound = Checker(c, columns), c["max_depth"], c["max_leaf_nodes"], c["bound"]
        require(type(depth) is int and type(leaves) is int and depth >= 0 and leaves >= 1, "wrong limits")
        rows, nodes = list(range(len(checker.vectors))), iter(c["tree"])
        cost, n_leaves = checker.tree_cost(nodes, rows, depth, tree, "  ")
        require(next(nodes, None) is None and n_leaves <= leaves, "the tree has too many nodes")
        require(abs(cost + checker.constant - c["cost_of_tree"]) <= checker.tolerance, "the tree costs otherwise")
        off = checker.tolerance * checker.prove(rows, depth, leaves, bound - checker.constant, c["proof"])
        is_proven, proven = bound >= c["cost_of_tree"], min(bound, c["cost_of_tree"])
        amounts = c["cost_of_tree"], proven, c["penalty"], Fraction(off)
        value, bounded, per_leaf, slack = (float(x * checker.unit) for x in amounts)
        statement = [*describe(c, checker), "Tree:", *tree]
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError, StopIteration) as e:
        raise CertificateError(f"the file is damaged ({type(e).__name__}: {e})") from None
    except MemoryError:
        raise CertificateError("the file asks for more memory than there is") from None
    least, size = bounded - slack, f"depth {depth} on {len(c['columns'])} columns"
    size += f" with {leaves} leaves" if leaves < 1 << min(depth, 60) else ""
    own = f"The {c['objective'].replace('_', ' ')} of the tree in the file is {value:.6g}"
    own += f" on {c['rows']} of {checker.n_rows} rows"
    own += f", with a penalty of {per_leaf:.6g} per leaf" if per_leaf else ""
    own += f", with the weights in the file ({min(c['weights'])} to {max(c['weights'])})" if c["weights"] else ""
    end = "has a smaller one" + (f" by more than {slack:.1g}" if slack else "")
    end = end if is_proven else f"has one below {least:.6g}"
    conclusion = "\n".join([f"{own}, and no tree of {size} {end}: checked.", *statement])
    facts = {"objective": value, "lower_bound": least, "is_proven": is_proven, "conclusion": conclusion}
    return facts | {"goals": len(checker.goals), "stumps": checker.n_stumps}


def describe(c: Mapping[str, Any], checker: Checker) -> Iterator[str]:
    """Yield what the statement is about, line by line."""
    classes = c["classes"] or ()
    yield f"Target: {shown(c['target'])}" + (f" ({listed(classes)})" if classes else "")
    if c["objective"] == "cost":
        pairs = [f"{shown(true)} as {shown(other)}" for true in classes for other in classes]
        costs = [x / Fraction(c["cost_unit"]) for x in c["cost"]]
        costs = [f"{pair} {float(cost):.6g}" for pair, cost in zip(pairs, costs, strict=True) if cost]
        yield f"Costs: {', '.join([*costs, 'all others 0' if costs else 'all 0'])}"
    yield "Tests:"
    for kind, names in checker.kinds.items():
        yield f"  {kind}: {listed(names)}"


def read_csv(path: str) -> dict[str, list[str]]:
    """Return the columns of a CSV file with commas."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        lines = [line for line in csv.reader(file) if line]
    require(len(lines) > 1, f"{path} has no rows")
    require(len(set(lines[0])) == len(lines[0]), f"{path} has two columns of the same name")
    for number, line in enumerate(lines[1:], 1):
        require(len(line) == len(lines[0]), f"row {number} of {path} has {len(line)} cells for {len(lines[0])} columns")
    return dict(zip(lines[0], map(list, zip(*lines[1:], strict=True)), strict=True))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python check_certificate.py FILE DATA.csv")
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            certificate = json.load(file)
        print(check(certificate, read_csv(sys.argv[2]))["conclusion"])
    except (CertificateError, OSError, ValueError, csv.Error, RecursionError) as refusal:
        sys.exit(f"Refused: {refusal}.")
