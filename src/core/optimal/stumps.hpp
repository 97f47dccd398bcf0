// The best stump on either side of a cut: what a tree of depth two needs, for every cut that the bounds leave open.
//
// `begin` is called for a node, `begin_feature` for the column of its first test, `at` for each cut. SlowStumps adds up
// rows column by column and serves every objective; ScanStumps (two classes) and ClassStumps use the vectorised scans.

#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "optimal/rows.hpp"
#include "optimal/stump_scan.hpp"

namespace treewise::optimal {

struct SideCosts {
    int64_t leaf = 0, stump = 0;  // the stump costs no more than the leaf
};
struct CutCosts {
    SideCosts left, right;
};

template <class Cost>
class SlowStumps {
public:
    explicit SlowStumps(const Table<Cost>& table) : table_(table) {}
    void begin(const Rows<Cost>& at) { at_ = &at; }
    void begin_feature(size_t feature, const Cuts& cuts) { feature_ = feature, cuts_ = &cuts; }
    bool at_binary(size_t, CutCosts&) { return false; }

    CutCosts at(size_t cut) {
        using Sum = typename Cost::Sum;
        const std::vector<int32_t>& cut_rank = table_.rank[feature_];
        const int32_t bound = cuts_->rank[cut];
        Sum total[2]{};
        for (const uint32_t r : at_->rows) table_.cost.add(total[cut_rank[r] > bound], r);
        CutCosts out;
        SideCosts* side[2] = {&out.left, &out.right};
        int64_t best[2];
        for (int s = 0; s < 2; ++s) side[s]->leaf = table_.leaf(total[s]), best[s] = table_.cost.leaf(total[s]);
        const auto offer = [&](const Sum& left, int s) {
            best[s] = std::min(best[s], table_.cost.leaf(left) + table_.cost.leaf_of_rest(total[s], left));
        };
        for (const uint32_t f : table_.binary) {
            Sum left[2]{};
            for (const uint32_t r : at_->rows)
                if (table_.rank[f][r] == 0) table_.cost.add(left[cut_rank[r] > bound], r);
            offer(left[0], 0), offer(left[1], 1);
        }
        for (const uint32_t f : table_.numeric) {
            const uint32_t* sorted = at_->sorted(table_.slot[f]);
            const std::vector<int32_t>& rank = table_.rank[f];
            Sum left[2]{};
            int32_t last[2] = {-1, -1};  // rank of the last row of each side
            for (size_t i = 0; i < at_->size(); ++i) {
                const uint32_t r = sorted[i];
                const int s = cut_rank[r] > bound;
                if (last[s] >= 0 && last[s] != rank[r]) offer(left[s], s);
                last[s] = rank[r];
                table_.cost.add(left[s], r);
            }
        }
        for (int s = 0; s < 2; ++s)
            side[s]->stump = std::min(side[s]->leaf, best[s] * table_.scale + 2 * table_.penalty);
        return out;
    }

private:
    const Table<Cost>& table_;
    const Rows<Cost>* at_ = nullptr;
    size_t feature_ = 0;
    const Cuts* cuts_ = nullptr;
};

// The columns of a node as lanes (stump_scan.hpp), and the ranks of the column of the cut in the same order.
template <class Cost, class T>
class ColumnLanes {
public:
    static constexpr size_t kLanes = Lanes<T>::kCount;

    explicit ColumnLanes(const Table<Cost>& table) : table_(table) {}
    size_t size() const { return n_vectors_; }
    const Lanes<T>* cut_rank(size_t slot) const { return &cut_rank_[slot * n_vectors_]; }
    const Lanes<T>* is_end(size_t slot) const { return &is_end_[slot * n_vectors_]; }

    // fill(row, vector, lane) is called for each place of a column; row -1 is padding.
    template <class Fill>
    void begin(const Rows<Cost>& at, const Fill& fill) {
        const size_t m = at.size(), n_numeric = table_.numeric.size();
        n_vectors_ = (m + kLanes - 1) / kLanes;
        const size_t n = n_vectors_ * kLanes;
        row_.resize(n_numeric * n), is_end_.resize(n_numeric * n_vectors_), cut_rank_.resize(n_numeric * n_vectors_);
        for (size_t s = 0; s < n_numeric; ++s) {
            const uint32_t* sorted = at.sorted(s);
            const std::vector<int32_t>& rank = table_.rank[table_.numeric[s]];
            uint32_t* row = &row_[s * n];
            Lanes<T>* end = &is_end_[s * n_vectors_];
            for (size_t j = 0; j < kLanes; ++j)  // lane j: a consecutive stretch of the sorted rows
                for (size_t i = 0; i < n_vectors_; ++i) {
                    const size_t place = j * n_vectors_ + i;
                    const bool is_row = place < m;
                    const uint32_t r = is_row ? sorted[place] : 0;
                    row[i * kLanes + j] = r;
                    fill(is_row ? static_cast<int64_t>(r) : -1, s * n_vectors_ + i, j);
                    end[i].lane[j] = is_row && (place + 1 == m || rank[r] != rank[sorted[place + 1]]) ? T(-1) : T(0);
                }
        }
    }
    void begin_feature(size_t feature) {
        const std::vector<int32_t>& rank = table_.rank[feature];
        T* gathered = reinterpret_cast<T*>(cut_rank_.data());
        for (size_t i = 0; i < row_.size(); ++i) gathered[i] = static_cast<T>(rank[row_[i]]);
    }

private:
    const Table<Cost>& table_;
    size_t n_vectors_ = 0;
    std::vector<uint32_t> row_;
    std::vector<Lanes<T>> is_end_, cut_rank_;
};

// Two classes: signed weights.
template <class Cost, class T>
class ScanStumps {
public:
    static constexpr size_t kLanes = Lanes<T>::kCount;

    explicit ScanStumps(const Table<Cost>& table) : table_(table), lanes_(table) {
        for (const int64_t w : table.cost.weights()) {
            sign_.push_back(static_cast<T>(w)), positive_sign_.push_back(static_cast<T>(std::max<int64_t>(w, 0)));
        }
        stride_ = (table.binary.size() + kLanes - 1) / kLanes;
        bits_.resize(stride_ * table.n_rows);
        for (size_t b = 0; b < table.binary.size(); ++b) {
            column_.emplace_back(table.n_words, 0);
            for (size_t r = 0; r < table.n_rows; ++r) {
                if (table.rank[table.binary[b]][r] == 0) continue;
                bits_[r * stride_ + b / kLanes].lane[b % kLanes] = T(-1);
                column_[b][r / 64] |= uint64_t{1} << (r % 64);
            }
        }
        sum_.resize(stride_), total_.resize(stride_), positive_.resize(stride_);
    }

    void begin(const Rows<Cost>& at) {
        at_ = &at;
        weight_.resize(table_.numeric.size() * ((at.size() + kLanes - 1) / kLanes));
        lanes_.begin(at, [&](int64_t row, size_t i, size_t lane) {
            weight_[i].lane[lane] = row < 0 ? T(0) : sign_[static_cast<size_t>(row)];
        });
        if (!stride_) return;
        add_rows(at.rows.data(), at.size(), sign_.data(), bits_.data(), stride_, total_.data());
        add_rows(at.rows.data(), at.size(), positive_sign_.data(), bits_.data(), stride_, positive_.data());
    }

    void begin_feature(size_t feature, const Cuts& cuts) {
        cuts_ = &cuts;
        lanes_.begin_feature(feature);
        if (table_.is_binary[feature]) {
            const std::vector<int32_t>& rank = table_.rank[feature];
            split_.clear();
            for (const bool right : {false, true})
                for (const uint32_t r : at_->rows)
                    if ((rank[r] != 0) == right) split_.push_back(r);
            sorted_ = split_.data();
        } else {
            sorted_ = at_->sorted(table_.slot[feature]);
        }
        left_.clear();
        SignedCost::Sum sum;
        size_t row = 0;
        for (size_t c = 0; c < cuts.size(); ++c) {
            for (; row < cuts.n_left[c]; ++row) table_.cost.add(sum, sorted_[row]);
            left_.push_back(sum);
        }
    }

    CutCosts at(size_t cut) {
        Extremes left, right;
        const T bound = static_cast<T>(cuts_->rank[cut]);
        const size_t n = lanes_.size();
        for (size_t s = 0; s < table_.numeric.size(); ++s)
            scan(lanes_.cut_rank(s), &weight_[s * n], lanes_.is_end(s), n, bound, left, right);
        if (stride_) {  // add up the rows of the smaller side
            const size_t n_left = cuts_->n_left[cut], m = at_->size();
            const bool adds_left = n_left * 2 <= m;
            add_rows(adds_left ? sorted_ : sorted_ + n_left, adds_left ? n_left : m - n_left, sign_.data(),
                     bits_.data(), stride_, sum_.data());
            include_sums(adds_left ? left : right, adds_left ? right : left);
        }
        return both_sides(left_[cut], left, right);
    }

    // A binary feature of a table that has only such: all that is needed are the rows of one side, as bits. False for
    // other tables, and for a feature that does not split the node.
    bool at_binary(size_t feature, CutCosts& out) {
        if (!table_.numeric.empty()) return false;
        const size_t b = table_.slot[feature];
        const std::vector<uint64_t>& column = column_[b];
        split_.resize(at_->size() + 1);
        size_t n_right = 0;
        for (size_t w = 0; w < table_.n_words; ++w)
            for (uint64_t rest = at_->bits[w] & column[w]; rest; rest &= rest - 1)
                split_[n_right++] = static_cast<uint32_t>(w * 64 + static_cast<size_t>(std::countr_zero(rest)));
        if (n_right == 0 || n_right == at_->size()) return false;
        const bool adds_right = n_right * 2 <= at_->size();
        size_t n = n_right;
        if (!adds_right) {
            n = 0;
            for (size_t w = 0; w < table_.n_words; ++w)
                for (uint64_t rest = at_->bits[w] & ~column[w]; rest; rest &= rest - 1)
                    split_[n++] = static_cast<uint32_t>(w * 64 + static_cast<size_t>(std::countr_zero(rest)));
        }
        add_rows(split_.data(), n, sign_.data(), bits_.data(), stride_, sum_.data());
        Extremes left, right;
        include_sums(adds_right ? right : left, adds_right ? left : right);
        const int64_t positive = positive_[b / kLanes].lane[b % kLanes];
        const int64_t negative = positive - total_[b / kLanes].lane[b % kLanes];
        out = both_sides({at_->total.positive - positive, at_->total.negative - negative}, left, right);
        return true;
    }

private:
    // Extremes over the binary columns, of the side whose sums are in sum_ and of the other one.
    void include_sums(Extremes& side, Extremes& other) const {
        const T* sum = reinterpret_cast<const T*>(sum_.data());
        const T* total = reinterpret_cast<const T*>(total_.data());
        T most = 0, least = 0, rest_most = 0, rest_least = 0;
        for (size_t b = 0; b < stride_ * kLanes; ++b) {
            const T rest = static_cast<T>(total[b] - sum[b]);
            most = std::max(most, sum[b]), least = std::min(least, sum[b]);
            rest_most = std::max(rest_most, rest), rest_least = std::min(rest_least, rest);
        }
        side.include(most, least), other.include(rest_most, rest_least);
    }
    CutCosts both_sides(const SignedCost::Sum& sum, const Extremes& left, const Extremes& right) const {
        return {costs(sum, left),
                costs({at_->total.positive - sum.positive, at_->total.negative - sum.negative}, right)};
    }
    SideCosts costs(const SignedCost::Sum& sum, const Extremes& extremes) const {
        const int64_t leaf = table_.leaf(sum);
        const int64_t stump = std::min(sum.positive - extremes.most, sum.negative + extremes.least);
        return {leaf, std::min(leaf, stump * table_.scale + 2 * table_.penalty)};
    }

    const Table<Cost>& table_;
    ColumnLanes<Cost, T> lanes_;
    std::vector<T> sign_, positive_sign_;
    size_t stride_ = 0;           // vectors of a row in bits_
    std::vector<Lanes<T>> bits_;  // row by row: -1 where a binary feature is 1
    std::vector<std::vector<uint64_t>> column_;
    // at the node
    const Rows<Cost>* at_ = nullptr;
    std::vector<Lanes<T>> weight_, total_, positive_, sum_;
    // of the first test's feature
    const Cuts* cuts_ = nullptr;
    const uint32_t* sorted_ = nullptr;
    std::vector<uint32_t> split_;
    std::vector<SignedCost::Sum> left_;
};

// Several classes, errors.
template <class Cost, class T>
class ClassStumps {
public:
    static constexpr size_t kLanes = Lanes<T>::kCount;

    explicit ClassStumps(const Table<Cost>& table) : table_(table), lanes_(table) {}
    void begin(const Rows<Cost>& at) {
        at_ = &at;
        const size_t n = table_.numeric.size() * ((at.size() + kLanes - 1) / kLanes);
        weight_.resize(n), label_.resize(n);
        lanes_.begin(at, [&](int64_t row, size_t i, size_t lane) {
            const auto r = static_cast<uint32_t>(row);
            weight_[i].lane[lane] = row < 0 ? T(0) : static_cast<T>(table_.cost.weight(r));
            label_[i].lane[lane] = row < 0 ? T(0) : static_cast<T>(table_.cost.label(r));
        });
        total_.assign(table_.cost.n_classes(), 0);
        for (const uint32_t r : at.rows) total_[static_cast<size_t>(table_.cost.label(r))] += table_.cost.weight(r);
    }
    void begin_feature(size_t feature, const Cuts& cuts) {
        cuts_ = &cuts;
        lanes_.begin_feature(feature);
        const uint32_t* sorted = at_->sorted(table_.slot[feature]);
        const size_t k = total_.size();
        std::vector<int64_t> sum(k, 0);
        left_.clear();
        size_t row = 0;
        for (size_t c = 0; c < cuts.size(); ++c) {
            for (; row < cuts.n_left[c]; ++row)
                sum[static_cast<size_t>(table_.cost.label(sorted[row]))] += table_.cost.weight(sorted[row]);
            left_.insert(left_.end(), sum.begin(), sum.end());
        }
    }
    bool at_binary(size_t, CutCosts&) { return false; }
    CutCosts at(size_t cut) {
        const size_t k = total_.size(), n = lanes_.size();
        const int64_t* left = &left_[cut * k];
        right_.resize(k);
        for (size_t c = 0; c < k; ++c) right_[c] = total_[c] - left[c];
        ClassSides sides{k, left, right_.data(), 0, 0};
        for (size_t s = 0; s < table_.numeric.size(); ++s)
            scan_classes(lanes_.cut_rank(s), &label_[s * n], &weight_[s * n], lanes_.is_end(s), n,
                         static_cast<T>(cuts_->rank[cut]), sides);
        return {costs(left, k, sides.best_left), costs(right_.data(), k, sides.best_right)};
    }

private:
    SideCosts costs(const int64_t* count, size_t k, int64_t right_by_stump) const {
        int64_t sum = 0, most = 0;
        for (size_t c = 0; c < k; ++c) sum += count[c], most = std::max(most, count[c]);
        const int64_t leaf = (sum - most) * table_.scale + table_.penalty;
        return {leaf, std::min(leaf, (sum - right_by_stump) * table_.scale + 2 * table_.penalty)};
    }
    const Table<Cost>& table_;
    ColumnLanes<Cost, T> lanes_;
    const Rows<Cost>* at_ = nullptr;
    std::vector<Lanes<T>> weight_, label_;
    std::vector<int64_t> total_, left_, right_;
    const Cuts* cuts_ = nullptr;
};

}  // namespace treewise::optimal
