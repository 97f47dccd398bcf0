"""Assertions about error messages."""

import re

import pytest

import treewise as tw


def refused(call, *parts, error=tw.DataError):
    """Expect one sentence with these parts."""
    with pytest.raises(error) as caught:
        call()
    one_sentence(caught.value)
    for part in parts:
        assert part in str(caught.value)


def one_sentence(error):
    """Check what every message keeps: one line, an end, a way out, and no traceback of somebody else behind it."""
    said = str(error)
    assert said.isprintable(), said
    assert len(said) < 800, said
    assert said[-1] in ".?)", said
    assert not re.search(r"treewise\.\w|Traceback|nanobind|std::|0x[0-9a-f]{6}", said.replace("help(treewise", ""))
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
