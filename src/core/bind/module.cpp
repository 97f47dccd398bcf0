// The module treewise._core: one bind_*.cpp per topic, and a few functions for tests.
//
// Only the files in bind/ depend on Python: arrays in, arrays out, with the GIL released while the core works.
// treewise/_core.pyi has the type annotations.

#include <algorithm>

#include "bind/python.hpp"
#include "search/best_split.hpp"
#include "search/midpoint.hpp"
#include "util/fixed_point.hpp"

namespace treewise {
namespace {

// For tests: index of the winner among candidates of (score, tolerance, column, position).
int64_t find_winner(const std::vector<std::vector<int64_t>>& candidates, bool random, uint64_t node) {
    BestSplit best(random);
    best.begin_node(node);
    for (const auto& c : candidates)
        best.add({.score = c.at(0), .order = {c.at(2), 0, c.at(3), 0}, .tolerance = c.at(1)});
    const TieOrder order = best.winner().order;
    const auto is_winner = [&](const auto& c) { return c[2] == order.column && c[3] == order.position; };
    return std::find_if(candidates.begin(), candidates.end(), is_winner) - candidates.begin();
}

// What the core was compiled with: compiler, processor and checks.
std::string describe_build() {
    std::string text =
#if defined(__clang__)
        "clang " __clang_version__;
#elif defined(__GNUC__)
        "GCC " __VERSION__;
#elif defined(_MSC_VER)
        "MSVC " + std::to_string(_MSC_VER);
#else
        "unknown compiler";
#endif
    text += sizeof(void*) == 8 ? ", 64-bit" : ", 32-bit";
#ifdef TREEWISE_SANITIZED
    text += ", AddressSanitizer";
#endif
    return text;
}

}  // namespace

NB_MODULE(_core, m) {
    m.attr("build") = describe_build();
    m.doc() = "The C++ core of treewise: growing and predicting on encoded columns.";
    nb::set_leak_warnings(false);  // objects alive at interpreter exit are not leaks of ours
    prepare_to_throw();
    bind_growing(m);
    bind_counting(m);
    bind_trees(m);
    bind_boosting(m);
    bind_profiles(m);
    bind_pruning(m);
    bind_forests(m);
    bind_voting(m);
    bind_optimal(m);
    m.def(
        "midpoint", [](double a, double b) { return midpoint(a, b); }, "a"_a, "b"_a,
        "Threshold between two neighbouring numbers.");
    m.def("winner", &find_winner, "candidates"_a, "random"_a, "node"_a,
          "Index of the winner among candidates of (score, tolerance, column, position).");
    m.def(
        "nlogn", [](int64_t n) { return static_cast<double>(NLogN(0)(n)); }, "n"_a,
        "n·log2(n) in units of 2^-61, as a double.");
    m.def("prepare_to_throw", &prepare_to_throw,
          "Prepare a new thread for C++ exceptions; False if there is no memory for them.");
}

}  // namespace treewise
