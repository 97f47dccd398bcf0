// Beside the picture: a form to predict a row, and the details of the selected node. Fifth file of the module.

const MANY_LEVELS = 300, MAX_ROWS = 50;
const NANOSECONDS = { D: 86400000000000n, s: 1000000000n, ms: 1000000n, us: 1000n, ns: 1n };
const DATE = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)? ?(Z|[-+]\d{2}:?\d{2})?)?$/;
const NUMBER = /^[-+]?(\d{1,3}(,\d{3})+|\d*)(\.\d*)?(e[-+]?\d+)?$/i;

// -- prediction form: empty fields are unknown -------------------------------------------------------------------

class PredictionForm {
  constructor(form, output, model, boxes, onChange) {
    Object.assign(this, { form, output, model, boxes, onChange, fields: new Map() });
    for (const column of model.usedColumns) this.form.append(this.field(column));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", (event) => {
      for (const field of this.fields.values()) if (field.control === event.target) field.given = undefined;
      this.update();
    });
  }

  field(column) {
    const what = this.model.facts.columns[column], id = `input-${column}`;
    const control = what.levels && what.levels.length <= MANY_LEVELS ? this.selectInput(what, id) : this.textInput(what, id);
    const error = element("span", { class: "error", id: `${id}-error`, role: "alert" });
    const missingButton = what.levels && what.levels.length <= MANY_LEVELS ? null
      : element("button", { type: "button", class: "small", "aria-pressed": "false", onclick: (event) => {
        const on = event.currentTarget.getAttribute("aria-pressed") !== "true";
        event.currentTarget.setAttribute("aria-pressed", String(on));
        if (on) control.value = "";
        control.disabled = on;
        this.fields.get(column).given = undefined;
        this.update();
      } }, "missing");
    const warning = element("span", { class: "outside", role: "status" });
    const range = what.range ? [element("small", { class: "muted", id: `${id}-range` }, what.range.text)] : [];
    if (what.range) control.setAttribute("aria-describedby", `${id}-range`);
    this.fields.set(column, { control, missingButton, error, warning, what });
    return element("div", { class: "field" }, element("label", { for: id }, what.name, ...range), control, ...(missingButton ? [missingButton] : []), error, warning);
  }

  selectInput(what, id) {
    const options = [["", "don’t know"], ...what.levels.map((level, code) => [String(code), level]), ["missing", "(missing)"], ["unseen", "(some other value)"]];
    if (what.kind === "boolean") options.pop();
    return element("select", { id }, ...options.map(([value, text]) => element("option", { value }, text)));
  }

  textInput(what, id) {
    const list = what.levels ? element("datalist", { id: `${id}-levels` }, ...what.levels.slice(0, 2000).map((level) => element("option", { value: level }))) : null;
    if (list) this.form.append(list);
    const example = what.kind === "datetime" ? "don’t know (2024-03-15)" : "don’t know";
    return element("input", { id, type: "text", autocomplete: "off", placeholder: example, inputmode: what.levels || what.kind === "datetime" ? "text" : "decimal", list: list ? list.id : null });
  }

  // The cell of a column: undefined where nothing is entered, null where it cannot be read.
  cell(column) {
    const { control, missingButton, what, given } = this.fields.get(column), text = what.levels ? control.value : control.value.trim();
    if (given !== undefined) return given;                 // of a clicked row: not parsed from its text
    if (missingButton?.getAttribute("aria-pressed") === "true") return MISSING;
    if (text === "") return undefined;
    if (control.tagName === "SELECT") return text === "missing" ? MISSING : text === "unseen" ? NEVER_SEEN : Number(text);
    return readCell(text, what);
  }

  cells() {
    const known = new Map();
    for (const [column, { error, warning, what, control }] of this.fields) {
      const cell = this.cell(column);
      const fault = cell === null ? `enter ${what.kind === "datetime" ? "a date such as 2024-03-15" : "a number"}` : "";
      if (error.textContent !== fault) error.textContent = fault;
      control.setAttribute("aria-invalid", String(cell === null));
      const outside = cell === null ? "" : describeOutside(cell, what);
      if (warning.textContent !== outside) warning.textContent = outside;
      if (cell !== undefined && cell !== null) known.set(column, cell);
    }
    return known;
  }

  clear() {
    for (const field of this.fields.values()) {
      const { control, missingButton } = field;
      field.given = undefined;
      control.value = "";
      control.disabled = false;
      missingButton?.setAttribute("aria-pressed", "false");
    }
    this.update();
  }

  // Fill in a row of the table: its encoded cells, and the texts to show.
  fill(cells, texts) {
    for (const [column, field] of this.fields) {
      const { control, missingButton } = field, cell = cells.get(column);
      field.given = cell;
      missingButton?.setAttribute("aria-pressed", String(cell === MISSING));
      control.disabled = cell === MISSING && missingButton !== null;
      if (control.tagName === "SELECT") control.value = cell === MISSING ? "missing" : cell === NEVER_SEEN ? "unseen" : String(cell);
      else control.value = texts.get(column) ?? "";
    }
    this.update();
  }

  // The way of the row down the tree, as far as it is known: each condition with the rows that meet it.
  steps(cells, visited) {
    const { model } = this, lines = [], boxes = this.boxes;
    let node = 0;
    for (;;) {
      const below = model.children[node].filter((child) => visited.has(child));
      if (below.length !== 1 || !cells.has(model.column[node])) {
        if (below.length) lines.push(element("li", { class: "open" }, `depends on ${model.facts.columns[model.column[node]].name}`));
        break;
      }
      [node] = below;
      lines.push(element("li", {}, element("span", {}, model.condition[node]), element("span", { class: "muted" }, boxes.summary(node))));
    }
    return lines.length && node > 0 ? [element("ol", { class: "steps" }, ...lines)] : [];
  }

  // What would change the prediction, where it is certain.
  counterfactual(cells, found) {
    const { model } = this, { facts } = model;
    if (facts.task === "regression" || !found.certain) return [];
    const nearest = new Counterfactuals(model).nearest(cells, found.label);
    if (!nearest) return [];
    const share = model.shares(nearest.node).find(([place]) => place === model.predictedClass(nearest.node))?.[1];
    const figures = `node ${nearest.node}: ${plural(model.rows[nearest.node], "row")}${share === undefined ? "" : `, ${formatPercent(share)}`}`;
    return [element("p", { class: "counterfactual" }, "Would be ", element("strong", {}, facts.classes[model.predictedClass(nearest.node)]), ` if ${nearest.changes.map((change) => change.text).join(" and ")} `, element("span", { class: "muted" }, `(${figures})`))];
  }

  update() {
    const { model } = this, cells = this.cells();
    if (cells.size === 0) {
      this.output.replaceChildren(element("p", { class: "muted" }, "Fill in the known values; leave the rest empty."));
      return this.onChange(null, null);
    }
    const { ends, possible, visited } = model.propagate(cells), found = model.predict(ends, possible);
    this.output.replaceChildren(...describePrediction(model, found, possible), ...this.steps(cells, visited), ...this.counterfactual(cells, found));
    this.onChange(visited, possible);
  }
}

// A remark on a cell that no training row had the like of.
function describeOutside(cell, what) {
  if (cell === NEVER_SEEN) return "no training row has this value";
  if (cell === MISSING) return what.never_missing ? "never missing in the training rows" : "";
  if (!what.range || cell === undefined || (cell >= readEnd(what.range.low) && cell <= readEnd(what.range.high))) return "";
  return `outside the training range, ${what.range.text}: no training row was like that`;
}

const readEnd = (end) => (typeof end === "string" ? BigInt(end) : end);

function readCell(text, what) {
  if (what.levels) { const code = what.levels.indexOf(text); return code < 0 ? NEVER_SEEN : code; }
  if (what.kind === "datetime") return readDate(text, what.unit);
  if (/^[-+]?inf(inity)?$/i.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  if (!NUMBER.test(text) || !/\d/.test(text)) return null;
  const plain = text.replaceAll(",", "");
  return what.kind === "integer" && /^[-+]?\d+$/.test(plain) ? BigInt(plain.replace(/^\+/, "")) : Number(plain);
}

// A date in units since 1970, in UTC, as ``data/parse_cells.py`` parses it.
function readDate(text, unit) {
  const parts = DATE.exec(text);
  if (!parts) return null;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map((part) => Number(part ?? 0));
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day || hour > 23 || minute > 59 || second > 59) return null;
  const zone = /^([-+])(\d{2}):?(\d{2})$/.exec(parts[8] ?? "");
  const ahead = zone ? (zone[1] === "-" ? -60 : 60) * (60 * Number(zone[2]) + Number(zone[3])) : 0;
  const seconds = BigInt(date.getTime() / 1000 + 3600 * hour + 60 * minute + second - ahead);
  const instant = seconds * 1000000000n + BigInt((parts[7] ?? "").padEnd(9, "0")), per = NANOSECONDS[unit] ?? 1n;
  return instant >= 0n || instant % per === 0n ? instant / per : instant / per - 1n;
}

function describePrediction(model, found, possible) {
  const { facts } = model, many = possible.size, only = many === 1 ? [...possible][0] : null;
  const rows = [...possible].reduce((sum, node) => sum + model.rows[node] * model.isLeaf(node), 0);
  let source = `${plural([...possible].filter((node) => model.isLeaf(node)).length, "leaf", "leaves")} possible, ${plural(rows, "row")}`;
  if (only !== null) {
    const from = model.answeringNode(only);
    source = `node ${only}, ${plural(model.rows[only], "training row")}`;
    if (from !== only) source = `node ${only}, which predicts as node ${from} (${plural(model.rows[from], "row")})`;
    else if (!model.isLeaf(only)) source = `stays at node ${only}, which stats no branch for it (${plural(model.rows[only], "row")})`;
  }
  if (facts.task === "regression") return [element("p", { class: "predicted" }, `→ ${formatNumber(found.value)}`), element("p", {}, `${many === 1 ? "" : "on average; "}${source}.`)];
  const heading = element("p", { class: "predicted" }, `→ ${facts.classes[found.label] ?? "?"} `, element("span", {}, formatPercent(found.share)));
  const sure = many > 1 ? (found.certain ? "Whatever the other values are: " : "Depends on the other values: ") : "";
  return [heading, shareBar(facts, found.shares), element("p", {}, `${sure}${source}.`)];
}

function shareBar(facts, shares) {
  const description = shares.slice(0, 6).map(([place, share]) => `${facts.classes[place]} ${formatPercent(share)}`).join(" · ");
  const bar = element("div", { class: "shares", role: "img", "aria-label": description });
  const svg = svgElement("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none" });
  let x = 0;
  for (const [place, share] of [...shares].sort((a, b) => a[0] - b[0])) {
    svg.append(svgElement("rect", { x, y: 0, width: 100 * share, height: 6, fill: colour(facts, place) }));
    x += 100 * share;
  }
  bar.append(svg, element("p", { class: "muted" }, description));
  return bar;
}

// -- details of the selected node ---------------------------------------------------------------------------------------

class NodeDetails {
  constructor(panel, rowsPanel, model, onRow) { Object.assign(this, { panel, rowsPanel, model, onRow }); }

  show(node) {
    const { model } = this, { facts } = model, leaf = model.isLeaf(node);
    const parts = [element("h3", {}, `Node ${node}`), element("p", { class: "rule" }, this.rule(node))];
    parts.push(this.statistics(node));
    if (leaf && model.stop[node]) parts.push(element("p", { class: "muted" }, `A leaf: ${facts.reasons[model.stop[node]] ?? model.stop[node]}.`));
    if (!leaf) parts.push(...this.computations(node));
    this.panel.replaceChildren(...parts);
    this.rowsPanel.replaceChildren(...this.rows(node));
  }

  rule(node) {
    const { model } = this, { facts } = model;
    const conditions = facts.rules[node]?.map(([, text]) => text) ?? model.path(node).slice(1).map((at) => model.condition[at]);
    const predicted = facts.task === "regression" ? formatNumber(model.value[model.answering[node]]) : facts.classes[model.label[node]] ?? "?";
    if (!conditions.length) return `all rows → ${predicted}`;
    return `${conditions.join(" AND ")} → ${predicted}`;
  }

  statistics(node) {
    const { model } = this, { facts } = model, tables = [["training", model], ...(facts.test ? [["test", facts.test]] : [])];
    const heads = ["", ...tables.map(([name]) => name)];
    const lines = [["rows", ...tables.map(([, t]) => formatCount(t.rows[node]))]];
    if (facts.task === "regression") {
      lines.push(["mean", ...tables.map(([, t]) => formatNumber(t.value[node]))], ["sd", ...tables.map(([, t]) => formatSpread(t.spread[node]))]);
    } else {
      const counts = tables.map(([, t]) => toPairs(t.counts[node]));
      const classes = [...new Set(counts.flatMap((pairs) => pairs.map(([place]) => place)))];
      const shown = classes.sort((a, b) => weightOf(counts[0], b) - weightOf(counts[0], a) || a - b).slice(0, 8);
      for (const place of facts.classes.length > 8 ? shown : facts.classes.keys()) {
        const cells = counts.map((pairs) => {
          const sum = totalWeight(pairs), weight = weightOf(pairs, place);
          return sum > 0 ? `${formatCount(weight)} (${formatPercent(weight / sum)})` : "0";
        });
        lines.push([facts.classes[place], ...cells]);
      }
    }
    return createTable(heads, lines, "statistics");
  }

  computations(node) {
    const { facts } = this.model, found = facts.computations?.[node];
    if (!found) return facts.computations_note ? [element("p", { class: "muted" }, facts.computations_note)] : [];
    const lines = found.candidates.map((c) => [c.split, c.gain, c.won ? "◄" : ""]);
    return [element("h4", {}, "Candidates"), element("p", { class: "muted" }, found.summary),
      createTable(["best split of each column", "gain", ""], lines, "computations")];
  }

  rows(node) {
    const { model } = this, { facts } = model, table = facts.rows;
    if (!table) return [];
    const inside = [];
    table.node.forEach((end, row) => { if (end >= node && end < model.end[node]) inside.push(row); });
    const shown = inside.slice(0, MAX_ROWS), heads = ["row", ...table.columns];
    const body = shown.map((row) => element("tr", { tabindex: 0, class: "selectable", "data-row": row, onclick: () => this.selectRow(row),
      onkeydown: (event) => { if (event.key === "Enter") this.selectRow(row); } },
      element("td", {}, String(table.number[row])), ...table.texts.map((column) => column.values[column.indices[row]]).map((cell) => element("td", { class: cell === null ? "missing" : null }, cell ?? "missing"))));
    const more = inside.length > shown.length ? [element("p", { class: "muted" }, `… ${formatCount(inside.length - shown.length)} more`)] : [];
    const note = table.sampled ? `${plural(inside.length, "row")} of the sample in this file; click one to predict it.` : `${plural(inside.length, "row")}; click one to predict it.`;
    return [element("h3", {}, `Rows of node ${node}`), element("p", { class: "muted" }, note),
      element("div", { class: "scroll" }, element("table", { class: "rows" }, element("thead", {}, element("tr", {}, ...heads.map((h) => element("th", {}, h)))), element("tbody", {}, ...body))), ...more];
  }

  selectRow(row) {
    const { facts } = this.model, table = facts.rows, texts = new Map(), cells = new Map();
    for (const [key, column] of Object.entries(table.cells)) {
      const place = Number(key), what = facts.columns[place], cell = column.values[column.indices[row]];
      const isInteger = what.kind === "integer" || what.kind === "datetime";
      cells.set(place, cell === null ? MISSING : what.levels ? (cell < 0 ? NEVER_SEEN : cell) : isInteger ? BigInt(cell) : Number(cell));
      const shown = table.texts[table.columns.indexOf(what.name)];
      texts.set(place, cell === null ? null : shown.values[shown.indices[row]]);
    }
    this.onRow(cells, texts);
  }
}

function createTable(heads, lines, kind) {
  const head = element("tr", {}, ...heads.map((text) => element("th", {}, text)));
  const body = lines.map((cells) => element("tr", {}, ...cells.map((text, place) => element(place ? "td" : "th", {}, text))));
  return element("div", { class: "scroll" }, element("table", { class: kind }, element("thead", {}, head), element("tbody", {}, ...body)));
}
