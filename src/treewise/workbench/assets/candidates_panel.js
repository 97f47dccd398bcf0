// The candidates of the selected node, ranked, with what they cost; the gain along a column; a split that is typed or clicked.

const MISSING_CHOICES = [["", "missing: where they gain most"], ["yes", "missing: with yes"], ["no", "missing: with no"], ["own", "missing: a branch of their own"]];

class CandidatesPanel {
  constructor(workbench) {
    Object.assign(this, { workbench, answers: new Map(), column: null, node: null });
    this.element = element("div", { class: "panel", id: "wb-candidates" });
  }

  show() { this.answers.clear(); }

  // Ask for the candidates of a node; answers are kept until the tree changes.
  async select(node) {
    const { state } = this.workbench;
    if (node !== this.node) this.column = null;
    this.node = node;
    if (!this.answers.has(node)) {
      this.element.replaceChildren(element("p", { class: "muted" }, "computing the candidates …"));
      const found = await this.workbench.ask({ do: "candidates", node });
      if (state !== this.workbench.state) return;
      if (found) this.answers.set(node, found);
    }
    if (node === this.workbench.selected) this.draw();
  }

  draw() {
    const found = this.answers.get(this.node), { state, edit } = this.workbench;
    if (!found) return;
    if (!found.tests.some((test) => test.column === this.column)) this.column = found.tests[0]?.column ?? null;
    const count = found.is_classification ? formatCount : formatNumber, onValidation = found.validation === null ? "" : `, ${count(found.validation)} on validation rows`;
    const asLeaf = found.is_classification ? `${count(found.wrong)} wrong as a leaf${onValidation}` : `impurity ${count(found.wrong)} as a leaf`;
    const excluded = [...state.forbidden.map((name) => [name, "forbidden"]), ...state.locked_columns.map((name) => [name, "locked"])];
    this.element.replaceChildren(element("h3", {}, "Candidates"), element("p", { class: "muted" }, found.note || asLeaf),
      ...(found.tests.length ? [this.list(found, count)] : []), ...this.forcing(found.tests.find((test) => test.column === this.column)),
      ...excluded.map(([name, how]) => element("p", { class: "muted" }, `${name} is ${how} `,
        element("button", { type: "button", class: "small", "data-unlock": name, onclick: () => edit("unlock", { what: name }) }, "allow"))));
  }

  list(found, count) {
    const hasValidation = found.validation !== null, [wrong, valid] = found.is_classification ? ["wrong", "wrong, valid."] : ["impurity", "valid."];
    const number = (text, css = "") => element("td", { class: `number ${css}` }, text);
    const lines = found.tests.map((test) => {
      const take = () => { this.column = test.column; this.draw(); };
      return element("tr", {
        class: test.column === this.column ? "selectable chosen" : "selectable", "data-column": test.column, tabindex: 0, onclick: take,
        onkeydown: (event) => { if (event.key === "Enter") { take(); this.element.querySelector(".chosen")?.focus(); } },
      }, element("td", {}, test.test), number(formatSpread(test.gain)), number(count(test.wrong)), number(test.costs > 1e-9 ? `+${count(test.costs)}` : "", "costs"),
      ...(hasValidation ? [number(test.validation === null ? "" : count(test.validation))] : []));
    });
    const heads = ["test", "gain", wrong, "costs", ...(hasValidation ? [valid] : [])].map((head, i) => element("th", { class: i ? "number" : "" }, head));
    return element("div", { class: "scroll" }, element("table", { class: "computations" }, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...lines)));
  }

  // The chart of a column, and the fields to force a split on it.
  forcing(test) {
    if (!test) return [];
    const { edit } = this.workbench, node = this.node;
    const [fields, given] = test.at !== null || test.points.length ? this.threshold(test) : this.levels(test);
    const missing = element("select", { id: "wb-missing", "aria-label": "missing values" }, ...MISSING_CHOICES.map(([value, words]) => element("option", { value }, words)));
    const split = () => edit("split", { node, column: test.column, ...given(), ...(missing.value ? { missing: missing.value } : {}) });
    const button = (verb, words, title, onclick) => element("button", { type: "button", class: verb === "force" ? "" : "small", "data-verb": verb, title, onclick }, words);
    return [element("h4", {}, test.column), ...fields, missing, element("div", { class: "tools" },
      button("force", "Split here", "split the node by this test", split),
      button("first", "ask first", "ask this column first", () => edit("first", { column: test.column })),
      button("forbid", "never ask", "never ask this column", () => edit("forbid", { column: test.column })),
      button("lock-column", "not for new splits", "keep its splits, make no new ones", () => edit("lock", { what: test.column })))];
  }

  threshold(test) {
    const at = element("input", { id: "wb-at", type: "text", "aria-label": "threshold", value: test.at ?? "" });
    const chart = test.points.length > 1 ? [gainChart(test, (text) => { at.value = text; })] : [];
    return [[...chart, element("div", { class: "field-line" }, `${test.column} <= `, at)], () => ({ at: at.value.trim() })];
  }

  levels(test) {
    const named = test.named ?? [], levels = test.levels ?? [];
    const boxes = levels.map((level) => element("input", { type: "checkbox", value: level, checked: named.length < levels.length && named.includes(level) }));
    const given = () => {
      const values = boxes.filter((box) => box.checked).map((box) => box.value);
      return values.length && values.length < boxes.length ? { values } : {};
    };
    return [[element("p", { class: "muted" }, "the levels on the yes side; none or all of them: the best split of the column"),
      element("div", { class: "levels" }, ...boxes.map((box, i) => element("label", { class: "level" }, box, ` ${levels[i]}`)))], given];
  }
}
