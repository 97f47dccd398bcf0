#include "forest/regression_grower.hpp"

#include <array>
#include <limits>

#include "criteria/exact_impurity.hpp"
#include "criteria/leaf_value.hpp"
#include "criteria/simd.hpp"
#include "grow/shared_tables.hpp"
#include "search/best_split.hpp"
#include "search/midpoint.hpp"
#include "search/node_columns.hpp"
#include "util/radix_sort.hpp"
#include "util/thread_pool.hpp"

namespace treewise {

namespace {

constexpr size_t kRowsPerBatch = 64;  // their cells stay in cache
constexpr size_t kManyCuts = 64;      // then those that can no longer win are dropped

// A node whose parent has been written.
struct OpenNode {
    size_t begin, end;  // its rows
    uint64_t node_key;  // for random draws
    int32_t depth;
    int64_t weight = 0;  // of its rows …
    int128 sum = 0;      // … and Σ w·y, unless the weight is 0: not known
};

// A cut that may be the best of its node.
struct Cut {
    size_t column;
    size_t gathered_index;  // of the column, among the gathered ones
    int64_t left_rank;      // largest key (random cuts) or rank on the left …
    int64_t right_rank;     // … and the smallest rank on the right
    int64_t left_rows, left_weight;
    int64_t left_sum;  // quantised: Σ w·(y − mean) of the left rows, without the last bits
    double purity;
    int128 exact_left_sum = 0;  // Σ w·y
};

}  // namespace

class RegressionScratch {
public:
    PackedTree tree;
    std::vector<Row> rows, right_rows;                      // of all nodes: a node is a segment …
    std::vector<int64_t> y, right_y, weight, right_weight;  // … with targets and weights beside
    std::vector<int64_t> quantised;                         // of the current node: w·(y − mean) without the last bits
    std::vector<int64_t> rescaled_y;                        // of the current node, if it has units of its own
    std::vector<int64_t> sums;                              // of the current column, left of each cut
    std::vector<std::vector<int64_t>> keys;                 // of the current node, by gathered column
    std::vector<std::vector<uint32_t>> ranks;
    std::vector<uint32_t> positions;  // 0, 1, 2, …
    std::vector<double> prefix, weights, purities;
    std::vector<int64_t> left_weight;
    std::vector<size_t> gathered;
    std::vector<Cut> cuts;
    std::vector<OpenNode> open;
    RankSorter sorter;
};
void DeleteRegressionScratch::operator()(RegressionScratch* scratch) const { delete scratch; }

namespace {

class RegressionGrower {
public:
    RegressionGrower(const std::vector<Column>& columns, const Target& target, const Settings& settings,
                     const ProgressCallback& progress, std::span<const Row> rows, const SharedTables& shared,
                     RegressionScratch& scratch)
        : columns_(columns),
          target_(target),
          settings_(settings),
          progress_(progress),
          tables_(shared.tables),
          ranks_(shared.ranks ? &*shared.ranks : nullptr),
          scratch_(scratch),
          node_columns_(columns, settings),
          node_context_(target),
          node_total_(node_context_),
          side_(node_context_),
          best_(settings.random_ties) {
        load_rows(rows);
        clear_tree();
    }

    PackedTree grow() {
        scratch_.open.assign(1, {0, scratch_.rows.size(), mix64(0, settings_.seed), 0});
        while (!scratch_.open.empty()) {
            const OpenNode node = scratch_.open.back();
            scratch_.open.pop_back();
            begin_node(node);
            const StopReason stop = n_ == 1 ? kPure : leaf_condition();
            const StopReason reason = stop == kNone ? find_split() : stop;
            if (reason == kNone)
                split_node();
            else
                write_leaf(reason);
        }
        return scratch_.tree;  // a copy takes no more memory than it needs
    }

private:
    static constexpr int64_t kRowsPerCheck = 1 << 10;

    // -- the tree -----------------------------------------------------------------------------------------------------

    void load_rows(std::span<const Row> rows) {
        const size_t n = rows.size();
        scratch_.rows.assign(rows.begin(), rows.end());
        scratch_.y.resize(n), scratch_.weight.resize(n);
        for (size_t i = 0; i < n; ++i) {
            scratch_.y[i] = target_.y[rows[i]], scratch_.weight[i] = target_.weight[rows[i]];
            total_weight_ += scratch_.weight[i], unit_weights_ = unit_weights_ && scratch_.weight[i] == 1;
        }
        for (auto* v : {&scratch_.right_y, &scratch_.right_weight, &scratch_.quantised, &scratch_.rescaled_y,
                        &scratch_.sums, &scratch_.left_weight})
            if (v->size() < n) v->resize(n);
        if (scratch_.right_rows.size() < n) scratch_.right_rows.resize(n);
        for (auto* v : {&scratch_.prefix, &scratch_.weights, &scratch_.purities})
            if (v->size() < n) v->resize(n);
        for (size_t i = scratch_.positions.size(); i < n; ++i) scratch_.positions.push_back(static_cast<uint32_t>(i));
    }
    void clear_tree() {
        PackedTree& tree = scratch_.tree;
        tree.kind.clear(), tree.column.clear(), tree.cut.clear(), tree.cut_int.clear(), tree.missing.clear();
        tree.stop.clear(), tree.rows.clear(), tree.weight.clear(), tree.value.clear(), tree.spread.clear();
        tree.impurity_decrease.assign(columns_.size(), 0.0);
        for (const Column& column : columns_) has_wide_integers_ = has_wide_integers_ || !column.is_number();
    }
    void write_leaf(StopReason reason) {
        PackedTree& tree = scratch_.tree;
        tree.kind.push_back(kLeaf), tree.stop.push_back(reason);
        tree.rows.push_back(static_cast<int64_t>(n_));
        tree.weight.push_back(scale_pow2(static_cast<double>(weight_), -target_.weight_scale));
        if (is_pure_) {
            tree.value.push_back(target_.raw[rows_[0]]), tree.spread.push_back(0.0);
        } else {
            side_.rows = static_cast<int64_t>(n_), side_.weight = weight_, side_.sum = sum_;
            tree.value.push_back(predicted_value(side_, node_context_));
            tree.spread.push_back(variance(node_context_, sum_, weight_, rows_, rows_ + n_).deviation());
        }
        rows_done_ += static_cast<int64_t>(n_);
        if (rows_done_ - rows_reported_ < kRowsPerCheck) return;
        rows_reported_ = rows_done_;
        progress_(static_cast<double>(rows_done_) / static_cast<double>(scratch_.rows.size()));
    }
    void write_split(const Cut& cut, int128 gain) {
        PackedTree& tree = scratch_.tree;
        const double weight = scale_pow2(static_cast<double>(weight_), -target_.weight_scale);
        if (tree.kind.empty()) root_weight_ = weight;
        tree.impurity_decrease[cut.column] += node_context_.to_user_units(gain, weight_) * (weight / root_weight_);
        tree.kind.push_back(kThreshold);
        tree.column.push_back(static_cast<int32_t>(cut.column));
        tree.missing.push_back(cut.left_weight >= weight_ - cut.left_weight ? 0 : 1);  // the heavier branch
        const bool is_number = columns_[cut.column].is_number();
        if (settings_.random_cuts) {
            tree.cut.push_back(is_number ? key_to_double(cut.left_rank) : 0.0);
            if (has_wide_integers_) tree.cut_int.push_back(is_number ? 0 : key_to_int(cut.left_rank));
            return;
        }
        const int64_t low = ranks_->key(cut.column, cut.left_rank), high = ranks_->key(cut.column, cut.right_rank);
        tree.cut.push_back(is_number ? midpoint(key_to_double(low), key_to_double(high)) : 0.0);
        if (has_wide_integers_) tree.cut_int.push_back(is_number ? 0 : midpoint(key_to_int(low), key_to_int(high)));
    }

    // -- one node -----------------------------------------------------------------------------------------------------

    void begin_node(const OpenNode& node) {
        node_ = node, n_ = node.end - node.begin;
        rows_ = scratch_.rows.data() + node.begin;
        y_ = scratch_.y.data() + node.begin, w_ = scratch_.weight.data() + node.begin;
        weight_ = node.weight, sum_ = node.sum;
        if (n_ == 1) {
            weight_ = w_[0], is_pure_ = true;
            return;
        }
        find_range();
        node_context_.y = target_.y, node_context_.scale = target_.scale;
        const bool is_rounded = target_.max_exponent != kNothingRounded;
        is_rescaled_ = is_rounded && rescale();
        is_pure_ = low_ == high_ && (!is_rounded || has_one_target());
        node_context_.low = low_, node_context_.high = high_;
        if (weight_ == 0 || is_rescaled_) sum_targets();
    }
    void find_range() {
        low_ = high_ = y_[0];
        for (size_t i = 1; i < n_; ++i) low_ = std::min(low_, y_[i]), high_ = std::max(high_, y_[i]);
    }
    bool has_one_target() const {
        return std::all_of(rows_, rows_ + n_, [&](Row row) { return target_.raw[row] == target_.raw[rows_[0]]; });
    }
    // A node of small targets has finer units than the table, if targets were rounded (NodeContext::begin_node).
    bool rescale() {
        constexpr int64_t kMaxCoarse = int64_t{1} << 41;
        if (high_ > kMaxCoarse || low_ < -kMaxCoarse) return false;
        node_context_.begin_node(rows_, rows_ + n_);
        if (node_context_.scale == target_.scale) return false;
        for (size_t i = 0; i < n_; ++i) scratch_.rescaled_y[i] = node_context_.y[rows_[i]];
        y_ = scratch_.rescaled_y.data();
        find_range();
        return true;
    }
    void sum_targets() {
        weight_ = 0, sum_ = 0;
        for (size_t i = 0; i < n_; ++i) weight_ += w_[i], sum_ += static_cast<int128>(w_[i]) * y_[i];
    }
    StopReason leaf_condition() const {
        if (is_pure_) return kPure;
        if (settings_.max_depth >= 0 && node_.depth >= settings_.max_depth) return kMaxDepth;
        if (static_cast<int64_t>(n_) < settings_.min_samples_split) return kMinSamplesSplit;
        return kNone;
    }
    // Writes the best split, or returns the reason for a leaf.
    StopReason find_split() {
        begin_search();
        any_candidate_ = false;
        for (bool has_more = node_columns_.begin_node(node_.node_key, no_constraints_);;
             has_more = node_columns_.sample_next()) {
            search_columns(node_columns_.list());
            if (!has_more || !scratch_.cuts.empty()) break;
        }
        if (scratch_.cuts.empty()) return any_candidate_ || is_splittable() ? kMinSamplesLeaf : kNoCandidate;
        std::erase_if(scratch_.cuts, [&](const Cut& cut) { return cut.purity < required_purity_; });
        best_.begin_node(node_.node_key);
        for (Cut& cut : scratch_.cuts) best_.add(evaluate(cut));
        const Candidate winner = best_.winner();
        if (gain_too_small(winner)) return kMinImpurityDecrease;
        winner_ = *std::find_if(scratch_.cuts.begin(), scratch_.cuts.end(), [&](const Cut& cut) {
            return static_cast<int64_t>(cut.column) == winner.order.column && position(cut) == winner.order.position;
        });
        write_split(winner_, winner.total_gain);
        return kNone;
    }
    void begin_search() {
        node_total_.rows = static_cast<int64_t>(n_), node_total_.weight = weight_, node_total_.sum = sum_;
        node_total_.set_tolerance();
        node_impurity_ = node_total_.total_impurity();
        mean_ = static_cast<int64_t>(node_context_.mean);
        quantise();
        scratch_.cuts.clear();
        required_purity_ = -1;
    }
    // Centres the targets at the mean and drops as many bits as sums in 64 bits require: none at small nodes.
    void quantise() {
        const uint64_t range = static_cast<uint64_t>(high_ - low_) + 1;
        shift_ = std::max(0, bit_length(range) + bit_length(static_cast<uint64_t>(weight_)) - 61);
        quantised_sum_ = 0;
        for (size_t i = 0; i < n_; ++i) {
            const int64_t d = y_[i] - mean_;
            scratch_.quantised[i] =
                unit_weights_ ? d >> shift_ : static_cast<int64_t>((static_cast<int128>(w_[i]) * d) >> shift_);
            quantised_sum_ += scratch_.quantised[i];
        }
        // Two purities whose exact scores tie differ by at most the tolerances of these (one unit more if gains are
        // divided), and each is off by what was dropped: the sum a of a side of weight m by its number of rows, at most
        // m, hence a²/m by at most 2·|a| + m, where |a| <= m·range.
        const double unit = scale_pow2(node_context_.unit_value, -2 * shift_);
        const double dropped = static_cast<double>(weight_) * (2 * scale_pow2(static_cast<double>(range), -shift_) + 3);
        purity_tolerance_ =
            5 * static_cast<double>(node_context_.tolerance(2) + 1) * unit + (shift_ ? 2.5 * dropped : 0.0);
    }
    bool meets_limits(int64_t rows, int64_t weight) const {
        return rows >= settings_.min_samples_leaf && weight >= settings_.min_leaf_weight;
    }
    // Purities are off by a few roundings each.
    void offer(const Cut& cut) {
        if (cut.purity < required_purity_) return;
        required_purity_ = std::max(required_purity_, cut.purity * (1 - 0x1p-44) - purity_tolerance_);
        scratch_.cuts.push_back(cut);
        if (scratch_.cuts.size() < kManyCuts) return;
        std::erase_if(scratch_.cuts, [&](const Cut& c) { return c.purity < required_purity_; });
    }
    double purity(int64_t left_weight, int64_t left_sum) const {
        const auto a = static_cast<double>(left_sum), b = static_cast<double>(quantised_sum_ - left_sum);
        return a * a / static_cast<double>(left_weight) + b * b / static_cast<double>(weight_ - left_weight);
    }
    int64_t position(const Cut& cut) const { return settings_.random_cuts ? 0 : cut.left_rank; }

    // The exact score, as ExactSplitter::offer computes it.
    Candidate evaluate(Cut& cut) {
        Candidate candidate;
        candidate.order = {static_cast<int64_t>(cut.column), kThreshold, position(cut), 0};
        candidate.n_filled = 2;
        cut.exact_left_sum = exact_left_sum(cut);
        candidate.score = node_impurity_ - side_impurity(cut.left_weight, cut.exact_left_sum) -
                          side_impurity(weight_ - cut.left_weight, sum_ - cut.exact_left_sum);
        candidate.tolerance = node_context_.tolerance(2);
        candidate.total_gain = node_context_.zero_if_rounding(candidate.score, 2);
        if (settings_.gain_per_branch) candidate.tolerance += candidate.tolerance > 0;
        return candidate;
    }
    int128 exact_left_sum(const Cut& cut) const {
        if (shift_ == 0) return cut.left_sum + static_cast<int128>(cut.left_weight) * mean_;
        int128 sum = 0;
        const auto add_left = [&](const auto* keys) {
            for (size_t i = 0; i < n_; ++i)
                if (keys[i] <= cut.left_rank) sum += static_cast<int128>(w_[i]) * y_[i];
        };
        settings_.random_cuts ? add_left(scratch_.keys[cut.gathered_index].data())
                              : add_left(scratch_.ranks[cut.gathered_index].data());
        return sum;
    }
    int128 side_impurity(int64_t weight, int128 sum) {
        side_.weight = weight, side_.sum = sum;
        return side_.total_impurity();
    }
    bool gain_too_small(const Candidate& winner) const {
        if (settings_.min_impurity_decrease <= 0) return false;
        const int128 at_most = winner.total_gain ? winner.total_gain + node_context_.tolerance(2) : 0;
        return node_context_.to_user_units(at_most, total_weight_) <
               settings_.min_impurity_decrease * (1 - 0x1p-40);  // as ExactSplitter::gain_too_small
    }

    // -- candidates ---------------------------------------------------------------------------------------------------

    void search_columns(const std::vector<size_t>& columns) {
        gather(columns);
        if (n_ == 2 && meets_limits(1, std::min(w_[0], w_[1]))) return offer_pair();
        for (size_t i = 0; i < columns.size(); ++i)
            settings_.random_cuts ? offer_random_cut(columns[i], i) : offer_cuts(columns[i], i);
    }
    void gather(const std::vector<size_t>& columns) {
        scratch_.gathered = columns;
        settings_.random_cuts ? gather_keys() : gather_ranks();
    }
    template <class T>
    T* resized_list(std::vector<std::vector<T>>& lists, size_t i) {
        if (lists.size() <= i) lists.resize(i + 1);
        if (lists[i].size() < n_) lists[i].resize(std::min(n_ + n_ / 2, scratch_.rows.size()));
        return lists[i].data();
    }
    // Reads all columns of a row in one visit, since its cells may be adjacent.
    void gather_keys() {
        for (size_t i = 0; i < scratch_.gathered.size(); ++i) resized_list(scratch_.keys, i);
        for (size_t begin = 0; begin < n_; begin += kRowsPerBatch) {
            const size_t end = std::min(n_, begin + kRowsPerBatch);
            count_read(end - begin);
            for (size_t i = 0; i < scratch_.gathered.size(); ++i) {
                int64_t* keys = scratch_.keys[i].data();
                const Column& column = columns_[scratch_.gathered[i]];
                const auto read = [&](const auto& values) {
                    for (size_t k = begin; k < end; ++k) keys[k] = key_of(values[rows_[k]]);
                };
                switch (column.type) {
                    case ValueType::f32: read(column.view<float>()); break;
                    case ValueType::f64: read(column.view<double>()); break;
                    default: read(column.view<int64_t>());
                }
            }
        }
    }
    void gather_ranks() {
        for (size_t i = 0; i < scratch_.gathered.size(); ++i) resized_list(scratch_.ranks, i);
        std::array<const std::byte*, kRowsPerBatch> cells;
        for (size_t begin = 0; begin < n_; begin += kRowsPerBatch) {
            const size_t n = std::min(n_ - begin, kRowsPerBatch);
            count_read(n);
            for (size_t k = 0; k < n; ++k) cells[k] = ranks_->row_ranks(rows_[begin + k]);
            for (size_t i = 0; i < scratch_.gathered.size(); ++i) {
                uint32_t* ranks = scratch_.ranks[i].data() + begin;
                const auto rank = ranks_->reader(scratch_.gathered[i]);
                for (size_t k = 0; k < n; ++k) ranks[k] = rank(cells[k]);
            }
        }
    }
    // Two rows: every column that tells them apart has the same gain, so the tie decides.
    void offer_pair() {
        bool found = false;
        TieOrder best{};
        uint64_t best_key = 0;
        size_t gathered_index = 0;
        for (size_t i = 0; i < scratch_.gathered.size(); ++i) {
            const bool differs = settings_.random_cuts ? scratch_.keys[i][0] != scratch_.keys[i][1]
                                                       : scratch_.ranks[i][0] != scratch_.ranks[i][1];
            if (!differs) continue;
            const TieOrder order{static_cast<int64_t>(scratch_.gathered[i]), kThreshold, 0, 0};
            const uint64_t key = settings_.random_ties ? tie_key(node_.node_key, scratch_.gathered[i]) : 0;
            if (found && !(key != best_key ? key < best_key : order < best)) continue;
            found = true, best = order, best_key = key, gathered_index = i;
        }
        any_candidate_ = any_candidate_ || found;
        if (!found) return;
        Cut cut{scratch_.gathered[gathered_index], gathered_index, 0, 0, 1, 0, 0, 0};
        const bool swap = settings_.random_cuts ? scratch_.keys[gathered_index][0] > scratch_.keys[gathered_index][1]
                                                : scratch_.ranks[gathered_index][0] > scratch_.ranks[gathered_index][1];
        cut.left_weight = w_[swap], cut.left_sum = scratch_.quantised[swap];
        if (settings_.random_cuts)
            cut.left_rank =
                random_cut_key(cut.column, scratch_.keys[gathered_index][swap], scratch_.keys[gathered_index][!swap]);
        else
            cut.left_rank = scratch_.ranks[gathered_index][swap],
            cut.right_rank = scratch_.ranks[gathered_index][!swap];
        cut.purity = purity(cut.left_weight, cut.left_sum);
        offer(cut);
    }

    // Random cuts.
    int64_t random_cut_key(size_t column, int64_t low, int64_t high) const {
        const uint64_t random = split_key(node_.node_key, column, kThreshold);
        if (columns_[column].is_number())
            return key_of(random_threshold(random, key_to_double(low), key_to_double(high)));
        return key_of(random_threshold(random, key_to_int(low), key_to_int(high)));
    }
    void offer_random_cut(size_t column, size_t gathered_index) {
        const int64_t* keys = scratch_.keys[gathered_index].data();
        const KeyRange range = range_of(keys, n_);
        if (range.low == range.high) return;
        any_candidate_ = true;
        Cut cut{column, gathered_index, random_cut_key(column, range.low, range.high), 0, 0, 0, 0, 0};
        const LeftSums left = sum_left(keys, n_, cut.left_rank, w_, scratch_.quantised.data());
        if (!meets_limits(left.rows, left.weight)) return;
        if (!meets_limits(static_cast<int64_t>(n_) - left.rows, weight_ - left.weight)) return;
        cut.left_rows = left.rows, cut.left_weight = left.weight, cut.left_sum = left.target_sum;
        cut.purity = purity(cut.left_weight, cut.left_sum);
        offer(cut);
    }

    // Every cut of a sorted column.
    void offer_cuts(size_t column, size_t gathered_index) {
        const uint64_t* sorted =
            scratch_.sorter.sort(scratch_.positions.data(), scratch_.ranks[gathered_index].data(), n_);
        const auto rank = [&](size_t i) { return static_cast<uint32_t>(sorted[i] >> 32); };
        if (rank(0) == rank(n_ - 1)) return;
        if (n_ > kRowsPerBatch) check();
        const auto n_cuts = static_cast<int64_t>(n_) - 1;
        int64_t sum = 0, weight = 0;
        int64_t* sums = scratch_.sums.data();
        for (int64_t k = 0; k < n_cuts; ++k) {
            const auto i = static_cast<uint32_t>(sorted[k]);
            sum += scratch_.quantised[i];
            sums[k] = sum, scratch_.prefix[k] = static_cast<double>(sum);
            if (unit_weights_) continue;
            weight += w_[i];
            scratch_.left_weight[k] = weight, scratch_.weights[k] = static_cast<double>(weight);
        }
        const bool tabulated = unit_weights_ && weight_ <= tables_.reciprocals.max();
        if (unit_weights_ && !tabulated)
            for (int64_t k = 0; k < n_cuts; ++k) scratch_.weights[k] = static_cast<double>(k + 1);
        const CutSweep sweep{n_cuts,
                             0,
                             weight_,
                             static_cast<double>(quantised_sum_),
                             scratch_.prefix.data(),
                             tabulated ? nullptr : scratch_.weights.data(),
                             scratch_.purities.data()};
        purity_of_cuts_squared_error(sweep, tables_.reciprocals.data());
        const int64_t first = std::max<int64_t>(1, settings_.min_samples_leaf) - 1;
        const int64_t last = n_cuts - first;
        const double* purities = scratch_.purities.data();
        for (int64_t k = first; k < last; ++k) {
            if (purities[k] < required_purity_ || rank(k) == rank(k + 1)) continue;
            const int64_t left_weight = unit_weights_ ? k + 1 : scratch_.left_weight[k];
            if (!meets_limits(k + 1, left_weight) || !meets_limits(n_cuts - k, weight_ - left_weight)) continue;
            offer({column, gathered_index, rank(k), rank(k + 1), k + 1, left_weight, sums[k], purities[k]});
        }
    }
    bool is_splittable() const {
        if (settings_.random_cuts) return false;
        return std::any_of(rows_, rows_ + n_, [&](Row row) { return !ranks_->same_ranks(rows_[0], row); });
    }

    // -- splitting ----------------------------------------------------------------------------------------------------

    void split_node() {
        const size_t left =
            settings_.random_cuts
                ? partition(scratch_.keys[winner_.gathered_index].data(), winner_.left_rank)
                : partition(scratch_.ranks[winner_.gathered_index].data(), static_cast<uint32_t>(winner_.left_rank));
        const size_t middle = node_.begin + left;
        OpenNode right{middle, node_.end, mix64(node_.node_key, 1), node_.depth + 1};
        OpenNode below{node_.begin, middle, mix64(node_.node_key, 0), node_.depth + 1};
        if (!is_rescaled_) {
            below.weight = winner_.left_weight, below.sum = winner_.exact_left_sum;
            right.weight = weight_ - below.weight, right.sum = sum_ - below.sum;
        }
        scratch_.open.push_back(right), scratch_.open.push_back(below);
        if (n_ > (size_t{1} << 12)) check();
    }
    // Stably moves rows whose key is larger behind the others; returns the number of the others.
    template <class Key>
    size_t partition(const Key* keys, Key max_left) {
        Row* rows = scratch_.rows.data() + node_.begin;
        int64_t *y = scratch_.y.data() + node_.begin, *weight = scratch_.weight.data() + node_.begin;
        size_t left = 0, right = 0;
        for (size_t i = 0; i < n_; ++i) {
            const bool goes_right = keys[i] > max_left;
            const Row row = rows[i];
            const int64_t value = y[i];
            rows[left] = scratch_.right_rows[right] = row;
            y[left] = scratch_.right_y[right] = value;
            if (!unit_weights_) {
                const int64_t w = weight[i];
                weight[left] = scratch_.right_weight[right] = w;
            }
            left += !goes_right, right += goes_right;
        }
        std::copy_n(scratch_.right_rows.data(), right, rows + left);
        std::copy_n(scratch_.right_y.data(), right, y + left);
        if (!unit_weights_) std::copy_n(scratch_.right_weight.data(), right, weight + left);
        return left;
    }
    void count_read(size_t n_rows) {
        if ((cells_read_ += n_rows * scratch_.gathered.size()) < kRowsBetweenChecks) return;
        cells_read_ = 0;
        check();
    }
    void check() const { progress_(static_cast<double>(rows_done_) / static_cast<double>(scratch_.rows.size())); }

    const std::vector<Column>& columns_;
    const Target& target_;
    const Settings& settings_;
    const ProgressCallback& progress_;
    const LookupTables& tables_;
    const RankTable* ranks_;
    RegressionScratch& scratch_;
    NodeColumns node_columns_;
    const NodeConstraints no_constraints_{};
    NodeContext node_context_;
    SquaredErrorImpurity node_total_, side_;
    BestSplit best_;
    bool unit_weights_ = true, has_wide_integers_ = false;
    int64_t total_weight_ = 0, rows_done_ = 0, rows_reported_ = 0;
    double root_weight_ = 1;
    size_t cells_read_ = 0;  // since the last interrupt check

    // the current node
    OpenNode node_{};
    size_t n_ = 0;
    const Row* rows_ = nullptr;
    const int64_t *y_ = nullptr, *w_ = nullptr;
    int64_t low_ = 0, high_ = 0, weight_ = 0, mean_ = 0, quantised_sum_ = 0;
    int128 sum_ = 0, node_impurity_ = 0;
    int shift_ = 0;
    bool is_pure_ = false, is_rescaled_ = false;
    double purity_tolerance_ = 0, required_purity_ = 0;
    bool any_candidate_ = false;
    Cut winner_{};
};

}  // namespace

bool is_plain_regression(const std::vector<Column>& columns, const Target& target, const Settings& settings) {
    const Tuning& tuning = settings.tuning;
    const bool samples = settings.max_features > 0 && settings.max_features < static_cast<int64_t>(columns.size());
    if (target.n_classes || settings.criterion != Criterion::squared_error || settings.rule != Rule::gain ||
        settings.selection == Selection::test || settings.max_leaf_nodes > 0 || target.n_rows >= int64_t{1} << 31 ||
        has_constraints(columns) || columns.empty() || !(samples || settings.random_cuts))
        return false;
    if (tuning.exact_only || !tuning.use_bounds || !tuning.use_forest_engine) return false;
    const auto is_complete = [&](const Column& column) {
        if (column.is_code() || column.kinds.size() != 1 || column.kinds[0] != kThreshold) return false;
        return column.visit([&](const auto& values) {
            for (int64_t r = 0; r < target.n_rows; ++r)
                if (is_missing(values[static_cast<size_t>(r)])) return false;
            return true;
        });
    };
    return std::all_of(columns.begin(), columns.end(), is_complete);
}

PackedTree grow_plain_regression(const std::vector<Column>& columns, const Target& target, const Settings& settings,
                                 const ProgressCallback& progress, std::span<const Row> rows,
                                 const SharedTables& shared, RegressionScratchPtr& scratch) {
    if (!scratch) scratch.reset(new RegressionScratch);
    return RegressionGrower(columns, target, settings, progress, rows, shared, *scratch).grow();
}

}  // namespace treewise
