// Copies some rows of a table into a table of their own, for growing a tree of a forest with an engine that only
// handles whole tables.

#pragma once

#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "problem/problem.hpp"

namespace treewise {

class RowSubset {
public:
    RowSubset(const std::vector<Column>& columns, const Target& target, std::span<const uint32_t> rows)
        : columns_(columns), target_(target) {
        for (Column& column : columns_) {
            column.visit([&]<class T>(View<T> values) {
                column.data = copy(rows, [&](uint32_t row) { return values[row]; });
                column.stride = sizeof(T);
            });
        }
        if (target.label.bytes) target_.label.bytes = copy(rows, [&](uint32_t row) { return target.label.bytes[row]; });
        if (target.label.wide) target_.label.wide = copy(rows, [&](uint32_t row) { return target.label.wide[row]; });
        if (!target.n_classes) {
            target_.y = copy(rows, [&](uint32_t row) { return target.y[row]; });
            target_.raw = copy(rows, [&](uint32_t row) { return target.raw[row]; });
        }
        const int64_t* weight = copy(rows, [&](uint32_t row) { return target.weight[row]; });
        target_.weight = {reinterpret_cast<const std::byte*>(weight), sizeof(int64_t)};
        target_.n_rows = static_cast<int64_t>(rows.size());
    }
    const std::vector<Column>& columns() const { return columns_; }
    const Target& target() const { return target_; }

private:
    template <class Value>
    const std::invoke_result_t<Value, uint32_t>* copy(std::span<const uint32_t> rows, const Value& value) {
        using T = std::invoke_result_t<Value, uint32_t>;
        buffers_.emplace_back(new std::byte[rows.size() * sizeof(T)]);
        T* out = reinterpret_cast<T*>(buffers_.back().get());
        for (size_t i = 0; i < rows.size(); ++i) out[i] = value(rows[i]);
        return out;
    }
    std::vector<Column> columns_;
    Target target_;
    std::vector<std::unique_ptr<std::byte[]>> buffers_;
};

}  // namespace treewise
