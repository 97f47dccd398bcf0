// From rows in order to what the exact decision looks at: buckets between the cuts of a column that are still in
// question. Serves the engines that keep or put the rows of a node in order.

#pragma once

#include <vector>

#include "engines/engine.hpp"
#include "search/candidate_filter.hpp"

namespace treewise {

// What is known of the rows of a node in order of a column: `present` of the n have a value and stand first.
template <class Add, class Differs, class RankAt>
struct InOrder {
    int64_t present, n;
    Add add;          // add(stat, i): the part of row i in statistics
    Differs differs;  // differs(i): whether the values of rows i − 1 and i do
    RankAt rank;      // rank(i)
};
template <class Add, class Differs, class RankAt>
InOrder(int64_t, int64_t, Add, Differs, RankAt) -> InOrder<Add, Differs, RankAt>;

class CutBuckets {
public:
    // Returns the missing rows. whole: of the node; count: whether a bucket's place counts the values below it.
    template <class Rows>
    Bucket fill(const Rows& rows, const Contest* contest, size_t column, const Stat& whole, bool count,
                std::vector<Bucket>& out) {
        find_places(rows, contest, column);
        const size_t width = whole.size(), n = places_.size();
        stats_.assign((n + 1) * width, 0);
        size_t largest = 0;
        for (size_t p = 1; p < n; ++p) {
            if (places_[p] - begin(p) > places_[largest] - begin(largest)) largest = p;
        }
        int64_t* gone = stats_.data() + n * width;
        for (int64_t i = rows.present; i < rows.n; ++i) rows.add(gone, i);
        int64_t* rest = stats_.data() + largest * width;  // what is not in the others: the longest run is not read
        add(rest, whole.data(), width), sub(rest, gone, width);
        int64_t distinct = -1;
        for (size_t p = 0; p < n && rows.present; ++p) {
            int64_t* stat = stats_.data() + p * width;
            if (p != largest) {
                for (int64_t i = begin(p); i < places_[p]; ++i) rows.add(stat, i);
                sub(rest, stat, width);
            }
            for (int64_t i = begin(p); count && i < places_[p]; ++i) distinct += i == 0 || rows.differs(i);
            out.push_back({nullptr, nullptr, stat, rows.rank(begin(p)), rows.rank(places_[p] - 1),
                           count ? distinct : places_[p] - 1});
        }
        return {nullptr, nullptr, gone, 0, 0, 0};
    }

private:
    // Without a contest: everything.
    template <class Rows>
    void find_places(const Rows& rows, const Contest* contest, size_t column) {
        if (contest) {
            contest->list_places(column, places_);
        } else {
            places_.clear();
            for (int64_t i = 1; i < rows.present; ++i) {
                if (rows.differs(i)) places_.push_back(i);
            }
        }
        places_.push_back(rows.present);
    }
    int64_t begin(size_t p) const { return p ? places_[p - 1] : 0; }

    std::vector<int64_t> places_;  // how many present rows lie below each cut, and all of them
    Stat stats_;
};

}  // namespace treewise
