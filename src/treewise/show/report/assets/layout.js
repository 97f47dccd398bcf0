// Where the boxes of the tree are: a tidy tree drawn downwards. Second file of the module.

const BOX = { height: 68, gap: 12, levelGap: 60, minWidth: 96, maxWidth: 260 };
const LABEL = { height: 21, maxWidth: 200, gap: 6 };             // of the branch above a box

// Place visible nodes (parents first): each subtree as far left as the contours of those before it allow, and a parent centred over
// its children. `widthOf` gives the width of a box, `labelWidthOf` that of the label above it. Returns positions and the extent.
function layoutTree(model, nodes, expanded, widthOf, labelWidthOf) {
  const offset = new Map(), contours = new Map(), positions = new Map(), widths = new Map();
  for (const node of [...nodes].reverse()) {
    widths.set(node, widthOf(node));
    const half = Math.max(widths.get(node), labelWidthOf(node)) / 2, below = expanded.has(node) ? model.children[node] : [];
    const { placed, contour } = placeSideBySide(below.map((child) => contours.get(child)));
    for (const child of below) contours.delete(child);
    const centre = below.length ? (placed[0] + placed.at(-1)) / 2 : 0;
    below.forEach((child, i) => offset.set(child, placed[i] - centre));
    contours.set(node, [[-half, half], ...contour.map(([left, right]) => [left - centre, right - centre])]);
  }
  const contour = contours.get(0), left = contour.reduce((least, [at]) => Math.min(least, at), 0), middle = new Map([[0, -left]]);
  let depth = 0;
  for (const node of nodes) {
    if (node > 0) middle.set(node, middle.get(model.parent[node]) + offset.get(node));
    depth = Math.max(depth, model.depth[node]);
    positions.set(node, { x: middle.get(node) - widths.get(node) / 2, y: model.depth[node] * (BOX.height + BOX.levelGap), width: widths.get(node) });
  }
  const width = contour.reduce((most, [, at]) => Math.max(most, at), 0) - left;
  return { positions, extent: { width, height: depth * (BOX.height + BOX.levelGap) + BOX.height + 10 } };   // 10: half a handle
}

// Shift contours (left and right end per level) to the right until none overlaps; returns the shifts and the contour of all.
function placeSideBySide(contours) {
  const placed = [];
  let merged = [];
  for (const contour of contours) {
    let shift = 0;
    for (let level = 0; level < Math.min(merged.length, contour.length); level++) shift = Math.max(shift, merged[level][1] + BOX.gap - contour[level][0]);
    placed.push(shift);
    for (let level = 0; level < contour.length; level++) {
      const [left, right] = contour[level];
      if (level < merged.length) merged[level] = [merged[level][0], right + shift];
      else merged.push([left + shift, right + shift]);
    }
  }
  return { placed, contour: merged };
}
