// The pool of the rare levels: levels with few rows at a node become one bucket, the last, which no test names
// (pool_rare_levels in train/candidates.py).

#pragma once

#include <vector>

#include "engines/engine.hpp"

namespace treewise {

class RareLevels {
public:
    // Joins the levels with fewer than min_rows rows; returns whether there are any.
    bool join(std::vector<Bucket>& buckets, int64_t min_rows, int64_t n_levels, size_t width) {
        stats_.assign(width, 0), rows_.clear();
        size_t n_listed = 0;
        for (const Bucket& b : buckets) {
            if ((b.stats ? b.stats[kRows] : b.last - b.first) >= min_rows)
                buckets[n_listed++] = b;
            else if (b.stats)
                add(stats_.data(), b.stats, stats_.size());
            else
                rows_.insert(rows_.end(), b.first, b.last);
        }
        if (n_listed == buckets.size()) return false;
        const int64_t* stats = buckets.back().stats ? stats_.data() : nullptr;
        buckets.resize(n_listed);
        buckets.push_back(
            {rows_.data(), rows_.data() + rows_.size(), stats, n_levels, n_levels, static_cast<int64_t>(n_listed)});
        return true;
    }

private:
    RowStats stats_;         // statistics of the rare levels …
    std::vector<Row> rows_;  // … or rows
};

}  // namespace treewise
