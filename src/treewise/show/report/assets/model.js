// The tree as the page knows it: treewise's own arrays, nodes in pre-order, so that parents come before children
// and a subtree is a run of numbers. Answers a row, or a row of which only some columns are known. First of the
// four files that make the page's module: model, picture, panels, main.

const LEAF = 0, THRESHOLD = 1, ORDINAL = 2, ONE_VALUE = 3, SUBSET = 4, MULTIWAY = 5;   // as in nodes.py
const MISSING = Symbol("missing"), NEVER_SEEN = Symbol("never seen");                  // beside values: what a cell may be

class Model {
  constructor(facts) {
    Object.assign(this, facts.nodes);
    this.facts = facts;
    this.size = this.parent.length;
    this.children = Array.from({ length: this.size }, () => []);
    this.depth = new Array(this.size).fill(0);
    for (let i = 1; i < this.size; i++) {
      this.children[this.parent[i]].push(i);
      this.depth[i] = this.depth[this.parent[i]] + 1;
    }
    this.end = new Array(this.size);                       // one past the last node of the subtree
    for (let i = this.size - 1; i >= 0; i--) {
      const last = this.children[i].at(-1);
      this.end[i] = last === undefined ? i + 1 : this.end[last];
    }
    this.leaves = new Array(this.size).fill(0);            // at and below each node
    for (let i = this.size - 1; i >= 0; i--) {
      if (this.kind[i] === LEAF) this.leaves[i] = 1;
      if (i > 0) this.leaves[this.parent[i]] += this.leaves[i];
    }
    this.listed = this.codes.map((codes) => new Map(codes.map((code, place) => [code, place])));
    this.asked = [...new Set(this.column.filter((c) => c >= 0))].sort((a, b) => a - b);
  }

  isLeaf(node) { return this.kind[node] === LEAF; }

  path(node) {
    const found = [];
    for (let at = node; at >= 0; at = this.parent[at]) found.unshift(at);
    return found;
  }

  // The branch a cell takes: a number or bigint, a level's code, MISSING or NEVER_SEEN; null where there is none.
  branch(node, cell) {
    const kind = this.kind[node], listed = this.listed[node];
    if (cell === MISSING) return this.missing[node];
    if (kind === THRESHOLD) return cell <= this.cutOf(node) ? 0 : 1;
    if (kind === ORDINAL) return cell === NEVER_SEEN ? this.missing[node] : cell <= this.codes[node][0] ? 0 : 1;
    if (kind === ONE_VALUE || kind === SUBSET) return listed.has(cell) ? 0 : 1;
    if (listed.has(cell)) return listed.get(cell);
    return this.other[node] >= 0 ? this.other[node] : null;
  }

  cutOf(node) {
    const cut = this.cut[node];
    return typeof cut === "string" ? (/^-?\d+$/.test(cut) ? BigInt(cut) : Number(cut)) : cut;
  }

  // Where rows with these cells (a Map: column → cell) may end. What is not known goes every way that is possible, with
  // the chances of the training rows. Returns the chance of each end, all ends that are possible, and the nodes passed.
  reach(cells) {
    const chance = new Array(this.size).fill(0), ends = new Map(), possible = new Set(), passed = new Set([0]);
    chance[0] = 1;
    const stop = (node) => { possible.add(node); if (chance[node] > 0) ends.set(node, (ends.get(node) ?? 0) + chance[node]); };
    for (let i = 0; i < this.size; i++) {
      if (!passed.has(i)) { i = this.end[i] - 1; continue; }
      if (this.isLeaf(i)) { stop(i); continue; }
      const below = this.children[i];
      if (cells.has(this.column[i])) {
        const branch = this.branch(i, cells.get(this.column[i]));
        if (branch === null) stop(i);
        else { passed.add(below[branch]); chance[below[branch]] = chance[i]; }
        continue;
      }
      if (this.kind[i] === MULTIWAY && this.other[i] < 0) possible.add(i);  // a level nobody has seen stays here
      const total = below.reduce((sum, child) => sum + this.weight[child], 0);
      for (const child of below) {
        passed.add(child);
        chance[child] = chance[i] * (total > 0 ? this.weight[child] / total : 1 / below.length);
      }
    }
    return { ends: ends.size ? ends : new Map([...possible].map((node) => [node, 1])), possible, passed };
  }

  // The node whose statistics answer for a row that ends here (an empty leaf's is above it).
  speaker(node) { return this.isLeaf(node) || !this.facts.stays_at_root ? this.speaks[node] : this.speaks[0]; }

  // The classes that occur, as pairs [place, share]; counts come from the page as [place, weight, place, weight, …].
  shares(node) {
    const pairs = pairsOf(this.counts[this.speaker(node)]), sum = totalOf(pairs);
    if (sum > 0) return pairs.map(([place, count]) => [place, count / sum]);
    return this.label[node] >= 0 ? [[this.label[node], 1]] : [];
  }

  says(node) { return this.label[this.isLeaf(node) ? node : this.speaker(node)]; }

  // The class of the least expected cost by these shares, or where mistakes all cost the same the most probable one.
  best(shares) {
    const { cost } = this.facts;
    if (!cost) return shares[0]?.[0];
    const expected = cost.map((_, said) => shares.reduce((sum, [true_, share]) => sum + share * cost[true_][said], 0));
    return expected.indexOf(Math.min(...expected));
  }

  // What rows are told that end so; certain where every end that is possible says the same.
  answer(ends, possible) {
    if (this.facts.task === "regression") {
      let value = 0, total = 0;
      for (const [node, chance] of ends) { value += chance * this.value[this.speaker(node)]; total += chance; }
      return { value: value / total };
    }
    const mixed = new Map(), labels = new Set([...possible].map((node) => this.says(node)));
    for (const [node, chance] of ends) {
      for (const [place, share] of this.shares(node)) mixed.set(place, (mixed.get(place) ?? 0) + chance * share);
    }
    const total = totalOf([...mixed]) || 1;
    const shares = [...mixed].map(([place, share]) => [place, share / total]).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    const label = labels.size === 1 ? [...labels][0] : this.best(shares);
    return { label, shares, share: shares.find(([place]) => place === label)?.[1] ?? 0, certain: labels.size === 1 };
  }
}

const pairsOf = (flat) => Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);
const totalOf = (pairs) => pairs.reduce((sum, [, much]) => sum + much, 0);
const muchOf = (pairs, wanted) => pairs.find(([place]) => place === wanted)?.[1] ?? 0;

// -- how things are written, as wording.py does ------------------------------------------------------------------

const whole = (n) => (Number.isInteger(n) ? n.toLocaleString("en-US") : Number(n.toPrecision(4)).toLocaleString("en-US"));
const figure = (x) => {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  return Math.abs(x) >= 1e5 ? x.toLocaleString("en-US", { maximumFractionDigits: 0 }) : Number(x.toPrecision(5)).toLocaleString("en-US", { maximumSignificantDigits: 5 });
};
const percent = (share) => {
  const said = (100 * share).toFixed(1);
  if (said === "0.0" && share > 0) return "<0.1 %";
  return said === "100.0" && share < 1 ? ">99.9 %" : `${said} %`;
};
const plural = (n, word, many) => `${whole(n)} ${n === 1 ? word : many ?? word + "s"}`;

function element(name, attributes = {}, ...content) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...content);
  return made;
}
