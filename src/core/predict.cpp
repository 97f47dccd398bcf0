// Rows down the tree. split.py (Split.branch) is the readable twin of `branch` below.

#include "predict.hpp"

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "crew.hpp"

namespace treewise {
namespace {

constexpr int32_t kStay = -1;

int32_t branch_of_code(const Paths& tree, int64_t node, int32_t code) {
    const int32_t* first = tree.codes.data() + tree.code_start[node];
    const int32_t* last = tree.codes.data() + tree.code_start[node + 1];
    if (tree.kind[node] == kOrdinal) {
        if (code < 0) return tree.missing[node];  // no place in the order: with the missing values
        return code <= *first ? 0 : 1;
    }
    const int32_t* at = std::lower_bound(first, last, code);
    const bool named = at != last && *at == code;
    if (tree.kind[node] == kMultiway) return named ? tree.code_branch[at - tree.codes.data()] : tree.other[node];
    return named ? 0 : 1;
}

int32_t branch(const Paths& tree, int64_t node, const Column& column, int64_t row) {
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

// One node in 16 bytes, so that many fit a cache line: what most tests are, a number of type T against a cut.
struct Step {
    double cut;
    uint32_t right;   // the child past the cut; the other one is the next node
    uint32_t column;  // kNoColumn: a leaf
};
constexpr uint32_t kNoColumn = ~0u, kOther = ~0u - 1;  // kOther: a test of another kind

template <class T>
class Walk {
public:
    Walk(const Paths& tree, const std::vector<Column>& columns) : tree_(tree), columns_(columns) {
        constexpr ValueType type = std::is_same_v<T, float> ? ValueType::f32 : ValueType::f64;
        for (const Column& c : columns) views_.push_back(c.view<T>());
        steps_.resize(tree.kind.size());
        for (size_t n = 0; n < steps_.size(); ++n) {
            const auto node = static_cast<int64_t>(n);
            const auto column = static_cast<uint32_t>(tree.column[n]);
            if (tree.kind[n] == kLeaf) {
                steps_[n] = {0.0, 0, kNoColumn};
            } else if (tree.kind[n] != kThreshold || columns[column].type != type || child(node, 0) != node + 1) {
                steps_[n] = {0.0, 0, kOther};
            } else {
                steps_[n] = {tree.cut[n], static_cast<uint32_t>(child(node, 1)), column};
            }
        }
    }

    // Several rows go down together: while one waits for memory, the others move.
    void find(int64_t begin, int64_t end, int64_t* leaves) const {
        for (int64_t row = begin; row < end; row += kTogether) {
            const int64_t n = std::min(kTogether, end - row);
            uint32_t at[kTogether] = {};
            uint32_t going[kTogether];
            int64_t left = n;
            for (int64_t k = 0; k < n; ++k) going[k] = static_cast<uint32_t>(k);
            while (left) {
                int64_t still = 0;
                for (int64_t g = 0; g < left; ++g) {
                    const uint32_t k = going[g];
                    going[still] = k;
                    still += move(at[k], row + k);
                }
                left = still;
            }
            for (int64_t k = 0; k < n; ++k) leaves[row + k] = at[k];
        }
    }

private:
    static constexpr int64_t kTogether = 16;

    int64_t child(int64_t node, int64_t b) const { return tree_.children[tree_.child_start[node] + b]; }

    // One step down; returns whether there was one.
    bool move(uint32_t& node, int64_t row) const {
        const Step& step = steps_[node];
        if (step.column < kOther) {
            const T x = views_[step.column][static_cast<size_t>(row)];
            if (is_missing(x)) {
                node = static_cast<uint32_t>(child(node, tree_.missing[node]));
                return true;
            }
            node = x <= step.cut ? node + 1 : step.right;
            return true;
        }
        if (step.column == kNoColumn) return false;
        const int32_t b = branch(tree_, node, columns_[static_cast<size_t>(tree_.column[node])], row);
        if (b == kStay) return false;
        node = static_cast<uint32_t>(child(node, b));
        return true;
    }

    const Paths& tree_;
    const std::vector<Column>& columns_;
    std::vector<View<T>> views_;
    std::vector<Step> steps_;
};

template <class T>
void find_all(const Paths& tree, const std::vector<Column>& columns, int64_t n_rows, int n_jobs, const Monitor& monitor,
              int64_t* leaves) {
    constexpr int64_t kRows = 1 << 12;  // a piece of work
    const Walk<T> walk(tree, columns);
    const auto pieces = static_cast<size_t>((n_rows + kRows - 1) / kRows);
    std::atomic<int64_t> done = 0;
    Crew crew(std::min(n_jobs, static_cast<int>(std::min<size_t>(pieces / 4 + 1, 1024))));
    crew.share(
        pieces,
        [&](size_t piece, int) {
            const int64_t begin = static_cast<int64_t>(piece) * kRows, end = std::min(n_rows, begin + kRows);
            walk.find(begin, end, leaves);
            done += end - begin;
        },
        [&] { monitor(static_cast<double>(done) / static_cast<double>(n_rows)); });
}

}  // namespace

void find_leaves(const Paths& tree, const std::vector<Column>& columns, int64_t n_rows, int n_jobs,
                 const Monitor& monitor, int64_t* leaves) {
    const bool floats =
        std::any_of(columns.begin(), columns.end(), [](const Column& c) { return c.type == ValueType::f32; });
    if (tree.kind.size() >= kOther) throw std::length_error("more than 4,294,967,294 nodes");
    if (floats)
        find_all<float>(tree, columns, n_rows, n_jobs, monitor, leaves);
    else
        find_all<double>(tree, columns, n_rows, n_jobs, monitor, leaves);
}

}  // namespace treewise
