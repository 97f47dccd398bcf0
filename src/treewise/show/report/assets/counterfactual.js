// The nearest counterfactual of a row, as explain/row_explanation/counterfactual.py finds it: the fewest columns, then the least
// distance, then the most rows. Second file of the module.

class Counterfactuals {
  constructor(model) { this.model = model; }

  // The nearest leaf with another prediction: its node and what must hold to get there; null if there is none.
  nearest(cells, label) {
    const { model } = this;
    let best = null;
    for (let leaf = 0; leaf < model.size; leaf++) {
      if (!model.isLeaf(leaf) || !(model.label[leaf] >= 0) || model.predictedClass(leaf) === label) continue;
      const changes = this.changes(leaf, cells, best ? best.key[0] : Infinity);
      if (changes === null) continue;
      const finite = changes.map((change) => change.distance).filter(Number.isFinite);
      const key = [changes.length, changes.length - finite.length, finite.reduce((sum, distance) => sum + distance, 0), -model.rows[leaf]];
      if (best === null || isLess(key, best.key)) best = { key, node: leaf, changes };
    }
    return best;
  }

  // What must change to get to a leaf: one entry per column; null if that is impossible, or if it is more than `most` columns.
  changes(leaf, cells, most) {
    const { model } = this, steps = new Map();
    for (let at = leaf; model.parent[at] >= 0; at = model.parent[at]) {
      const column = model.column[model.parent[at]];
      if (!steps.has(column)) steps.set(column, []);
      steps.get(column).unshift([model.parent[at], at]);
    }
    const changes = [];
    for (const [column, path] of steps) {
      const cell = cells.get(column), leads = ([node, child], value) => model.children[node][model.branch(node, value)] === child;
      if (cell !== undefined && path.every((step) => leads(step, cell))) continue;
      const distance = changes.length + 1 > most ? null : this.distance(column, path, cell, leads);
      if (distance === null) return null;
      const merged = model.facts.rules[leaf]?.find(([at]) => at === column)?.[1];   // all conditions on the column: <= 2 and > 1 is = 2
      changes.push({ column, distance, text: merged ?? path.map(([, child]) => model.condition[child]).join(" and ") });
    }
    return changes;
  }

  // How far a cell is from the values that lead along a path; null if no known value does.
  distance(column, path, cell, leads) {
    const { model } = this, { facts } = model, what = facts.columns[column], isUnknown = cell === undefined || cell === MISSING;
    if (what.levels) return what.levels.some((_, code) => path.every((step) => leads(step, code))) ? 1 : null;
    let low = -Infinity, high = Infinity;
    for (const [node, child] of path) {
      const cut = Number(model.cutOf(node));
      if (model.children[node][0] === child) high = Math.min(high, cut); else low = Math.max(low, cut);
    }
    if (!(low < high)) return null;
    if (isUnknown) return 1;
    const value = Number(cell);
    return Math.abs((value > high ? high : low) - value) / (what.scale || 1);
  }
}

const isLess = (a, b) => { for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i] < b[i]; return false; };
