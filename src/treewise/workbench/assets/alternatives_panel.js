// The drawer of alternatives: the best trees of about this size, each without a column of those before it. A click shows one in place
// of the tree, and it may be adopted, which is an edit like others.

class AlternativesPanel {
  constructor(workbench) {
    this.workbench = workbench;
    this.body = element("div", { class: "scroll", id: "wb-alternatives" });
    this.element = element("section", {}, element("h2", {}, "Other trees"), this.body);
  }

  // What was listed stays until it is asked for again: it may be looked at after an edit, too.
  show() { if (!this.trees) this.body.replaceChildren(this.askButton("find trees that are nearly as good")); }

  askButton(words) { return element("button", { type: "button", id: "wb-find-alternatives", onclick: () => this.ask() }, words); }

  async ask() {
    this.body.replaceChildren(element("p", { class: "muted" }, "searching …"));
    const found = await this.workbench.ask({ do: "alternatives" });
    this.trees = found?.trees;
    if (found) this.draw(); else this.show();
  }

  draw() {
    const { loss_name: name } = this.workbench.state, hasValidation = this.trees.some((tree) => tree.validation);
    const number = (text) => element("td", { class: "number" }, text);
    const lines = this.trees.map((tree, i) => {
      const preview = () => this.preview(i);
      return element("tr", {
        class: i === this.shown ? "selectable chosen" : "selectable", tabindex: 0, "data-alternative": i, onclick: preview,
        onkeydown: (event) => { if (event.key === "Enter") preview(); },
      }, element("td", {}, tree.columns.join(", ") || "a single leaf"), number(String(tree.leaves)), number(formatLoss(tree.training.rate, name)),
      ...(hasValidation ? [number(formatLoss(tree.validation?.rate, name))] : []), number(formatPercent(tree.differs)), element("td", {}, tree.proven ? "yes" : "not proven"));
    });
    const heads = ["columns asked", "leaves", "training", ...(hasValidation ? ["validation"] : []), "differs", "best of its kind"];
    this.body.replaceChildren(
      element("p", { class: "muted" }, "Each does without a column of every tree above it. Click to look at one. Differs: rows predicted otherwise than by your tree when you asked."),
      element("table", {}, element("thead", {}, element("tr", {}, ...heads.map((head, i) => element("th", { class: i > 0 && i < heads.length - 1 ? "number" : "" }, head)))), element("tbody", {}, ...lines)),
      element("p", {}, this.askButton("search again")));
  }

  async preview(i) {
    const found = await this.workbench.ask({ do: "preview", number: i });
    if (!found) return;
    this.shown = i;
    this.draw();
    const adopt = element("button", { type: "button", "data-verb": "adopt", onclick: () => this.workbench.edit("adopt", { number: i }) }, "Adopt");
    const back = element("button", { type: "button", id: "wb-back", onclick: () => this.workbench.endPreview() }, "Back");
    this.workbench.preview(new Model(found.facts), [`Not your tree: a look at one of ${this.trees[i].columns.join(", ")}. `, adopt, " ", back]);
    this.workbench.canvas.scrollIntoView({ block: "nearest" });
    adopt.focus({ preventScroll: true });
  }

  endPreview() { this.shown = undefined; if (this.trees) this.draw(); }
}
