// Rows in order of a number: which cuts between them could be the best?
//
// Serves both engines: a whole column of a small node, or the few bins of a large one that may hide a better cut
// (histogram.hpp). A cut with i rows of the run on its left scores what Run says after i steps. Whether the values on
// both sides of it differ at all is asked only of cuts that would be good enough.
//
// Two classes of unit weight are by far the most common, and there a block of 64 rows can be passed over at once: among
// all ways to order a block's rows, the score is convex in (rows, ones) moved to the left, so that none does better
// than "all ones first", "all others first" or the block's end.
//
//         ones ▲      ┌──────● end of block
//              │      │     /          every order of the block's rows is a path from the start to the end;
//              │      │ paths          the corners of the box bound the score on all of them
//              │ start●─────┘
//              └──────────────▶ others

#pragma once

#include <array>
#include <numeric>

#include "blocks.hpp"
#include "contest.hpp"
#include "crew.hpp"
#include "frame.hpp"

namespace treewise {

// What a run of rows is a part of.
struct Around {
    int32_t column;
    const int64_t* left;   // statistics of what lies below the run …
    const int64_t* right;  // … and of the run with what lies above it
    const int64_t* own;    // of a third branch, that of the missing rows; or null
    int64_t below;         // present rows below the run
};

template <Shape S>
class SortedScan {
public:
    SortedScan(const Settings& settings, const Tables& tables, const Appraiser<S>& appraiser, Pulse pulse)
        : settings_(settings), tables_(tables), appraiser_(appraiser), pulse_(std::move(pulse)) {}

    // load(i), weight(i): of row i; differs(i): whether the values of rows i − 1 and i do. Cuts after row 1 … n_cuts.
    template <class Load, class Weight, class Differs>
    void scan(const Around& around, int64_t n_cuts, const Load& load, const Weight& weight, const Differs& differs,
              Contest& contest) {
        const auto with = [&]<Criterion C>() { Pass<C>{*this, around, contest}.scan(n_cuts, load, weight, differs); };
        const Criterion criterion = settings_.criterion;
        if constexpr (S == Shape::sums) {
            if (criterion == Criterion::poisson) return with.template operator()<Criterion::poisson>();
            with.template operator()<Criterion::squared_error>();
        } else {
            if (criterion == Criterion::entropy) return with.template operator()<Criterion::entropy>();
            if (criterion == Criterion::gini) return with.template operator()<Criterion::gini>();
            with.template operator()<Criterion::error>();
        }
    }

private:
    static constexpr int64_t kBlock = 64;
    static constexpr size_t kBlocks = kBetweenPulses / kBlock;

    template <Criterion C>
    struct Pass {
        Pass(const SortedScan& s, const Around& a, Contest& c)
            : settings(s.settings_),
              appraiser(s.appraiser_),
              tables(s.tables_),
              pulse(s.pulse_),
              around(a),
              contest(c),
              run(s.appraiser_.scorer) {
            own = around.own ? appraiser.scorer.side(around.own) : 0.0;
            filled = 2 + (around.own != nullptr);
        }

        template <class Load, class Weight, class Differs>
        void scan(int64_t n_cuts, const Load& load, const Weight& weight, const Differs& differs) {
            const int64_t first = std::max<int64_t>(1, settings.min_samples_leaf - around.left[kRows]);
            const int64_t last =
                std::min(n_cuts, around.right[kRows] - std::max<int64_t>(1, settings.min_samples_leaf));
            run.start(around.left, around.right);
            int64_t i = 0;
            for (; i < first - 1 && i < last; ++i) run.step(load(i), weight(i));
            if constexpr (requires { Weight::unit; } && (S == Shape::two || C == Criterion::squared_error)) {
                if (settings.rule == Rule::gain && run.left_weight() + run.right_weight() <= tables.inverses.most())
                    return sweep(i, last, load, differs);
            }
            for (size_t blocks = 1; i < last; ++blocks) {
                if (blocks % kBlocks == 0) pulse();
                const int64_t stop = std::min(last, i + kBlock);
                for (; i < stop; ++i) {
                    run.step(load(i), weight(i));
                    look(i + 1, differs);
                }
            }
        }

        // Blocks of rows of unit weight: first whether any cut of the block could win, then all of them at once.
        template <class Load, class Differs>
        void sweep(int64_t i, int64_t last, const Load& load, const Differs& differs) {
            const double mean = appraiser.scorer.mean(), share = appraiser.merit_of_gain(1.0, filled);
            const double all = run.left_weight() + run.right_weight();
            const double sum = static_cast<double>(run.left_load() + run.right_load()) - mean * all;
            double prefix[kBlock], scores[kBlock];
            for (size_t blocks = 1; i < last; ++blocks) {
                if (blocks % kBlocks == 0) pulse();
                const int64_t n = std::min(kBlock, last - i);
                // What a score must reach to be worth a look: merit = (score + own − whole + delta)·share.
                const double enough =
                    contest.bar(around.column) / share - appraiser.delta(filled) + appraiser.scorer.whole() - own;
                int64_t sum_here = 0;
                if constexpr (S == Shape::two) {
                    for (int64_t k = 0; k < n; ++k) sum_here += load(i + k);
                    if (settings.tuning.bounds && n == kBlock && most_within(sum_here) < enough) {
                        run.skip(n, sum_here), i += n;
                        continue;
                    }
                }
                int64_t running = run.left_load();
                double m = static_cast<double>(run.left_weight());
                for (int64_t k = 0; k < n; ++k) {
                    running += load(i + k);
                    if constexpr (S == Shape::sums) m += 1;
                    prefix[k] = static_cast<double>(running) - (S == Shape::sums ? mean * m : 0.0);
                }
                const Sweep block{n, run.left_weight(), run.left_weight() + run.right_weight(), sum, prefix, scores};
                if constexpr (C == Criterion::gini) sweep_gini(block, tables.inverses.data());
                if constexpr (C == Criterion::entropy) sweep_entropy(block, tables.logs.data());
                if constexpr (C == Criterion::error) sweep_error(block);
                if constexpr (C == Criterion::squared_error) sweep_squares(block, tables.inverses.data());
                double most = scores[0];
                for (int64_t k = 1; k < n; ++k) most = std::max(most, scores[k]);
                for (int64_t k = 0; most >= enough && k < n; ++k) {
                    if (scores[k] >= enough) offer(i + k + 1, scores[k], run.left_weight() + k + 1, all, differs);
                }
                run.skip(n, running - run.left_load()), i += n;
            }
        }
        template <class Differs>
        void offer(int64_t i, double score, int64_t left_weight, double all, const Differs& differs) {
            const auto [least, most] = appraiser.merit(score + own, filled, [] { return 0.0; });
            if (contest.hopeless(around.column, most) || !differs(i)) return;
            const auto least_weight = settings.min_leaf_weight;
            if (left_weight < least_weight || static_cast<int64_t>(all) - left_weight < least_weight) return;
            contest.offer(around.column, around.below + i, least, most);
        }
        // The best score any order of a block's rows could give.
        double most_within(int64_t ones) const {
            const int64_t m = run.left_weight(), a = run.left_load(), n = run.right_weight(), b = run.right_load();
            const auto side = [&](int64_t weight, int64_t of_them) {
                const auto x = static_cast<double>(of_them), y = static_cast<double>(weight - of_them);
                if constexpr (C == Criterion::gini) return (x * x + y * y) * tables.inverses.data()[weight];
                return appraiser.scorer.template two<C>(weight, of_them);
            };
            const auto at = [&](int64_t rows, int64_t of_them) {
                return side(m + rows, a + of_them) + side(n - rows, b - of_them);
            };
            return std::max({at(ones, ones), at(kBlock - ones, 0), at(kBlock, ones)});
        }

        template <class Differs>
        void look(int64_t i, const Differs& differs) {
            const auto [least, most] = appraiser.merit(run.score() + own, filled, [&] {
                return appraiser.log(run.left_weight()) + appraiser.log(run.right_weight()) +
                       (around.own ? appraiser.log(around.own[kWeight]) : 0.0);
            });
            if (contest.hopeless(around.column, most) || !differs(i)) return;
            if (run.left_weight() < settings.min_leaf_weight || run.right_weight() < settings.min_leaf_weight) return;
            // Poisson: a branch whose targets are all 0 is no candidate; one whose cut sum is 0 may still be one.
            const bool sure = C != Criterion::poisson || (run.left_load() > 0 && run.right_load() > 0);
            contest.offer(around.column, around.below + i, sure ? least : -std::numeric_limits<double>::infinity(),
                          most);
        }

        const Settings& settings;
        const Appraiser<S>& appraiser;
        const Tables& tables;
        const Pulse& pulse;
        const Around& around;
        Contest& contest;
        Run<C, S> run;
        double own;
        int filled;
    };

    const Settings& settings_;
    const Tables& tables_;
    const Appraiser<S>& appraiser_;
    Pulse pulse_;
};

struct UnitWeight {
    static constexpr bool unit = true;
    int64_t operator()(int64_t) const { return 1; }
};

// Sorts rows by key without comparing them two by two: a radix sort on the highest bits that differ, then what is still
// unsorted (values that agree in those) by comparison. `rows` are indices into `keys`, in any order.
class Sorter {
public:
    void sort(const std::vector<int64_t>& keys, std::vector<uint32_t>& rows, const Pulse& pulse) {
        const size_t n = rows.size();
        if (n < 64) return by_comparison(keys, rows.begin(), rows.end());
        uint64_t low = ~uint64_t{0}, high = 0;
        in_pieces(n, pulse, [&](size_t i) {
            const uint64_t key = flat(keys[rows[i]]);
            low = std::min(low, key), high = std::max(high, key);
        });
        const int bits = 64 - std::countl_zero((high - low) | 1), shift = std::max(0, bits - 32);
        a_.resize(n), b_.resize(n);
        for (auto& digit : starts_) digit.fill(0);
        in_pieces(n, pulse, [&](size_t i) {
            const auto key = static_cast<uint32_t>((flat(keys[rows[i]]) - low) >> shift);
            a_[i] = {key, rows[i]};
            for (int d = 0; d < kDigits; ++d) ++starts_[d][key >> (d * kDigit) & kMask];
        });
        for (int d = 0; d < kDigits; ++d) {
            auto& start = starts_[d];
            if (start[a_[0].key >> (d * kDigit) & kMask] == n) continue;  // all the same
            std::exclusive_scan(start.begin(), start.end(), start.begin(), 0u);
            in_pieces(n, pulse, [&](size_t i) { b_[start[a_[i].key >> (d * kDigit) & kMask]++] = a_[i]; });
            std::swap(a_, b_);
        }
        for (size_t i = 0; i < n; ++i) rows[i] = a_[i].row;
        if (shift == 0) return;
        for (size_t i = 0; i < n;) {
            size_t j = i + 1;
            while (j < n && a_[j].key == a_[i].key) ++j;
            if (j - i > 1)
                by_comparison(keys, rows.begin() + static_cast<int64_t>(i), rows.begin() + static_cast<int64_t>(j));
            if (j / kBetweenPulses != i / kBetweenPulses) pulse();
            i = j;
        }
    }

private:
    static constexpr int kDigit = 11, kDigits = 3;
    static constexpr uint32_t kSlots = 1u << kDigit, kMask = kSlots - 1;
    struct Entry {
        uint32_t key, row;
    };
    template <class Work>
    static void in_pieces(size_t n, const Pulse& pulse, const Work& work) {
        for (size_t begin = 0; begin < n; begin += kBetweenPulses) {
            if (begin) pulse();
            for (size_t i = begin; i < std::min(n, begin + kBetweenPulses); ++i) work(i);
        }
    }
    static uint64_t flat(int64_t key) { return static_cast<uint64_t>(key) ^ (uint64_t{1} << 63); }
    template <class It>
    static void by_comparison(const std::vector<int64_t>& keys, It first, It last) {
        std::sort(first, last, [&](uint32_t a, uint32_t b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; });
    }
    std::vector<Entry> a_, b_;
    std::array<std::array<uint32_t, kSlots>, kDigits> starts_;
};

}  // namespace treewise
