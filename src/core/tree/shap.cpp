// Shapley values by one integral per leaf; explain/shap.py has the Python version.
//
// A leaf (or a node where a row stays) is reached through tests on m different columns. For a row and one of these
// columns, o is 1 if the row passes all its tests and 0 otherwise; r is the fraction of the training weight that passes
// them. If each column is known with probability t, column j passes f_j(t) = r_j (1 − t) + o_j t. Shapley's weights are
// the integral over t, so a leaf with answer v adds to column i
//
//     v (o_i − r_i) ∫ Π_{j≠i} f_j(t) dt,
//
// a polynomial of degree m − 1, which Gauss-Legendre quadrature integrates exactly with ⌈m/2⌉ nodes. All f_j are non-
// negative, so nothing cancels; the product is updated from node to node on the way down.

#include "tree/shap.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numbers>

#include "util/thread_pool.hpp"

namespace treewise {
namespace {

constexpr int32_t kStay = -1;

// One branch of the tree in pre-order; a node where rows can stay has an additional one.
struct PathItem {
    int64_t parent = -1;       // node above
    int64_t node = -1;         // node below; −1 for rows that stay
    int64_t answer_node = -1;  // at the end of a path: the node that answers
    int32_t branch = 0;
    int32_t column = -1;
    int64_t before = -1;  // previous item on the path with a test on the same column
    int64_t skip = 0;     // item after this subtree
    size_t depth = 0;
    double r = 1.0;
    size_t first = 0, last = 0;  // at the end of a path: its columns, as a range of `Layout::path_items`
};

struct Layout {
    std::vector<PathItem> items;
    std::vector<int64_t> path_items;  // for each path, the last item of every column
    size_t most_columns = 1;
    size_t depth = 0;
};

class Builder {
public:
    Builder(const TreeView& tree, const ShapInputs& inputs, size_t n_columns)
        : tree_(tree), inputs_(inputs), last_seen_(n_columns, -1) {}

    Layout build() {
        stack_.push_back({});
        stack_.back().node = 0;
        while (!stack_.empty()) {
            const PathItem item = stack_.back();
            stack_.pop_back();
            add(item);
        }
        close_items(0);
        return std::move(out_);
    }

private:
    void add(PathItem item) {
        close_items(item.depth);
        const auto place = static_cast<int64_t>(out_.items.size());
        if (item.column >= 0) {
            for (size_t d = item.depth; d-- > 0 && item.before < 0;)
                if (out_.items[static_cast<size_t>(path_[d])].column == item.column) item.before = path_[d];
            if (item.before >= 0) item.r *= out_.items[static_cast<size_t>(item.before)].r;
        }
        path_.push_back(place);
        out_.items.push_back(item);
        out_.depth = std::max(out_.depth, item.depth);
        if (item.node >= 0 && tree_.kind[static_cast<size_t>(item.node)] != kLeaf)
            push_children(item);
        else
            finish_path(out_.items.back());
    }

    // Closes the items at this depth and below.
    void close_items(size_t depth) {
        while (path_.size() > depth) {
            out_.items[static_cast<size_t>(path_.back())].skip = static_cast<int64_t>(out_.items.size());
            path_.pop_back();
        }
    }

    void push_children(const PathItem& item) {
        const auto node = static_cast<size_t>(item.node);
        PathItem below;
        below.parent = item.node;
        below.column = tree_.column[node];
        below.depth = item.depth + 1;
        if (inputs_.stay[node] >= 0) {
            below.branch = kStay;
            below.answer_node = inputs_.answer_node[node];
            below.r = inputs_.stay[node];
            stack_.push_back(below);
        }
        below.answer_node = -1;
        for (int64_t c = tree_.child_start[node + 1]; c-- > tree_.child_start[node];) {
            below.node = tree_.children[static_cast<size_t>(c)];
            below.branch = static_cast<int32_t>(c - tree_.child_start[node]);
            below.r = inputs_.share[static_cast<size_t>(below.node)];
            stack_.push_back(below);
        }
    }

    void finish_path(PathItem& item) {
        if (item.answer_node < 0) item.answer_node = item.node;
        item.first = out_.path_items.size();
        const auto here = static_cast<int64_t>(out_.items.size());
        for (size_t d = path_.size(); d-- > 1;) {
            auto& last_seen = last_seen_[static_cast<size_t>(out_.items[static_cast<size_t>(path_[d])].column)];
            if (last_seen == here) continue;
            last_seen = here;
            out_.path_items.push_back(path_[d]);
        }
        item.last = out_.path_items.size();
        out_.most_columns = std::max(out_.most_columns, item.last - item.first);
    }

    const TreeView& tree_;
    const ShapInputs& inputs_;
    Layout out_;
    std::vector<PathItem> stack_;
    std::vector<int64_t> path_;       // items from the root to the current one
    std::vector<int64_t> last_seen_;  // by column: the last path that listed it
};

// Nodes and weights of Gauss-Legendre quadrature on [0, 1]; exact for polynomials of degree 2n − 1.
struct Quadrature {
    std::vector<double> t, weight;

    explicit Quadrature(size_t n) {
        for (size_t k = 0; k < n; ++k) {
            double x = std::cos(std::numbers::pi * (static_cast<double>(k) + 0.75) / (static_cast<double>(n) + 0.5));
            double slope = 1.0;
            for (int round = 0; round < 8; ++round) {  // Newton's method converges quadratically; five rounds would do
                double p = 1.0, before = 0.0;
                for (size_t j = 1; j <= n; ++j) {
                    const auto degree = static_cast<double>(j);
                    const double next = ((2.0 * degree - 1.0) * x * p - (degree - 1.0) * before) / degree;
                    before = p, p = next;
                }
                slope = static_cast<double>(n) * (before - x * p) / (1.0 - x * x);
                x -= p / slope;
            }
            t.push_back(0.5 + 0.5 * x);
            weight.push_back(1.0 / ((1.0 - x * x) * slope * slope));
        }
    }
};

class ShapWalker {
public:
    ShapWalker(const TreeView& tree, const ShapInputs& inputs, const std::vector<Column>& columns, const Layout& layout,
               const Quadrature& quadrature)
        : tree_(tree),
          inputs_(inputs),
          columns_(columns),
          layout_(layout),
          quadrature_(quadrature),
          passes_(layout.items.size()),
          taken_(layout.depth + 1),
          products_((layout.depth + 1) * quadrature.t.size(), 1.0) {}

    void explain(int64_t row, double* values) {
        const size_t q = quadrature_.t.size();
        passes_[0] = 1;
        const auto n = static_cast<int64_t>(layout_.items.size());
        for (int64_t i = 0; i < n;) {
            const PathItem& item = layout_.items[static_cast<size_t>(i)];
            double* product = &products_[item.depth * q];
            if (i > 0) {
                const bool before = item.before < 0 || passes_[static_cast<size_t>(item.before)];
                const bool passes = before && taken_[item.depth - 1] == item.branch;
                if (!passes && item.r == 0) {  // neither the row nor any training row gets here
                    i = item.skip;
                    continue;
                }
                passes_[static_cast<size_t>(i)] = passes;
                multiply(item, passes, product);
            }
            if (item.answer_node >= 0)
                add_leaf(item, product, values);
            else
                taken_[item.depth] =
                    branch(tree_, item.node, columns_[static_cast<size_t>(tree_.column[item.node])], row);
            ++i;
        }
    }

private:
    double pass_fraction(const PathItem& item, bool passes, size_t k) const {
        return item.r * (1.0 - quadrature_.t[k]) + (passes ? quadrature_.t[k] : 0.0);
    }

    void multiply(const PathItem& item, bool passes, double* product) const {
        const size_t q = quadrature_.t.size();
        const double* above = product - q;
        for (size_t k = 0; k < q; ++k) product[k] = above[k] * pass_fraction(item, passes, k);
        if (item.before < 0) return;
        const PathItem& before = layout_.items[static_cast<size_t>(item.before)];
        const bool passed = passes_[static_cast<size_t>(item.before)];
        for (size_t k = 0; k < q; ++k) product[k] /= pass_fraction(before, passed, k);
    }

    void add_leaf(const PathItem& finish_path, const double* product, double* values) const {
        const double* outputs = &inputs_.outputs[static_cast<size_t>(finish_path.answer_node * inputs_.n_outputs)];
        for (size_t p = finish_path.first; p < finish_path.last; ++p) {
            const auto i = static_cast<size_t>(layout_.path_items[p]);
            const PathItem& item = layout_.items[i];
            const bool passes = passes_[i];
            double sum = 0.0;
            for (size_t k = 0; k < quadrature_.t.size(); ++k)
                sum += quadrature_.weight[k] * product[k] / pass_fraction(item, passes, k);
            sum *= (passes ? 1.0 : 0.0) - item.r;
            double* to = values + item.column * inputs_.n_outputs;
            for (int64_t c = 0; c < inputs_.n_outputs; ++c) to[c] += sum * outputs[c];
        }
    }

    const TreeView& tree_;
    const ShapInputs& inputs_;
    const std::vector<Column>& columns_;
    const Layout& layout_;
    const Quadrature& quadrature_;
    std::vector<uint8_t> passes_;   // by item on the path: whether the row passes all tests on its column so far
    std::vector<int32_t> taken_;    // by depth: the branch the row takes
    std::vector<double> products_;  // by depth: product over columns, at each quadrature node
};

}  // namespace

void shapley_values(const TreeView& tree, const ShapInputs& inputs, const std::vector<Column>& columns, int64_t n_rows,
                    int n_jobs, const ProgressCallback& progress, double* values) {
    constexpr int64_t kRows = 64;  // per task
    const Layout layout = Builder(tree, inputs, columns.size()).build();
    const Quadrature quadrature((layout.most_columns + 1) / 2);
    const int64_t width = static_cast<int64_t>(columns.size()) * inputs.n_outputs;
    const auto pieces = static_cast<size_t>((n_rows + kRows - 1) / kRows);
    ThreadPool pool(std::min(n_jobs, static_cast<int>(std::min<size_t>(pieces, 1024))));
    std::vector<ShapWalker> walks(static_cast<size_t>(pool.size()),
                                  ShapWalker(tree, inputs, columns, layout, quadrature));
    std::atomic<int64_t> done = 0;
    pool.parallel_for(
        pieces,
        [&](size_t piece, int worker) {
            const int64_t begin = static_cast<int64_t>(piece) * kRows, finish_path = std::min(n_rows, begin + kRows);
            for (int64_t row = begin; row < finish_path; ++row)
                walks[static_cast<size_t>(worker)].explain(row, values + row * width);
            done += finish_path - begin;
        },
        [&] { progress(static_cast<double>(done) / static_cast<double>(n_rows)); });
}

}  // namespace treewise
