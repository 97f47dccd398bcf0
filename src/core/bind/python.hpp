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

inline View<int64_t> view_of(const Strided<int64_t>& array) {
    return {reinterpret_cast<const std::byte*>(array.data()), array.stride(0) * int64_t{sizeof(int64_t)}};
}

// The columns of a call, which every call reads first. For prediction, columns that the tree does not use may be empty.
inline std::vector<Column> views(const std::vector<ColumnArray*>& columns, int64_t n_rows, bool may_be_empty = false) {
    prepare_to_throw();
    std::vector<Column> out;
    for (const ColumnArray* c : columns) {
        if (!c) throw nb::type_error("a column is None");
        const bool is_used = c->size > 0 || !may_be_empty;
        if (is_used && c->size != n_rows) throw nb::value_error("columns differ in length");
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

// For calls that do not report progress.
inline ProgressCallback no_progress() {
    static std::optional<std::function<void(double)>> none;
    return make_progress_callback(none);
}

// Calls work() with the GIL released.
template <class Work>
auto without_gil(const Work& work) {
    const nb::gil_scoped_release release_gil;
    return work();
}

template <class T>
nb::object to_numpy(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

// An array that need not be initialised, which a vector would be.
template <class T, class... Sizes>
nb::object to_numpy(std::unique_ptr<T[]>&& values, Sizes... shape) {
    T* data = values.release();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<sizeof...(Sizes)>>(data, {shape...}, owner));
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
void bind_counting(nb::module_& m);  // bind_counts.cpp
void bind_trees(nb::module_& m);     // bind_tree.cpp
void bind_forests(nb::module_& m);   // bind_forest.cpp
void bind_boosting(nb::module_& m);  // bind_boosting.cpp
void bind_profiles(nb::module_& m);  // bind_profile.cpp
void bind_pruning(nb::module_& m);   // bind_prune.cpp
void bind_voting(nb::module_& m);    // bind_forest_predict.cpp
void bind_optimal(nb::module_& m);   // bind_optimal.cpp

}  // namespace treewise
