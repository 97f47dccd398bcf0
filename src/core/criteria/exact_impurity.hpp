// Sides: the running statistics of one branch, and the criteria as what they measure of it.
//
// A side can take a row in (add), give it back (sub), and say its total impurity in integers (total), as criteria.py
// defines it. The scans (search/exact_splitter.hpp) move rows from one side to another and never know which criterion
// they serve:
//
//     left  [ a b c | d e f g ]  right         right.sub(d); left.add(d); score = left.total() + right.total()
//
// Every criterion needs only a few numbers for that, and add/sub change them in O(1) whatever the number of classes;
// but misclassification error looks at all classes of a side when it loses a row of the largest, and absolute error
// takes O(log n): it keeps its rows in a rank tree.

#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "criteria/stats.hpp"
#include "problem/problem.hpp"
#include "util/fixed_point.hpp"

namespace treewise {

// What all sides share: the target, and what the node at hand fixes for its branches (criteria.py: Measure).
struct Desk {
    explicit Desk(const Target& t, const Nlogn::Known* known = nullptr)
        : target(t), nlogn(static_cast<uint64_t>(t.n_rows), known), y(t.y), scale(t.n_classes ? 0 : t.scale) {}

    const Target& target;
    Nlogn nlogn;
    const int64_t* y;                     // regression: the target in the node's units …
    int scale = 0;                        // … of 2^-scale
    int64_t low = 0, high = 0;            // regression: smallest and largest y of the node
    int128 rounding = 0;                  // by how many units a gain may be off …
    int128 per_branch = 0;                // … and by how many more for each branch
    double worth = 1.0;                   // what one unit is, in total impurity of y …
    int degree = 0;                       // … which grows by this power of y
    int128 mean = 0;                      // squared error: targets are taken about the node's mean …
    int shift = 0;                        // … and cut to the bits that matter at this node,
    int fraction = 0;                     // with so many more after the point
    std::vector<uint32_t> rank;           // absolute error: a row's place among the node's distinct targets, from 1 …
    std::vector<int64_t> values;          // … which are these, ascending
    std::vector<int64_t> finer;           // y of the node's rows, where it has units of its own
    std::function<void()> pulse = [] {};  // asks between long steps whether to go on

    // Begin with a node: its units and the range of its targets. Where targets were rounded to fit beside a far larger
    // one of the table, a node of small ones takes them in finer units (problem: Problem.at).
    void sit(const uint32_t* first, const uint32_t* last) {
        if (target.n_classes) return;
        y = target.y, scale = target.scale;
        find_range(first, last);
        constexpr int64_t kPlenty = int64_t{1} << 41;
        if (target.top == kAllFit || high > kPlenty || low < -kPlenty) return;
        double largest = 0.0;
        for (const uint32_t* row = first; row != last; ++row) largest = std::max(largest, std::abs(target.raw[*row]));
        int exponent = 0;
        std::frexp(largest, &exponent);
        const int more = largest > 0.0 ? (target.top - exponent) / kFiner * kFiner : 0;
        if (more == 0) return;
        scale += more;
        finer.resize(target.n_rows);
        for (const uint32_t* row = first; row != last; ++row) {
            const double raw = target.raw[*row];
            const auto rounded = static_cast<int64_t>(std::rint(scaled(raw, scale)));
            finer[*row] = rounded ? rounded : (raw > 0) - (raw < 0);
        }
        y = finer.data();
        find_range(first, last);
    }
    int128 slack(int branches) const { return rounding + per_branch * branches; }

    // A gain that rounding alone may have made is none.
    int128 settled(int128 gain, int branches) const {
        return gain > slack(branches) || -gain > slack(branches) ? gain : 0;
    }
    double in_users_units(int128 total, int64_t weight) const {  // per unit of weight
        return scaled(static_cast<double>(total) * worth / static_cast<double>(weight), -degree * scale);
    }

private:
    static constexpr int kFiner = 20;  // bits a node's targets get more at a time

    void find_range(const uint32_t* first, const uint32_t* last) {
        low = high = y[*first];
        for (const uint32_t* row = first; row != last; ++row) {
            low = std::min(low, y[*row]);
            high = std::max(high, y[*row]);
        }
    }
};

// -- classification ---------------------------------------------------------------------------------------------------

// Weights of the classes of some rows, with the list of classes that occurred, so that clearing costs what is there.
class Counts {
public:
    explicit Counts(Desk& desk)
        : desk_(&desk), target_(&desk.target), count_(desk.target.n_classes, 0), listed_(desk.target.n_classes, 0) {}

    int64_t rows = 0, weight = 0;

    const std::vector<int64_t>& counts() const { return count_; }
    const std::vector<int32_t>& seen() const { return seen_; }
    bool valid() const { return true; }

    static void open(Desk&, const uint32_t*, const uint32_t*) {}

protected:
    void set_rounding(int128 rounding, int128 per_branch) const {
        desk_->rounding = rounding;
        desk_->per_branch = per_branch;
        desk_->worth = kUnit;
        desk_->degree = 0;
    }
    int64_t take(int32_t c, int64_t w) {  // returns the class's weight before
        const int64_t before = count_[c];
        if (!listed_[c]) listed_[c] = 1, seen_.push_back(c);
        count_[c] = before + w;
        weight += w;
        return before;
    }
    void wipe() {
        for (int32_t c : seen_) count_[c] = 0, listed_[c] = 0;
        seen_.clear();
        rows = weight = 0;
    }
    void copy(const Counts& other) {
        wipe();
        seen_ = other.seen_;
        for (int32_t c : seen_) count_[c] = other.count_[c], listed_[c] = 1;
        rows = other.rows;
        weight = other.weight;
    }
    Desk* desk_;
    const Target* target_;
    std::vector<int64_t> count_;
    std::vector<uint8_t> listed_;  // whether a class is in seen_
    std::vector<int32_t> seen_;
};

// Rows and whole buckets come and go class by class: Self says what that does to its sum (pass).
template <class Self>
class ByClass : public Counts {
public:
    using Counts::Counts;
    void add(uint32_t row) { move(row, 1); }
    void sub(uint32_t row) { move(row, -1); }
    void add(const int64_t* stat) { move(stat, 1); }
    void sub(const int64_t* stat) { move(stat, -1); }
    void merge(const Self& other) {  // take in all rows of another side
        rows += other.rows;
        for (int32_t c : other.seen_) self().pass(c, other.count_[c]);
    }

private:
    Self& self() { return static_cast<Self&>(*this); }
    void move(uint32_t row, int64_t sign) {
        rows += sign;
        self().pass(target_->label[row], sign * target_->weight[row]);
    }
    void move(const int64_t* stat, int64_t sign) {
        rows += sign * stat[kRows];
        for (size_t c = 0; c < count_.size(); ++c) {
            if (stat[kCounts + c]) self().pass(static_cast<int32_t>(c), sign * stat[kCounts + c]);
        }
    }
};

// m·H = m·log m − Σ c·log c
class EntropySide : public ByClass<EntropySide> {
public:
    using ByClass::ByClass;
    void clear() { wipe(), sum_ = 0; }
    void assign(const EntropySide& other) { copy(other), sum_ = other.sum_; }
    int128 total() const { return desk_->nlogn(weight) - sum_; }
    void pass(int32_t c, int64_t w) {
        const int64_t before = take(c, w);
        sum_ += desk_->nlogn(before + w) - desk_->nlogn(before);
    }

    // Called on the side that holds all rows of the node. Each logarithm is off by less than two units, times its
    // count, and the counts of all terms add up to 4·m at most.
    void measure() const { set_rounding(static_cast<int128>(8) * weight, 0); }

private:
    int128 sum_ = 0;  // Σ c·log c
};

// m·(1 − Σ p²) = m − Σ c²/m
class GiniSide : public ByClass<GiniSide> {
public:
    using ByClass::ByClass;
    void clear() { wipe(), squares_ = 0; }
    void assign(const GiniSide& other) { copy(other), squares_ = other.squares_; }
    int128 total() const {
        const auto m = static_cast<uint128>(weight);
        const uint128 whole = squares_ / m, rest = squares_ % m;
        return (static_cast<int128>(weight) << kFraction) -
               static_cast<int128>((whole << kFraction) + (rest << kFraction) / m);
    }
    void pass(int32_t c, int64_t w) {
        const auto before = static_cast<int128>(take(c, w)), after = before + w;
        squares_ += static_cast<uint128>(after * after - before * before);
    }

    void measure() const { set_rounding(1, 1); }  // one quotient a branch, and the node's own

private:
    uint128 squares_ = 0;  // Σ c²
};

// m − max c
class ErrorSide : public ByClass<ErrorSide> {
public:
    using ByClass::ByClass;
    void clear() { wipe(), most_ = 0; }
    void assign(const ErrorSide& other) { copy(other), most_ = other.most_; }
    int128 total() const { return static_cast<int128>(weight - most_) << kFraction; }
    void pass(int32_t c, int64_t w) {
        const int64_t before = take(c, w);
        most_ = std::max(most_, before + w);
        if (w > 0 || before != most_) return;
        most_ = 0;  // the largest class may be another one now
        for (int32_t other : seen_) most_ = std::max(most_, count_[other]);
    }

    void measure() const { set_rounding(0, 0); }  // exact

private:
    int64_t most_ = 0;
};

// -- regression -------------------------------------------------------------------------------------------------------

class Sums {
public:
    explicit Sums(Desk& desk) : desk_(&desk), target_(&desk.target) {}

    int64_t rows = 0, weight = 0;
    int128 sum = 0;  // Σ w·y

    static void open(Desk&, const uint32_t*, const uint32_t*) {}
    void add(uint32_t row) { step(row, 1); }
    void sub(uint32_t row) { step(row, -1); }
    void add(const int64_t* stat) { rows += stat[kRows], weight += stat[kWeight], sum += sum_of(stat); }
    void sub(const int64_t* stat) { rows -= stat[kRows], weight -= stat[kWeight], sum -= sum_of(stat); }
    void clear() { rows = weight = 0, sum = 0; }
    void merge(const Sums& other) { rows += other.rows, weight += other.weight, sum += other.sum; }

protected:
    void step(uint32_t row, int64_t sign) {
        const int64_t w = sign * target_->weight[row];
        rows += sign;
        weight += w;
        sum += static_cast<int128>(w) * desk_->y[row];
    }
    Desk* desk_;
    const Target* target_;
};

// −S²/m about the node's mean; Σ y² is the same for every split of a node. In 126 bits there is room for the square of
// S and a fraction; where S is longer than 62 bits its tail is cut, at the node's own scale.
class SquaredSide : public Sums {
public:
    using Sums::Sums;
    bool valid() const { return true; }
    void assign(const SquaredSide& other) { *this = other; }
    int128 total() const {
        const int128 centred = (sum - weight * desk_->mean) >> desk_->shift;
        return -static_cast<int128>((static_cast<uint128>(centred * centred) << desk_->fraction) /
                                    static_cast<uint128>(weight));
    }
    void measure() const {
        const auto spread = static_cast<int128>(desk_->high) - desk_->low + 1;
        const int bits = bit_length(static_cast<uint128>(weight * spread));
        desk_->mean = floor_div(sum, weight);
        desk_->shift = std::max(0, bits - 62);
        desk_->fraction = std::min(kFraction, 126 - 2 * (bits - desk_->shift));
        const int128 tail = desk_->shift ? 2 * ((spread >> desk_->shift) + 1) << desk_->fraction : 0;
        desk_->rounding = desk_->per_branch = 1 + tail;  // a quotient, and a cut tail of S
        desk_->worth = scaled(1.0, 2 * desk_->shift - desk_->fraction);
        desk_->degree = 2;
    }
};

// −S·log(S/m): half the Poisson deviance but for Σ y·log y. A branch of sum 0 would predict 0: not valid.
class PoissonSide : public Sums {
public:
    using Sums::Sums;
    bool valid() const { return sum > 0; }
    void assign(const PoissonSide& other) { *this = other; }
    int128 total() const {
        const int128 s = sum >> desk_->shift;
        return s * log2_fixed(static_cast<uint64_t>(weight)) - desk_->nlogn(static_cast<int64_t>(s));
    }
    void measure() const {
        desk_->shift = std::max(0, bit_length(static_cast<uint128>(sum)) - 56);
        desk_->per_branch = desk_->shift ? static_cast<int128>(64) << kFraction : 0;  // a cut tail of S
        desk_->rounding = 8 * (sum >> desk_->shift) + desk_->per_branch;
        desk_->worth = 0.6931471805599453 * scaled(1.0, desk_->shift - kFraction);
        desk_->degree = 1;
    }
};

// Σ |y − median|: weights and sums in a rank tree (Fenwick) over the node's distinct targets.
class AbsoluteSide {
public:
    explicit AbsoluteSide(Desk& desk) : desk_(&desk), target_(&desk.target) {}

    int64_t rows = 0, weight = 0;
    int128 sum = 0;

    bool valid() const { return true; }
    void measure() const { desk_->rounding = desk_->per_branch = 0, desk_->worth = 1.0, desk_->degree = 1; }

    // Rank the targets of the node's rows, once for all sides.
    static void open(Desk& desk, const uint32_t* first, const uint32_t* last) {
        const int64_t* y = desk.y;
        desk.rank.resize(desk.target.n_rows);
        std::vector<uint32_t> order(first, last);
        std::sort(order.begin(), order.end(), [&, asked = size_t{0}](uint32_t a, uint32_t b) mutable {
            if (++asked % (1 << 20) == 0) desk.pulse();
            return y[a] < y[b];
        });
        desk.values.clear();
        for (uint32_t row : order) {
            if (desk.values.empty() || desk.values.back() != y[row]) desk.values.push_back(y[row]);
            desk.rank[row] = static_cast<uint32_t>(desk.values.size());
        }
    }
    void add(uint32_t row) { step(row, 1); }
    void sub(uint32_t row) { step(row, -1); }
    void clear() {
        const size_t size = desk_->values.size() + 1;
        if (crowded_ || weights_.size() != size) {
            weights_.assign(size, 0);
            sums_.assign(size, 0);
        } else {  // few rows were put in: clearing costs what they did
            for (size_t rank : put_in_) {
                for (size_t i = rank; i < size; i += i & (~i + 1)) weights_[i] = 0, sums_[i] = 0;
            }
        }
        put_in_.clear();
        crowded_ = false;
        rows = weight = 0, sum = 0;
    }
    void assign(const AbsoluteSide& other) {
        weights_ = other.weights_;
        sums_ = other.sums_;
        crowded_ = true;
        rows = other.rows, weight = other.weight, sum = other.sum;
    }
    // The middle value reached first (2·weight up to it >= m) and the one that passes the middle (> m).
    std::pair<int64_t, int64_t> medians() const {
        return {desk_->values[descend(false).at], desk_->values[descend(true).at]};
    }
    int128 total() const {
        const Prefix low = descend(false);
        const int128 middle = desk_->values[low.at];
        const int128 here = static_cast<int128>(weight) - low.weight;  // at the median or above it
        return middle * low.weight - low.sum + (sum - low.sum) - middle * here;
    }

private:
    struct Prefix {
        size_t at;       // index of the median among the distinct targets
        int64_t weight;  // strictly below it
        int128 sum;
    };
    Prefix descend(bool upper) const {
        Prefix p{0, 0, 0};
        const size_t size = desk_->values.size();
        for (size_t step = std::bit_floor(size); step; step >>= 1) {
            const size_t next = p.at + step;
            if (next > size) continue;
            const auto twice = 2 * (static_cast<int128>(p.weight) + weights_[next]);
            if (upper ? twice <= weight : twice < weight) {
                p.at = next;
                p.weight += weights_[next];
                p.sum += sums_[next];
            }
        }
        return p;
    }
    void step(uint32_t row, int64_t sign) {
        const int64_t w = sign * target_->weight[row];
        const int128 wy = static_cast<int128>(w) * desk_->y[row];
        rows += sign, weight += w, sum += wy;
        if (!crowded_ && sign > 0) {
            put_in_.push_back(desk_->rank[row]);
            crowded_ = put_in_.size() > weights_.size() / 16;
        }
        for (size_t i = desk_->rank[row]; i < weights_.size(); i += i & (~i + 1)) {
            weights_[i] += w;
            sums_[i] += wy;
        }
    }
    Desk* desk_;
    const Target* target_;
    std::vector<int64_t> weights_;  // Fenwick trees over the node's distinct targets
    std::vector<int128> sums_;
    std::vector<uint32_t> put_in_;  // ranks of the rows added since it was empty …
    bool crowded_ = false;          // … unless they are many
};

// Calls work.operator()<Side>() with the side of a criterion: the one place where a name becomes a type.
template <class Work>
auto with_side(Criterion criterion, const Work& work) {
    switch (criterion) {
        case Criterion::entropy: return work.template operator()<EntropySide>();
        case Criterion::gini: return work.template operator()<GiniSide>();
        case Criterion::error: return work.template operator()<ErrorSide>();
        case Criterion::squared_error: return work.template operator()<SquaredSide>();
        case Criterion::absolute_error: return work.template operator()<AbsoluteSide>();
        case Criterion::poisson: return work.template operator()<PoissonSide>();
    }
    throw std::logic_error("unknown criterion");
}

// -- the order in which a subset's levels are tried
// ---------------------------------------------------------------------

// A rate or a mean as an exact fraction.
struct Rate {
    int128 over = 0;
    int64_t under = 1;
    bool operator<(const Rate& other) const {  // whole parts first, then the remainders crosswise: no overflow
        const int128 mine = floor_div(over, under), theirs = floor_div(other.over, other.under);
        if (mine != theirs) return mine < theirs;
        return (over - mine * under) * other.under < (other.over - theirs * other.under) * under;
    }
};

inline Rate rate(const Counts& side, int64_t cls) { return {side.counts()[cls], side.weight}; }
inline Rate rate(const Sums& side, int64_t) { return {side.sum, side.weight}; }
inline Rate rate(const AbsoluteSide& side, int64_t) {
    const auto [low, high] = side.medians();
    return {static_cast<int128>(low) + high, 1};
}

}  // namespace treewise
