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

#include "contest.hpp"

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
    SortedScan(const Settings& settings, const Appraiser<S>& appraiser) : settings_(settings), appraiser_(appraiser) {}

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

    template <Criterion C>
    struct Pass {
        Pass(const SortedScan& s, const Around& a, Contest& c)
            : settings(s.settings_), appraiser(s.appraiser_), around(a), contest(c), run(s.appraiser_.scorer) {
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
            while (i < last) {
                if constexpr (S == Shape::two && requires { Weight::unit; }) {
                    if (settings.tuning.bounds && settings.rule == Rule::gain && last - i >= kBlock &&
                        passed_over(i, load)) {
                        i += kBlock;
                        continue;
                    }
                }
                const int64_t stop = std::min(last, i + kBlock);
                for (; i < stop; ++i) {
                    run.step(load(i), weight(i));
                    look(i + 1, differs);
                }
            }
        }

        template <class Load>
        bool passed_over(int64_t i, const Load& load) {
            int64_t ones = 0;
            for (int64_t k = 0; k < kBlock; ++k) ones += load(i + k);
            const int64_t m = run.left_weight(), a = run.left_load(), n = run.right_weight(), b = run.right_load();
            const auto at = [&](int64_t rows, int64_t of_them) {
                return appraiser.scorer.template two<C>(m + rows, a + of_them) +
                       appraiser.scorer.template two<C>(n - rows, b - of_them);
            };
            const double most = std::max({at(ones, ones), at(kBlock - ones, 0), at(kBlock, ones)}) + own;
            if (!contest.hopeless(around.column, appraiser.merit(most, filled, [] { return 0.0; }).most)) return false;
            run.skip(kBlock, ones);
            return true;
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
        const Around& around;
        Contest& contest;
        Run<C, S> run;
        double own;
        int filled;
    };

    const Settings& settings_;
    const Appraiser<S>& appraiser_;
};

struct UnitWeight {
    static constexpr bool unit = true;
    int64_t operator()(int64_t) const { return 1; }
};

// Sorts rows by key without comparing them two by two: a radix sort on the highest bits that differ, then what is still
// unsorted (values that agree in those) by comparison. `rows` are indices into `keys`, in any order.
class Sorter {
public:
    void sort(const std::vector<int64_t>& keys, std::vector<uint32_t>& rows) {
        const size_t n = rows.size();
        if (n < 64) return by_comparison(keys, rows.begin(), rows.end());
        uint64_t low = ~uint64_t{0}, high = 0;
        for (uint32_t r : rows) low = std::min(low, flat(keys[r])), high = std::max(high, flat(keys[r]));
        const int bits = 64 - std::countl_zero((high - low) | 1), shift = std::max(0, bits - 2 * kDigit);
        a_.resize(n), b_.resize(n);
        std::array<uint32_t, kSlots> one{}, two{};
        for (size_t i = 0; i < n; ++i) {
            const auto key = static_cast<uint32_t>((flat(keys[rows[i]]) - low) >> shift);
            a_[i] = {key, rows[i]};
            ++one[key & kMask], ++two[key >> kDigit];
        }
        std::exclusive_scan(one.begin(), one.end(), one.begin(), 0u);
        std::exclusive_scan(two.begin(), two.end(), two.begin(), 0u);
        for (const Entry& e : a_) b_[one[e.key & kMask]++] = e;
        for (const Entry& e : b_) a_[two[e.key >> kDigit]++] = e;
        for (size_t i = 0; i < n; ++i) rows[i] = a_[i].row;
        if (shift == 0) return;
        for (size_t i = 0; i < n;) {
            size_t j = i + 1;
            while (j < n && a_[j].key == a_[i].key) ++j;
            if (j - i > 1)
                by_comparison(keys, rows.begin() + static_cast<int64_t>(i), rows.begin() + static_cast<int64_t>(j));
            i = j;
        }
    }

private:
    static constexpr int kDigit = 11;
    static constexpr uint32_t kSlots = 1u << kDigit, kMask = kSlots - 1;
    struct Entry {
        uint32_t key, row;
    };
    static uint64_t flat(int64_t key) { return static_cast<uint64_t>(key) ^ (uint64_t{1} << 63); }
    template <class It>
    static void by_comparison(const std::vector<int64_t>& keys, It first, It last) {
        std::sort(first, last, [&](uint32_t a, uint32_t b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; });
    }
    std::vector<Entry> a_, b_;
};

}  // namespace treewise
