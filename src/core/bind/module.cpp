// The module treewise._core: all that Python sees of the core, one bind_*.cpp a subject; and odds and ends for tests.
//
// These files and bind/python.hpp are the only ones that know Python: arrays in, arrays out, the interpreter's lock
// released while the core works. treewise/_core.pyi says the same to Python's type checkers.

#include <algorithm>

#include "bind/python.hpp"
#include "search/best_split.hpp"
#include "search/midpoint.hpp"
#include "util/fixed_point.hpp"

namespace treewise {
namespace {

// The competition by itself, for tests: the place of the winner among (merit, slack, column, position).
int64_t find_winner(const std::vector<std::vector<int64_t>>& candidates, bool random, uint64_t node) {
    BestSplit best(random);
    best.begin_node(node);
    for (const auto& o : candidates)
        best.add({.score = o.at(0), .key = {o.at(2), 0, o.at(3), 0}, .tolerance = o.at(1)});
    const CandidateKey key = best.winner().key;
    const auto is_winner = [&](const auto& o) { return o[2] == key.column && o[3] == key.position; };
    return std::find_if(candidates.begin(), candidates.end(), is_winner) - candidates.begin();
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "The C++ core of treewise: growing and predicting on encoded columns.";
    nb::set_leak_warnings(false);  // what is still held when Python ends is not ours to speak of
    bind_growing(m);
    bind_trees(m);
    bind_boosting(m);
    bind_pruning(m);
    bind_forests(m);
    bind_voting(m);
    m.def(
        "midpoint", [](double a, double b) { return midpoint(a, b); }, "a"_a, "b"_a,
        "The threshold between two neighbouring numbers.");
    m.def("winner", &find_winner, "candidates"_a, "random"_a, "node"_a,
          "The place of the winner among offers of (merit, slack, column, position).");
    m.def(
        "nlogn", [](int64_t n) { return static_cast<double>(NLogN(0)(n)); }, "n"_a,
        "n·log2(n) in units of 2^-61, as a double.");
}

}  // namespace treewise
