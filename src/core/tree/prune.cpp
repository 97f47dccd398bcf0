// Every pass visits each node once. The breakpoints of a node's cost, as a function of the cost per leaf (alpha), are
// kept in a heap with the largest alpha on top; heaps are merged small into large, so a breakpoint moves O(log n) times
// whatever the depth.

#include "tree/prune.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace treewise {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Breakpoint {
    double alpha;
    int64_t node;
    bool operator<(const Breakpoint& other) const {
        return alpha != other.alpha ? alpha < other.alpha : node > other.node;
    }
};

using Heap = std::vector<Breakpoint>;

void merge_heaps(Heap& into, Heap&& from) {
    if (into.size() < from.size()) into.swap(from);
    for (const Breakpoint& breakpoint : from) {
        into.push_back(breakpoint);
        std::push_heap(into.begin(), into.end());
    }
    Heap().swap(from);
}

std::vector<int64_t> count_children(std::span<const int64_t> parent) {
    std::vector<int64_t> count(parent.size(), 0);
    for (size_t node = 1; node < parent.size(); ++node) ++count[parent[node]];
    return count;
}

}  // namespace

PrunedCosts prune_bottom_up(std::span<const int64_t> parent, std::span<const double> as_leaf,
                            std::span<const double> own, double tolerance, double rounding) {
    const std::vector<int64_t> children = count_children(parent);
    PrunedCosts out{std::vector<uint8_t>(parent.size(), 0), std::vector<double>(own.begin(), own.end())};
    for (size_t node = parent.size(); node-- > 0;) {
        double cost = as_leaf[node];
        if (children[node]) {
            const double subtree = out.below[node];
            out.is_pruned[node] = cost <= subtree + rounding * std::abs(subtree) + tolerance;
            if (!out.is_pruned[node]) cost = subtree;
        }
        if (node) out.below[parent[node]] += cost;
    }
    return out;
}

Moments sum_moments(std::span<const int64_t> parent, Moments moments) {
    for (size_t node = parent.size(); node-- > 1;) {
        const int64_t parent_node = parent[node];
        const double total = moments.weight[parent_node] + moments.weight[node];
        if (moments.weight[node] == 0.0) continue;
        const double mean_difference = moments.mean[node] - moments.mean[parent_node],
                     fraction = moments.weight[node] / total;
        moments.about[parent_node] +=
            moments.about[node] + mean_difference * mean_difference * fraction * moments.weight[parent_node];
        moments.mean[parent_node] += mean_difference * fraction;
        moments.weight[parent_node] = total;
    }
    return moments;
}

WeakestLinks weakest_link_alphas(std::span<const int64_t> parent, std::span<const double> risk, double tie) {
    const size_t n = parent.size();
    std::vector<int64_t> leaves = count_children(parent);
    std::vector<double> line(n, 0.0);  // above all breakpoints a subtree costs Σ R(child) …
    std::vector<Heap> heaps(n);        // … plus alpha for each leaf
    WeakestLinks out{std::vector<double>(n, kNever), std::vector<double>(n, 0.0), std::vector<int64_t>(n, 0)};
    for (size_t node = n; node-- > 0;) {
        if (leaves[node]) {
            Heap& heap = heaps[node];
            const auto crossing = [&] { return (risk[node] - line[node]) / static_cast<double>(leaves[node] - 1); };
            double alpha = crossing();
            while (!heap.empty() && heap.front().alpha >= alpha - tie) {
                const int64_t below = heap.front().node;
                std::pop_heap(heap.begin(), heap.end());
                heap.pop_back();
                out.alpha[below] = kNever;  // this node becomes a leaf first
                line[node] -= out.more_risk[below];
                leaves[node] += out.leaves_removed[below];
                alpha = crossing();
            }
            out.alpha[node] = alpha;
            out.more_risk[node] = risk[node] - line[node];
            out.leaves_removed[node] = leaves[node] - 1;
            heap.push_back({alpha, static_cast<int64_t>(node)});
            std::push_heap(heap.begin(), heap.end());
        }
        if (node) {
            line[parent[node]] += risk[node];
            if (!heaps[node].empty()) merge_heaps(heaps[parent[node]], std::move(heaps[node]));
        }
    }
    return out;
}

}  // namespace treewise
