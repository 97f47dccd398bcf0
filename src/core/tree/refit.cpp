// In pre-order a subtree is a run of node numbers, so with the rows sorted by the node they end at, the rows of every
// node are one run too:
//
//     node        0  1  2  3  4          node 1 has nodes 1, 2, 3 below it
//     rows at     –  –  a  b  c          its rows are the run  a b

#include "tree/refit.hpp"

#include <algorithm>
#include <concepts>
#include <numeric>

#include "criteria/leaf_value.hpp"

namespace treewise {
namespace {

using Row = uint32_t;

template <class Side>
class Estimator {
public:
    Estimator(const Paths& tree, std::span<const int64_t> parent, const std::vector<Column>& columns,
              const Target& target, const Settings& settings)
        : tree_(tree),
          parent_(parent),
          columns_(columns),
          target_(target),
          settings_(settings),
          desk_(target),
          whole_(desk_),
          branch_(desk_) {}

    Nodes run(std::span<const int64_t> ends, const Monitor& monitor) {
        sort_rows(ends);
        for (size_t node = 0; node < parent_.size(); ++node) {
            look_at(node);
            monitor(static_cast<double>(node) / static_cast<double>(parent_.size()));
        }
        return std::move(out_);
    }

private:
    void sort_rows(std::span<const int64_t> ends) {
        const size_t n = parent_.size();
        first_.assign(n + 1, 0);
        for (int64_t e : ends) ++first_[e + 1];
        std::inclusive_scan(first_.begin(), first_.end(), first_.begin());
        rows_.resize(target_.n_rows);
        std::vector<int64_t> next(first_.begin(), first_.end() - 1);
        for (Row r = 0; r < target_.n_rows; ++r) rows_[next[ends[r]]++] = r;
        size_.assign(n, 1);
        for (size_t node = n; node-- > 1;) size_[parent_[node]] += size_[node];
    }

    std::span<const Row> rows_of(size_t node) const {
        return {rows_.data() + first_[node], rows_.data() + first_[node + size_[node]]};
    }

    void look_at(size_t node) {
        const auto rows = rows_of(node);
        Summary s;
        double gain = 0.0;
        int64_t weight = 0;
        std::vector<std::pair<int32_t, int64_t>> counts;
        if (!rows.empty()) {
            fill(rows);
            weight = whole_.weight;
            s = summarise(whole_, desk_, rows.data(), rows.data() + rows.size());
            if (target_.n_classes == 0 && same_targets(rows)) s.value = target_.raw[rows[0]];
            gain = gain_of(node, rows.size());
            if constexpr (std::derived_from<Side, Counts>) {
                for (int32_t c : whole_.seen()) counts.push_back({c, whole_.counts()[c]});
            }
        }
        std::sort(counts.begin(), counts.end());
        write(node, rows, s, gain, weight, counts);
    }

    void fill(std::span<const Row> rows) {
        desk_.sit(rows.data(), rows.data() + rows.size());
        Side::open(desk_, rows.data(), rows.data() + rows.size());
        whole_.clear();
        for (Row r : rows) whole_.add(r);
        whole_.measure();
    }

    bool same_targets(std::span<const Row> rows) const {
        return std::all_of(rows.begin(), rows.end(), [&](Row r) { return target_.raw[r] == target_.raw[rows[0]]; });
    }

    double gain_of(size_t node, size_t n_rows) {
        if (tree_.kind[node] == kLeaf) return 0.0;
        int128 gain = whole_.total();
        size_t placed = 0;
        int filled = 0;
        for (int64_t i = tree_.child_start[node]; i < tree_.child_start[node + 1]; ++i) {
            const auto rows = rows_of(static_cast<size_t>(tree_.children[i]));
            branch_.clear();
            for (Row r : rows) branch_.add(r);
            if (branch_.rows) gain -= branch_.total(), ++filled;
            placed += rows.size();
        }
        if (placed < n_rows) {  // rows of a never-seen category stay here, as a branch of their own
            branch_.clear();
            for (int64_t i = first_[node]; i < first_[node + 1]; ++i) branch_.add(rows_[i]);
            gain -= branch_.total(), ++filled;
        }
        return desk_.in_users_units(desk_.settled(gain, filled), whole_.weight);
    }

    void write(size_t node, std::span<const Row> rows, const Summary& s, double gain, int64_t weight,
               const std::vector<std::pair<int32_t, int64_t>>& counts) {
        int64_t missing = 0;
        if (tree_.kind[node] != kLeaf && !columns_.empty()) {
            const Column& column = columns_[tree_.column[node]];
            missing = column.visit([&](auto values) {
                return std::count_if(rows.begin(), rows.end(), [&](Row r) { return is_missing(values[r]); });
            });
        }
        const bool empty = rows.empty() && node > 0;
        const auto said = static_cast<size_t>(settings_.empty_from_root || !empty ? 0 : parent_[node]);
        out_.rows.push_back(static_cast<int64_t>(rows.size()));
        out_.missing_rows.push_back(missing);
        out_.weight.push_back(scaled(static_cast<double>(weight), -target_.weight_scale));
        out_.impurity.push_back(s.impurity);
        out_.gain.push_back(gain);
        if (target_.n_classes) {
            out_.label.push_back(empty ? out_.label[said] : s.label);
            for (auto [c, w] : counts) {
                out_.count_class.push_back(c);
                out_.count_weight.push_back(scaled(static_cast<double>(w), -target_.weight_scale));
            }
        } else {
            out_.value.push_back(empty ? out_.value[said] : s.value);
            out_.spread.push_back(s.spread);
        }
        out_.count_start.push_back(static_cast<int64_t>(out_.count_class.size()));
    }

    const Paths& tree_;
    std::span<const int64_t> parent_;
    const std::vector<Column>& columns_;  // none where it is known where the rows end
    const Target& target_;
    const Settings& settings_;
    Desk desk_;
    Side whole_, branch_;
    std::vector<Row> rows_;       // sorted by the node they end at
    std::vector<int64_t> first_;  // where a node's own rows begin
    std::vector<int64_t> size_;   // nodes at and below each node
    Nodes out_;
};

}  // namespace

Nodes estimate(const Paths& tree, std::span<const int64_t> parent, const std::vector<Column>& columns,
               const Target& target, const Settings& settings, const Monitor& monitor) {
    std::vector<int64_t> ends(target.n_rows);
    find_leaves(tree, columns, target.n_rows, 1, monitor, ends.data());
    return with_side(settings.criterion, [&]<class Side>() {
        return Estimator<Side>(tree, parent, columns, target, settings).run(ends, monitor);
    });
}

Nodes estimate_at(const Paths& tree, std::span<const int64_t> parent, std::span<const int64_t> ends,
                  const Target& target, const Settings& settings) {
    const std::vector<Column> none;
    return with_side(settings.criterion, [&]<class Side>() {
        return Estimator<Side>(tree, parent, none, target, settings).run(ends, [](double) {});
    });
}

}  // namespace treewise
