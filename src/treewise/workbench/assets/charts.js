// The charts of the workbench: the gain along a column, and the errors after each edit. Functions that return an element.

const CHART = { width: 340, height: 132, left: 8, right: 8, top: 10, bottom: 22 };
const CURVE = { width: 480, height: 200, left: 70, right: 14, top: 14, bottom: 28 };
const formatLoss = (loss, name) => (loss === null || loss === undefined ? "–" : name === "error" ? `${(100 * loss).toFixed(1)} %` : formatNumber(loss));
const pathOf = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`).join("");

// Gain against the threshold; a click, or the arrow keys, take a threshold (its text).
function gainChart(test, onTake) {
  const { width, height, left, right, top, bottom } = CHART, points = test.points;
  const xs = points.map((point) => Number(point[0])), most = Math.max(...points.map((point) => point[1])) || 1;
  const low = Math.min(...xs), high = Math.max(...xs), span = high - low || 1;
  const x = (value) => left + ((width - left - right) * (value - low)) / span, y = (gain) => height - bottom - ((height - top - bottom) * gain) / most;
  const svg = svgElement("svg", {
    class: "plot gain", id: "wb-chart", viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "slider",
    "aria-label": `gain of ${test.column} by threshold: left and right move`, "aria-valuemin": 0, "aria-valuemax": points.length - 1,
  });
  const mark = svgElement("line", { class: "mark", y1: top, y2: height - bottom }), dot = svgElement("circle", { class: "mark", r: 4 });
  const text = svgElement("text", { y: height - 6, "text-anchor": "middle" });
  let chosen = points.findIndex((point) => point[1] === most);
  const show = (i) => {
    chosen = Math.min(points.length - 1, Math.max(0, i));
    const [, gain, , words] = points[chosen], at = x(xs[chosen]);
    for (const end of ["x1", "x2"]) mark.setAttribute(end, at);
    dot.setAttribute("cx", at); dot.setAttribute("cy", y(gain));
    text.textContent = `${words}: gain ${formatSpread(gain)}`;
    text.setAttribute("x", Math.min(width - 70, Math.max(70, at)));
    svg.setAttribute("aria-valuenow", chosen); svg.setAttribute("aria-valuetext", text.textContent);
  };
  const nearest = (event) => {
    const box = svg.getBoundingClientRect(), value = low + (((event.clientX - box.left) * width) / box.width - left) * (span / (width - left - right));
    return xs.reduce((best, each, i) => (Math.abs(each - value) < Math.abs(xs[best] - value) ? i : best), 0);
  };
  const take = () => onTake(points[chosen][3]);
  svg.append(svgElement("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }),
    svgElement("path", { class: "validation", d: pathOf(points.map((point, i) => [x(xs[i]), y(point[1])])) }), mark, dot, text);
  svg.addEventListener("pointermove", (event) => show(nearest(event)));
  svg.addEventListener("click", (event) => { show(nearest(event)); take(); });
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault(); event.stopPropagation();
    show(chosen + step); take();
  });
  show(chosen);
  return svg;
}

// The losses after each edit, on training and validation rows.
function lossChart(points, name) {
  const { width, height, left, right, top, bottom } = CURVE;
  const tables = ["training", "validation"].filter((table) => points[0][table]);
  const most = Math.max(...tables.flatMap((table) => points.map((point) => point[table].rate ?? 0)), 1e-12);
  const x = (i) => left + ((width - left - right) * i) / Math.max(1, points.length - 1), y = (rate) => height - bottom - ((height - top - bottom) * rate) / most;
  const svg = svgElement("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${name} after each edit` });
  svg.append(svgElement("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }));
  for (const [rate, words] of [[most, formatLoss(most, name)], [0, "0"]]) svg.append(svgElement("text", { x: left - 12, y: y(rate) + 4, "text-anchor": "end" }, words));
  for (const table of tables) {
    svg.append(svgElement("path", { class: table, d: pathOf(points.map((point, i) => [x(i), y(point[table].rate ?? 0)])) }));
    points.forEach((point, i) => {
      const dot = svgElement("circle", { class: `dot ${table}`, cx: x(i), cy: y(point[table].rate ?? 0), r: 3.5 });
      dot.append(svgElement("title", {}, `${point.edit}: ${table} ${formatLoss(point[table].rate, name)}, ${plural(point.leaves, "leaf", "leaves")}`));
      svg.append(dot);
    });
  }
  svg.append(svgElement("text", { x: left, y: height - 6 }, "start"));
  if (points.length > 1) svg.append(svgElement("text", { x: width - right, y: height - 6, "text-anchor": "end" }, plural(points.length - 1, "edit")));
  return element("div", { class: "curve" }, svg, element("p", { class: "legend" }, ...tables.map((table) => element("span", { class: `key ${table}` }, table))));
}
