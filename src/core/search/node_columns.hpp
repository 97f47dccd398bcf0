// The columns to search at a node: all that its constraints allow, or a sample of these.

#pragma once

#include <numeric>
#include <vector>

#include "problem/problem.hpp"
#include "search/constraints.hpp"
#include "util/rng.hpp"

namespace treewise {

class NodeColumns {
public:
    NodeColumns(const std::vector<Column>& columns, const Settings& settings)
        : columns_(columns),
          n_sampled_(settings.max_features > 0 ? static_cast<size_t>(settings.max_features) : columns.size()),
          has_groups_(has_groups(columns)),
          sampler_(columns.size()),
          list_(columns.size()) {
        std::iota(list_.begin(), list_.end(), size_t{0});
    }
    // Lists the first columns of a node; returns whether more can be sampled.
    bool begin_node(uint64_t node_key, const NodeConstraints& constraints) {
        constraints_ = &constraints;
        const bool excludes_any = has_groups_ && std::any_of(columns_.begin(), columns_.end(),
                                                             [&](const Column& c) { return !constraints.allows(c); });
        if (samples()) {
            excludes_any_ = excludes_any;
            sampler_.begin_node(node_key);
            return sample(n_sampled_);
        }
        if (excludes_any || excludes_any_) {  // otherwise the list is complete
            list_.clear();
            for (size_t c = 0; c < columns_.size(); ++c) {
                if (constraints.allows(columns_[c])) list_.push_back(c);
            }
        }
        excludes_any_ = excludes_any;
        return false;
    }
    // Lists one more column; returns whether there are further ones.
    bool sample_next() { return sample(1); }

    const std::vector<size_t>& list() const { return list_; }
    // Whether the constraints of the node leave out a column.
    bool excludes_any() const { return excludes_any_; }

private:
    bool samples() const { return n_sampled_ < columns_.size(); }
    bool sample(size_t n) {
        list_.clear();
        while (list_.size() < n && !sampler_.empty()) {
            const size_t c = sampler_.next();
            if (constraints_->allows(columns_[c])) list_.push_back(c);
        }
        return !sampler_.empty();
    }

    const std::vector<Column>& columns_;
    size_t n_sampled_;  // columns per node
    bool has_groups_;   // whether some columns may not be tested on one path
    ColumnSampler sampler_;
    std::vector<size_t> list_;
    const NodeConstraints* constraints_ = nullptr;
    bool excludes_any_ = false;
};

}  // namespace treewise
