"""Messages in the words of the command line: a parameter becomes the option that sets it.

Errors and notes refer to parameters by ``errors.Param``, so nothing is parsed here: user data is never rewritten.
"""

from __future__ import annotations

from typing import Any

from treewise._lib.text import safe
from treewise.errors import UNSET, Call, Given, Message, Param, PythonOnly, Reference, shown

# Options whose name is not that of the parameter; those of growing are in options.py.
_RENAMED = {"cls": "--class", "number": "--round", "n": "--trees", "na_values": "--na", "kinds": "--kind"}
_CALLS = {
    "tree.refit(data)": "treewise refit MODEL DATA",
    "help(treewise.grow)": "treewise grow --help",
    "print(tree)": "--all",
    '.render("csv")': "--format csv",
}


def in_options(message: str, **renamed: str) -> str:
    """Render a message of the Python interface for the command line; a plain string stays as it is.

    ``renamed`` are other options for some parameters, where the verb has none of its own.

    >>> in_options(Param("ignore", ["visit no"]) + " leaves it out.")
    '--ignore "visit no" leaves it out.'
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


def quote_word(text: str) -> str:
    """Write a word as it is typed in a shell: in quotes where the shell would split or expand it.

    >>> quote_word("visit_no"), quote_word("visit no")
    ('visit_no', '"visit no"')
    """
    is_plain = bool(text) and text.isascii() and all(ch.isalnum() or ch in "_-.=,…" for ch in text)
    return safe(text) if is_plain or text == "…" else f'"{safe(text)}"'


def _as_typed(reference: Reference, renamed: dict[str, str]) -> str:
    if isinstance(reference, PythonOnly):
        return ""
    if isinstance(reference, Call):
        return _CALLS.get(reference.code, reference.code)
    assert isinstance(reference, Param)
    option, value = renamed.get(reference.name) or option_name(reference.name), reference.value
    if value is UNSET or value is True:
        return option
    if value is False:
        return f"--no-{option[2:]}"
    if isinstance(reference, Given) and isinstance(value, str):
        return f"{option} {quote_word(shown(value).strip(chr(34)))}"
    return f"{option} {quote_word(_word(reference.name, value))}"


def _word(parameter: str, value: Any) -> str:
    """Return a value as one word: names separated by commas, ``Price=free<cheap``, ``yes=5``."""
    if value is ...:
        return _metavar(parameter)
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        between = "<" if parameter == "kinds" else ","
        pairs = ((name, _levels(each, between)) for name, each in value.items())
        return ",".join(f"{name}={each}" for name, each in pairs)
    return _levels(value, ",")


def _levels(value: Any, between: str) -> str:
    if isinstance(value, list | tuple):
        return between.join("…" if each is ... else str(each) for each in value)
    return "…" if value is ... else value if isinstance(value, str) else shown(value)


def _metavar(parameter: str) -> str:
    from treewise.cli.options import ENSEMBLE_OPTIONS, GROW_OPTIONS

    known = {each.parameter: each.metavar for each in (*GROW_OPTIONS, *ENSEMBLE_OPTIONS)}
    return known.get(parameter) or ("DATA" if parameter in ("data", "test") else parameter.upper())
