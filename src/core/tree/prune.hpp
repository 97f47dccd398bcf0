// Pruning: the two walks from the leaves up that look at every node of a tree. What is compared is decided in Python
// (treewise/prune); nodes are in pre-order, so going through the numbers backwards meets children first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace treewise {

// Which nodes to cut when costs add up over leaves, and what each subtree costs with what is cut below it.
struct PrunedCosts {
    std::vector<uint8_t> cut;
    std::vector<double> below;
};

// A node is cut where, as a leaf, it costs no more than its subtree, already cut below, plus `tolerance`; sums nearer
// than the share `rounding` are equal. `own` is what an inner node adds to its children's costs.
PrunedCosts prune_bottom_up(std::span<const int64_t> parent, std::span<const double> as_leaf,
                            std::span<const double> own, double tolerance, double rounding);

// Weight, mean and sum of squares about the mean of the values at each node.
struct Moments {
    std::vector<double> weight, mean, about;
};

// Adds what is at the children to their parents', from below; about the joint mean, so nothing cancels.
Moments sum_moments(std::span<const int64_t> parent, Moments moments);

// For each node the price of a leaf from which on it is one in the cheapest pruning (infinity: a node above it becomes
// one first, or it is a leaf already); what that adds to the risk then, and takes from the number of leaves.
struct WeakestLinks {
    std::vector<double> alpha, more_risk;
    std::vector<int64_t> leaves_removed;
};

// treewise/prune/tree_sequence.py has the argument. Alphas nearer than `tie` are equal: the upper node is cut first.
WeakestLinks weakest_link_alphas(std::span<const int64_t> parent, std::span<const double> risk, double tie);

}  // namespace treewise
