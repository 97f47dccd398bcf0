// Exact impurity: running statistics of one branch, one class per criterion.
//
// A statistics object can add a row, remove it (sub), and return its total impurity as an integer, as defined
// in train/criteria.py. The splitter (search/exact_splitter.hpp) moves rows between two of them and does not depend on
// the criterion:
//
//     left  [ a b c | d e f g ]  right         right.sub(d); left.add(d);
//                                              impurity = left.total_impurity() + right.total_impurity()
//
// add and sub take O(1) for any number of classes, with two exceptions: misclassification error rescans the classes
// when the largest one loses a row, and absolute error takes O(log n) in a Fenwick tree.

#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "criteria/row_stats.hpp"
#include "problem/problem.hpp"
#include "util/fixed_point.hpp"

namespace treewise {

// State shared by the statistics of a node's branches: target, units and tolerances (train/criteria.py has the
// counterpart).
struct NodeContext {
    explicit NodeContext(const Target& t, const NLogN::Table* known = nullptr)
        : target(t), nlogn(static_cast<uint64_t>(t.n_rows), known), y(t.y), scale(t.n_classes ? 0 : t.scale) {}

    const Target& target;
    NLogN nlogn;
    const int64_t* y;                 // regression: the target in the units of the node …
    int scale = 0;                    // … which are 2^-scale
    int64_t low = 0, high = 0;        // regression: smallest and largest y of the node
    int128 rounding = 0;              // a gain may be off by this many units …
    int128 rounding_per_branch = 0;   // … plus this many per branch
    double unit_value = 1.0;          // value of one unit in total impurity of y …
    int degree = 0;                   // … which scales with this power of y
    int128 mean = 0;                  // squared error: targets are centred at the node's mean …
    int shift = 0;                    // … truncated to the bits that matter at this node …
    int fraction = 0;                 // … and extended by this many fractional bits
    std::vector<uint32_t> rank;       // absolute error: rank of each row among the distinct targets of the node, from 1
    std::vector<int64_t> values;      // … and these targets, ascending
    std::vector<int64_t> rescaled_y;  // y of the node's rows, if the node has its own units
    std::function<void()> check_interrupt = [] {};  // called between long steps

    // Sets the units and the target range of a node. Where targets were rounded because of a much larger value
    // elsewhere in the table, a node of small targets uses finer units (TrainingSet.with_node_scale has the
    // counterpart).
    void begin_node(const uint32_t* first, const uint32_t* last) {
        if (target.n_classes) return;
        y = target.y, scale = target.scale;
        find_range(first, last);
        constexpr int64_t kMaxCoarse = int64_t{1} << 41;
        if (target.max_exponent == kNothingRounded || high > kMaxCoarse || low < -kMaxCoarse) return;
        double largest = 0.0;
        for (const uint32_t* row = first; row != last; ++row) largest = std::max(largest, std::abs(target.raw[*row]));
        int exponent = 0;
        std::frexp(largest, &exponent);
        const int extra_bits = largest > 0.0 ? (target.max_exponent - exponent) / kScaleStep * kScaleStep : 0;
        if (extra_bits == 0) return;
        scale += extra_bits;
        rescaled_y.resize(target.n_rows);
        for (const uint32_t* row = first; row != last; ++row) {
            const double raw = target.raw[*row];
            const auto rounded = static_cast<int64_t>(std::rint(scale_pow2(raw, scale)));
            rescaled_y[*row] = rounded ? rounded : (raw > 0) - (raw < 0);
        }
        y = rescaled_y.data();
        find_range(first, last);
    }
    // log2_fixed of a positive target, kept by row: every level of a tree needs it again.
    int128 log2_target(uint32_t row) const {
        const auto n = static_cast<uint64_t>(y[row]);
        if (y != target.y) return log2_fixed(n);
        if (log_fractions_.empty()) log_fractions_.assign(static_cast<size_t>(target.n_rows), kUnknown);
        uint64_t& fraction = log_fractions_[row];
        if (fraction == kUnknown) fraction = log2_fraction(n);
        return log2_fixed(n, fraction);
    }
    int128 tolerance(int branches) const { return rounding + rounding_per_branch * branches; }

    // Treats a gain within the tolerance as zero.
    int128 zero_if_rounding(int128 gain, int branches) const {
        return gain > tolerance(branches) || -gain > tolerance(branches) ? gain : 0;
    }
    // An impurity per unit of weight as a total.
    int128 to_total_impurity(double impurity, int64_t weight) const {
        const double total = scale_pow2(impurity * static_cast<double>(weight) / unit_value, degree * scale);
        return static_cast<int128>(std::min(total, 0x1p120));
    }
    double to_user_units(int128 total, int64_t weight) const {  // per unit of weight
        return scale_pow2(static_cast<double>(total) * unit_value / static_cast<double>(weight), -degree * scale);
    }

private:
    static constexpr int kScaleStep = 20;  // units are refined in steps of this many bits
    static constexpr uint64_t kUnknown = ~uint64_t{0};
    mutable std::vector<uint64_t> log_fractions_;

    void find_range(const uint32_t* first, const uint32_t* last) {
        low = high = y[*first];
        for (const uint32_t* row = first; row != last; ++row) {
            low = std::min(low, y[*row]);
            high = std::max(high, y[*row]);
        }
    }
};

// -- classification ---------------------------------------------------------------------------------------------------

// Weight of each class, with the list of classes that occur, so that clearing is proportional to their number.
class ClassImpurity {
public:
    explicit ClassImpurity(NodeContext& node_context)
        : node_context_(&node_context),
          target_(&node_context.target),
          count_(node_context.target.n_classes, 0),
          is_listed_(node_context.target.n_classes, 0) {}

    int64_t rows = 0, weight = 0;

    const std::vector<int64_t>& counts() const { return count_; }
    const std::vector<int32_t>& classes() const { return classes_; }
    bool valid() const { return true; }

    static void prepare_node(NodeContext&, const uint32_t*, const uint32_t*) {}

protected:
    void set_rounding(int128 rounding, int128 rounding_per_branch) const {
        node_context_->rounding = rounding;
        node_context_->rounding_per_branch = rounding_per_branch;
        node_context_->unit_value = kUnit;
        node_context_->degree = 0;
    }
    int64_t add_weight(int32_t c, int64_t w) {  // returns the previous weight
        const int64_t before = count_[c];
        if (!is_listed_[c]) is_listed_[c] = 1, classes_.push_back(c);
        count_[c] = before + w;
        weight += w;
        return before;
    }
    void clear_counts() {
        for (int32_t c : classes_) count_[c] = 0, is_listed_[c] = 0;
        classes_.clear();
        rows = weight = 0;
    }
    void copy(const ClassImpurity& other) {
        clear_counts();
        classes_ = other.classes_;
        for (int32_t c : classes_) count_[c] = other.count_[c], is_listed_[c] = 1;
        rows = other.rows;
        weight = other.weight;
    }
    NodeContext* node_context_;
    const Target* target_;
    std::vector<int64_t> count_;
    std::vector<uint8_t> is_listed_;  // whether a class is in classes_
    std::vector<int32_t> classes_;
};

// Adds and removes rows or whole buckets class by class; Self::move_weight updates the criterion's sum.
template <class Self>
class ClassImpurityOf : public ClassImpurity {
public:
    using ClassImpurity::ClassImpurity;
    void add(uint32_t row) { move(row, 1); }
    void sub(uint32_t row) { move(row, -1); }
    void add(const int64_t* stats) { move(stats, 1); }
    void sub(const int64_t* stats) { move(stats, -1); }
    void merge(const Self& other) {  // adds all rows of another
        rows += other.rows;
        for (int32_t c : other.classes_) self().move_weight(c, other.count_[c]);
    }

private:
    Self& self() { return static_cast<Self&>(*this); }
    void move(uint32_t row, int64_t sign) {
        rows += sign;
        self().move_weight(target_->label[row], sign * target_->weight[row]);
    }
    void move(const int64_t* stats, int64_t sign) {
        rows += sign * stats[kRows];
        for (size_t c = 0; c < count_.size(); ++c) {
            if (stats[kCounts + c]) self().move_weight(static_cast<int32_t>(c), sign * stats[kCounts + c]);
        }
    }
};

// m·H = m·log m − Σ c·log c
class EntropyImpurity : public ClassImpurityOf<EntropyImpurity> {
public:
    using ClassImpurityOf::ClassImpurityOf;
    void clear() { clear_counts(), sum_ = 0; }
    void assign(const EntropyImpurity& other) { copy(other), sum_ = other.sum_; }
    int128 total_impurity() const { return node_context_->nlogn(weight) - sum_; }
    void move_weight(int32_t c, int64_t w) {
        const int64_t before = add_weight(c, w);
        sum_ += node_context_->nlogn(before + w) - node_context_->nlogn(before);
    }

    // Called on the statistics of the whole node. Each logarithm is off by less than two units times its count, and the
    // counts of all terms add up to at most 4·m.
    void set_tolerance() const { set_rounding(static_cast<int128>(8) * weight, 0); }

private:
    int128 sum_ = 0;  // Σ c·log c
};

// m·(1 − Σ p²) = m − Σ c²/m
class GiniImpurity : public ClassImpurityOf<GiniImpurity> {
public:
    using ClassImpurityOf::ClassImpurityOf;
    void clear() { clear_counts(), squares_ = 0; }
    void assign(const GiniImpurity& other) { copy(other), squares_ = other.squares_; }
    int128 total_impurity() const {
        const auto m = static_cast<uint128>(weight);
        const uint128 quotient = squares_ / m, remainder = squares_ % m;
        return (static_cast<int128>(weight) << kFraction) -
               static_cast<int128>((quotient << kFraction) + (remainder << kFraction) / m);
    }
    void move_weight(int32_t c, int64_t w) {
        const auto before = static_cast<int128>(add_weight(c, w)), after = before + w;
        squares_ += static_cast<uint128>(after * after - before * before);
    }

    void set_tolerance() const { set_rounding(1, 1); }  // one quotient per branch, and one for the node

private:
    uint128 squares_ = 0;  // Σ c²
};

// m − max c
class ErrorImpurity : public ClassImpurityOf<ErrorImpurity> {
public:
    using ClassImpurityOf::ClassImpurityOf;
    void clear() { clear_counts(), max_count_ = 0; }
    void assign(const ErrorImpurity& other) { copy(other), max_count_ = other.max_count_; }
    int128 total_impurity() const { return static_cast<int128>(weight - max_count_) << kFraction; }
    void move_weight(int32_t c, int64_t w) {
        const int64_t before = add_weight(c, w);
        max_count_ = std::max(max_count_, before + w);
        if (w > 0 || before != max_count_) return;
        max_count_ = 0;  // the largest class may have changed
        for (int32_t other : classes_) max_count_ = std::max(max_count_, count_[other]);
    }

    void set_tolerance() const { set_rounding(0, 0); }  // exact

private:
    int64_t max_count_ = 0;
};

// -- regression -------------------------------------------------------------------------------------------------------

class SumImpurity {
public:
    explicit SumImpurity(NodeContext& node_context) : node_context_(&node_context), target_(&node_context.target) {}

    int64_t rows = 0, weight = 0;
    int128 sum = 0;  // Σ w·y

    static void prepare_node(NodeContext&, const uint32_t*, const uint32_t*) {}
    void add(uint32_t row) { move_row(row, 1); }
    void sub(uint32_t row) { move_row(row, -1); }
    void add(const int64_t* stats) { rows += stats[kRows], weight += stats[kWeight], sum += target_sum(stats); }
    void sub(const int64_t* stats) { rows -= stats[kRows], weight -= stats[kWeight], sum -= target_sum(stats); }
    void clear() { rows = weight = 0, sum = 0; }
    void merge(const SumImpurity& other) { rows += other.rows, weight += other.weight, sum += other.sum; }

protected:
    void move_row(uint32_t row, int64_t sign) {
        const int64_t w = sign * target_->weight[row];
        rows += sign;
        weight += w;
        sum += static_cast<int128>(w) * node_context_->y[row];
    }
    NodeContext* node_context_;
    const Target* target_;
};

// −S²/m about the node's mean; Σ y² is the same for every split. 126 bits hold the square of S and a fraction; if S has
// more than 62 bits, its tail is cut at the node's scale.
class SquaredErrorImpurity : public SumImpurity {
public:
    using SumImpurity::SumImpurity;
    bool valid() const { return true; }
    void assign(const SquaredErrorImpurity& other) { *this = other; }
    int128 total_impurity() const {
        const int128 centred = (sum - weight * node_context_->mean) >> node_context_->shift;
        return -static_cast<int128>((static_cast<uint128>(centred * centred) << node_context_->fraction) /
                                    static_cast<uint128>(weight));
    }
    void set_tolerance() const {
        const auto spread = static_cast<int128>(node_context_->high) - node_context_->low + 1;
        const int bits = bit_length(static_cast<uint128>(weight * spread));
        node_context_->mean = floor_div(sum, weight);
        node_context_->shift = std::max(0, bits - 62);
        node_context_->fraction = std::min(kFraction, 126 - 2 * (bits - node_context_->shift));
        const int128 tail =
            node_context_->shift ? 2 * ((spread >> node_context_->shift) + 1) << node_context_->fraction : 0;
        node_context_->rounding = node_context_->rounding_per_branch =
            1 + tail;  // one quotient, and the truncated tail of S
        node_context_->unit_value = scale_pow2(1.0, 2 * node_context_->shift - node_context_->fraction);
        node_context_->degree = 2;
    }
};

// −S·log(S/m): half the Poisson deviance without Σ y·log y. A branch with sum 0 would predict 0 and is not valid.
class PoissonImpurity : public SumImpurity {
public:
    using SumImpurity::SumImpurity;
    bool valid() const { return sum > 0; }
    void assign(const PoissonImpurity& other) { *this = other; }
    int128 total_impurity() const {
        const int128 s = sum >> node_context_->shift;
        return s * log2_fixed(static_cast<uint64_t>(weight)) - node_context_->nlogn(static_cast<int64_t>(s));
    }
    void set_tolerance() const {
        node_context_->shift = std::max(0, bit_length(static_cast<uint128>(sum)) - 56);
        node_context_->rounding_per_branch =
            node_context_->shift ? static_cast<int128>(64) << kFraction : 0;  // truncated tail of S
        node_context_->rounding = 8 * (sum >> node_context_->shift) + node_context_->rounding_per_branch;
        node_context_->unit_value = 0.6931471805599453 * scale_pow2(1.0, node_context_->shift - kFraction);
        node_context_->degree = 1;
    }
};

// Σ |y − median|: weights and sums in Fenwick trees over the distinct targets of the node.
class AbsoluteErrorImpurity {
public:
    explicit AbsoluteErrorImpurity(NodeContext& node_context)
        : node_context_(&node_context), target_(&node_context.target) {}

    int64_t rows = 0, weight = 0;
    int128 sum = 0;

    bool valid() const { return true; }
    void set_tolerance() const {
        node_context_->rounding = node_context_->rounding_per_branch = 0, node_context_->unit_value = 1.0,
        node_context_->degree = 1;
    }

    // Ranks the targets of the node's rows, once for all branches.
    static void prepare_node(NodeContext& node_context, const uint32_t* first, const uint32_t* last) {
        const int64_t* y = node_context.y;
        node_context.rank.resize(node_context.target.n_rows);
        std::vector<uint32_t> sorted;  // empty if the engine lists the rows in order
        if (!std::is_sorted(first, last, [&](uint32_t a, uint32_t b) { return y[a] < y[b]; })) {
            sorted.assign(first, last);
            std::sort(sorted.begin(), sorted.end(), [&, n_compared = size_t{0}](uint32_t a, uint32_t b) mutable {
                if (++n_compared % (1 << 20) == 0) node_context.check_interrupt();
                return y[a] < y[b];
            });
            first = sorted.data(), last = sorted.data() + sorted.size();
        }
        node_context.values.clear();
        for (const uint32_t* r = first; r != last; ++r) {
            const uint32_t row = *r;
            if (node_context.values.empty() || node_context.values.back() != y[row])
                node_context.values.push_back(y[row]);
            node_context.rank[row] = static_cast<uint32_t>(node_context.values.size());
        }
    }
    void add(uint32_t row) { move_row(row, 1); }
    void sub(uint32_t row) { move_row(row, -1); }
    void add(const uint32_t* first, const uint32_t* last) { move_rows(first, last, 1); }
    void sub(const uint32_t* first, const uint32_t* last) { move_rows(first, last, -1); }
    void clear() {
        const size_t size = node_context_->values.size() + 1;
        if (many_rows_ || weights_.size() != size) {
            weights_.assign(size, 0);
            sums_.assign(size, 0);
        } else {  // few rows were added: undo just those
            for (size_t rank : added_ranks_) {
                for (size_t i = rank; i < size; i += i & (~i + 1)) weights_[i] = 0, sums_[i] = 0;
            }
        }
        added_ranks_.clear();
        many_rows_ = false;
        rows = weight = 0, sum = 0;
    }
    void assign(const AbsoluteErrorImpurity& other) {
        weights_ = other.weights_;
        sums_ = other.sums_;
        many_rows_ = true;
        rows = other.rows, weight = other.weight, sum = other.sum;
    }
    // Lower and upper weighted median: the first value with 2·(weight up to it) >= m, and the first with > m.
    std::pair<int64_t, int64_t> medians() const {
        return {node_context_->values[find_median(false).index], node_context_->values[find_median(true).index]};
    }
    int128 total_impurity() const {
        const Prefix low = find_median(false);
        const int128 median = node_context_->values[low.index];
        const int128 above = static_cast<int128>(weight) - low.weight;  // weight at the median or above
        return median * low.weight - low.sum + (sum - low.sum) - median * above;
    }

private:
    struct Prefix {
        size_t index;    // index of the median among the distinct targets
        int64_t weight;  // strictly below it
        int128 sum;
    };
    Prefix find_median(bool high) const {
        Prefix p{0, 0, 0};
        const size_t size = node_context_->values.size();
        for (size_t step = std::bit_floor(size); step; step >>= 1) {
            const size_t next = p.index + step;
            if (next > size) continue;
            const auto twice = 2 * (static_cast<int128>(p.weight) + weights_[next]);
            if (high ? twice <= weight : twice < weight) {
                p.index = next;
                p.weight += weights_[next];
                p.sum += sums_[next];
            }
        }
        return p;
    }
    // Many rows take one step each if the trees are taken apart before and put together afterwards.
    void move_rows(const uint32_t* first, const uint32_t* last, int64_t sign) {
        const auto n = static_cast<size_t>(last - first), size = weights_.size();
        if (n * static_cast<size_t>(std::bit_width(size)) < 4 * size) {
            for (const uint32_t* row = first; row != last; ++row) move_row(*row, sign);
            return;
        }
        many_rows_ = true;
        for (size_t i = size; i-- > 1;) {
            const size_t parent = i + (i & (~i + 1));
            if (parent < size) weights_[parent] -= weights_[i], sums_[parent] -= sums_[i];
        }
        for (const uint32_t* row = first; row != last; ++row) {
            const int64_t w = sign * target_->weight[*row];
            const int128 wy = static_cast<int128>(w) * node_context_->y[*row];
            rows += sign, weight += w, sum += wy;
            weights_[node_context_->rank[*row]] += w, sums_[node_context_->rank[*row]] += wy;
        }
        for (size_t i = 1; i < size; ++i) {
            const size_t parent = i + (i & (~i + 1));
            if (parent < size) weights_[parent] += weights_[i], sums_[parent] += sums_[i];
        }
    }
    void move_row(uint32_t row, int64_t sign) {
        const int64_t w = sign * target_->weight[row];
        const int128 wy = static_cast<int128>(w) * node_context_->y[row];
        rows += sign, weight += w, sum += wy;
        if (!many_rows_ && sign > 0) {
            added_ranks_.push_back(node_context_->rank[row]);
            many_rows_ = added_ranks_.size() > weights_.size() / 16;
        }
        for (size_t i = node_context_->rank[row]; i < weights_.size(); i += i & (~i + 1)) {
            weights_[i] += w;
            sums_[i] += wy;
        }
    }
    NodeContext* node_context_;
    const Target* target_;
    std::vector<int64_t> weights_;  // Fenwick trees over the node's distinct targets
    std::vector<int128> sums_;
    std::vector<uint32_t> added_ranks_;  // ranks added since the last clear …
    bool many_rows_ = false;             // … unless there are many
};

// Calls work.operator()<Impurity>() with the statistics class of a criterion: the only place where the enum becomes a
// type.
template <class Work>
auto dispatch_criterion(Criterion criterion, const Work& work) {
    switch (criterion) {
#define TREEWISE_CASE(name, Impurity, has_approx_impurity) \
    case Criterion::name: return work.template operator()<Impurity>();
        TREEWISE_CRITERIA(TREEWISE_CASE)
#undef TREEWISE_CASE
    }
    throw std::logic_error("unknown criterion");
}

// -- the order in which a subset's levels are tried -----------------------------------------------------------------

// A rate or a mean as an exact fraction.
struct Rate {
    int128 numerator = 0;
    int64_t denominator = 1;
    bool operator<(const Rate& other) const {  // integer parts first, then remainders cross-multiplied: cannot overflow
        const int128 whole_part = floor_div(numerator, denominator),
                     other_whole_part = floor_div(other.numerator, other.denominator);
        if (whole_part != other_whole_part) return whole_part < other_whole_part;
        return (numerator - whole_part * denominator) * other.denominator <
               (other.numerator - other_whole_part * other.denominator) * denominator;
    }
};

inline Rate rate(const ClassImpurity& side, int64_t cls) { return {side.counts()[cls], side.weight}; }
inline Rate rate(const SumImpurity& side, int64_t) { return {side.sum, side.weight}; }
inline Rate rate(const AbsoluteErrorImpurity& side, int64_t) {
    const auto [low, high] = side.medians();
    return {static_cast<int128>(low) + high, 1};
}

}  // namespace treewise
