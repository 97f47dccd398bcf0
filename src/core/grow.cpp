// From a problem to the nodes of its tree: which engine grows what, by whom, and the numbering at the end.
//
//     a large table      histogram.hpp from the root down, a column a worker; what becomes small is handed over …
//     a small one        … to cluster.hpp, a subtree a worker
//     absolute error     lists.hpp alone: medians have no score to bound, so every candidate is judged exactly
//
// The tree is the same whichever engine grew it, and with any number of workers.

#include "grow.hpp"

#include "cluster.hpp"
#include "growth.hpp"
#include "histogram.hpp"
#include "lists.hpp"

namespace treewise {
namespace {

// -- the result -------------------------------------------------------------------------------------------------------

class Writer {
public:
    Writer(const Target& target, const Settings& settings) : target_(target), settings_(settings) {}

    Nodes number(const Block& grown) {
        root_ = &grown.drafts[0];
        std::vector<Place> stack{{&grown, 0, -1}};
        while (!stack.empty()) {
            Place at = stack.back();
            stack.pop_back();
            const Draft* d = &at.block->drafts[static_cast<size_t>(at.draft)];
            if (d->below) at.block = d->below.get(), d = &at.block->drafts[0];
            const auto number = static_cast<int64_t>(nodes_.parent.size());
            write(*at.block, *d, at.parent);
            if (d->first_child < 0) continue;
            for (int64_t c = d->first_child + d->chosen.n_branches; c-- > d->first_child;)
                stack.push_back({at.block, c, number});
        }
        return std::move(nodes_);
    }

private:
    struct Place {
        const Block* block;
        int64_t draft, parent;
    };

    void write(const Block& block, const Draft& d, int64_t parent) {
        const bool inner = d.first_child >= 0;
        const Chosen none;
        const Chosen& chosen = inner ? d.chosen : none;
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
        nodes_.weight.push_back(std::ldexp(static_cast<double>(d.weight), -target_.weight_scale));
        nodes_.impurity.push_back(d.summary.impurity);
        nodes_.gain.push_back(inner ? d.gain : 0.0);
        const bool empty = d.stop == kNoRows;  // answers with what its parent or the root says
        const Draft& said = !empty                      ? d
                            : settings_.empty_from_root ? *root_
                                                        : block.drafts[static_cast<size_t>(d.parent)];
        if (target_.n_classes) {
            nodes_.label.push_back(said.summary.label);
            for (int64_t i = d.counts_begin; i < d.counts_end; ++i) {
                const auto [cls, weight] = block.counts[static_cast<size_t>(i)];
                nodes_.count_class.push_back(cls);
                nodes_.count_weight.push_back(std::ldexp(static_cast<double>(weight), -target_.weight_scale));
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
    Fit(const std::vector<Column>& columns, const Target& target, const Settings& settings, const Monitor& monitor)
        : columns_(columns), target_(target), settings_(settings), monitor_(monitor) {
        for (int64_t r = 0; r < target.n_rows; ++r) total_weight_ += target.weight[r];
    }

    Block run() {
        return with_side(settings_.criterion, [&]<class Side>() { return grow<Side>(); });
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

    template <class Side>
    Block grow() {
        const bool exactly = settings_.tuning.plain || !has_score(settings_.criterion) ||
                             target_.n_classes > kMostClasses || columns_.empty() || target_.n_rows >= kMostRows;
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
        Desk desk(target_);
        const auto tick = ticker(nullptr);
        return Grower<Side>(desk, engine, columns_, settings_, total_weight_, tick).run();
    }

    template <class Side, Shape S>
    Block fast() {
        const Frame frame(columns_, target_, settings_);
        if (settings_.max_leaf_nodes <= 0 && fits_cluster(target_.n_rows, frame)) {
            std::vector<Row> rows(static_cast<size_t>(target_.n_rows));
            std::iota(rows.begin(), rows.end(), Row{0});
            const auto tick = ticker(nullptr);
            Cluster<S> cluster(frame, std::move(rows), tick);
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

    double share_done() const { return static_cast<double>(finished_) / static_cast<double>(target_.n_rows); }
    // The calling thread asks Python whether to go on; the others ask the crew.
    std::function<void(int64_t)> ticker(const Crew* crew) {
        return [this, crew](int64_t rows) {
            finished_ += rows;
            if (!crew) return monitor_(share_done());
            if (crew->stopped()) throw Cancelled{};
        };
    }

    const std::vector<Column>& columns_;
    const Target& target_;
    const Settings& settings_;
    const Monitor& monitor_;
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

}  // namespace treewise
