// Rows packed into 32-bit cells for a compiled forest (forest/compiled_forest.hpp), row-major.
//
// A number becomes the key of a float. If it is not a float it is rounded up where all thresholds are floats, which
// changes no comparison; otherwise down, and a cell equal to its threshold is then undecided (`inexact`).

#pragma once

#include <type_traits>
#include <vector>

#include "forest/compiled_forest.hpp"

namespace treewise {

class PackedRows {
public:
    explicit PackedRows(const CompiledForest& forest)
        : columns_(forest.cell_columns()), width_(std::max<size_t>(1, columns_.size())) {}

    void read(const std::vector<Column>& table, int64_t begin, int64_t end) {
        packed_rows_.resize(static_cast<size_t>(end - begin) * width_,
                            kMissingCell);  // leaves read a cell even if no column is used
        inexact_ = missing_ = false;
        for (size_t c = 0; c < columns_.size(); ++c) {
            uint32_t* out = packed_rows_.data() + c;
            table[columns_[c].column].visit([&]<class T>(View<T> values) {
                if constexpr (std::is_same_v<T, int32_t>)
                    read_levels(values, begin, end, out);
                else
                    read_numbers(values, begin, end, out, columns_[c].float_cuts);
            });
        }
    }
    const uint32_t* row(size_t r) const { return packed_rows_.data() + r * width_; }
    bool missing() const { return missing_; }  // some number is missing
    bool inexact() const { return inexact_; }  // some number was rounded down

private:
    void read_levels(View<int32_t> values, int64_t begin, int64_t end, uint32_t* out) {
        for (int64_t r = begin; r < end; ++r, out += width_) {
            const int32_t code = values[static_cast<size_t>(r)];
            *out = kLevelCell + (code >= 0              ? static_cast<uint32_t>(code)
                                 : code == kMissingCode ? kMissingBit
                                                        : kUnseenBit);
        }
    }
    template <class T>
    void read_numbers(View<T> values, int64_t begin, int64_t end, uint32_t* out, bool float_cuts) {
        bool any_missing = false, was_rounded = false;
        for (int64_t r = begin; r < end; ++r, out += width_) {
            const T x = values[static_cast<size_t>(r)];
            const bool is_missing_cell = is_missing(x);
            float rounded;
            if constexpr (std::is_same_v<T, float>) {
                rounded = x;
            } else if constexpr (std::is_same_v<T, double>) {
                rounded = float_cuts ? rounded_up(x) : rounded_down(x);
                was_rounded |= rounded < x;
            } else {
                rounded = rounded_down(x);
                was_rounded |= !is_missing_cell && static_cast<__int128>(rounded) != x;
            }
            any_missing |= is_missing_cell;
            *out = is_missing_cell ? kMissingCell : float_cell(rounded);
        }
        missing_ |= any_missing, inexact_ |= was_rounded;
    }

    const std::vector<CellColumn>& columns_;
    const size_t width_;
    std::vector<uint32_t> packed_rows_;
    bool missing_ = false, inexact_ = false;
};

}  // namespace treewise
