// Rows down the tree. split.py (Split.branch) is the readable twin of `branch` below.

#include "predict.hpp"

#include <algorithm>
#include <type_traits>

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

}  // namespace

void find_leaves(const Paths& tree, const std::vector<Column>& columns, int64_t n_rows, const Monitor& monitor,
                 int64_t* leaves) {
    int64_t visits = 0;
    for (int64_t row = 0; row < n_rows; ++row) {
        int64_t node = 0;
        while (tree.kind[node] != kLeaf) {
            const int32_t b = branch(tree, node, columns[tree.column[node]], row);
            if (b == kStay) break;
            node = tree.children[tree.child_start[node] + b];
            if (++visits % (1 << 16) == 0) monitor(static_cast<double>(row) / static_cast<double>(n_rows));
        }
        leaves[row] = node;
    }
}

}  // namespace treewise
