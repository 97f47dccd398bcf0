// The root of the search: intervals of cuts in a queue, shared by threads with one incumbent.
//
// The interval of smallest lower bound comes first, so the least bound in the queue and in work bounds every tree. A
// cut that comes before the incumbent's must be closed as worse, one that comes after it only as no better: so the
// result is the first of the best trees (feature, cut), whatever the threads do. Below the root the same search is
// repeated with the cost known, which takes little time.

#include <condition_variable>
#include <exception>
#include <mutex>
#include <queue>
#include <thread>

#include "optimal/optimal.hpp"
#include "optimal/worker.hpp"
#include "util/thread_pool.hpp"

namespace treewise::optimal {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(20);

// The place of a root split in the order of ties.
struct Place {
    size_t feature = SIZE_MAX;
    int32_t rank = INT32_MAX;
    int left_leaves = INT32_MAX;
    auto operator<=>(const Place&) const = default;
};

template <class Cost, class Stumps>
class Search {
public:
    Search(const Problem& problem, const Options& options, const std::function<bool(const Progress&)>& progress)
        : problem_(problem), options_(options), progress_(progress), table_(problem, options.merge_rows) {
        const int n_archives = std::max(3, problem.max_depth - 2);  // one for each depth from 2 up; a third at most
        const int64_t bytes = options.max_archive_bytes / std::max(1, options.n_threads) / n_archives;
        for (int i = 0; i < std::max(1, options.n_threads); ++i)
            workers_.push_back(std::make_unique<Worker<Cost, Stumps>>(table_, options_, bytes, stop_));
    }

    Solution run() {
        Solution out;
        const Rows<Cost> all = Rows<Cost>::all(table_);
        incumbent_ = options_.incumbent == INT64_MAX ? INT64_MAX : options_.incumbent - table_.constant();
        const int leaves = problem_.max_leaves;
        try {
            grow(all, problem_.max_depth, leaves, incumbent_, true, out);
        } catch (const Stopped&) {
            out.nodes.clear();
            if (root_.has_tree()) expand(all, root_, problem_.max_depth, leaves, out.nodes);
        }
        out.proven = root_.proven;
        out.objective = root_.value + table_.constant();
        out.lower_bound = (root_.proven ? root_.value : root_.lower_bound) + table_.constant();
        if (!root_.has_tree()) out.nodes.clear();
        for (const auto& worker : workers_)
            out.n_evaluated += worker->n_evaluated, out.n_cached += worker->n_cached,
                out.n_similar += worker->n_similar;
        return out;
    }

private:
    struct Best {
        int64_t value = INT64_MAX, lower_bound = 0;
        bool is_leaf = false, proven = false;
        Place place;
        std::pair<int, int> share{};
        Solved left, right;
        PlanPtr plan;  // instead of a place: a shallower tree
        bool has_tree() const { return is_leaf || plan || place.feature != SIZE_MAX; }
    };
    struct Task {
        int64_t lower_bound;
        size_t feature, share;
        Interval interval;
    };

    // Appends the first of the best subtrees of a node; `known` is the cost of a tree, the best one below the root.
    void grow(const Rows<Cost>& at, int depth, int leaves, int64_t known, bool is_root, Solution& out) {
        leaves = static_cast<int>(std::min<int64_t>(leaves, most_leaves(depth)));
        const int64_t leaf = table_.leaf(at.total);
        Best best;
        best.value = std::min(leaf, known), best.is_leaf = leaf <= known, best.lower_bound = table_.penalty;
        if (is_root) root_ = best;
        if (depth == 0 || leaves < 2 || leaf <= 2 * table_.penalty || table_.rank.empty() ||
            (!is_root && leaf <= known)) {
            best.proven = true;
            if (is_root) root_ = best;
            if (best.is_leaf) out.nodes.push_back({});  // else nothing is better than the given incumbent
            return;
        }
        if (depth == 1 || leaves == 2) {
            grow_stump(at, best, out);
            if (is_root) root_ = best;
            return;
        }
        search(at, depth, leaves, best, is_root);
        if (is_root) root_ = best;
        if (best.is_leaf) return out.nodes.push_back({});
        if (best.place.feature == SIZE_MAX) return;  // nothing better than the given incumbent
        const auto [feature, rank, left_leaves] = best.place;
        out.nodes.push_back({static_cast<int32_t>(feature), rank});
        for (const bool right : {false, true})
            grow(workers_[0]->child(at, feature, rank, right), depth - 1, right ? best.share.second : best.share.first,
                 (right ? best.right : best.left).value, false, out);
    }

    void grow_stump(const Rows<Cost>& at, Best& best, Solution& out) {
        const TreeNode stump = find_stump(at, best.value);
        best.proven = true;
        if (stump.feature < 0) {
            if (best.is_leaf) out.nodes.push_back({});
            return;
        }
        best.is_leaf = false;
        best.place = {static_cast<size_t>(stump.feature), stump.rank, 1};
        out.nodes.insert(out.nodes.end(), {stump, {}, {}});
    }

    // The first best stump that costs less than `value`, or as much if a tree is only known to exist.
    TreeNode find_stump(const Rows<Cost>& at, int64_t& value) const {
        TreeNode best;
        const int64_t leaf = table_.leaf(at.total);
        int64_t bound = value < leaf ? value + 1 : value;
        Cuts cuts;
        for (size_t f = 0; f < table_.rank.size(); ++f) {
            cuts.find(table_, at, f);
            typename Cost::Sum sum{};
            const uint32_t* sorted = table_.is_binary[f] ? nullptr : at.sorted(table_.slot[f]);
            size_t row = 0;
            for (size_t c = 0; c < cuts.size(); ++c) {
                if (sorted)
                    for (; row < cuts.n_left[c]; ++row) table_.cost.add(sum, sorted[row]);
                else
                    for (const uint32_t r : at.rows)
                        if (table_.rank[f][r] == 0) table_.cost.add(sum, r);
                const int64_t cost = (table_.cost.leaf(sum) + table_.cost.leaf_of_rest(at.total, sum)) * table_.scale +
                                     2 * table_.penalty;
                if (cost < bound) best = {static_cast<int32_t>(f), cuts.rank[c]}, bound = value = cost;
            }
        }
        return best;
    }

    // The queue of intervals at one node.
    void search(const Rows<Cost>& at, int depth, int leaves, Best& best, bool is_root) {
        const auto shares = leaf_shares(depth, leaves);
        std::vector<Cuts> cuts(table_.rank.size());
        int64_t shallow = table_.penalty;
        if (depth == 3) {
            const Solved solved = workers_[0]->solve(at, depth - 1, leaves, best.value);
            shallow = solved.value;
            if (solved.exact && solved.value < best.value) {
                best.value = solved.value, best.is_leaf = !solved.plan, best.plan = solved.plan;
                if (is_root) root_ = best;
            }
        }
        const auto later = [depth](const Task& a, const Task& b) {  // at depth two, column by column
            if (depth == 2 && a.feature != b.feature) return a.feature > b.feature;
            return a.lower_bound > b.lower_bound;
        };
        std::priority_queue<Task, std::vector<Task>, decltype(later)> queue(later);
        for (size_t f = 0; f < cuts.size(); ++f) {
            cuts[f].find(table_, at, f);
            for (size_t s = 0; s < shares.size() && cuts[f].size(); ++s) {
                const int64_t one = table_.penalty;
                const Interval whole{0,
                                     cuts[f].size() - 1,
                                     {0, one, shallow},
                                     {cuts[f].total_reach, shallow, one},
                                     workers_[0]->rounding(leaves)};
                queue.push({workers_[0]->lower_bound(whole), f, s, whole});
            }
        }
        std::mutex mutex;
        std::condition_variable changed;
        std::vector<int64_t> in_work(workers_.size(), INT64_MAX);
        size_t n_in_work = 0, n_running = 0;
        std::exception_ptr error;
        const auto bound_of = [&](const Task& task) {  // with the lock held
            const Place place{task.feature, cuts[task.feature].rank[task.interval.low], shares[task.share].first};
            return best.value + (!best.is_leaf && place < best.place);
        };
        const auto push = [&](Task task) {  // with the lock held
            if (task.interval.low > task.interval.high) return;
            if (!workers_[0]->narrow(task.interval, cuts[task.feature], bound_of(task))) return;
            task.lower_bound = std::max(task.lower_bound, workers_[0]->lower_bound(task.interval));
            queue.push(task);
        };
        const auto work = [&](size_t me) {
            Worker<Cost, Stumps>& worker = *workers_[me];
            size_t current = SIZE_MAX;
            if (depth == 2) worker.stumps().begin(at);
            std::unique_lock lock(mutex);
            while (true) {
                changed.wait(lock, [&] { return !queue.empty() || n_in_work == 0 || stop_; });
                if (stop_ || queue.empty()) break;
                Task task = queue.top();
                queue.pop();
                const Cuts& of = cuts[task.feature];
                int64_t bound = bound_of(task);
                if (!worker.narrow(task.interval, of, bound)) continue;
                bound = bound_of(task);
                in_work[me] = task.lower_bound, ++n_in_work;
                lock.unlock();
                const size_t cut = task.interval.low + (task.interval.high - task.interval.low) / 2;
                const auto share = shares[task.share];
                Solved left, right;
                Probe probe;
                if (depth == 2) {
                    if (current != task.feature) worker.stumps().begin_feature(current = task.feature, of);
                    ++worker.n_evaluated;
                    probe = worker.with_leaves(worker.stumps().at(cut), share, of.reach[cut]);
                    left = {probe.left, true, nullptr}, right = {probe.right, true, nullptr};
                } else {
                    probe =
                        worker.evaluate(at, depth, share, task.feature, of, cut, task.interval, bound, &left, &right);
                }
                lock.lock();
                if (left.exact && right.exact) {
                    const int64_t value = left.value + right.value;
                    const Place place{task.feature, of.rank[cut], share.first};
                    if (value < best.value || (value == best.value && !best.is_leaf && place < best.place)) {
                        best.value = value, best.is_leaf = false, best.plan = nullptr;
                        best.place = place, best.share = share, best.left = left, best.right = right;
                        if (is_root) root_ = best;
                    }
                }
                const Interval& whole = task.interval;
                push({task.lower_bound,
                      task.feature,
                      task.share,
                      {cut + 1, whole.high, probe, whole.after, whole.rounding}});
                if (cut > 0)
                    push({task.lower_bound,
                          task.feature,
                          task.share,
                          {whole.low, cut - 1, whole.before, probe, whole.rounding}});
                in_work[me] = INT64_MAX, --n_in_work;
                changed.notify_all();
            }
            changed.notify_all();
        };
        const auto bound_now = [&] {  // with the lock held
            int64_t bound = best.value;
            for (const int64_t task : in_work) bound = std::min(bound, task);
            if (depth == 2 && !queue.empty())
                bound = table_.penalty;
            else if (!queue.empty())
                bound = std::min(bound, queue.top().lower_bound);
            return std::max(bound, best.lower_bound);
        };
        std::vector<std::thread> threads;
        const auto run = [&](size_t me) {
            prepare_to_throw();
            try {
                work(me);
            } catch (const Stopped&) {
            } catch (...) {
                const std::lock_guard lock(mutex);
                if (!error) error = std::current_exception();
                stop_ = true;
            }
            const std::lock_guard lock(mutex);
            --n_running;
            changed.notify_all();
        };
        for (size_t i = 0; i < workers_.size(); ++i) {
            {
                const std::lock_guard lock(mutex);
                ++n_running;
            }
            try {
                threads.emplace_back(run, i);
            } catch (const std::exception&) {  // no more threads: continue with those that run
                const std::lock_guard lock(mutex);
                --n_running;
                break;
            }
        }
        if (threads.empty()) n_running = 1, run(0);
        {
            std::unique_lock lock(mutex);
            while (!changed.wait_for(lock, kPoll, [&] { return n_running == 0; })) {
                best.lower_bound = bound_now();
                if (is_root) root_ = best;
                const Progress now{root_.value == INT64_MAX ? INT64_MAX : root_.value + table_.constant(),
                                   (is_root ? root_.lower_bound : root_.value) + table_.constant(), 0};
                lock.unlock();
                bool goes_on = false;
                std::exception_ptr failure;
                try {
                    goes_on = progress_(now);
                } catch (...) {
                    failure = std::current_exception();
                }
                lock.lock();
                if (!error) error = failure;
                if (!goes_on) stop_ = true, changed.notify_all();
            }
            best.lower_bound = bound_now();
        }
        for (std::thread& thread : threads) thread.join();
        if (error) std::rethrow_exception(error);
        best.proven = !stop_;
        if (is_root) root_ = best;
        if (stop_) throw Stopped{};
    }

    // Writes a tree that was found before the search was stopped.
    void expand(const Rows<Cost>& at, const Best& best, int depth, int leaves, std::vector<TreeNode>& nodes) {
        if (best.is_leaf) return nodes.push_back({});
        if (best.plan) return expand(at, best.plan, depth, leaves, nodes);
        nodes.push_back({static_cast<int32_t>(best.place.feature), best.place.rank});
        for (const bool right : {false, true})
            expand(workers_[0]->child(at, best.place.feature, best.place.rank, right),
                   right ? best.right.plan : best.left.plan, depth - 1, right ? best.share.second : best.share.first,
                   nodes);
    }
    void expand(const Rows<Cost>& at, const PlanPtr& plan, int depth, int leaves, std::vector<TreeNode>& nodes) {
        if ((plan ? plan->depth : depth) == 1 && leaves > 1) {
            int64_t value = table_.leaf(at.total);
            const TreeNode stump = find_stump(at, value);
            if (stump.feature < 0) return nodes.push_back({});
            nodes.insert(nodes.end(), {stump, {}, {}});
            return;
        }
        if (!plan) return nodes.push_back({});
        nodes.push_back({plan->feature, plan->rank});
        for (const bool right : {false, true})
            expand(workers_[0]->child(at, static_cast<size_t>(plan->feature), plan->rank, right),
                   right ? plan->right : plan->left, plan->depth - 1, right ? plan->right_leaves : plan->left_leaves,
                   nodes);
    }

    const Problem& problem_;
    const Options& options_;
    const std::function<bool(const Progress&)>& progress_;
    std::atomic<bool> stop_ = false;
    Table<Cost> table_;
    std::vector<std::unique_ptr<Worker<Cost, Stumps>>> workers_;
    int64_t incumbent_ = INT64_MAX;
    Best root_;
};

template <class Cost, class Stumps>
Solution run(const Problem& p, const Options& o, const std::function<bool(const Progress&)>& progress) {
    return Search<Cost, Stumps>(p, o, progress).run();
}

}  // namespace

Solution solve(const Problem& p, const Options& o, const std::function<bool(const Progress&)>& progress) {
    switch (p.objective) {
        case Objective::squared_error: return run<SquaredCost, SlowStumps<SquaredCost>>(p, o, progress);
        case Objective::gini: return run<ImpurityCost<false>, SlowStumps<ImpurityCost<false>>>(p, o, progress);
        case Objective::entropy: return run<ImpurityCost<true>, SlowStumps<ImpurityCost<true>>>(p, o, progress);
        case Objective::linear: break;
    }
    if (p.n_classes != 2) {
        int64_t total = p.n_rows;
        for (int64_t r = 0; r < p.n_rows; ++r) total += p.weight[r];
        const bool scans = o.scan && p.n_classes > 2 && p.n_classes <= static_cast<int>(kMaxScanned) &&
                           total < INT32_MAX && LinearCost(p).counts_errors();
        if (!scans) return run<LinearCost, SlowStumps<LinearCost>>(p, o, progress);
        if (total < INT16_MAX) return run<LinearCost, ClassStumps<LinearCost, int16_t>>(p, o, progress);
        return run<LinearCost, ClassStumps<LinearCost, int32_t>>(p, o, progress);
    }
    if (!o.scan) return run<SignedCost, SlowStumps<SignedCost>>(p, o, progress);
    int64_t total = p.n_rows;
    for (int64_t r = 0; r < p.n_rows; ++r)
        total +=
            std::abs(p.cost[static_cast<size_t>(2 * p.target[r])] - p.cost[static_cast<size_t>(2 * p.target[r] + 1)]) *
            p.weight[r];
    if (total < INT16_MAX) return run<SignedCost, ScanStumps<SignedCost, int16_t>>(p, o, progress);
    if (total < INT32_MAX) return run<SignedCost, ScanStumps<SignedCost, int32_t>>(p, o, progress);
    return run<SignedCost, ScanStumps<SignedCost, int64_t>>(p, o, progress);
}

}  // namespace treewise::optimal
