#include "forest/boosting.hpp"

#include "engines/stumps.hpp"

namespace treewise {
namespace {

constexpr int64_t kMostClasses = 256;         // a byte
constexpr int64_t kMostStatistics = 1 << 20;  // of the levels of one category
constexpr size_t kPiece = 1 << 15;            // rows

int crew_for(int64_t n_rows, int n_jobs) { return n_rows < static_cast<int64_t>(2 * kPiece) ? 1 : n_jobs; }

// Calls work(begin, end) on pieces of the rows and adds up what it returns.
template <class Work>
int64_t add_up(int64_t n_rows, int n_jobs, const Work& work) {
    const auto n = static_cast<size_t>(n_rows);
    Crew crew(crew_for(n_rows, n_jobs));
    std::vector<int64_t> sums(static_cast<size_t>(crew.size()), 0);
    crew.share((n + kPiece - 1) / kPiece,
               [&](size_t piece, int worker) {
                   sums[static_cast<size_t>(worker)] += work(piece * kPiece, std::min(n, (piece + 1) * kPiece));
               },
               [] {});
    int64_t sum = 0;
    for (int64_t part : sums) sum += part;
    return sum;
}

}  // namespace

bool Stumps::cover(const std::vector<Column>& columns, const Target& target, const Settings& settings) {
    const bool classes = target.n_classes >= 2 && target.n_classes <= kMostClasses;
    const bool every_column =
        settings.max_features <= 0 || settings.max_features >= static_cast<int64_t>(columns.size());
    if (settings.random_cuts || !every_column) return false;
    if (!classes || settings.max_depth != 1 || settings.rule != Rule::gain || settings.tuning.plain) return false;
    if (columns.empty() || target.n_rows >= static_cast<int64_t>(kNoRank)) return false;
    return std::all_of(columns.begin(), columns.end(), [&](const Column& c) {
        return !c.is_code() || c.n_levels * static_cast<int64_t>(stat_width(target.n_classes)) <= kMostStatistics;
    });
}

Stumps::Stumps(std::vector<Column> columns, const Target& target, const Settings& settings, const Monitor& monitor)
    : columns_(std::move(columns)), target_(target), settings_(settings) {
    const Pulse tick = [&] { monitor(0.0); };
    Crew crew(settings_.n_jobs);
    orders_.emplace(columns_, target_, crew, tick);
    tables_.emplace(target_.n_rows, false);  // weights are far past any table of logarithms
    frame_ = std::make_unique<Frame>(columns_, target_, settings_, *tables_);
    frame_->unit = false;
}

Nodes Stumps::grow(const int64_t* weight, int weight_scale, int64_t min_leaf_weight, uint64_t seed, uint8_t* said,
                   const Monitor& monitor) {
    settings_.min_leaf_weight = min_leaf_weight, settings_.seed = seed;
    target_.weight = {reinterpret_cast<const std::byte*>(weight), sizeof(int64_t)};
    target_.weight_scale = weight_scale;
    return target_.n_classes == 2 ? grow_on_orders<Shape::two>(said, monitor)
                                  : grow_on_orders<Shape::many>(said, monitor);
}

template <Shape S>
Nodes Stumps::grow_on_orders(uint8_t* said, const Monitor& monitor) {
    const Pulse tick = [&] { monitor(0.0); };
    Crew crew(crew_for(target_.n_rows, settings_.n_jobs));
    Presorted<S> engine(*frame_, *orders_, crew, tick);
    Nodes nodes = grow_on(engine, columns_, target_, settings_, monitor);
    const size_t first = nodes.label.size() > 1 ? 1 : 0;  // the leaves are numbered after the root
    for (size_t r = 0; r < engine.branches().size(); ++r)
        said[r] = static_cast<uint8_t>(nodes.label[first + engine.branches()[r]]);
    return nodes;
}

int64_t weight_of_mistakes(const Answers& answers, const int64_t* weight, int n_jobs) {
    return add_up(answers.n_rows, n_jobs, [&](size_t begin, size_t end) {
        int64_t sum = 0;
        for (size_t r = begin; r < end; ++r) sum += answers.truth[r] != answers.said[r] ? weight[r] : 0;
        return sum;
    });
}

void weigh_anew(const Answers& answers, const int64_t* weight, double right, double wrong, int64_t* out, int n_jobs) {
    add_up(answers.n_rows, n_jobs, [&](size_t begin, size_t end) {
        for (size_t r = begin; r < end; ++r) {
            const double factor = answers.truth[r] != answers.said[r] ? wrong : right;
            const auto rounded = static_cast<int64_t>(std::rint(static_cast<double>(weight[r]) * factor));
            out[r] = std::max<int64_t>(1, rounded);
        }
        return int64_t{0};
    });
}

int64_t cast_votes(const Answers& answers, double vote, int64_t n_classes, const int64_t* weight, double* scores,
                   int n_jobs) {
    return add_up(answers.n_rows, n_jobs, [&](size_t begin, size_t end) {
        int64_t sum = 0;
        for (size_t r = begin; r < end; ++r) {
            double* mine = scores + r * static_cast<size_t>(n_classes);
            mine[answers.said[r]] += vote;
            sum += std::max_element(mine, mine + n_classes) - mine != answers.truth[r] ? weight[r] : 0;
        }
        return sum;
    });
}

}  // namespace treewise
