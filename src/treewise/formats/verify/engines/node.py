"""Engine "node": runs a JavaScript module in Node.js."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from treewise.data.convert import TICKS_PER_DAY
from treewise.data.encoding import Encoding
from treewise.errors import DataError
from treewise.formats.verify.engines.registry import Export, NotInstalled, Outputs
from treewise.formats.verify.fuzz import NS_PER_DAY, Cell, EngineLimits, Rows

LIMITS = EngineLimits(surrogates=True)
_MS = 1_000_000  # nanoseconds
# Cells that JSON cannot hold are arrays of one text; answers that it cannot hold come back the same way.
_DRIVER = """
import { readFileSync, writeFileSync } from "node:fs";
import * as model from "./model.mjs";
const special = { nan: NaN, inf: Infinity, "-inf": -Infinity, "-0": -0 };
const read = (cell) => {
  if (!Array.isArray(cell)) return cell;
  const [kind, text] = cell;
  return kind === "big" ? BigInt(text) : kind === "date" ? new Date(Number(text)) : special[text];
};
const write = (value) => {
  if (typeof value === "bigint") return ["big", String(value)];
  if (typeof value === "number" && !Number.isFinite(value)) return ["special", String(value)];
  return Array.isArray(value) ? ["list", value.map(write)] : value === undefined ? null : value;
};
const { names, columns, rows } = JSON.parse(readFileSync("rows.json", "utf8"));
const out = { prediction: [], probabilities: [], leaf: [] };
for (let i = 0; i < rows; ++i) {
  const row = Object.fromEntries(names.map((name, j) => [name, read(columns[j][i])]));
  out.prediction.push(write(model.predict(row)));
  out.leaf.push(write(model.apply(row)));
  if (model.predictProba) out.probabilities.push(write(model.predictProba(row)));
}
writeFileSync("out.json", JSON.stringify(out));
"""


def find() -> str:
    """Return the version of Node.js."""
    if (node := shutil.which("node")) is None:
        raise NotInstalled("no node: install Node.js")
    return f"Node.js {subprocess.run([node, '--version'], check=True, capture_output=True, text=True).stdout.strip()}"


def run(export: Export, rows: Rows) -> Outputs:
    """Write the module, the rows and a loop over them, and run it."""
    inputs = export.program.inputs
    columns = [[_to_json(cell, e) for cell in cells] for e, cells in zip(inputs, rows.cells, strict=True)]
    given = {"names": [encoding.name for encoding in inputs], "columns": columns, "rows": len(rows)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "model.mjs").write_text(export.text, encoding="utf-8")
        (folder / "run.mjs").write_text(_DRIVER, encoding="utf-8")
        (folder / "rows.json").write_text(json.dumps(given), encoding="utf-8")
        completed = subprocess.run(["node", "run.mjs"], cwd=folder, capture_output=True, text=True, check=False)
        if completed.returncode:
            raise DataError(f"the export does not run: {completed.stderr.strip()[-2000:]}")
        outputs = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    answers = {output: [_from_json(value) for value in values] for output, values in outputs.items()}
    return Outputs(answers["prediction"], answers["probabilities"] or None, answers["leaf"])


def _to_json(cell: Cell, encoding: Encoding) -> Any:
    """Return a cell for JSON: wide integers as BigInt, datetimes as Date where a millisecond is enough."""
    if cell is None or encoding.is_categorical:
        return cell
    if encoding.kind == "integer":
        return ["big", str(cell)]
    if encoding.kind == "datetime":
        if int(cell) % _MS == 0 and encoding.unit != "ns":
            return ["date", str(int(cell) // _MS)]
        return ["big", str(int(cell) // (NS_PER_DAY // TICKS_PER_DAY[encoding.unit]))]
    assert isinstance(cell, float)
    if math.isfinite(cell) and (cell or math.copysign(1, cell) > 0):
        return cell
    return ["special", "-0" if cell == 0 else str(cell)]


def _from_json(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    kind, content = value
    if kind == "list":
        return [_from_json(each) for each in content]
    return int(content) if kind == "big" else float(content.replace("Infinity", "inf"))
