// The workbench: the tree in the middle, drawn by the report's code, and panels around it. Last file of the module, in AFM form:
// render({ model, el }) draws into `el`, whatever hosts it, and returns what takes it away again.
//
// A panel has an `element`, and where it needs them show(state), called with each new state, and select(node).

const DOWNLOADS = [["model.json", "model"], ["tree.txt", "text"], ["tree.svg", "picture"], ["log.csv", "log"], ["report.html", "report"]];
const HELP = "Arrows move, s splits, p prunes, g regrows, m merges, l locks, Ctrl+Z takes back.";

class Workbench {
  constructor(model, el) {
    Object.assign(this, { model, el, selected: 0, identity: null, picture: null, closed: false });
    this.connection = new Connection(model, () => this.fail("No answer yet. Is treewise still running, or the kernel busy?"));
    this.edit = (verb, given) => this.makeEdit(verb, given);
    this.build();
    this.onKey = (event) => this.key(event);
    this.onState = () => this.report(() => this.show(model.get("state")));
    el.addEventListener("keydown", this.onKey);
    model.on("change:state", this.onState);
    this.resized = new ResizeObserver(() => this.refit());
    this.resized.observe(this.canvas);
  }

  close() {
    this.closed = true;
    this.resized.disconnect();
    this.model.off("change:state", this.onState);
    this.el.removeEventListener("keydown", this.onKey);
    this.connection.close();
    this.el.replaceChildren();
  }

  // -- the frame ------------------------------------------------------------------------------------------------------

  build() {
    const button = (name, words, onclick, title) => (this[`${name}Button`] = element("button", { type: "button", id: `wb-${name}`, onclick, title }, words));
    const downloads = element("details", { class: "downloads" }, element("summary", {}, "Download"), ...DOWNLOADS.map(([path, words]) => element("a", { href: `/${path}`, download: path }, words)));
    this.title = element("h1", { id: "wb-title" });
    this.status = element("p", { class: "muted", role: "status", id: "wb-status" });
    this.error = element("p", { class: "warning", role: "alert", id: "wb-error", hidden: true });
    this.tiles = element("dl", { class: "tiles", id: "wb-tiles" });
    this.canvas = element("div", { id: "wb-canvas" });
    this.node = new NodePanel(this);
    const candidates = new CandidatesPanel(this), errors = new ErrorsPanel(this), history = new HistoryPanel(this), rows = new RowsPanel(this);
    const regions = new RegionsPanel(this), alternatives = new AlternativesPanel(this);
    this.banner = element("p", { class: "banner", hidden: true, role: "status" });
    this.panels = [this.node, candidates, errors, history, regions, alternatives, rows];
    this.el.classList.add("workbench");
    this.el.dataset.lmSuppressShortcuts = "true";               // of JupyterLab: its keys would edit cells
    this.el.dataset.home = this.model.get("home");
    this.el.replaceChildren(
      element("header", {}, this.title, element("div", { class: "tools" },
        button("undo", "Undo", () => this.edit("undo"), "Ctrl+Z"), button("redo", "Redo", () => this.edit("redo"), "Ctrl+Y"),
        button("save", "Save", () => this.ask({ do: "save" }), "save the model file"), ...(this.model.get("home") === "page" ? [downloads] : []),
        button("theme", "◐", () => this.toggleTheme(), "dark or light")), this.status, this.error),
      element("main", {}, this.tiles,
        element("div", { class: "workspace" },
          element("div", { class: "main" }, element("div", { class: "panel", id: "picture" }, this.banner, this.canvas, element("p", { class: "muted" }, HELP)),
            element("div", { class: "pair" }, errors.element, history.element)),
          element("div", { class: "side" }, this.node.element, candidates.element)),
        element("div", { class: "pair" }, regions.element, alternatives.element), rows.element));
    this.setTheme(hostTheme(this.el));
  }

  setTheme(theme) { if (theme) this.el.dataset.theme = theme; }

  toggleTheme() {
    const { theme } = this.el.dataset, dark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    this.setTheme(dark ? "light" : "dark");
  }

  // -- asking ---------------------------------------------------------------------------------------------------------

  // Return the answer of the session; of an error, show it and return null.
  async ask(message) {
    this.el.setAttribute("aria-busy", "true");
    const answer = await this.connection.ask(message);
    this.el.removeAttribute("aria-busy");
    this.fail(answer.error);
    return answer.error ? null : answer;
  }

  fail(text) {
    this.error.hidden = !text;
    this.error.textContent = text ?? "";
  }

  // Errors of this module are shown, as those of the session are.
  async report(action) {
    try { await action(); } catch (error) { console.error(error); this.fail(`The page failed: ${error.message}`); }
  }

  async makeEdit(verb, given = {}) {
    const reason = verb === "undo" || verb === "redo" ? {} : { reason: this.node.takeReason() };
    const answer = await this.ask({ do: "edit", verb, with: { ...given, ...reason } });
    if (answer && reason.reason) this.node.clearReason();
  }

  // Several edits at once, with the reason that is typed.
  async makeMany(message) {
    const reason = this.node.takeReason();
    if (await this.ask({ ...message, reason }) && reason) this.node.clearReason();
  }

  async start() {
    if (this.model.get("state")?.facts) await this.show(this.model.get("state"));
    else await this.ask({ do: "state" });
    this.el.dataset.ready = "yes";
  }

  // -- showing a state ------------------------------------------------------------------------------------------------

  async show(state) {
    if (!state?.facts || this.closed) return;
    this.state = state;
    for (const panel of this.state ? this.panels : []) panel.endPreview?.();
    const kept = this.identity === null ? 0 : state.ids.indexOf(this.identity);
    this.tree = new Model(state.facts);
    this.showHead(state);
    this.drawTree();
    for (const panel of this.panels) panel.show?.(state);
    await this.select(Math.max(0, kept));
  }

  showHead(state) {
    const { facts } = state;
    this.title.textContent = `${facts.target}: ${facts.task === "regression" ? "a number" : facts.classes.slice(0, 6).join(" / ")}`;
    this.undoButton.disabled = !state.can_undo;
    this.redoButton.disabled = !state.can_redo;
    this.saveButton.hidden = !state.output;
    const saves = state.output ? (state.saved ? `saved ${state.output} at ${state.saved}` : `saves to ${state.output}`) : "";
    this.status.textContent = [saves, state.autosave ? `every edit is kept in ${state.autosave}` : "", ...state.notes].filter(Boolean).join(" · ");
    const leaves = facts.nodes.kind.filter((kind) => kind === LEAF).length;
    const size = element("div", {}, element("dt", {}, "size"), element("dd", {}, element("strong", {}, plural(leaves, "leaf", "leaves")), element("span", {}, plural(state.log.length, "edit"))));
    this.tiles.replaceChildren(...["training", "validation"].filter((table) => state.losses[table]).map((table) => this.tile(state, table)), size);
  }

  tile({ losses, start, curve, facts, loss_name: name }, table) {
    const loss = losses[table], before = curve.at(-2)?.[table]?.rate ?? null, change = before === null || before === loss.rate ? "" : `${formatLoss(before, name)} before`;
    const count = facts.task === "regression" ? plural(loss.rows, "row") : `${formatCount(loss.lost)} of ${plural(loss.rows, "row")}`;
    return element("div", { id: `wb-${table}-error` }, element("dt", {}, `${table} ${name}`), element("dd", {}, element("strong", {}, formatLoss(loss.rate, name)),
      element("span", { class: trend([before, loss.rate]) }, [count, change].filter(Boolean).join(" · ")), element("span", {}, `${formatLoss(start[table].rate, name)} at the start`)));
  }

  drawTree() {
    const before = this.previewed ? null : this.picture;
    this.previewed = false;
    this.banner.hidden = true;
    this.picture = this.draw(this.tree, (node, focus) => this.report(() => this.select(node, focus)), (picture) => this.markLocks(picture));
    if (before && before.extent.width === this.picture.extent.width) { this.picture.view = before.view; this.picture.applyView(); }
  }

  draw(tree, onSelect, onDraw) {
    const svg = svgElement("svg", { id: "tree", role: "tree", "aria-label": "The tree: arrow keys move" });
    this.canvas.replaceChildren(svg);
    const picture = new Picture(svg, tree, onSelect, onDraw);
    picture.open(() => {});
    this.width = picture.size().width;
    return picture;
  }

  // Another tree in place of the current one, which is not changed; what can be done with it is in the banner.
  preview(tree, content) {
    this.banner.replaceChildren(...content);
    this.banner.hidden = false;
    this.previewed = true;
    this.picture = this.draw(tree, (node, focus) => this.picture.select(node, focus), () => {});
  }

  endPreview() {
    if (!this.previewed) return;
    this.drawTree();
    this.picture.select(this.selected);
    for (const panel of this.panels) panel.endPreview?.();
  }

  // A phone that was turned, a cell that became wider.
  refit() {
    const width = this.picture?.size().width;
    if (width === undefined || width === this.width) return;
    this.width = width;
    this.picture.fit();
    this.picture.panInto(this.picture.selected);
  }

  markLocks(picture) {
    for (const node of this.state.locked) picture.nodeElement(node)?.classList.add("locked");
  }

  async select(node, focus = false) {
    this.selected = node;
    this.identity = this.state.ids[node];
    this.picture.select(node, focus);
    this.picture.panInto(node);
    await Promise.all(this.panels.map((panel) => panel.select?.(node)));
  }

  // -- keys -----------------------------------------------------------------------------------------------------------

  key(event) {
    if (event.target.matches?.("input, select, textarea") || event.altKey || !this.state) return;
    if (this.previewed) {
      if (event.key === "Escape") this.endPreview();
      return;
    }
    const control = event.ctrlKey || event.metaKey, key = event.key.toLowerCase();
    if (control && (key === "z" || key === "y")) {
      event.preventDefault();
      const [verb, button] = key === "y" || event.shiftKey ? ["redo", this.redoButton] : ["undo", this.undoButton];
      if (!button.disabled) this.edit(verb);
    } else if (!control && VERBS.some(([, own]) => own === key)) {
      event.preventDefault();
      this.node.do(VERBS.find(([, own]) => own === key)[0]);
    }
  }
}

// Notebooks mark a dark theme in their own ways; "" follows the system.
function hostTheme(el) {
  const { body, documentElement: root } = el.ownerDocument;
  if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false" ? "dark" : "light";
  if (body.classList.contains("vscode-dark") || root.classList.contains("dark") || body.classList.contains("dark")) return "dark";
  return body.classList.contains("vscode-light") || root.classList.contains("light") || body.classList.contains("light") ? "light" : "";
}

export default {
  render({ model, el }) {
    const workbench = new Workbench(model, el);
    workbench.report(() => workbench.start());
    return () => workbench.close();
  },
};
