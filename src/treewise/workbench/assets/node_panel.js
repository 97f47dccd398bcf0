// The selected node: its classes on both tables, the verbs as buttons, and the reason of the next edit.

const VERBS = [
  // verb, key, words, when it applies
  ["split", "s", "Split best", (at) => at.canSplit],
  ["prune", "p", "Prune", (at) => !at.leaf],
  ["regrow", "g", "Regrow", (at) => at.canSplit],
  ["merge", "m", "Merge leaves", (at) => at.leaves.length > 1],
  ["lock", "l", "Lock", () => true],
];

class NodePanel {
  constructor(workbench) {
    this.workbench = workbench;
    this.reason = element("input", { id: "wb-reason", type: "text", maxlength: 2000, placeholder: "reason (kept in the log)", "aria-label": "reason for the next edit" });
    this.body = element("div", {});
    this.element = element("div", { class: "panel", id: "wb-node" }, this.body, this.reason);
  }

  // The reason of an edit that is about to be made; the field is empty after an edit that was made.
  takeReason() { return this.reason.value; }
  clearReason() { this.reason.value = ""; }

  // What can be done at the selected node.
  applicable() {
    const { tree, selected, state, picture } = this.workbench, stats = picture.boxes.statistics(selected);
    const leaves = tree.children[selected].filter((child) => tree.isLeaf(child));
    const canSplit = tree.facts.task === "regression" ? stats.rows > 1 : stats.counts.length > 1;
    return { leaf: tree.isLeaf(selected), leaves, canSplit, locked: state.locked.includes(selected) };
  }

  do(verb) {
    const at = this.applicable(), { selected: node, edit } = this.workbench;
    if (!VERBS.find(([own]) => own === verb)[3](at)) return undefined;
    if (verb === "merge") return edit("merge", { leaves: this.chosen?.length > 1 ? this.chosen : at.leaves });
    if (verb === "lock") return edit(at.locked ? "unlock" : "lock", { what: node });
    return edit(verb, { node });
  }

  select(node) {
    const { tree } = this.workbench, at = this.applicable(), { facts } = tree;
    const verbs = VERBS.map(([verb, key, words, applies]) => element("button", {
      type: "button", "data-verb": verb, disabled: !applies(at), title: `key ${key}`, onclick: () => this.do(verb),
    }, verb === "lock" && at.locked ? "Unlock" : words));
    const heading = node === 0 ? "all rows" : tree.path(node).slice(1).map((each) => tree.condition[each]).join(" and ");
    this.chosen = null;
    this.body.replaceChildren(
      element("h3", {}, `Node ${node}${at.locked ? " (locked)" : ""}`), element("p", { class: "rule" }, heading),
      this.distribution(tree, "training"), ...(facts.test ? [this.distribution(facts.test, "validation")] : []),
      ...(at.leaf ? [this.relabelling(node)] : []), ...(at.leaves.length > 1 && tree.children[node].length > 2 ? [this.merging(at.leaves)] : []),
      element("div", { class: "tools" }, ...verbs));
  }

  relabelling(node) {
    const { tree, edit } = this.workbench, { facts } = tree;
    const label = facts.task === "regression" ? element("input", { id: "wb-label", type: "text", inputmode: "decimal", "aria-label": "value" })
      : element("select", { id: "wb-label", "aria-label": "class" }, ...facts.classes.map((name, i) => element("option", { value: name, selected: i === tree.label[node] }, name)));
    const button = element("button", { type: "button", class: "small", "data-verb": "relabel", onclick: () => edit("relabel", { node, label: label.value }) }, "instead");
    return element("p", { class: "relabel" }, "predict ", label, " ", button);
  }

  // Which leaves of a split of several branches are merged: those that are ticked, or all.
  merging(leaves) {
    const boxes = leaves.map((leaf) => element("input", { type: "checkbox", value: leaf, onchange: () => { this.chosen = boxes.filter((box) => box.checked).map((box) => Number(box.value)); } }));
    return element("fieldset", {}, element("legend", {}, "merge only"), ...boxes.map((box, i) => element("label", {}, box, ` ${this.workbench.tree.condition[leaves[i]]}`)));
  }

  // The classes of a node on one table, or its mean.
  distribution(table, words) {
    const { tree, selected } = this.workbench, { facts } = tree, rows = plural(table.rows[selected], "row");
    if (facts.task === "regression") return element("p", { class: "muted" }, `${words}: ${rows}, mean ${formatNumber(table.value[selected])}, sd ${formatSpread(table.spread[selected])}`);
    const counts = toPairs(table.counts[selected]), sum = totalWeight(counts);
    const svg = svgElement("svg", { class: "bar", viewBox: "0 0 100 5", preserveAspectRatio: "none", "aria-hidden": "true" });
    let x = 0;
    for (const [place, count] of counts) {
      svg.append(svgElement("rect", { x, width: (100 * count) / sum, height: 5, fill: colour(facts, place) }));
      x += (100 * count) / sum;
    }
    const listed = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 6).map(([place, count]) => `${facts.classes[place]} ${formatCount(count)}`).join(", ");
    return element("div", { class: "distribution" }, svg, element("p", { class: "muted" }, `${words}: ${rows}${listed ? `: ${listed}` : ""}`));
  }
}
