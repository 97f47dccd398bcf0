"""Values of options: parse what is typed into Python values, and render parameters in messages as options.

Below ``options.py`` and the verbs. A parser checks the form of a value; the Python interface checks its
meaning. Errors and notes refer to parameters by ``errors.Param``, so messages are rendered without parsing them, and
user data is never rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from click import BadParameter

from treewise._lib.text import safe
from treewise.errors import UNSET, Call, Given, Message, Param, PythonOnly, Reference, brief

_QUOTED = r'"[^"]*"'


def read_names(text: str) -> list[str]:
    """Read column names: ``id,name``; quotes around a name protect its commas.

    >>> read_names('id, "last, first"')
    ['id', 'last, first']
    """
    return _split_outside_quotes(text, ",")


def read_numbers(text: str) -> list[float]:
    """Read numbers, whole ones as such.

    >>> read_numbers("1, 2,0.5")
    [1, 2, 0.5]
    """
    try:
        return [int(part) if part.strip().lstrip("+-").isdigit() else float(part) for part in text.split(",")]
    except ValueError:
        raise BadParameter(f'"{text}" is not numbers separated by commas, such as 1,2,4,8.') from None


def read_kind(text: str) -> tuple[str, Any]:
    """Read what a column is: a kind by name, levels in their order, or a set of levels.

    >>> read_kind("GPA=nominal"), read_kind("Price=free<cheap"), read_kind("Hunger={a}")
    (('GPA', 'nominal'), ('Price', ['free', 'cheap']), ('Hunger', frozenset({'a'})))
    """
    column, kind = split_at_equals(text)
    if not column or not kind:
        raise BadParameter(f'"{text}" is not COLUMN=KIND, such as GPA=nominal or "Price=free<cheap".')
    if kind.startswith("{") and kind.endswith("}"):
        return column, frozenset(_split_outside_quotes(kind[1:-1], ","))
    levels = _split_outside_quotes(kind, "<")
    return column, levels if len(levels) > 1 else kind


def read_feature_cost(text: str) -> tuple[str, float]:
    """Read what measuring a column costs.

    >>> read_feature_cost("MRI=500")
    ('MRI', 500.0)
    """
    column, cost = split_at_equals(text)
    try:
        return column, float(cost or "")
    except ValueError:
        raise BadParameter(f'"{text}" is not COLUMN=COST, such as MRI=500.') from None


def read_group(text: str) -> list[str]:
    """Read a group of columns, given once for each group: ``age,dose``."""
    return read_names(text)


def read_sign(text: str) -> tuple[str, int]:
    """Read the direction of a monotone column.

    >>> read_sign("age=+1"), read_sign("distance=-1")
    (('age', 1), ('distance', -1))
    """
    column, sign = split_at_equals(text)
    if not column or sign not in ("+1", "1", "-1", "0"):
        raise BadParameter(f'"{text}" is not COLUMN=SIGN, such as age=+1 or distance=-1.')
    return column, int(sign)


def read_count_or_share(text: str) -> int | float:
    """Read a number of rows, or a share of them: ``20`` or ``0.05``."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise BadParameter(f'"{text}" is neither a number of rows nor a share of them.') from None


def read_feature_count(text: str) -> int | float | str:
    """Read how many columns: a rule by name, a number or a share of them: ``sqrt``, ``4`` or ``0.5``.

    >>> read_feature_count("sqrt"), read_feature_count("4"), read_feature_count("0.5")
    ('sqrt', 4, 0.5)
    """
    try:
        return read_count_or_share(text)
    except BadParameter:
        return text


def read_share_or_name(text: str) -> float | str:
    """Read a share of the rows, or the name of a table: ``0.3`` or ``valid.csv``."""
    try:
        return float(text)
    except ValueError:
        return text


def read_method(text: str) -> str | dict[str, Any]:
    """Read a pruning method, with its options after a colon.

    >>> read_method("cv"), read_method("gain:threshold=0.02,measure=criterion")
    ('cv', {'method': 'gain', 'threshold': 0.02, 'measure': 'criterion'})
    """
    name, _, options = text.partition(":")
    if not options:
        return name
    return {"method": name, **dict(_read_setting(part) for part in _split_outside_quotes(options, ",", keep=True))}


def write_method(method: str | Mapping[str, Any]) -> str:
    """Write a pruning method as ``read_method`` reads it.

    >>> write_method("cv"), write_method({"method": "cv", "loss": "auc", "rule": "best"})
    ('cv', 'cv:loss=auc,rule=best')
    """
    if isinstance(method, str):
        return method
    options = ",".join(f"{name}={value}" for name, value in method.items() if name != "method")
    return f"{method['method']}:{options}"


def _read_setting(text: str) -> tuple[str, Any]:
    """Read an option of a method: a number, true or false, or a word."""
    name, value = split_at_equals(text)
    if not name or not value:
        raise BadParameter(f'"{text}" is not OPTION=VALUE, as in gain:threshold=0.02.')
    for read in (int, float):
        try:
            return name, read(value)
        except ValueError:
            continue
    return name, {"true": True, "false": False}.get(value.lower(), value)


def read_fixed(text: str) -> tuple[str, str | None]:
    """Read the value of a fixed column; empty means missing.

    >>> read_fixed("sex=male"), read_fixed("age=")
    (('sex', 'male'), ('age', None))
    """
    column, value = split_at_equals(text)
    if not column or value is None:
        raise BadParameter(f'"{text}" is not COLUMN=VALUE, such as sex=male (age= for a missing one).')
    return column, value or None


def read_varied(text: str) -> tuple[str, list[float]]:
    """Read a parameter and its values.

    >>> read_varied("max_depth=1,2,4")
    ('max_depth', [1, 2, 4])
    """
    name, values = split_at_equals(text)
    if not name or not values:
        raise BadParameter(f'"{text}" is not PARAMETER=A,B,…, such as max_depth=1,2,4.')
    return name.replace("-", "_"), read_numbers(values)


def read_at(text: str) -> list[int]:
    """Read node numbers: ``5,9``."""
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise BadParameter(f'"{text}" is not a list of node numbers, such as 5,9.') from None


def read_row_numbers(text: str) -> list[int]:
    """Read numbers of rows: ``1,5``."""
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise BadParameter(f'"{text}" is not a list of row numbers, such as 1,5.') from None


def read_class_weight(text: str) -> str | dict[str, float]:
    """Read weights of classes.

    >>> read_class_weight("balanced"), read_class_weight("yes=5, no=1"), read_class_weight("<=50K=1,>50K=3")
    ('balanced', {'yes': 5.0, 'no': 1.0}, {'<=50K': 1.0, '>50K': 3.0})
    """
    if "=" not in text:
        return text
    return dict(_read_number_of(part, "CLASS=WEIGHT, such as yes=5") for part in _split_outside_quotes(text, ",", True))


def read_words(text: str) -> dict[str, str]:
    """Read texts for classes or columns; quotes protect commas.

    >>> read_words('0=stays, 1="leaves, for good"')
    {'0': 'stays', '1': 'leaves, for good'}
    """
    words = {}
    for part in _split_outside_quotes(text, ",", keep=True):
        name, word = split_at_equals(part)
        if not name or not word:
            raise BadParameter(f'"{part}" is not NAME=TEXT, such as 0=stays or Balance=€.')
        words[name] = _unquote(word)
    return words


def read_shares(text: str) -> dict[str, float]:
    """Read a share for each class.

    >>> read_shares("no=0.9, yes=0.1")
    {'no': 0.9, 'yes': 0.1}
    """
    return dict(
        _read_number_of(part, "CLASS=SHARE, such as yes=0.1") for part in _split_outside_quotes(text, ",", True)
    )


def read_costs(text: str) -> dict[str, dict[str, float]]:
    """Read what mistakes cost: the true class, the predicted one, and the cost.

    >>> read_costs("bad:good=5"), read_costs('"a:b":c=2, c:"a:b"=3'), read_costs("<=50K:>50K=2")
    ({'bad': {'good': 5.0}}, {'a:b': {'c': 2.0}, 'c': {'a:b': 3.0}}, {'<=50K': {'>50K': 2.0}})
    """
    form = "TRUE:PREDICTED=COST, such as bad:good=5 (a bad one taken for good costs 5)"
    costs: dict[str, dict[str, float]] = {}
    for part in _split_outside_quotes(text, ",", keep=True):
        pair, cost = _read_number_of(part, form)
        classes = _split_outside_quotes(pair, ":")
        if len(classes) != 2:
            raise BadParameter(f'"{part}" is not {form}.')
        costs.setdefault(classes[0], {})[classes[1]] = cost
    return costs


def read_bound(text: str) -> tuple[str, float]:
    """Read a name and a number: ``accuracy=0.85``."""
    return _read_number_of(text, "NAME=NUMBER, such as accuracy=0.85")


def _read_number_of(text: str, form: str) -> tuple[str, float]:
    """Read a name and its number, which follows the last equals sign.

    >>> _read_number_of("<=50K=1.5", "CLASS=WEIGHT")
    ('<=50K', 1.5)
    """
    name, _, value = text.rpartition("=")
    try:
        if name.strip():
            return _unquote(name.strip()), float(value)
    except ValueError:
        pass
    raise BadParameter(f'"{text}" is not {form}.')


def read_row(text: str) -> dict[str, str | None]:
    """Read a single row; nothing after the equals sign is a missing value.

    >>> read_row('GPA=3.7, University="top, 20", Published=')
    {'GPA': '3.7', 'University': 'top, 20', 'Published': None}
    """
    cells: dict[str, str | None] = {}
    for part in _split_outside_quotes(text, ",", keep=True):
        name, cell = split_at_equals(part)
        if not name or cell is None:
            last = list(cells.values())[-1:]  # of "x=3,14"
            is_decimal = part.isdecimal() and bool(last) and (last[0] or "").isdecimal()
            hint = f" If the comma before it is a decimal mark, write a point: {last[0]}.{part}." if is_decimal else ""
            raise BadParameter(f'"{part}" is not COLUMN=VALUE, as in --row "age=31, town=Rome".{hint}')
        if name in cells:
            raise BadParameter(f'column "{name}" is given twice.')
        cells[name] = _unquote(cell) or None
    if not cells:
        raise BadParameter('the row is empty. Give it as --row "age=31, town=Rome".')
    return cells


def split_at_equals(text: str) -> tuple[str, str | None]:
    """Split a name from its value; a name that contains ``=`` is quoted. None: there is no equals sign.

    >>> split_at_equals("a = 1"), split_at_equals('"a=b"=1'), split_at_equals("a")
    (('a', '1'), ('a=b', '1'), ('a', None))
    """
    match = re.fullmatch(rf"\s*({_QUOTED}|[^=]*?)\s*=(.*)", text, re.DOTALL)
    return (_unquote(match[1]), match[2].strip()) if match else (text.strip(), None)


def _split_outside_quotes(text: str, separator: str, keep: bool = False) -> list[str]:
    """Split at a separator, those inside double quotes excepted; ``keep`` leaves the quotes on.

    >>> _split_outside_quotes('a, "b, c",d', ",")
    ['a', 'b, c', 'd']
    """
    parts = re.findall(rf"(?:{_QUOTED}|[^{re.escape(separator)}])+", text)
    return [part.strip() if keep else _unquote(part.strip()) for part in parts if part.strip()]


def _unquote(text: str) -> str:
    """Remove enclosing double quotes."""
    return text[1:-1] if re.fullmatch(_QUOTED, text) else text


# Options whose name is not that of the parameter; those of growing are in options.py.
_RENAMED = {"cls": "--class", "number": "--round", "n": "--trees", "na_values": "--na", "kinds": "--kind"}
_CALLS = {
    "tree.refit(data)": "treewise refit MODEL DATA",
    "tree.with_cost(…)": "treewise grow --cost",
    "tree.prune(max_depth=…)": "treewise prune MODEL --max-depth N",
    "predict_proba": "--proba",
    "help(treewise.grow)": "treewise grow --help",
    "print(tree)": "--all",
    '.render("csv")': "--format csv",
}


def in_options(message: str, **renamed: str) -> str:
    """Render a message of the Python interface for the command line; a plain string stays as it is.

    ``renamed`` are other options for some parameters, where the verb has none of its own; one that ends with "=" takes
    its value without a space.

    >>> in_options(Param("ignore", ["visit no"]) + " leaves it out.")
    '--ignore "visit no" leaves it out.'
    >>> in_options(Param("prefix", "x_") + " is free.", prefix="--option prefix=")
    '--option prefix=x_ is free.'
    >>> in_options("max_depth=3")
    'max_depth=3'
    """
    return message.render(lambda part: _as_typed(part, renamed)) if isinstance(message, Message) else message


def option_name(parameter: str) -> str:
    """Return the option that sets a parameter.

    >>> option_name("max_depth"), option_name("kinds")
    ('--max-depth', '--kind')
    """
    return _RENAMED.get(parameter, "--" + parameter.replace("_", "-"))


def _quote_word(text: str) -> str:
    """Write a word as it is typed in a shell: in quotes where the shell would split or expand it.

    >>> _quote_word("visit_no"), _quote_word("visit no")
    ('visit_no', '"visit no"')
    """
    is_plain = bool(text) and text.isascii() and all(ch.isalnum() or ch in "_-.=,:…" for ch in text)
    return safe(text) if is_plain or text == "…" else f'"{safe(text)}"'


def _as_typed(reference: Reference, renamed: dict[str, str]) -> str:
    if isinstance(reference, PythonOnly):
        return ""
    if isinstance(reference, Call):
        return _CALLS.get(reference.code, reference.code)
    assert isinstance(reference, Param)
    option, value = renamed.get(reference.name) or option_name(reference.name), reference.value
    if value is UNSET or value is True:
        return option.removesuffix("=")
    if value is False:
        return f"--no-{option[2:]}"
    space = "" if option.endswith("=") else " "
    if isinstance(reference, Given) and isinstance(value, str):
        return f"{option}{space}{_quote_word(brief(value).strip(chr(34)))}"
    return f"{option}{space}{_quote_word(_word(reference.name, value))}"


def _word(parameter: str, value: Any) -> str:
    """Return a value as one word: names separated by commas, ``Price=free<cheap``, ``yes=5``."""
    if value is ...:
        return _metavar(parameter)
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        between = "<" if parameter == "kinds" else ","
        pairs = ((name, _levels(item, between)) for name, item in value.items() if name != "method")
        method = f"{value['method']}:" if parameter == "pruning" else ""
        return method + ",".join(f"{name}={item}" for name, item in pairs)
    return _levels(value, ",")


def _levels(value: Any, between: str) -> str:
    if isinstance(value, list | tuple):
        return between.join("…" if level is ... else str(level) for level in value)
    return "…" if value is ... else value if isinstance(value, str) else brief(value)


def _metavar(parameter: str) -> str:
    from treewise.cli.options import ENSEMBLE_OPTIONS, GROW_OPTIONS

    metavars = {option.parameter: option.metavar for option in (*GROW_OPTIONS, *ENSEMBLE_OPTIONS)}
    return metavars.get(parameter) or ("DATA" if parameter in ("data", "test") else parameter.upper())
