// Missing rows of a numeric column while its cuts are bounded: on each side of every cut, or in a branch of their own.
//
// Only the filter uses this. Which branch the missing rows finally join is decided by search/exact_splitter.hpp.

#pragma once

#include "problem/fit_context.hpp"
#include "search/category_scan.hpp"
#include "search/sorted_scan.hpp"

namespace treewise {

template <TargetKind K>
class MissingPlacement {
public:
    explicit MissingPlacement(const FitContext& context)
        : missing_stats(context.width()), context_(context), left_(context.width()), right_(context.width()) {}

    RowStats missing_stats;  // statistics of the missing rows; filled by the caller

    // Offers the presence test, then calls work(run) for each placement of the missing rows.
    template <class Work>
    void for_each_placement(size_t column, const RowStats& node_total, CategoryScan<K>& categories,
                            CandidateFilter& filter, const Work& work) {
        const bool separates_missing = context_.separates_missing(missing_stats.data());
        const auto column_index = static_cast<int32_t>(column);
        if (missing_stats[kRows] == node_total[kRows]) return;
        if (missing_stats[kRows]) {
            static const Column presence_only{};
            categories.scan(presence_only, column_index, nullptr, 0, node_total.data(), missing_stats.data(),
                            separates_missing, filter);
        }
        const int placements = missing_stats[kRows] && !separates_missing ? 2 : 1;
        for (int placement = 0; placement < placements; ++placement) {
            std::fill(left_.begin(), left_.end(), 0);
            right_ = node_total;
            if (missing_stats[kRows] && (placement == 0 || separates_missing)) {
                sub(right_.data(), missing_stats.data(), missing_stats.size());
                if (!separates_missing) add(left_.data(), missing_stats.data(), missing_stats.size());
            }
            work(RunContext{column_index, left_.data(), right_.data(),
                            separates_missing ? missing_stats.data() : nullptr, 0});
        }
    }

private:
    const FitContext& context_;
    RowStats left_, right_;  // below all present rows, and those with everything above them
};

}  // namespace treewise
