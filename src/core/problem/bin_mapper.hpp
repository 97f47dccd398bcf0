// Bin mapper: a column as one byte per row, for building histograms of large nodes without reading the values.
//
// Numbers are cut into at most 255 bins at quantiles of a sample. The sample affects only the running time, not the
// tree, because every bin that might hide a better cut is searched exactly. A bin with a single value is exact by
// itself. A category with at most 255 levels uses its codes as bins.

#pragma once

#include <array>
#include <atomic>
#include <numeric>
#include <vector>

#include "problem/fit_context.hpp"

namespace treewise {

inline constexpr size_t kBins = 256;
inline constexpr uint8_t kMissingBin = 255;  // bin of the missing values

struct BinMapper {
    uint8_t* bin_of_row =
        nullptr;                 // points into storage shared by all columns; null for a category with too many levels
    std::vector<int64_t> edges;  // keys: bin b holds edges[b − 1] < key <= edges[b]; the last bin has no upper edge
    std::array<std::atomic<uint8_t>, kBins> mixed{};  // bins with more than one distinct value

    bool is_empty() const { return !bin_of_row; }
    static bool can_bin(const Column& column) { return !column.is_code() || column.n_levels <= kMissingBin; }
    uint8_t bin(int64_t key) const {
        if (key == kMissingKey) return kMissingBin;
        return static_cast<uint8_t>(std::lower_bound(edges.begin(), edges.end(), key) - edges.begin());
    }

    // Two steps, so that a row-major table is read once: edges column by column, then bins by block of rows.
    void fit(const Column& column, int64_t n_rows) {
        if (!column.is_code()) find_edges(column, n_rows);
    }
    void transform(const Column& column, size_t begin, size_t end) {
        if (is_empty()) return;
        if (column.is_code()) {
            const auto codes = column.view<int32_t>();
            for (size_t r = begin; r < end; ++r) bin_of_row[r] = static_cast<uint8_t>(codes[r]);  // −1 becomes 255
        } else {
            column.visit([&](const auto& values) { transform_numbers(values, begin, end); });
        }
    }

private:
    void find_edges(const Column& column, int64_t n_rows) {
        constexpr int64_t kSample = 1 << 13;
        std::vector<int64_t> keys;
        const int64_t n = std::min(n_rows, kSample);
        for (int64_t i = 0; i < n; ++i) {
            const auto row = static_cast<uint32_t>(static_cast<int128>(n_rows) * (2 * i + 1) / (2 * n));
            if (const int64_t k = key_of(column, row); k != kMissingKey) keys.push_back(k);
        }
        std::sort(keys.begin(), keys.end());
        std::vector<int64_t> distinct(keys);
        distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
        if (distinct.size() < kMissingBin) {
            edges = std::move(distinct);
        } else {
            for (size_t q = 1; q < kMissingBin; ++q) {
                const int64_t edge = keys[q * keys.size() / kMissingBin];
                if (edges.empty() || edges.back() < edge) edges.push_back(edge);
            }
        }
        make_lookup(column);
    }
    // Lookup table: divides the range between the outermost edges into slots of equal width; the values of a slot lie
    // in bins first_bin_[slot] … first_bin_[slot + 1], usually one or two.
    void make_lookup(const Column& column) {
        const auto value = [&](int64_t key) {
            return column.is_number() ? key_to_double(key) : static_cast<double>(key_to_int(key));
        };
        low_ = edges.empty() ? 0.0 : value(edges.front());
        const double width = edges.empty() ? 0.0 : value(edges.back()) - low_;
        scale_ = width > 0 && width < std::numeric_limits<double>::max() ? (kLookupSize - 1) / width : 0.0;
        if (!std::isfinite(scale_)) scale_ = 0.0;
        first_bin_.assign(kLookupSize + 1, static_cast<uint8_t>(edges.size()));
        size_t bin = 0;
        for (size_t slot = 0; slot < kLookupSize; ++slot) {
            while (bin < edges.size() && slot_of(value(edges[bin])) < slot) ++bin;
            first_bin_[slot] = static_cast<uint8_t>(bin);
        }
    }
    size_t slot_of(double value) const {  // monotone in value
        const double at = scale_ == 0.0 ? 0.0 : (value - low_) * scale_;
        return static_cast<size_t>(std::clamp(at, 0.0, kLookupSize - 1.0));
    }

    template <class T>
    void transform_numbers(View<T> values, size_t begin, size_t end) {
        std::array<uint8_t, kBins> mixed_here{};
        std::array<T, kBins> upper{};
        const size_t last = edges.size();
        for (size_t b = 0; b < last; ++b) upper[b] = value_of<T>(edges[b]);
        for (size_t r = begin; r < end; ++r) {
            const T value = values[r];
            if (is_missing(value)) {
                bin_of_row[r] = kMissingBin;
                continue;
            }
            const size_t slot = slot_of(static_cast<double>(value));
            size_t bin = first_bin_[slot];
            for (size_t high = first_bin_[slot + 1]; bin < high;) {
                const size_t middle = (bin + high) / 2;
                upper[middle] < value ? bin = middle + 1 : high = middle;
            }
            mixed_here[bin] |= upper[bin] != value;
            bin_of_row[r] = static_cast<uint8_t>(bin);
        }
        mixed_here[last] = 1;  // the last bin has no upper edge
        for (size_t b = 0; b < kMissingBin; ++b) {
            if (mixed_here[b]) mixed[b].store(1, std::memory_order_relaxed);
        }
    }
    template <class T>
    static T value_of(int64_t key) {
        if constexpr (std::is_floating_point_v<T>) return static_cast<T>(key_to_double(key));
        return static_cast<T>(key_to_int(key));
    }

    static constexpr size_t kLookupSize = 1 << 12;
    double low_ = 0, scale_ = 0;
    std::vector<uint8_t> first_bin_;
};

}  // namespace treewise
