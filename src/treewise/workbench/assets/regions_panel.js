// Two columns at the selected node: its rows as points, the areas of the leaves below it, and splits from what is drawn on them:
// a rectangle, or a line. The session proposes the splits; they become ordinary edits.

const PLANE = { width: 520, height: 360, left: 12, right: 12, top: 10, bottom: 40 }, LINE = 7;   // pixels below which a drag is a line
const STEP = 0.02;                                             // of the plane, for the arrow keys

class RegionsPanel {
  constructor(workbench) {
    Object.assign(this, { workbench, isOpen: false, columns: [null, null], node: 0, facts: null, drawn: null });
    this.body = element("div", { id: "wb-regions" });
    this.element = element("section", {}, element("h2", {}, "Regions of two columns"), this.body);
  }

  async select(node) {
    this.node = node;
    if (this.isOpen) await this.load();
    else this.body.replaceChildren(element("button", { type: "button", id: "wb-show-regions", onclick: () => { this.isOpen = true; this.load(); } }, "show regions"));
  }

  async load() {
    const { state } = this.workbench, { node } = this, [x, y] = this.columns;
    this.drawn = null;
    const facts = await this.workbench.ask({ do: "regions", node, x, y });
    if (state !== this.workbench.state || node !== this.node) return;
    if (facts) { this.facts = facts; this.draw(); } else { this.isOpen = false; this.columns = [null, null]; this.select(node); }
  }

  // -- the chart --------------------------------------------------------------------------------------------------------

  draw() {
    const { facts } = this, { x, y } = facts, { width, height, left, right, top, bottom } = PLANE;
    this.scale = {
      x: (value) => left + ((width - left - right) * (value - x.low)) / (x.high - x.low), y: (value) => height - bottom - ((height - top - bottom) * (value - y.low)) / (y.high - y.low),
      fromX: (at) => x.low + ((at - left) / (width - left - right)) * (x.high - x.low), fromY: (at) => y.low + ((height - bottom - at) / (height - top - bottom)) * (y.high - y.low),
    };
    const svg = this.svg = svgElement("svg", {
      class: "plot plane", id: "wb-plane", viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "application",
      "aria-label": `rows of node ${facts.node} by ${x.name} and ${y.name}: arrow keys move a line, Enter proposes the split`,
    });
    svg.append(...facts.areas.map((area) => this.area(area)), ...facts.points.map((point, i) => this.point(point, facts.targets[i])), ...this.axes());
    this.mark = svgElement("rect", { class: "drawn", visibility: "hidden" });
    svg.append(this.mark);
    this.listen();
    const names = [x.name, y.name], words = ["column across", "column upwards"];
    const choice = (place) => element("select", {
      id: `wb-${place ? "y" : "x"}`, "aria-label": words[place],
      onchange: ({ target: { value } }) => { this.columns = names.map((name, i) => (i === place ? value : name === value ? names[place] : name)); this.load(); },
    }, ...facts.columns.map((column) => element("option", { value: column, selected: column === names[place] }, column)));
    const sampled = facts.shown < facts.rows ? `${formatCount(facts.shown)} of ${plural(facts.rows, "row")} are drawn` : "";
    this.proposals = element("div", { id: "wb-proposals", role: "status" }, element("p", { class: "muted" }, "Draw a rectangle or a line across the points to propose splits; a click selects the leaf of an area."));
    this.body.replaceChildren(element("div", { class: "tools" }, "across ", choice(0), " upwards ", choice(1)), svg,
      element("p", { class: "muted" }, [facts.note, sampled].filter(Boolean).join("; ")), this.proposals);
  }

  area({ node, box: [x0, x1, y0, y1] }) {
    const { tree } = this.workbench, { facts } = tree, left = this.scale.x(x0), top = this.scale.y(y1);
    const isNumber = facts.task === "regression", label = isNumber ? -1 : tree.label[node], share = isNumber ? 0 : tree.shares(node).find(([place]) => place === label)?.[1] ?? 0;
    const [low, high] = facts.range ?? [0, 1], strength = isNumber ? 0.08 + 0.5 * ((tree.value[node] - low) / (high - low || 1)) : 0.08 + 0.3 * share;
    const rect = svgElement("rect", { class: "area", "data-node": node, x: left, y: top, width: this.scale.x(x1) - left, height: this.scale.y(y0) - top, fill: label >= 0 ? colour(facts, label) : "#3C82BA", "fill-opacity": strength.toFixed(2) });
    rect.append(svgElement("title", {}, `node ${node}: ${isNumber ? formatNumber(tree.value[node]) : facts.classes[label] ?? "?"}`));
    return rect;
  }

  point([x, y], target) {
    const { facts } = this.workbench.tree, [low, high] = facts.range ?? [0, 1];
    const look = facts.task === "regression" ? { fill: "#3C82BA", "fill-opacity": (0.15 + 0.85 * Math.min(1, Math.max(0, (target - low) / (high - low || 1)))).toFixed(2) } : { fill: colour(facts, target) };
    return svgElement("circle", { class: "row", cx: this.scale.x(x).toFixed(1), cy: this.scale.y(y).toFixed(1), r: 3, ...look });
  }

  axes() {
    const { x, y } = this.facts, { width, height, left, right, bottom } = PLANE, base = height - bottom;
    return [svgElement("line", { class: "axis", x1: left, x2: width - right, y1: base, y2: base }), svgElement("line", { class: "axis", x1: left, x2: left, y1: PLANE.top, y2: base }),
      ...x.range.map((end, i) => svgElement("text", { x: this.scale.x(end), y: base + 15, "text-anchor": i ? "end" : "start" }, x.texts[i])),
      ...y.range.map((end, i) => svgElement("text", { x: left + 4, y: this.scale.y(end) + (i ? 12 : -3) }, y.texts[i])),
      svgElement("text", { x: (width + left) / 2, y: height - 8, "text-anchor": "middle" }, `→ ${x.name}    ↑ ${y.name}`)];
  }

  // -- drawing on it ------------------------------------------------------------------------------------------------------

  listen() {
    const { svg } = this, at = (event) => { const box = svg.getBoundingClientRect(); return [((event.clientX - box.left) * PLANE.width) / box.width, ((event.clientY - box.top) * PLANE.height) / box.height]; };
    let start = null;
    svg.addEventListener("pointerdown", (event) => { if (event.button === 0) { start = at(event); svg.setPointerCapture(event.pointerId); } });
    svg.addEventListener("pointermove", (event) => { if (start) this.outline(start, at(event)); });
    svg.addEventListener("pointercancel", () => { start = null; });
    svg.addEventListener("pointerup", (event) => {
      if (!start) return;
      const end = at(event), [dx, dy] = [Math.abs(end[0] - start[0]), Math.abs(end[1] - start[1])];
      this.outline(start, end);
      start = null;
      if (dx < LINE && dy < LINE) this.click(event);
      else this.propose();
    });
    svg.addEventListener("keydown", (event) => this.key(event));
  }

  // The rectangle between two corners, or the line that a narrow one means; `drawn` has its sides in values of the columns.
  outline([x0, y0], [x1, y1]) {
    const { width, height, left, right, top, bottom } = PLANE, { x, y } = this.facts, isUpright = Math.abs(x1 - x0) < LINE, isFlat = Math.abs(y1 - y0) < LINE;
    const [low, high] = isFlat && !isUpright ? [left, width - right] : [Math.min(x0, x1), Math.max(x0, x1)], [above, below] = isUpright && !isFlat ? [top, height - bottom] : [Math.min(y0, y1), Math.max(y0, y1)];
    for (const [name, value] of Object.entries({ x: low, y: above, width: Math.max(1.5, high - low), height: Math.max(1.5, below - above), visibility: "visible" })) this.mark.setAttribute(name, value);
    const across = [x.name, this.scale.fromX(low) + x.origin, this.scale.fromX(high) + x.origin], up = [y.name, this.scale.fromY(below) + y.origin, this.scale.fromY(above) + y.origin];
    this.drawn = isUpright ? [[x.name, null, (across[1] + across[2]) / 2]] : isFlat ? [[y.name, null, (up[1] + up[2]) / 2]] : [across, up];
  }

  click(event) {
    this.mark.setAttribute("visibility", "hidden");
    this.drawn = null;
    const node = document.elementsFromPoint(event.clientX, event.clientY).find((each) => each.dataset?.node !== undefined && this.svg.contains(each))?.dataset.node;
    this.workbench.endPreview();
    if (node !== undefined) this.workbench.select(Number(node));
  }

  key(event) {
    const { width, height, left, right, top, bottom } = PLANE, step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step && event.key !== "Enter") return;
    event.preventDefault(); event.stopPropagation();
    if (event.key === "Enter") { if (this.drawn) this.propose(); return; }
    this.cross ??= [(left + width - right) / 2, (top + height - bottom) / 2];
    this.cross = [Math.min(width - right, Math.max(left, this.cross[0] + step[0] * STEP * width)), Math.min(height - bottom, Math.max(top, this.cross[1] + step[1] * STEP * height))];
    if (step[0]) this.outline([this.cross[0], top], [this.cross[0], height - bottom]); else this.outline([left, this.cross[1]], [width - right, this.cross[1]]);
  }

  // -- proposals ----------------------------------------------------------------------------------------------------------

  async propose() {
    const { drawn, node } = this, { edit, state, tree } = this.workbench, found = await this.workbench.ask({ do: "propose", node, sides: drawn });
    if (!found || state !== this.workbench.state) return;
    const { facts } = tree, inside = drawn.length > 1 ? [element("p", {}, `Inside: ${this.contents(found, facts)}`)] : [];
    const lines = found.sides.map((side) => element("tr", {}, element("td", {}, side.test), element("td", { class: "number" }, `gain ${formatSpread(side.gain)}${side.wrong === null ? "" : `, ${formatCount(side.wrong)} wrong`}`),
      element("td", {}, element("button", { type: "button", class: "small", "data-verb": "side", onclick: () => edit("split", { node, column: side.column, at: side.at }) }, "Split here"))));
    const all = found.sides.length > 1 && drawn.length > 1 ? [element("button", { type: "button", "data-verb": "cut-out", onclick: () => this.cutOut(drawn) }, `Cut out the rectangle (up to ${found.sides.length} splits)`)] : [];
    this.proposals.replaceChildren(...inside, ...(lines.length ? [element("div", { class: "scroll" }, element("table", {}, element("tbody", {}, ...lines)))] : [element("p", { class: "muted" }, "Nothing drawn separates rows of this node.")]), ...all);
  }

  contents(found, facts) {
    const rows = plural(found.rows, "row");
    if (facts.task === "regression") return found.mean === null ? rows : `${rows}, mean ${formatNumber(found.mean)}`;
    const counts = found.counts.map((count, place) => [place, count]).filter(([, count]) => count > 0).sort((a, b) => b[1] - a[1]).slice(0, 6);
    return counts.length ? `${rows}: ${counts.map(([place, count]) => `${formatCount(count)} ${facts.classes[place]}`).join(", ")}` : rows;
  }

  async cutOut(sides) { await this.workbench.makeMany({ do: "cut_out", node: this.node, sides }); }
}
