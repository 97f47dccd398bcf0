// The tree as a list, one line per node, indented: for narrow screens, for print, and for those who prefer it. Fifth file of the module.

const MAX_INDENT = 12;

class Outline {
  constructor(list, model, boxes, onSelect, onToggle) { Object.assign(this, { list, model, boxes, onSelect, onToggle }); }

  // Show the visible nodes; `expanded`, `selected` and `highlighted` are those of the picture.
  draw(nodes, { expanded, selected, highlighted }) {
    const hadFocus = this.list.contains(document.activeElement);
    this.list.replaceChildren(...nodes.map((node) => this.line(node, expanded.has(node), node === selected, highlighted)));
    if (hadFocus) this.list.querySelector(".line.selected")?.focus();
  }

  line(node, isOpen, isSelected, highlighted) {
    const { model, boxes } = this, leaf = model.isLeaf(node), state = highlighted ? (highlighted.has(node) ? "highlighted" : "dim") : "";
    const line = element("div", {
      class: `line ${leaf ? "leaf" : "inner"} ${isSelected ? "selected" : ""} ${state}`, role: "treeitem", tabindex: isSelected ? 0 : -1,
      "aria-level": model.depth[node] + 1, "aria-expanded": leaf ? null : String(isOpen), "aria-selected": String(isSelected), "data-line": node,
      onclick: () => this.onSelect(node),
    });
    line.style.setProperty("--depth", Math.min(model.depth[node], MAX_INDENT));
    const fold = leaf ? element("span", { class: "fold" }) : element("button", { type: "button", class: "fold", tabindex: -1, "aria-label": isOpen ? "collapse" : `expand ${plural(model.leaves[node], "leaf", "leaves")}`,
      onclick: (event) => { event.stopPropagation(); this.onToggle(node); } }, isOpen ? "−" : `+${model.leaves[node]}`);
    const prediction = leaf ? element("strong", { class: "outcome" }, `→ ${boxes.title(node)}`) : element("span", { class: "muted ask" }, boxes.title(node));
    line.append(fold, element("span", { class: "condition" }, model.condition[node]), prediction, this.bar(node),
      element("span", { class: "figures muted" }, boxes.summary(node)));
    return line;
  }

  bar(node) {
    const svg = svgElement("svg", { class: "bar", viewBox: "0 0 124 9", preserveAspectRatio: "none", "aria-hidden": "true" });
    svg.append(...this.boxes.bar(node, 124, { x: 0, y: 0, height: 9 }, 124).filter((part) => !part.matches(".wash, .patch")));
    return svg;
  }
}
