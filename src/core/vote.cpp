// Rows down many trees: in blocks whose cells stay in a near cache, tree after tree, several rows together.

#include "vote.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "cells.hpp"
#include "crew.hpp"

namespace treewise {
namespace {

constexpr size_t kTogether = 8;  // what goes down at once: while one waits for memory, the others move
constexpr int kAtOnce = 4;       // steps, before it is asked who still moves

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

    // Where some rows (numbered in the block) end in a tree.
    std::span<const uint32_t> rows_down(size_t tree, std::span<const uint32_t> rows) {
        const Slot* slots = program_.tree(tree);
        go<false>(
            rows.size(), [&](size_t k) { return Lane{slots, cells_.row(rows[k])}; },
            [&](size_t k) { return Pair{tree, begin_ + rows[k]}; });
        return {at_.data(), rows.size()};
    }
    // Where one row ends in some trees.
    std::span<const uint32_t> trees_down(std::span<const uint32_t> trees, uint32_t row) {
        const uint32_t* cells = cells_.row(row);
        go<true>(
            trees.size(), [&](size_t k) { return Lane{program_.tree(trees[k]), cells}; },
            [&](size_t k) { return Pair{trees[k], begin_ + row}; });
        return {at_.data(), trees.size()};
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

    template <bool kFar, class LaneOf, class PairOf>
    void go(size_t n, const LaneOf& lane, const PairOf& pair) {
        at_.assign(n, 0), tied_.assign(n, 0);
        moving_.resize(n + kTogether);  // the last may be met several times
        size_t n_moving = n;
        std::iota(moving_.begin(), moving_.begin() + static_cast<int64_t>(n), 0u);
        const bool mixed = cells_.missing() || program_.has_levels(), doubtful = cells_.doubtful();
        while (n_moving) {
            if (mixed)
                doubtful ? descend<true, true, kFar>(n_moving, lane) : descend<true, false, kFar>(n_moving, lane);
            else
                doubtful ? descend<false, true, kFar>(n_moving, lane) : descend<false, false, kFar>(n_moving, lane);
            n_moving = program_.asks() ? step_aside(n, lane, pair) : 0;
        }
        for (size_t k = 0; doubtful && k < n; ++k)
            if (tied_[k]) at_[k] = end_exactly(pair(k));
    }

    // Lanes go on until they stop: some steps at a time without a branch that could be guessed wrong. Who stops in
    // between marks time, and is then left out. One tree is near after some rows; many trees are far: there every lane
    // takes one step, and sends for the next test, which has come when all others have taken theirs.
    template <bool kMixed, bool kDoubtful, bool kFar, class LaneOf>
    void descend(size_t n_moving, const LaneOf& lane_of) {
        const uint32_t shift = program_.shift(), mask = program_.cell_mask();
        const Slot* const near = lane_of(0).slots;
        while (n_moving) {
            size_t n_left = 0;
            for (size_t i = 0; i < n_moving; i += kTogether) {
                uint32_t at[kTogether], tied[kTogether] = {}, number[kTogether], ahead[kTogether];
                Lane lane[kTogether];
                for (size_t k = 0; k < kTogether; ++k) {
                    number[k] = moving_[std::min(i + k, n_moving - 1)];
                    lane[k] = lane_of(number[k]), at[k] = at_[number[k]];
                }
                for (int step = 0; step < (kFar ? 1 : kAtOnce); ++step) {
                    std::atomic_signal_fence(std::memory_order_seq_cst);  // all lanes one step, not one lane all steps
#pragma GCC unroll 8
                    for (size_t k = 0; k < kTogether; ++k) {
                        const Slot& s = (kFar ? lane[k].slots : near)[at[k]];
                        const uint32_t cell = lane[k].cells[s.way & mask];
                        at[k] += step_of<kMixed, kDoubtful>(s, cell, shift, tied[k], ahead[k]);
                    }
                }
                const size_t n = std::min(kTogether, n_moving - i);
                for (size_t k = 0; k < n; ++k) {
                    at_[number[k]] = at[k];
                    if constexpr (kDoubtful) tied_[number[k]] |= static_cast<uint8_t>(tied[k]);
                    moving_[n_left] = number[k];
                    if constexpr (kFar) __builtin_prefetch(lane[k].slots + at[k]);
                    n_left += (kFar ? ahead[k] : near[at[k]].way >> shift) != 0;
                }
            }
            n_moving = n_left;
        }
    }

    // How far to go from a test: one on to the first child, `ahead` to the second; nowhere from where a row stops.
    template <bool kMixed, bool kDoubtful>
    static uint32_t step_of(const Slot& s, uint32_t cell, uint32_t shift, uint32_t& tied, uint32_t& ahead) {
        const uint32_t way = s.way;
        const float cut = s.cut(), x = std::bit_cast<float>(cell);
        uint32_t first = x <= cut;
        if constexpr (kMixed) {
            const uint32_t by_level = way >> (shift - 1) & 1, missing_first = way >> (shift - 2) & 1;
            first |= uint32_t{x != x} & missing_first;
            first = (by_level & s.test >> (cell & 31)) | ((by_level ^ 1) & first);
            if constexpr (kDoubtful) tied |= uint32_t{x == cut} & (by_level ^ 1);
        } else if constexpr (kDoubtful) {
            tied |= x == cut;
        }
        ahead = way >> shift;
        return ahead ^ ((ahead ^ 1) & (0 - first));
    }

    // One step at each question; how many lanes move on.
    template <class LaneOf, class PairOf>
    size_t step_aside(size_t n, const LaneOf& lane_of, const PairOf& pair_of) {
        size_t n_moving = 0;
        for (size_t k = 0; k < n; ++k) {
            if (!Program::is_question(lane_of(k).slots[at_[k]])) continue;
            const Pair pair = pair_of(k);
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
    std::vector<uint32_t> at_, moving_;
    std::vector<uint8_t> tied_;
};

constexpr size_t kNear = 256;  // rows that go down a tree before the next do: their cells stay in the nearest cache

// A tree comes from far once a block: blocks are large, but there must be enough of them for all threads.
int64_t rows_a_block(const Program& program, int64_t n_rows, int n_jobs) {
    constexpr int64_t kCells = 1 << 18, kFewest = 64, kMost = 1 << 14;
    const auto width = static_cast<int64_t>(program.cell_columns().size()) + 1;
    return std::clamp(std::min(kCells / width, n_rows / (4 * std::max(n_jobs, 1)) + 1), kFewest, kMost);
}

// Calls work(walker, begin, end) for all blocks of rows.
template <class Work>
void by_blocks(const Program& program, const std::vector<Column>& columns, int64_t n_rows, int n_jobs,
               const Monitor& monitor, const Work& work) {
    const int64_t block = rows_a_block(program, n_rows, n_jobs);
    const auto pieces = static_cast<size_t>((n_rows + block - 1) / block);
    Crew crew(std::min(n_jobs, static_cast<int>(std::min<size_t>(pieces, 1024))));
    std::vector<Walker> walkers(static_cast<size_t>(crew.size()), Walker(program, columns));
    std::atomic<int64_t> done = 0;
    crew.share(
        pieces,
        [&](size_t piece, int worker) {
            const int64_t begin = static_cast<int64_t>(piece) * block, end = std::min(n_rows, begin + block);
            Walker& walker = walkers[static_cast<size_t>(worker)];
            walker.read(begin, end);
            work(walker, begin, end);
            done += end - begin;
        },
        [&] { monitor(static_cast<double>(done) / static_cast<double>(n_rows)); });
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
        : program_(program), ballot_(ballot), width_(std::max<int64_t>(1, program.n_classes())), sums_(sums) {}

    bool counts(size_t tree, int64_t row) const {
        return !ballot_.counted ||
               (ballot_.counted[static_cast<int64_t>(tree) * ballot_.bytes_a_tree + row / 8] >> (row % 8) & 1);
    }
    // Of each row by itself, in order; rows_of(k) and tree_of(k) are those of ends[k].
    template <class TreeOf, class RowOf>
    void add(std::span<const uint32_t> ends, const TreeOf& tree_of, const RowOf& row_of) const {
        const auto all = [&](const auto& add_one) {
            for (size_t k = 0; k < ends.size(); ++k)
                add_one(sums_ + row_of(k) * width_, program_.answer_at(tree_of(k), ends[k]), k);
        };
        switch (ballot_.said) {
            case Said::shares:
                return all([&](double* sum, uint32_t answer, size_t) {
                    program_.shares(answer, [sum](int32_t c, double share) { sum[c] += share; });
                });
            case Said::votes:
                return all([&](double* sum, uint32_t answer, size_t k) {
                    sum[program_.label(answer)] += ballot_.votes[tree_of(k)];
                });
            case Said::values:
                return all([&](double* sum, uint32_t answer, size_t) { *sum += program_.value(answer); });
        }
    }

private:
    const Program& program_;
    const Ballot& ballot_;
    int64_t width_;
    double* sums_;
};

}  // namespace

void add_votes(const Program& program, const std::vector<Column>& columns, int64_t n_rows, const Ballot& ballot,
               int n_jobs, const Monitor& monitor, double* sums) {
    const Adder adder(program, ballot, sums);
    by_blocks(program, columns, n_rows, n_jobs, monitor, [&](Walker& walker, int64_t begin, int64_t end) {
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
            for (size_t i = 0; i < some.size(); i += kNear) {
                const auto rows = std::span(some).subspan(i, std::min(kNear, some.size() - i));
                const auto ends = walker.rows_down(t, rows);
                adder.add(ends, [&](size_t) { return t; }, [&](size_t k) { return begin + rows[k]; });
            }
        }
    });
}

void find_ends(const Program& program, const std::vector<Column>& columns, int64_t n_rows, int n_jobs,
               const Monitor& monitor, int32_t* ends) {
    const size_t n_trees = program.n_trees();
    by_blocks(program, columns, n_rows, n_jobs, monitor, [&](Walker& walker, int64_t begin, int64_t end) {
        const std::vector<uint32_t> rows = all_below(static_cast<size_t>(end - begin));
        for (size_t t = 0; t < n_trees; ++t) {
            const auto found = walker.rows_down(t, rows);
            for (size_t i = 0; i < rows.size(); ++i)
                ends[(static_cast<size_t>(begin) + i) * n_trees + t] = static_cast<int32_t>(found[i]);
        }
    });
}

Place first_asking(const Program& program, const std::vector<Column>& columns, int64_t row,
                   const std::vector<bool>& which) {
    for (size_t t = 0; t < program.n_trees(); ++t) {
        for (int64_t at = 0, next; at >= 0; at = next) {
            next = program.next_exactly(t, static_cast<uint32_t>(at), columns, row);
            const Slot s = program.tree(t)[at];
            const bool leaf = program.ahead(s) == 0 && !Program::is_question(s);
            if (!leaf && which[program.column_at(t, static_cast<uint32_t>(at))]) return {static_cast<int64_t>(t), at};
        }
    }
    return {};
}

}  // namespace treewise
