// Rows down many trees: in blocks whose cells stay in a near cache, tree after tree, several rows together.

#include "forest/forest_predict.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "forest/packed_rows.hpp"
#include "util/thread_pool.hpp"

namespace treewise {
namespace {

constexpr size_t kTogether = 8;  // what goes down at once: while one waits for memory, the others move
constexpr int kAtOnce = 6;       // steps, before it is asked who still moves
constexpr size_t kNear = 256;    // rows that go down a tree before the next do: their cells stay in the nearest cache

// Walks the rows of a block: several rows down one tree, or, where rows are few, one row down several trees. Either is
// a lane: where it looks for tests and for cells, and where it is.
class Walker {
public:
    Walker(const Program& program, const std::vector<Column>& columns)
        : program_(program), columns_(columns), cells_(program) {}

    void read(int64_t begin, int64_t end) {
        begin_ = begin;
        cells_.read(columns_, begin, end);
    }

    // Where rows (numbered in the block) end in a tree: calls use(some of the rows, their ends) until it has had all.
    template <class Use>
    void rows_down(size_t tree, std::span<const uint32_t> rows, const Use& use) {
        fetch({program_.tree(tree), program_.n_nodes(tree)}, rows.size());
        for (size_t i = 0; i < rows.size(); i += kNear) {
            const auto some = rows.subspan(i, std::min(kNear, rows.size() - i));
            use(some, near_rows_down(tree, some));
        }
    }
    // Where one row ends in some trees.
    std::span<const uint32_t> trees_down(std::span<const uint32_t> trees, uint32_t row) {
        const uint32_t* cells = cells_.row(row);
        return go<true>(
            trees, [&](uint32_t tree) { return Lane{program_.tree(tree), cells}; },
            [&](uint32_t tree) { return Pair{tree, begin_ + row}; });
    }

private:
    struct Lane {
        const Slot* slots;
        const uint32_t* cells;
    };
    struct Pair {
        size_t tree;
        int64_t row;
    };

    // A tree comes from far, and each row would wait for some of its lines. Where rows are enough it is read from end
    // to end before, which is as fast as memory gives: kLinesARow lines take as long as one row would wait, measured.
    static void fetch(std::span<const Slot> tree, size_t n_rows) {
        constexpr size_t kLine = 64 / sizeof(Slot), kLinesARow = 16;
        if (tree.size() / kLine > kLinesARow * n_rows) return;
        for (size_t i = 0; i < tree.size(); i += kLine)
            static_cast<void>(*static_cast<const volatile uint32_t*>(&tree[i].test));
    }

    std::span<const uint32_t> near_rows_down(size_t tree, std::span<const uint32_t> rows) {
        const Slot* slots = program_.tree(tree);
        return go<false>(
            rows, [&](uint32_t row) { return Lane{slots, cells_.row(row)}; },
            [&](uint32_t row) { return Pair{tree, begin_ + row}; });
    }

    // Where the lanes end, each known by its row's number, or its tree's. One more stands at the last node of the first
    // one's tree, a leaf, all the time: it makes up the number where those that move together are too few.
    template <bool kFar, class LaneOf, class PairOf>
    std::span<const uint32_t> go(std::span<const uint32_t> lanes, const LaneOf& lane, const PairOf& pair) {
        const size_t n = lanes.size();
        if (!n) return {};
        known_by_.assign(lanes.begin(), lanes.end()), known_by_.push_back(lanes[0]);
        at_.assign(n + 1, 0), tied_.assign(n + 1, 0);
        at_[n] = static_cast<uint32_t>(program_.n_nodes(pair(lanes[0]).tree) - 1);
        moving_.resize(n + kTogether);
        std::iota(moving_.begin(), moving_.begin() + static_cast<int64_t>(n), 0u);
        const bool mixed = cells_.missing() || program_.has_levels(), doubtful = cells_.doubtful();
        for (size_t n_moving = n; n_moving;) {
            if (mixed)
                doubtful ? descend<true, true, kFar>(n_moving, lane) : descend<true, false, kFar>(n_moving, lane);
            else
                doubtful ? descend<false, true, kFar>(n_moving, lane) : descend<false, false, kFar>(n_moving, lane);
            n_moving = program_.asks() ? step_aside(n, lane, pair) : 0;
        }
        for (size_t k = 0; doubtful && k < n; ++k)
            if (tied_[k]) at_[k] = end_exactly(pair(lanes[k]));
        return {at_.data(), n};
    }

    // Lanes go on until they stop: some steps at a time without a branch that could be guessed wrong. Who stops in
    // between marks time, and is then left out. One tree is near after some rows; many trees are far: there every lane
    // takes one step, and sends for the next test, which has come when all others have taken theirs.
    template <bool kMixed, bool kDoubtful, bool kFar, class LaneOf>
    void descend(size_t n_moving, const LaneOf& lane_of) {
        const uint32_t shift = program_.shift(), mask = program_.cell_mask();
        const Slot* const near = lane_of(known_by_[0]).slots;
        const auto idle = static_cast<uint32_t>(at_.size() - 1);
        uint32_t *const ends = at_.data(), *const moving = moving_.data();
        while (n_moving) {
            size_t n_left = 0;
            std::fill_n(moving + n_moving, kTogether - 1, idle);
            for (size_t i = 0; i < n_moving; i += kTogether) {
                size_t at[kTogether];
                uint32_t tied[kTogether] = {}, number[kTogether];
                bool stops[kTogether];
                Lane lane[kTogether];
                for (size_t k = 0; k < kTogether; ++k) {
                    number[k] = moving[i + k];
                    lane[k] = lane_of(known_by_[number[k]]), at[k] = ends[number[k]];
                }
#pragma GCC unroll 8  // so that a lane keeps its register
                for (int step = 0; step < (kFar ? 1 : kAtOnce); ++step) {
                    std::atomic_signal_fence(std::memory_order_seq_cst);  // all lanes one step, not one lane all steps
#pragma GCC unroll 8
                    for (size_t k = 0; k < kTogether; ++k) {
                        const Slot& s = (kFar ? lane[k].slots : near)[at[k]];
                        const int64_t way = static_cast<int32_t>(s.way);
                        const uint32_t cell = lane[k].cells[way & mask];
                        const int64_t second = is_second<kMixed, kDoubtful>(s, cell, shift, tied[k]);
                        // one on to the first child, some more to the second; 1 − 1 from where a row stops
                        at[k] += static_cast<size_t>(1 + (-second & way >> shift));
                        if constexpr (kFar) stops[k] = s.stops();
                    }
                }
                for (size_t k = 0; k < kTogether; ++k) {
                    ends[number[k]] = static_cast<uint32_t>(at[k]);
                    if constexpr (kDoubtful) tied_[number[k]] |= static_cast<uint8_t>(tied[k]);
                    moving[n_left] = number[k];
                    if constexpr (kFar) __builtin_prefetch(lane[k].slots + at[k]);
                    n_left += !(kFar ? stops[k] : near[at[k]].stops());
                }
            }
            n_moving = n_left;
        }
    }

    // Whether a cell goes to the second child: 1 or 0; 1 where a row stops.
    template <bool kMixed, bool kDoubtful>
    static uint32_t is_second(const Slot& s, uint32_t cell, uint32_t shift, uint32_t& tied) {
        uint32_t second = s.test < cell;
        if constexpr (kMixed) {
            const uint32_t by_level = s.way >> (shift - 1) & 1, missing_first = s.way >> (shift - 2) & 1;
            second &= 1 ^ (uint32_t{cell == kMissingCell} & missing_first);
            second = (by_level & ~(s.test >> (cell & 31))) | ((by_level ^ 1) & second);
            if constexpr (kDoubtful) tied |= uint32_t{cell == s.test} & (by_level ^ 1);
        } else if constexpr (kDoubtful) {
            tied |= cell == s.test;
        }
        return second;
    }

    // One step at each question; how many lanes move on.
    template <class LaneOf, class PairOf>
    size_t step_aside(size_t n, const LaneOf& lane_of, const PairOf& pair_of) {
        size_t n_moving = 0;
        for (size_t k = 0; k < n; ++k) {
            if (!Program::is_question(lane_of(known_by_[k]).slots[at_[k]])) continue;
            const Pair pair = pair_of(known_by_[k]);
            const int64_t child = program_.child_by_question(pair.tree, at_[k], columns_, pair.row);
            if (child < 0) continue;
            at_[k] = static_cast<uint32_t>(child);
            moving_[n_moving++] = static_cast<uint32_t>(k);
        }
        return n_moving;
    }
    uint32_t end_exactly(Pair pair) const {
        uint32_t at = 0;
        for (int64_t next = 0; next >= 0; next = program_.next_exactly(pair.tree, at, columns_, pair.row))
            at = static_cast<uint32_t>(next);
        return at;
    }

    const Program& program_;
    const std::vector<Column>& columns_;
    Cells cells_;
    int64_t begin_ = 0;
    std::vector<uint32_t> known_by_, at_, moving_;  // of each lane; moving_: numbers of lanes
    std::vector<uint8_t> tied_;
};

// A tree comes from far once a block: blocks are large, but where rows are enough there are two of them a thread, so
// that one that is late leaves work to the others.
int64_t rows_a_block(const Program& program, int64_t n_rows, int n_jobs) {
    constexpr int64_t kCells = 1 << 18, kFewest = 64, kMost = 1 << 14;
    const auto width = static_cast<int64_t>(program.cell_columns().size()) + 1;
    return std::clamp(std::min(kCells / width, n_rows / (2 * std::max(n_jobs, 1)) + 1), kFewest, kMost);
}

// Calls work(walker, begin, end, pulse) for all blocks of rows. There may be a million trees, so work has a pulse for
// between two of them.
template <class Work>
void by_blocks(const Program& program, const std::vector<Column>& columns, int64_t n_rows, int n_jobs,
               const Monitor& monitor, const Work& work) {
    const int64_t block = rows_a_block(program, n_rows, n_jobs);
    const auto pieces = static_cast<size_t>((n_rows + block - 1) / block);
    Crew crew(std::min(n_jobs, static_cast<int>(std::min<size_t>(pieces, 1024))));
    std::vector<Walker> walkers(static_cast<size_t>(crew.size()), Walker(program, columns));
    std::atomic<int64_t> done = 0;
    const Pulse tick = [&] { monitor(static_cast<double>(done) / static_cast<double>(n_rows)); };
    crew.share(
        pieces,
        [&](size_t piece, int worker) {
            const int64_t begin = static_cast<int64_t>(piece) * block, end = std::min(n_rows, begin + block);
            Walker& walker = walkers[static_cast<size_t>(worker)];
            walker.read(begin, end);
            work(walker, begin, end, crew.pulse(worker, tick));
            done += end - begin;
        },
        tick);
}

std::vector<uint32_t> all_below(size_t n) {
    std::vector<uint32_t> numbers(n);
    std::iota(numbers.begin(), numbers.end(), 0u);
    return numbers;
}

// Adds what trees say of rows.
class Adder {
public:
    Adder(const Program& program, const Ballot& ballot, double* sums)
        : program_(program), ballot_(ballot), width_(program.width()), sums_(sums) {}

    bool counts(size_t tree, int64_t row) const {
        return !ballot_.counted ||
               (ballot_.counted[static_cast<int64_t>(tree) * ballot_.bytes_a_tree + row / 8] >> (row % 8) & 1);
    }
    // Of each row by itself, in order; row_of(k) and tree_of(k) are those of ends[k].
    template <class TreeOf, class RowOf>
    void add(std::span<const uint32_t> ends, const TreeOf& tree_of, const RowOf& row_of) const {
        const auto all = [&](const auto& add_one) {
            for (size_t k = 0; k < ends.size(); ++k)
                add_one(sums_ + static_cast<size_t>(row_of(k)) * width_, program_.answer_at(tree_of(k), ends[k]), k);
        };
        if (ballot_.said == Said::votes)
            all([&](double* sum, uint32_t answer, size_t k) {
                sum[program_.label(answer)] += ballot_.votes[tree_of(k)];
            });
        else if (program_.lists_classes())
            all([&](double* sum, uint32_t answer, size_t) {
                program_.known_shares(answer, [sum](int32_t c, double share) { sum[c] += share; });
            });
        else if (width_ == 1)  // values, too
            all([&](double* sum, uint32_t answer, size_t) { add_shares<1>(sum, answer); });
        else if (width_ == 2)
            all([&](double* sum, uint32_t answer, size_t) { add_shares<2>(sum, answer); });
        else
            all([&](double* sum, uint32_t answer, size_t) { add_shares<0>(sum, answer); });
    }

private:
    // kWidth: how many, where it is known to the compiler.
    template <size_t kWidth>
    void add_shares(double* sum, uint32_t answer) const {
        const double* share = program_.all_shares(answer);
        for (size_t c = 0; c < (kWidth ? kWidth : width_); ++c) sum[c] += share[c];
    }

    const Program& program_;
    const Ballot& ballot_;
    size_t width_;
    double* sums_;
};

}  // namespace

void add_votes(const Program& program, const std::vector<Column>& columns, int64_t n_rows, const Ballot& ballot,
               int n_jobs, const Monitor& monitor, double* sums) {
    const Adder adder(program, ballot, sums);
    by_blocks(program, columns, n_rows, n_jobs, monitor, [&](Walker& walker, auto begin, auto end, const Pulse& pulse) {
        std::vector<uint32_t> some;
        if (end - begin < static_cast<int64_t>(kTogether)) {
            for (int64_t row = begin; row < end; ++row) {
                some.clear();
                for (size_t t = ballot.first; t < ballot.last; ++t)
                    if (adder.counts(t, row)) some.push_back(static_cast<uint32_t>(t));
                const auto ends = walker.trees_down(some, static_cast<uint32_t>(row - begin));
                adder.add(ends, [&](size_t k) { return some[k]; }, [&](size_t) { return row; });
            }
            return;
        }
        for (size_t t = ballot.first; t < ballot.last; ++t) {
            if (t == ballot.first || ballot.counted) {
                some.clear();
                for (int64_t row = begin; row < end; ++row)
                    if (adder.counts(t, row)) some.push_back(static_cast<uint32_t>(row - begin));
            }
            walker.rows_down(t, some, [&](std::span<const uint32_t> rows, std::span<const uint32_t> ends) {
                adder.add(ends, [&](size_t) { return t; }, [&](size_t k) { return begin + rows[k]; });
            });
            pulse();
        }
    });
}

void find_ends(const Program& program, const std::vector<Column>& columns, int64_t n_rows, int n_jobs,
               const Monitor& monitor, int32_t* ends) {
    const size_t n_trees = program.n_trees();
    by_blocks(program, columns, n_rows, n_jobs, monitor, [&](Walker& walker, auto begin, auto end, const Pulse& pulse) {
        const std::vector<uint32_t> rows = all_below(static_cast<size_t>(end - begin));
        for (size_t t = 0; t < n_trees; ++t) {
            walker.rows_down(t, rows, [&](std::span<const uint32_t> some, std::span<const uint32_t> found) {
                for (size_t k = 0; k < some.size(); ++k)
                    ends[(static_cast<size_t>(begin) + some[k]) * n_trees + t] = static_cast<int32_t>(found[k]);
            });
            pulse();
        }
    });
}

Place first_asking(const Program& program, const std::vector<Column>& columns, int64_t row,
                   const std::vector<bool>& which) {
    for (size_t t = 0; t < program.n_trees(); ++t) {
        for (int64_t at = 0, next; at >= 0; at = next) {
            next = program.next_exactly(t, static_cast<uint32_t>(at), columns, row);
            const Slot s = program.tree(t)[at];
            const bool leaf = s.stops() && !Program::is_question(s);
            if (!leaf && which[program.column_at(t, static_cast<uint32_t>(at))]) return {static_cast<int64_t>(t), at};
        }
    }
    return {};
}

}  // namespace treewise
