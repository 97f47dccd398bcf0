// Checks that nodes in pre-order form trees, and adds up the rows of their leaves.
//
// Visiting nodes in reverse, a stack holds the rows of the subtrees that no parent has taken yet, the first child on
// top. Nodes come in pieces, the last piece first, so that little memory is needed however large a tree is: 8 bytes per
// subtree on the stack, of which there are at most as many as leaves.
#pragma once

#include <cstdint>
#include <deque>
#include <span>

namespace treewise {

enum class PreOrderFault : int64_t {
    none,
    shape,    // a tree has more or fewer nodes than its splits have branches
    no_rows,  // no row reaches this inner node
    missing,  // the branch that missing values take has fewer rows than have missing values
    total,    // the rows of the tree are not between 1 and the maximum
};

// One entry per node; those of leaves have 0 branches.
struct PreOrderNodes {
    std::span<const uint8_t> is_root;
    std::span<const int64_t> branches;
    std::span<const double> rows;      // of leaves
    std::span<const int64_t> missing;  // branch of missing values, of inner nodes
    std::span<const int64_t> missing_rows;
};

class PreOrderChecker {
public:
    explicit PreOrderChecker(double max_rows) : max_rows_(max_rows) {}

    struct Fault {
        int64_t node;
        PreOrderFault fault;
    };

    // Visits the piece before the one that was visited last; returns its last fault.
    Fault visit(const PreOrderNodes& nodes) {
        for (size_t node = nodes.branches.size(); node-- > 0;)
            if (const PreOrderFault fault = visit(nodes, node); fault != PreOrderFault::none)
                return {static_cast<int64_t>(node), fault};
        return {-1, PreOrderFault::none};
    }

private:
    PreOrderFault visit(const PreOrderNodes& nodes, size_t node) {
        const int64_t branches = nodes.branches[node];
        double rows = nodes.rows[node];
        if (branches > 0) {
            if (static_cast<uint64_t>(branches) > pending_.size()) return PreOrderFault::shape;
            rows = 0;
            for (int64_t branch = 0; branch < branches; ++branch) {
                if (branch == nodes.missing[node] && pending_.back() < static_cast<double>(nodes.missing_rows[node]))
                    return PreOrderFault::missing;
                rows += pending_.back();
                pending_.pop_back();
            }
            if (rows == 0) return PreOrderFault::no_rows;
        }
        if (!nodes.is_root[node]) {
            pending_.push_back(rows);
            return PreOrderFault::none;
        }
        if (!pending_.empty()) return PreOrderFault::shape;
        return rows >= 1 && rows <= max_rows_ ? PreOrderFault::none : PreOrderFault::total;
    }

    double max_rows_;
    std::deque<double> pending_;
};

}  // namespace treewise
