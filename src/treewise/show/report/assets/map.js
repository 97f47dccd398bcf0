// The whole tree at a glance: every node as wide as its share of the rows, below its parent, in the colour of its prediction. Shown
// for trees that are too large to be unfolded; a click leads to the node. Sixth file of the module.

const MAP_WIDTH = 1200, MAP_HEIGHT = 96, MAX_MAP_LEVELS = 24, MIN_MAP_WIDTH = 0.35;

class OverviewMap {
  constructor(svg, model, onSelect) {
    Object.assign(this, { svg, model, places: new Map(), rects: new Map() });
    const levels = Math.min(MAX_MAP_LEVELS, Math.max(...model.depth) + 1), height = MAP_HEIGHT / levels, total = model.weight[0] || 1;
    svg.setAttribute("viewBox", `0 0 ${MAP_WIDTH} ${MAP_HEIGHT}`);
    const starts = [0], used = new Array(model.size).fill(0);
    for (let i = 0; i < model.size; i++) {
      const parent = model.parent[i];
      if (parent >= 0) { starts[i] = starts[parent] + used[parent]; used[parent] += model.weight[i]; }
      const width = (MAP_WIDTH * model.weight[i]) / total;
      if (width < MIN_MAP_WIDTH || model.depth[i] >= levels) continue;
      const place = { x: (MAP_WIDTH * starts[i]) / total, y: model.depth[i] * height, width, height };
      const rect = svgElement("rect", { ...place, x: place.x.toFixed(2), width: Math.max(width - (width > 3 ? 0.8 : 0), 0.3).toFixed(2), height: (height - 0.6).toFixed(2), fill: this.fill(i), "fill-opacity": this.strength(i).toFixed(2), "data-map": i });
      rect.append(svgElement("title", {}, `node ${i}: ${model.condition[i]} (${plural(model.rows[i], "row")})`));
      svg.append(rect);
      this.rects.set(i, rect);
    }
    svg.addEventListener("click", (event) => { const node = event.target.closest?.("[data-map]")?.dataset.map; if (node !== undefined) onSelect(Number(node), true); });
  }

  fill(node) {
    const { facts } = this.model;
    return facts.task === "regression" ? "#3C82BA" : this.model.label[node] >= 0 ? colour(facts, this.model.label[node]) : "#999";
  }

  // How sure a class is, or where a mean lies in the range of the leaves.
  strength(node) {
    const { model } = this, { facts } = model;
    if (facts.task === "regression") { const [low, high] = facts.range; return 0.15 + 0.85 * Math.min(1, Math.max(0, (model.value[node] - low) / (high - low || 1))); }
    const share = model.shares(node).find(([place]) => place === model.label[node])?.[1] ?? 0, guess = 1 / Math.max(2, facts.classes.length);
    return 0.2 + 0.8 * Math.max(0, (share - guess) / (1 - guess));
  }

  // Mark the nodes that the picture shows, and the selected one.
  mark(visible, selected) {
    const shown = new Set(visible);
    for (const [node, rect] of this.rects) rect.setAttribute("class", `${shown.has(node) ? "shown" : "folded"}${node === selected ? " selected" : ""}`);
  }
}
