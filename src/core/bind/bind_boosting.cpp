// Bindings: stumps on presorted columns, and the per-row work of AdaBoost (forest/boosting.hpp).

#include "bind/python.hpp"
#include "forest/boosting.hpp"

namespace treewise {
namespace {

// Keeps the arrays of columns and classes alive.
struct StumpGrowerHandle {
    std::vector<nb::object> keep;
    std::unique_ptr<StumpGrower> grower;
};

StumpGrowerHandle make_stumps(const std::vector<ColumnArray*>& columns, const TargetArrays& target,
                              const Settings& settings) {
    const std::vector<Column> columns_view = views(columns, target.target.n_rows);
    if (!StumpGrower::supports(columns_view, target.target, settings))
        throw nb::value_error("stumps do not support this table with these settings");
    StumpGrowerHandle handle;
    for (const ColumnArray* c : columns) handle.keep.push_back(c->keep);
    handle.keep.push_back(target.y);
    handle.grower = without_gil(
        [&] { return std::make_unique<StumpGrower>(columns_view, target.target, settings, no_progress()); });
    return handle;
}

nb::object grow_stump(const StumpGrowerHandle& handle, Array<int64_t> weight, int weight_scale, int64_t min_leaf_weight,
                      uint64_t seed) {
    const auto n = static_cast<size_t>(handle.grower->n_rows());
    if (weight.size() != n) throw nb::value_error("lengths differ");
    std::unique_ptr<uint8_t[]> predicted(new uint8_t[n]);
    Nodes nodes = without_gil([&] {
        return handle.grower->grow(weight.data(), weight_scale, min_leaf_weight, seed, predicted.get(), no_progress());
    });
    return nb::make_tuple(to_dict(std::move(nodes)), to_numpy(std::move(predicted), n));
}

Labels labels(const nb::object& predictions, size_t n) {
    Labels out;
    Array<uint8_t> bytes;
    Array<int32_t> wide;
    if (nb::try_cast(predictions, bytes, false) && bytes.size() == n)
        out.bytes = bytes.data();
    else if (nb::try_cast(predictions, wide, false) && wide.size() == n)
        out.wide = wide.data();
    else
        throw nb::value_error("classes must be uint8 or int32 numbers, one per row");
    return out;
}

Predictions make_predictions(const nb::object& truth, const nb::object& predicted, const Array<int64_t>& weight) {
    return {labels(truth, weight.size()), labels(predicted, weight.size()), static_cast<int64_t>(weight.size())};
}

int64_t error_weight_of(const nb::object& truth, const nb::object& predicted, Array<int64_t> weight, int n_jobs) {
    const Predictions predictions = make_predictions(truth, predicted, weight);
    return without_gil([&] { return error_weight(predictions, weight.data(), n_jobs); });
}

nb::object reweighted(const nb::object& truth, const nb::object& predicted, Array<int64_t> weight, double right,
                      double wrong, int n_jobs) {
    const Predictions predictions = make_predictions(truth, predicted, weight);
    std::unique_ptr<int64_t[]> out(new int64_t[weight.size()]);
    without_gil([&] { reweight(predictions, weight.data(), right, wrong, out.get(), n_jobs); });
    return to_numpy(std::move(out), weight.size());
}

using Scores = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

int64_t add_vote_to(const nb::object& truth, const nb::object& predicted, Array<int64_t> weight, double vote,
                    Scores scores, int n_jobs) {
    const Predictions predictions = make_predictions(truth, predicted, weight);
    if (scores.shape(0) != weight.size()) throw nb::value_error("lengths differ");
    const auto n_classes = static_cast<int64_t>(scores.shape(1));
    for (size_t r = 0; r < weight.size(); ++r) {
        if (predictions.predicted[r] < 0 || predictions.predicted[r] >= n_classes)
            throw nb::value_error("class out of range");
    }
    return without_gil([&] { return add_vote(predictions, vote, n_classes, weight.data(), scores.data(), n_jobs); });
}

}  // namespace

void bind_boosting(nb::module_& m) {
    nb::class_<StumpGrowerHandle>(m, "StumpGrower", "Grows trees of depth 1 on one table with changing weights.")
        .def(
            "__init__",
            [](StumpGrowerHandle* self, const std::vector<ColumnArray*>& columns, const TargetArrays& target,
               const Settings& settings) { new (self) StumpGrowerHandle(make_stumps(columns, target, settings)); },
            "columns"_a, "target"_a, "settings"_a)
        .def_static(
            "supports",
            [](const std::vector<ColumnArray*>& columns, const TargetArrays& target, const Settings& settings) {
                return StumpGrower::supports(views(columns, target.target.n_rows), target.target, settings);
            },
            "columns"_a, "target"_a, "settings"_a, "Whether this table and these settings are supported.")
        .def("grow", &grow_stump, "weight"_a, "weight_scale"_a, "min_leaf_weight"_a, "seed"_a,
             "Return the tree's arrays and the predicted class of each row.");
    m.def("error_weight", &error_weight_of, "truth"_a, "predicted"_a, "weight"_a, "n_jobs"_a,
          "Return the weight of the misclassified rows.");
    m.def("reweight", &reweighted, "truth"_a, "predicted"_a, "weight"_a, "right"_a, "wrong"_a, "n_jobs"_a,
          "Return the weights times a factor for correct and incorrect rows, as integers of at least 1.");
    m.def(
        "add_vote", &add_vote_to, "truth"_a, "predicted"_a, "weight"_a, "vote"_a, "scores"_a, "n_jobs"_a,
        "Add a vote to the scores of the predicted classes; return the weight of the rows whose best class is wrong.");
}

}  // namespace treewise
