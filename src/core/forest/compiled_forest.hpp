// Forest compiled for prediction: 8 bytes per node and each distinct output stored once, built from packed trees
// (ensemble/packed_trees.py).
//
// Nodes are in pre-order: the first child follows its parent, and `link` has the offset of the second. Cells are 32
// bits each (forest/packed_rows.hpp), so a test is one integer comparison and a step some arithmetic
// (forest/forest_predict.cpp):
//
//     number         cell <= `test`, both order-preserving keys of floats; `test` is the largest float not above the
//                    exact threshold
//     category       bit `code` of `test`, for at most kMaxMaskLevels levels, plus one bit for missing and one for
//                    unseen levels
//     end of walk    `test` is below every cell and `link` is −1: `test` is the index of a leaf's output, or of a
//                    general test
//
// General tests are multiway tests, tests with many levels, and tests where missing values stay or have their own
// branch; they are evaluated as in a single tree (tree/predict.hpp). If a cell and its threshold round to the same
// float and were not both floats, the exact numbers decide; they are read from the packed trees and not copied.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "problem/problem.hpp"
#include "tree/predict.hpp"
#include "util/huge_pages.hpp"
#include "util/thread_pool.hpp"

namespace treewise {

// A caller's array in its narrowest type.
struct NarrowArray {
    enum class Type : uint8_t { u8, i8, u16, i16, u32, i32, i64, f32, f64 };

    const void* data = nullptr;
    Type type = Type::u8;
    size_t size = 0;

    template <class T>
    T get(size_t i) const {
        switch (type) {
            case Type::u8: return static_cast<T>(static_cast<const uint8_t*>(data)[i]);
            case Type::i8: return static_cast<T>(static_cast<const int8_t*>(data)[i]);
            case Type::u16: return static_cast<T>(static_cast<const uint16_t*>(data)[i]);
            case Type::i16: return static_cast<T>(static_cast<const int16_t*>(data)[i]);
            case Type::u32: return static_cast<T>(static_cast<const uint32_t*>(data)[i]);
            case Type::i32: return static_cast<T>(static_cast<const int32_t*>(data)[i]);
            case Type::i64: return static_cast<T>(static_cast<const int64_t*>(data)[i]);
            case Type::f32: return static_cast<T>(static_cast<const float*>(data)[i]);
            default: return static_cast<T>(static_cast<const double*>(data)[i]);
        }
    }
    // A constant array is stored empty.
    template <class T>
    T get_or(size_t i, T otherwise) const {
        return size ? get<T>(i) : otherwise;
    }
};

// What a node predicts: label and class probabilities, or one value.
struct LeafOutput {
    int32_t label = 0;
    std::vector<int32_t> classes;
    std::vector<double> shares;
};

// The packed trees (documented in ensemble/packed_trees.py), plus outputs that Python derives: those of leaves without
// rows and of inner nodes where rows may stay.
struct PackedForest {
    std::span<const int64_t> start;
    std::span<const uint8_t> kind;
    NarrowArray column, cut, cut_int, missing, other, n_codes, codes;  // inner nodes
    NarrowArray n_counts, count_class, count_weight, value;            // leaves
    bool by_node = false;                                              // whether there is a value for every node
    std::span<const int64_t> derived;                                  // nodes with derived outputs, ascending
    std::vector<LeafOutput> outputs;                                   // their outputs
    int64_t n_classes = 0;                                             // 0: regression
};

// Type of a column: float, integer or categorical.
struct ColumnInfo {
    bool integer = false;
    int64_t n_levels = -1;  // -1: not categorical
};

// A column used by compact tests, and how its cells are packed.
struct CellColumn {
    size_t column;
    ColumnInfo kind;
    bool
        float_cuts;  // every threshold is a float: a cell may then be rounded up to one without changing any comparison
};

inline constexpr int64_t kMaxMaskLevels = 30;
inline constexpr uint32_t kMissingBit = 30, kUnseenBit = 31;

// Order-preserving map from floats to integers; −0.0 and 0.0 are equal. Keys below that of −∞ mark the end of a walk;
// keys above that of ∞ mark missing values.
constexpr uint32_t float_cell(float x) {
    const auto bits = std::bit_cast<uint32_t>(x);
    return bits >> 31 ? 0u - bits : bits | 1u << 31;
}
inline constexpr uint32_t kMissingCell = ~0u, kLevelCell = 1u << 31;  // a level's cell is kLevelCell + its bit

struct CompiledNode {
    uint32_t test, link;

    bool stops() const { return link >> 31; }
};

// Indices that do not fit a node, by rank among leaves or inner nodes. They arrive from the last node to the first.
class LargeNumbers {
public:
    void put(size_t rank, uint32_t number) {
        if (numbers_.empty()) last_ = rank;
        numbers_.resize(last_ - rank + 1);
        numbers_.back() = number;
    }
    uint32_t operator[](size_t rank) const { return numbers_[last_ - rank]; }
    size_t n_bytes() const { return numbers_.capacity() * sizeof(uint32_t); }
    void shrink_to_fit() { numbers_.shrink_to_fit(); }

private:
    size_t last_ = 0;
    std::vector<uint32_t> numbers_;
};

class CompiledForest {
public:
    // Key space below −∞: first the outputs, then the general tests.
    static constexpr uint32_t kMaxOutputs = (7u << 20) - 1, kFirstGeneralTest = 7u << 20,
                              kMaxGeneralTests = (1u << 20) - 1;
    static_assert(kFirstGeneralTest + kMaxGeneralTests < float_cell(-std::numeric_limits<float>::infinity()));

    // max_number: limits the indices stored in nodes (for tests).
    CompiledForest(const PackedForest& packed, const std::vector<ColumnInfo>& column_info, uint32_t most,
                   const CheckInterrupt& check_interrupt);

    size_t n_trees() const { return packed_.start.size() - 1; }
    int64_t n_classes() const { return packed_.n_classes; }
    const std::vector<CellColumn>& cell_columns() const { return cell_columns_; }
    const CompiledNode* tree(size_t t) const { return slots_.data() + packed_.start[t]; }
    size_t n_nodes(size_t t) const { return static_cast<size_t>(packed_.start[t + 1] - packed_.start[t]); }
    bool has_general_tests() const { return !kind_.empty(); }
    bool has_levels() const { return has_levels_; }
    size_t n_bytes() const;

    // Fields of a node: tested cell, and offset of the second child behind the first; −1 at the end of a walk.
    uint32_t cell_mask() const { return (1u << (shift_ - 2)) - 1; }
    uint32_t shift() const { return shift_; }
    uint32_t cell(CompiledNode s) const { return s.link & cell_mask(); }
    int32_t second_offset(CompiledNode s) const { return static_cast<int32_t>(s.link) >> shift_; }
    bool missing_first(CompiledNode s) const { return s.link >> (shift_ - 2) & 1; }

    // At the end of a walk: whether this is a general test, and the child it leads to (−1 if the row stays).
    static bool is_general_test(CompiledNode s) { return s.stops() && s.test >= kFirstGeneralTest; }
    int64_t child_by_general_test(size_t t, uint32_t at, const std::vector<Column>& columns, int64_t row) const;
    // The column an inner node tests.
    size_t column_at(size_t t, uint32_t at) const;
    // The next node by exact comparison; −1 at the end.
    int64_t next_exactly(size_t t, uint32_t at, const std::vector<Column>& columns, int64_t row) const;

    // Index of the output at the end of a walk.
    uint32_t output_at(size_t t, uint32_t at) const {
        const uint32_t number = tree(t)[at].test;
        return number < max_outputs_ ? number : rare_output_at(t, at);
    }
    int32_t label(uint32_t output) const { return label_[output]; }
    // Dense: a probability for every class (or one value). Sparse, for many classes: only the classes that occur.
    bool is_sparse() const { return packed_.n_classes > kMaxDenseClasses; }
    size_t width() const { return static_cast<size_t>(std::max<int64_t>(1, packed_.n_classes)); }
    const double* dense_shares(uint32_t output) const { return share_.data() + output * width(); }
    template <class F>
    void sparse_shares(uint32_t output, F&& f) const {
        for (uint32_t i = share_start_[output]; i < share_start_[output + 1]; ++i) f(share_class_[i], share_[i]);
    }

private:
    class Compiler;

    static constexpr int64_t kMaxDenseClasses = 4;

    uint32_t rare_output_at(size_t t, uint32_t at) const;
    uint32_t number_at(size_t t, uint32_t at) const;
    size_t inner_before(int64_t node) const;
    TreeView general_tests() const;

    PackedForest packed_;
    uint32_t max_outputs_, max_general_tests_;
    uint32_t shift_ = 2;
    bool has_levels_ = false;
    std::vector<CellColumn> cell_columns_;
    HugePageVector<CompiledNode> slots_;
    LargeNumbers large_output_numbers_, large_test_numbers_;  // of leaves, and of inner nodes
    std::vector<uint64_t> inner_;                             // one bit per node: whether it is inner …
    std::vector<uint32_t> inner_before_;                      // … and the number of inner nodes before each word

    // Distinct outputs: label and probabilities (dense or sparse), or value.
    std::vector<int32_t> label_;
    std::vector<uint32_t> share_start_;
    std::vector<int32_t> share_class_;
    std::vector<double> share_;
    std::vector<int64_t> stay_node_;  // nodes where rows may stay, ascending
    std::vector<uint32_t> stay_output_;

    // General tests, as arrays like those of a single tree; children are relative to their tree's root.
    std::vector<uint8_t> kind_;
    std::vector<int32_t> column_, missing_, other_, codes_, code_branch_;
    std::vector<double> cut_;
    std::vector<int64_t> cut_int_, code_start_, child_start_, children_;
};

// Next float below x; largest float not above x; smallest float not below x.
inline float float_below(float x) {
    const auto bits = std::bit_cast<uint32_t>(x);
    return std::bit_cast<float>(x > 0 ? bits - 1 : x < 0 ? bits + 1 : 0x80000001u);
}
inline float rounded_down(double x) {
    const auto rounded = static_cast<float>(x);
    return rounded > x ? float_below(rounded) : rounded;
}
inline float rounded_up(double x) { return -rounded_down(-x); }
inline float rounded_down(int64_t x) {
    const auto rounded = static_cast<float>(x);
    return static_cast<__int128>(rounded) > x ? float_below(rounded) : rounded;
}

}  // namespace treewise
