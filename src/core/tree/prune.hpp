// Bottom-up passes for pruning. Python decides what is compared (treewise/prune); nodes are in pre-order, so reverse
// order visits children first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace treewise {

// Which nodes to prune when costs add up over leaves, and the cost of each subtree after pruning below it.
struct PrunedCosts {
    std::vector<uint8_t> is_pruned;
    std::vector<double> below;
};

// A node is pruned if, as a leaf, it costs no more than its pruned subtree plus `tolerance`; sums within the relative
// error `rounding` are equal. `own`: cost an inner node adds to that of its children.
PrunedCosts prune_bottom_up(std::span<const int64_t> parent, std::span<const double> as_leaf,
                            std::span<const double> own, double tolerance, double rounding);

// Weight, mean and sum of squared deviations at each node.
struct Moments {
    std::vector<double> weight, mean, about;
};

// Adds the moments of children to their parents, bottom-up, about the joint mean to avoid cancellation.
Moments sum_moments(std::span<const int64_t> parent, Moments moments);

// For each node: the alpha from which it is a leaf of the optimal pruning (infinity if an ancestor becomes one first,
// or it is a leaf already), the risk this adds, and the leaves it removes.
struct WeakestLinks {
    std::vector<double> alpha, more_risk;
    std::vector<int64_t> leaves_removed;
};

// prune/nested_trees.py has the proof. Alphas closer than `tie` are equal: the upper node is pruned first.
WeakestLinks weakest_link_alphas(std::span<const int64_t> parent, std::span<const double> risk, double tie);

}  // namespace treewise
