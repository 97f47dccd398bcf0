// Walks rows down a forest: in blocks whose cells stay in cache, tree by tree, several rows in lockstep.

#include "forest/forest_predict.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "forest/packed_rows.hpp"
#include "util/thread_pool.hpp"

namespace treewise {
namespace {

constexpr size_t kLanes = 8;           // rows walked in lockstep to hide memory latency
constexpr int kStepsPerCheck = 6;      // steps between checks for finished lanes
constexpr size_t kRowsPerBatch = 256;  // per tree: their cells stay in the L1 cache

// Walks the rows of a block: several rows down one tree or, if there are few rows, one row down several trees. Each
// such pair of row and tree is a lane.
class LaneWalker {
public:
    LaneWalker(const CompiledForest& forest, const std::vector<Column>& columns)
        : forest_(forest), columns_(columns), packed_rows_(forest) {}

    void read(int64_t begin, int64_t end) {
        begin_ = begin;
        packed_rows_.read(columns_, begin, end);
    }

    // Leaves of some rows (numbered within the block): calls use(rows, leaves) batch by batch.
    template <class Use>
    void rows_down(size_t tree, std::span<const uint32_t> rows, const Use& use) {
        fetch({forest_.tree(tree), forest_.n_nodes(tree)}, rows.size());
        for (size_t i = 0; i < rows.size(); i += kRowsPerBatch) {
            const auto batch = rows.subspan(i, std::min(kRowsPerBatch, rows.size() - i));
            use(batch, near_rows_down(tree, batch));
        }
    }
    // Leaves of one row in some trees.
    std::span<const uint32_t> trees_down(std::span<const uint32_t> trees, uint32_t row) {
        const uint32_t* cells = packed_rows_.row(row);
        return walk<true>(
            trees, [&](uint32_t tree) { return Lane{forest_.tree(tree), cells}; },
            [&](uint32_t tree) { return Pair{tree, begin_ + row}; });
    }

private:
    struct Lane {
        const CompiledNode* slots;
        const uint32_t* cells;
    };
    struct Pair {
        size_t tree;
        int64_t row;
    };

    // Reading a tree sequentially before walking it is faster than missing the cache at random nodes, if there are
    // enough rows; kLinesPerRow is measured.
    static void fetch(std::span<const CompiledNode> tree, size_t n_rows) {
        constexpr size_t kLine = 64 / sizeof(CompiledNode), kLinesPerRow = 16;
        if (tree.size() / kLine > kLinesPerRow * n_rows) return;
        for (size_t i = 0; i < tree.size(); i += kLine)
            static_cast<void>(*static_cast<const volatile uint32_t*>(&tree[i].test));
    }

    std::span<const uint32_t> near_rows_down(size_t tree, std::span<const uint32_t> rows) {
        const CompiledNode* slots = forest_.tree(tree);
        return walk<false>(
            rows, [&](uint32_t row) { return Lane{slots, packed_rows_.row(row)}; },
            [&](uint32_t row) { return Pair{tree, begin_ + row}; });
    }

    // Walks lanes (identified by row or tree) to their leaves. One additional lane idles at a leaf and pads incomplete
    // groups.
    template <bool kDistant, class LaneOf, class PairOf>
    std::span<const uint32_t> walk(std::span<const uint32_t> lanes, const LaneOf& lane, const PairOf& pair) {
        const size_t n = lanes.size();
        if (!n) return {};
        lane_id_.assign(lanes.begin(), lanes.end()), lane_id_.push_back(lanes[0]);
        at_.assign(n + 1, 0), tied_.assign(n + 1, 0);
        at_[n] = static_cast<uint32_t>(forest_.n_nodes(pair(lanes[0]).tree) - 1);
        moving_.resize(n + kLanes);
        std::iota(moving_.begin(), moving_.begin() + static_cast<int64_t>(n), 0u);
        const bool has_mixed = packed_rows_.missing() || forest_.has_levels(), inexact = packed_rows_.inexact();
        for (size_t n_moving = n; n_moving;) {
            if (has_mixed)
                inexact ? descend<true, true, kDistant>(n_moving, lane)
                        : descend<true, false, kDistant>(n_moving, lane);
            else
                inexact ? descend<false, true, kDistant>(n_moving, lane)
                        : descend<false, false, kDistant>(n_moving, lane);
            n_moving = forest_.has_general_tests() ? step_general_tests(n, lane, pair) : 0;
        }
        for (size_t k = 0; inexact && k < n; ++k)
            if (tied_[k]) at_[k] = leaf_exactly(pair(lanes[k]));
        return {at_.data(), n};
    }

    // Moves all lanes to their ends, several branch-free steps at a time; finished lanes idle and are then dropped. A
    // single tree is in cache after a few rows. Many trees are not: there each lane takes one step and prefetches its
    // next node while the others take theirs.
    template <bool kMixed, bool kDoubtful, bool kDistant, class LaneOf>
    void descend(size_t n_moving, const LaneOf& lane_of) {
        const uint32_t shift = forest_.shift(), mask = forest_.cell_mask();
        const CompiledNode* const rounded = lane_of(lane_id_[0]).slots;
        const auto idle = static_cast<uint32_t>(at_.size() - 1);
        uint32_t *const leaves = at_.data(), *const moving = moving_.data();
        while (n_moving) {
            size_t n_left = 0;
            std::fill_n(moving + n_moving, kLanes - 1, idle);
            for (size_t i = 0; i < n_moving; i += kLanes) {
                size_t at[kLanes];
                uint32_t tied[kLanes] = {}, number[kLanes];
                bool stops[kLanes];
                Lane lane[kLanes];
                for (size_t k = 0; k < kLanes; ++k) {
                    number[k] = moving[i + k];
                    lane[k] = lane_of(lane_id_[number[k]]), at[k] = leaves[number[k]];
                }
#pragma GCC unroll 8  // so that a lane keeps its register
                for (int step = 0; step < (kDistant ? 1 : kStepsPerCheck); ++step) {
                    std::atomic_signal_fence(std::memory_order_seq_cst);  // keep lanes in lockstep
#pragma GCC unroll 8
                    for (size_t k = 0; k < kLanes; ++k) {
                        const CompiledNode& s = (kDistant ? lane[k].slots : rounded)[at[k]];
                        const int64_t link = static_cast<int32_t>(s.link);
                        const uint32_t cell = lane[k].cells[link & mask];
                        const int64_t second = is_second<kMixed, kDoubtful>(s, cell, shift, tied[k]);
                        // +1 to the first child, more to the second, 1 − 1 = 0 at the end
                        at[k] += static_cast<size_t>(1 + (-second & link >> shift));
                        if constexpr (kDistant) stops[k] = s.stops();
                    }
                }
                for (size_t k = 0; k < kLanes; ++k) {
                    leaves[number[k]] = static_cast<uint32_t>(at[k]);
                    if constexpr (kDoubtful) tied_[number[k]] |= static_cast<uint8_t>(tied[k]);
                    moving[n_left] = number[k];
                    if constexpr (kDistant) __builtin_prefetch(lane[k].slots + at[k]);
                    n_left += !(kDistant ? stops[k] : rounded[at[k]].stops());
                }
            }
            n_moving = n_left;
        }
    }

    // 1 if the cell goes to the second child, else 0; 1 at the end of a walk.
    template <bool kMixed, bool kDoubtful>
    static uint32_t is_second(const CompiledNode& s, uint32_t cell, uint32_t shift, uint32_t& tied) {
        uint32_t second = s.test < cell;
        if constexpr (kMixed) {
            const uint32_t by_level = s.link >> (shift - 1) & 1, missing_first = s.link >> (shift - 2) & 1;
            second &= 1 ^ (uint32_t{cell == kMissingCell} & missing_first);
            second = (by_level & ~(s.test >> (cell & 31))) | ((by_level ^ 1) & second);
            if constexpr (kDoubtful) tied |= uint32_t{cell == s.test} & (by_level ^ 1);
        } else if constexpr (kDoubtful) {
            tied |= cell == s.test;
        }
        return second;
    }

    // One step for each lane at a general test; returns how many lanes move on.
    template <class LaneOf, class PairOf>
    size_t step_general_tests(size_t n, const LaneOf& lane_of, const PairOf& pair_of) {
        size_t n_moving = 0;
        for (size_t k = 0; k < n; ++k) {
            if (!CompiledForest::is_general_test(lane_of(lane_id_[k]).slots[at_[k]])) continue;
            const Pair pair = pair_of(lane_id_[k]);
            const int64_t child = forest_.child_by_general_test(pair.tree, at_[k], columns_, pair.row);
            if (child < 0) continue;
            at_[k] = static_cast<uint32_t>(child);
            moving_[n_moving++] = static_cast<uint32_t>(k);
        }
        return n_moving;
    }
    uint32_t leaf_exactly(Pair pair) const {
        uint32_t at = 0;
        for (int64_t next = 0; next >= 0; next = forest_.next_exactly(pair.tree, at, columns_, pair.row))
            at = static_cast<uint32_t>(next);
        return at;
    }

    const CompiledForest& forest_;
    const std::vector<Column>& columns_;
    PackedRows packed_rows_;
    int64_t begin_ = 0;
    std::vector<uint32_t> lane_id_, at_, moving_;  // per lane; moving_: indices of lanes
    std::vector<uint8_t> tied_;
};

// Large blocks, since each block reads every tree once; but at least two blocks per thread, to balance the load.
int64_t rows_per_block(const CompiledForest& forest, int64_t n_rows, int n_jobs) {
    constexpr int64_t kCells = 1 << 18, kFewest = 64, kMost = 1 << 14;
    const auto width = static_cast<int64_t>(forest.cell_columns().size()) + 1;
    return std::clamp(std::min(kCells / width, n_rows / (2 * std::max(n_jobs, 1)) + 1), kFewest, kMost);
}

// Calls work(walker, begin, end, check_interrupt) for all blocks of rows; there may be a million trees, so work checks
// between trees.
template <class Work>
void for_each_block(const CompiledForest& forest, const std::vector<Column>& columns, int64_t n_rows, int n_jobs,
                    const ProgressCallback& progress, const Work& work) {
    const int64_t block = rows_per_block(forest, n_rows, n_jobs);
    const auto pieces = static_cast<size_t>((n_rows + block - 1) / block);
    ThreadPool pool(std::min(n_jobs, static_cast<int>(std::min<size_t>(pieces, 1024))));
    std::vector<LaneWalker> walkers(static_cast<size_t>(pool.size()), LaneWalker(forest, columns));
    std::atomic<int64_t> done = 0;
    const CheckInterrupt check_interrupt = [&] { progress(static_cast<double>(done) / static_cast<double>(n_rows)); };
    pool.parallel_for(
        pieces,
        [&](size_t piece, int worker) {
            const int64_t begin = static_cast<int64_t>(piece) * block, end = std::min(n_rows, begin + block);
            LaneWalker& walker = walkers[static_cast<size_t>(worker)];
            walker.read(begin, end);
            work(walker, begin, end, pool.interrupt_check(worker, check_interrupt));
            done += end - begin;
        },
        check_interrupt);
}

std::vector<uint32_t> iota_vector(size_t n) {
    std::vector<uint32_t> numbers(n);
    std::iota(numbers.begin(), numbers.end(), 0u);
    return numbers;
}

// Adds the predictions of trees to the sums of rows.
class VoteAdder {
public:
    VoteAdder(const CompiledForest& forest, const VoteRequest& request, double* sums)
        : forest_(forest), request_(request), width_(forest.width()), sums_(sums) {}

    bool counts(size_t tree, int64_t row) const {
        return !request_.mask ||
               (request_.mask[static_cast<int64_t>(tree) * request_.mask_stride + row / 8] >> (row % 8) & 1);
    }
    // For each row in order; row_of(k) and tree_of(k) belong to leaves[k].
    template <class TreeOf, class RowOf>
    void add(std::span<const uint32_t> leaves, const TreeOf& tree_of, const RowOf& row_of) const {
        const auto all = [&](const auto& add_one) {
            for (size_t k = 0; k < leaves.size(); ++k)
                add_one(sums_ + static_cast<size_t>(row_of(k)) * width_, forest_.output_at(tree_of(k), leaves[k]), k);
        };
        if (request_.output == Output::votes)
            all([&](double* sum, uint32_t output, size_t k) {
                sum[forest_.label(output)] += request_.votes[tree_of(k)];
            });
        else if (forest_.is_sparse())
            all([&](double* sum, uint32_t output, size_t) {
                forest_.sparse_shares(output, [sum](int32_t c, double share) { sum[c] += share; });
            });
        else if (width_ == 1)  // also regression
            all([&](double* sum, uint32_t output, size_t) { add_shares<1>(sum, output); });
        else if (width_ == 2)
            all([&](double* sum, uint32_t output, size_t) { add_shares<2>(sum, output); });
        else
            all([&](double* sum, uint32_t output, size_t) { add_shares<0>(sum, output); });
    }

private:
    // kWidth: compile-time number of classes, or 0.
    template <size_t kWidth>
    void add_shares(double* sum, uint32_t output) const {
        const double* share = forest_.dense_shares(output);
        for (size_t c = 0; c < (kWidth ? kWidth : width_); ++c) sum[c] += share[c];
    }

    const CompiledForest& forest_;
    const VoteRequest& request_;
    size_t width_;
    double* sums_;
};

}  // namespace

void add_votes(const CompiledForest& forest, const std::vector<Column>& columns, int64_t n_rows,
               const VoteRequest& request, int n_jobs, const ProgressCallback& progress, double* sums) {
    const VoteAdder adder(forest, request, sums);
    for_each_block(
        forest, columns, n_rows, n_jobs, progress,
        [&](LaneWalker& walker, auto begin, auto end, const CheckInterrupt& check_interrupt) {
            std::vector<uint32_t> batch;
            if (end - begin < static_cast<int64_t>(kLanes)) {
                for (int64_t row = begin; row < end; ++row) {
                    batch.clear();
                    for (size_t t = request.first; t < request.last; ++t)
                        if (adder.counts(t, row)) batch.push_back(static_cast<uint32_t>(t));
                    const auto leaves = walker.trees_down(batch, static_cast<uint32_t>(row - begin));
                    adder.add(leaves, [&](size_t k) { return batch[k]; }, [&](size_t) { return row; });
                }
                return;
            }
            for (size_t t = request.first; t < request.last; ++t) {
                if (t == request.first || request.mask) {
                    batch.clear();
                    for (int64_t row = begin; row < end; ++row)
                        if (adder.counts(t, row)) batch.push_back(static_cast<uint32_t>(row - begin));
                }
                walker.rows_down(t, batch, [&](std::span<const uint32_t> rows, std::span<const uint32_t> leaves) {
                    adder.add(leaves, [&](size_t) { return t; }, [&](size_t k) { return begin + rows[k]; });
                });
                check_interrupt();
            }
        });
}

void find_forest_leaves(const CompiledForest& forest, const std::vector<Column>& columns, int64_t n_rows, int n_jobs,
                        const ProgressCallback& progress, int32_t* leaves) {
    const size_t n_trees = forest.n_trees();
    for_each_block(
        forest, columns, n_rows, n_jobs, progress,
        [&](LaneWalker& walker, auto begin, auto end, const CheckInterrupt& check_interrupt) {
            const std::vector<uint32_t> rows = iota_vector(static_cast<size_t>(end - begin));
            for (size_t t = 0; t < n_trees; ++t) {
                walker.rows_down(t, rows, [&](std::span<const uint32_t> batch, std::span<const uint32_t> found) {
                    for (size_t k = 0; k < batch.size(); ++k)
                        leaves[(static_cast<size_t>(begin) + batch[k]) * n_trees + t] = static_cast<int32_t>(found[k]);
                });
                check_interrupt();
            }
        });
}

TreeNodeId first_test_on(const CompiledForest& forest, const std::vector<Column>& columns, int64_t row,
                         const std::vector<bool>& which) {
    for (size_t t = 0; t < forest.n_trees(); ++t) {
        for (int64_t at = 0, next; at >= 0; at = next) {
            next = forest.next_exactly(t, static_cast<uint32_t>(at), columns, row);
            const CompiledNode s = forest.tree(t)[at];
            const bool leaf = s.stops() && !CompiledForest::is_general_test(s);
            if (!leaf && which[forest.column_at(t, static_cast<uint32_t>(at))]) return {static_cast<int64_t>(t), at};
        }
    }
    return {};
}

}  // namespace treewise
