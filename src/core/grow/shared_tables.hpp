// What all trees of a forest share besides the columns.

#pragma once

#include <optional>

#include "problem/fit_context.hpp"
#include "problem/ranks.hpp"

namespace treewise {

class SharedTables {
public:
    // needs_ranks: whether nodes sample columns.
    SharedTables(const std::vector<Column>& columns, const Target& target, const Settings& settings, bool needs_ranks,
                 const ProgressCallback& progress)
        : tables(target.n_rows, settings.criterion == Criterion::entropy) {
        if (!needs_ranks) return;
        ThreadPool pool(settings.n_jobs);
        ranks.emplace(columns, target.n_rows, pool, [&] { progress(0.0); });
    }
    LookupTables tables;
    std::optional<RankTable> ranks;
    NLogN::Table exact_nlogn;  // filled if many trees will need it
};

}  // namespace treewise
