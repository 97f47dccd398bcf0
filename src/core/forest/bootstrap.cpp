// The bag of a tree: which rows it is grown on, how often each counts, and which columns it may ask about.
//
// Draw i of a bag is stir(key, i) scaled down to the number of units, which favours none by more than one in 2^32.
// Without replacement, each unit has a number of its own, stir(key, unit), and the smallest are drawn: no list is
// shuffled, and a larger bag holds the smaller one.

#include <algorithm>
#include <numeric>

#include "forest/grow_forest.hpp"
#include "util/fixed_point.hpp"
#include "util/rng.hpp"

namespace treewise {
namespace {

enum Stream : uint64_t { kRowDraws = 1, kColumnDraws = 2 };  // bags.py numbers them so too

// Calls found(i) for each i below n that is drawn, as often as it is.
template <class Found>
void draw(uint64_t key, int64_t n_drawn, bool replace, size_t n, const Found& found) {
    if (replace) {
        for (int64_t i = 0; i < n_drawn; ++i) found(static_cast<size_t>(below(stir(key, static_cast<uint64_t>(i)), n)));
        return;
    }
    std::vector<uint64_t> own(n);
    for (size_t i = 0; i < n; ++i) own[i] = stir(key, i);
    std::vector<uint64_t> order(own);
    const auto last = order.begin() + (std::min(n_drawn, static_cast<int64_t>(n)) - 1);
    std::nth_element(order.begin(), last, order.end());
    for (size_t i = 0; i < n; ++i)
        if (own[i] <= *last) found(i);  // no two are equal: stir(key, ·) is one to one
}

void list(const std::vector<uint32_t>& times, std::vector<uint32_t>& drawn) {
    drawn.clear();
    for (size_t i = 0; i < times.size(); ++i)
        if (times[i]) drawn.push_back(static_cast<uint32_t>(i));
}

}  // namespace

int64_t Share::of(int64_t whole) const {
    return static_cast<int64_t>((static_cast<int128>(over) * whole + under - 1) / under);
}

void draw_bag(const Plan& plan, int64_t t, int64_t n_rows, size_t n_columns, Bag& bag) {
    const uint64_t tree = stir(plan.seed, static_cast<uint64_t>(t));
    bag.times.assign(static_cast<size_t>(n_rows), plan.n_drawn > 0 ? 0 : 1);
    if (plan.n_drawn > 0)
        draw(stir(tree, kRowDraws), plan.n_drawn, plan.replace, plan.units.size(),
             [&](size_t unit) { ++bag.times[plan.units[unit]]; });
    list(bag.times, bag.rows);
    std::vector<uint32_t> times(n_columns, plan.n_columns > 0 ? 0 : 1);
    if (plan.n_columns > 0)
        draw(stir(tree, kColumnDraws), plan.n_columns, plan.replace_columns, n_columns,
             [&](size_t column) { ++times[column]; });
    list(times, bag.columns);
}

}  // namespace treewise
