// Settings of a fit, each declared once: the structs and their attributes in Python are generated from these lists
// (an enum of criteria/registry.hpp is its name there). train/settings.py declares the user's parameters, and
// train/grow.py fills these in.

#pragma once

#include <cmath>
#include <cstdint>

#include "criteria/registry.hpp"

namespace treewise {

// clang-format off

// X(type, name, default)
#define TREEWISE_SETTINGS(X)                                                                                            \
    X(Criterion, criterion, Criterion::entropy)                                                                         \
    X(Rule, rule, Rule::gain)                                                                                           \
    X(Selection, selection, Selection::gain)                                                                            \
    X(bool, gain_per_branch, false)      /* split kinds compete: gains are divided by (branches − 1) */                 \
    X(bool, missing_branch, false)       /* missing rows get their own branch if they meet the leaf limits */           \
    X(bool, empty_from_root, false)      /* an empty branch predicts the root's distribution, not its parent's */       \
    X(bool, random_ties, false)                                                                                         \
    X(bool, random_cuts, false)          /* extra-trees: one random split of each kind per sampled column */            \
    X(int64_t, max_features, 0)          /* columns sampled per node (more until one is splittable); 0: all */          \
    X(uint64_t, seed, 0)                                                                                                \
    X(int64_t, max_depth, -1)            /* -1: no limit */                                                             \
    X(int64_t, max_leaf_nodes, -1)                                                                                      \
    X(int64_t, min_samples_split, 2)                                                                                    \
    X(int64_t, min_samples_leaf, 1)                                                                                     \
    X(int64_t, min_leaf_weight, 0)                                                                                      \
    X(double, min_impurity_decrease, 0.0)                                                                               \
    X(double, alpha, 1.0)                /* Selection::test: maximum adjusted p-value to split a node … */              \
    X(double, observation_weight, 1.0)   /* … and the weight of one observation */                                      \
    X(int64_t, min_level_rows, 1)        /* levels with fewer rows at a node are pooled (columns of many levels) */     \
    X(double, root_low, -INFINITY)       /* monotone constraints: what the root may predict at least … */               \
    X(double, root_high, INFINITY)       /* … and at most */                                                            \
    X(uint64_t, root_groups, ~uint64_t{0}) /* groups of columns that may be tested below the root */                    \
    X(uint64_t, root_acquired, 0)        /* columns whose feature cost is paid at the root */                           \
    X(int64_t, root_depth, 0)            /* levels above the root, if it is a node of a larger tree … */                \
    X(uint64_t, root_key, 0)             /* … the key of its random draws … */                                          \
    X(int64_t, total_weight, 0)          /* … and the weight of that tree's rows; 0: of the rows given */               \
    X(int64_t, accuracy_numerator, 1)    /* sufficient accuracy as a fraction; 1/1: never stops */                      \
    X(int64_t, accuracy_denominator, 1)                                                                                 \
    X(int, n_jobs, 1)                    /* threads */                                                                  \
    X(bool, quartiles, false)            /* compute the quartiles of the columns */

// Performance knobs: they change how the work is done, never the tree. Tests vary them and compare the trees.
#define TREEWISE_TUNING(X)                                                                                              \
    X(bool, exact_only, false)           /* presorted engine only: evaluate every candidate in integers */              \
    X(bool, use_bounds, true)            /* skip candidates that provably cannot win */                                 \
    X(bool, use_forest_engine, true)     /* use engines/forest.hpp where nodes sample columns */                        \
    X(int64_t, bitset_rows, 64)          /* binary targets: nodes of up to so many rows (at most 64) become bitsets */  \
    X(bool, subtract_histograms, true)   /* histogram of the larger child = parent − smaller child */                   \
    X(int64_t, subtree_cells, 1 << 20)   /* nodes of up to this many cells (the batch size of extra-trees, too) … */    \
    X(int64_t, subtree_rows, 1 << 12)    /* … or this many rows are presorted once for their whole subtree */           \
    X(int64_t, histogram_rows, 1 << 12)  /* smaller nodes are sorted instead of counted */

// clang-format on

#define TREEWISE_FIELD(type, name, initial) type name = initial;

struct Tuning {
    TREEWISE_TUNING(TREEWISE_FIELD)
};

struct Settings {
    TREEWISE_SETTINGS(TREEWISE_FIELD)
    Tuning tuning;
};

#undef TREEWISE_FIELD

}  // namespace treewise
