// Sort keys of whole columns.

#include "problem/sort_keys.hpp"

#include <algorithm>

namespace treewise {

int64_t key_of(const Column& column, uint32_t row) {
    return column.visit([row](const auto& values) { return key_of(values[row]); });
}

void read_keys(const Column& column, std::span<const uint32_t> rows, int64_t* out) {
    constexpr size_t kPrefetchDistance = 24;  // the cells are far apart in memory: prefetch them
    column.visit([&](const auto& values) {
        const size_t n = rows.size(), last_prefetched = n - std::min(n, kPrefetchDistance);
        for (size_t i = 0; i < last_prefetched; ++i) {
            values.prefetch(rows[i + kPrefetchDistance]);
            out[i] = key_of(values[rows[i]]);
        }
        for (size_t i = last_prefetched; i < n; ++i) out[i] = key_of(values[rows[i]]);
    });
}

bool is_splittable(const Column& column, std::span<const uint32_t> rows) {
    return column.visit([&](const auto& values) {
        const int64_t first = key_of(values[rows[0]]);
        for (uint32_t row : rows) {
            if (key_of(values[row]) != first) return true;
        }
        return false;
    });
}

}  // namespace treewise
