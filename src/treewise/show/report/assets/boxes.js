// The box of a node: its question or prediction, the distribution of its rows, and their number. Third file of the module.

const TITLE = "600 14px system-ui, sans-serif", TEXT = "13px system-ui, sans-serif";
const SVG = "http://www.w3.org/2000/svg";

function svgElement(name, attributes = {}, text) {
  const created = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) created.setAttribute(key, value);
  if (text !== undefined) created.textContent = text;
  return created;
}

const colour = (facts, place) => facts.colours[place % facts.colours.length];

class NodeBoxes {
  constructor(model) {
    Object.assign(this, { model, table: "training", widths: new Map() });
    this.canvas = document.createElement("canvas").getContext("2d");
  }

  // -- text ---------------------------------------------------------------------------------------------------

  statistics(node) {
    const { model } = this, from = (this.table === "test" ? model.facts.test : null) ?? model;
    return { rows: from.rows[node], counts: from.counts ? toPairs(from.counts[node]) : [], value: from.value?.[node], spread: from.spread?.[node] };
  }

  // The question of an inner node, the prediction of a leaf.
  title(node) {
    const { model } = this, { facts } = model;
    if (!model.isLeaf(node)) return `${facts.columns[model.column[node]].name}?`;
    return facts.task === "regression" ? formatNumber(model.value[model.answering[node]]) : facts.classes[model.label[node]] ?? "?";
  }

  rowsText(node) { return plural(this.statistics(node).rows, "row"); }

  // Beside the number of rows: the share of the predicted class; above the leaves that of the positive class, named; a mean.
  shareText(node) {
    const { model } = this, { facts } = model, stats = this.statistics(node);
    if (facts.task === "regression" && model.isLeaf(node) && this.table === "training") return stats.rows ? `± ${formatSpread(stats.spread)}` : "";
    if (facts.task === "regression") return stats.rows ? `mean ${formatNumber(stats.value)}` : "";
    const sum = totalWeight(stats.counts), which = model.isLeaf(node) ? model.label[node] : facts.positive ?? model.label[node];
    if (!(sum > 0) || !(which >= 0)) return "";
    const share = formatPercent(weightOf(stats.counts, which) / sum);
    return model.isLeaf(node) ? share : `${facts.classes[which]}: ${share}`;
  }

  summary(node) { return [this.rowsText(node), this.shareText(node)].filter(Boolean).join(" · "); }

  tooltip(node) {
    const { model } = this, { facts } = model, stats = this.statistics(node);
    const lines = [`node ${node}: ${model.condition[node]}`, plural(stats.rows, "row") + (this.table === "test" ? " of the test table" : "")];
    if (facts.task === "regression") lines.push(`mean ${formatNumber(stats.value)}, sd ${formatSpread(stats.spread)}`);
    else {
      for (const [place, count] of [...stats.counts].sort((a, b) => b[1] - a[1]).slice(0, 20)) lines.push(`${facts.classes[place]}: ${formatCount(count)}`);
    }
    if (!model.isLeaf(node)) lines.push(`split on ${facts.columns[model.column[node]].name}`);
    return lines.join("\n");
  }

  // -- sizes --------------------------------------------------------------------------------------------------

  showTable(name) { this.table = name; this.widths.clear(); }

  textWidth(text, font) { this.canvas.font = font; return this.canvas.measureText(text).width; }

  // Where the title starts: after the patch of the class colour in leaves.
  titleStart(node) { return this.model.isLeaf(node) && this.model.facts.task !== "regression" ? 30 : 12; }

  width(node) {
    if (!this.widths.has(node)) {
      const title = this.titleStart(node) + this.textWidth(this.title(node), TITLE) + 10 + this.textWidth(String(node), TEXT) + 9;
      const text = 24 + this.textWidth(this.rowsText(node), TEXT) + 12 + this.textWidth(this.shareText(node), TEXT);
      this.widths.set(node, Math.ceil(Math.min(BOX.maxWidth, Math.max(BOX.minWidth, title, text))));
    }
    return this.widths.get(node);
  }

  labelWidth(node) { return node === 0 ? 0 : Math.min(LABEL.maxWidth, 18 + this.textWidth(this.model.branch_text[node], TEXT)); }

  clip(text, width, font) {
    this.canvas.font = font;
    if (this.canvas.measureText(text).width <= width) return text;
    let low = 0, high = text.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.canvas.measureText(text.slice(0, middle) + "…").width <= width) low = middle; else high = middle - 1;
    }
    return text.slice(0, low).replace(/[\ud800-\udbff]$/, "") + "…";
  }

  // -- shapes -------------------------------------------------------------------------------------------------

  content(node, width) {
    const number = String(node), start = this.titleStart(node), share = this.shareText(node), rows = this.rowsText(node);
    const room = width - 24 - this.textWidth(rows, TEXT) - 8;
    return [
      svgElement("title", {}, this.tooltip(node)), svgElement("rect", { class: "frame", width, height: BOX.height, rx: 9 }), ...this.bar(node, width),
      svgElement("text", { class: "question", x: start, y: 22 }, this.clip(this.title(node), width - start - 17 - this.textWidth(number, TEXT), TITLE)),
      svgElement("text", { class: "number", x: width - 9, y: 19, "text-anchor": "end" }, number),
      svgElement("text", { class: "summary", x: 12, y: 56 }, rows),
      svgElement("text", { class: "share", x: width - 12, y: 56, "text-anchor": "end" }, this.clip(share, room, TEXT)),
    ];
  }

  // Class shares as a stacked bar; for regression, the position between the lowest and the highest leaf.
  bar(node, width, at = { x: 12, y: 31, height: 9 }, room = width - 24) {
    const { model } = this, { facts } = model, stats = this.statistics(node), parts = [];
    if (facts.task === "regression") {
      const value = stats.value ?? model.value[node], [low, high] = facts.range;
      if (value === null || value === undefined || !(high > low)) return parts;
      const share = Math.min(1, Math.max(0, (value - low) / (high - low)));
      return [svgElement("rect", { class: "track", ...at, width: room }), svgElement("rect", { class: "value", ...at, width: (room * share).toFixed(1) })];
    }
    if (model.isLeaf(node) && model.label[node] >= 0) {
      const fill = colour(facts, model.label[node]);
      parts.push(svgElement("rect", { class: "wash", width, height: BOX.height, rx: 9, fill, stroke: fill }), svgElement("rect", { class: "patch", x: 12, y: 11, width: 12, height: 12, rx: 3, fill }));
    }
    const sum = totalWeight(stats.counts);
    let x = at.x;
    for (const [place, count] of sum > 0 ? stats.counts : []) {
      const part = (room * count) / sum;
      parts.push(svgElement("rect", { ...at, x: x.toFixed(2), width: part.toFixed(2), fill: colour(facts, place) }));
      x += part;
    }
    return parts;
  }

  // The branch that leads to a node, above its box.
  label(node, box, state) {
    const width = this.labelWidth(node), group = svgElement("g", { class: `label ${state}`, transform: `translate(${box.x + box.width / 2},${box.y - LABEL.height - LABEL.gap})` });
    group.append(svgElement("title", {}, this.model.condition[node]), svgElement("rect", { x: -width / 2, width, height: LABEL.height, rx: 10 }),
      svgElement("text", { "text-anchor": "middle", y: 15 }, this.clip(this.model.branch_text[node], width - 14, TEXT)));
    return group;
  }

  // The link from a parent to a node; its width is the share of all rows that take it.
  link(from, to, share, state) {
    const x0 = from.x + from.width / 2, y0 = from.y + BOX.height, x1 = to.x + to.width / 2, end = to.y - LABEL.height - LABEL.gap, bend = (end - y0) / 2;
    return svgElement("path", { class: `link ${state}`, d: `M${x0},${y0}C${x0},${y0 + bend} ${x1},${end - bend} ${x1},${end}V${to.y}`, "stroke-width": (1.5 + 14 * share).toFixed(1) });
  }

  // Folds and unfolds: the number of hidden leaves, or a minus.
  handle(node, isOpen, width, onClick) {
    const text = isOpen ? "−" : `+${this.model.leaves[node]}`, half = isOpen ? 8 : Math.max(10, 6 + 4 * text.length);
    const handle = svgElement("g", { class: isOpen ? "handle open" : "handle", transform: `translate(${width / 2},${BOX.height + (isOpen ? 1 : 3)})` });
    handle.append(svgElement("rect", { x: -half, y: isOpen ? -8 : -10, width: 2 * half, height: isOpen ? 16 : 20, rx: 10 }), svgElement("text", { "text-anchor": "middle", y: isOpen ? 4 : 5 }, text));
    handle.addEventListener("click", (event) => { event.stopPropagation(); onClick(); });
    return handle;
  }
}
