// C4.5's choice among columns: each column nominates its best test, and those of at least average gain are compared by
// gain ratio (Quinlan 1996, "Improved use of continuous attributes"; _c45_finalists in train/reference.py).

#pragma once

#include <vector>

#include "search/best_split.hpp"

namespace treewise {

inline constexpr int kRatioBits = 60;  // a ratio is in units of 2^-60
inline constexpr int128 kRatioTolerance = 1 << 15;

class C45Columns {
public:
    void begin_node() { bests_.clear(); }
    bool empty() const { return bests_.empty(); }
    // cuts: thresholds tried in the column.
    void add(const Candidate& best, int64_t cuts) { bests_.push_back({best, cuts}); }

    // Adds those of at least average gain to `finalists`, by gain ratio: ratio(gain, Σ m·log m of the branches). The
    // gain of a threshold is first reduced by log2(cuts)/n, scaled by the mean weight of a row.
    template <class Ratio>
    void select(int64_t weight, int64_t rows, const Ratio& ratio, BestSplit& finalists) {
        const auto n = static_cast<int128>(bests_.size());
        int128 average = 0;
        for (auto& [best, cuts] : bests_) {
            const int128 code_length = best.order.kind == kThreshold ? log2_fixed(static_cast<uint64_t>(cuts)) : 0;
            best.score -= code_length * weight / rows;
            average += floor_div(best.score, n);
        }
        for (auto& [best, cuts] : bests_) {
            if (best.score + 2 * best.tolerance + n < average) continue;
            best.score = ratio(best.score, best.nlogn_sum);
            best.tolerance = ratio(best.tolerance, best.nlogn_sum) + kRatioTolerance;
            finalists.add(best);
        }
    }

private:
    struct ColumnBest {
        Candidate candidate;
        int64_t cuts;
    };
    std::vector<ColumnBest> bests_;
};

}  // namespace treewise
