// Many trees as a program to be walked: eight bytes a node, and every answer once, made from the packed members
// (ensemble/packed_trees.py).
//
// A node keeps its place: pre-order, so the first child stands behind it, and the second where `link` says. The row's
// cells come as 32 bits each (forest/packed_rows.hpp), so a test is one comparison of two whole numbers, and a step
// some arithmetic (forest/forest_predict.cpp):
//
//     a number       at most `test`: both are the keys of floats, which have the floats' order; here that of the
//                    largest float that is not above the exact threshold
//     a category     bit number `code` of `test`, where there are at most kMaxMaskLevels levels: one for each, one for
//                    missing values, and one for levels never seen
//     where a row    `test` is less than every cell is, and `link` leads nowhere: `test` is the number of a leaf's
//     stops          answer, or of a question that needs more than this
//
// Questions are multiway tests, those of many levels, and those by which missing values stay or have a branch of their
// own; they are asked as a single tree does (tree/predict.hpp). Floats decide wherever they can: where a cell and its
// threshold become one float, and were not both floats already, the exact numbers decide, which the packed members
// have; so a program need not keep them.

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

// An array of the caller's in whatever type is narrowest for it.
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
    // Where an array says the same everywhere it is empty.
    template <class T>
    T get_or(size_t i, T otherwise) const {
        return size ? get<T>(i) : otherwise;
    }
};

// What a node says: the classes it knows with their shares, and the one it predicts; or one number.
struct LeafAnswer {
    int32_t label = 0;
    std::vector<int32_t> classes;
    std::vector<double> shares;
};

// The packed members (ensemble/packed_trees.py says what each array is), and what they leave out: the answers of nodes
// that have to be derived, those of leaves without rows and of inner nodes at which rows may stay.
struct PackedForest {
    std::span<const int64_t> start;
    std::span<const uint8_t> kind;
    NarrowArray column, cut, cut_int, missing, other, n_codes, codes;  // of inner nodes
    NarrowArray n_counts, count_class, count_weight, value;            // of leaves
    bool by_node = false;                                              // whether values are of all nodes
    std::span<const int64_t> derived;                                  // nodes, ascending
    std::vector<LeafAnswer> answers;                                   // of these
    int64_t n_classes = 0;                                             // 0: numbers
};

// What the columns of the table are: numbers, whole numbers, or codes of levels.
struct ColumnInfo {
    bool integer = false;
    int64_t n_levels = -1;  // -1: not a category
};

// A column that tests by 32 bits ask for, and how its cells become that.
struct CellColumn {
    size_t column;
    ColumnInfo kind;
    bool float_cuts;  // whether every threshold is a float: then a cell may be rounded up to one, and nothing is lost
};

inline constexpr int64_t kMaxMaskLevels = 30;
inline constexpr uint32_t kMissingBit = 30, kUnseenBit = 31;

// The order of floats as that of whole numbers: 0 is one number, whatever its sign. What is less than the key of −∞
// is left for where rows stop, and what is more than that of ∞ for missing values.
constexpr uint32_t key_of(float x) {
    const auto bits = std::bit_cast<uint32_t>(x);
    return bits >> 31 ? 0u - bits : bits | 1u << 31;
}
inline constexpr uint32_t kMissingCell = ~0u, kLevelCell = 1u << 31;  // a level's cell is kLevelCell + its bit

struct CompiledNode {
    uint32_t test, link;

    bool stops() const { return link >> 31; }
};

// The numbers a slot has no room for, by the node's rank among its kind. They come from the last node to the first, and
// so once there is one, those before it have a place too.
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
    // The keys below that of −∞ have room for so many answers, and, behind them, questions.
    static constexpr uint32_t kMaxAnswers = (7u << 20) - 1, kFirstGeneralTest = 7u << 20,
                              kMaxGeneralTests = (1u << 20) - 1;
    static_assert(kFirstGeneralTest + kMaxGeneralTests < key_of(-std::numeric_limits<float>::infinity()));

    // `most`: as many numbers as there is room for; fewer in tests.
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

    // A slot: which cell it tests, and how far behind the first child the second is; −1 where a row stops.
    uint32_t cell_mask() const { return (1u << (shift_ - 2)) - 1; }
    uint32_t shift() const { return shift_; }
    uint32_t cell(CompiledNode s) const { return s.link & cell_mask(); }
    int32_t second_offset(CompiledNode s) const { return static_cast<int32_t>(s.link) >> shift_; }
    bool missing_first(CompiledNode s) const { return s.link >> (shift_ - 2) & 1; }

    // Of a slot where a row stops: whether it is a question; and if so the child a row goes to, -1 if it stays.
    static bool is_general_test(CompiledNode s) { return s.stops() && s.test >= kFirstGeneralTest; }
    int64_t child_by_general_test(size_t t, uint32_t at, const std::vector<Column>& columns, int64_t row) const;
    // Which column a node that is no leaf asks for.
    size_t column_at(size_t t, uint32_t at) const;
    // The next node of a row by the exact numbers; -1 where it stops.
    int64_t next_exactly(size_t t, uint32_t at, const std::vector<Column>& columns, int64_t row) const;

    // What the node says at which a row stops.
    uint32_t answer_at(size_t t, uint32_t at) const {
        const uint32_t number = tree(t)[at].test;
        return number < max_answers_ ? number : rare_answer_at(t, at);
    }
    int32_t label(uint32_t answer) const { return label_[answer]; }
    // Where classes are few, an answer has a share of each, as a number has one value; else of those it knows.
    bool is_sparse() const { return packed_.n_classes > kMaxDenseClasses; }
    size_t width() const { return static_cast<size_t>(std::max<int64_t>(1, packed_.n_classes)); }
    const double* dense_shares(uint32_t answer) const { return share_.data() + answer * width(); }
    template <class F>
    void sparse_shares(uint32_t answer, F&& f) const {
        for (uint32_t i = share_start_[answer]; i < share_start_[answer + 1]; ++i) f(share_class_[i], share_[i]);
    }

private:
    class Compiler;

    static constexpr int64_t kMaxDenseClasses = 4;

    uint32_t rare_answer_at(size_t t, uint32_t at) const;
    uint32_t number_at(size_t t, uint32_t at) const;
    size_t inner_before(int64_t node) const;
    TreeView general_tests() const;

    PackedForest packed_;
    uint32_t max_answers_, max_general_tests_;
    uint32_t shift_ = 2;
    bool has_levels_ = false;
    std::vector<CellColumn> cell_columns_;
    HugePageVector<CompiledNode> slots_;
    LargeNumbers large_answer_numbers_, large_test_numbers_;  // of leaves, and of other nodes
    std::vector<uint64_t> inner_;                             // a bit a node: whether it is no leaf …
    std::vector<uint32_t> inner_before_;                      // … and how many of these come before each 64

    // Predictions, each once: of classes the label, and the share of every class, or of those listed; of numbers the
    // value.
    std::vector<int32_t> label_;
    std::vector<uint32_t> share_start_;
    std::vector<int32_t> share_class_;
    std::vector<double> share_;
    std::vector<int64_t> stay_node_;  // nodes at which rows may stay, ascending …
    std::vector<uint32_t> stay_answer_;

    // Questions, as the arrays of a single tree have them; children are numbered from their tree's root.
    std::vector<uint8_t> kind_;
    std::vector<int32_t> column_, missing_, other_, codes_, code_branch_;
    std::vector<double> cut_;
    std::vector<int64_t> cut_int_, code_start_, child_start_, children_;
};

// The next float below x; the largest that is not above x; the smallest that is not below.
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
