"""Export format "sql": one SELECT that adds predictions to a table, as nested CASE, in nine dialects.

    SELECT *,
      CASE WHEN "flipper_length_mm" <= 206.5e0 THEN 'Adelie' ELSE 'Gentoo' END AS prediction,
      …
    FROM "data"

Conditions are written for three-valued logic: a comparison with NULL is not true, so NULL takes the ELSE or is named.
CASE nests no deeper than log2 of the tree's size (``Routine.code_lines``), so a tree of any depth is one expression. An
ensemble adds up its trees in their order, in a subquery of at most ``_TREES_PER_QUERY`` each, and predicts outside.

Several outputs of a tree are several CASEs. Where the dialect has fast lists, one CASE in a subquery gives the number
of the answer instead, and each output is an element of a list of constants: a tree is walked once for all of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

from treewise._lib.text import safe
from treewise.data.column import truncate
from treewise.errors import Param, ParameterError, did_you_mean
from treewise.formats.export.program import NO_ANSWER, BranchCondition, Program, Routine
from treewise.formats.export.sql.dialects import DIALECTS, Dialect
from treewise.formats.export.stamp import stamp
from treewise.tree.arrays import Label

OUTPUTS = ("prediction", "probabilities", "leaf")
_GENERATED = re.compile(r"prediction|(probability|leaf)(_\d+)?|treewise_.*")
# Columns of subqueries. A column of the table that has such a name would be read instead, so nobody must have it.
_ANSWER, _SUM = "treewise_answer", "treewise_sum"
_TREES_PER_QUERY = 300  # expressions nest one level per term of a sum, and engines allow 1,000 levels


def write(
    program: Program,
    *,
    dialect: str = "postgresql",
    table: str = "data",
    outputs: str | Sequence[str] = OUTPUTS,
    prefix: str = "",
) -> str:
    """Return the query: all columns of ``table``, and ``outputs`` in columns whose names begin with ``prefix``.

    >>> import treewise as tw
    >>> query = tw.parse("x <= 1 -> a\\nx > 1 -> b").export("sql", outputs="prediction")
    >>> print(query.partition("\\n")[2], end="")
    SELECT
      *,
      CASE
        WHEN "x" > 1e0 AND NOT "x" = 'NaN'::float8 THEN 'b'
        ELSE 'a'
      END AS "prediction"
    FROM "data"
    """
    chosen = check_outputs(outputs)
    printer = SqlPrinter(program, find_dialect(dialect), prefix)
    first = "-- " + stamp("sql", dialect=dialect, table=table, outputs=list(chosen), prefix=prefix)
    return "\n".join([first, *printer.notes(chosen), *printer.query(table_name(table, printer.dialect), chosen), ""])


def find_dialect(name: str) -> Dialect:
    """Return a dialect by its name."""
    if name not in DIALECTS:
        hint = did_you_mean(name, DIALECTS)
        raise ParameterError(f"must be one of {', '.join(DIALECTS)}.", parameter="dialect", value=name, hint=hint)
    return DIALECTS[name]


def table_name(table: str, dialect: Dialect) -> str:
    """Quote the name of a table; a dot separates it from its schema."""
    return ".".join(map(dialect.name_of, table.split(".")))


def check_outputs(outputs: str | Sequence[str]) -> tuple[str, ...]:
    """Return the chosen outputs in their order; text may list several, with commas between."""
    given = [name.strip() for name in outputs.split(",")] if isinstance(outputs, str) else list(outputs)
    unknown = next((name for name in given if name not in OUTPUTS), None)
    if unknown is not None or not given:
        hint = did_you_mean(str(unknown), OUTPUTS)
        raise ParameterError(f"must be some of {', '.join(OUTPUTS)}.", parameter="outputs", value=outputs, hint=hint)
    return tuple(name for name in OUTPUTS if name in given)


class SqlPrinter:
    """Prints a program in one dialect."""

    def __init__(self, program: Program, dialect: Dialect, prefix: str = "") -> None:
        self.program, self.dialect, self.prefix = program, dialect, prefix
        self.names = [dialect.name_of(encoding.name) for encoding in program.inputs]
        self._check_names()

    def _check_names(self) -> None:
        """Refuse columns that SQL cannot tell apart, or that an output column would hide."""
        first: dict[str, str] = {}
        for encoding in self.program.inputs:
            folded = encoding.name if self.dialect.has_case_in_names else encoding.name.casefold()
            if folded in first:
                raise ParameterError(
                    f'columns "{truncate(first[folded])}" and "{truncate(encoding.name)}" are the same name in'
                    f" {self.dialect.name}, which ignores case.",
                    hint="Rename one of them.",
                    column=encoding.name,
                )
            first[folded] = encoding.name
            own = encoding.name.casefold().removeprefix(self.prefix.casefold())
            if encoding.name.casefold().startswith(self.prefix.casefold()) and _GENERATED.fullmatch(own):
                raise ParameterError(
                    f'column "{truncate(encoding.name)}" has the name of an output column.',
                    hint="Set " + Param("prefix", ...) + ".",
                    column=encoding.name,
                )

    def output(self, name: str) -> str:
        """Return the quoted name of an output column."""
        return self.dialect.name_of(self.prefix + name)

    def notes(self, outputs: Sequence[str]) -> Iterator[str]:
        """Yield comments: which column is which class."""
        if "probabilities" in outputs:
            for k, label in enumerate(self.program.classes):
                note = f"-- {safe(self.prefix)}probability_{k}: probability of {safe(label)}"
                yield note.replace("${", "$ {")  # Spark puts in variables even there

    # -- queries --------------------------------------------------------------------------------------------------

    def query(self, source: str, outputs: Sequence[str]) -> list[str]:
        """Return the lines of the query on a table or subquery."""
        if self.program.combine != "tree":
            return self._ensemble_query(source, outputs)
        if self.dialect.lookup and len(self._tree_answers(outputs)) > 1:
            return self._lookup_query(source, outputs)
        return self._select(self.tree_columns(outputs), source)

    def _lookup_query(self, source: str, outputs: Sequence[str]) -> list[str]:
        """Return the query that finds the number of the answer in a subquery and looks each output up."""
        columns = {
            name: [self._lookup(map(text, values), _ANSWER)]
            for name, (values, text) in self._tree_answers(outputs).items()
        }
        inner = self._select({_ANSWER: self._answer_number(self.program.routines[0])}, source)
        return self._select(columns, inner, "answers", (_ANSWER,))

    def _answer_number(self, routine: Routine) -> list[str]:
        return self.case(routine, range(1, len(routine.answers) + 1), str)

    def _lookup(self, texts: Iterable[str], number: str) -> str:
        return self.dialect.lookup.format(", ".join(texts), self.output(number))

    def tree_columns(self, outputs: Sequence[str]) -> dict[str, list[str]]:
        """Return the output columns of a single tree: name → lines of the expression."""
        routine = self.program.routines[0]
        return {name: self.case(routine, *written) for name, written in self._tree_answers(outputs).items()}

    def _tree_answers(self, outputs: Sequence[str]) -> dict[str, tuple[list[Any], Callable[[Any], str]]]:
        """Return the output columns of a single tree: name → values by answer, and the function to write one."""
        answers, regression = self.program.routines[0].answers, self.program.is_regression
        columns: dict[str, tuple[list[Any], Callable[[Any], str]]] = {}
        if "prediction" in outputs:
            columns["prediction"] = (
                (_none_for_nan(answers.value), self.value_text) if regression else (answers.label, self.label_text)
            )
        if "probabilities" in outputs and not regression:
            for k, shares in enumerate(self.program.contributions(0).T.tolist()):
                columns[f"probability_{k}"] = _none_for_nan(shares), self.value_text
        if "leaf" in outputs:
            columns["leaf"] = answers.node, self.leaf_text
        return columns

    def _select(
        self,
        columns: dict[str, list[str]],
        source: str | list[str],
        alias: str = "",
        hidden: Sequence[str] = (),
    ) -> list[str]:
        """Return a query for all columns of the source but the hidden ones, where it can, and further ones."""
        every = self.dialect.all_but.format(", ".join(map(self.output, hidden))) if hidden else "*"
        lines = ["SELECT", f"  {every}," if columns else f"  {every}"]
        for i, (name, expression) in enumerate(columns.items()):
            lines += [f"  {line}" for line in expression]
            lines[-1] += f" AS {self.output(name)}" + ("," if i < len(columns) - 1 else "")
        if isinstance(source, str):
            return [*lines, f"FROM {source}"]
        return [*lines, "FROM (", *(f"  {line}" for line in source), f") AS {self.output(alias)}"]

    def _ensemble_query(self, source: str, outputs: Sequence[str]) -> list[str]:
        program = self.program
        n, terms = len(program.routines), self._term_names() if set(outputs) - {"leaf"} else []
        query: str | list[str] = source
        last = (n - 1) // _TREES_PER_QUERY
        for block in range(last + 1):
            trees = range(block * _TREES_PER_QUERY, min(n, (block + 1) * _TREES_PER_QUERY))
            numbers = [f"{_ANSWER}_{t}" for t in trees] if self.dialect.lookup else []
            if numbers:
                walks = {name: self._answer_number(program.routines[t]) for name, t in zip(numbers, trees, strict=True)}
                query = self._select(walks, query, f"before_{trees[0]}_trees")
            columns: dict[str, list[str]] = {}
            added = {t: program.contributions(t).T.tolist() for t in trees} if terms else {}
            hidden = list(numbers)
            for k, name in enumerate(terms):
                total: list[str] = []
                if block:
                    total = [self.output(f"{name}_of_{trees[0]}")]
                    hidden.append(f"{name}_of_{trees[0]}")
                for t in trees:
                    term = self._tree_term(t, _none_for_nan(added[t][k]), self.value_text)
                    total += [f"+ {term[0]}", *term[1:]] if total else term
                columns[name if block == last else f"{name}_of_{trees[-1] + 1}"] = total
            if "leaf" in outputs:
                for t in trees:
                    columns[f"leaf_{t}"] = self._tree_term(t, program.routines[t].answers.node, self.leaf_text)
            query = self._select(columns, query, f"first_{trees[0]}_trees", hidden)
        return self._combined(query, terms, outputs)

    def _tree_term(self, t: int, values: Sequence[Any], text: Callable[[Any], str]) -> list[str]:
        """Return an output of one tree of an ensemble: looked up, or as a CASE."""
        if self.dialect.lookup:
            return [self._lookup(map(text, values), f"{_ANSWER}_{t}")]
        return self.case(self.program.routines[t], values, text)

    def _term_names(self) -> list[str]:
        if self.program.is_regression:
            return [_SUM]
        return [f"{_SUM}_{k}" for k in range(len(self.program.classes))]

    def _combined(self, query: str | list[str], terms: list[str], outputs: Sequence[str]) -> list[str]:
        """Return the query that turns sums into predictions."""
        program = self.program
        if not terms:
            return list(query)
        sums = [self.output(term) for term in terms]
        unit = f" * {self.double(program.unit)}" if program.unit != 1.0 else ""
        means = [f"{total} / {self.double(float(program.divisor))}{unit}" for total in sums]
        if program.is_regression:
            return self._select({"prediction": [means[0]]}, query, "trees", terms)
        columns: dict[str, list[str]] = {}
        shares = means
        if program.combine == "vote":
            total = " + ".join(sums)
            shares = [
                f"{vote} / CASE WHEN {total} > {self.double(0.0)} THEN {total} ELSE {self.double(1.0)} END"
                for vote in sums
            ]
        if "probabilities" in outputs:
            columns = {f"probability_{k}": [share] for k, share in enumerate(shares)}
        if "prediction" in outputs:
            scores = sums if program.combine == "vote" else means
            columns = {"prediction": self._first_largest(scores), **columns}
        return self._select(columns, query, "trees", terms)

    def _first_largest(self, scores: list[str]) -> list[str]:
        """Return the class of the largest score, the first of equals; NULL if there is none."""
        lines = ["CASE", f"  WHEN {scores[0]} IS NULL THEN NULL"]
        for k in range(len(scores) - 1):
            tests = " AND ".join(f"{scores[k]} >= {other}" for other in scores[k + 1 :])
            lines.append(f"  WHEN {tests} THEN {self.label_text(k)}")
        return [*lines, f"  ELSE {self.label_text(len(scores) - 1)}", "END"]

    # -- one expression -------------------------------------------------------------------------------------------

    def case(self, routine: Routine, answers: Sequence[Hashable], text: Callable[[Any], str]) -> list[str]:
        """Return the lines of an expression; ``answers[i]`` stands for answer i and ``text`` writes it."""
        lines: list[str] = []
        open_cases = [False]  # whether the block at each depth has begun its CASE
        for line in routine.code_lines(answers):
            margin = "  " * (2 * line.depth)
            if line.kind == "if":
                assert line.condition is not None
                if not open_cases[line.depth]:
                    open_cases[line.depth] = True
                    lines.append(f"{margin}CASE")
                lines.append(f"{margin}  WHEN {self.condition(line.condition)} THEN")
                open_cases.append(False)
                if line.depth >= self.dialect.max_nesting:
                    raise ParameterError(f"the tree is too large for one expression of {self.dialect.name}.")
            elif line.kind == "answer":
                written = text(line.answer)
                if open_cases.pop():
                    lines += [f"{margin}  ELSE {written}", f"{margin}END"]
                elif lines:
                    lines[-1] += f" {written}"
                else:
                    lines.append(written)
        return lines

    def label_text(self, number: int) -> str:
        """Write a class; NULL for no answer."""
        return "NULL" if number == NO_ANSWER else self.literal(self.program.classes[number])

    def value_text(self, value: float | None) -> str:
        """Write a value or probability; NULL for no answer."""
        if value is None:
            return "NULL"
        if math.isinf(value):
            raise ParameterError("the tree predicts an infinite value, which not every SQL dialect can write.")
        return self.double(value)

    def double(self, value: float) -> str:
        """Write a double that is returned or computed with, with its type where the literal alone has another."""
        return self.dialect.double.format(self.dialect.number_of(value))

    def leaf_text(self, node: int) -> str:
        """Write a node number; NULL for no answer."""
        return "NULL" if node == NO_ANSWER else str(node)

    def literal(self, label: Label) -> str:
        """Write a class label in its type; text, if the classes have several types."""
        if len({type(each) for each in self.program.classes}) > 1 or isinstance(label, str):
            return self.dialect.text_of(str(label))
        if isinstance(label, bool):
            return self.dialect.true if label else self.dialect.false
        return self.double(label) if isinstance(label, float) else str(label)

    # -- conditions -----------------------------------------------------------------------------------------------

    def condition(self, condition: BranchCondition) -> str:
        """Write a condition so that it is true exactly for the values that it means."""
        name = self.names[condition.column]
        encoding = self.program.inputs[condition.column]
        if condition.op is None:
            tests = [self._boolean(condition, name)] if encoding.kind == "boolean" else [self._levels(condition, name)]
            tests = [test for test in tests if test]
            if condition.missing:
                tests.append(f"{name} IS NULL")
            return " OR ".join(tests) or "1 = 0"
        if encoding.kind == "number":
            return self._number(condition, name)
        if condition.below and condition.above:
            tests = [f"{name} IS NOT NULL"]
        elif not (condition.below or condition.above):
            tests = []
        elif encoding.kind == "datetime":
            moment = self.dialect.datetime_after(int(condition.cut), encoding)
            tests = [f"{self.dialect.datetime_column.format(name)} {'<' if condition.below else '>='} {moment}"]
        else:
            tests = [f"{name} {'<=' if condition.below else '>'} {condition.cut}"]
        return " OR ".join([*tests, *([f"{name} IS NULL"] if condition.missing else [])])

    def _number(self, condition: BranchCondition, name: str) -> str:
        dialect = self.dialect
        nan = dialect.nan.format(name)
        is_missing = f"{name} IS NULL OR {nan}" if nan else f"{name} IS NULL"
        if condition.below and condition.above:
            return f"{name} IS NOT NULL AND NOT {nan}" if nan else f"{name} IS NOT NULL"
        if not (condition.below or condition.above):
            return is_missing
        below, above = ("<=", ">") if condition.op == "<=" else ("<", ">=")
        test = f"{name} {below if condition.below else above} {dialect.number_of(condition.cut)}"
        if not condition.missing:
            return f"{test} AND NOT {nan}" if condition.above and nan and dialect.nan_is_largest else test
        if condition.above and dialect.nan_is_largest:
            return f"{test} OR {name} IS NULL"
        return f"{test} OR {is_missing}"

    def _boolean(self, condition: BranchCondition, name: str) -> str:
        codes = {0, 1} - set(condition.levels) if condition.negated else set(condition.levels)
        if len(codes) != 1:
            return f"{name} IS NOT NULL" if codes else ""
        return f"{name} = {self.dialect.true if codes == {1} else self.dialect.false}"

    def _levels(self, condition: BranchCondition, name: str) -> str:
        levels = self.program.inputs[condition.column].levels
        texts = [
            self.dialect.text_of(levels[code] + self.dialect.text_end)
            for code in condition.levels
            if self.dialect.can_hold(levels[code])
        ]
        if not texts:
            return f"{name} IS NOT NULL" if condition.negated else ""
        column = self.dialect.text.format(name)
        if len(texts) == 1:
            return f"{column} {'<>' if condition.negated else '='} {texts[0]}"
        return f"{column} {'NOT IN' if condition.negated else 'IN'} ({', '.join(texts)})"


def _none_for_nan(values: Sequence[float]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values]
