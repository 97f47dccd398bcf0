// Puts the page together: the facts out of the document, the picture, the panels, and the buttons. Last file.

const facts = JSON.parse(document.getElementById("facts").textContent);
const model = new Model(facts), find = (id) => document.getElementById(id);

const selected = new Selected(find("selected"), find("rows"), model, (texts) => { ask.fill(texts); find("picture").scrollIntoView({ block: "nearest" }); });
const picture = new Picture(find("tree"), model, choose);
const ask = new Ask(find("ask"), find("answer"), model, (nodes, ends) => {
  if (ends?.size === 1) { const [end] = ends.keys(); picture.select(end); selected.show(end); }
  picture.light(nodes);
  if (ends?.size === 1) picture.bringIn([...ends.keys()][0]);
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

find("search").addEventListener("input", (event) => {
  const word = event.target.value.trim().toLowerCase(), found = new Set();
  if (word) for (let i = 0; i < model.size; i++) if (!model.isLeaf(i) && facts.columns[model.column[i]].name.toLowerCase().includes(word)) found.add(i);
  for (const node of [...found].slice(0, 200)) picture.reveal(node);
  picture.mark(found);
  find("found").textContent = word ? plural(found.size, "question") : "";
});
find("search").addEventListener("keydown", (event) => {
  const first = [...picture.found][0];
  if (event.key === "Enter" && first !== undefined) choose(first, true);
});

function theme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
}

// A rule's line leads to its leaf.
for (const line of document.querySelectorAll("[data-leaf]")) {
  const go = () => { choose(Number(line.dataset.leaf), true); find("picture").scrollIntoView({ block: "start" }); };
  line.addEventListener("click", go);
  line.addEventListener("keydown", (event) => { if (event.key === "Enter") go(); });
}

// -- on paper: the tree as it stands, as wide as the page; everything that is folded away opens --------------------

const before = { view: null, closed: [] };
addEventListener("beforeprint", () => {
  before.view = { ...picture.view };
  before.closed = [...document.querySelectorAll("details:not([open])")];
  for (const details of before.closed) details.open = true;
  const { width, height } = picture.extent;
  picture.svg.setAttribute("viewBox", `-8 -8 ${width + 16} ${height + 16}`);
  picture.view = { x: 0, y: 0, scale: 1 };
  picture.look();
});
addEventListener("afterprint", () => {
  for (const details of before.closed) details.open = false;
  picture.svg.removeAttribute("viewBox");
  picture.view = before.view;
  picture.look();
});

picture.open();
selected.show(0);
ask.tell();
new ResizeObserver(() => { if (!before.view) picture.fit(); }).observe(picture.svg);
document.documentElement.dataset.ready = "yes";
