// The tree of a student, and its grade: the same numbers as Lesson.grade (lesson.py). `choices` are the tests of the nodes in
// pre-order, null at leaves.

class StudentTree {
  constructor(lesson, choices = [null]) {
    this.lesson = lesson;
    this.nodes = [];
    const remaining = [...choices], waiting = [{ number: 0, depth: 0, parent: -1, branch: -1 }];
    while (waiting.length) {
      const node = { ...waiting.pop(), choice: remaining.shift() ?? null, children: [] }, index = this.nodes.length;
      const situation = lesson.situations[node.number], test = node.choice === null ? null : this.testsAt(node)[node.choice];
      this.nodes.push(Object.assign(node, { situation, test: test ?? null, choice: test ? node.choice : null }));
      if (node.parent >= 0) this.nodes[node.parent].children.push(index);
      const below = (test?.branches ?? []).map((number, branch) => ({ number, depth: node.depth + 1, parent: index, branch }));
      waiting.push(...below.reverse());
    }
  }

  get choices() { return this.nodes.map((node) => node.choice); }
  get leaves() { return this.nodes.filter((node) => !node.test); }

  // The tests that a node offers: none below the depth of the lesson.
  testsAt(node) {
    const { depth, situations } = this.lesson;
    return depth !== null && node.depth >= depth ? [] : situations[node.number].tests ?? [];
  }

  isOpen(index) { return !this.nodes[index].test && this.testsAt(this.nodes[index]).length > 0; }

  end(index) {
    let end = index + 1;
    while (end < this.nodes.length && this.nodes[end].depth > this.nodes[index].depth) end++;
    return end;
  }

  // The tree with another test at a node, or with a leaf there (null); what was below is gone.
  with(index, choice) {
    const { choices } = this, leaves = choice === null ? [] : this.testsAt(this.nodes[index])[choice].branches.map(() => null);
    return new StudentTree(this.lesson, [...choices.slice(0, index), choice, ...leaves, ...choices.slice(this.end(index))]);
  }

  condition(index) {
    const { parent, branch } = this.nodes[index];
    return parent < 0 ? "all rows" : this.nodes[parent].test.conditions[branch];
  }

  path(index) {
    const found = [];
    for (let at = index; at > 0; at = this.nodes[at].parent) found.unshift(this.condition(at));
    return found.join(" and ") || "all rows";
  }

  // The same facts as the report's tree, for its drawing code.
  facts() {
    const { lesson, nodes } = this, all = (each) => nodes.map(each), isNumber = lesson.task === "regression";
    const means = nodes.map((node) => node.situation.mean), largest = (counts) => counts.indexOf(Math.max(...counts));
    const shortened = (index) => {
      const { parent } = nodes[index];
      const text = parent < 0 ? "" : this.condition(index), name = parent < 0 ? "" : lesson.columns[nodes[parent].test.column];
      return (text.startsWith(`${name} `) ? text.slice(name.length + 1) : text).replace(/^<=/, "≤");
    };
    return {
      task: lesson.task, target: lesson.target, classes: lesson.classes, positive: lesson.classes.length === 2 ? 1 : null,
      colours: lesson.colours, columns: lesson.columns.map((name) => ({ name })), range: [Math.min(...means), Math.max(...means)],
      nodes: {
        parent: all((node) => node.parent), kind: all((node) => (node.test ? 1 : LEAF)), column: all((node) => node.test?.column ?? -1),
        cut: all(() => null), codes: all(() => []), missing: all(() => -1), other: all(() => -1), stop: all(() => ""),
        condition: nodes.map((_, index) => this.condition(index)), branch_text: nodes.map((_, index) => shortened(index)),
        label: isNumber ? [] : all((node) => largest(node.situation.counts)), answering: nodes.map((_, index) => index),
        weight: all((node) => node.situation.weight), rows: all((node) => node.situation.rows),
        ...(isNumber ? { value: means, spread: all((node) => Math.sqrt(node.situation.lost / node.situation.weight)) }
          : { counts: all((node) => node.situation.counts.flatMap((count, place) => (count > 0 ? [place, count] : []))) }),
      },
    };
  }

  grade() {
    const { lesson, nodes } = this, whole = lesson.situations[0].weight, grade = { leaves: 0, lost: 0, splits: 0, best_splits: 0, given_up: 0 };
    for (const { situation, test } of nodes) {
      if (!test) { grade.leaves++; grade.lost += situation.lost; continue; }
      grade.splits++;
      if (test.is_best) grade.best_splits++;
      else grade.given_up += (situation.tests[situation.winner].gain - test.gain) * (lesson.per === "row" ? situation.weight / whole : 1);
    }
    const { trees } = lesson, isLarger = grade.leaves > trees.length, tree = trees[Math.min(grade.leaves, trees.length) - 1];
    return {
      ...grade, greedy_lost: tree.greedy_lost, best_lost: isLarger ? Math.min(tree.lost, lesson.lost_at_least) : tree.lost,
      is_proven: tree.is_proven && !isLarger, max_depth: lesson.depth,
    };
  }
}
