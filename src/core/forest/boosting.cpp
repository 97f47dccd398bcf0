// The per-row work of AdaBoost: stumps on presorted columns, and sums over chunks of rows in parallel.

#include "forest/boosting.hpp"

#include "engines/stumps.hpp"
#include "search/constraints.hpp"

namespace treewise {
namespace {

constexpr int64_t kMaxClasses = 256;            // one byte per label
constexpr int64_t kMaxCategoryStats = 1 << 20;  // statistics of one category's levels
constexpr size_t kRowsPerTask = 1 << 15;

int n_threads_for(int64_t n_rows, int n_jobs) { return n_rows < static_cast<int64_t>(2 * kRowsPerTask) ? 1 : n_jobs; }

// Sums work(begin, end) over chunks of the rows, in parallel.
template <class Work>
int64_t parallel_sum(int64_t n_rows, int n_jobs, const Work& work) {
    const auto n = static_cast<size_t>(n_rows);
    ThreadPool pool(n_threads_for(n_rows, n_jobs));
    std::vector<int64_t> sums(static_cast<size_t>(pool.size()), 0);
    pool.parallel_for((n + kRowsPerTask - 1) / kRowsPerTask,
                      [&](size_t task, int worker) {
                          sums[static_cast<size_t>(worker)] +=
                              work(task * kRowsPerTask, std::min(n, (task + 1) * kRowsPerTask));
                      },
                      [] {});
    int64_t sum = 0;
    for (int64_t part : sums) sum += part;
    return sum;
}

}  // namespace

bool StumpGrower::supports(const std::vector<Column>& columns, const Target& target, const Settings& settings) {
    const bool classes = target.n_classes >= 2 && target.n_classes <= kMaxClasses;
    const bool every_column =
        settings.max_features <= 0 || settings.max_features >= static_cast<int64_t>(columns.size());
    if (settings.random_cuts || !every_column || is_any_monotone(columns)) return false;
    if (!classes || settings.max_depth != 1 || settings.rule != Rule::gain || settings.tuning.exact_only) return false;
    if (columns.empty() || target.n_rows >= static_cast<int64_t>(kMissingRank)) return false;
    return std::all_of(columns.begin(), columns.end(), [&](const Column& c) {
        return !c.is_code() || c.n_levels * static_cast<int64_t>(stats_width(target.n_classes)) <= kMaxCategoryStats;
    });
}

StumpGrower::StumpGrower(std::vector<Column> columns, const Target& target, const Settings& settings,
                         const ProgressCallback& progress)
    : columns_(std::move(columns)), target_(target), settings_(settings) {
    const CheckInterrupt check_interrupt = [&] { progress(0.0); };
    ThreadPool pool(settings_.n_jobs);
    presorted_.emplace(columns_, target_, pool, check_interrupt);
    tables_.emplace(0, false);  // weights exceed any table
    context_ = std::make_unique<FitContext>(columns_, target_, settings_, *tables_);
    context_->unit_weights = false;
}

Nodes StumpGrower::grow(const int64_t* weight, int weight_scale, int64_t min_leaf_weight, uint64_t seed,
                        uint8_t* predicted, const ProgressCallback& progress) {
    settings_.min_leaf_weight = min_leaf_weight, settings_.seed = seed;
    target_.weight = {reinterpret_cast<const std::byte*>(weight), sizeof(int64_t)};
    target_.weight_scale = weight_scale;
    return target_.n_classes == 2 ? grow_on_presorted<TargetKind::binary>(predicted, progress)
                                  : grow_on_presorted<TargetKind::multiclass>(predicted, progress);
}

template <TargetKind K>
Nodes StumpGrower::grow_on_presorted(uint8_t* predicted, const ProgressCallback& progress) {
    const CheckInterrupt check_interrupt = [&] { progress(0.0); };
    ThreadPool pool(n_threads_for(target_.n_rows, settings_.n_jobs));
    StumpEngine<K> engine(*context_, *presorted_, pool, check_interrupt);
    Nodes nodes = grow_on(engine, columns_, target_, settings_, progress);
    const size_t first = nodes.label.size() > 1 ? 1 : 0;  // leaves follow the root
    for (size_t r = 0; r < engine.branches().size(); ++r)
        predicted[r] = static_cast<uint8_t>(nodes.label[first + engine.branches()[r]]);
    return nodes;
}

int64_t error_weight(const Predictions& predictions, const int64_t* weight, int n_jobs) {
    return parallel_sum(predictions.n_rows, n_jobs, [&](size_t begin, size_t end) {
        int64_t sum = 0;
        for (size_t r = begin; r < end; ++r) sum += predictions.truth[r] != predictions.predicted[r] ? weight[r] : 0;
        return sum;
    });
}

void reweight(const Predictions& predictions, const int64_t* weight, double right, double wrong, int64_t* out,
              int n_jobs) {
    parallel_sum(predictions.n_rows, n_jobs, [&](size_t begin, size_t end) {
        for (size_t r = begin; r < end; ++r) {
            const double factor = predictions.truth[r] != predictions.predicted[r] ? wrong : right;
            const auto rounded = static_cast<int64_t>(std::rint(static_cast<double>(weight[r]) * factor));
            out[r] = std::max<int64_t>(1, rounded);
        }
        return int64_t{0};
    });
}

int64_t add_vote(const Predictions& predictions, double vote, int64_t n_classes, const int64_t* weight, double* scores,
                 int n_jobs) {
    return parallel_sum(predictions.n_rows, n_jobs, [&](size_t begin, size_t end) {
        int64_t sum = 0;
        for (size_t r = begin; r < end; ++r) {
            double* row_scores = scores + r * static_cast<size_t>(n_classes);
            row_scores[predictions.predicted[r]] += vote;
            sum += std::max_element(row_scores, row_scores + n_classes) - row_scores != predictions.truth[r] ? weight[r]
                                                                                                             : 0;
        }
        return sum;
    });
}

}  // namespace treewise
