// In pre-order a subtree is a range of node numbers, so if rows are sorted by the node where they end, the rows of
// every node are a range too:
//
//     node        0  1  2  3  4          node 1 has the subtree 1, 2, 3
//     rows at     –  –  a  b  c          its rows are the range  a b

#include "tree/refit.hpp"

#include <algorithm>
#include <concepts>
#include <numeric>

#include "criteria/leaf_value.hpp"

namespace treewise {
namespace {

using Row = uint32_t;

template <class Impurity>
class Refitter {
public:
    Refitter(const TreeView& tree, std::span<const int64_t> parent, const std::vector<Column>& columns,
             const Target& target, const Settings& settings)
        : tree_(tree),
          parent_(parent),
          columns_(columns),
          target_(target),
          settings_(settings),
          node_context_(target),
          node_total_(node_context_),
          branch_(node_context_) {}

    Nodes run(std::span<const int64_t> end_nodes, const ProgressCallback& progress) {
        sort_rows(end_nodes);
        for (size_t node = 0; node < parent_.size(); ++node) {
            refit_node(node);
            progress(static_cast<double>(node) / static_cast<double>(parent_.size()));
        }
        return std::move(out_);
    }

private:
    void sort_rows(std::span<const int64_t> end_nodes) {
        const size_t n = parent_.size();
        first_.assign(n + 1, 0);
        for (int64_t e : end_nodes) ++first_[e + 1];
        std::inclusive_scan(first_.begin(), first_.end(), first_.begin());
        rows_.resize(target_.n_rows);
        std::vector<int64_t> next(first_.begin(), first_.end() - 1);
        for (Row r = 0; r < target_.n_rows; ++r) rows_[next[end_nodes[r]]++] = r;
        size_.assign(n, 1);
        for (size_t node = n; node-- > 1;) size_[parent_[node]] += size_[node];
    }

    std::span<const Row> rows_of(size_t node) const {
        return {rows_.data() + first_[node], rows_.data() + first_[node + size_[node]]};
    }

    void refit_node(size_t node) {
        const auto rows = rows_of(node);
        NodeSummary s;
        double gain = 0.0;
        int64_t weight = 0;
        std::vector<std::pair<int32_t, int64_t>> counts;
        if (!rows.empty()) {
            fill(rows);
            weight = node_total_.weight;
            s = summarise(node_total_, node_context_, rows.data(), rows.data() + rows.size());
            if (target_.n_classes == 0 && same_targets(rows)) s.value = target_.raw[rows[0]];
            gain = gain_of(node, rows.size());
            if constexpr (std::derived_from<Impurity, ClassImpurity>) {
                for (int32_t c : node_total_.classes()) counts.push_back({c, node_total_.counts()[c]});
            }
        }
        std::sort(counts.begin(), counts.end());
        write(node, rows, s, gain, weight, counts);
    }

    void fill(std::span<const Row> rows) {
        node_context_.begin_node(rows.data(), rows.data() + rows.size());
        Impurity::prepare_node(node_context_, rows.data(), rows.data() + rows.size());
        node_total_.clear();
        add(rows, node_total_);
        node_total_.set_tolerance();
    }

    // Classes are counted first: the impurity takes the logarithm of a sum, not one for each row.
    void add(std::span<const Row> rows, Impurity& side) {
        if constexpr (std::derived_from<Impurity, ClassImpurity>) {
            if (rows.size() >= static_cast<size_t>(target_.n_classes)) {
                counted_.assign(stats_width(target_.n_classes), 0);
                counted_[kRows] = static_cast<int64_t>(rows.size());
                for (Row r : rows) counted_[kCounts + static_cast<size_t>(target_.label[r])] += target_.weight[r];
                return side.add(counted_.data());
            }
        }
        for (Row r : rows) side.add(r);
    }

    bool same_targets(std::span<const Row> rows) const {
        return std::all_of(rows.begin(), rows.end(), [&](Row r) { return target_.raw[r] == target_.raw[rows[0]]; });
    }

    double gain_of(size_t node, size_t n_rows) {
        if (tree_.kind[node] == kLeaf) return 0.0;
        int128 gain = node_total_.total_impurity();
        size_t placed = 0;
        int n_filled = 0;
        for (int64_t i = tree_.child_start[node]; i < tree_.child_start[node + 1]; ++i) {
            const auto rows = rows_of(static_cast<size_t>(tree_.children[i]));
            branch_.clear();
            add(rows, branch_);
            if (branch_.rows) gain -= branch_.total_impurity(), ++n_filled;
            placed += rows.size();
        }
        if (placed < n_rows) {  // rows with an unseen level stay here, as a branch of their own
            branch_.clear();
            add({rows_.data() + first_[node], rows_.data() + first_[node + 1]}, branch_);
            gain -= branch_.total_impurity(), ++n_filled;
        }
        return node_context_.to_user_units(node_context_.zero_if_rounding(gain, n_filled), node_total_.weight);
    }

    void write(size_t node, std::span<const Row> rows, const NodeSummary& s, double gain, int64_t weight,
               const std::vector<std::pair<int32_t, int64_t>>& counts) {
        int64_t missing = 0;
        if (tree_.kind[node] != kLeaf && !columns_.empty()) {
            const Column& column = columns_[tree_.column[node]];
            missing = column.visit([&](auto values) {
                return std::count_if(rows.begin(), rows.end(), [&](Row r) { return is_missing(values[r]); });
            });
        }
        const bool empty = rows.empty() && node > 0;
        const auto source = static_cast<size_t>(settings_.empty_from_root || !empty ? 0 : parent_[node]);
        out_.rows.push_back(static_cast<int64_t>(rows.size()));
        out_.missing_rows.push_back(missing);
        out_.weight.push_back(scale_pow2(static_cast<double>(weight), -target_.weight_scale));
        out_.impurity.push_back(s.impurity);
        out_.gain.push_back(gain);
        if (target_.n_classes) {
            out_.label.push_back(empty ? out_.label[source] : s.label);
            for (auto [c, w] : counts) {
                out_.count_class.push_back(c);
                out_.count_weight.push_back(scale_pow2(static_cast<double>(w), -target_.weight_scale));
            }
        } else {
            out_.value.push_back(empty ? out_.value[source] : s.value);
            out_.spread.push_back(s.spread);
        }
        out_.count_start.push_back(static_cast<int64_t>(out_.count_class.size()));
    }

    const TreeView& tree_;
    std::span<const int64_t> parent_;
    const std::vector<Column>& columns_;  // empty if the end nodes are given
    const Target& target_;
    const Settings& settings_;
    NodeContext node_context_;
    Impurity node_total_, branch_;
    RowStats counted_;
    std::vector<Row> rows_;       // sorted by the node where they end
    std::vector<int64_t> first_;  // start of each node's own rows
    std::vector<int64_t> size_;   // size of each subtree
    Nodes out_;
};

}  // namespace

Nodes refit(const TreeView& tree, std::span<const int64_t> parent, const std::vector<Column>& columns,
            const Target& target, const Settings& settings, const ProgressCallback& progress) {
    std::vector<int64_t> end_nodes(target.n_rows);
    find_leaves(tree, columns, target.n_rows, 1, progress, end_nodes.data());
    return dispatch_criterion(settings.criterion, [&]<class Impurity>() {
        return Refitter<Impurity>(tree, parent, columns, target, settings).run(end_nodes, progress);
    });
}

Nodes refit_at_nodes(const TreeView& tree, std::span<const int64_t> parent, std::span<const int64_t> end_nodes,
                     const Target& target, const Settings& settings) {
    const std::vector<Column> none;
    return dispatch_criterion(settings.criterion, [&]<class Impurity>() {
        return Refitter<Impurity>(tree, parent, none, target, settings).run(end_nodes, [](double) {});
    });
}

}  // namespace treewise
