// From a problem to the nodes of its tree: which engine grows what, by whom, and the numbering at the end.
//
//     some columns only  engines/forest.hpp from the root to the leaves: nodes that look at columns drawn anew at each
//     random cuts        engines/extra_trees.hpp, likewise
//     a large table      engines/histogram.hpp from the root down, a column a worker; what becomes small is handed over
//     … a small one        … to engines/subtree.hpp, a subtree a worker absolute error     engines/exact.hpp alone:
//     medians have no score to bound, so every candidate is judged exactly
//
// The tree is the same whichever engine grew it, and with any number of workers.

#include "grow/grow.hpp"

#include <optional>

#include "engines/exact.hpp"
#include "engines/extra_trees.hpp"
#include "engines/forest.hpp"
#include "engines/histogram.hpp"
#include "engines/subtree.hpp"
#include "grow/grower.hpp"
#include "problem/row_subset.hpp"

namespace treewise {

class Shared {
public:
    // ranked: whether nodes look at some columns only.
    Shared(const std::vector<Column>& columns, const Target& target, const Settings& settings, bool ranked,
           const Monitor& monitor)
        : tables(target.n_rows, settings.criterion == Criterion::entropy) {
        if (!ranked) return;
        Crew crew(settings.n_jobs);
        ranks.emplace(columns, target.n_rows, crew, [&] { monitor(0.0); });
    }
    Tables tables;
    std::optional<Ranks> ranks;
    Nlogn::Known nlogn;  // where many trees ask for them
};

namespace {

// -- the result -------------------------------------------------------------------------------------------------------

class Writer {
public:
    Writer(const Target& target, const Settings& settings) : target_(target), settings_(settings) {}

    Nodes number(const Block& grown) {
        root_ = &grown.drafts[0];
        make_room(grown);
        std::vector<Place> stack{{&grown, 0, -1}};
        while (!stack.empty()) {
            Place at = stack.back();
            stack.pop_back();
            const Draft* d = &at.block->drafts[static_cast<size_t>(at.draft)];
            if (d->below) at.block = d->below.get(), d = &at.block->drafts[0];
            const auto number = static_cast<int64_t>(nodes_.parent.size());
            write(*at.block, *d, at.parent);
            if (d->first_child < 0) continue;
            for (int64_t c = d->first_child + at.block->chosen(*d).n_branches; c-- > d->first_child;)
                stack.push_back({at.block, c, number});
        }
        return std::move(nodes_);
    }

private:
    struct Place {
        const Block* block;
        int64_t draft, parent;
    };

    // For the nodes that were drafted here; those below, drafted by others, as they come.
    void make_room(const Block& grown) {
        const size_t n = grown.drafts.size();
        nodes_.parent.reserve(n), nodes_.kind.reserve(n), nodes_.column.reserve(n), nodes_.cut.reserve(n);
        nodes_.cut_int.reserve(n), nodes_.missing.reserve(n), nodes_.other.reserve(n), nodes_.code_start.reserve(n + 1);
        nodes_.stop.reserve(n), nodes_.rows.reserve(n), nodes_.missing_rows.reserve(n), nodes_.weight.reserve(n);
        nodes_.impurity.reserve(n), nodes_.gain.reserve(n), nodes_.count_start.reserve(n + 1);
        if (target_.n_classes) {
            nodes_.label.reserve(n), nodes_.count_class.reserve(grown.counts.size());
            nodes_.count_weight.reserve(grown.counts.size());
        } else {
            nodes_.value.reserve(n), nodes_.spread.reserve(n);
        }
    }
    void write(const Block& block, const Draft& d, int64_t parent) {
        const bool inner = d.first_child >= 0;
        static const Parted none;
        const Parted& split = inner ? block.splits[static_cast<size_t>(d.split)] : none;
        const Chosen& chosen = split.chosen;
        nodes_.parent.push_back(parent);
        nodes_.kind.push_back(chosen.kind);
        nodes_.column.push_back(chosen.column);
        nodes_.cut.push_back(chosen.cut);
        nodes_.cut_int.push_back(chosen.cut_int);
        nodes_.missing.push_back(chosen.missing);
        nodes_.other.push_back(chosen.other);
        nodes_.codes.insert(nodes_.codes.end(), chosen.codes.begin(), chosen.codes.end());
        nodes_.code_start.push_back(static_cast<int64_t>(nodes_.codes.size()));
        nodes_.stop.push_back(inner ? kInner : d.stop);
        nodes_.rows.push_back(d.segment.size());
        nodes_.missing_rows.push_back(chosen.missing_rows);
        nodes_.weight.push_back(scaled(static_cast<double>(d.weight), -target_.weight_scale));
        nodes_.impurity.push_back(d.summary.impurity);
        nodes_.gain.push_back(split.gain);
        const bool empty = d.stop == kNoRows;  // answers with what its parent or the root says
        const Draft& said = !empty                      ? d
                            : settings_.empty_from_root ? *root_
                                                        : block.drafts[static_cast<size_t>(d.parent)];
        if (target_.n_classes) {
            nodes_.label.push_back(said.summary.label);
            for (int64_t i = d.counts_begin; i < d.counts_end; ++i) {
                const auto [cls, weight] = block.counts[static_cast<size_t>(i)];
                nodes_.count_class.push_back(cls);
                nodes_.count_weight.push_back(scaled(static_cast<double>(weight), -target_.weight_scale));
            }
        } else {
            nodes_.value.push_back(said.summary.value);
            nodes_.spread.push_back(d.summary.spread);
        }
        nodes_.count_start.push_back(static_cast<int64_t>(nodes_.count_class.size()));
    }

    const Target& target_;
    const Settings& settings_;
    const Draft* root_ = nullptr;
    Nodes nodes_;
};

// -- the engines ------------------------------------------------------------------------------------------------------

class Fit {
public:
    // shared: what other trees read too, if there are any; rows: of the tree, none: all there are.
    Fit(const std::vector<Column>& columns, const Target& target, const Settings& settings, const Monitor& monitor,
        const Shared* shared = nullptr, std::span<const Row> rows = {})
        : columns_(columns), target_(target), settings_(settings), monitor_(monitor), shared_(shared), rows_(rows) {
        if (rows.empty()) {
            for (int64_t r = 0; r < target.n_rows; ++r) total_weight_ += target.weight[r];
        } else {
            for (Row r : rows) total_weight_ += target.weight[r];
        }
    }

    // Whether an engine for nodes that look at some columns only grows this, or that for random cuts.
    static bool draws_columns(const std::vector<Column>& columns, const Target& target, const Settings& settings) {
        const bool some = settings.max_features > 0 && settings.max_features < static_cast<int64_t>(columns.size());
        return some && !settings.random_cuts && !exactly(columns, target, settings) && settings.tuning.drawn;
    }
    static bool draws_cuts(const std::vector<Column>& columns, const Target& target, const Settings& settings) {
        return settings.random_cuts && !exactly(columns, target, settings);
    }

    Block run() {
        return with_side(settings_.criterion, [&]<class Side>() { return grow<Side>(); });
    }
    // On an engine of somebody else's.
    Block run_on(Engine& engine) {
        return with_side(settings_.criterion, [&]<class Side>() -> Block {
            if constexpr (std::derived_from<Side, Counts>) return grow_alone<Side>(engine);
            throw std::logic_error("an engine of classes");
        });
    }
    // Asked for after the tree is grown.
    std::vector<Quartiles> quartiles() {
        if (!settings_.quartiles || !quartiles_.empty() || columns_.empty()) return std::move(quartiles_);
        bool unit = true;
        for (int64_t r = 0; r < target_.n_rows; ++r) unit = unit && target_.weight[r] == 1;
        Crew crew(settings_.n_jobs);
        return find_quartiles(columns_, target_.weight, target_.n_rows, unit, crew, [this] { monitor_(1.0); });
    }

private:
    static constexpr int64_t kMostClasses = 1 << 8;         // more cost less by the row: only those present count there
    static constexpr int64_t kMostRows = int64_t{1} << 31;  // that coarse counts can hold

    static bool exactly(const std::vector<Column>& columns, const Target& target, const Settings& settings) {
        const Tuning& tuning = settings.tuning;
        return tuning.plain || !has_score(settings.criterion) || target.n_classes > kMostClasses || columns.empty() ||
               target.n_rows >= kMostRows || (settings.random_cuts && !tuning.drawn);
    }
    template <class Side>
    Block grow() {
        const bool exactly = Fit::exactly(columns_, target_, settings_);
        if constexpr (std::derived_from<Side, Counts>) {
            if (!exactly) return target_.n_classes == 2 ? fast<Side, Shape::two>() : fast<Side, Shape::many>();
        } else if constexpr (std::derived_from<Side, Sums>) {
            if (!exactly) return fast<Side, Shape::sums>();
        }
        const auto tick = ticker(nullptr);
        const std::function<void()> still = [&] { tick(0); };
        SortedLists lists(columns_, target_.n_rows, still);
        return grow_alone<Side>(lists);
    }
    template <class Side>
    Block grow_alone(Engine& engine) {
        Desk desk(target_, shared_ && !shared_->nlogn.empty() ? &shared_->nlogn : nullptr);
        const auto tick = ticker(nullptr);
        return Grower<Side>(desk, engine, columns_, settings_, total_weight_, tick).run();
    }

    template <class Side, Shape S>
    Block fast() {
        const std::unique_ptr<const Shared> own =
            shared_ ? nullptr
                    : std::make_unique<Shared>(columns_, target_, settings_,
                                               draws_columns(columns_, target_, settings_), monitor_);
        const Shared& shared = shared_ ? *shared_ : *own;
        const Frame frame(columns_, target_, settings_, shared.tables, rows_);
        if (settings_.random_cuts) {
            RandomCuts<S> cuts(frame, list_rows());
            return grow_alone<Side>(cuts);
        }
        if (shared.ranks) {
            const auto tick = ticker(nullptr);
            Drawn<S> drawn(frame, *shared.ranks, list_rows(), tick);
            return grow_alone<Side>(drawn);
        }
        if (settings_.max_leaf_nodes <= 0 && fits_cluster(target_.n_rows, frame)) {
            const auto tick = ticker(nullptr);
            Cluster<S> cluster(frame, list_rows(), tick);
            if (settings_.quartiles) quartiles_ = cluster.quartiles();
            return grow_alone<Side>(cluster);
        }
        Desk desk(target_);
        Crew crew(settings_.n_jobs);
        const auto tick = ticker(nullptr);
        const std::function<void()> still = [&] { tick(0); };
        Histograms<S> histograms(frame, crew, still);
        if (settings_.quartiles) quartiles_ = histograms.quartiles();
        Grower<Side> top(desk, histograms, columns_, settings_, total_weight_, tick);
        Block block = top.run();
        histograms.retire();
        grow_rest<Side, S>(frame, desk, crew, histograms, top.handed_over(), block);
        return block;
    }

    // The subtrees that were handed over, the largest first.
    template <class Side, Shape S>
    void grow_rest(const Frame& frame, Desk& desk, Crew& crew, const Histograms<S>& top, std::vector<int64_t> ids,
                   Block& block) {
        const auto size = [&](int64_t id) { return block.drafts[static_cast<size_t>(id)].segment.size(); };
        std::sort(ids.begin(), ids.end(),
                  [&](int64_t a, int64_t b) { return size(a) != size(b) ? size(a) > size(b) : a < b; });
        std::vector<std::unique_ptr<Desk>> desks;
        for (int w = 1; w < crew.size(); ++w) desks.push_back(std::make_unique<Desk>(target_));
        crew.share(
            ids.size(),
            [&](size_t i, int worker) {
                Draft& begun = block.drafts[static_cast<size_t>(ids[i])];
                const auto rows = top.list(begun.segment);
                const auto tick = ticker(worker ? &crew : nullptr);
                Cluster<S> cluster(frame, {rows.begin(), rows.end()}, tick);
                Desk& mine = worker ? *desks[static_cast<size_t>(worker) - 1] : desk;
                Grower<Side> grower(mine, cluster, columns_, settings_, total_weight_, tick);
                begun.below = std::make_unique<Block>(grower.run(begun));
            },
            [&] { monitor_(share_done()); });
    }

    std::vector<Row> list_rows() const {
        if (!rows_.empty()) return {rows_.begin(), rows_.end()};
        std::vector<Row> all(static_cast<size_t>(target_.n_rows));
        std::iota(all.begin(), all.end(), Row{0});
        return all;
    }
    double share_done() const {
        const size_t n = rows_.empty() ? static_cast<size_t>(target_.n_rows) : rows_.size();
        return static_cast<double>(finished_) / static_cast<double>(n);
    }
    // The calling thread asks Python whether to go on; the others ask the crew.
    std::function<void(int64_t)> ticker(const Crew* crew) {
        return [this, crew, waiting = int64_t{0}](int64_t rows) mutable {
            constexpr int64_t kFew = 16;  // rows: to ask at every small leaf would take longer than to grow it
            if ((waiting += rows) < kFew && rows > 0) return;
            finished_ += std::exchange(waiting, 0);
            if (!crew) return monitor_(share_done());
            if (crew->stopped()) throw Cancelled{};
        };
    }

    const std::vector<Column>& columns_;
    const Target& target_;
    const Settings& settings_;
    const Monitor& monitor_;
    const Shared* shared_;
    std::span<const Row> rows_;
    int64_t total_weight_ = 0;
    std::vector<Quartiles> quartiles_;
    std::atomic<int64_t> finished_ = 0;  // rows in leaves
};

}  // namespace

Nodes grow(const std::vector<Column>& columns, const Target& target, const Settings& settings, const Monitor& monitor) {
    Fit fit(columns, target, settings, monitor);
    Nodes nodes = Writer(target, settings).number(fit.run());
    nodes.quartiles = fit.quartiles();
    return nodes;
}

std::shared_ptr<const Shared> share(const std::vector<Column>& columns, const Target& target, const Settings& settings,
                                    const Monitor& monitor) {
    const bool ranked = Fit::draws_columns(columns, target, settings);
    auto shared = std::make_shared<Shared>(columns, target, settings, ranked, monitor);
    if (settings.criterion == Criterion::entropy && (ranked || Fit::draws_cuts(columns, target, settings)))
        shared->nlogn = Nlogn::up_to(static_cast<uint64_t>(target.n_rows));
    return shared;
}

Nodes grow(const std::vector<Column>& columns, const Target& target, const Settings& settings, const Monitor& monitor,
           std::span<const uint32_t> rows, const Shared& shared) {
    if (!shared.ranks && !Fit::draws_cuts(columns, target, settings)) {  // the engines of whole tables
        const Subset some(columns, target, rows);
        return grow(some.columns(), some.target(), settings, monitor);
    }
    Fit fit(columns, target, settings, monitor, &shared, rows);
    return Writer(target, settings).number(fit.run());
}

Nodes grow_on(Engine& engine, const std::vector<Column>& columns, const Target& target, const Settings& settings,
              const Monitor& monitor) {
    return Writer(target, settings).number(Fit(columns, target, settings, monitor).run_on(engine));
}

}  // namespace treewise
