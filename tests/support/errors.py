"""Assertions about error messages."""

import re

import pytest

import treewise as tw


def assert_refused(call, *parts, error=tw.DataError):
    """Assert that a call raises an error whose message contains these parts."""
    with pytest.raises(error) as caught:
        call()
    check_message(caught.value)
    for part in parts:
        assert part in str(caught.value)


def check_message(error):
    """Check a message: one printable line ending in punctuation, no internals, and no chained exception."""
    message = str(error)
    assert message.isprintable(), message
    assert len(message) < 800, message
    assert message[-1] in ".?)", message
    assert not re.search(r"treewise\.\w|Traceback|nanobind|std::|0x[0-9a-f]{6}", message.replace("help(treewise", ""))
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
