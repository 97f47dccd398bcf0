// The picture of the tree: the visible boxes; folds, zooms, pans and highlights. Fourth file of the module; reports the node that was
// selected.

const READABLE_SCALE = 12 / 13, PAD = 18, MIN_SCALE = 0.15, MAX_SCALE = 4;   // at rest no text is smaller than 12 px
const INITIAL_LEAVES = 40, MIN_HEIGHT = 120, MAX_HEIGHT = 1240;
const MAX_LEVELS = Math.floor((MAX_HEIGHT - 2 * PAD) / (READABLE_SCALE * (BOX.height + BOX.levelGap)));   // drawn at rest

class Picture {
  constructor(svg, model, onSelect, onDraw) {
    Object.assign(this, { svg, model, onSelect, onDraw, unfocused: null });
    this.expanded = new Set();
    this.view = { x: 0, y: 0, scale: 1 };
    this.highlighted = null;
    this.matches = new Set();
    this.selected = 0;
    this.boxes = new NodeBoxes(model);
    this.stage = svgElement("g");
    svg.append(this.stage);
    this.expandTo(INITIAL_LEAVES, MAX_LEVELS);
    this.listen();
  }

  // -- visible nodes ---------------------------------------------------------------------------------------

  // Expand the heaviest nodes until so many ends are visible, down to a level.
  expandTo(leaves, levels = Infinity) {
    const { model } = this, waiting = [0];
    this.expanded = new Set();
    let ends = 1;
    while (waiting.length) {
      waiting.sort((a, b) => model.weight[b] - model.weight[a] || a - b);
      const node = waiting.shift(), below = model.children[node];
      if (!below.length || model.depth[node] + 1 >= levels) continue;
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

  // -- drawing ----------------------------------------------------------------------------------------------------

  layout() { return layoutTree(this.model, this.visible(), this.expanded, (node) => this.boxes.width(node), (node) => this.boxes.labelWidth(node)); }

  draw() {
    const { model, boxes } = this, { positions, extent } = this.layout(), total = model.weight[0] || 1;
    const links = svgElement("g", { class: "links" }), labels = svgElement("g", { class: "labels" }), nodes = svgElement("g", { class: "boxes" });
    for (const [node, place] of positions) {
      const parent = model.parent[node], state = this.highlighted ? (this.highlighted.has(node) ? "highlighted" : "dim") : "";
      if (parent >= 0) {
        links.append(boxes.link(positions.get(parent), place, model.weight[node] / total, state));
        labels.append(boxes.label(node, place, state));
      }
      nodes.append(this.box(node, place, state));
    }
    const focused = document.activeElement?.closest?.(".node") !== null && this.stage.contains(document.activeElement);
    this.stage.replaceChildren(links, labels, nodes);
    Object.assign(this, { positions, extent });
    this.applyView();
    if (focused) this.nodeElement(this.selected)?.focus();
    this.onDraw(this);
  }

  box(node, { x, y, width }, state) {
    const { model } = this, leaf = model.isLeaf(node), open = this.expanded.has(node);
    const marks = ["node", leaf ? "leaf" : "inner", state, this.matches.has(node) && "match", node === this.selected && "selected"];
    const group = svgElement("g", {
      class: marks.filter(Boolean).join(" "), transform: `translate(${x},${y})`, role: "treeitem", "data-node": node,
      tabindex: node === this.selected ? 0 : -1, "aria-level": model.depth[node] + 1,
      "aria-expanded": leaf ? null : String(open), "aria-selected": String(node === this.selected),
      "aria-label": `node ${node}, ${model.condition[node]}, ${this.boxes.summary(node)}`,
    });
    group.append(...this.boxes.content(node, width));
    if (!leaf) group.append(this.boxes.handle(node, open, width, () => this.toggle(node)));
    group.addEventListener("click", () => { if (!this.dragged) this.onSelect(node); });
    return group;
  }

  nodeElement(node) { return this.stage.querySelector(`[data-node="${node}"]`); }

  highlight(nodes) { this.highlighted = nodes; this.draw(); }
  markMatches(nodes) { this.matches = nodes; this.draw(); }
  showTable(name) { this.boxes.showTable(name); this.draw(); }
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

  // Unfold as many leaves as are readable at once, those with the most rows first. `widen` makes the canvas wider; called if all do not
  // fit without.
  open(widen) {
    const fits = () => this.layout().extent.width * READABLE_SCALE <= this.size().width - 2 * PAD;
    if (!fits()) widen();
    for (let leaves = this.visible().length >> 1; leaves > 1 && !fits(); leaves--) this.expandTo(leaves, MAX_LEVELS);
    this.draw();
    this.fit();
  }

  // Fit everything, unless that would be too small to read: then the top, with the root in the middle.
  fit(readable = READABLE_SCALE) {
    const { width } = this.size(), { extent } = this;
    const scale = Math.max(readable, Math.min((width - 2 * PAD) / extent.width, (MAX_HEIGHT - 2 * PAD) / extent.height, 1.15));
    this.svg.style.height = `${Math.min(MAX_HEIGHT, Math.max(MIN_HEIGHT, extent.height * scale + 2 * PAD))}px`;
    const root = this.positions.get(0), free = width - extent.width * scale;
    const x = free >= 2 * PAD ? free / 2 : Math.max(free - PAD, Math.min(PAD, width / 2 - (root.x + root.width / 2) * scale));
    this.view = { x, y: PAD, scale };
    this.applyView();
  }

  // Show a whole path: if it is too large to be read, with everything beside it folded away, until `leavePath`.
  showPath(nodes) {
    this.unfocused ??= new Set(this.expanded);
    this.expanded = new Set([...this.unfocused, ...nodes.slice(0, -1)]);
    this.draw();
    if (this.scaleOf(nodes) < READABLE_SCALE) {
      this.expanded = new Set(nodes.slice(0, -1));
      this.draw();
    }
    this.showNodes(nodes);
  }

  leavePath() {
    if (!this.unfocused) return;
    this.expanded = this.unfocused;
    this.unfocused = null;
    this.draw();
    this.fit();
  }

  scaleOf(nodes) {
    const boxes = nodes.map((node) => this.positions.get(node)), { width } = this.size();
    const across = Math.max(...boxes.map((box) => box.x + box.width)) - Math.min(...boxes.map((box) => box.x));
    const down = Math.max(...boxes.map((box) => box.y)) + BOX.height + 10;
    return Math.min((width - 2 * PAD) / across, (MAX_HEIGHT - 2 * PAD) / down);
  }

  // Show all of these nodes, smaller if they do not fit.
  showNodes(nodes) {
    const needed = (Math.max(...nodes.map((node) => this.positions.get(node)?.y ?? 0)) + BOX.height + 10) * this.view.scale + 2 * PAD;
    if (needed > this.size().height) this.svg.style.height = `${Math.min(MAX_HEIGHT, needed)}px`;
    const boxes = nodes.map((node) => this.positions.get(node)).filter(Boolean), { width, height } = this.size();
    const left = Math.min(...boxes.map((box) => box.x)), right = Math.max(...boxes.map((box) => box.x + box.width));
    const top = Math.min(...boxes.map((box) => box.y)), bottom = Math.max(...boxes.map((box) => box.y)) + BOX.height + 10;
    const scale = Math.min(this.view.scale, (width - 2 * PAD) / (right - left), (height - 2 * PAD) / (bottom - top));
    const clamp = (at, low, high, room) => Math.min(room - PAD - high * scale, Math.max(PAD - low * scale, at));
    this.view = { scale, x: clamp(this.view.x, left, right, width), y: clamp(this.view.y, top, bottom, height) };
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
