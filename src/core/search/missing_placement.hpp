// The missing rows of a column of numbers at a node: they are tried on each side of its cuts, or stand apart in a
// branch of their own. Serves the engines that score sorted rows or bins.

#pragma once

#include "problem/fit_context.hpp"
#include "search/category_split.hpp"
#include "search/sorted_scan.hpp"

namespace treewise {

template <Shape S>
class Missing {
public:
    explicit Missing(const Frame& frame)
        : gone(frame.width()), left(frame.width()), right(frame.width()), frame_(frame) {}

    Stat gone;         // statistics of the missing rows: the caller fills them
    Stat left, right;  // what lies below a run of rows, and the run with what lies above it: work may move rows

    // Offers the test of presence, then calls work(around) for each place of the missing rows; whole: of the node.
    template <class Work>
    void each_placement(size_t column, const Stat& whole, LevelScan<S>& levels, Contest& contest, const Work& work) {
        const bool own = frame_.own_branch(gone.data());
        const auto number = static_cast<int32_t>(column);
        if (gone[kRows] == whole[kRows]) return;
        if (gone[kRows]) {
            static const Column presence_only{};
            levels.scan(presence_only, number, nullptr, 0, whole.data(), gone.data(), own, contest);
        }
        const int placements = gone[kRows] && !own ? 2 : 1;
        for (int placement = 0; placement < placements; ++placement) {
            std::fill(left.begin(), left.end(), 0);
            right = whole;
            if (gone[kRows] && (placement == 0 || own)) {
                sub(right.data(), gone.data(), gone.size());
                if (!own) add(left.data(), gone.data(), gone.size());
            }
            work(Around{number, left.data(), right.data(), own ? gone.data() : nullptr, 0});
        }
    }

private:
    const Frame& frame_;
};

}  // namespace treewise
