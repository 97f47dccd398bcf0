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
  if (operation === "nodes") return [...rest[0], ...rest.slice(1).flatMap((each) => evaluate(each, values, near))];
  if (operation === "case") {
    const [, taken] = rest.slice(1).find(([option]) => option === values[rest[0]]);
    return evaluate(taken, values, near);
  }
  const found = rest.map((each) => evaluate(each, values, near));
  if (found.includes(null)) return null;
  const value = OPERATIONS[operation](...found);
  return Number.isFinite(value) ? value : null;
}

const trimmed = (text) => text.replace(/^[ \t\r\n\u00a0]+|[ \t\r\n\u00a0]+$/g, "");

function readNumber(text, unit, defaultUnit) {
  const plain = trimmed(text).replaceAll("−", "-").replaceAll("\u00a0", " ").toLowerCase();
  const parts = plain.match(new RegExp(SHEET.number));
  if (parts === null) return null;
  const [, sign, numerator, denominator, suffix] = parts;
  if (suffix && !unit) return null;
  let value = Number(numerator.replace(",", ".")) / (denominator ? Number(denominator.replace(",", ".")) : 1);
  const ownUnit = suffix ? (suffix[0] === "b" ? "bits" : "nats") : defaultUnit || unit;
  if (unit && ownUnit !== unit) value *= unit === "nats" ? NATS : 1 / NATS;
  return Number.isFinite(value) ? (sign === "-" ? -value : value) : null;
}

const simplified = (text) =>
  text.toLowerCase().replaceAll("≤", "<=").replaceAll("≥", ">=").replace(/[ \t\r\n\u00a0]+/g, "");

function readAnswer(blank, answers) {
  const text = trimmed(answers.written[blank.id] ?? "");
  if (blank.kind === "choice") {
    if (blank.options.includes(text)) return text;
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
  if (trimmed(answers.written[blank.id] ?? "") === "") return { id: blank.id, verdict: "empty", points: 0 };
  const near = blank.tolerance ?? 0;
  const expected = blank.formula === undefined ? null : evaluate(blank.formula, own, near);
  if (blank.kind === "tree") return markTree(blank, answers.written[blank.id], expected);
  const value = readAnswer(blank, answers);
  if (value === null) return { id: blank.id, verdict: "unreadable", points: 0, note: blank.kind === "choice" ? "" : "not a number" };
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
  const value = readNumber(answers.written[blank.id], blank.unit, other);
  const isRight = value !== null && Math.abs(value) > near && agrees(value, blank.value, near);
  return isRight ? `right in ${other}: write ${other} after the number` : "";
}

// -- trees ------------------------------------------------------------------------------------------------------------

// A point for each node of the key at which the same rows are split, or predicted, alike; a tree that follows from
// the student's own choices gets the same share of the points.
function markTree(blank, text, expected) {
  let nodes;
  try {
    nodes = typedNodes(blank.tree, text).map((node) => JSON.stringify(node));
  } catch (error) {
    return { id: blank.id, verdict: "unreadable", points: 0, note: error.message };
  }
  const count = (all) => all.filter((node) => nodes.includes(JSON.stringify(node))).length;
  const nRight = count(blank.tree.nodes);
  if (nRight === blank.points) return { id: blank.id, verdict: "right", points: nRight };
  const nCarried = expected ? count(expected) : 0;
  const carried = expected ? Math.floor((blank.points * nCarried) / expected.length) : 0;
  if (carried > nRight) {
    if (nCarried === expected.length) return { id: blank.id, verdict: "carried forward", points: carried };
    const note = `${nCarried} of ${expected.length} nodes follow from your choices`;
    return { id: blank.id, verdict: "partly", points: carried, note };
  }
  const note = `${nRight} of ${blank.points} nodes as in the key`;
  return { id: blank.id, verdict: nRight ? "partly" : "wrong", points: nRight, note };
}

// Reads lines such as "GPA = 3.7" and "x1 <= 0.5 -> yes", indented; returns the nodes as tree_nodes (trees.py) does.
// Of the notations that marking.py reads, this is the outline.
function typedNodes(tree, text) {
  const root = { depth: -1, children: [], test: () => true };
  const open = [root];
  for (const line of text.split("\n")) {
    const content = line.replace(/\t/g, "    ").replace(/(^|\s)#[^]*$/, "");
    if (content.trim() === "") continue;
    const [condition, label] = atArrow(content.trim());
    const node = { depth: content.search(/\S/), children: [], label };
    while (open.at(-1).depth >= node.depth) open.pop();
    if (condition === "" && open.length === 1) root.label = label;
    else addBranch(open.at(-1), node, condition, tree);
    open.push(node);
  }
  const found = [];
  const waiting = [[root, tree.classes.map((_, i) => i + 1)]];
  while (waiting.length) {
    const [node, rows] = waiting.shift();
    if (node.children.length === 0) {
      if (node.label === undefined) throw new Error(`"${node.text ?? "the tree"}" has no class: write -> and the class`);
      if (rows.length) found.push([rows, node.label]);
      continue;
    }
    if (node.label !== undefined) throw new Error(`"${node.text ?? "->"}" has a class and lines below it`);
    checkSiblings(node.children);
    const parts = node.children.map(() => []);
    for (const row of rows) {
      const taken = node.children.findIndex((child) => child.test(row - 1));
      if (taken >= 0) parts[taken].push(row);
    }
    const filled = parts.filter((part) => part.length).sort((a, b) => a[0] - b[0]); // disjoint: first rows differ
    if (rows.length) found.push([rows, [node.children[0].column, filled]]);
    node.children.forEach((child, i) => waiting.push([child, parts[i]]));
  }
  return found;
}

// Splits a line at its last arrow, or at the one before a quoted class.
function atArrow(line) {
  const parts = line.match(/^(.*)(?:->|→)\s*("(?:[^"]|"")*")$/) ?? line.match(/^(.*)(?:->|→)(.*)$/);
  if (parts === null) return [line, undefined];
  const label = parts[2].trim();
  if (label === "" || (!label.startsWith('"') && /,|\s[01]?\.\d+$/.test(label))) {
    throw new Error(`"${line}": write one class after the arrow`);
  }
  return [parts[1].trim(), unquoted(label)];
}

function addBranch(parent, node, condition, tree) {
  const names = Object.keys(tree.columns).sort((a, b) => b.length - a.length);
  const isRest = condition === "else" && parent.children.length > 0;
  const column = isRest
    ? parent.children[0].column
    : names.find((name) => condition.startsWith(name) && /^[\s=<>≤≥]/.test(condition.slice(name.length)));
  if (column === undefined) throw new Error(`"${condition}" does not begin with a column`);
  if (parent.children.length && parent.children[0].column !== column) {
    throw new Error(`"${condition}" is about another column than the line it belongs with`);
  }
  const rest = isRest ? "otherwise" : condition.slice(column.length).trim();
  const test = testOf(rest, tree.columns[column], tree.kinds[column], condition);
  Object.assign(node, { column, text: condition, ...test });
  parent.children.push(node);
}

function testOf(rest, cells, kind, condition) {
  if (rest === "otherwise") return { test: () => true };
  const [, typed, right] = rest.match(/^(<=|>=|≤|≥|<|>|=|in(?=[\s{])|is(?=\s))\s*(.*)$/) ?? [];
  const sign = { "≤": "<=", "≥": ">=" }[typed] ?? typed;
  const isNumber = kind === "number" || kind === "integer";
  if (sign === undefined || right === "" || (sign === "in" && !/^\{.*\}$/.test(right))) {
    throw new Error(`"${condition}" is not read here: write column = value`);
  }
  if (["=", "in", "is"].includes(sign)) {
    if (isNumber) throw new Error(`"${condition}": compare a number with <= or >`);
    if (sign !== "in" && right.startsWith("{")) throw new Error(`"${condition}": write in before a set`);
    const levels = sign === "in" ? listed(right.slice(1, -1)) : [unquoted(right)];
    const unknown = levels.find((level) => Array.isArray(kind) && !kind.includes(level));
    if (unknown !== undefined) throw new Error(`"${unknown}" is not one of ${kind.join(", ")}`);
    return { levels, test: (row) => levels.includes(cells[row]) };
  }
  const isOrdered = Array.isArray(kind);
  const cut = isOrdered ? kind.indexOf(unquoted(right)) : isNumber && PLAIN_NUMBER.test(right) ? Number(right) : -1;
  if ((isOrdered && cut < 0) || (!isOrdered && !(isNumber && PLAIN_NUMBER.test(right)))) {
    throw new Error(`"${condition}" is not read here: ${sign} is for numbers and ordered levels`);
  }
  const compare = { "<=": (x) => x <= cut, "<": (x) => x < cut, ">": (x) => x > cut, ">=": (x) => x >= cut }[sign];
  return { sign, cut, isOrdered, test: (row) => compare(isOrdered ? kind.indexOf(cells[row]) : Number(cells[row])) };
}

// Two thresholds must be the two sides of one, and no level may be named twice.
function checkSiblings(children) {
  if (children.length === 1) throw new Error(`"${children[0].text}" has no sibling`);
  const named = children.flatMap((child) => child.levels ?? []);
  const twice = named.find((level, i) => named.indexOf(level) < i);
  if (twice !== undefined) throw new Error(`"${twice}" is named twice`);
  const sides = children.filter((child) => child.sign !== undefined && !child.isOrdered);
  const opposite = { "<=": ">", "<": ">=", ">": "<=", ">=": "<" };
  if (sides.length > 2 || (sides.length === 2 && (sides[0].cut !== sides[1].cut || opposite[sides[0].sign] !== sides[1].sign))) {
    throw new Error(`"${sides[1].text}" is not the other side of "${sides[0].text}"`);
  }
}

const PLAIN_NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;
const unquoted = (text) => text.trim().replace(/^"(.*)"$/, "$1").replaceAll('""', '"');
const listed = (text) => [...text.matchAll(/\s*("(?:[^"]|"")*"|[^,]+)\s*(?:,|$)/g)].map(([, level]) => unquoted(level));
