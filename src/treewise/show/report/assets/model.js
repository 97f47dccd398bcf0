// The tree as arrays of nodes in pre-order: parents come before children, and a subtree is a range of numbers.
// Predicts a row, also one with unknown columns. First file of the module.

const LEAF = 0, THRESHOLD = 1, ORDINAL = 2, ONE_VALUE = 3, SUBSET = 4, MULTIWAY = 5;   // as in tree/arrays.py
const MISSING = Symbol("missing"), NEVER_SEEN = Symbol("never seen");                  // besides values

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
    this.branchOf = this.codes.map((codes) => new Map(codes.map((code, place) => [code, place])));
    this.usedColumns = [...new Set(this.column.filter((c) => c >= 0))].sort((a, b) => a - b);
  }

  isLeaf(node) { return this.kind[node] === LEAF; }

  path(node) {
    const found = [];
    for (let at = node; at >= 0; at = this.parent[at]) found.unshift(at);
    return found;
  }

  // The branch of a cell: a number or bigint, the code of a level, MISSING or NEVER_SEEN; null where there is none.
  branch(node, cell) {
    const kind = this.kind[node], branchOf = this.branchOf[node];
    if (cell === MISSING) return this.missing[node];
    if (kind === THRESHOLD) return cell <= this.cutOf(node) ? 0 : 1;
    if (kind === ORDINAL) return cell === NEVER_SEEN ? this.missing[node] : cell <= this.codes[node][0] ? 0 : 1;
    if (kind === ONE_VALUE || kind === SUBSET) return branchOf.has(cell) ? 0 : 1;
    if (branchOf.has(cell)) return branchOf.get(cell);
    return this.other[node] >= 0 ? this.other[node] : null;
  }

  cutOf(node) {
    const cut = this.cut[node];
    return typeof cut === "string" ? (/^-?\d+$/.test(cut) ? BigInt(cut) : Number(cut)) : cut;
  }

  // Propagate a row with some known cells (a Map: column → cell). At a split on an unknown column it takes every branch,
  // with the frequencies of the training rows. Returns the probability of each end, all possible ends, and the nodes visited.
  propagate(cells) {
    const probability = new Array(this.size).fill(0), ends = new Map(), possible = new Set(), visited = new Set([0]);
    probability[0] = 1;
    const stop = (node) => { possible.add(node); if (probability[node] > 0) ends.set(node, (ends.get(node) ?? 0) + probability[node]); };
    for (let i = 0; i < this.size; i++) {
      if (!visited.has(i)) { i = this.end[i] - 1; continue; }
      if (this.isLeaf(i)) { stop(i); continue; }
      const below = this.children[i];
      if (cells.has(this.column[i])) {
        const branch = this.branch(i, cells.get(this.column[i]));
        if (branch === null) stop(i);
        else { visited.add(below[branch]); probability[below[branch]] = probability[i]; }
        continue;
      }
      if (this.kind[i] === MULTIWAY && this.other[i] < 0) possible.add(i);  // an unseen level stays here
      const total = below.reduce((sum, child) => sum + this.weight[child], 0);
      for (const child of below) {
        visited.add(child);
        probability[child] = probability[i] * (total > 0 ? this.weight[child] / total : 1 / below.length);
      }
    }
    return { ends: ends.size ? ends : new Map([...possible].map((node) => [node, 1])), possible, visited };
  }

  // The node whose statistics predict for a row that ends here (for an empty leaf, one above it).
  answeringNode(node) { return this.isLeaf(node) || !this.facts.stays_at_root ? this.answering[node] : this.answering[0]; }

  // The classes that occur, as pairs [class index, share]; counts are stored as [index, weight, index, weight, …].
  shares(node) {
    const pairs = toPairs(this.counts[this.answeringNode(node)]), sum = totalWeight(pairs);
    if (sum > 0) return pairs.map(([place, count]) => [place, count / sum]);
    return this.label[node] >= 0 ? [[this.label[node], 1]] : [];
  }

  predictedClass(node) { return this.label[this.isLeaf(node) ? node : this.answeringNode(node)]; }

  // The class of least expected cost, or without costs the most probable one.
  cheapestClass(shares) {
    const { cost } = this.facts;
    if (!cost) return shares[0]?.[0];
    const expected = cost.map((_, predicted) => shares.reduce((sum, [true_, share]) => sum + share * cost[true_][predicted], 0));
    return expected.indexOf(Math.min(...expected));
  }

  // The prediction for these ends; certain if all possible ends predict the same class.
  predict(ends, possible) {
    if (this.facts.task === "regression") {
      let value = 0, total = 0;
      for (const [node, probability] of ends) { value += probability * this.value[this.answeringNode(node)]; total += probability; }
      return { value: value / total };
    }
    const mixed = new Map(), labels = new Set([...possible].map((node) => this.predictedClass(node)));
    for (const [node, probability] of ends) {
      for (const [place, share] of this.shares(node)) mixed.set(place, (mixed.get(place) ?? 0) + probability * share);
    }
    const total = totalWeight([...mixed]) || 1;
    const shares = [...mixed].map(([place, share]) => [place, share / total]).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    const label = labels.size === 1 ? [...labels][0] : this.cheapestClass(shares);
    return { label, shares, share: shares.find(([place]) => place === label)?.[1] ?? 0, certain: labels.size === 1 };
  }
}

const toPairs = (flat) => Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);
const totalWeight = (pairs) => pairs.reduce((sum, [, weight]) => sum + weight, 0);
const weightOf = (pairs, wanted) => pairs.find(([place]) => place === wanted)?.[1] ?? 0;

// -- formatting, as in _lib/text.py ------------------------------------------------------------------

const formatCount = (n) => (Number.isInteger(n) ? n.toLocaleString("en-US") : Number(n.toPrecision(4)).toLocaleString("en-US"));
const formatNumber = (x) => {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  return Math.abs(x) >= 1e5 ? x.toLocaleString("en-US", { maximumFractionDigits: 0 }) : Number(x.toPrecision(5)).toLocaleString("en-US", { maximumSignificantDigits: 5 });
};
const formatSpread = (x) => formatNumber(x === null || x === undefined || Math.abs(x) >= 1000 ? x : Number(x.toPrecision(3)));
const formatPercent = (share) => {
  const text = (100 * share).toFixed(1);
  if (text === "0.0" && share > 0) return "<0.1 %";
  return text === "100.0" && share < 1 ? ">99.9 %" : `${text} %`;
};
const plural = (n, singular, several) => `${formatCount(n)} ${n === 1 ? singular : several ?? singular + "s"}`;

function element(name, attributes = {}, ...content) {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) created.addEventListener(key.slice(2), value);
    else if (value === true) created.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) created.setAttribute(key, value);
  }
  created.append(...content);
  return created;
}
