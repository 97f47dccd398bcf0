// Marks answers blank by blank, as marking.py and formula.py do: same names, same order, same results.

const NATS = Math.log(2); // one bit
const ROUNDING = 1e-9;

const OPERATIONS = {
  "+": (...terms) => terms.reduce((a, b) => a + b, 0),
  "-": (a, b) => a - b,
  "*": (...factors) => factors.reduce((a, b) => a * b, 1),
  "/": (a, b) => a / b,
  min: (...values) => Math.min(...values),
  sqrt: Math.sqrt,
  log: Math.log,
  entropy: (...counts) => shares(counts).reduce((h, p) => (p > 0 ? h - p * Math.log2(p) : h), 0),
  gini: (...counts) => 1 - shares(counts).reduce((sum, p) => sum + p * p, 0),
  error: (...counts) => 1 - Math.max(...shares(counts)),
};

function shares(counts) {
  const total = counts.reduce((a, b) => a + b, 0);
  return Math.min(...counts) < 0 || !(total > 0) ? [NaN] : counts.map((n) => n / total);
}

// Returns a number, a list of the options that are right, or null where the formula is not defined.
function evaluate(formula, values, near) {
  if (typeof formula === "number") return formula;
  if (typeof formula === "string") return values[formula];
  const [operation, ...rest] = formula;
  if (operation === "largest") {
    const numbers = rest.map(([option, each]) => [option, evaluate(each, values, near)]);
    if (numbers.some(([, number]) => number === null)) return null;
    const best = Math.max(...numbers.map(([, number]) => number));
    return numbers.filter(([, number]) => number >= best - near).map(([option]) => option);
  }
  if (operation === "choose") {
    const [a, b] = [evaluate(rest[0], values, near), evaluate(rest[1], values, near)];
    return a === null || b === null ? null : [a <= b + near ? rest[2] : rest[3]];
  }
  if (operation === "match") return evaluate(values[rest[0]] === rest[1] ? rest[2] : rest[3], values, near);
  const found = rest.map((each) => evaluate(each, values, near));
  if (found.includes(null)) return null;
  const value = OPERATIONS[operation](...found);
  return Number.isFinite(value) ? value : null;
}

function readNumber(text, unit, defaultUnit) {
  const plain = text.replaceAll("−", "-").replaceAll(" ", "").replaceAll("\u00a0", "").toLowerCase();
  const parts = plain.match(new RegExp(SHEET.number));
  if (parts === null) return null;
  const [, sign, numerator, denominator, suffix] = parts;
  if (suffix && !unit) return null;
  let value = Number(numerator.replace(",", ".")) / (denominator ? Number(denominator.replace(",", ".")) : 1);
  const ownUnit = suffix ? (suffix[0] === "b" ? "bits" : "nats") : defaultUnit || unit;
  if (unit && ownUnit !== unit) value *= unit === "nats" ? NATS : 1 / NATS;
  return Number.isFinite(value) ? (sign === "-" ? -value : value) : null;
}

const simplified = (text) => text.toLowerCase().replaceAll("≤", "<=").replaceAll("≥", ">=").split(/\s+/).join("");

function readAnswer(blank, answers) {
  const text = (answers.written[blank.id] ?? "").trim();
  if (blank.kind === "choice") {
    return blank.options.find((option) => simplified(option) === simplified(text)) ?? null;
  }
  return blank.kind === "tree" ? null : readNumber(text, blank.unit ?? "", answers.unit);
}

// Marks every blank; what cannot be read counts as not written where others refer to it.
function markBlanks(blanks, answers) {
  const own = {};
  for (const blank of blanks) {
    const key = Array.isArray(blank.value) ? blank.value[0] : blank.value;
    own[blank.id] = readAnswer(blank, answers) ?? key;
  }
  return blanks.map((blank) => markOne(blank, answers, own));
}

function markOne(blank, answers, own) {
  if ((answers.written[blank.id] ?? "").trim() === "") return { id: blank.id, verdict: "empty", points: 0 };
  if (blank.kind === "tree") return markTree(blank, answers.written[blank.id]);
  const value = readAnswer(blank, answers);
  if (value === null) return { id: blank.id, verdict: "unreadable", points: 0 };
  const near = blank.tolerance ?? 0;
  const expected = blank.formula === undefined ? null : evaluate(blank.formula, own, near);
  if (agrees(value, blank.value, near)) return { id: blank.id, verdict: "right", points: blank.points };
  if (agrees(value, expected, near)) return { id: blank.id, verdict: "carried forward", points: blank.points };
  return { id: blank.id, verdict: "wrong", points: 0, note: hint(blank, answers, near) };
}

function agrees(value, key, near) {
  return Array.isArray(key) ? key.includes(value) : typeof key === "number" && Math.abs(value - key) <= near + ROUNDING;
}

// Recognises a number that is right in the other unit.
function hint(blank, answers, near) {
  if (!blank.unit) return "";
  const other = (answers.unit || blank.unit) === "bits" ? "nats" : "bits";
  const value = readNumber(answers.written[blank.id].trim(), blank.unit, other);
  const isRight = value !== null && Math.abs(value) > near && agrees(value, blank.value, near);
  return isRight ? `right in ${other}: write ${other} after the number` : "";
}

// -- trees ------------------------------------------------------------------------------------------------------------

// A point for each node of the key at which the same rows are split, or predicted, alike.
function markTree(blank, text) {
  let nodes;
  try {
    nodes = typedNodes(blank.tree, text).map((node) => JSON.stringify(node));
  } catch (error) {
    return { id: blank.id, verdict: "unreadable", points: 0, note: error.message };
  }
  const points = blank.tree.nodes.filter((node) => nodes.includes(JSON.stringify(node))).length;
  const verdict = points === blank.points ? "right" : points ? "partly" : "wrong";
  const note = points === blank.points ? "" : `${points} of ${blank.points} nodes as in the key`;
  return { id: blank.id, verdict, points, note };
}

// Reads lines such as "GPA = 3.7" and "x1 <= 0.5 -> yes", indented; returns the nodes as tree_nodes (builder.py) does.
function typedNodes(tree, text) {
  const root = { depth: -1, children: [], test: () => true };
  const open = [root];
  for (const line of text.split("\n")) {
    const content = line.replace(/\t/g, "    ").replace(/\s+#.*$/, "");
    if (content.trim() === "") continue;
    const [condition, ...rest] = content.trim().split(/\s*(?:->|→)\s*/);
    const label = rest.length ? unquoted(rest.join(" -> ")) : undefined;
    const node = { depth: content.search(/\S/), children: [], label };
    while (open.at(-1).depth >= node.depth) open.pop();
    if (condition === "" && open.length === 1) root.label = node.label;
    else addBranch(open.at(-1), node, condition, tree);
    open.push(node);
  }
  const found = [];
  const all = tree.classes.map((_, i) => i + 1);
  const waiting = [[root, all]];
  while (waiting.length) {
    const [node, rows] = waiting.shift();
    if (node.children.length === 0) {
      if (node.label === undefined) throw new Error(`"${node.text ?? "the tree"}" has no class: write -> and the class`);
      found.push([rows, node.label]);
      continue;
    }
    if (node.label !== undefined) throw new Error(`"${node.text}" has a class and lines below it`);
    if (node.children.length === 1) throw new Error(`"${node.children[0].text}" has no sibling`);
    const parts = node.children.map(() => []);
    for (const row of rows) {
      const taken = node.children.findIndex((child) => child.test(row - 1));
      if (taken >= 0) parts[taken].push(row);
    }
    const filled = parts.filter((part) => part.length).sort(compareLists);
    found.push([rows, [node.children[0].column, filled]]);
    node.children.forEach((child, i) => parts[i].length && waiting.push([child, parts[i]]));
  }
  return found;
}

function addBranch(parent, node, condition, tree) {
  const names = Object.keys(tree.columns).sort((a, b) => b.length - a.length);
  const column = names.find((name) => condition.startsWith(name) && /^[\s=<>≤≥]/.test(condition.slice(name.length)));
  if (column === undefined) throw new Error(`"${condition}" does not begin with a column`);
  if (parent.children.length && parent.children[0].column !== column) {
    throw new Error(`"${condition}" is about another column than the line it belongs with`);
  }
  const rest = condition.slice(column.length).trim();
  Object.assign(node, { column, text: condition, test: testOf(rest, tree.columns[column], tree.kinds[column], condition) });
  parent.children.push(node);
}

function testOf(rest, cells, kind, condition) {
  if (rest === "otherwise") return () => true;
  const [, sign, right] = rest.match(/^(<=|>=|≤|≥|<|>|=|in|is)\s*(.*)$/) ?? [];
  if (sign === undefined || right === "") throw new Error(`"${condition}" is not read here: write column = value`);
  if (["=", "in", "is"].includes(sign)) {
    const levels = right.replace(/^\{(.*)\}$/, "$1").split(/\s*[|,]\s*/).map(unquoted);
    const unknown = levels.find((level) => !cells.includes(level));
    if (unknown !== undefined) throw new Error(`no row has the value "${unknown}"`);
    return (row) => levels.includes(cells[row]);
  }
  const rank = Array.isArray(kind) ? (text) => (kind.includes(text) ? kind.indexOf(text) : NaN) : Number;
  const cut = rank(Array.isArray(kind) ? unquoted(right) : right.replace(",", "."));
  if (Number.isNaN(cut) || cells.some((cell) => Number.isNaN(rank(cell)))) {
    throw new Error(`"${condition}" is not read here: ${sign} is for numbers and ordered levels`);
  }
  const tests = { "<=": (x) => x <= cut, "≤": (x) => x <= cut, "<": (x) => x < cut, ">": (x) => x > cut };
  const test = tests[sign] ?? ((x) => x >= cut);
  return (row) => test(rank(cells[row]));
}

const unquoted = (text) => text?.trim().replace(/^"(.*)"$/, "$1").replaceAll('""', '"');
const compareLists = (a, b) => a[0] - b[0]; // parts are disjoint, so their first rows differ
