// One pass over the sorted rows of a column for each placement of its missing rows, in segments:
//
//     segment         0           1           2           …
//     best gain       0.2         0.7 ◄       0.4              a point of the chart each
//     left, right     kept at the start of each
//
// The segments that reach the best gain, usually one, are passed again for the statistics of their thresholds.

#include "search/threshold_profile.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "problem/sort_keys.hpp"
#include "util/key_sorter.hpp"

namespace treewise {
namespace {

constexpr size_t kMostKept = 64;        // thresholds within rounding of the best; of more, the first ones within less
constexpr int64_t kMaxTable = 1 << 22;  // n·log n is tabulated up to this weight
constexpr size_t kAhead = 16;           // rows whose targets are fetched ahead
constexpr int64_t kSparse = 16;         // nodes of fewer than 1/16 of the rows are sorted instead of marked
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// n·log2 n of integers.
class Logarithms {
public:
    explicit Logarithms(int64_t most) {
        if (most > kMaxTable) return;
        table_.resize(static_cast<size_t>(most) + 1);
        for (size_t n = 2; n < table_.size(); ++n) table_[n] = compute(static_cast<double>(n));
    }
    double operator()(int64_t n) const {
        return static_cast<size_t>(n) < table_.size() ? table_[static_cast<size_t>(n)]
                                                      : compute(static_cast<double>(n));
    }

private:
    static double compute(double n) { return n > 1 ? n * std::log2(n) : 0.0; }
    std::vector<double> table_;
};

// What the scan of every column of a node needs.
struct NodeTargets {
    NodeTargets(const Target& t, const Settings& s, std::span<const uint32_t> rows)
        : target(t), settings(s), total(stats_width(t.n_classes)) {
        int128 sum = 0;
        common_weight = rows.empty() ? 0 : t.weight[rows.front()];
        for (uint32_t row : rows) {
            const int64_t w = t.weight[row];
            if (w != common_weight) common_weight = 0;
            ++total[kRows], total[kWeight] += w;
            if (t.n_classes)
                total[kCounts + static_cast<size_t>(t.label[row])] += w;
            else
                sum += static_cast<int128>(w) * t.y[row];
        }
        if (t.n_classes) {
            for (size_t c = 0; c < static_cast<size_t>(t.n_classes); ++c)
                if (total[kCounts + c]) classes.push_back(c);
            logarithms = Logarithms(s.criterion == Criterion::entropy || s.rule != Rule::gain ? total[kWeight] : 0);
            scale = static_cast<double>(total[kWeight]) * (1 + std::log2(1 + static_cast<double>(total[kWeight])));
            return;
        }
        add_sum(total.data() + kLimbs, sum);
        total_sum = sum;
        mean = total[kWeight] ? static_cast<int64_t>(sum / total[kWeight]) : 0;
        for (uint32_t row : rows) {
            const auto d = static_cast<double>(t.y[row] - mean);
            scale += static_cast<double>(t.weight[row]) * d * d;
        }
        logarithms = Logarithms(s.rule != Rule::gain ? total[kWeight] : 0);
    }
    int64_t weight_of(uint32_t row) const { return common_weight ? common_weight : target.weight[row]; }
    // Of scores; a ratio is a gain over the information of the split, which may be small.
    double tolerance() const {
        return scale * (settings.rule == Rule::ratio ? 0x1p-28 : target.n_classes ? 0x1p-40 : 0x1p-30);
    }
    // What the tolerance may shrink to where too many thresholds are within it.
    double rounding() const { return scale * (settings.rule == Rule::ratio ? 0x1p-34 : 0x1p-40); }

    const Target& target;
    const Settings& settings;
    RowStats total;
    int64_t common_weight = 0;    // of all rows of the node; 0 if they differ: reading weights at random is slow
    std::vector<size_t> classes;  // those that occur
    Logarithms logarithms{0};
    int128 total_sum = 0;
    int64_t mean = 0;  // regression: deviations from it are added up in doubles
    double scale = 0;  // of purities, for the tolerance
};

// Statistics of one side, and its purity (negative impurity).
template <bool kIsNumber>
struct Side {
    explicit Side(const NodeTargets& node) : stats(stats_width(node.target.n_classes)) {}
    void add(const NodeTargets& node, uint32_t row) {
        const int64_t w = node.weight_of(row);
        ++stats[kRows], stats[kWeight] += w;
        if constexpr (kIsNumber) {
            sum += static_cast<int128>(w) * node.target.y[row];
            deviations += static_cast<double>(w) * static_cast<double>(node.target.y[row] - node.mean);
        } else {
            stats[kCounts + static_cast<size_t>(node.target.label[row])] += w;
        }
    }
    // The present rows: all of the node without the missing ones, which are this side.
    Side rest(const NodeTargets& node) const {
        Side side(node);
        for (size_t i = 0; i < stats.size(); ++i) side.stats[i] = node.total[i] - stats[i];
        if constexpr (kIsNumber) {
            std::fill(side.stats.begin() + kLimbs, side.stats.end(), 0);
            side.sum = node.total_sum - sum;
            side.deviations = static_cast<double>(side.sum - static_cast<int128>(node.mean) * side.stats[kWeight]);
        }
        return side;
    }
    void merge(const Side& other) {
        treewise::add(stats.data(), other.stats.data(), stats.size());
        sum += other.sum, deviations += other.deviations;
    }
    RowStats stats;  // regression: without the sum of the targets, which is here
    int128 sum = 0;
    double deviations = 0;
};

double purity_of_classes(const NodeTargets& node, const int64_t* counts, int64_t weight) {
    double sum = 0;
    if (node.settings.criterion == Criterion::entropy) {
        for (size_t c : node.classes) sum += node.logarithms(counts[c]);
        return sum - node.logarithms(weight);
    }
    if (node.settings.criterion == Criterion::gini) {
        for (size_t c : node.classes) sum += static_cast<double>(counts[c]) * static_cast<double>(counts[c]);
        return weight ? sum / static_cast<double>(weight) : 0.0;
    }
    int64_t most = 0;
    for (size_t c : node.classes) most = std::max(most, counts[c]);
    return static_cast<double>(most);
}
double purity_of_number(double deviations, int64_t weight) {
    return weight ? deviations * deviations / static_cast<double>(weight) : 0.0;
}
template <bool kIsNumber>
double purity(const NodeTargets& node, const Side<kIsNumber>& side) {
    if constexpr (kIsNumber)
        return purity_of_number(side.deviations, side.stats[kWeight]);
    else
        return purity_of_classes(node, side.stats.data() + kCounts, side.stats[kWeight]);
}

template <bool kIsNumber>
class ColumnScan {
public:
    ColumnScan(const NodeTargets& node, int64_t n_points, const CheckInterrupt& check_interrupt)
        : node_(node),
          n_points_(n_points),
          check_interrupt_(check_interrupt),
          missing_side_(node),
          left_(node),
          right_(node) {}

    // rows: the present rows of the node in order; differs: whether the value of a row is another than the one before.
    ThresholdProfile run(std::span<const uint32_t> rows, std::span<const uint8_t> differs,
                         std::span<const uint32_t> missing) {
        for (uint32_t row : missing) missing_side_.add(node_, row);
        profile_.missing = exact(missing_side_);
        best_of_part_.assign(static_cast<size_t>(std::min<int64_t>(n_points_, static_cast<int64_t>(rows.size()))), {});
        left_of_part_.resize(best_of_part_.size());
        is_separate_ = is_separate();
        missing_purity_ = is_separate_ ? purity(node_, missing_side_) : 0.0;
        const int placements = missing.empty() || is_separate_ ? 1 : 2;
        for (int placement = 0; placement < placements; ++placement) scan(rows, differs, placement, !missing.empty());
        for (const Segment& segment : segments_) best_ = std::max(best_, segment.score);
        for (const Segment& segment : segments_)
            if (segment.score >= best_ - tolerance_) offer_segment(segment, rows, differs);
        for (size_t part = 0; part < best_of_part_.size(); ++part) {
            if (best_of_part_[part].gain == -kInfinity) continue;
            profile_.points.push_back(best_of_part_[part]);
            profile_.points_left.push_back(left_of_part_[part]);
        }
        return std::move(profile_);
    }

private:
    struct Part : ProfiledCut {
        Part() { gain = -kInfinity; }
    };
    static RowStats exact(const Side<kIsNumber>& side) {
        RowStats stats = side.stats;
        if constexpr (kIsNumber) add_sum(stats.data() + kLimbs, side.sum);
        return stats;
    }
    bool is_separate() const {
        const Settings& s = node_.settings;
        return s.missing_branch && missing_side_.stats[kRows] >= std::max<int64_t>(1, s.min_samples_leaf) &&
               missing_side_.stats[kWeight] >= s.min_leaf_weight;
    }
    bool fits(const Side<kIsNumber>& side) const {
        return side.stats[kRows] >= node_.settings.min_samples_leaf &&
               side.stats[kWeight] >= node_.settings.min_leaf_weight;
    }

    // Rows begin … end, where a threshold is before each; and what is on its sides before the first.
    struct Segment {
        int64_t begin, end, position, placement;
        Side<kIsNumber> left, right;
        double node_purity;
        double score = -kInfinity;  // of its best threshold
    };

    void scan(std::span<const uint32_t> rows, std::span<const uint8_t> differs, int64_t placement, bool any_missing) {
        left_ = Side<kIsNumber>(node_), right_ = missing_side_.rest(node_);
        if (any_missing && !is_separate_) (placement == 0 ? left_ : right_).merge(missing_side_);
        const double node_purity = is_separate_ ? node_purity_of_all() : purity_of_sum(left_, right_);
        const auto n = static_cast<int64_t>(rows.size()), n_parts = static_cast<int64_t>(best_of_part_.size());
        int64_t position = 0;
        for (int64_t p = 0; p < n_parts; ++p) {
            check_interrupt_();
            const auto part = static_cast<size_t>(p);
            const int64_t begin = std::max<int64_t>(1, (p * n + n_parts - 1) / n_parts);
            const int64_t end = ((p + 1) * n + n_parts - 1) / n_parts;
            segments_.push_back({begin, end, position, placement, left_, right_, node_purity});
            double best_score = -kInfinity;
            const auto visit = [&](const ProfiledCut& cut, double score, int64_t i) {
                if (placement == 0) ++profile_.n_eligible;
                best_score = std::max(best_score, score);
                if (cut.gain > best_of_part_[part].gain) {
                    static_cast<ProfiledCut&>(best_of_part_[part]) = cut;
                    left_of_part_[part] = i;
                }
            };
            position = pass(segments_.back(), rows, differs, visit);
            segments_.back().score = best_score;
        }
        if (placement == 0) profile_.n_cuts = position;
    }
    void offer_segment(const Segment& segment, std::span<const uint32_t> rows, std::span<const uint8_t> differs) {
        left_ = segment.left, right_ = segment.right;
        pass(segment, rows, differs, [&](const ProfiledCut& cut, double score, int64_t) { offer(cut, score); });
    }
    // Calls visit(cut, score, rows on the left) for the thresholds that leave enough rows on both sides; moves the
    // rows of the segment to the left, and returns the position after it.
    int64_t pass(const Segment& segment, std::span<const uint32_t> rows, std::span<const uint8_t> differs,
                 auto&& visit) {
        int64_t position = segment.position;
        const bool is_ratio = node_.settings.rule == Rule::ratio;
        for (int64_t i = segment.begin; i < segment.end; ++i) {
            const auto at = static_cast<size_t>(i);
            if (at + kAhead < rows.size()) prefetch(rows[at + kAhead]);
            move(rows[at - 1]);
            if (!differs[at]) continue;
            const int64_t own = position++;
            if (!fits(left_) || !fits(right_)) continue;
            const double gain = purity(node_, left_) + purity(node_, right_) + missing_purity_ - segment.node_purity;
            visit(ProfiledCut{gain, own, segment.placement, rows[at - 1], rows[at]}, is_ratio ? ratio(gain) : gain, i);
        }
        return position;
    }
    void prefetch(uint32_t row) const {
        if constexpr (kIsNumber) __builtin_prefetch(node_.target.y + row);
        if (!node_.common_weight) node_.target.weight.prefetch(row);
    }
    void move(uint32_t row) {
        const int64_t w = node_.weight_of(row);
        ++left_.stats[kRows], --right_.stats[kRows];
        left_.stats[kWeight] += w, right_.stats[kWeight] -= w;
        if constexpr (kIsNumber) {
            const auto d = static_cast<double>(w) * static_cast<double>(node_.target.y[row] - node_.mean);
            left_.sum += static_cast<int128>(w) * node_.target.y[row];
            left_.deviations += d, right_.deviations -= d;
        } else {
            const size_t c = kCounts + static_cast<size_t>(node_.target.label[row]);
            left_.stats[c] += w, right_.stats[c] -= w;
        }
    }
    double purity_of_sum(const Side<kIsNumber>& a, const Side<kIsNumber>& b) const {
        if constexpr (kIsNumber) {
            return purity_of_number(a.deviations + b.deviations, a.stats[kWeight] + b.stats[kWeight]);
        } else {
            RowStats sum = a.stats;
            add(sum.data(), b.stats.data(), sum.size());
            return purity_of_classes(node_, sum.data() + kCounts, sum[kWeight]);
        }
    }
    double node_purity_of_all() const {
        if constexpr (kIsNumber)
            return purity_of_number(left_.deviations + right_.deviations + missing_side_.deviations,
                                    node_.total[kWeight]);
        else
            return purity_of_classes(node_, node_.total.data() + kCounts, node_.total[kWeight]);
    }
    double ratio(double gain) const {
        const auto& nlogn = node_.logarithms;
        const double information = nlogn(node_.total[kWeight]) - nlogn(left_.stats[kWeight]) -
                                   nlogn(right_.stats[kWeight]) -
                                   (is_separate_ ? nlogn(missing_side_.stats[kWeight]) : 0.0);
        return information > 0 ? gain / information * node_.scale : 0.0;  // in units of the tolerance
    }

    // Keeps a threshold that may be the best, with the statistics of the present rows on its left.
    // Too many of them narrow the tolerance down to what doubles round; beyond that they tie, and the first stay.
    void offer(const ProfiledCut& cut, double score) {
        if (score < best_ - tolerance_) return;
        while (profile_.best.size() == kMostKept && tolerance_ > node_.rounding()) tolerance_ /= 4, drop_worse();
        if (score < best_ - tolerance_) return;
        if (profile_.best.size() == kMostKept) {
            const auto order = [](const ProfiledCut& c) { return std::pair(c.position, c.placement); };
            const auto last = std::ranges::max_element(profile_.best, {}, order);
            if (order(*last) < order(cut)) return;
            drop(static_cast<size_t>(last - profile_.best.begin()));
        }
        profile_.best.push_back(cut), scores_.push_back(score);
        RowStats present = exact(left_);
        if (!is_separate_ && cut.placement == 0 && missing_side_.stats[kRows]) subtract_missing(present);
        profile_.left.insert(profile_.left.end(), present.begin(), present.end());
    }
    void drop_worse() {
        for (size_t i = scores_.size(); i-- > 0;)
            if (scores_[i] < best_ - tolerance_) drop(i);
    }
    void drop(size_t i) {
        const auto at = static_cast<int64_t>(i), width = static_cast<int64_t>(profile_.left.size() / scores_.size());
        profile_.left.erase(profile_.left.begin() + at * width, profile_.left.begin() + (at + 1) * width);
        profile_.best.erase(profile_.best.begin() + at), scores_.erase(scores_.begin() + at);
    }
    void subtract_missing(RowStats& stats) const {
        stats[kRows] -= missing_side_.stats[kRows], stats[kWeight] -= missing_side_.stats[kWeight];
        if constexpr (kIsNumber) {
            std::fill_n(stats.begin() + kLimbs, kQuantised - kLimbs, 0);
            add_sum(stats.data() + kLimbs, left_.sum - missing_side_.sum);
        } else {
            sub(stats.data() + kCounts, missing_side_.stats.data() + kCounts, stats.size() - kCounts);
        }
    }

    const NodeTargets& node_;
    int64_t n_points_;
    const CheckInterrupt& check_interrupt_;
    Side<kIsNumber> missing_side_, left_, right_;
    bool is_separate_ = false;
    double missing_purity_ = 0, best_ = -kInfinity, tolerance_ = node_.tolerance();
    std::vector<double> scores_;  // of the thresholds that are kept
    std::vector<Part> best_of_part_;
    std::vector<int64_t> left_of_part_;
    std::vector<Segment> segments_;
    ThresholdProfile profile_;
};

SortedColumns::Order sort_node(const Column& column, std::span<const uint32_t> rows,
                               const CheckInterrupt& check_interrupt) {
    SortedColumns::Order order;
    std::vector<int64_t> keys(rows.size());
    read_keys(column, rows, keys.data());
    std::vector<uint32_t> at(rows.size());
    std::iota(at.begin(), at.end(), 0u);
    KeySorter().sort(keys, at, check_interrupt);
    int64_t before = kMissingKey;
    for (uint32_t i : at) {
        if (keys[i] == kMissingKey) {
            order.missing.push_back(rows[i]);
            continue;
        }
        order.rows.push_back(rows[i]);
        order.differs.push_back(keys[i] != before);
        before = keys[i];
    }
    return order;
}

SortedColumns::Order select_node(const SortedColumns::Order& sorted, const std::vector<uint8_t>& is_in, size_t n_rows) {
    SortedColumns::Order order;
    order.rows.resize(n_rows + 1), order.differs.resize(n_rows + 1);
    size_t n = 0;
    uint8_t differs = 1;
    for (size_t i = 0; i < sorted.rows.size(); ++i) {  // without a branch, which no processor could predict
        const uint32_t row = sorted.rows[i];
        differs |= sorted.differs[i];
        order.rows[n] = row, order.differs[n] = differs;
        n += is_in[row], differs &= is_in[row] ^ 1;
    }
    order.rows.resize(n), order.differs.resize(n);
    for (uint32_t row : sorted.missing)
        if (is_in[row]) order.missing.push_back(row);
    return order;
}

}  // namespace

SortedColumns::SortedColumns(const std::vector<Column>& columns, int64_t n_rows, ThreadPool& pool,
                             const CheckInterrupt& check_interrupt)
    : n_rows_(n_rows), orders_(columns.size()) {
    std::vector<uint32_t> all(static_cast<size_t>(n_rows));
    std::iota(all.begin(), all.end(), 0u);
    pool.parallel_for(
        columns.size(),
        [&](size_t c, int worker) {
            if (columns[c].is_code()) return;
            orders_[c] = sort_node(columns[c], all, pool.interrupt_check(worker, check_interrupt));
        },
        check_interrupt);
}

std::vector<ThresholdProfile> profile_thresholds(const std::vector<Column>& columns, const Target& target,
                                                 const Settings& settings, const SortedColumns& sorted,
                                                 std::span<const uint32_t> rows, std::span<const int64_t> chosen,
                                                 int64_t n_points, ThreadPool& pool,
                                                 const CheckInterrupt& check_interrupt) {
    const NodeTargets node(target, settings, rows);
    const bool is_sparse = static_cast<int64_t>(rows.size()) * kSparse < target.n_rows;
    const bool is_all = !is_sparse && static_cast<int64_t>(rows.size()) == target.n_rows;
    std::vector<uint8_t> is_in(is_sparse || is_all ? 0 : static_cast<size_t>(target.n_rows));
    if (!is_in.empty())
        for (uint32_t row : rows) is_in[row] = 1;
    std::vector<ThresholdProfile> profiles(chosen.size());
    pool.parallel_for(
        chosen.size(),
        [&](size_t i, int worker) {
            const auto c = static_cast<size_t>(chosen[i]);
            const CheckInterrupt check = pool.interrupt_check(worker, check_interrupt);
            SortedColumns::Order own;
            if (is_sparse)
                own = sort_node(columns[c], rows, check);
            else if (!is_all)
                own = select_node(sorted[c], is_in, rows.size());
            const SortedColumns::Order& order = is_all ? sorted[c] : own;
            if (target.n_classes)
                profiles[i] = ColumnScan<false>(node, n_points, check).run(order.rows, order.differs, order.missing);
            else
                profiles[i] = ColumnScan<true>(node, n_points, check).run(order.rows, order.differs, order.missing);
        },
        check_interrupt);
    return profiles;
}

}  // namespace treewise
