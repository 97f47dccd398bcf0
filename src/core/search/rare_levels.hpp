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
        stat_.assign(width, 0), rows_.clear();
        size_t n_listed = 0;
        for (const Bucket& b : buckets) {
            if ((b.stat ? b.stat[kRows] : b.last - b.first) >= min_rows)
                buckets[n_listed++] = b;
            else if (b.stat)
                add(stat_.data(), b.stat, stat_.size());
            else
                rows_.insert(rows_.end(), b.first, b.last);
        }
        if (n_listed == buckets.size()) return false;
        const int64_t* stat = buckets.back().stat ? stat_.data() : nullptr;
        buckets.resize(n_listed);
        buckets.push_back(
            {rows_.data(), rows_.data() + rows_.size(), stat, n_levels, n_levels, static_cast<int64_t>(n_listed)});
        return true;
    }

private:
    Stat stat_;              // statistics of the rare levels …
    std::vector<Row> rows_;  // … or rows
};

}  // namespace treewise
