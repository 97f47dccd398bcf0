// Beside the picture: a place to ask the tree, and what is known of the node that was chosen. Third file of the module.

const MANY_LEVELS = 300, SHOWN_ROWS = 50;
const NANOSECONDS = { D: 86400000000000n, s: 1000000000n, ms: 1000000n, us: 1000n, ns: 1n };
const MOMENT = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)? ?(Z|[-+]\d{2}:?\d{2})?)?$/;
const NUMBER = /^[-+]?(\d{1,3}(,\d{3})+|\d*)(\.\d*)?(e[-+]?\d+)?$/i;

// -- Ask the tree: what is not said is not known -------------------------------------------------------------------

class Ask {
  constructor(form, answer, model, asked) {
    Object.assign(this, { form, answer, model, asked, fields: new Map() });
    for (const column of model.asked) this.form.append(this.field(column));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", (event) => {
      for (const field of this.fields.values()) if (field.control === event.target) field.given = undefined;
      this.tell();
    });
  }

  field(column) {
    const what = this.model.facts.columns[column], id = `ask-${column}`;
    const control = what.levels && what.levels.length <= MANY_LEVELS ? this.choice(what, id) : this.blank(what, id);
    const wrong = element("span", { class: "wrong", id: `${id}-wrong`, role: "alert" });
    const gone = what.levels && what.levels.length <= MANY_LEVELS ? null
      : element("button", { type: "button", class: "small", "aria-pressed": "false", onclick: (event) => {
        const on = event.currentTarget.getAttribute("aria-pressed") !== "true";
        event.currentTarget.setAttribute("aria-pressed", String(on));
        if (on) control.value = "";
        control.disabled = on;
        this.fields.get(column).given = undefined;
        this.tell();
      } }, "missing");
    this.fields.set(column, { control, gone, wrong, what });
    return element("div", { class: "field" }, element("label", { for: id }, what.name), control, ...(gone ? [gone] : []), wrong);
  }

  choice(what, id) {
    const options = [["", "don’t know"], ...what.levels.map((level, code) => [String(code), level]), ["missing", "(missing)"], ["unseen", "(some other value)"]];
    if (what.kind === "boolean") options.pop();
    return element("select", { id }, ...options.map(([value, text]) => element("option", { value }, text)));
  }

  blank(what, id) {
    const list = what.levels ? element("datalist", { id: `${id}-levels` }, ...what.levels.slice(0, 2000).map((level) => element("option", { value: level }))) : null;
    if (list) this.form.append(list);
    const example = what.kind === "datetime" ? "don’t know (2024-03-15)" : "don’t know";
    return element("input", { id, type: "text", autocomplete: "off", placeholder: example, inputmode: what.levels || what.kind === "datetime" ? "text" : "decimal", list: list ? list.id : null });
  }

  // What is said of a column: undefined where nothing is, null where it cannot be read.
  cell(column) {
    const { control, gone, what, given } = this.fields.get(column), text = what.levels ? control.value : control.value.trim();
    if (given !== undefined) return given;                 // of a row that was clicked: not read from its text
    if (gone?.getAttribute("aria-pressed") === "true") return MISSING;
    if (text === "") return undefined;
    if (control.tagName === "SELECT") return text === "missing" ? MISSING : text === "unseen" ? NEVER_SEEN : Number(text);
    return readCell(text, what);
  }

  cells() {
    const known = new Map();
    for (const [column, { wrong, what, control }] of this.fields) {
      const cell = this.cell(column);
      const fault = cell === null ? `${what.kind === "datetime" ? "a date, as 2024-03-15" : "a number"}, please` : "";
      if (wrong.textContent !== fault) wrong.textContent = fault;
      control.setAttribute("aria-invalid", String(cell === null));
      if (cell !== undefined && cell !== null) known.set(column, cell);
    }
    return known;
  }

  clear() {
    for (const field of this.fields.values()) {
      const { control, gone } = field;
      field.given = undefined;
      control.value = "";
      control.disabled = false;
      gone?.setAttribute("aria-pressed", "false");
    }
    this.tell();
  }

  // Fill in a row of the table: its cells as the tree sees them, and the texts to show.
  fill(cells, texts) {
    for (const [column, field] of this.fields) {
      const { control, gone } = field, cell = cells.get(column);
      field.given = cell;
      gone?.setAttribute("aria-pressed", String(cell === MISSING));
      control.disabled = cell === MISSING && gone !== null;
      if (control.tagName === "SELECT") control.value = cell === MISSING ? "missing" : cell === NEVER_SEEN ? "unseen" : String(cell);
      else control.value = texts.get(column) ?? "";
    }
    this.tell();
  }

  tell() {
    const { model } = this, cells = this.cells();
    if (cells.size === 0) {
      this.answer.replaceChildren(element("p", { class: "quiet" }, "Fill in what you know; the rest may stay open."));
      return this.asked(null, null);
    }
    const { ends, possible, passed } = model.reach(cells), found = model.answer(ends, possible);
    this.answer.replaceChildren(...answerInWords(model, found, possible));
    this.asked(passed, possible);
  }
}

function readCell(text, what) {
  if (what.levels) { const code = what.levels.indexOf(text); return code < 0 ? NEVER_SEEN : code; }
  if (what.kind === "datetime") return readDate(text, what.unit);
  if (/^[-+]?inf(inity)?$/i.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  if (!NUMBER.test(text) || !/\d/.test(text)) return null;
  const plain = text.replaceAll(",", "");
  return what.kind === "integer" && /^[-+]?\d+$/.test(plain) ? BigInt(plain.replace(/^\+/, "")) : Number(plain);
}

// A date as the column counts it: whole units since 1970, in UTC, as ``data/parse_cells.py`` reads it.
function readDate(text, unit) {
  const parts = MOMENT.exec(text);
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

function answerInWords(model, found, possible) {
  const { facts } = model, many = possible.size, only = many === 1 ? [...possible][0] : null;
  const rows = [...possible].reduce((sum, node) => sum + model.rows[node] * model.isLeaf(node), 0);
  let where = `${plural([...possible].filter((node) => model.isLeaf(node)).length, "leaf", "leaves")} still possible, ${plural(rows, "row")}`;
  if (only !== null) {
    const from = model.speaker(only);
    where = `node ${only}, ${plural(model.rows[only], "row")} like this`;
    if (from !== only) where = `node ${only}, which answers as node ${from} (${plural(model.rows[from], "row")})`;
    else if (!model.isLeaf(only)) where = `stays at node ${only}, which has no branch for it (${plural(model.rows[only], "row")})`;
  }
  if (facts.task === "regression") return [element("p", { class: "says" }, `→ ${figure(found.value)}`), element("p", {}, `${many === 1 ? "" : "on average; "}${where}.`)];
  const said = element("p", { class: "says" }, `→ ${facts.classes[found.label] ?? "?"} `, element("span", {}, percent(found.share)));
  const sure = many > 1 ? (found.certain ? "Whatever the rest is: " : "It depends on the rest: ") : "";
  return [said, shareBar(facts, found.shares), element("p", {}, `${sure}${where}.`)];
}

function shareBar(facts, shares) {
  const said = shares.slice(0, 6).map(([place, share]) => `${facts.classes[place]} ${percent(share)}`).join(" · ");
  const bar = element("div", { class: "shares", role: "img", "aria-label": said });
  const svg = shape("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none" });
  let x = 0;
  for (const [place, share] of [...shares].sort((a, b) => a[0] - b[0])) {
    svg.append(shape("rect", { x, y: 0, width: 100 * share, height: 6, fill: colour(facts, place) }));
    x += 100 * share;
  }
  bar.append(svg, element("p", { class: "quiet" }, said));
  return bar;
}

// -- The node that was chosen ---------------------------------------------------------------------------------------

class Selected {
  constructor(place, below, model, takeRow) { Object.assign(this, { place, below, model, takeRow }); }

  show(node) {
    const { model } = this, { facts } = model, leaf = model.isLeaf(node);
    const parts = [element("h3", {}, `Node ${node}`), element("p", { class: "rule" }, this.rule(node))];
    parts.push(this.figures(node));
    if (leaf && model.stop[node]) parts.push(element("p", { class: "quiet" }, `A leaf, for ${facts.reasons[model.stop[node]] ?? model.stop[node]}.`));
    if (!leaf) parts.push(...this.computations(node));
    this.place.replaceChildren(...parts);
    this.below.replaceChildren(...this.rows(node));
  }

  rule(node) {
    const { model } = this, { facts } = model;
    const conditions = facts.rules[node] ?? model.path(node).slice(1).map((at) => model.words[at]);
    const says = facts.task === "regression" ? figure(model.value[model.speaks[node]]) : facts.classes[model.label[node]] ?? "?";
    if (!conditions.length) return `all rows → ${says}`;
    return `${conditions.join(" AND ")} → ${says}`;
  }

  figures(node) {
    const { model } = this, { facts } = model, tables = [["training", model], ...(facts.test ? [["test", facts.test]] : [])];
    const heads = ["", ...tables.map(([name]) => name)];
    const lines = [["rows", ...tables.map(([, t]) => whole(t.rows[node]))]];
    if (facts.task === "regression") {
      lines.push(["mean", ...tables.map(([, t]) => figure(t.value[node]))], ["sd", ...tables.map(([, t]) => figure(t.spread[node]))]);
    } else {
      const here = tables.map(([, t]) => pairsOf(t.counts[node]));
      const seen = [...new Set(here.flatMap((pairs) => pairs.map(([place]) => place)))];
      const shown = seen.sort((a, b) => muchOf(here[0], b) - muchOf(here[0], a) || a - b).slice(0, 8);
      for (const place of facts.classes.length > 8 ? shown : facts.classes.keys()) {
        const cells = here.map((pairs) => {
          const sum = totalOf(pairs), much = muchOf(pairs, place);
          return sum > 0 ? `${whole(much)} (${percent(much / sum)})` : "0";
        });
        lines.push([facts.classes[place], ...cells]);
      }
    }
    return tableOf(heads, lines, "figures");
  }

  computations(node) {
    const { facts } = this.model, found = facts.computations?.[node];
    if (!found) return facts.computations_note ? [element("p", { class: "quiet" }, facts.computations_note)] : [];
    const lines = found.candidates.map((c) => [c.test, c.gain, c.won ? "◄" : ""]);
    return [element("h4", {}, "Why this question"), element("p", { class: "quiet" }, found.words),
      tableOf(["best test of each column", "gain", ""], lines, "computations")];
  }

  rows(node) {
    const { model } = this, { facts } = model, table = facts.rows;
    if (!table) return [];
    const inside = [];
    table.node.forEach((end, row) => { if (end >= node && end < model.end[node]) inside.push(row); });
    const shown = inside.slice(0, SHOWN_ROWS), heads = ["row", ...table.columns];
    const body = shown.map((row) => element("tr", { tabindex: 0, class: "takes", "data-row": row, onclick: () => this.take(row),
      onkeydown: (event) => { if (event.key === "Enter") this.take(row); } },
      element("td", {}, String(table.number[row])), ...table.texts.map((column) => column.values[column.places[row]]).map((cell) => element("td", { class: cell === null ? "gone" : null }, cell ?? "missing"))));
    const more = inside.length > shown.length ? [element("p", { class: "quiet" }, `… ${whole(inside.length - shown.length)} more`)] : [];
    const said = table.sampled ? `${plural(inside.length, "row")} of the sample in this file; click one to follow it.` : `${plural(inside.length, "row")}; click one to follow it.`;
    return [element("h3", {}, `Rows of node ${node}`), element("p", { class: "quiet" }, said),
      element("div", { class: "scroll" }, element("table", { class: "rows" }, element("thead", {}, element("tr", {}, ...heads.map((h) => element("th", {}, h)))), element("tbody", {}, ...body))), ...more];
  }

  take(row) {
    const { facts } = this.model, table = facts.rows, texts = new Map(), cells = new Map();
    for (const [key, column] of Object.entries(table.cells)) {
      const place = Number(key), what = facts.columns[place], cell = column.values[column.places[row]];
      const whole = what.kind === "integer" || what.kind === "datetime";
      cells.set(place, cell === null ? MISSING : what.levels ? (cell < 0 ? NEVER_SEEN : cell) : whole ? BigInt(cell) : Number(cell));
      const shown = table.texts[table.columns.indexOf(what.name)];
      texts.set(place, cell === null ? null : shown.values[shown.places[row]]);
    }
    this.takeRow(cells, texts);
  }
}

function tableOf(heads, lines, kind) {
  const head = element("tr", {}, ...heads.map((text) => element("th", {}, text)));
  const body = lines.map((cells) => element("tr", {}, ...cells.map((text, place) => element(place ? "td" : "th", {}, text))));
  return element("div", { class: "scroll" }, element("table", { class: kind }, element("thead", {}, head), element("tbody", {}, ...body)));
}
