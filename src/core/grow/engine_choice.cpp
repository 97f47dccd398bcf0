// Chooses the engines for a fit, distributes the work, and numbers the nodes of the finished tree.
//
// clang-format off
//     fit                      engine
//     random cuts              engines/extra_trees.hpp  from the root to the leaves
//     max_features < columns   engines/forest.hpp       from the root to the leaves
//     large table              engines/histogram.hpp    from the root down, one column per thread; small nodes are then
//                                                       handed over to engines/subtree.hpp, one subtree per thread
//     small table              engines/subtree.hpp      from the root to the leaves
//     absolute error           engines/presorted.hpp    from the root to the leaves: medians have no approximate
//                                                       impurity that could be bounded
// clang-format on
//
// The tree does not depend on the engine or on the number of threads.

#include "grow/grow.hpp"

#include "engines/extra_trees.hpp"
#include "engines/forest.hpp"
#include "engines/histogram.hpp"
#include "engines/presorted.hpp"
#include "engines/subtree.hpp"
#include "engines/two_class_forest.hpp"
#include "grow/grower.hpp"
#include "grow/shared_tables.hpp"
#include "problem/row_subset.hpp"

namespace treewise {

namespace {

// -- the result -------------------------------------------------------------------------------------------------------

class NodeWriter {
public:
    NodeWriter(const Target& target, const Settings& settings) : target_(target), settings_(settings) {}

    Nodes number_nodes(const Subtree& grown) {
        root_ = &grown.nodes[0];
        reserve_nodes(grown);
        std::vector<StackEntry> stack{{&grown, 0, -1}};
        while (!stack.empty()) {
            StackEntry at = stack.back();
            stack.pop_back();
            const GrowingNode* node = &at.subtree->nodes[static_cast<size_t>(at.node)];
            if (node->subtree) at.subtree = node->subtree.get(), node = &at.subtree->nodes[0];
            const auto index = static_cast<int64_t>(nodes_.parent.size());
            write(*at.subtree, *node, at.parent);
            if (node->first_child < 0) continue;
            for (int64_t c = node->first_child + at.subtree->chosen_split(*node).n_branches; c-- > node->first_child;)
                stack.push_back({at.subtree, c, index});
        }
        return std::move(nodes_);
    }

private:
    struct StackEntry {
        const Subtree* subtree;
        int64_t node, parent;
    };

    // Reserves for the nodes grown here; those of handed-over subtrees are appended.
    void reserve_nodes(const Subtree& grown) {
        const size_t n = grown.nodes.size();
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
    void write(const Subtree& subtree, const GrowingNode& node, int64_t parent) {
        const bool inner = node.first_child >= 0;
        static const SplitNode none;
        const SplitNode& node_split = inner ? subtree.splits[static_cast<size_t>(node.split)] : none;
        const ChosenSplit& chosen = node_split.chosen;
        nodes_.parent.push_back(parent);
        nodes_.kind.push_back(chosen.kind);
        nodes_.column.push_back(chosen.column);
        nodes_.cut.push_back(chosen.threshold);
        nodes_.cut_int.push_back(chosen.threshold_int);
        nodes_.missing.push_back(chosen.missing_branch);
        nodes_.other.push_back(chosen.other);
        nodes_.codes.insert(nodes_.codes.end(), chosen.codes.begin(), chosen.codes.end());
        nodes_.code_start.push_back(static_cast<int64_t>(nodes_.codes.size()));
        nodes_.stop.push_back(inner ? kNone : node.stop);
        nodes_.rows.push_back(node.segment.size());
        nodes_.missing_rows.push_back(chosen.missing_rows);
        nodes_.weight.push_back(scale_pow2(static_cast<double>(node.weight), -target_.weight_scale));
        nodes_.impurity.push_back(node.summary.impurity);
        nodes_.gain.push_back(node_split.gain);
        const bool empty = node.stop == kNoRows;  // predicts what its parent or the root predicts
        const GrowingNode& source = !empty                      ? node
                                    : settings_.empty_from_root ? *root_
                                                                : subtree.nodes[static_cast<size_t>(node.parent)];
        if (target_.n_classes) {
            nodes_.label.push_back(source.summary.label);
            for (int64_t i = node.counts_begin; i < node.counts_end; ++i) {
                const auto [cls, weight] = subtree.counts[static_cast<size_t>(i)];
                nodes_.count_class.push_back(cls);
                nodes_.count_weight.push_back(scale_pow2(static_cast<double>(weight), -target_.weight_scale));
            }
        } else {
            nodes_.value.push_back(source.summary.value);
            nodes_.spread.push_back(node.summary.spread);
        }
        nodes_.count_start.push_back(static_cast<int64_t>(nodes_.count_class.size()));
        if (settings_.selection == Selection::test) nodes_.p_value.push_back(node.p_value);
    }

    const Target& target_;
    const Settings& settings_;
    const GrowingNode* root_ = nullptr;
    Nodes nodes_;
};

// -- the engines ------------------------------------------------------------------------------------------------------

class TreeFit {
public:
    // shared: tables shared with other trees, if any; rows: rows of this tree, empty for all.
    TreeFit(const std::vector<Column>& columns, const Target& target, const Settings& settings,
            const ProgressCallback& progress, const SharedTables* shared = nullptr, std::span<const Row> rows = {})
        : columns_(columns),
          target_(target),
          settings_(settings),
          progress_(progress),
          shared_tables_(shared),
          rows_(rows) {
        if (settings.total_weight) {
            total_weight_ = settings.total_weight;
        } else if (rows.empty()) {
            for (int64_t r = 0; r < target.n_rows; ++r) total_weight_ += target.weight[r];
        } else {
            for (Row r : rows) total_weight_ += target.weight[r];
        }
    }

    static bool uses_forest_engine(const std::vector<Column>& columns, const Target& target, const Settings& settings) {
        const bool samples_columns =
            settings.max_features > 0 && settings.max_features < static_cast<int64_t>(columns.size());
        return samples_columns && !settings.random_cuts && !needs_presorted_engine(columns, target, settings) &&
               settings.tuning.use_forest_engine;
    }
    static bool uses_extra_trees(const std::vector<Column>& columns, const Target& target, const Settings& settings) {
        return settings.random_cuts && !needs_presorted_engine(columns, target, settings);
    }

    Subtree run() {
        return dispatch_criterion(settings_.criterion, [&]<class Impurity>() { return grow<Impurity>(); });
    }
    // Grows on an engine owned by the caller.
    Subtree run_on(SplitEngine& engine) {
        return dispatch_criterion(settings_.criterion,
                                  [&]<class Impurity>() { return grow_classifier<Impurity>(engine); });
    }
    // Call after growing.
    std::vector<Quartiles> quartiles() {
        if (!settings_.quartiles || !quartiles_.empty() || columns_.empty()) return std::move(quartiles_);
        bool unit_weights = true;
        for (int64_t r = 0; r < target_.n_rows; ++r) unit_weights = unit_weights && target_.weight[r] == 1;
        ThreadPool pool(settings_.n_jobs);
        return find_quartiles(columns_, target_.weight, target_.n_rows, unit_weights, pool, [this] { progress_(1.0); });
    }

private:
    // With more classes the presorted engine is faster: it tracks only those present.
    static constexpr int64_t kMaxClasses = 1 << 8;
    static constexpr int64_t kMaxRows = int64_t{1} << 31;  // limit of the packed counts

    static bool needs_presorted_engine(const std::vector<Column>& columns, const Target& target,
                                       const Settings& settings) {
        const Tuning& tuning = settings.tuning;
        return tuning.exact_only || !has_approx_impurity(settings.criterion) || target.n_classes > kMaxClasses ||
               columns.empty() || target.n_rows >= kMaxRows || (settings.random_cuts && !tuning.use_forest_engine) ||
               (settings.rule == Rule::c45 && is_any_monotone(columns));
    }
    template <class Impurity>
    Subtree grow() {
        const bool needs_presorted_engine = TreeFit::needs_presorted_engine(columns_, target_, settings_);
        if constexpr (std::derived_from<Impurity, ClassImpurity>) {
            if (!needs_presorted_engine)
                return target_.n_classes == 2 ? grow_filtered<Impurity, TargetKind::binary>()
                                              : grow_filtered<Impurity, TargetKind::multiclass>();
        } else if constexpr (std::derived_from<Impurity, SumImpurity>) {
            if (!needs_presorted_engine) return grow_filtered<Impurity, TargetKind::regression>();
        }
        const CheckInterrupt check = check_interrupt();
        const bool is_absolute = std::same_as<Impurity, AbsoluteErrorImpurity>;
        const bool sweeps =
            is_absolute && !settings_.random_cuts && !settings_.tuning.exact_only && settings_.tuning.use_bounds;
        PresortedEngine engine(columns_, target_, settings_, is_absolute, sweeps, check);
        return grow_on_engine<Impurity>(engine);
    }
    template <class Impurity>
    Subtree grow_classifier(SplitEngine& engine) {
        if constexpr (std::derived_from<Impurity, ClassImpurity>) return grow_on_engine<Impurity>(engine);
        throw std::logic_error("an engine of classes");
    }
    template <class Impurity>
    Subtree grow_on_engine(SplitEngine& engine) {
        NodeContext node_context(
            target_, shared_tables_ && !shared_tables_->exact_nlogn.empty() ? &shared_tables_->exact_nlogn : nullptr);
        const auto on_rows_done = count_rows(check_interrupt());
        return Grower<Impurity>(node_context, engine, columns_, settings_, total_weight_, on_rows_done).run();
    }

    template <class Impurity, TargetKind K>
    Subtree grow_filtered() {
        const std::unique_ptr<const SharedTables> own_tables =
            shared_tables_
                ? nullptr
                : std::make_unique<SharedTables>(columns_, target_, settings_,
                                                 uses_forest_engine(columns_, target_, settings_), progress_);
        const SharedTables& shared = shared_tables_ ? *shared_tables_ : *own_tables;
        const FitContext context(columns_, target_, settings_, shared.tables, rows_);
        if (settings_.random_cuts) {
            ExtraTreesEngine<K> extra_trees(context, list_rows());
            return grow_on_engine<Impurity>(extra_trees);
        }
        if (shared.ranks) {
            using Forest = std::conditional_t<K == TargetKind::binary, TwoClassForestEngine, ForestEngine<K>>;
            Forest forest_engine(context, *shared.ranks, list_rows(), check_interrupt());
            return grow_on_engine<Impurity>(forest_engine);
        }
        if (settings_.max_leaf_nodes <= 0 && fits_subtree_engine(target_.n_rows, context)) {
            SubtreeEngine<K> subtree_engine(context, list_rows(), check_interrupt());
            if (settings_.quartiles) quartiles_ = subtree_engine.quartiles();
            return grow_on_engine<Impurity>(subtree_engine);
        }
        NodeContext node_context(target_);
        ThreadPool pool(settings_.n_jobs);
        const CheckInterrupt check = check_interrupt();
        const auto on_rows_done = count_rows(check);
        HistogramEngine<K> top_engine(context, pool, check);
        if (settings_.quartiles) quartiles_ = top_engine.quartiles();
        Grower<Impurity> grower(node_context, top_engine, columns_, settings_, total_weight_, on_rows_done);
        Subtree subtree = grower.run();
        top_engine.release();
        grow_subtrees<Impurity, K>(context, node_context, pool, top_engine, grower.handed_over(), subtree);
        return subtree;
    }

    // Grows the subtrees that were handed over, largest first.
    template <class Impurity, TargetKind K>
    void grow_subtrees(const FitContext& context, NodeContext& node_context, ThreadPool& pool,
                       const HistogramEngine<K>& top, std::vector<int64_t> node_ids, Subtree& subtree) {
        const auto size = [&](int64_t id) { return subtree.nodes[static_cast<size_t>(id)].segment.size(); };
        std::sort(node_ids.begin(), node_ids.end(),
                  [&](int64_t a, int64_t b) { return size(a) != size(b) ? size(a) > size(b) : a < b; });
        std::vector<std::unique_ptr<NodeContext>> node_contexts;
        for (int w = 1; w < pool.size(); ++w) node_contexts.push_back(std::make_unique<NodeContext>(target_));
        pool.parallel_for(
            node_ids.size(),
            [&](size_t i, int worker) {
                GrowingNode& start = subtree.nodes[static_cast<size_t>(node_ids[i])];
                const auto rows = top.row_list(start.segment);
                const CheckInterrupt check = pool.interrupt_check(worker, check_interrupt());
                const auto on_rows_done = count_rows(check);
                SubtreeEngine<K> subtree_engine(context, {rows.begin(), rows.end()}, check);
                NodeContext& own_context = worker ? *node_contexts[static_cast<size_t>(worker) - 1] : node_context;
                Grower<Impurity> grower(own_context, subtree_engine, columns_, settings_, total_weight_, on_rows_done);
                start.subtree = std::make_unique<Subtree>(grower.run(start));
            },
            check_interrupt());
    }

    std::vector<Row> list_rows() const {
        if (!rows_.empty()) return {rows_.begin(), rows_.end()};
        std::vector<Row> all(static_cast<size_t>(target_.n_rows));
        std::iota(all.begin(), all.end(), Row{0});
        return all;
    }
    double fraction_done() const {
        const size_t n = rows_.empty() ? static_cast<size_t>(target_.n_rows) : rows_.size();
        return static_cast<double>(rows_done_) / static_cast<double>(n);
    }
    // For the calling thread; the others ask the pool (ThreadPool::interrupt_check).
    CheckInterrupt check_interrupt() const {
        return [this] { progress_(fraction_done()); };
    }
    // Counts the rows that have reached a leaf.
    std::function<void(int64_t)> count_rows(CheckInterrupt check) {
        return [this, check = std::move(check), pending = int64_t{0}](int64_t rows) mutable {
            constexpr int64_t kRowsPerCheck = 16;  // a check costs more than growing a small leaf
            if ((pending += rows) < kRowsPerCheck && rows > 0) return;
            rows_done_ += std::exchange(pending, 0);
            check();
        };
    }

    const std::vector<Column>& columns_;
    const Target& target_;
    const Settings& settings_;
    const ProgressCallback& progress_;
    const SharedTables* shared_tables_;
    std::span<const Row> rows_;
    int64_t total_weight_ = 0;
    std::vector<Quartiles> quartiles_;
    std::atomic<int64_t> rows_done_ = 0;  // rows that have reached a leaf
};

}  // namespace

Nodes grow(const std::vector<Column>& columns, const Target& target, const Settings& settings,
           const ProgressCallback& progress) {
    TreeFit fit(columns, target, settings, progress);
    Nodes nodes = NodeWriter(target, settings).number_nodes(fit.run());
    nodes.quartiles = fit.quartiles();
    return nodes;
}

std::shared_ptr<const SharedTables> make_shared_tables(const std::vector<Column>& columns, const Target& target,
                                                       const Settings& settings, const ProgressCallback& progress) {
    const bool needs_ranks = TreeFit::uses_forest_engine(columns, target, settings);
    auto shared = std::make_shared<SharedTables>(columns, target, settings, needs_ranks, progress);
    if (settings.criterion == Criterion::entropy &&
        (needs_ranks || TreeFit::uses_extra_trees(columns, target, settings)))
        shared->exact_nlogn = NLogN::make_table(static_cast<uint64_t>(target.n_rows));
    return shared;
}

Nodes grow(const std::vector<Column>& columns, const Target& target, const Settings& settings,
           const ProgressCallback& progress, std::span<const uint32_t> rows, const SharedTables& shared) {
    if (!shared.ranks && !TreeFit::uses_extra_trees(columns, target, settings)) {  // engines for whole tables
        const RowSubset subset(columns, target, rows);
        return grow(subset.columns(), subset.target(), settings, progress);
    }
    TreeFit fit(columns, target, settings, progress, &shared, rows);
    return NodeWriter(target, settings).number_nodes(fit.run());
}

Nodes grow_on(SplitEngine& engine, const std::vector<Column>& columns, const Target& target, const Settings& settings,
              const ProgressCallback& progress) {
    return NodeWriter(target, settings).number_nodes(TreeFit(columns, target, settings, progress).run_on(engine));
}

}  // namespace treewise
