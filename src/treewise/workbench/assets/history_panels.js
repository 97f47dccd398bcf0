// The edits: the errors after each, what the last one changed, the log with its reasons, and the rows of the selected node.

const changeOf = ([before, after], name) => (after === null ? "" : before === after ? formatLoss(after, name) : `${formatLoss(before, name)} → ${formatLoss(after, name)}`);
const trend = ([before, after]) => (before === null || after === null || before === after ? "" : after > before ? "worse" : "better");

// The overfitting curve of the session, and before and after of the last edit: all rows, and those it touched.
class ErrorsPanel {
  constructor(workbench) {
    this.body = element("div", { id: "wb-curve" });
    this.element = element("section", {}, element("h2", {}, "Errors by edit"), this.body);
  }

  show(state) {
    const last = state.log.at(-1), name = state.loss_name;
    this.body.replaceChildren(lossChart(state.curve, name), ...(last ? [this.lastEdit(last, name)] : []));
  }

  lastEdit(last, name) {
    const tables = ["training", "validation"].filter((table) => last[table][1] !== null);
    const cell = (change) => element("td", { class: `number ${trend(change)}` }, changeOf(change, name));
    const line = (words, prefix) => element("tr", {}, element("th", {}, words), ...tables.map((table) => cell(last[`${prefix}${table}`])));
    return element("table", { id: "wb-touched" }, element("thead", {}, element("tr", {}, element("th", {}, "the last edit"), ...tables.map((table) => element("th", { class: "number" }, table)))),
      element("tbody", {}, line("all rows", ""), line(`${plural(last.touched, "row")} touched`, "touched_")));
  }
}

class HistoryPanel {
  constructor() {
    this.body = element("div", { class: "scroll", id: "wb-history", tabindex: 0 });
    this.element = element("section", {}, element("h2", {}, "History"), this.body);
  }

  show(state) {
    const name = state.loss_name, tables = ["training", "validation"].filter((table) => state.log.some((step) => step[table][1] !== null));
    const lines = state.log.map((step, i) => element("tr", {}, element("td", { class: "number" }, String(i + 1)),
      element("td", {}, step.words, element("br"), element("small", { class: "muted" }, step.node)),
      ...tables.map((table) => element("td", { class: "number", title: `rows touched: ${changeOf(step[`touched_${table}`], name)}` }, changeOf(step[table], name))),
      element("td", {}, step.reason)));
    const heads = ["", "edit", ...tables, "reason"].map((head) => element("th", {}, head));
    this.body.replaceChildren(lines.length ? element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...lines.reverse()))
      : element("p", { class: "muted" }, "no edits yet"));
  }
}

// Rows of the selected node, on request.
class RowsPanel {
  constructor(workbench) {
    this.workbench = workbench;
    this.body = element("div", { class: "scroll rows", id: "wb-rows", tabindex: 0 });
    this.element = element("section", {}, element("h2", {}, "Rows of the node"), this.body);
  }

  select() { this.body.replaceChildren(element("button", { type: "button", id: "wb-show-rows", onclick: () => this.ask() }, "show rows")); }

  async ask() {
    const { selected } = this.workbench, found = await this.workbench.ask({ do: "rows", node: selected });
    if (!found || selected !== this.workbench.selected) return;
    const cell = (text) => element("td", { class: text === "" ? "missing" : "" }, text === "" ? "missing" : text);
    const lines = found.numbers.map((number, i) => element("tr", {}, element("td", { class: "number" }, String(number)), ...found.cells.map((column) => cell(column[i]))));
    const heads = ["row", ...found.columns].map((name) => element("th", {}, name));
    this.body.replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...lines)),
      ...(found.total > found.numbers.length ? [element("p", { class: "muted" }, `the first ${found.numbers.length} of ${plural(found.total, "row")}`)] : []));
  }
}
