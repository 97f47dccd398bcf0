// Puts the page together: the facts out of the document, the picture, the panels, and the buttons. Last file.

const facts = JSON.parse(document.getElementById("facts").textContent);
const model = new Model(facts), find = (id) => document.getElementById(id);

const selected = new Selected(find("selected"), find("rows"), model, (cells, texts) => { ask.fill(cells, texts); find("picture").scrollIntoView({ block: "nearest" }); });
const picture = new Picture(find("tree"), model, choose);
const ask = new Ask(find("ask"), find("answer"), model, (nodes, possible) => {
  const [end] = possible?.size === 1 ? possible : [];
  if (end !== undefined) { picture.select(end); selected.show(end); }
  picture.light(nodes);
  if (end !== undefined) picture.bringIn(end);
});

function choose(node, focus = false) {
  picture.select(node, focus);
  selected.show(node);
  if (!focus && !find("selected").matches(":hover")) announce(`node ${node} chosen`);
}

function announce(text) { find("said").textContent = text; }

// -- the buttons above the picture -------------------------------------------------------------------------------

const buttons = {
  "fold-all": () => picture.foldAll(), "unfold-all": () => picture.unfoldAll(), fit: () => picture.fit(0),
  larger: () => picture.zoom(1.25), smaller: () => picture.zoom(1 / 1.25), forget: () => ask.clear(),
  print: () => window.print(), theme: () => theme(),
};
for (const [id, action] of Object.entries(buttons)) find(id)?.addEventListener("click", action);

for (const button of document.querySelectorAll("[data-table]")) {
  button.addEventListener("click", () => {
    for (const other of document.querySelectorAll("[data-table]")) other.setAttribute("aria-pressed", String(other === button));
    picture.showTable(button.dataset.table);
  });
}

let waiting = 0;
find("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(search, 120); });

function search() {
  const word = find("search").value.trim().toLowerCase(), found = new Set();
  if (word) for (let i = 0; i < model.size; i++) if (!model.isLeaf(i) && facts.columns[model.column[i]].name.toLowerCase().includes(word)) found.add(i);
  for (const node of [...found].slice(0, 200)) picture.reveal(node);
  picture.mark(found);
  find("found").textContent = word ? plural(found.size, "question") : "";
}
find("search").addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  search();
  const first = [...picture.found][0];
  if (first !== undefined) choose(first, true);
});

function theme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
}

// A rule's line, or an area of the regions, leads to its leaf.
for (const link of document.querySelectorAll("[data-leaf]")) {
  (link.closest("tr") ?? link).addEventListener("click", () => {
    choose(Number(link.dataset.leaf), true);
    find("picture").scrollIntoView({ block: "start" });
  });
}

// -- on paper: the tree as it stands, as wide as the page ----------------------------------------------------------

let before = null;
addEventListener("beforeprint", () => {
  before = { ...picture.view };
  const { width, height } = picture.extent;
  picture.svg.setAttribute("viewBox", `-8 -8 ${width + 16} ${height + 16}`);
  picture.view = { x: 0, y: 0, scale: 1 };
  picture.look();
});
addEventListener("afterprint", () => {
  picture.svg.removeAttribute("viewBox");
  picture.view = before;
  before = null;
  picture.look();
});

picture.open();
selected.show(0);
ask.tell();
new ResizeObserver(() => { if (!before) picture.fit(); }).observe(picture.svg);
document.documentElement.dataset.ready = "yes";
