// Shared by the bindings: arrays in and out, progress and Ctrl-C.
//
// Input arrays are used in place, never copied, and kept alive while the core works with the GIL released.

#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <memory>
#include <thread>

#include "problem/problem.hpp"
#include "util/thread_pool.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace treewise {

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A column with its array, which is kept alive.
struct ColumnArray {
    Column column;
    nb::object keep;
    int64_t size = 0;
};

template <class T>
using Strided = nb::ndarray<const T, nb::ndim<1>, nb::device::cpu>;

// The columns of a call, which every call reads first; for prediction, unused ones may be empty.
inline std::vector<Column> views(const std::vector<ColumnArray*>& columns, int64_t n_rows, bool may_lack = false) {
    prepare_to_throw();
    std::vector<Column> out;
    for (const ColumnArray* c : columns) {
        if (!c) throw nb::type_error("a column is None");
        const bool asked = c->size > 0 || !may_lack;
        if (asked && c->size != n_rows) throw nb::value_error("columns differ in length");
        out.push_back(c->column);
    }
    return out;
}

// Checks for Ctrl-C and reports progress, at most every 50 ms.
inline ProgressCallback make_progress_callback(std::optional<std::function<void(double)>>& progress) {
    auto last = std::make_shared<std::chrono::steady_clock::time_point>(std::chrono::steady_clock::now());
    return [last, &progress](double done) {
        const auto now = std::chrono::steady_clock::now();
        if (now - *last < std::chrono::milliseconds(50)) return;
        *last = now;
        nb::gil_scoped_acquire python;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (progress) (*progress)(done);
    };
}

template <class T>
nb::object to_numpy(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

// The target with its arrays, which are kept alive.
struct TargetArrays {
    nb::object y;
    Array<double> raw;
    Strided<int64_t> weight;
    Target target;
};

inline int n_processors() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

struct Nodes;
nb::dict to_dict(Nodes&& nodes);  // named as in tree/arrays.py

void bind_growing(nb::module_& m);   // bind_grow.cpp
void bind_trees(nb::module_& m);     // bind_tree.cpp
void bind_forests(nb::module_& m);   // bind_forest.cpp
void bind_boosting(nb::module_& m);  // bind_boosting.cpp
void bind_pruning(nb::module_& m);   // bind_prune.cpp
void bind_voting(nb::module_& m);    // bind_forest_predict.cpp

}  // namespace treewise
