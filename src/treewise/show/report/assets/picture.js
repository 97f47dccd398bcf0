// The picture: boxes from left to right, one a node, which fold, zoom, pan and light up. Second file of the module;
// it reads the model and tells its listener which node was chosen.

const BOX = { height: 44, gap: 12, space: 46, least: 96, most: 290 }, FIRST_LEAVES = 16, READABLE = 0.7, PAD = 18, SMALLEST = 0.15, LARGEST = 4;
const SVG = "http://www.w3.org/2000/svg";

function shape(name, attributes = {}, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const colour = (facts, place) => facts.colours[place % facts.colours.length];

class Picture {
  constructor(svg, model, choose) {
    Object.assign(this, { svg, model, choose });
    this.unfolded = new Set();
    this.view = { x: 0, y: 0, scale: 1 };
    this.lit = null;
    this.found = new Set();
    this.chosen = 0;
    this.table = "training";
    this.ruler = document.createElement("canvas").getContext("2d");
    this.stage = shape("g");
    svg.append(this.stage);
    this.unfoldTo(FIRST_LEAVES);
    this.listen();
  }

  // -- which nodes are seen ---------------------------------------------------------------------------------------

  // Unfold the heaviest nodes until so many ends are seen.
  unfoldTo(leaves) {
    const { model } = this, waiting = [0];
    this.unfolded = new Set();
    let seen = 1;
    while (waiting.length) {
      waiting.sort((a, b) => model.weight[b] - model.weight[a] || a - b);
      const node = waiting.shift(), below = model.children[node];
      if (!below.length) continue;
      if (seen > 1 && seen - 1 + below.length > leaves) continue;
      seen += below.length - 1;
      this.unfolded.add(node);
      waiting.push(...below);
    }
  }

  fold(node, open = !this.unfolded.has(node)) {
    if (this.model.isLeaf(node)) return;
    const before = this.where.get(node);
    if (open) this.unfolded.add(node); else this.unfolded.delete(node);
    this.draw();
    const after = this.where.get(node);                    // stays where it was on the screen
    this.pan((before.x - after.x) * this.view.scale, (before.y - after.y) * this.view.scale);
  }

  foldAll() { this.unfolded = new Set([0]); this.draw(); this.fit(); }
  unfoldAll() { this.unfoldTo(2000); this.draw(); this.fit(READABLE / 2); }
  reveal(node) { for (const above of this.model.path(node).slice(0, -1)) this.unfolded.add(above); }

  visible() {
    const { model } = this, seen = [];
    for (let i = 0; i < model.size; i = this.unfolded.has(i) ? i + 1 : model.end[i]) seen.push(i);
    return seen;
  }

  // -- where they stand -------------------------------------------------------------------------------------------

  // Ends get a line each; whoever has children stands beside the middle of them; each level is as wide as it needs.
  place(seen) {
    const { model } = this, at = new Map(), wide = [];
    let line = 0;
    for (const node of seen) {
      const level = model.depth[node];
      wide[level] = Math.max(wide[level] ?? 0, this.boxWidth(node));
      if (!this.unfolded.has(node) || model.isLeaf(node)) at.set(node, line++ * (BOX.height + BOX.gap));
    }
    for (const node of [...seen].reverse()) {
      if (at.has(node)) continue;
      const below = model.children[node];
      at.set(node, (at.get(below[0]) + at.get(below.at(-1))) / 2);
    }
    const left = [0];
    for (let level = 1; level < wide.length; level++) left[level] = left[level - 1] + wide[level - 1] + BOX.space;
    return new Map(seen.map((node) => [node, { x: left[model.depth[node]], y: at.get(node), width: this.boxWidth(node) }]));
  }

  boxWidth(node) {
    this.ruler.font = "600 13px system-ui, sans-serif";
    const words = this.ruler.measureText(this.model.words[node]).width;
    this.ruler.font = "12px system-ui, sans-serif";
    const facts = this.ruler.measureText(this.line(node)).width;
    return Math.min(BOX.most, Math.max(BOX.least, 22 + Math.max(words, facts) + (this.model.isLeaf(node) ? 0 : 14)));
  }

  clipped(text, width, font) {
    this.ruler.font = font;
    if (this.ruler.measureText(text).width <= width) return text;
    let least = 0, most = text.length;
    while (least < most) {
      const middle = (least + most + 1) >> 1;
      if (this.ruler.measureText(text.slice(0, middle) + "…").width <= width) least = middle; else most = middle - 1;
    }
    return text.slice(0, least).replace(/[\ud800-\udbff]$/, "") + "…";
  }

  // -- what a box says --------------------------------------------------------------------------------------------

  numbers(node) {
    const { model } = this, test = this.table === "test" ? model.facts.test : null;
    const from = test ?? model;
    return {
      rows: from.rows[node], counts: from.counts ? pairsOf(from.counts[node]) : [], value: from.value?.[node], spread: from.spread?.[node],
      total: from.rows[0],
    };
  }

  line(node) {
    const { model } = this, facts = model.facts, has = this.numbers(node);
    const rows = whole(has.rows);
    if (facts.task === "regression") {
      const says = model.isLeaf(node) ? `→ ${figure(model.value[node])}` : figure(has.value);
      return has.rows ? `${says} · ${rows}` : `→ ${figure(model.value[model.speaks[node]])} · ${rows}`;
    }
    const sum = totalOf(has.counts), which = facts.positive ?? model.label[node];
    const share = sum > 0 && which >= 0 ? ` · ${percent(muchOf(has.counts, which) / sum)}${facts.positive === null && model.isLeaf(node) ? "" : ` ${facts.classes[which]}`}` : "";
    if (!model.isLeaf(node)) return `${rows}${share}`;
    return `→ ${facts.classes[model.label[node]] ?? "?"} · ${rows}${share}`;
  }

  tooltip(node) {
    const { model } = this, facts = model.facts, has = this.numbers(node);
    const lines = [`node ${node}: ${model.words[node]}`, plural(has.rows, "row") + (this.table === "test" ? " of the test table" : "")];
    if (facts.task === "regression") lines.push(`mean ${figure(has.value)}, sd ${figure(has.spread)}`);
    else {
      for (const [place, count] of [...has.counts].sort((a, b) => b[1] - a[1]).slice(0, 20)) lines.push(`${facts.classes[place]}: ${whole(count)}`);
    }
    if (!model.isLeaf(node)) lines.push(`asks for ${facts.columns[model.column[node]].name}`);
    return lines.join("\n");
  }

  // -- drawing ----------------------------------------------------------------------------------------------------

  draw() {
    const { model } = this, seen = this.visible(), where = this.place(seen);
    const total = model.weight[0] || 1, links = shape("g", { class: "links" }), boxes = shape("g", { class: "boxes" });
    for (const node of seen) {
      const up = model.parent[node], to = where.get(node);
      if (up >= 0) links.append(this.link(where.get(up), to, node, model.weight[node] / total));
      boxes.append(this.box(node, to));
    }
    const focused = document.activeElement?.closest?.(".node") !== null && this.stage.contains(document.activeElement);
    this.stage.replaceChildren(links, boxes);
    this.where = where;
    const right = 18 + Math.max(...[...where.values()].map((box) => box.x + box.width));    // 18: half a handle
    const low = Math.max(...[...where.values()].map((box) => box.y)) + BOX.height;
    this.extent = { width: right, height: low };
    this.look();
    if (focused) this.nodeElement(this.chosen)?.focus();
  }

  link(from, to, node, share) {
    const x0 = from.x + from.width, y0 = from.y + BOX.height / 2, x1 = to.x, y1 = to.y + BOX.height / 2, bend = (x1 - x0) / 2;
    return shape("path", {
      class: "link" + (this.lit?.has(node) ? " lit" : ""),
      d: `M${x0},${y0}C${x0 + bend},${y0} ${x1 - bend},${y1} ${x1},${y1}`,
      "stroke-width": (1.2 + 13 * share).toFixed(1),
    });
  }

  box(node, { x, y, width }) {
    const { model } = this, leaf = model.isLeaf(node), open = this.unfolded.has(node);
    const marks = ["node", leaf ? "leaf" : "inner", this.lit?.has(node) && "lit", this.lit && !this.lit.has(node) && "dim", this.found.has(node) && "found", node === this.chosen && "chosen"];
    const group = shape("g", {
      class: marks.filter(Boolean).join(" "), transform: `translate(${x},${y})`, role: "treeitem", "data-node": node,
      tabindex: node === this.chosen ? 0 : -1, "aria-level": model.depth[node] + 1,
      "aria-expanded": leaf ? null : String(open), "aria-selected": String(node === this.chosen),
      "aria-label": `node ${node}, ${model.words[node]}, ${this.line(node)}`,
    });
    group.append(shape("title", {}, this.tooltip(node)), shape("rect", { class: "frame", width, height: BOX.height, rx: 6 }));
    group.append(...this.bar(node, width));
    const room = width - (leaf ? 20 : 34);
    group.append(shape("text", { class: "words", x: 11, y: 17 }, this.clipped(model.words[node], room, "600 13px system-ui, sans-serif")));
    group.append(shape("text", { class: "line", x: 11, y: 33 }, this.clipped(this.line(node), room, "12px system-ui, sans-serif")));
    if (!leaf) {
      const more = open ? "−" : `+${model.leaves[node]}`;
      const handle = shape("g", { class: "handle", transform: `translate(${width},${BOX.height / 2})` });
      const half = open ? 9 : Math.max(9, 5 + 4 * more.length);
      handle.append(shape("rect", { x: -half, y: -9, width: 2 * half, height: 18, rx: 9 }), shape("text", { "text-anchor": "middle", y: 4 }, more));
      handle.addEventListener("click", (event) => { event.stopPropagation(); this.fold(node); });
      group.append(handle);
    }
    group.addEventListener("click", () => { if (!this.dragged) this.choose(node); });
    return group;
  }

  // The classes' shares as a stacked bar; of a number, where it lies between the lowest and the highest leaf.
  bar(node, width) {
    const { model } = this, facts = model.facts, has = this.numbers(node), y = BOX.height - 6, parts = [];
    const room = width - 2;
    if (facts.task === "regression") {
      const value = has.value ?? model.value[node], [low, high] = facts.range;
      if (value === null || value === undefined || !(high > low)) return parts;
      const share = Math.min(1, Math.max(0, (value - low) / (high - low)));
      parts.push(shape("rect", { class: "track", x: 1, y, width: room, height: 5 }), shape("rect", { class: "value", x: 1, y, width: (room * share).toFixed(1), height: 5 }));
      return parts;
    }
    const sum = totalOf(has.counts);
    let x = 1;
    for (const [place, count] of has.counts) {
      const part = (room * count) / sum;
      parts.push(shape("rect", { x: x.toFixed(2), y, width: part.toFixed(2), height: 5, fill: colour(facts, place) }));
      x += part;
    }
    if (model.isLeaf(node) && model.label[node] >= 0) {
      parts.push(shape("rect", { class: "edge", x: 0.5, y: 0.5, width: 5, height: BOX.height - 1, rx: 2, fill: colour(facts, model.label[node]) }));
    }
    return parts;
  }

  nodeElement(node) { return this.stage.querySelector(`[data-node="${node}"]`); }

  light(nodes) { this.lit = nodes; this.draw(); }
  mark(nodes) { this.found = nodes; this.draw(); }
  showTable(name) { this.table = name; this.draw(); }
  select(node, focus = false) {
    this.chosen = node;
    this.reveal(node);
    this.draw();
    if (focus) { this.nodeElement(node)?.focus(); this.bringIn(node); }
  }

  // -- zoom and pan -----------------------------------------------------------------------------------------------

  look() {
    const { x, y, scale } = this.view;
    this.stage.setAttribute("transform", `translate(${x},${y}) scale(${scale})`);
  }

  size() { const box = this.svg.getBoundingClientRect(); return { width: box.width || 800, height: box.height || 500 }; }

  // At first as many levels as can be read at once.
  open() {
    this.draw();
    for (let level = Math.max(...this.visible().map((node) => this.model.depth[node])) - 1; level > 0; level--) {
      if (this.extent.width * READABLE <= this.size().width - 2 * PAD) break;
      for (const node of this.unfolded) if (this.model.depth[node] >= level) this.unfolded.delete(node);
      this.draw();
    }
    this.fit();
  }

  // All of it, unless that would be too small to read: then its beginning.
  fit(readable = READABLE) {
    const { width, height } = this.size(), pad = PAD;
    const exact = Math.min((width - 2 * pad) / this.extent.width, (height - 2 * pad) / this.extent.height, 1.15);
    const scale = Math.max(exact, readable);
    const root = this.where.get(0), room = height / scale;
    const y = this.extent.height * scale <= height ? (height - this.extent.height * scale) / 2
      : Math.min(pad, Math.max(height - pad - this.extent.height * scale, height / 2 - (root.y + BOX.height / 2) * scale));
    this.view = { x: pad, y: room > 0 ? y : pad, scale };
    this.look();
  }

  zoom(factor, at) {
    const { width, height } = this.size(), { x = width / 2, y = height / 2 } = at ?? {};
    const scale = Math.min(LARGEST, Math.max(SMALLEST, this.view.scale * factor)), by = scale / this.view.scale;
    this.view = { x: x - (x - this.view.x) * by, y: y - (y - this.view.y) * by, scale };
    this.look();
  }

  pan(dx, dy) { this.view.x += dx; this.view.y += dy; this.look(); }

  bringIn(node) {
    const box = this.where.get(node), { width, height } = this.size(), { scale } = this.view, pad = 20;
    const left = box.x * scale + this.view.x, top = box.y * scale + this.view.y;
    const dx = left < pad ? pad - left : Math.min(0, width - pad - (left + box.width * scale));
    const dy = top < pad ? pad - top : Math.min(0, height - pad - (top + BOX.height * scale));
    if (dx || dy) this.pan(dx, dy);
  }

  listen() {
    const { svg } = this, fingers = new Map();                // where each pointer was last
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;          // a plain wheel scrolls the page
      event.preventDefault();
      const box = svg.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 300), { x: event.clientX - box.left, y: event.clientY - box.top });
    }, { passive: false });
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      this.dragged = false;
    });
    svg.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      if (event.buttons === 0) { fingers.delete(event.pointerId); return; }
      const now = { x: event.clientX, y: event.clientY };
      if (fingers.size === 2) {
        const other = [...fingers].find(([id]) => id !== event.pointerId)[1], box = svg.getBoundingClientRect();
        const apart = (a) => Math.hypot(a.x - other.x, a.y - other.y) || 1;
        this.zoom(apart(now) / apart(before), { x: (now.x + other.x) / 2 - box.left, y: (now.y + other.y) / 2 - box.top });
        this.dragged = true;
      } else if (this.dragged || Math.hypot(now.x - before.x, now.y - before.y) > 4) {
        if (!this.dragged) { this.dragged = true; svg.setPointerCapture(event.pointerId); }
        this.pan(now.x - before.x, now.y - before.y);
      } else return;
      fingers.set(event.pointerId, now);
    });
    for (const done of ["pointerup", "pointercancel", "pointerleave"]) svg.addEventListener(done, (event) => { fingers.delete(event.pointerId); setTimeout(() => { this.dragged = false; }); });
    svg.addEventListener("keydown", (event) => this.key(event));
  }

  // As in a file tree: arrows go along what is seen, right unfolds, left folds.
  key(event) {
    const { model, chosen } = this, seen = this.visible(), place = seen.indexOf(chosen);
    const open = this.unfolded.has(chosen), leaf = model.isLeaf(chosen);
    const steps = {
      ArrowDown: () => seen[place + 1], ArrowUp: () => seen[place - 1], Home: () => 0, End: () => seen.at(-1),
      ArrowRight: () => { if (leaf) return undefined; if (open) return model.children[chosen][0]; this.fold(chosen, true); return chosen; },
      ArrowLeft: () => { if (!leaf && open) { this.fold(chosen, false); return chosen; } return model.parent[chosen]; },
      Enter: () => chosen, " ": () => { this.fold(chosen); return chosen; },
    };
    if (event.key === "+" || event.key === "=") this.zoom(1.2);
    else if (event.key === "-") this.zoom(1 / 1.2);
    else if (event.key === "0") this.fit();
    else if (steps[event.key]) {
      const to = steps[event.key]();
      if (to !== undefined && to >= 0) this.choose(to, true);
    } else return;
    event.preventDefault();
  }
}
