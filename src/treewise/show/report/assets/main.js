// Assembles the page: facts, picture, panels and buttons. Last file of the module.

const facts = JSON.parse(document.getElementById("facts").textContent);
const model = new Model(facts), find = (id) => document.getElementById(id);

const details = new NodeDetails(find("details"), find("rows"), model, (cells, texts) => { form.fill(cells, texts); find("picture").scrollIntoView({ block: "nearest" }); });
let outline = null, overview = null, isList = false, isPrinting = false, lastWidth = 0;
const picture = new Picture(find("tree"), model, select, () => followPicture());
outline = new Outline(find("outline"), model, picture.boxes, select, (node) => picture.toggle(node));
if (model.leaves[0] > INITIAL_LEAVES) {
  overview = new OverviewMap(find("map"), model, select);
  find("overview").hidden = false;
}
const form = new PredictionForm(find("form"), find("prediction"), model, picture.boxes, (nodes, possible) => {
  const [end] = possible?.size === 1 ? possible : [];
  picture.highlighted = nodes;
  if (end === undefined) picture.leavePath();
  if (nodes) placePanels(true);
  if (end !== undefined) { picture.selected = end; details.show(end); picture.showPath(model.path(end)); }
  else picture.draw();
});

// The list and the overview show what the picture shows.
function followPicture() {
  const nodes = picture.visible();
  if (isList || isPrinting) outline?.draw(nodes, picture);
  overview?.mark(nodes, picture.selected);
}

// -- tree or list; a narrow screen begins with the list -------------------------------------------------------------

function showList(on) {
  isList = on;
  find("picture").classList.toggle("as-list", on);
  for (const button of document.querySelectorAll("[data-view]")) button.setAttribute("aria-pressed", String((button.dataset.view === "list") === on));
  picture.draw();
  if (!on) picture.fit();
}
for (const button of document.querySelectorAll("[data-view]")) button.addEventListener("click", () => { isViewChosen = true; showList(button.dataset.view === "list"); });
find("outline").addEventListener("keydown", (event) => { if (event.target.classList.contains("line")) { picture.key(event); find("outline").querySelector(".line.selected")?.focus(); } });

// -- a tree that needs the whole width has its panels below it, until one of them is used: then they are beside it -----------------------

const workspace = document.querySelector(".workspace"), BESIDE_WIDTH = 1100, BESIDE_SCALE = 0.85;
let isWide = false;

function placePanels(beside) {
  if (!isWide || innerWidth < BESIDE_WIDTH || workspace.classList.contains("wide") !== beside) return;
  workspace.classList.toggle("wide", !beside);
  lastWidth = picture.size().width;
  picture.fit(beside ? BESIDE_SCALE * READABLE_SCALE : READABLE_SCALE);
  if (beside && workspace.getBoundingClientRect().top < 0) workspace.scrollIntoView({ block: "start" });
}

function select(node, focus = false) {
  placePanels(true);
  picture.select(node, focus);
  picture.panInto(node);
  details.show(node);
  if (!focus && !find("details").matches(":hover")) announce(`node ${node} selected`);
}

function announce(text) { find("announcement").textContent = text; }

// -- the buttons above the picture -------------------------------------------------------------------------------

const buttons = {
  "collapse-all": () => picture.collapseAll(), "expand-all": () => picture.expandAll(), fit: () => { placePanels(false); picture.fit(0); },
  predict: () => { placePanels(true); find("form").querySelector("input, select")?.focus(); },
  "zoom-in": () => picture.zoom(1.25), "zoom-out": () => picture.zoom(1 / 1.25), clear: () => form.clear(),
  print: () => window.print(), theme: () => toggleTheme(),
};
for (const [id, action] of Object.entries(buttons)) find(id)?.addEventListener("click", action);

for (const button of document.querySelectorAll("[data-table]")) {
  button.addEventListener("click", () => {
    for (const other of document.querySelectorAll("[data-table]")) other.setAttribute("aria-pressed", String(other === button));
    picture.showTable(button.dataset.table);
  });
}

let searchTimer = 0;
find("search").addEventListener("input", () => { clearTimeout(searchTimer); searchTimer = setTimeout(search, 120); });

function search() {
  const word = find("search").value.trim().toLowerCase(), found = new Set();
  if (word) for (let i = 0; i < model.size; i++) if (!model.isLeaf(i) && facts.columns[model.column[i]].name.toLowerCase().includes(word)) found.add(i);
  for (const node of [...found].slice(0, 200)) picture.reveal(node);
  picture.markMatches(found);
  find("matches").textContent = word ? plural(found.size, "split") : "";
}
find("search").addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  search();
  const first = [...picture.matches][0];
  if (first !== undefined) select(first, true);
});

function toggleTheme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
}

// A rule or an area of the regions selects its leaf.
for (const link of document.querySelectorAll("[data-leaf]")) {
  (link.closest("tr") ?? link).addEventListener("click", () => {
    select(Number(link.dataset.leaf), true);
    find("picture").scrollIntoView({ block: "start" });
  });
}

// -- printing: the whole tree, fitted to the page ----------------------------------------------------------

const PAPER_WIDTH = 680, PAPER_HEIGHT = 880, BELOW_HEAD = 600, PRINT_SCALE = 0.62;   // at which the picture can still be read
let viewBeforePrint = null;
addEventListener("beforeprint", () => {
  isPrinting = true;
  viewBeforePrint = { view: { ...picture.view }, expanded: picture.expanded, height: picture.svg.style.height };
  picture.expandTo(2000);
  picture.draw();
  picture.svg.style.height = "";
  const { width, height } = picture.extent;
  picture.svg.setAttribute("viewBox", `-8 -8 ${width + 16} ${height + 16}`);
  picture.view = { x: 0, y: 0, scale: 1 };
  picture.applyView();
  const legible = width * PRINT_SCALE <= PAPER_WIDTH && height * PRINT_SCALE <= PAPER_HEIGHT;
  find("picture").classList.toggle("legible", legible);
  find("picture").classList.toggle("beside-head", height * PRINT_SCALE <= BELOW_HEAD);   // on the first page
  const hidden = model.leaves[0] - picture.visible().filter((node) => model.isLeaf(node)).length;
  find("folded").textContent = hidden ? `${plural(hidden, "leaf", "leaves")} of the tree are folded away in this print: +n stands for n leaves.` : "";
});
addEventListener("afterprint", () => {
  isPrinting = false;
  picture.svg.removeAttribute("viewBox");
  picture.view = viewBeforePrint.view;
  picture.expanded = viewBeforePrint.expanded;
  picture.svg.style.height = viewBeforePrint.height;
  viewBeforePrint = null;
  picture.draw();
});

const narrow = matchMedia("(max-width: 640px)");
let isViewChosen = false;

// A frame may be narrow at first: until a view is chosen, it follows the width.
function openView() {
  isWide = false;
  workspace.classList.remove("wide");
  showList(false);
  picture.open(() => { isWide = true; workspace.classList.add("wide"); });
  if (narrow.matches) { picture.expandTo(16); showList(true); }
}
openView();
narrow.addEventListener("change", () => { if (!isViewChosen && !isPrinting) openView(); });
find("form").addEventListener("focusin", () => placePanels(true));
details.show(0);
form.update();
lastWidth = picture.size().width;                              // the height follows the tree
new ResizeObserver(() => {
  const { width } = picture.size();
  if (!viewBeforePrint && width !== lastWidth) picture.fit();
  lastWidth = width;
}).observe(picture.svg);
document.documentElement.dataset.ready = "yes";
