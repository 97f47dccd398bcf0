// For Python: stumps on a table sorted once, and what a round of boosting does to every row (forest/boosting.hpp).

#include "bind/python.hpp"
#include "forest/boosting.hpp"

namespace treewise {
namespace {

// A stump grower as Python holds it; the arrays of columns and classes are kept alive with it.
struct StumpsHeld {
    std::vector<nb::object> keep;
    std::unique_ptr<Stumps> stumps;
};

StumpsHeld make_stumps(const std::vector<ColumnArray*>& columns, const TargetArrays& target, const Settings& settings) {
    const std::vector<Column> seen = views(columns, target.target.n_rows);
    if (!Stumps::cover(seen, target.target, settings)) throw nb::value_error("not a case for stumps");
    StumpsHeld held;
    for (const ColumnArray* c : columns) held.keep.push_back(c->keep);
    held.keep.push_back(target.y);
    std::optional<std::function<void(double)>> silent;
    nb::gil_scoped_release no_python;
    held.stumps = std::make_unique<Stumps>(seen, target.target, settings, monitor(silent));
    return held;
}

template <class T>
nb::object take_over(std::unique_ptr<T[]>&& values, size_t n) {
    T* data = values.release();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {n}, owner));
}

nb::object grow_stump(const StumpsHeld& held, Array<int64_t> weight, int weight_scale, int64_t min_leaf_weight,
                      uint64_t seed) {
    const auto n = static_cast<size_t>(held.stumps->n_rows());
    if (weight.size() != n) throw nb::value_error("lengths differ");
    auto said = std::make_unique_for_overwrite<uint8_t[]>(n);
    std::optional<std::function<void(double)>> silent;
    Nodes nodes;
    {
        nb::gil_scoped_release no_python;
        nodes = held.stumps->grow(weight.data(), weight_scale, min_leaf_weight, seed, said.get(), monitor(silent));
    }
    return nb::make_tuple(to_dict(std::move(nodes)), take_over(std::move(said), n));
}

Labels labels(const nb::object& given, size_t n) {
    Labels out;
    Array<uint8_t> bytes;
    Array<int32_t> wide;
    if (nb::try_cast(given, bytes, false) && bytes.size() == n)
        out.bytes = bytes.data();
    else if (nb::try_cast(given, wide, false) && wide.size() == n)
        out.wide = wide.data();
    else
        throw nb::value_error("classes are uint8 or int32 numbers, one a row");
    return out;
}

Answers answers(const nb::object& truth, const nb::object& said, const Array<int64_t>& weight) {
    return {labels(truth, weight.size()), labels(said, weight.size()), static_cast<int64_t>(weight.size())};
}

int64_t mistakes(const nb::object& truth, const nb::object& said, Array<int64_t> weight, int n_jobs) {
    const Answers given = answers(truth, said, weight);
    nb::gil_scoped_release no_python;
    return weight_of_mistakes(given, weight.data(), n_jobs);
}

nb::object weigh(const nb::object& truth, const nb::object& said, Array<int64_t> weight, double right, double wrong,
                 int n_jobs) {
    const Answers given = answers(truth, said, weight);
    auto out = std::make_unique_for_overwrite<int64_t[]>(weight.size());
    {
        nb::gil_scoped_release no_python;
        weigh_anew(given, weight.data(), right, wrong, out.get(), n_jobs);
    }
    return take_over(std::move(out), weight.size());
}

using Scores = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

int64_t vote(const nb::object& truth, const nb::object& said, Array<int64_t> weight, double votes, Scores scores,
             int n_jobs) {
    const Answers given = answers(truth, said, weight);
    if (scores.shape(0) != weight.size()) throw nb::value_error("lengths differ");
    const auto n_classes = static_cast<int64_t>(scores.shape(1));
    for (size_t r = 0; r < weight.size(); ++r) {
        if (given.said[r] < 0 || given.said[r] >= n_classes) throw nb::value_error("class out of range");
    }
    nb::gil_scoped_release no_python;
    return cast_votes(given, votes, n_classes, weight.data(), scores.data(), n_jobs);
}

}  // namespace

void bind_boosting(nb::module_& m) {
    nb::class_<StumpsHeld>(m, "Stumps", "Grows trees of depth 1 on one table, weighed anew each time.")
        .def(
            "__init__",
            [](StumpsHeld* self, const std::vector<ColumnArray*>& columns, const TargetArrays& target,
               const Settings& settings) { new (self) StumpsHeld(make_stumps(columns, target, settings)); },
            "columns"_a, "target"_a, "settings"_a)
        .def_static(
            "cover",
            [](const std::vector<ColumnArray*>& columns, const TargetArrays& target, const Settings& settings) {
                return Stumps::cover(views(columns, target.target.n_rows), target.target, settings);
            },
            "columns"_a, "target"_a, "settings"_a, "Whether stumps of these settings can be grown so.")
        .def("grow", &grow_stump, "weight"_a, "weight_scale"_a, "min_leaf_weight"_a, "seed"_a,
             "The tree's arrays, and the class it gives each row.");
    m.def("mistakes", &mistakes, "truth"_a, "said"_a, "weight"_a, "n_jobs"_a, "The weight of the rows said wrongly.");
    m.def("weigh_anew", &weigh, "truth"_a, "said"_a, "weight"_a, "right"_a, "wrong"_a, "n_jobs"_a,
          "Weights times a factor for what was right or wrong, as whole numbers, at least 1.");
    m.def("vote", &vote, "truth"_a, "said"_a, "weight"_a, "vote"_a, "scores"_a, "n_jobs"_a,
          "Add a vote to the scores of the classes said; returns the weight of the rows whose best class is wrong.");
}

}  // namespace treewise
