// Quartiles by selection: no column is sorted.

#include "problem/quartiles.hpp"

#include <algorithm>

namespace treewise {

int64_t WeightedSelector::weight() const {
    auto sum = static_cast<int64_t>(keys_.size());
    for (const WeightedKey& part : weighted_keys_) sum += part.weight;
    return sum;
}

int64_t WeightedSelector::key_at_weight(int64_t required) {
    if (unit_) {
        const auto place = keys_.begin() + (required - 1);
        std::nth_element(keys_.begin(), place, keys_.end());
        return *place;
    }
    std::sort(weighted_keys_.begin(), weighted_keys_.end(),
              [](const WeightedKey& a, const WeightedKey& b) { return a.key < b.key; });
    size_t i = 0;
    for (int64_t sum = weighted_keys_[0].weight; sum < required; sum += weighted_keys_[i].weight) ++i;
    return weighted_keys_[i].key;
}

std::vector<Quartiles> find_quartiles(const std::vector<Column>& columns, View<int64_t> weight, int64_t n_rows,
                                      bool unit, ThreadPool& pool, const CheckInterrupt& check_interrupt) {
    std::vector<Quartiles> found(columns.size());
    pool.parallel_for(
        columns.size(),
        [&](size_t c, int) {
            if (columns[c].is_code()) return;
            WeightedSelector all(weight, unit);
            columns[c].visit([&](const auto& values) {
                for (size_t row = 0; row < static_cast<size_t>(n_rows); ++row) {
                    if (!is_missing(values[row])) all.add(key_of(values[row]), row);
                }
            });
            const int64_t present = all.weight();
            if (present == 0) return;
            found[c] = {all.key_at_weight(Quartiles::lower_weight(present)),
                        all.key_at_weight(Quartiles::upper_weight(present))};
        },
        check_interrupt);
    return found;
}

}  // namespace treewise
