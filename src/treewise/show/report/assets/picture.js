// The picture of the tree: one box per node, from left to right; collapses, zooms, pans and highlights. Second file of the
// module; reads the model and reports the node that was selected.

const BOX = { height: 44, gap: 12, levelGap: 46, minWidth: 96, maxWidth: 290 }, INITIAL_LEAVES = 16, READABLE_SCALE = 0.7, PAD = 18, MIN_SCALE = 0.15, MAX_SCALE = 4;
const SVG = "http://www.w3.org/2000/svg";

function svgElement(name, attributes = {}, text) {
  const created = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) created.setAttribute(key, value);
  if (text !== undefined) created.textContent = text;
  return created;
}

const colour = (facts, place) => facts.colours[place % facts.colours.length];

class Picture {
  constructor(svg, model, onSelect) {
    Object.assign(this, { svg, model, onSelect });
    this.expanded = new Set();
    this.view = { x: 0, y: 0, scale: 1 };
    this.highlighted = null;
    this.matches = new Set();
    this.selected = 0;
    this.table = "training";
    this.textMeasure = document.createElement("canvas").getContext("2d");
    this.stage = svgElement("g");
    svg.append(this.stage);
    this.expandTo(INITIAL_LEAVES);
    this.listen();
  }

  // -- visible nodes ---------------------------------------------------------------------------------------

  // Expand the heaviest nodes until so many ends are visible.
  expandTo(leaves) {
    const { model } = this, waiting = [0];
    this.expanded = new Set();
    let ends = 1;
    while (waiting.length) {
      waiting.sort((a, b) => model.weight[b] - model.weight[a] || a - b);
      const node = waiting.shift(), below = model.children[node];
      if (!below.length) continue;
      if (ends > 1 && ends - 1 + below.length > leaves) continue;
      ends += below.length - 1;
      this.expanded.add(node);
      waiting.push(...below);
    }
  }

  toggle(node, open = !this.expanded.has(node)) {
    if (this.model.isLeaf(node)) return;
    const before = this.positions.get(node);
    if (open) this.expanded.add(node); else this.expanded.delete(node);
    this.draw();
    const after = this.positions.get(node);                    // keep its position on the screen
    this.pan((before.x - after.x) * this.view.scale, (before.y - after.y) * this.view.scale);
  }

  collapseAll() { this.expanded = new Set([0]); this.draw(); this.fit(); }
  expandAll() { this.expandTo(2000); this.draw(); this.fit(READABLE_SCALE / 2); }
  reveal(node) { for (const above of this.model.path(node).slice(0, -1)) this.expanded.add(above); }

  visible() {
    const { model } = this, nodes = [];
    for (let i = 0; i < model.size; i = this.expanded.has(i) ? i + 1 : model.end[i]) nodes.push(i);
    return nodes;
  }

  // -- layout -------------------------------------------------------------------------------------------

  // Each end gets a line; a parent is centred beside its children; a level is as wide as its widest box.
  layout(nodes) {
    const { model } = this, lineOf = new Map(), widths = [];
    let line = 0;
    for (const node of nodes) {
      const level = model.depth[node];
      widths[level] = Math.max(widths[level] ?? 0, this.boxWidth(node));
      if (!this.expanded.has(node) || model.isLeaf(node)) lineOf.set(node, line++ * (BOX.height + BOX.gap));
    }
    for (const node of [...nodes].reverse()) {
      if (lineOf.has(node)) continue;
      const below = model.children[node];
      lineOf.set(node, (lineOf.get(below[0]) + lineOf.get(below.at(-1))) / 2);
    }
    const left = [0];
    for (let level = 1; level < widths.length; level++) left[level] = left[level - 1] + widths[level - 1] + BOX.levelGap;
    return new Map(nodes.map((node) => [node, { x: left[model.depth[node]], y: lineOf.get(node), width: this.boxWidth(node) }]));
  }

  boxWidth(node) {
    this.textMeasure.font = "600 13px system-ui, sans-serif";
    const condition = this.textMeasure.measureText(this.model.condition[node]).width;
    this.textMeasure.font = "12px system-ui, sans-serif";
    const summary = this.textMeasure.measureText(this.summary(node)).width;
    return Math.min(BOX.maxWidth, Math.max(BOX.minWidth, 22 + Math.max(condition, summary) + (this.model.isLeaf(node) ? 0 : 14)));
  }

  clip(text, width, font) {
    this.textMeasure.font = font;
    if (this.textMeasure.measureText(text).width <= width) return text;
    let low = 0, high = text.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.textMeasure.measureText(text.slice(0, middle) + "…").width <= width) low = middle; else high = middle - 1;
    }
    return text.slice(0, low).replace(/[\ud800-\udbff]$/, "") + "…";
  }

  // -- text of a box --------------------------------------------------------------------------------------------

  nodeStatistics(node) {
    const { model } = this, test = this.table === "test" ? model.facts.test : null;
    const from = test ?? model;
    return {
      rows: from.rows[node], counts: from.counts ? toPairs(from.counts[node]) : [], value: from.value?.[node], spread: from.spread?.[node],
      total: from.rows[0],
    };
  }

  summary(node) {
    const { model } = this, facts = model.facts, stats = this.nodeStatistics(node);
    const rows = formatCount(stats.rows);
    if (facts.task === "regression") {
      const value = model.isLeaf(node) ? `→ ${formatNumber(model.value[node])}` : formatNumber(stats.value);
      return stats.rows ? `${value} · ${rows}` : `→ ${formatNumber(model.value[model.answering[node]])} · ${rows}`;
    }
    const sum = totalWeight(stats.counts), which = facts.positive ?? model.label[node];
    const share = sum > 0 && which >= 0 ? ` · ${formatPercent(weightOf(stats.counts, which) / sum)}${facts.positive === null && model.isLeaf(node) ? "" : ` ${facts.classes[which]}`}` : "";
    if (!model.isLeaf(node)) return `${rows}${share}`;
    return `→ ${facts.classes[model.label[node]] ?? "?"} · ${rows}${share}`;
  }

  tooltip(node) {
    const { model } = this, facts = model.facts, stats = this.nodeStatistics(node);
    const lines = [`node ${node}: ${model.condition[node]}`, plural(stats.rows, "row") + (this.table === "test" ? " of the test table" : "")];
    if (facts.task === "regression") lines.push(`mean ${formatNumber(stats.value)}, sd ${formatNumber(stats.spread)}`);
    else {
      for (const [place, count] of [...stats.counts].sort((a, b) => b[1] - a[1]).slice(0, 20)) lines.push(`${facts.classes[place]}: ${formatCount(count)}`);
    }
    if (!model.isLeaf(node)) lines.push(`split on ${facts.columns[model.column[node]].name}`);
    return lines.join("\n");
  }

  // -- drawing ----------------------------------------------------------------------------------------------------

  draw() {
    const { model } = this, nodes = this.visible(), positions = this.layout(nodes);
    const total = model.weight[0] || 1, links = svgElement("g", { class: "links" }), boxes = svgElement("g", { class: "boxes" });
    for (const node of nodes) {
      const parent = model.parent[node], to = positions.get(node);
      if (parent >= 0) links.append(this.link(positions.get(parent), to, node, model.weight[node] / total));
      boxes.append(this.box(node, to));
    }
    const focused = document.activeElement?.closest?.(".node") !== null && this.stage.contains(document.activeElement);
    this.stage.replaceChildren(links, boxes);
    this.positions = positions;
    const width = 18 + Math.max(...[...positions.values()].map((box) => box.x + box.width));    // 18: half a handle
    const height = Math.max(...[...positions.values()].map((box) => box.y)) + BOX.height;
    this.extent = { width, height };
    this.applyView();
    if (focused) this.nodeElement(this.selected)?.focus();
  }

  link(from, to, node, share) {
    const x0 = from.x + from.width, y0 = from.y + BOX.height / 2, x1 = to.x, y1 = to.y + BOX.height / 2, bend = (x1 - x0) / 2;
    return svgElement("path", {
      class: "link" + (this.highlighted?.has(node) ? " highlighted" : ""),
      d: `M${x0},${y0}C${x0 + bend},${y0} ${x1 - bend},${y1} ${x1},${y1}`,
      "stroke-width": (1.2 + 13 * share).toFixed(1),
    });
  }

  box(node, { x, y, width }) {
    const { model } = this, leaf = model.isLeaf(node), open = this.expanded.has(node);
    const marks = ["node", leaf ? "leaf" : "inner", this.highlighted?.has(node) && "highlighted", this.highlighted && !this.highlighted.has(node) && "dim", this.matches.has(node) && "match", node === this.selected && "selected"];
    const group = svgElement("g", {
      class: marks.filter(Boolean).join(" "), transform: `translate(${x},${y})`, role: "treeitem", "data-node": node,
      tabindex: node === this.selected ? 0 : -1, "aria-level": model.depth[node] + 1,
      "aria-expanded": leaf ? null : String(open), "aria-selected": String(node === this.selected),
      "aria-label": `node ${node}, ${model.condition[node]}, ${this.summary(node)}`,
    });
    group.append(svgElement("title", {}, this.tooltip(node)), svgElement("rect", { class: "frame", width, height: BOX.height, rx: 6 }));
    group.append(...this.bar(node, width));
    const room = width - (leaf ? 20 : 34);
    group.append(svgElement("text", { class: "condition", x: 11, y: 17 }, this.clip(model.condition[node], room, "600 13px system-ui, sans-serif")));
    group.append(svgElement("text", { class: "summary", x: 11, y: 33 }, this.clip(this.summary(node), room, "12px system-ui, sans-serif")));
    if (!leaf) {
      const more = open ? "−" : `+${model.leaves[node]}`;
      const handle = svgElement("g", { class: "handle", transform: `translate(${width},${BOX.height / 2})` });
      const half = open ? 9 : Math.max(9, 5 + 4 * more.length);
      handle.append(svgElement("rect", { x: -half, y: -9, width: 2 * half, height: 18, rx: 9 }), svgElement("text", { "text-anchor": "middle", y: 4 }, more));
      handle.addEventListener("click", (event) => { event.stopPropagation(); this.toggle(node); });
      group.append(handle);
    }
    group.addEventListener("click", () => { if (!this.dragged) this.onSelect(node); });
    return group;
  }

  // Class shares as a stacked bar; for regression, the position between the lowest and the highest leaf.
  bar(node, width) {
    const { model } = this, facts = model.facts, stats = this.nodeStatistics(node), y = BOX.height - 6, parts = [];
    const room = width - 2;
    if (facts.task === "regression") {
      const value = stats.value ?? model.value[node], [low, high] = facts.range;
      if (value === null || value === undefined || !(high > low)) return parts;
      const share = Math.min(1, Math.max(0, (value - low) / (high - low)));
      parts.push(svgElement("rect", { class: "track", x: 1, y, width: room, height: 5 }), svgElement("rect", { class: "value", x: 1, y, width: (room * share).toFixed(1), height: 5 }));
      return parts;
    }
    const sum = totalWeight(stats.counts);
    let x = 1;
    for (const [place, count] of stats.counts) {
      const part = (room * count) / sum;
      parts.push(svgElement("rect", { x: x.toFixed(2), y, width: part.toFixed(2), height: 5, fill: colour(facts, place) }));
      x += part;
    }
    if (model.isLeaf(node) && model.label[node] >= 0) {
      parts.push(svgElement("rect", { class: "edge", x: 0.5, y: 0.5, width: 5, height: BOX.height - 1, rx: 2, fill: colour(facts, model.label[node]) }));
    }
    return parts;
  }

  nodeElement(node) { return this.stage.querySelector(`[data-node="${node}"]`); }

  highlight(nodes) { this.highlighted = nodes; this.draw(); }
  markMatches(nodes) { this.matches = nodes; this.draw(); }
  showTable(name) { this.table = name; this.draw(); }
  select(node, focus = false) {
    this.selected = node;
    this.reveal(node);
    this.draw();
    if (focus) { this.nodeElement(node)?.focus(); this.panInto(node); }
  }

  // -- zoom and pan -----------------------------------------------------------------------------------------------

  applyView() {
    const { x, y, scale } = this.view;
    this.stage.setAttribute("transform", `translate(${x},${y}) scale(${scale})`);
  }

  size() { const box = this.svg.getBoundingClientRect(); return { width: box.width || 800, height: box.height || 500 }; }

  // Show at first as many levels as are readable at once.
  open() {
    this.draw();
    for (let level = Math.max(...this.visible().map((node) => this.model.depth[node])) - 1; level > 0; level--) {
      if (this.extent.width * READABLE_SCALE <= this.size().width - 2 * PAD) break;
      for (const node of this.expanded) if (this.model.depth[node] >= level) this.expanded.delete(node);
      this.draw();
    }
    this.fit();
  }

  // Fit everything, unless that would be too small to read: then the beginning.
  fit(readable = READABLE_SCALE) {
    const { width, height } = this.size(), pad = PAD;
    const exact = Math.min((width - 2 * pad) / this.extent.width, (height - 2 * pad) / this.extent.height, 1.15);
    const scale = Math.max(exact, readable);
    const root = this.positions.get(0), room = height / scale;
    const y = this.extent.height * scale <= height ? (height - this.extent.height * scale) / 2
      : Math.min(pad, Math.max(height - pad - this.extent.height * scale, height / 2 - (root.y + BOX.height / 2) * scale));
    this.view = { x: pad, y: room > 0 ? y : pad, scale };
    this.applyView();
  }

  zoom(factor, at) {
    const { width, height } = this.size(), { x = width / 2, y = height / 2 } = at ?? {};
    const scale = Math.min(MAX_SCALE, Math.max(MIN_SCALE, this.view.scale * factor)), by = scale / this.view.scale;
    this.view = { x: x - (x - this.view.x) * by, y: y - (y - this.view.y) * by, scale };
    this.applyView();
  }

  pan(dx, dy) { this.view.x += dx; this.view.y += dy; this.applyView(); }

  panInto(node) {
    const box = this.positions.get(node), { width, height } = this.size(), { scale } = this.view, pad = 20;
    const left = box.x * scale + this.view.x, top = box.y * scale + this.view.y;
    const dx = left < pad ? pad - left : Math.min(0, width - pad - (left + box.width * scale));
    const dy = top < pad ? pad - top : Math.min(0, height - pad - (top + BOX.height * scale));
    if (dx || dy) this.pan(dx, dy);
  }

  listen() {
    const { svg } = this, pointers = new Map();                // last position of each pointer
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;          // without Ctrl the wheel scrolls the page
      event.preventDefault();
      const box = svg.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 300), { x: event.clientX - box.left, y: event.clientY - box.top });
    }, { passive: false });
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      this.dragged = false;
    });
    svg.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return;
      if (event.buttons === 0) { pointers.delete(event.pointerId); return; }
      const now = { x: event.clientX, y: event.clientY };
      if (pointers.size === 2) {
        const other = [...pointers].find(([id]) => id !== event.pointerId)[1], box = svg.getBoundingClientRect();
        const apart = (a) => Math.hypot(a.x - other.x, a.y - other.y) || 1;
        this.zoom(apart(now) / apart(before), { x: (now.x + other.x) / 2 - box.left, y: (now.y + other.y) / 2 - box.top });
        this.dragged = true;
      } else if (this.dragged || Math.hypot(now.x - before.x, now.y - before.y) > 4) {
        if (!this.dragged) { this.dragged = true; svg.setPointerCapture(event.pointerId); }
        this.pan(now.x - before.x, now.y - before.y);
      } else return;
      pointers.set(event.pointerId, now);
    });
    for (const done of ["pointerup", "pointercancel", "pointerleave"]) svg.addEventListener(done, (event) => { pointers.delete(event.pointerId); setTimeout(() => { this.dragged = false; }); });
    svg.addEventListener("keydown", (event) => this.key(event));
  }

  // As in a file tree: up and down move, right expands, left collapses.
  key(event) {
    const { model, selected } = this, nodes = this.visible(), place = nodes.indexOf(selected);
    const open = this.expanded.has(selected), leaf = model.isLeaf(selected);
    const steps = {
      ArrowDown: () => nodes[place + 1], ArrowUp: () => nodes[place - 1], Home: () => 0, End: () => nodes.at(-1),
      ArrowRight: () => { if (leaf) return undefined; if (open) return model.children[selected][0]; this.toggle(selected, true); return selected; },
      ArrowLeft: () => { if (!leaf && open) { this.toggle(selected, false); return selected; } return model.parent[selected]; },
      Enter: () => selected, " ": () => { this.toggle(selected); return selected; },
    };
    if (event.key === "+" || event.key === "=") this.zoom(1.2);
    else if (event.key === "-") this.zoom(1 / 1.2);
    else if (event.key === "0") this.fit();
    else if (steps[event.key]) {
      const to = steps[event.key]();
      if (to !== undefined && to >= 0) this.onSelect(to, true);
    } else return;
    event.preventDefault();
  }
}
