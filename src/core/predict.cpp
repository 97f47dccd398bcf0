// Rows down the tree. split.py (Split.branch) is the readable twin of `branch` below.

#include "predict.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
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

// One node in 16 bytes, so that many fit a cache line: what most tests are, a number of type T against a cut. At a
// leaf, and at a test of another kind, the cut is NaN: no value is below or above it, and the row stays.
struct Step {
    double cut;
    uint32_t right;                                       // the child past the cut; the other one is the next node
    uint32_t column : 30, gone_left : 1, gone_right : 1;  // where missing values go; neither: they stay
};
constexpr double kNever = std::numeric_limits<double>::quiet_NaN();
constexpr uint32_t kMostColumns = 1u << 30;

template <class T>
class Walk {
public:
    Walk(const Paths& tree, const std::vector<Column>& columns) : tree_(tree), columns_(columns) {
        constexpr ValueType type = std::is_same_v<T, float> ? ValueType::f32 : ValueType::f64;
        for (const Column& c : columns) views_.push_back(c.view<T>());
        if (views_.empty()) views_.push_back({nullptr, 0});
        steps_.resize(tree.kind.size());
        for (size_t n = 0; n < steps_.size(); ++n) {
            const auto node = static_cast<int64_t>(n);
            const auto column = static_cast<size_t>(tree.column[n]);
            steps_[n] = {kNever, 0, 0, 0, 0};
            if (tree.kind[n] != kThreshold || columns[column].type != type || child(node, 0) != node + 1) continue;
            steps_[n] = {tree.cut[n], static_cast<uint32_t>(child(node, 1)),
                         static_cast<uint32_t>(column) % kMostColumns, tree.missing[n] == 0, tree.missing[n] == 1};
            some_ = column;
        }
        // Rows that stay read a value too, and any will do: one of a column that has the type.
        for (Step& step : steps_)
            if (std::isnan(step.cut)) step.column = static_cast<uint32_t>(some_) % kMostColumns;
    }

    // Several rows go down together, without a branch that could be guessed wrong: while one waits for memory, the
    // others move. Rows before a test of another kind wait until none moves, and take it one by one.
    void find(int64_t begin, int64_t end, int64_t* leaves) const {
        for (int64_t row = begin; row < end; row += kTogether) {
            const int64_t n = std::min(kTogether, end - row);
            uint32_t at[kTogether] = {};
            do {
                if (some_ != kNone) n == kTogether ? descend<kTogether>(at, row, n) : descend<0>(at, row, n);
            } while (step_aside(at, row, n));
            for (int64_t k = 0; k < n; ++k) leaves[row + k] = at[k];
        }
    }

private:
    static constexpr int64_t kTogether = 8;

    int64_t child(int64_t node, int64_t b) const { return tree_.children[tree_.child_start[node] + b]; }

    template <int64_t N>  // 0: n of them
    void descend(uint32_t* at, int64_t row, int64_t n) const {
        const Step* steps = steps_.data();
        const View<T>* views = views_.data();
        uint32_t moved = 1;
        while (moved) {
            moved = 0;
            for (int64_t k = 0; k < (N ? N : n); ++k) {
                const uint32_t node = at[k];
                const Step step = steps[node];
                const double x = views[step.column][static_cast<size_t>(row + k)];
                const uint32_t below = x <= step.cut, above = x > step.cut, neither = 1 - below - above;
                const uint32_t left = below | (neither & step.gone_left), right = above | (neither & step.gone_right);
                const uint32_t to = node + left + right * (step.right - node);
                moved |= to ^ node;
                at[k] = to;
            }
        }
    }

    // One step at each test of another kind; whether any row moved.
    bool step_aside(uint32_t* at, int64_t row, int64_t n) const {
        bool moved = false;
        for (int64_t k = 0; k < n; ++k) {
            const int64_t node = at[k];
            if (tree_.kind[node] == kLeaf) continue;
            const int32_t b = branch(tree_, node, columns_[static_cast<size_t>(tree_.column[node])], row + k);
            if (b == kStay) continue;
            at[k] = static_cast<uint32_t>(child(node, b));
            moved = true;
        }
        return moved;
    }

    static constexpr size_t kNone = ~size_t{0};

    const Paths& tree_;
    const std::vector<Column>& columns_;
    std::vector<View<T>> views_;
    std::vector<Step> steps_;
    size_t some_ = kNone;  // a column of type T that some test asks for
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
    if (tree.kind.size() >= ~0u || columns.size() > kMostColumns) throw std::length_error("a tree too large to walk");
    if (floats)
        find_all<float>(tree, columns, n_rows, n_jobs, monitor, leaves);
    else
        find_all<double>(tree, columns, n_rows, n_jobs, monitor, leaves);
}

}  // namespace treewise
