// Shapley values by one integral a leaf. explain/shap.py holds the readable twin.
//
// An end of the tree (a leaf, or a node at which a row stays) is reached through tests on m different columns. For the
// row and one of these columns, o is 1 if the row passes all tests on it, else 0; r is the share of the training weight
// that passes them. When a random half of the columns is known, in the sense that each is known with probability t,
// column j lets through f_j(t) = r_j (1 − t) + o_j t. Shapley's weights are the integral over t, so that an end with
// answer v adds to column i
//
//     v (o_i − r_i) ∫ Π_{j≠i} f_j(t) dt,
//
// a polynomial of degree m − 1, which Gauss and Legendre integrate exactly with m/2 nodes, rounded up. All f_j are 0 or
// more, so nothing cancels inside the product, and it is kept along the way down: at each node it is multiplied by what
// the last test changes.

#include "tree/shap.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numbers>

#include "util/thread_pool.hpp"

namespace treewise {
namespace {

constexpr int32_t kStay = -1;

// One branch of the tree in pre-order; a node at which rows can stay has one more, for them.
struct Item {
    int64_t asks = -1;     // the node above it
    int64_t node = -1;     // the node it leads to; -1 for rows that stay
    int64_t speaker = -1;  // the node that answers, at an end
    int32_t branch = 0;
    int32_t column = -1;
    int64_t before = -1;  // the last item above it with a test on the same column
    int64_t skip = 0;     // the item after all that lie below it
    size_t depth = 0;
    double r = 1.0;
    size_t first = 0, last = 0;  // of an end: its columns, as places in `Layout::of`
};

struct Layout {
    std::vector<Item> items;
    std::vector<int64_t> of;  // for each end the last item of every column on its way
    size_t most_columns = 1;
    size_t depth = 0;
};

class Builder {
public:
    Builder(const Paths& tree, const Shares& shares, size_t n_columns)
        : tree_(tree), shares_(shares), met_(n_columns, -1) {}

    Layout build() {
        waiting_.push_back({});
        waiting_.back().node = 0;
        while (!waiting_.empty()) {
            const Item item = waiting_.back();
            waiting_.pop_back();
            add(item);
        }
        close(0);
        return std::move(out_);
    }

private:
    void add(Item item) {
        close(item.depth);
        const auto place = static_cast<int64_t>(out_.items.size());
        if (item.column >= 0) {
            for (size_t d = item.depth; d-- > 0 && item.before < 0;)
                if (out_.items[static_cast<size_t>(open_[d])].column == item.column) item.before = open_[d];
            if (item.before >= 0) item.r *= out_.items[static_cast<size_t>(item.before)].r;
        }
        open_.push_back(place);
        out_.items.push_back(item);
        out_.depth = std::max(out_.depth, item.depth);
        if (item.node >= 0 && tree_.kind[static_cast<size_t>(item.node)] != kLeaf)
            go_below(item);
        else
            end(out_.items.back());
    }

    // Items at this depth and deeper have nothing more below them.
    void close(size_t depth) {
        while (open_.size() > depth) {
            out_.items[static_cast<size_t>(open_.back())].skip = static_cast<int64_t>(out_.items.size());
            open_.pop_back();
        }
    }

    void go_below(const Item& item) {
        const auto node = static_cast<size_t>(item.node);
        Item below;
        below.asks = item.node;
        below.column = tree_.column[node];
        below.depth = item.depth + 1;
        if (shares_.stay[node] >= 0) {
            below.branch = kStay;
            below.speaker = shares_.speaker[node];
            below.r = shares_.stay[node];
            waiting_.push_back(below);
        }
        below.speaker = -1;
        for (int64_t c = tree_.child_start[node + 1]; c-- > tree_.child_start[node];) {
            below.node = tree_.children[static_cast<size_t>(c)];
            below.branch = static_cast<int32_t>(c - tree_.child_start[node]);
            below.r = shares_.share[static_cast<size_t>(below.node)];
            waiting_.push_back(below);
        }
    }

    void end(Item& item) {
        if (item.speaker < 0) item.speaker = item.node;
        item.first = out_.of.size();
        const auto here = static_cast<int64_t>(out_.items.size());
        for (size_t d = open_.size(); d-- > 1;) {
            auto& met = met_[static_cast<size_t>(out_.items[static_cast<size_t>(open_[d])].column)];
            if (met == here) continue;
            met = here;
            out_.of.push_back(open_[d]);
        }
        item.last = out_.of.size();
        out_.most_columns = std::max(out_.most_columns, item.last - item.first);
    }

    const Paths& tree_;
    const Shares& shares_;
    Layout out_;
    std::vector<Item> waiting_;
    std::vector<int64_t> open_;  // the items from the root down to the last one
    std::vector<int64_t> met_;   // by column: the last end that has listed it
};

// Nodes and weights on [0, 1] that integrate polynomials of degree 2n − 1 exactly.
struct Quadrature {
    std::vector<double> t, weight;

    explicit Quadrature(size_t n) {
        for (size_t k = 0; k < n; ++k) {
            double x = std::cos(std::numbers::pi * (static_cast<double>(k) + 0.75) / (static_cast<double>(n) + 0.5));
            double slope = 1.0;
            for (int round = 0; round < 8; ++round) {  // Newton's steps double the digits; five would do
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

class Walk {
public:
    Walk(const Paths& tree, const Shares& shares, const std::vector<Column>& columns, const Layout& layout,
         const Quadrature& at)
        : tree_(tree),
          shares_(shares),
          columns_(columns),
          layout_(layout),
          at_(at),
          passes_(layout.items.size()),
          taken_(layout.depth + 1),
          products_((layout.depth + 1) * at.t.size(), 1.0) {}

    void explain(int64_t row, double* values) {
        const size_t q = at_.t.size();
        passes_[0] = 1;
        const auto n = static_cast<int64_t>(layout_.items.size());
        for (int64_t i = 0; i < n;) {
            const Item& item = layout_.items[static_cast<size_t>(i)];
            double* product = &products_[item.depth * q];
            if (i > 0) {
                const bool before = item.before < 0 || passes_[static_cast<size_t>(item.before)];
                const bool passes = before && taken_[item.depth - 1] == item.branch;
                if (!passes && item.r == 0) {  // neither the row nor any training row comes here
                    i = item.skip;
                    continue;
                }
                passes_[static_cast<size_t>(i)] = passes;
                multiply(item, passes, product);
            }
            if (item.speaker >= 0)
                add_end(item, product, values);
            else
                taken_[item.depth] =
                    branch(tree_, item.node, columns_[static_cast<size_t>(tree_.column[item.node])], row);
            ++i;
        }
    }

private:
    double lets_through(const Item& item, bool passes, size_t k) const {
        return item.r * (1.0 - at_.t[k]) + (passes ? at_.t[k] : 0.0);
    }

    void multiply(const Item& item, bool passes, double* product) const {
        const size_t q = at_.t.size();
        const double* above = product - q;
        for (size_t k = 0; k < q; ++k) product[k] = above[k] * lets_through(item, passes, k);
        if (item.before < 0) return;
        const Item& before = layout_.items[static_cast<size_t>(item.before)];
        const bool passed = passes_[static_cast<size_t>(item.before)];
        for (size_t k = 0; k < q; ++k) product[k] /= lets_through(before, passed, k);
    }

    void add_end(const Item& end, const double* product, double* values) const {
        const double* said = &shares_.said[static_cast<size_t>(end.speaker * shares_.n_outputs)];
        for (size_t p = end.first; p < end.last; ++p) {
            const auto i = static_cast<size_t>(layout_.of[p]);
            const Item& item = layout_.items[i];
            const bool passes = passes_[i];
            double sum = 0.0;
            for (size_t k = 0; k < at_.t.size(); ++k) sum += at_.weight[k] * product[k] / lets_through(item, passes, k);
            sum *= (passes ? 1.0 : 0.0) - item.r;
            double* to = values + item.column * shares_.n_outputs;
            for (int64_t c = 0; c < shares_.n_outputs; ++c) to[c] += sum * said[c];
        }
    }

    const Paths& tree_;
    const Shares& shares_;
    const std::vector<Column>& columns_;
    const Layout& layout_;
    const Quadrature& at_;
    std::vector<uint8_t> passes_;   // of each item on the way: whether the row passes all tests on its column so far
    std::vector<int32_t> taken_;    // by depth: the branch the row takes at the node there
    std::vector<double> products_;  // by depth: what all columns let through, at each node of the quadrature
};

}  // namespace

void shapley_values(const Paths& tree, const Shares& shares, const std::vector<Column>& columns, int64_t n_rows,
                    int n_jobs, const Monitor& monitor, double* values) {
    constexpr int64_t kRows = 64;  // a piece of work
    const Layout layout = Builder(tree, shares, columns.size()).build();
    const Quadrature at((layout.most_columns + 1) / 2);
    const int64_t width = static_cast<int64_t>(columns.size()) * shares.n_outputs;
    const auto pieces = static_cast<size_t>((n_rows + kRows - 1) / kRows);
    Crew crew(std::min(n_jobs, static_cast<int>(std::min<size_t>(pieces, 1024))));
    std::vector<Walk> walks(static_cast<size_t>(crew.size()), Walk(tree, shares, columns, layout, at));
    std::atomic<int64_t> done = 0;
    crew.share(
        pieces,
        [&](size_t piece, int worker) {
            const int64_t begin = static_cast<int64_t>(piece) * kRows, end = std::min(n_rows, begin + kRows);
            for (int64_t row = begin; row < end; ++row)
                walks[static_cast<size_t>(worker)].explain(row, values + row * width);
            done += end - begin;
        },
        [&] { monitor(static_cast<double>(done) / static_cast<double>(n_rows)); });
}

}  // namespace treewise
