// Rows in order of a number: which cuts between them could be the best?
//
// Serves both engines: a whole column of a small node, or the few bins of a large one that may hide a better cut
// (engines/histogram.hpp). A cut with i rows of the run on its left scores what Run says after i steps. Whether the
// values on both sides of it differ at all is asked only of cuts that would be good enough.
//
// Two classes of small weights are by far the most common, and there a block of 64 rows can be passed over at once:
// among all ways to order a block's rows, the score is convex in (weight, ones) moved to the left, so that none does
// better than "all ones first", "all others first" or the block's end.
//
//         ones ▲      ┌──────● end of block
//              │      │     /          every order of the block's rows is a path from the start to the end;
//              │      │ paths          the corners of the box bound the score on all of them
//              │ start●─────┘
//              └──────────────▶ others

#pragma once

#include <array>
#include <numeric>

#include "criteria/simd.hpp"
#include "problem/fit_context.hpp"
#include "search/candidate_filter.hpp"
#include "util/thread_pool.hpp"

namespace treewise {

// What a run of rows is a part of.
struct Around {
    int32_t column;
    const int64_t* left;   // statistics of what lies below the run …
    const int64_t* right;  // … and of the run with what lies above it
    const int64_t* own;    // of a third branch, that of the missing rows; or null
    int64_t below;         // present rows below the run
};

// What lies left of each of several cuts.
struct Edges {
    size_t n = 0;
    std::vector<int64_t> rows;  // these only ever grow
    std::vector<double> weight, ones, scores;

    void resize(size_t how_many) {
        n = how_many;
        if (rows.size() >= n) return;
        rows.resize(2 * n), weight.resize(2 * n), ones.resize(2 * n), scores.resize(2 * n);
    }
    void put(size_t k, int64_t its_rows, int64_t its_weight, int64_t its_ones) {
        rows[k] = its_rows, weight[k] = static_cast<double>(its_weight), ones[k] = static_cast<double>(its_ones);
    }
};

// The rows between two neighbouring cuts that may hide a better one.
struct Box {
    size_t bucket;
    double weight, ones;     // left of it
    double more, more_ones;  // in it
};
struct Boxes {
    std::vector<Box> all;
    std::vector<double> bounds;                // the best score a cut inside could have
    std::vector<double> weight, ones, scores;  // scratch

    size_t size() const { return all.size(); }
    void resize_scratch() {
        if (bounds.size() >= size()) return;
        for (auto* scratch : {&bounds, &weight, &ones, &scores}) scratch->resize(2 * size());
    }
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

    // -- cuts whose sums are known, of a node of two classes whose rows are all present -------------------------------

    // What a score must reach to be worth a look: merit = (score − whole + delta)·share.
    double enough(const Contest& contest) const {
        return contest.bar(0) / appraiser_.merit_of_gain(1.0, 2) - appraiser_.delta(2) + appraiser_.scorer.whole();
    }
    double whole() const { return appraiser_.scorer.whole(); }
    // Scores these cuts and offers those that may win, the best of them first; column(k): whose cut k is. Returns the
    // best score.
    template <class ColumnOf>
    double edges(const Stat& whole, Edges& at, const ColumnOf& column, Contest& contest) const {
        constexpr double kInf = std::numeric_limits<double>::infinity();
        const double* scores = at.scores.data();
        score(whole, at.weight.data(), at.ones.data(), at.n, at.scores.data());
        const bool all_fit = settings_.min_samples_leaf <= 1 && settings_.min_leaf_weight <= 1;
        const size_t best = all_fit ? first_largest(scores, at.n) : best_that_fits(whole, at);
        if (best >= at.n || scores[best] < enough(contest)) return best < at.n ? scores[best] : -kInf;
        const auto offer = [&](size_t k) {
            const auto [low, high] = appraiser_.merit(scores[k], 2, [] { return 0.0; });
            contest.offer(column(k), at.rows[k], low, high);
        };
        offer(best);
        const double bar = enough(contest);
        for (size_t k = 0; k < at.n; ++k) {
            if (scores[k] >= bar && k != best && (all_fit || fits(whole, at, k))) offer(k);
        }
        return scores[best];
    }
    // How much more than the mean of two neighbouring cuts' scores one between them can have, with `weight` between
    // them: to move one unit of weight, of whatever class, changes the score of a side by one at most. Entropy knows
    // no such limit.
    struct Rise {
        double steepness, rounding;
        double operator()(double weight) const { return steepness * weight + rounding; }
    };
    Rise rise() const {
        constexpr double kInf = std::numeric_limits<double>::infinity();
        return {settings_.criterion == Criterion::entropy ? kInf : 1.0, 2 * appraiser_.delta(2)};
    }
    // The best score any order of the rows between two neighbouring cuts could give: all ones first, or all others. The
    // other corners of the box are the two cuts themselves, which have been offered.
    void within(const Stat& whole, Boxes& boxes) const {
        boxes.resize_scratch();
        for (const bool ones_first : {true, false}) {
            for (size_t b = 0; b < boxes.size(); ++b) {
                const auto& [bucket, weight, ones, more, more_ones] = boxes.all[b];
                boxes.weight[b] = weight + (ones_first ? more_ones : more - more_ones);
                boxes.ones[b] = ones + (ones_first ? more_ones : 0);
            }
            score(whole, boxes.weight.data(), boxes.ones.data(), boxes.size(),
                  ones_first ? boxes.bounds.data() : boxes.scores.data());
        }
        for (size_t b = 0; b < boxes.size(); ++b) boxes.bounds[b] = std::max(boxes.bounds[b], boxes.scores[b]);
    }

private:
    static constexpr int64_t kBlock = 64;
    static constexpr size_t kBlocks = kBetweenPulses / kBlock;

    // Whether a cut leaves enough on both sides.
    bool fits(const Stat& whole, const Edges& at, size_t k) const {
        const auto enough = [&](int64_t rows, int64_t weight) {
            return rows >= settings_.min_samples_leaf && weight >= settings_.min_leaf_weight;
        };
        const auto weight = static_cast<int64_t>(at.weight[k]);
        return enough(at.rows[k], weight) && enough(whole[kRows] - at.rows[k], whole[kWeight] - weight);
    }
    size_t best_that_fits(const Stat& whole, const Edges& at) const {
        size_t best = at.n;
        for (size_t k = 0; k < at.n; ++k) {
            if ((best == at.n || at.scores[k] > at.scores[best]) && fits(whole, at, k)) best = k;
        }
        return best;
    }
    void score(const Stat& whole, const double* weight, const double* ones, size_t n, double* out) const {
        const double sum = static_cast<double>(whole[kCounts + 1]);
        const Sweep all{static_cast<int64_t>(n), 0, whole[kWeight], sum, ones, weight, out};
        if (settings_.criterion == Criterion::gini) sweep_gini(all, tables_.inverses.data());
        if (settings_.criterion == Criterion::entropy) sweep_entropy(all, tables_.logs.data());
        if (settings_.criterion == Criterion::error) sweep_error(all);
    }

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
            if constexpr (S == Shape::two || C == Criterion::squared_error) {
                if (settings.rule == Rule::gain && run.left_weight() + run.right_weight() <= tables.inverses.most())
                    return sweep(i, last, load, weight, differs);
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

        // Blocks of rows of small weights: first whether any cut of the block could win, then all of them at once.
        template <class Load, class Weight, class Differs>
        void sweep(int64_t i, int64_t last, const Load& load, const Weight& weight, const Differs& differs) {
            const double mean = appraiser.scorer.mean(), share = appraiser.merit_of_gain(1.0, filled);
            const int64_t all = run.left_weight() + run.right_weight();
            const double sum =
                static_cast<double>(run.left_load() + run.right_load()) - mean * static_cast<double>(all);
            constexpr bool kUnit = requires { Weight::unit; };
            double prefix[kBlock], weights[kBlock], scores[kBlock];
            for (size_t blocks = 1; i < last; ++blocks) {
                if (blocks % kBlocks == 0) pulse();
                const int64_t n = std::min(kBlock, last - i);
                // What a score must reach to be worth a look: merit = (score + own − whole + delta)·share.
                const double enough =
                    contest.bar(around.column) / share - appraiser.delta(filled) + appraiser.scorer.whole() - own;
                if constexpr (S == Shape::two) {
                    if (settings.tuning.bounds && n == kBlock) {
                        int64_t rows = 0, ones = 0;  // by weight
                        for (int64_t k = 0; k < n; ++k)
                            rows += weight(i + k), ones += moved(load(i + k), weight(i + k));
                        if (most_within(rows, ones) < enough) {
                            run.skip(rows, ones), i += n;
                            continue;
                        }
                    }
                }
                int64_t sum_here = run.left_load(), weight_here = run.left_weight();
                for (int64_t k = 0; k < n; ++k) {
                    weight_here += weight(i + k);
                    sum_here += moved(load(i + k), weight(i + k));
                    weights[k] = static_cast<double>(weight_here);
                    prefix[k] = static_cast<double>(sum_here) - (S == Shape::sums ? mean * weights[k] : 0.0);
                }
                const Sweep block{n, run.left_weight(), all, sum, prefix, kUnit ? nullptr : weights, scores};
                if constexpr (C == Criterion::gini) sweep_gini(block, tables.inverses.data());
                if constexpr (C == Criterion::entropy) sweep_entropy(block, tables.logs.data());
                if constexpr (C == Criterion::error) sweep_error(block);
                if constexpr (C == Criterion::squared_error) sweep_squares(block, tables.inverses.data());
                double most = scores[0];
                for (int64_t k = 1; k < n; ++k) most = std::max(most, scores[k]);
                for (int64_t k = 0; most >= enough && k < n; ++k) {
                    if (scores[k] >= enough)
                        offer(i + k + 1, scores[k], static_cast<int64_t>(weights[k]), all, differs);
                }
                run.skip(weight_here - run.left_weight(), sum_here - run.left_load()), i += n;
            }
        }
        static int64_t moved(int64_t load, int64_t weight) { return S == Shape::two ? load * weight : load; }
        template <class Differs>
        void offer(int64_t i, double score, int64_t left_weight, int64_t all, const Differs& differs) {
            const auto [least, most] = appraiser.merit(score + own, filled, [] { return 0.0; });
            if (contest.hopeless(around.column, most) || !differs(i)) return;
            const auto least_weight = settings.min_leaf_weight;
            if (left_weight < least_weight || all - left_weight < least_weight) return;
            contest.offer(around.column, around.below + i, least, most);
        }
        // The best score any order of a block's rows could give.
        double most_within(int64_t rows, int64_t ones) const {
            const int64_t m = run.left_weight(), a = run.left_load(), n = run.right_weight(), b = run.right_load();
            const auto side = [&](int64_t weight, int64_t of_them) {
                const auto x = static_cast<double>(of_them), y = static_cast<double>(weight - of_them);
                if constexpr (C == Criterion::gini) return (x * x + y * y) * tables.inverses.data()[weight];
                return appraiser.scorer.template two<C>(weight, of_them);
            };
            const auto at = [&](int64_t moved, int64_t of_them) {
                return side(m + moved, a + of_them) + side(n - moved, b - of_them);
            };
            return std::max({at(ones, ones), at(rows - ones, 0), at(rows, ones)});
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
