// The page of a lesson: pick a leaf and a test, see its arithmetic unfold, compare it with the best, have the tree graded.
// Last file of the module, after the drawing code of the report and grading.js.

const KEPT = (lesson) => `treewise-lesson-${lesson.id}`;

class LessonPage {
  constructor(lesson, el) {
    Object.assign(this, { lesson, el, selected: 0, taken: [], shown: null, unfolded: new Map(), column: null });
    this.isNumber = lesson.task === "regression";
    this.tree = new StudentTree(lesson, this.restored());
    this.build();
    document.addEventListener("keydown", (event) => this.key(event));
    this.show();
    this.select(this.nextOpen(-1) ?? 0);
    this.followWidth();
  }

  // A telephone that is turned, or a window that is resized: the tree fits the new width.
  followWidth() {
    let last = this.canvas.clientWidth;
    new ResizeObserver(() => {
      if (this.canvas.clientWidth === last) return;
      last = this.canvas.clientWidth;
      this.picture.fit();
      this.picture.panInto(this.selected);
    }).observe(this.canvas);
  }

  // -- the frame ------------------------------------------------------------------------------------------------------

  build() {
    const { lesson } = this, part = (name, tag = "div", attributes = {}) => (this[name] = element(tag, { ...attributes, id: `lesson-${name}` }));
    const button = (name, words, onclick, title) => (this[`${name}Button`] = element("button", { type: "button", id: `lesson-${name}`, onclick, title }, words));
    const what = this.isNumber ? "a number" : lesson.classes.slice(0, 6).join(" / ");
    this.el.replaceChildren(
      element("header", {}, element("h1", {}, `Grow a tree: ${lesson.target} (${what})`),
        element("div", { class: "tools" }, button("next", "Next leaf", () => this.next(), "key n"), button("undo", "Take back", () => this.undo(), "Ctrl+Z"),
          button("restart", "Start again", () => this.restart(), "back to a single leaf; can be taken back"),
          button("finish", "Grade my tree", () => this.showGrade(), "key g"), button("theme", "◐", () => this.toggleTheme(), "dark or light")),
        element("p", { class: "muted" }, `${lesson.rows} of ${lesson.table}. Pick a leaf and a test; aim for few ${this.isNumber ? "errors" : "wrong rows"} with few leaves.`)),
      element("main", {}, part("tiles", "dl", { class: "tiles" }),
        element("div", { class: "workspace" },
          element("div", { class: "panel", id: "picture" }, part("banner", "p", { hidden: true }), part("canvas"), element("p", { class: "muted keys" }, "Arrows move in the tree, n goes to the next leaf, Ctrl+Z takes back, g grades.")),
          element("div", { class: "side" }, part("node", "div", { class: "panel" }))),
        part("grade", "section", { hidden: true, tabindex: -1, "aria-label": "the grade of your tree" }),
        element("p", { class: "muted", id: "lesson-scope" }, [lesson.scope, ...lesson.notes].join(" ")),
        part("said", "p", { class: "hidden", role: "status" })));
  }

  toggleTheme() {
    const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  }

  // -- the tree of the student ------------------------------------------------------------------------------------------

  // The tree on the page: the student's own, or another one that is shown.
  get current() { return this.shown ?? this.tree; }

  change(tree, select) {
    this.taken.push(this.tree);
    this.tree = tree;
    this.keep();
    this.grade.hidden = true;
    this.show();
    this.select(select, true);
  }

  undo() {
    if (!this.taken.length) return;
    this.tree = this.taken.pop();
    this.shown = null;
    this.keep();
    this.grade.hidden = true;
    this.show();
    this.select(Math.min(this.selected, this.tree.nodes.length - 1));
  }

  restart() { this.shown = null; this.unfolded.clear(); this.change(new StudentTree(this.lesson), 0); }

  keep() { try { localStorage.setItem(KEPT(this.lesson), JSON.stringify(this.tree.choices)); } catch { /* pages of files may have no storage */ } }

  restored() {
    try {
      const kept = JSON.parse(localStorage.getItem(KEPT(this.lesson)));
      return Array.isArray(kept) ? kept : [null];
    } catch { return [null]; }
  }

  nextOpen(after) {
    const { tree } = this, open = tree.nodes.map((_, index) => index).filter((index) => tree.isOpen(index));
    return open.find((index) => index > after) ?? open[0];
  }

  next() { const to = this.nextOpen(this.selected); if (to !== undefined) this.select(to, true); }

  // -- showing ----------------------------------------------------------------------------------------------------------

  show() {
    const { lesson, current } = this, grade = current.grade(), svg = svgElement("svg", { id: "tree", role: "tree", "aria-label": "The tree: arrow keys move" });
    this.canvas.replaceChildren(svg);
    this.picture = new Picture(svg, new Model(current.facts()), (node, focus) => this.select(node, focus), (picture) => this.markOpen(picture));
    this.picture.open(() => {});
    const tile = (id, words, ...content) => element("div", { id: `lesson-${id}` }, element("dt", {}, words), element("dd", {}, ...content));
    this.tiles.replaceChildren(
      tile("leaves", "leaves", element("strong", {}, formatCount(grade.leaves)), element("span", {}, lesson.depth === null ? "" : `depth at most ${lesson.depth}`)),
      tile("lost", this.isNumber ? "squared error" : "wrong rows", element("strong", {}, this.lossText(grade.lost)), element("span", {}, this.isNumber ? "mean over the rows" : `of ${lesson.rows}`)),
      tile("best", "best tests", element("strong", {}, grade.splits ? `${grade.best_splits} of ${grade.splits}` : "–"), element("span", {}, "that no other test beats")));
    this.undoButton.disabled = !this.taken.length;
    this.nextButton.disabled = this.shown !== null || this.nextOpen(-1) === undefined;
    this.restartButton.disabled = this.tree.nodes.length === 1;
  }

  lossText(lost) { return this.isNumber ? formatNumber(lost / this.lesson.situations[0].weight) : formatCount(lost); }

  // Leaves that may be split have a dashed frame.
  markOpen(picture) {
    if (this.shown) return;
    for (const index of this.tree.nodes.keys()) if (this.tree.isOpen(index)) picture.nodeElement(index)?.classList.add("open-leaf");
  }

  select(node, focus = false) {
    this.selected = Math.min(node, this.current.nodes.length - 1);
    this.column = null;
    this.picture.select(this.selected, focus);
    this.picture.panInto(this.selected);
    this.showNode();
  }

  showNode() {
    const { current, selected } = this, { situation, test } = current.nodes[selected];
    const head = [element("h2", {}, `Node ${selected}`), element("p", { class: "rule" }, current.path(selected)), element("p", {}, situation.summary)];
    const content = test ? this.unfolding(current.nodes[selected]) : this.shown || !current.isOpen(selected) ? [element("p", { class: "muted" }, this.leafText(situation))] : this.form();
    this.node.replaceChildren(...head, ...content);
  }

  leafText(situation) {
    const why = situation.stop || (this.lesson.depth !== null ? `the depth of this lesson is ${this.lesson.depth}` : "");
    return this.shown ? "A leaf of this tree." : `A leaf for good: ${why}.`;
  }

  // -- picking a test -----------------------------------------------------------------------------------------------------

  form() {
    const { lesson, tree, selected } = this, { situation } = tree.nodes[selected], byColumn = new Map();
    situation.tests.forEach((test, number) => byColumn.set(test.column, [...(byColumn.get(test.column) ?? []), number]));
    const tests = element("select", { id: "lesson-test", "aria-label": "test" }), line = element("p", { hidden: true }, element("label", {}, "test ", tests));
    const go = element("button", { type: "submit", id: "lesson-split", class: "primary", disabled: true }, "Split here");
    const choose = (column) => {
      const numbers = byColumn.get(column);
      const options = numbers.map((number) => element("option", { value: number }, situation.tests[number].label));
      tests.replaceChildren(...(numbers.length > 1 ? [element("option", { value: "" }, "choose …")] : []), ...options);
      line.hidden = numbers.length < 2;
      go.disabled = tests.value === "";
    };
    tests.addEventListener("change", () => { go.disabled = tests.value === ""; });
    const columns = [...byColumn].map(([column, numbers]) => element("label", { class: "choice" },
      element("input", { type: "radio", name: "column", value: column, onchange: () => choose(column) }),
      element("span", {}, numbers.length === 1 ? situation.tests[numbers[0]].label : lesson.columns[column])));
    const submit = (event) => { event.preventDefault(); this.change(this.tree.with(selected, Number(tests.value)), selected); };
    const further = situation.tried > situation.tests.length ? [element("p", { class: "muted" }, `${plural(situation.tests.length, "test")} of ${formatCount(situation.tried)} are offered.`)] : [];
    return [element("form", { onsubmit: submit }, element("fieldset", {}, element("legend", {}, "Which test divides these rows best?"), ...columns), line, ...further, element("div", { class: "tools" }, go))];
  }

  // -- the arithmetic -----------------------------------------------------------------------------------------------------

  unfolding(node) {
    const { lesson } = this, { situation, test } = node, key = `${node.number}/${node.choice}`, unit = lesson.unit ? ` ${lesson.unit}` : "";
    const branches = element("table", { class: "computations" }, element("tbody", {}, ...test.branches.map((number, branch) => element("tr", {},
      element("td", {}, test.conditions[branch]), element("td", {}, lesson.situations[number].summary), element("td", { class: "number" }, test.impurities[branch])))));
    const letter = situation.impurity.match(/\p{L}+(?=\()/u)?.[0] ?? "impurity";
    const lines = [
      [element("p", {}, "Before: ", element("b", {}, situation.impurity))],
      [element("p", {}, `The branches of ${test.label}, each with its ${letter}:`), element("div", { class: "scroll" }, branches)],
      [element("p", { class: "formula" }, `gain = ${test.formula}`)], [element("p", { class: "formula" }, `= ${test.arithmetic}`)],
      [element("p", { class: "formula" }, "= ", element("b", { id: "lesson-gain" }, test.gain_text + unit))],
    ];
    const steps = element("ol", { class: "unfolding", id: "lesson-steps", "aria-live": "polite" }), after = element("div", { id: "lesson-verdict" });
    const more = element("button", { type: "button", id: "lesson-more", class: "primary" }, "Next line"), all = element("button", { type: "button", id: "lesson-all" }, "All lines");
    const tools = element("div", { class: "tools" }, more, all);
    const unfold = (n) => {
      this.unfolded.set(key, n);
      steps.replaceChildren(...lines.slice(0, n).map((content) => element("li", {}, ...content)));
      tools.hidden = n >= lines.length;
      after.replaceChildren(...(n >= lines.length ? this.verdict(node) : []));
    };
    more.addEventListener("click", () => { unfold(this.unfolded.get(key) + 1); if (tools.hidden) after.querySelector("button")?.focus(); });
    all.addEventListener("click", () => { unfold(lines.length); after.querySelector("button")?.focus(); });
    unfold(this.shown ? lines.length : this.unfolded.get(key) ?? 2);
    return [steps, tools, after];
  }

  // Your gain, the best gain, and what the difference costs.
  verdict(node) {
    const { lesson } = this, { situation, test } = node, best = situation.tests[situation.winner], unit = lesson.unit ? ` ${lesson.unit}` : "";
    const lost = (one) => one.branches.reduce((sum, number) => sum + lesson.situations[number].lost, 0), more = lost(test) - lost(best);
    const digits = Math.max(best.gain_text.split(".")[1]?.length ?? 0, test.gain_text.split(".")[1]?.length ?? 0);
    const errors = this.isNumber || more === 0 ? "" : more > 0 ? `, and ${formatCount(more)} more rows wrong in the branches` : `; yet ${formatCount(-more)} fewer rows are wrong in the branches`;
    const words = test.is_best ? `✓ Best: no test here gains more than ${test.gain_text}${unit}.`
      : `${this.shown ? "This test's" : "✗ Your"} gain ${test.gain_text}, the best gain ${best.gain_text}${unit}: ${best.label}. ${this.shown ? "It" : "Yours"} costs ${(best.gain - test.gain).toFixed(digits)}${unit}${errors}.`;
    const rest = this.selected, tools = this.shown ? [] : [
      ...(test.is_best ? [] : [element("button", { type: "button", id: "lesson-take-best", onclick: () => this.change(this.tree.with(rest, situation.winner), rest) }, "Take the best instead")]),
      element("button", { type: "button", id: "lesson-again", onclick: () => this.change(this.tree.with(rest, null), rest) }, "Try another test"),
      ...(this.nextOpen(-1) === undefined ? [element("button", { type: "button", class: "primary", onclick: () => this.showGrade() }, "Grade my tree")] : [element("button", { type: "button", class: "primary", onclick: () => this.next() }, "Next leaf")])];
    this.said.textContent = words;
    return [element("p", { class: test.is_best ? "verdict right" : this.shown ? "verdict" : "verdict wrong" }, words), ...this.ranking(situation, test), element("div", { class: "tools" }, ...tools)];
  }

  // The best test of every column, and the student's own.
  ranking(situation, own) {
    const best = new Map();
    const score = (test) => test.score ?? test.gain;
    for (const test of situation.tests) if (!best.has(test.column) || score(test) > score(best.get(test.column))) best.set(test.column, test);
    best.set(situation.tests[situation.winner].column, situation.tests[situation.winner]);
    const listed = [...new Set([...best.values(), own])].sort((a, b) => score(b) - score(a) || b.is_best - a.is_best);
    const lines = listed.map((test) => element("tr", { class: test === own ? "chosen" : "" }, element("td", {}, `${test.label}${test === own ? " (yours)" : ""}`), element("td", { class: "number" }, `${test.gain_text}${test.is_best ? " ◄" : ""}`)));
    return [element("details", {}, element("summary", {}, "The best test of every column"), element("div", { class: "scroll" }, element("table", { class: "computations" }, element("tbody", {}, ...lines))))];
  }

  // -- the grade --------------------------------------------------------------------------------------------------------

  showGrade() {
    this.showOwn();
    const { lesson } = this, grade = this.tree.grade(), tree = lesson.trees[Math.min(grade.leaves, lesson.trees.length) - 1], size = plural(grade.leaves, "leaf", "leaves");
    const within = grade.max_depth === null ? size : `${size} and depth ${grade.max_depth}`;
    const text = (lost) => (this.isNumber ? this.lossText(lost) : `${this.lossText(lost)} of ${formatCount(lesson.situations[0].weight)}`);
    const isBest = grade.lost <= grade.best_lost * (1 + 1e-9), beats = grade.lost < grade.greedy_lost * (1 - 1e-9), equals = !beats && grade.lost <= grade.greedy_lost * (1 + 1e-9);
    const verdict = isBest ? `No tree of at most ${within} ${grade.is_proven ? "does better: proven" : "of this lesson does better"}.`
      : `${beats ? "Better than" : equals ? "As good as" : "Not as good as"} the greedy tree; the best tree of at most ${within} does better${grade.is_proven ? "" : " (of those in this lesson)"}.`;
    const line = (id, name, lost, choices) => element("tr", { id: `grade-${id}` }, element("td", {}, name), element("td", { class: "number" }, text(lost)),
      element("td", {}, ...(choices ? [element("button", { type: "button", class: "small", onclick: () => this.showOther(name, choices) }, "show")] : [])));
    const up = grade.given_up > 1e-12 ? ` The others gave up ${formatSpread(grade.given_up)}${lesson.unit ? ` ${lesson.unit}` : ""} of gain ${lesson.per === "row" ? "per row of the table" : "in all"}.` : "";
    this.grade.replaceChildren(element("h2", {}, "Your grade"), element("p", { class: `verdict ${isBest ? "right" : "wrong"}`, id: "grade-verdict" }, `${isBest ? "✓ " : ""}${verdict}`),
      element("div", { class: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, element("th", {}, "tree"), element("th", { class: "number" }, this.isNumber ? "mean squared error" : "wrong"), element("th", {}, ""))),
        element("tbody", {}, line("own", `yours, ${size}`, grade.lost), line("greedy", `greedy, at most ${within}`, grade.greedy_lost, tree.greedy_choices), line("best", `best, at most ${within}${grade.is_proven ? ", proven" : ""}`, grade.best_lost, grade.best_lost === tree.lost ? tree.choices : null)))),
      element("p", {}, `Tests of yours that are the best at their node: ${grade.best_splits} of ${grade.splits}.${up}`),
      element("p", { class: "muted" }, "The greedy tree takes the largest gain at every node. The best tree is chosen as a whole, by the rows it gets wrong; on new rows it need not be better."));
    this.grade.hidden = false;
    this.said.textContent = verdict;
    this.grade.focus();
    this.grade.scrollIntoView({ block: "nearest" });
  }

  showOther(name, choices) {
    this.shown = new StudentTree(this.lesson, choices);
    this.banner.replaceChildren(element("b", {}, `Shown: ${name}. `), element("button", { type: "button", id: "lesson-own", onclick: () => this.showOwn() }, "Back to my tree"));
    this.banner.hidden = false;
    this.show();
    this.select(0, true);
  }

  showOwn() {
    this.banner.hidden = true;
    if (!this.shown) return;
    this.shown = null;
    this.show();
    this.select(0);
  }

  // -- keys -------------------------------------------------------------------------------------------------------------

  key(event) {
    const key = event.key.toLowerCase(), control = event.ctrlKey || event.metaKey;
    if (event.altKey || event.target.matches?.("input:not([type=radio]), textarea")) return;
    if (control && key === "z") { event.preventDefault(); this.undo(); return; }
    if (control || event.target.matches?.("select")) return;
    if (key === "n" && !this.nextButton.disabled) { event.preventDefault(); this.next(); }
    if (key === "g") { event.preventDefault(); this.showGrade(); }
  }
}

// The data are JSON, compressed, in letters.
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text());
}

const LESSON = await unpack(document.getElementById("data").textContent);
const PAGE = new LessonPage(LESSON, document.getElementById("lesson"));
globalThis.gradeAll = (all) => all.map((choices) => new StudentTree(LESSON, choices).grade());
globalThis.studentChoices = () => PAGE.tree.choices;
document.documentElement.dataset.ready = "yes";
