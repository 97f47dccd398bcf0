// Tests of independence between the columns and the target at a node, for selection="test" (Hothorn, Hornik & Zeileis
// 2006: conditional inference trees).
//
// train/independence.py is the specification and explains the statistic: (n − 1)·R², compared with χ². All sums over
// rows are integers, so the order of the rows does not matter; the remaining floating-point operations are those of the
// specification in the same order, so both produce the same bits. A column costs two passes over the node's rows: one
// for the range of its values, one for the sums.

#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "criteria/exact_impurity.hpp"
#include "engines/engine.hpp"
#include "search/best_split.hpp"
#include "util/chi_square.hpp"

namespace treewise {

struct ColumnTest {
    size_t column = 0;
    double statistic = 0.0;
    int64_t df = 0;      // degrees of freedom; 0: nothing to test
    double log_p = 0.0;  // natural logarithm of the p-value

    double tolerance() const { return 1e-9 * (1.0 - log_p); }
};

// Computes the tests of one node after another.
class IndependenceTester {
public:
    IndependenceTester(const NodeContext& node_context, const std::vector<Column>& columns, double observation_weight)
        : node_context_(node_context),
          target_(node_context.target),
          columns_(columns),
          observation_weight_(observation_weight) {}

    // weight: the total of the rows.
    void begin_node(std::span<const Row> rows, int64_t weight) {
        rows_.assign(rows.begin(), rows.end());
        weights_.resize(rows_.size()), y_.resize(rows_.size());
        bits_ = std::min(52, (126 - bit_length(static_cast<uint128>(weight))) / 2);
        unit_weights_ = true;
        for (size_t i = 0; i < rows_.size(); ++i)
            weights_[i] = target_.weight[rows_[i]], unit_weights_ = unit_weights_ && weights_[i] == 1;
        if (is_classification()) {
            for (size_t i = 0; i < rows_.size(); ++i) y_[i] = target_.label[rows_[i]];
            return;
        }
        const Distance distance(node_context_.low, node_context_.high, bits_);
        for (size_t i = 0; i < rows_.size(); ++i) y_[i] = distance(node_context_.y[rows_[i]]);
    }

    ColumnTest test(size_t column) {
        ColumnTest result{.column = column};
        const Column& c = columns_[column];
        const bool is_nominal = c.is_code() && !c.ordered;
        const bool varies = c.visit([&](const auto& values) { return read(values, !is_nominal); });
        if (!varies || !target_varies()) return result;
        observed_weight_ = 0;
        double r2 = 0.0;
        if (is_nominal)
            r2 = is_classification() ? pearson(c.n_levels, result.df) : correlation_ratio(x_, y_used_, result.df);
        else if (is_classification())
            r2 = correlation_ratio(y_used_, x_, result.df);
        else
            r2 = squared_correlation(), result.df = 1;
        const double observations = static_cast<double>(observed_weight_) / observation_weight_;
        result.statistic = std::max(observations - 1.0, 0.0) * r2;
        result.log_p = chi_square_log_tail(result.statistic, result.df);
        return result;
    }

private:
    bool is_classification() const { return target_.n_classes > 0; }

    // -- numbers as integers ------------------------------------------------------------------------------------------

    // The distance from the smallest value, as an integer of bits_ bits.
    class Distance {
    public:
        Distance(int64_t low, int64_t high, int bits) : low_(low), shift_(bits - bit_length(from_low(high))) {}
        int64_t operator()(int64_t value) const {
            return static_cast<int64_t>(shift_ > 0 ? from_low(value) << shift_ : from_low(value) >> -shift_);
        }

    private:
        uint64_t from_low(int64_t value) const { return static_cast<uint64_t>(value) - static_cast<uint64_t>(low_); }
        int64_t low_;
        int shift_;
    };

    // Reads the rows that take part (neither missing nor infinite) into x_, y_used_ and w_used_; x_ holds codes, or
    // numbers scaled to integers. Returns whether the values differ.
    template <class T>
    bool read(const View<T>& values, bool scaled) {
        x_.resize(rows_.size()), used_rows_.resize(rows_.size());
        if constexpr (std::is_floating_point_v<T>)
            return read_doubles(values);
        else
            return read_integers(values, scaled);
    }
    template <class T>
    bool read_integers(const View<T>& values, bool scaled) {
        int64_t low = std::numeric_limits<int64_t>::max(), high = std::numeric_limits<int64_t>::min();
        size_t n = 0;
        for (size_t i = 0; i < rows_.size(); ++i) {
            const T value = values[rows_[i]];
            if (is_missing(value)) continue;
            low = std::min<int64_t>(low, value), high = std::max<int64_t>(high, value);
            x_[n] = value, used_rows_[n++] = static_cast<uint32_t>(i);
        }
        if (low >= high) return false;
        take_targets(n);
        const Distance distance(low, high, bits_);
        if (scaled)
            for (int64_t& x : x_) x = distance(x);
        return true;
    }
    template <class T>
    bool read_doubles(const View<T>& values) {
        double low = std::numeric_limits<double>::infinity(), high = -low;
        doubles_.resize(rows_.size());
        size_t n = 0;
        for (size_t i = 0; i < rows_.size(); ++i) {
            const double value = values[rows_[i]];
            if (!std::isfinite(value)) continue;
            low = std::min(low, value), high = std::max(high, value);
            doubles_[n] = value, used_rows_[n++] = static_cast<uint32_t>(i);
        }
        if (!(low < high)) return false;
        take_targets(n);
        const double halved = std::isinf(high - low) ? 0.5 : 1.0;
        int exponent = 0;
        std::frexp(high * halved - low * halved, &exponent);
        const int scale = bits_ - exponent;
        for (size_t i = 0; i < x_.size(); ++i) {
            const double scaled = scale_pow2(doubles_[i] * halved - low * halved, scale);
            x_[i] = static_cast<int64_t>((scaled + 0x1p52) - 0x1p52);  // rounded to even
        }
        return true;
    }
    // Sets y_used_ and w_used_ to those of the n rows that take part: without a copy if all do.
    void take_targets(size_t n) {
        x_.resize(n);
        y_used_ = y_, w_used_ = weights_;
        if (n == rows_.size()) return;
        y_kept_.resize(n), w_kept_.resize(n);
        for (size_t i = 0; i < n; ++i) y_kept_[i] = y_[used_rows_[i]], w_kept_[i] = weights_[used_rows_[i]];
        y_used_ = y_kept_, w_used_ = w_kept_;
    }
    bool target_varies() const {
        return std::any_of(y_used_.begin(), y_used_.end(), [&](int64_t y) { return y != y_used_[0]; });
    }
    // Calls work with the function that returns the weight of a row; a constant where all are 1.
    template <class Work>
    void with_weights(const Work& work) const {
        if (unit_weights_)
            work([](size_t) { return uint64_t{1}; });
        else
            work([this](size_t i) { return static_cast<uint64_t>(w_used_[i]); });
    }

    // -- R² -----------------------------------------------------------------------------------------------------------

    // Σ w, Σ w·x and Σ w·x², and the sums about the mean rounded down. All fit 126 bits; intermediate products wrap.
    struct WeightedSums {
        uint128 weight = 0, sum = 0, squares = 0;
        uint128 add(uint64_t w, uint64_t x) {  // returns w·x
            const uint128 wx = static_cast<uint128>(w) * x;
            weight += w, sum += wx, squares += wx * x;
            return wx;
        }
        uint128 mean() const { return sum / weight; }
        double mean_residual() const { return static_cast<double>(static_cast<int128>(sum - mean() * weight)); }
        double sum_of_squares() const {
            const uint128 m = mean();
            const auto centred = static_cast<int128>(squares - 2 * m * sum + m * m * weight);
            return static_cast<double>(centred) - mean_residual() * mean_residual() / static_cast<double>(weight);
        }
    };

    double squared_correlation() {
        WeightedSums x, y;
        uint128 products = 0;
        with_weights([&](const auto& weight) {
            for (size_t i = 0; i < x_.size(); ++i) {
                const auto target = static_cast<uint64_t>(y_used_[i]);
                products += x.add(weight(i), static_cast<uint64_t>(x_[i])) * target;
                y.add(weight(i), target);
            }
        });
        observed_weight_ = static_cast<int64_t>(x.weight);
        const auto centred =
            static_cast<int128>(products - x.mean() * y.sum - y.mean() * x.sum + x.mean() * y.mean() * x.weight);
        const double covariance =
            static_cast<double>(centred) - x.mean_residual() * y.mean_residual() / static_cast<double>(x.weight);
        return (covariance / x.sum_of_squares()) * (covariance / y.sum_of_squares());
    }

    // Share of the sum of squares of x that is between the groups.
    double correlation_ratio(std::span<const int64_t> groups, std::span<const int64_t> x, int64_t& df) {
        const auto n_groups = static_cast<size_t>(*std::max_element(groups.begin(), groups.end())) + 1;
        if (group_sums_.size() < n_groups) group_sums_.resize(n_groups, 0), group_weights_.resize(n_groups, 0);
        present_.clear();
        WeightedSums all;
        with_weights([&](const auto& weight) {
            for (size_t i = 0; i < x.size(); ++i) {
                const auto g = static_cast<size_t>(groups[i]);
                if (!group_weights_[g]) present_.push_back(g);
                group_weights_[g] += static_cast<int64_t>(weight(i));
                group_sums_[g] += all.add(weight(i), static_cast<uint64_t>(x[i]));
            }
        });
        std::sort(present_.begin(), present_.end());
        observed_weight_ = static_cast<int64_t>(all.weight);
        const uint128 mean = all.mean();
        double between = 0.0;
        for (size_t g : present_) {
            const auto weight = static_cast<uint128>(group_weights_[g]);
            const auto centred = static_cast<double>(static_cast<int128>(group_sums_[g] - mean * weight));
            between += centred * centred / static_cast<double>(group_weights_[g]);
            group_weights_[g] = 0, group_sums_[g] = 0;
        }
        between -= all.mean_residual() * all.mean_residual() / static_cast<double>(all.weight);
        df = static_cast<int64_t>(present_.size()) - 1;
        return std::max(between, 0.0) / all.sum_of_squares();
    }

    // Weight of the rows of one level and class.
    struct Cell {
        uint64_t index;  // level·classes + class
        int64_t weight;
    };
    // Fills cells_ with the cells that hold rows, by level and class: counted in a table, or sorted if that is smaller.
    void fill_cells(int64_t n_levels) {
        const auto n_classes = static_cast<size_t>(target_.n_classes),
                   n_table = static_cast<size_t>(n_levels) * n_classes;
        cells_.clear();
        const auto key = [&](size_t i) {
            return static_cast<size_t>(x_[i]) * n_classes + static_cast<size_t>(y_used_[i]);
        };
        if (n_table <= std::max(kSmallTable, 4 * x_.size())) {
            table_.assign(n_table, 0);
            for (size_t i = 0; i < x_.size(); ++i) table_[key(i)] += w_used_[i];
            for (size_t k = 0; k < n_table; ++k)
                if (table_[k]) cells_.push_back({k, table_[k]});
            return;
        }
        for (size_t i = 0; i < x_.size(); ++i) cells_.push_back({key(i), w_used_[i]});
        std::sort(cells_.begin(), cells_.end(), [](const Cell& a, const Cell& b) { return a.index < b.index; });
        size_t last = 0;
        for (size_t i = 1; i < cells_.size(); ++i) {
            if (cells_[i].index == cells_[last].index)
                cells_[last].weight += cells_[i].weight;
            else
                cells_[++last] = cells_[i];
        }
        cells_.resize(last + 1);
    }

    // Pearson's χ² / n of the table of levels and classes.
    double pearson(int64_t n_levels, int64_t& df) {
        const auto n_classes = static_cast<uint64_t>(target_.n_classes);
        fill_cells(n_levels);
        class_weights_.assign(n_classes, 0);
        for (const Cell& cell : cells_)
            class_weights_[cell.index % n_classes] += cell.weight, observed_weight_ += cell.weight;
        double squares = 0.0;
        int64_t levels = 0;
        for (size_t begin = 0, end = 0; begin < cells_.size(); begin = end, ++levels) {
            int64_t level_weight = 0, empty = observed_weight_;  // empty: weight of the classes that the level lacks
            for (end = begin; end < cells_.size() && cells_[end].index / n_classes == cells_[begin].index / n_classes;
                 ++end)
                level_weight += cells_[end].weight, empty -= class_weights_[cells_[end].index % n_classes];
            double part = static_cast<double>(level_weight) * static_cast<double>(empty);
            for (size_t i = begin; i < end; ++i) {
                const int64_t class_weight = class_weights_[cells_[i].index % n_classes];
                const auto excess = static_cast<double>(static_cast<int128>(cells_[i].weight) * observed_weight_ -
                                                        static_cast<int128>(level_weight) * class_weight);
                part += (excess / static_cast<double>(level_weight)) * (excess / static_cast<double>(class_weight));
            }
            squares += part;
        }
        const auto classes =
            std::count_if(class_weights_.begin(), class_weights_.end(), [](int64_t w) { return w > 0; });
        df = (levels - 1) * (classes - 1);
        return squares / (static_cast<double>(observed_weight_) * static_cast<double>(observed_weight_));
    }

    static constexpr size_t kSmallTable = 1 << 10;

    const NodeContext& node_context_;
    const Target& target_;
    const std::vector<Column>& columns_;
    double observation_weight_;
    // the node
    int bits_ = 0;  // of a number as an integer
    std::vector<Row> rows_;
    std::vector<int64_t> weights_, y_;  // y_: classes, or targets as integers
    bool unit_weights_ = true;
    // the column
    std::vector<int64_t> x_;                    // of the rows that take part …
    std::span<const int64_t> y_used_, w_used_;  // … and their targets and weights: all, or those in …
    std::vector<int64_t> y_kept_, w_kept_;
    std::vector<uint32_t> used_rows_;  // rows that take part, by position in rows_
    std::vector<double> doubles_;
    int64_t observed_weight_ = 0;  // their weight
    std::vector<uint128> group_sums_;
    std::vector<int64_t> group_weights_, class_weights_, table_;
    std::vector<size_t> present_;
    std::vector<Cell> cells_;
};

// Selection::test: tests columns of a node, then yields those with a significant p-value, smallest first.
class TestSelection {
public:
    TestSelection(const NodeContext& node_context, const std::vector<Column>& columns, const Settings& settings)
        : settings_(settings), tester_(node_context, columns, settings.observation_weight) {}

    void begin_node(std::span<const Row> rows, int64_t weight, uint64_t node_key) {
        tester_.begin_node(rows, weight);
        tests_.clear(), yielded_columns_.clear();
        n_tested_ = 0, min_log_p_ = 0.0, node_key_ = node_key;
    }
    void test(size_t column) {
        const ColumnTest test = tester_.test(column);
        if (!test.df) return;
        tests_.push_back(test), ++n_tested_;
        min_log_p_ = std::min(min_log_p_, test.log_p);
    }
    bool any_tested() const { return n_tested_ > 0; }
    // The smallest adjusted p-value; NaN if no column could be tested.
    double p_value() const {
        return n_tested_ ? adjust(portable_exp(min_log_p_)) : std::numeric_limits<double>::quiet_NaN();
    }
    // The columns that `next` has yielded.
    const std::vector<size_t>& yielded_columns() const { return yielded_columns_; }

    // Yields the next column whose adjusted p-value is at most alpha, as the last of `yielded_columns`; false if there
    // is none. P-values within the tolerance are tied: the first column wins, or a random one.
    bool next() {
        if (tests_.empty()) return false;
        double smallest_upper_bound = std::numeric_limits<double>::infinity();
        for (const ColumnTest& t : tests_)
            smallest_upper_bound = std::min(smallest_upper_bound, t.log_p + t.tolerance());
        auto best = tests_.end();
        for (auto t = tests_.begin(); t != tests_.end(); ++t) {
            const bool tied = t->log_p - t->tolerance() <= smallest_upper_bound;
            if (tied && (best == tests_.end() || rank(t->column) < rank(best->column))) best = t;
        }
        if (!(adjust(portable_exp(best->log_p)) <= settings_.alpha)) return false;
        yielded_columns_.push_back(best->column);
        tests_.erase(best);
        return true;
    }

private:
    std::pair<uint64_t, size_t> rank(size_t column) const {
        return {settings_.random_ties ? tie_key(node_key_, column) : 0, column};
    }
    double adjust(double p) const {  // 1 − (1 − p)^m, by doubling
        double adjusted = 0.0, power = p;
        for (int64_t m = n_tested_; m; m >>= 1) {
            adjusted += m & 1 ? (1.0 - adjusted) * power : 0.0;
            power += (1.0 - power) * power;
        }
        return adjusted;
    }

    const Settings& settings_;
    IndependenceTester tester_;
    std::vector<ColumnTest> tests_;  // not yet yielded
    std::vector<size_t> yielded_columns_;
    int64_t n_tested_ = 0;
    double min_log_p_ = 0.0;
    uint64_t node_key_ = 0;
};

}  // namespace treewise
