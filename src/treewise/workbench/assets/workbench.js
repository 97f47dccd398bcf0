// The workbench, in AFM form: render({ model, el }) draws into `el` and asks through `model.ask(message)`, whatever hosts it.
// Last file of the module, after the drawing code of the report (Model, layoutTree, NodeBoxes, Picture).

const VERBS = [
  // verb, key, words, when it applies
  ["split", "s", "Split best", (at) => at.canSplit],
  ["prune", "p", "Prune", (at) => !at.leaf],
  ["regrow", "g", "Regrow", (at) => at.canSplit],
  ["merge", "m", "Merge leaves", (at) => at.leavesBelow > 1],
  ["lock", "l", "Lock", () => true],
];
const SVG_WIDTH = 340, CHART = { height: 132, left: 8, right: 8, top: 10, bottom: 22 };
const format = (loss, name) => (loss === null || loss === undefined ? "–" : name === "error" ? `${(100 * loss).toFixed(1)} %` : formatNumber(loss));

class Workbench {
  constructor(model, el) {
    Object.assign(this, { model, el, selected: 0, identity: null, column: null, view: null, answers: new Map() });
    el.classList.add("workbench");
    this.build();
    this.onKey = (event) => this.key(event);
    document.addEventListener("keydown", this.onKey);
  }

  close() { document.removeEventListener("keydown", this.onKey); this.el.replaceChildren(); }

  // -- the frame ------------------------------------------------------------------------------------------------------

  build() {
    const part = (name, attributes, ...content) => (this[name] = element(attributes.tag ?? "div", { ...attributes, tag: null, id: `wb-${name}` }, ...content));
    const button = (name, words, onclick, title) => (this[`${name}Button`] = element("button", { type: "button", id: `wb-${name}`, onclick, title }, words));
    const links = this.model.downloads ? [["model.json", "model"], ["tree.txt", "text"], ["tree.svg", "picture"], ["log.csv", "log"], ["report.html", "report"]] : [];
    this.el.replaceChildren(
      element("header", {}, part("title", { tag: "h1" }), element("div", { class: "tools" },
        button("undo", "Undo", () => this.edit("undo"), "Ctrl+Z"), button("redo", "Redo", () => this.edit("redo"), "Ctrl+Y"),
        button("save", "Save", () => this.save(), "save the model file"),
        ...(links.length ? [element("details", { class: "downloads" }, element("summary", {}, "Download"), ...links.map(([path, words]) => element("a", { href: `/${path}`, download: path }, words)))] : []),
        button("theme", "◐", () => this.toggleTheme(), "dark or light")),
        part("status", { class: "muted", role: "status", tag: "p" }), part("error", { class: "warning", role: "alert", tag: "p", hidden: true })),
      element("main", {},
        part("tiles", { tag: "dl", class: "tiles" }),
        element("div", { class: "workspace" },
          element("div", { class: "main" },
            element("div", { class: "panel", id: "picture" }, part("canvas", {}), element("p", { class: "muted" }, "Arrows move, s splits, p prunes, g regrows, m merges, l locks, Ctrl+Z takes back.")),
            element("div", { class: "pair" }, element("section", {}, element("h2", {}, "Errors by edit"), part("curve", {})),
              element("section", {}, element("h2", {}, "History"), part("history", { class: "scroll" })))),
          element("div", { class: "side" }, part("node", { class: "panel" }), part("candidates", { class: "panel" }))),
        element("section", {}, element("h2", {}, "Rows of the node"), part("rows", { class: "scroll rows" }))));
  }

  toggleTheme() {
    const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  }

  // -- asking ---------------------------------------------------------------------------------------------------------

  async ask(message) {
    this.el.setAttribute("aria-busy", "true");
    const answer = await this.model.ask(message);
    this.el.removeAttribute("aria-busy");
    this.error.hidden = !answer.error;
    this.error.textContent = answer.error ?? "";
    return answer.error ? null : answer;
  }

  async start() { await this.show(await this.ask({ do: "state" })); document.documentElement.dataset.ready = "yes"; }

  async edit(verb, given = {}) {
    const reason = verb === "undo" || verb === "redo" ? {} : { reason: this.reason?.value ?? "" };
    const state = await this.ask({ do: "edit", verb, with: { ...given, ...reason } });
    if (state) await this.show(state);
  }

  async save() { const state = await this.ask({ do: "save" }); if (state) this.showHead(state); }

  // -- showing a state ------------------------------------------------------------------------------------------------

  async show(state) {
    if (!state) return;
    this.state = state;
    this.answers.clear();
    const kept = this.identity === null ? 0 : state.ids.indexOf(this.identity);
    this.selected = kept >= 0 ? kept : 0;
    this.tree = new Model(state.facts);
    this.showHead(state);
    this.drawTree();
    this.drawCurve(state);
    this.drawHistory(state);
    await this.select(this.selected);
  }

  showHead(state) {
    const { facts, losses, start, loss_name: name } = state, previous = state.curve.at(-2);
    this.title.textContent = `${facts.target}: ${facts.task === "regression" ? "a number" : facts.classes.slice(0, 6).join(" / ")}`;
    this.undoButton.disabled = !state.can_undo;
    this.redoButton.disabled = !state.can_redo;
    this.saveButton.disabled = !state.output;
    this.status.textContent = [state.output ? (state.saved ? `saved ${state.output} at ${state.saved}` : `saves to ${state.output}`) : "", state.autosave ? `every edit is kept in ${state.autosave}` : "", ...state.notes].filter(Boolean).join(" · ");
    const tile = (words, table) => {
      const loss = losses[table];
      if (!loss) return [];
      const before = previous?.[table]?.rate, change = before === undefined || before === null || loss.rate === before ? "" : `${format(before, name)} before`;
      const count = facts.task === "regression" ? plural(loss.rows, "row") : `${formatCount(loss.lost)} of ${plural(loss.rows, "row")}`;
      return [element("div", { id: `wb-${table}-error` }, element("dt", {}, `${words} ${name}`), element("dd", {}, element("strong", {}, format(loss.rate, name)),
        element("span", { class: before === undefined ? "" : loss.rate > before ? "worse" : loss.rate < before ? "better" : "" }, [count, change].filter(Boolean).join(" · ")), element("span", {}, `${format(start[table].rate, name)} at the start`)))];
    };
    const leaves = facts.nodes.kind.filter((kind) => kind === LEAF).length;
    this.tiles.replaceChildren(...tile("training", "training"), ...tile("validation", "validation"),
      element("div", {}, element("dt", {}, "size"), element("dd", {}, element("strong", {}, plural(leaves, "leaf", "leaves")), element("span", {}, plural(state.log.length, "edit")))));
  }

  drawTree() {
    const svg = svgElement("svg", { id: "tree", role: "tree", "aria-label": "The tree: arrow keys move" }), before = this.picture;
    this.canvas.replaceChildren(svg);
    this.picture = new Picture(svg, this.tree, (node, focus) => this.select(node, focus), (picture) => this.markLocks(picture));
    this.picture.open(() => {});
    if (before && before.extent.width === this.picture.extent.width) { this.picture.view = before.view; this.picture.applyView(); }
  }

  markLocks(picture) {
    for (const node of this.state.locked) picture.nodeElement(node)?.classList.add("locked");
  }

  async select(node, focus = false) {
    if (node !== this.selected || !this.identity) this.column = null;
    this.selected = node;
    this.identity = this.state.ids[node];
    this.picture.select(node, focus);
    this.picture.panInto(node);
    this.showNode();
    this.rows.replaceChildren(element("button", { type: "button", id: "wb-show-rows", onclick: () => this.showRows() }, "show rows"));
    const asked = this.state;
    if (!this.answers.has(node)) {
      this.candidates.replaceChildren(element("p", { class: "muted" }, "computing the candidates …"));
      const found = await this.ask({ do: "candidates", node });
      if (asked === this.state && found) this.answers.set(node, found);
    }
    if (asked === this.state && node === this.selected) this.showCandidates();
  }

  // -- the selected node ----------------------------------------------------------------------------------------------

  // What can be done at the selected node.
  facts() {
    const { tree, selected } = this, leaf = tree.isLeaf(selected), leaves = tree.children[selected].filter((child) => tree.isLeaf(child));
    const stats = this.picture.boxes.statistics(selected), classes = stats.counts.length;
    return { leaf, leaves, leavesBelow: leaves.length, canSplit: tree.facts.task === "regression" ? stats.rows > 1 : classes > 1, locked: this.state.locked.includes(selected) };
  }

  do(verb) {
    const at = this.facts(), node = this.selected;
    if (verb === "merge") return this.edit("merge", { leaves: this.chosenLeaves?.length > 1 ? this.chosenLeaves : at.leaves });
    if (verb === "lock") return this.edit(at.locked ? "unlock" : "lock", { what: node });
    return this.edit(verb, { node });
  }

  showNode() {
    const { tree, selected } = this, at = this.facts(), { facts } = tree, boxes = this.picture.boxes;
    const verbs = VERBS.map(([verb, key, words, applies]) => element("button", { type: "button", "data-verb": verb, disabled: !applies(at), title: `key ${key}`, onclick: () => this.do(verb) }, verb === "lock" && at.locked ? "Unlock" : words));
    this.reason = element("input", { id: "wb-reason", type: "text", maxlength: 2000, placeholder: "reason (kept in the log)", "aria-label": "reason for the next edit", value: this.reason?.value ?? "" });
    this.reason.value = "";
    const heading = selected === 0 ? "all rows" : tree.path(selected).slice(1).map((node) => tree.condition[node]).join(" and ");
    const details = [element("h3", {}, `Node ${selected}${at.locked ? " (locked)" : ""}`), element("p", { class: "rule" }, heading), this.distribution("training"), ...(facts.test ? [this.distribution("test")] : [])];
    if (at.leaf) {
      const label = facts.task === "regression" ? element("input", { id: "wb-label", type: "text", inputmode: "decimal", "aria-label": "value" })
        : element("select", { id: "wb-label", "aria-label": "class" }, ...facts.classes.map((name, i) => element("option", { value: name, selected: i === tree.label[selected] }, name)));
      details.push(element("p", { class: "relabel" }, "predict ", label, " ", element("button", { type: "button", class: "small", "data-verb": "relabel", onclick: () => this.edit("relabel", { node: selected, label: label.value }) }, "instead")));
    }
    this.chosenLeaves = null;
    if (at.leavesBelow > 1 && tree.children[selected].length > 2) {
      const boxesOf = at.leaves.map((leaf) => element("label", {}, element("input", { type: "checkbox", value: leaf, onchange: () => { this.chosenLeaves = [...details.at(-1).querySelectorAll(":checked")].map((box) => Number(box.value)); } }), ` ${tree.condition[leaf]}`));
      details.push(element("fieldset", {}, element("legend", {}, "merge only"), ...boxesOf));
    }
    this.node.replaceChildren(...details, element("div", { class: "tools" }, ...verbs), this.reason);
  }

  // The classes of a node on one table, or its mean.
  distribution(table) {
    const { tree, selected } = this, { facts } = tree, from = table === "test" ? facts.test : tree, words = table === "test" ? "validation" : "training";
    const rows = from.rows[selected];
    if (facts.task === "regression") return element("p", { class: "muted" }, `${words}: ${plural(rows, "row")}, mean ${formatNumber(from.value[selected])}, sd ${formatSpread(from.spread[selected])}`);
    const counts = toPairs(from.counts[selected]), sum = totalWeight(counts), svg = svgElement("svg", { class: "bar", viewBox: "0 0 100 5", preserveAspectRatio: "none", "aria-hidden": "true" });
    let x = 0;
    for (const [place, count] of counts) { svg.append(svgElement("rect", { x, width: (100 * count) / sum, height: 5, fill: colour(facts, place) })); x += (100 * count) / sum; }
    const listed = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 6).map(([place, count]) => `${facts.classes[place]} ${formatCount(count)}`).join(", ");
    return element("div", { class: "distribution" }, svg, element("p", { class: "muted" }, `${words}: ${plural(rows, "row")}${listed ? `: ${listed}` : ""}`));
  }

  // -- candidates -----------------------------------------------------------------------------------------------------

  showCandidates() {
    const found = this.answers.get(this.selected);
    if (!found) return;
    if (!found.tests.some((test) => test.column === this.column)) this.column = found.tests[0]?.column ?? null;
    const count = found.is_classification ? formatCount : formatNumber, hasValidation = found.validation !== null;
    const heads = ["test", "gain", found.is_classification ? "wrong" : "impurity", "costs", ...(hasValidation ? [found.is_classification ? "wrong, valid." : "valid."] : [])];
    const lines = found.tests.map((test) => element("tr", { class: test.column === this.column ? "selectable chosen" : "selectable", "data-column": test.column, tabindex: 0,
      onclick: () => { this.column = test.column; this.showCandidates(); },
      onkeydown: (event) => { if (event.key === "Enter") { this.column = test.column; this.showCandidates(); } } },
      element("td", {}, test.test), element("td", { class: "number" }, formatSpread(test.gain)), element("td", { class: "number" }, count(test.wrong)),
      element("td", { class: "number costs" }, test.costs > 1e-9 ? `+${count(test.costs)}` : ""), ...(hasValidation ? [element("td", { class: "number" }, test.validation === null ? "" : count(test.validation))] : [])));
    const as_leaf = found.is_classification ? `${count(found.wrong)} wrong as a leaf${hasValidation ? `, ${count(found.validation)} on validation rows` : ""}` : `impurity ${count(found.wrong)} as a leaf`;
    const excluded = [...this.state.forbidden.map((name) => [name, "forbidden"]), ...this.state.locked_columns.map((name) => [name, "locked"])];
    this.candidates.replaceChildren(element("h3", {}, "Candidates"), element("p", { class: "muted" }, found.note || as_leaf),
      ...(lines.length ? [element("div", { class: "scroll" }, element("table", { class: "computations" }, element("thead", {}, element("tr", {}, ...heads.map((head, i) => element("th", { class: i ? "number" : "" }, head)))), element("tbody", {}, ...lines)))] : []),
      ...this.columnForm(found),
      ...excluded.map(([name, how]) => element("p", { class: "muted" }, `${name} is ${how} `, element("button", { type: "button", class: "small", "data-unlock": name, onclick: () => this.edit("unlock", { what: name }) }, "allow"))));
  }

  // The chart of a column, and the fields to force a split on it.
  columnForm(found) {
    const test = found.tests.find((one) => one.column === this.column);
    if (!test) return [];
    const node = this.selected, number = test.at !== null || test.points.length > 0;
    const at = element("input", { id: "wb-at", type: "text", "aria-label": "threshold", value: test.at ?? "" }), missing = element("select", { id: "wb-missing", "aria-label": "missing values" },
      ...[["", "missing: where they gain most"], ["yes", "missing: with yes"], ["no", "missing: with no"], ["own", "missing: a branch of their own"]].map(([value, words]) => element("option", { value }, words)));
    const parts = [element("h4", {}, test.column)];
    let given;
    if (number) {
      if (test.points.length > 1) parts.push(this.gainChart(test, at));
      parts.push(element("div", { class: "field-line" }, `${test.column} <= `, at));
      given = () => ({ at: at.value.trim() });
    } else {
      const levels = (test.levels ?? []).map((level) => element("label", { class: "level" }, element("input", { type: "checkbox", value: level, checked: (test.named ?? []).length < test.levels.length && test.named.includes(level) }), ` ${level}`));
      const box = element("div", { class: "levels" }, ...levels);
      parts.push(element("p", { class: "muted" }, "the levels on the yes side; none or all of them: the best split of the column"), box);
      given = () => { const chosen = [...box.querySelectorAll(":checked")].map((one) => one.value); return chosen.length && chosen.length < levels.length ? { values: chosen } : {}; };
    }
    parts.push(missing, element("div", { class: "tools" },
      element("button", { type: "button", "data-verb": "force", onclick: () => this.edit("split", { node, column: test.column, ...given(), ...(missing.value ? { missing: missing.value } : {}) }) }, "Split here"),
      element("button", { type: "button", class: "small", "data-verb": "first", title: "ask this column first", onclick: () => this.edit("first", { column: test.column }) }, "ask first"),
      element("button", { type: "button", class: "small", "data-verb": "forbid", title: "never ask this column", onclick: () => this.edit("forbid", { column: test.column }) }, "never ask"),
      element("button", { type: "button", class: "small", "data-verb": "lock-column", title: "not for new splits", onclick: () => this.edit("lock", { what: test.column }) }, "not for new splits")));
    return parts;
  }

  // Gain against the threshold; a click takes the threshold.
  gainChart(test, at) {
    const points = test.points, xs = points.map((point) => Number(point[0])), most = Math.max(...points.map((point) => point[1])) || 1;
    const low = Math.min(...xs), high = Math.max(...xs), { height, left, right, top, bottom } = CHART;
    const x = (value) => left + ((SVG_WIDTH - left - right) * (value - low)) / (high - low || 1), y = (gain) => height - bottom - ((height - top - bottom) * gain) / most;
    const svg = svgElement("svg", { class: "plot gain", id: "wb-chart", viewBox: `0 0 ${SVG_WIDTH} ${height}`, tabindex: 0, role: "slider", "aria-label": `gain of ${test.column} by threshold: left and right move` });
    const line = points.map((point, i) => `${i ? "L" : "M"}${x(xs[i]).toFixed(1)},${y(point[1]).toFixed(1)}`).join("");
    const mark = svgElement("line", { class: "mark", y1: top, y2: height - bottom }), dot = svgElement("circle", { class: "mark", r: 4 }), text = svgElement("text", { y: height - 6, "text-anchor": "middle" });
    let chosen = points.findIndex((point) => point[1] === most);
    const show = (i) => {
      chosen = Math.min(points.length - 1, Math.max(0, i));
      const [, gain, , words] = points[chosen], px = x(xs[chosen]);
      mark.setAttribute("x1", px); mark.setAttribute("x2", px); dot.setAttribute("cx", px); dot.setAttribute("cy", y(gain));
      text.setAttribute("x", Math.min(SVG_WIDTH - 60, Math.max(60, px))); text.textContent = `${words}: gain ${formatSpread(gain)}`;
      svg.setAttribute("aria-valuetext", text.textContent);
    };
    const nearest = (event) => { const box = svg.getBoundingClientRect(), value = low + (((event.clientX - box.left) * SVG_WIDTH) / box.width - left) * (high - low || 1) / (SVG_WIDTH - left - right); return xs.reduce((best, each, i) => (Math.abs(each - value) < Math.abs(xs[best] - value) ? i : best), 0); };
    const take = () => { at.value = points[chosen][3]; };
    svg.append(svgElement("line", { class: "axis", x1: left, x2: SVG_WIDTH - right, y1: height - bottom, y2: height - bottom }), svgElement("path", { class: "validation", d: line }), mark, dot, text);
    svg.addEventListener("pointermove", (event) => show(nearest(event)));
    svg.addEventListener("click", (event) => { show(nearest(event)); take(); });
    svg.addEventListener("keydown", (event) => { const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]; if (!step) return; event.preventDefault(); event.stopPropagation(); show(chosen + step); take(); });
    show(chosen);
    return svg;
  }

  // -- curve, history, rows ---------------------------------------------------------------------------------------------

  // The errors after each edit: training and validation.
  drawCurve(state) {
    const points = state.curve, width = 480, height = 200, left = 46, bottom = 26, top = 10;
    const tables = ["training", "validation"].filter((table) => points[0][table]), rates = tables.flatMap((table) => points.map((point) => point[table].rate ?? 0));
    const most = Math.max(...rates, 1e-12), x = (i) => left + ((width - left - 14) * i) / Math.max(1, points.length - 1), y = (rate) => height - bottom - ((height - top - bottom) * rate) / most;
    const svg = svgElement("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "errors after each edit" });
    svg.append(svgElement("line", { class: "axis", x1: left, x2: width - 14, y1: height - bottom, y2: height - bottom }), svgElement("text", { x: 2, y: y(most) + 8 }, format(most, state.loss_name)), svgElement("text", { x: 2, y: height - bottom }, "0"));
    for (const table of tables) {
      svg.append(svgElement("path", { class: table, d: points.map((point, i) => `${i ? "L" : "M"}${x(i).toFixed(1)},${y(point[table].rate ?? 0).toFixed(1)}`).join("") }));
      points.forEach((point, i) => { const dot = svgElement("circle", { class: `dot ${table}`, cx: x(i), cy: y(point[table].rate ?? 0), r: 3.5 }); dot.append(svgElement("title", {}, `${point.edit}: ${table} ${format(point[table].rate, state.loss_name)}, ${plural(point.leaves, "leaf", "leaves")}`)); svg.append(dot); });
    }
    svg.append(svgElement("text", { x: left, y: height - 6 }, "start"), ...(points.length > 1 ? [svgElement("text", { x: width - 14, y: height - 6, "text-anchor": "end" }, plural(points.length - 1, "edit"))] : []));
    this.curve.replaceChildren(svg, element("p", { class: "legend" }, ...tables.map((table) => element("span", { class: `key ${table}` }, table))));
  }

  drawHistory(state) {
    const name = state.loss_name, change = ([before, after]) => (after === null ? "" : before === after ? format(after, name) : `${format(before, name)} → ${format(after, name)}`);
    const hasValidation = state.log.some((step) => step.validation[1] !== null), lines = state.log.map((step, i) => element("tr", {}, element("td", { class: "number" }, String(i + 1)), element("td", {}, step.words, element("br"), element("small", { class: "muted" }, step.node)),
      element("td", { class: "number", title: `rows touched: ${change(step.touched_training)}` }, change(step.training)), ...(hasValidation ? [element("td", { class: "number", title: `rows touched: ${change(step.touched_validation)}` }, change(step.validation))] : []), element("td", {}, step.reason)));
    if (!lines.length) { this.history.replaceChildren(element("p", { class: "muted" }, "no edits yet")); return; }
    const last = state.log.at(-1), touched = `the last edit touched ${plural(last.touched, "row")}: training ${change(last.touched_training)}${last.touched_validation[1] === null ? "" : `, validation ${change(last.touched_validation)}`}`;
    this.history.replaceChildren(element("p", { class: "muted", id: "wb-touched" }, touched), element("table", {}, element("thead", {}, element("tr", {}, ...["", "edit", "training", ...(hasValidation ? ["validation"] : []), "reason"].map((head) => element("th", {}, head)))), element("tbody", {}, ...lines.reverse())));
  }

  async showRows() {
    const found = await this.ask({ do: "rows", node: this.selected });
    if (!found) return;
    const lines = found.numbers.map((number, i) => element("tr", {}, element("td", { class: "number" }, String(number)), ...found.cells.map((column) => element("td", { class: column[i] === "" ? "missing" : "" }, column[i] === "" ? "missing" : column[i]))));
    this.rows.replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, element("th", {}, "row"), ...found.columns.map((name) => element("th", {}, name)))), element("tbody", {}, ...lines)),
      ...(found.total > found.numbers.length ? [element("p", { class: "muted" }, `the first ${found.numbers.length} of ${plural(found.total, "row")}`)] : []));
  }

  // -- keys -----------------------------------------------------------------------------------------------------------

  key(event) {
    if (event.target.matches?.("input, select, textarea") || event.altKey) return;
    const control = event.ctrlKey || event.metaKey, key = event.key.toLowerCase();
    if (control && (key === "z" || key === "y")) { event.preventDefault(); if (key === "y" || event.shiftKey) { if (!this.redoButton.disabled) this.edit("redo"); } else if (!this.undoButton.disabled) this.edit("undo"); return; }
    if (control) return;
    const verb = VERBS.find(([, own]) => own === key);
    if (verb && this.state && verb[3](this.facts())) { event.preventDefault(); this.do(verb[0]); }
  }
}

export default {
  render({ model, el }) {
    const workbench = new Workbench(model, el);
    workbench.start();
    return () => workbench.close();
  },
};
