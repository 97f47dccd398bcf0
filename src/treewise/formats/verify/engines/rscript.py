"""Engine "rscript": runs an R script in R."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from treewise.data.convert import TICKS_PER_DAY
from treewise.data.encoding import Encoding
from treewise.errors import DataError
from treewise.formats.verify.engines.binary_rows import read_outputs, write_rows
from treewise.formats.verify.engines.registry import Export, NotInstalled, Outputs
from treewise.formats.verify.fuzz import EngineLimits, Rows

LIMITS = EngineLimits(nul=False)
_DRIVER = """
source("model.R", encoding = "UTF-8", keep.source = FALSE)
texts <- function(file, n) {
  con <- file(file, "rb")
  lengths <- readBin(con, "integer", n, endian = "big")
  cells <- readChar(con, pmax(lengths, 0), useBytes = TRUE)
  close(con)
  Encoding(cells) <- "UTF-8"
  ifelse(lengths < 0, NA, cells)
}
cells <- function(kind, per_day, file, n) {
  if (kind == "number") return(readBin(file, "double", n, endian = "big"))
  x <- texts(file, n)
  if (kind == "boolean") return(as.logical(x))
  if (kind == "datetime") { # microseconds; a Date holds every day, other moments are given as ticks
    if (per_day == 1) return(as.Date(floor(as.numeric(x) / 86400e6), origin = "1970-01-01"))
    if (per_day == 86400) return(as.POSIXct(floor(as.numeric(x) / 1e6), origin = "1970-01-01", tz = "UTC"))
    cut <- 86400e6 / per_day
    return(if (cut <= 1) x else ifelse(is.na(x), NA, sprintf("%.0f", floor(as.numeric(x) / cut))))
  }
  x
}
data <- list(COLUMNS)
names(data) <- texts("names", length(data))
attr(data, "row.names") <- c(NA_integer_, -ROWS)
class(data) <- "data.frame"
out <- file("answers", "wb")
put <- function(x) writeBin(as.double(t(x)), out, endian = "big")
model <- get("MODEL")
prediction <- predict(model, data)
put(if (is.null(model$classes)) prediction else match(prediction, model$classes, incomparables = NA) - 1)
if (!is.null(model$classes)) put(predict(model, data, type = "probabilities"))
put(predict(model, data, type = "leaf"))
close(out)
labels <- enc2utf8(as.character(model$classes))
out <- file("classes", "wb")
writeBin(nchar(labels, "bytes"), out, endian = "big")
writeBin(as.raw(unlist(lapply(labels, charToRaw))), out)
close(out)
"""


def find() -> str:
    """Return the version of R."""
    if (rscript := shutil.which("Rscript")) is None:
        raise NotInstalled("no Rscript: install R")
    completed = subprocess.run([rscript, "--version"], check=True, capture_output=True, text=True)
    return (completed.stdout or completed.stderr).strip().replace("Rscript (R) version", "R").partition(" (")[0]


def run(export: Export, rows: Rows) -> Outputs:
    """Write the script, the rows and a driver, and run it."""
    inputs = export.program.inputs
    columns = ", ".join(_column(i, encoding, len(rows)) for i, encoding in enumerate(inputs))
    driver = _DRIVER.replace("COLUMNS", columns).replace("ROWS", f"{len(rows)}L").replace("MODEL", export.stamp["name"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "model.R").write_text(export.text, encoding="utf-8")
        (folder / "run.R").write_text(driver, encoding="utf-8")
        write_rows(folder, inputs, rows)
        command = ["Rscript", "--vanilla", "run.R"]
        completed = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
        if completed.returncode:
            raise DataError(f"the export does not run: {completed.stderr.strip()[-2000:]}")
        return read_outputs(folder, export.program, len(rows))


def _column(i: int, encoding: Encoding, n: int) -> str:
    per_day = TICKS_PER_DAY[encoding.unit] if encoding.kind == "datetime" else 0
    return f'cells("{encoding.kind}", {per_day}, "column{i}", {n})'
