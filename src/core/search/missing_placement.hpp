// The missing rows of a column of numbers at a node: they are tried on each side of its cuts, or stand apart in a
// branch of their own. Serves the engines that score sorted rows or bins.

#pragma once

#include "problem/fit_context.hpp"
#include "search/category_split.hpp"
#include "search/sorted_scan.hpp"

namespace treewise {

template <TargetKind S>
class MissingPlacement {
public:
    explicit MissingPlacement(const FitContext& context)
        : missing(context.width()), left(context.width()), right(context.width()), context_(context) {}

    Stat missing;      // statistics of the missing rows: the caller fills them
    Stat left, right;  // what lies below a run of rows, and the run with what lies above it: work may move rows

    // Offers the test of presence, then calls work(around) for each place of the missing rows; whole: of the node.
    template <class Work>
    void for_each_placement(size_t column, const Stat& node_total, CategoryScan<S>& categories, CandidateFilter& filter,
                            const Work& work) {
        const bool missing_branch = context_.has_missing_branch(missing.data());
        const auto column_index = static_cast<int32_t>(column);
        if (missing[kRows] == node_total[kRows]) return;
        if (missing[kRows]) {
            static const Column presence_only{};
            categories.scan(presence_only, column_index, nullptr, 0, node_total.data(), missing.data(), missing_branch,
                            filter);
        }
        const int placements = missing[kRows] && !missing_branch ? 2 : 1;
        for (int placement = 0; placement < placements; ++placement) {
            std::fill(left.begin(), left.end(), 0);
            right = node_total;
            if (missing[kRows] && (placement == 0 || missing_branch)) {
                sub(right.data(), missing.data(), missing.size());
                if (!missing_branch) add(left.data(), missing.data(), missing.size());
            }
            work(RunContext{column_index, left.data(), right.data(), missing_branch ? missing.data() : nullptr, 0});
        }
    }

private:
    const FitContext& context_;
};

}  // namespace treewise
