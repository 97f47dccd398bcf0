// Walks rows down one tree. tree/splits.py (Split.branch) has the Python version of `branch`.

#include "tree/predict.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <type_traits>

#include "util/thread_pool.hpp"

namespace treewise {
namespace {

constexpr int32_t kStay = -1;

int32_t branch_of_code(const TreeView& tree, int64_t node, int32_t code) {
    const int32_t* first = tree.codes.data() + tree.code_start[node];
    const int32_t* last = tree.codes.data() + tree.code_start[node + 1];
    if (tree.kind[node] == kOrdinal) {
        if (code < 0) return tree.missing[node];  // an unseen level has no place in the order: with the missing values
        return code <= *first ? 0 : 1;
    }
    const int32_t* at = std::lower_bound(first, last, code);
    const bool named = at != last && *at == code;
    if (tree.kind[node] == kMultiway) return named ? tree.code_branch[at - tree.codes.data()] : tree.other[node];
    return named ? 0 : 1;
}

}  // namespace

int32_t branch(const TreeView& tree, int64_t node, const Column& column, int64_t row) {
    return column.visit([&]<class T>(View<T> values) -> int32_t {
        const T x = values[row];
        if (is_missing(x)) return tree.missing[node];
        if constexpr (std::is_same_v<T, int32_t>) {
            return branch_of_code(tree, node, x);
        } else if constexpr (std::is_same_v<T, int64_t>) {
            return x <= tree.cut_int[node] ? 0 : 1;
        } else {
            return x <= tree.cut[node] ? 0 : 1;  // a float is compared as the double it is
        }
    });
}

namespace {

// A threshold test on type T, as small as possible so that the tree fits the cache.
template <class T>
struct ThresholdStep {
    T cut;
    uint32_t column;
    uint32_t to[3];  // next step: missing, at most the cut, above it
};

// The largest T not above the cut: separates the same values.
template <class T>
T round_down(double cut) {
    const T rounded = static_cast<T>(cut);
    return rounded > cut ? std::nextafter(rounded, -std::numeric_limits<T>::infinity()) : rounded;
}

// Steps are the nodes in a new order: first the threshold tests; then the other tests; then the ends (leaves, and a
// copy of each node where missing values stay). All but the first lead to themselves.
template <class T>
class LeafFinder {
public:
    LeafFinder(const TreeView& tree, const std::vector<Column>& columns) : tree_(tree), columns_(columns) {
        for (const Column& c : columns) {
            bases_.push_back(static_cast<const std::byte*>(c.data));
            strides_.push_back(c.stride);
        }
        number_steps();
        for (uint32_t s = 0; s < steps_.size(); ++s) steps_[s] = {T{0}, 0, {s, s, s}};
        for (uint32_t s = 0; s < n_threshold_steps_; ++s) write_step(s);
        // an idle row still reads a value: any column of the right type will do
        for (uint32_t s = n_threshold_steps_; n_threshold_steps_ && s < steps_.size(); ++s)
            steps_[s].column = steps_[0].column;
        for (uint32_t s = 0; s < n_threshold_steps_; ++s)
            same_stride_ = same_stride_ && strides_[steps_[s].column] == strides_[steps_[0].column];
    }

    void find(int64_t begin, int64_t end, const int64_t* from, int64_t* leaves) const {
        same_stride_ ? find_by<true>(begin, end, from, leaves) : find_by<false>(begin, end, from, leaves);
    }

private:
    static constexpr int64_t kLanes = 8;
    static constexpr int kStepsPerCheck = 3;  // steps between checks for finished rows

    bool is_threshold_step(size_t node) const {
        constexpr ValueType type = std::is_same_v<T, float> ? ValueType::f32 : ValueType::f64;
        return tree_.kind[node] == kThreshold && columns_[static_cast<size_t>(tree_.column[node])].type == type;
    }
    void number_steps() {
        const size_t n = tree_.kind.size();
        step_of_.resize(n), steps_.resize(n);
        const auto number = [&](const auto& belongs) {
            for (size_t node = 0; node < n; ++node) {
                if (!belongs(node)) continue;
                step_of_[node] = static_cast<uint32_t>(node_of_.size());
                node_of_.push_back(static_cast<uint32_t>(node));
            }
            return static_cast<uint32_t>(node_of_.size());
        };
        n_threshold_steps_ = number([&](size_t node) { return is_threshold_step(node); });
        n_test_steps_ = number([&](size_t node) { return !is_threshold_step(node) && tree_.kind[node] != kLeaf; });
        number([&](size_t node) { return tree_.kind[node] == kLeaf; });
    }
    void write_step(uint32_t s) {
        const size_t node = node_of_[s];
        const int32_t branch = tree_.missing[node];
        const uint32_t missing = branch == kStay ? stay_step(node) : child(node, branch);
        steps_[s] = {round_down<T>(tree_.cut[node]),
                     static_cast<uint32_t>(tree_.column[node]),
                     {missing, child(node, 0), child(node, 1)}};
    }
    uint32_t stay_step(size_t node) {
        const auto s = static_cast<uint32_t>(steps_.size());
        node_of_.push_back(static_cast<uint32_t>(node));
        steps_.push_back({T{0}, 0, {s, s, s}});
        return s;
    }
    uint32_t child(size_t node, int32_t b) const {
        return step_of_[static_cast<size_t>(tree_.children[tree_.child_start[node] + b])];
    }

    // Walks several rows in lockstep, branch-free, to hide memory latency. Rows at a test of another kind wait until no
    // row moves and are then advanced one by one.
    template <bool kSameStride>
    void find_by(int64_t begin, int64_t end, const int64_t* from, int64_t* leaves) const {
        for (int64_t row = begin; row < end; row += kLanes) {
            int64_t rows[kLanes];
            uint32_t at[kLanes];
            for (int64_t k = 0; k < kLanes; ++k) {
                rows[k] = std::min(row + k, end - 1);
                at[k] = step_of_[from ? static_cast<size_t>(from[rows[k]]) : 0];
            }
            do {
                if (n_threshold_steps_) descend<kSameStride>(at, rows);
            } while (step_other_tests(at, rows));
            for (int64_t k = 0; k < kLanes; ++k) leaves[rows[k]] = node_of_[at[k]];
        }
    }

    template <bool kSameStride>
    void descend(uint32_t* at, const int64_t* rows) const {
        const ThresholdStep<T>* steps = steps_.data();
        const std::byte* const* bases = bases_.data();
        const int64_t stride = strides_[steps[0].column];
        const uint32_t n_threshold_steps = n_threshold_steps_;
        for (bool any_moving = true; any_moving;) {
            for (int i = 0; i < kStepsPerCheck; ++i) {
                for (int64_t k = 0; k < kLanes; ++k) {
                    const ThresholdStep<T>& step = steps[at[k]];
                    T x;
                    const int64_t past = rows[k] * (kSameStride ? stride : strides_[step.column]);
                    std::memcpy(&x, bases[step.column] + past, sizeof x);
                    at[k] = step.to[(x <= step.cut) + 2 * (x > step.cut)];
                }
            }
            any_moving = false;
            for (int64_t k = 0; k < kLanes; ++k) any_moving |= at[k] < n_threshold_steps;
        }
    }

    // One step for each row at a test of another kind; returns whether any moved.
    bool step_other_tests(uint32_t* at, const int64_t* rows) const {
        bool moved = false;
        for (int64_t k = 0; k < kLanes; ++k) {
            if (at[k] >= n_test_steps_) continue;
            const size_t node = node_of_[at[k]];
            const Column& column = columns_[static_cast<size_t>(tree_.column[node])];
            const int32_t b = branch(tree_, static_cast<int64_t>(node), column, rows[k]);
            if (b == kStay) continue;
            at[k] = child(node, b);
            moved = true;
        }
        return moved;
    }

    const TreeView& tree_;
    const std::vector<Column>& columns_;
    std::vector<const std::byte*> bases_;
    std::vector<int64_t> strides_;
    bool same_stride_ = true;
    std::vector<uint32_t> node_of_, step_of_;
    std::vector<ThresholdStep<T>> steps_;
    uint32_t n_threshold_steps_ = 0,
             n_test_steps_ = 0;  // steps below the first are threshold tests; below the second, tests
};

template <class T>
void find_all_leaves(const TreeView& tree, const std::vector<Column>& columns, int64_t n_rows, int n_jobs,
                     const ProgressCallback& progress, int64_t* leaves, const int64_t* from) {
    constexpr int64_t kRows = 1 << 12;  // per task
    const LeafFinder<T> finder(tree, columns);
    const auto pieces = static_cast<size_t>((n_rows + kRows - 1) / kRows);
    std::atomic<int64_t> done = 0;
    ThreadPool pool(std::min(n_jobs, static_cast<int>(std::min<size_t>(pieces / 4 + 1, 1024))));
    pool.parallel_for(
        pieces,
        [&](size_t piece, int) {
            const int64_t begin = static_cast<int64_t>(piece) * kRows, end = std::min(n_rows, begin + kRows);
            finder.find(begin, end, from, leaves);
            done += end - begin;
        },
        [&] { progress(static_cast<double>(done) / static_cast<double>(n_rows)); });
}

}  // namespace

void find_leaves(const TreeView& tree, const std::vector<Column>& columns, int64_t n_rows, int n_jobs,
                 const ProgressCallback& progress, int64_t* leaves, const int64_t* from) {
    if (tree.kind.size() >= 1u << 31 || columns.size() >= ~0u) throw std::length_error("a tree too large to walk");
    int64_t floats = 0, doubles = 0;  // the more frequent type is used for the steps
    for (size_t n = 0; n < tree.kind.size(); ++n) {
        if (tree.kind[n] != kThreshold) continue;
        const ValueType type = columns[static_cast<size_t>(tree.column[n])].type;
        floats += type == ValueType::f32, doubles += type == ValueType::f64;
    }
    (floats > doubles ? find_all_leaves<float> : find_all_leaves<double>)(tree, columns, n_rows, n_jobs, progress,
                                                                          leaves, from);
}

}  // namespace treewise
