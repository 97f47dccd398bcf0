"""R scripts: what R gives that the engine does not, such as POSIXct with fractions, factors and integers as doubles."""

import datetime as dt
import shutil
import subprocess

import pytest

import treewise as tw
from treewise.errors import ParameterError

needs_r = pytest.mark.skipif(shutil.which("Rscript") is None, reason="Rscript: R is not installed")


def run_r(folder, tree, code):
    folder.joinpath("model.R").write_text(tree.export("r"), encoding="utf-8")
    completed = subprocess.run(
        ["Rscript", "--vanilla", "-e", f"source('model.R'); {code}"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert completed.returncode == 0, completed.stderr
    assert not completed.stderr
    return completed.stdout


@needs_r
def test_moments_as_r_has_them(tmp_path):
    start = dt.datetime(2024, 2, 28, 23, 59, 59)
    moments = [start + dt.timedelta(microseconds=each) for each in (0, 1, 2, 3)]
    tree = tw.grow({"t": moments, "y": list("aabb")}, "y")
    given = ", ".join(f'"{each:%Y-%m-%d %H:%M:%S.%f}"' for each in moments)
    code = f"cat(predict(model, data.frame(t = as.POSIXct(c({given}, NA), tz = 'UTC'))))"
    assert run_r(tmp_path, tree, code).split() == [*"aabb", tree.predict({"t": None})]
    days = "cat(predict(model, data.frame(t = as.Date(c('2024-02-28', '2024-02-29')))))"
    assert run_r(tmp_path, tree, days).split() == ["a", "b"]


@needs_r
def test_factors_wide_integers_and_no_rows(tmp_path):
    tree = tw.grow({"z": list("uuvvww"), "id": [2**60 + i * 256 for i in range(6)], "y": [1, 1, 2, 2, 3, 3]}, "y")
    code = (
        "d <- data.frame(z = factor(c('u', 'v', 'w')), id = c(2^60, 2^60 + 512, 2^60 + 1280)); cat(predict(model, d))"
    )
    assert run_r(tmp_path, tree, code).split() == ["1", "2", "3"]
    none = "d <- data.frame(z = character(0), id = character(0)); cat(nrow(d), dim(predict(model, d, 'prob')))"
    assert run_r(tmp_path, tree, none).split() == ["0", "0", "3"]


@needs_r
def test_two_models_and_wrong_calls(tmp_path):
    tmp_path.joinpath("size.R").write_text(tw.parse("x <= 1 -> 2.5\nx > 1 -> 7.25").export("r", name="size"))
    code = (
        "source('size.R'); d <- data.frame(x = c(0, 2)); cat(predict(size, d), predict(model, d));"
        " for (call in list(quote(predict(model, list2DF())), quote(predict(size, d, type = 'prob'))))"
        " cat('', tryCatch(eval(call), error = conditionMessage))"
    )
    assert run_r(tmp_path, tw.parse("x <= 1 -> a\nx > 1 -> b"), code) == (
        "2.5 7.25 a b there is no column x numbers are predicted, which have no probabilities"
    )


def test_what_r_cannot_hold():
    with pytest.raises(ParameterError, match="must be a name in R"):
        tw.parse("x <= 1 -> a\nx > 1 -> b").export("r", name="2 models")
    tree = tw.grow({"a\0b": [1, 2, 3, 4], "y": list("ppqq")}, "y")
    with pytest.raises(ParameterError, match=r'column "a\\x00b" contains the character NUL, which R texts cannot'):
        tree.export("r")
