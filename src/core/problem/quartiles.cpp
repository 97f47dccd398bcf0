#include "problem/quartiles.hpp"

#include <algorithm>

namespace treewise {

int64_t Selection::weight() const {
    auto sum = static_cast<int64_t>(keys_.size());
    for (const Part& part : parts_) sum += part.weight;
    return sum;
}

int64_t Selection::reaching(int64_t wanted) {
    if (unit_) {
        const auto place = keys_.begin() + (wanted - 1);
        std::nth_element(keys_.begin(), place, keys_.end());
        return *place;
    }
    std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.key < b.key; });
    size_t i = 0;
    for (int64_t sum = parts_[0].weight; sum < wanted; sum += parts_[i].weight) ++i;
    return parts_[i].key;
}

std::vector<Quartiles> find_quartiles(const std::vector<Column>& columns, View<int64_t> weight, int64_t n_rows,
                                      bool unit, Crew& crew, const Pulse& tick) {
    std::vector<Quartiles> found(columns.size());
    crew.share(
        columns.size(),
        [&](size_t c, int) {
            if (columns[c].is_code()) return;
            Selection all(weight, unit);
            columns[c].visit([&](const auto& values) {
                for (size_t row = 0; row < static_cast<size_t>(n_rows); ++row) {
                    if (!is_missing(values[row])) all.add(key_of(values[row]), row);
                }
            });
            const int64_t present = all.weight();
            if (present == 0) return;
            found[c] = {all.reaching(Quartiles::least_low(present)), all.reaching(Quartiles::least_high(present))};
        },
        tick);
    return found;
}

}  // namespace treewise
