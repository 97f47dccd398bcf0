// Selection of the best candidate, with ties.
//
// Rounding may have moved a score by its tolerance, so the true score lies in score ± tolerance. The best candidate
// reaches at least the largest lower bound of all; every candidate whose upper bound reaches it is tied. Ties are
// broken by TieOrder: column, then kind, then position, then placement of the missing rows. With random ties the order
// of the columns is shuffled at each node, as a function of seed, node and column alone. train/reference.py is the
// specification.

#pragma once

#include <algorithm>
#include <compare>
#include <utility>
#include <vector>

#include "problem/problem.hpp"
#include "util/fixed_point.hpp"
#include "util/rng.hpp"

namespace treewise {

struct TieOrder {
    int64_t column = 0;
    int64_t kind = 0;
    int64_t position = 0;
    int64_t placement = 0;
    auto operator<=>(const TieOrder&) const = default;
};

// Totals over the branches of one candidate.
struct SplitTotals {
    int128 total = 0, nlogn_sum = 0;
    int n_filled = 0;
    bool meets_limits = true, valid = true, allowed = true;
};

struct Candidate {
    int128 score = 0;
    int128 total_gain = 0;  // decrease of total impurity; 0 if within rounding
    TieOrder order;
    int128 tolerance = 0;  // rounding may have moved the score by this much
    int n_filled = 0;      // non-empty branches
    int128 nlogn_sum = 0;  // Σ m·log m of the branches, for the gain ratio
};

// Keeps only candidates that may still win, whatever the order of arrival: one that loses the tie against another and
// has no higher upper bound never can, so few are kept.
class BestSplit {
public:
    explicit BestSplit(bool random) : random_ties_(random) {}
    void begin_node(uint64_t node_key) { node_key_ = node_key, contenders_.clear(), clear_forbidden(); }

    void add(const Candidate& c) {
        const int128 upper = c.score + c.tolerance;
        if (!contenders_.empty() && upper < best_lower_bound_) return;
        best_lower_bound_ =
            contenders_.empty() ? c.score - c.tolerance : std::max(best_lower_bound_, c.score - c.tolerance);
        const Entry entry{c, upper, random_ties_ ? tie_key(node_key_, static_cast<uint64_t>(c.order.column)) : 0};
        for (const Entry& e : contenders_) {
            if (e.upper >= upper && e.precedes(entry)) return;
        }
        std::erase_if(contenders_, [&](const Entry& e) {
            return e.upper < best_lower_bound_ || (e.upper <= upper && entry.precedes(e));
        });
        contenders_.push_back(entry);
    }
    // A candidate that a constraint forbids cannot win; engines that discard candidates by their scores do not know it.
    void add_forbidden(const Candidate& c) {
        const int128 upper = c.score + c.tolerance;
        forbidden_upper_ = forbidden_columns_.empty() ? upper : std::max(forbidden_upper_, upper);
        const auto column = static_cast<size_t>(c.order.column);
        if (forbidden_columns_.empty() || forbidden_columns_.back() != column) forbidden_columns_.push_back(column);
    }
    void clear_forbidden() { forbidden_columns_.clear(); }
    // Returns the columns of the forbidden candidates, which are forgotten.
    std::vector<size_t> take_forbidden_columns() { return std::exchange(forbidden_columns_, {}); }
    // Whether the winner would be the same if nothing were forbidden.
    bool beats_forbidden() const {
        return forbidden_columns_.empty() || (has_candidate() && forbidden_upper_ < best_lower_bound_);
    }
    bool has_candidate() const { return !contenders_.empty(); }
    const Candidate& winner() const {
        const Entry* first = nullptr;  // of the tied ones
        for (const Entry& e : contenders_) {
            if (e.upper >= best_lower_bound_ && (!first || e.precedes(*first))) first = &e;
        }
        return first->candidate;
    }

private:
    struct Entry {
        Candidate candidate;
        int128 upper;  // upper bound of the score
        uint64_t tie_key;
        bool precedes(const Entry& other) const {  // in tie-breaking order
            return tie_key != other.tie_key ? tie_key < other.tie_key : candidate.order < other.candidate.order;
        }
    };
    bool random_ties_;
    uint64_t node_key_ = 0;                  // for random ties
    int128 best_lower_bound_ = 0;            // the best candidate reaches at least this
    std::vector<size_t> forbidden_columns_;  // of forbidden candidates, each column once …
    int128 forbidden_upper_ = 0;             // … and their largest upper bound
    std::vector<Entry> contenders_;
};

}  // namespace treewise
