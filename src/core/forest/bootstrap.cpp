// Draws the bootstrap sample of a tree: which rows, how often, and which columns. Rows are drawn one by one, or in
// whole groups, so that no row is out of bag whose group is in the sample.
//
// With replacement, draw i is mix64(key, i) scaled to the number of units, a bias of at most 2^-32. Without
// replacement, the units with the smallest mix64(key, unit) are drawn: nothing is shuffled, and a larger sample
// contains the smaller one.

#include <algorithm>
#include <numeric>

#include "forest/grow_forest.hpp"
#include "util/fixed_point.hpp"
#include "util/rng.hpp"

namespace treewise {
namespace {

enum Stream : uint64_t { kRowDraws = 1, kColumnDraws = 2 };  // same numbers as in ensemble/bootstrap.py

// Calls on_drawn(i) for each drawn i below n, with repetitions.
template <class Found>
void draw(uint64_t key, int64_t n_samples, bool replace, size_t n, const Found& on_drawn) {
    if (replace) {
        for (int64_t i = 0; i < n_samples; ++i)
            on_drawn(static_cast<size_t>(uniform_below(mix64(key, static_cast<uint64_t>(i)), n)));
        return;
    }
    std::vector<uint64_t> hashes(n);
    for (size_t i = 0; i < n; ++i) hashes[i] = mix64(key, i);
    std::vector<uint64_t> order(hashes);
    const auto last = order.begin() + (std::min(n_samples, static_cast<int64_t>(n)) - 1);
    std::nth_element(order.begin(), last, order.end());
    for (size_t i = 0; i < n; ++i)
        if (hashes[i] <= *last) on_drawn(i);  // all different: mix64(key, ·) is a bijection
}

void list_drawn(const std::vector<uint32_t>& counts, std::vector<uint32_t>& drawn) {
    drawn.clear();
    for (size_t i = 0; i < counts.size(); ++i)
        if (counts[i]) drawn.push_back(static_cast<uint32_t>(i));
}

}  // namespace

int64_t Fraction::of(int64_t whole) const {
    return static_cast<int64_t>((static_cast<int128>(numerator) * whole + denominator - 1) / denominator);
}

void draw_sample(const SamplingPlan& plan, int64_t t, int64_t n_rows, size_t n_columns, BootstrapSample& sample) {
    const uint64_t tree = mix64(plan.seed, static_cast<uint64_t>(t));
    sample.counts.assign(static_cast<size_t>(n_rows), plan.n_samples > 0 ? 0 : 1);
    const bool by_group = !plan.group_ends.empty();
    if (plan.n_samples > 0)
        draw(mix64(tree, kRowDraws), plan.n_samples, plan.replace,
             by_group ? plan.group_ends.size() : plan.units.size(), [&](size_t drawn) {
                 const size_t begin = !by_group ? drawn : drawn > 0 ? plan.group_ends[drawn - 1] : 0;
                 const size_t end = by_group ? plan.group_ends[drawn] : drawn + 1;
                 for (size_t unit = begin; unit < end; ++unit) ++sample.counts[plan.units[unit]];
             });
    list_drawn(sample.counts, sample.rows);
    std::vector<uint32_t> counts(n_columns, plan.n_columns > 0 ? 0 : 1);
    if (plan.n_columns > 0)
        draw(mix64(tree, kColumnDraws), plan.n_columns, plan.replace_columns, n_columns,
             [&](size_t column) { ++counts[column]; });
    list_drawn(counts, sample.columns);
}

}  // namespace treewise
