// Bindings: forest prediction (ensemble/predict.py).

#include "bind/python.hpp"
#include "forest/forest_predict.hpp"

namespace treewise {
namespace {

NarrowArray narrow(const nb::object& given) {
    NarrowArray out;
    const auto is = [&]<class T>(NarrowArray::Type type, T) {
        Array<T> array;
        if (!nb::try_cast(given, array, false)) return false;
        out = {array.data(), type, array.size()};
        return true;
    };
    using enum NarrowArray::Type;
    if (!is(u8, uint8_t{}) && !is(i8, int8_t{}) && !is(u16, uint16_t{}) && !is(i16, int16_t{}) &&
        !is(u32, uint32_t{}) && !is(i32, int32_t{}) && !is(i64, int64_t{}) && !is(f32, float{}) && !is(f64, double{}))
        throw nb::type_error("an array of the packed trees is not contiguous or has an unsupported type");
    return out;
}

template <class T>
std::span<const T> span_of(const Array<T>& array) {
    return std::span(array.data(), array.size());
}

// Outputs that Python derives: one row per node, with the probability of every class, or the value.
std::vector<LeafOutput> derived_outputs(size_t n, const Array<int32_t>& label, const Array<double>& output,
                                        int64_t n_classes) {
    const auto width = static_cast<size_t>(std::max<int64_t>(1, n_classes));
    if (output.size() != n * width || (n_classes && label.size() != n)) throw nb::value_error("lengths differ");
    std::vector<LeafOutput> out(n);
    for (size_t i = 0; i < n; ++i) {
        if (n_classes) out[i].label = label(i);
        if (out[i].label < 0 || out[i].label >= std::max<int64_t>(1, n_classes))
            throw nb::value_error("class out of range");
        for (size_t c = 0; c < width; ++c) {
            if (n_classes && output(i * width + c) == 0) continue;
            out[i].classes.push_back(static_cast<int32_t>(c)), out[i].shares.push_back(output(i * width + c));
        }
    }
    return out;
}

// A compiled forest, with the packed arrays it refers to.
class ForestPredictor {
public:
    ForestPredictor(const nb::dict& members, const std::vector<int64_t>& n_levels, const std::vector<bool>& integer,
                    Array<double> votes, int64_t n_classes, Array<int64_t> derived, Array<int32_t> derived_label,
                    Array<double> derived_output, std::optional<uint32_t> max_number)
        : votes_(votes) {
        const auto handle = [&](const char* name) {
            keep_.push_back(members[name]);
            return keep_.back();
        };
        PackedForest packed;
        packed.start = span_of(nb::cast<Array<int64_t>>(handle("start"), false));
        packed.kind = span_of(nb::cast<Array<uint8_t>>(handle("kind"), false));
        packed.column = narrow(handle("column")), packed.cut = narrow(handle("cut")),
        packed.cut_int = narrow(handle("cut_int"));
        packed.missing = narrow(handle("missing")), packed.other = narrow(handle("other"));
        packed.n_codes = narrow(handle("n_codes")), packed.codes = narrow(handle("codes"));
        packed.n_counts = narrow(handle("n_counts")), packed.count_class = narrow(handle("count_class"));
        packed.count_weight = narrow(handle("count_weight")), packed.value = narrow(handle("value"));
        packed.by_node = nb::len(handle("impurity")) > 0;
        packed.n_classes = n_classes;
        packed.derived = span_of(derived);
        packed.outputs = derived_outputs(derived.size(), derived_label, derived_output, n_classes);
        if (n_levels.size() != integer.size() || votes.size() + 1 != packed.start.size())
            throw nb::value_error("lengths differ");
        for (size_t c = 0; c < n_levels.size(); ++c) column_info_.push_back({integer[c], n_levels[c]});
        without_gil([&] {
            const ProgressCallback report = no_progress();
            forest_ =
                std::make_unique<CompiledForest>(packed, column_info_, max_number.value_or(~0u), [&] { report(0.0); });
            find_used_columns(packed);
        });
    }

    size_t n_bytes() const { return forest_->n_bytes(); }
    const std::vector<int64_t>& used_columns() const { return used_columns_; }

    // Adds the predictions of trees first … last−1 to `sums`.
    void add(const std::vector<ColumnArray*>& columns, int64_t n_rows, Output output, size_t first, size_t last,
             nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> sums,
             std::optional<nb::ndarray<const uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>> mask,
             int n_jobs) const {
        const std::vector<Column> columns_view = check_columns(columns, n_rows);
        check_output(output);
        const auto width = forest_->width();
        if (first > last || last > forest_->n_trees()) throw nb::value_error("trees out of range");
        if (sums.shape(0) != static_cast<size_t>(n_rows) || sums.shape(1) != width)
            throw nb::value_error("the sums are not rows × classes");
        VoteRequest request{first, last, output, span_of(votes_), nullptr, 0};
        if (mask) {
            if (mask->shape(0) != forest_->n_trees() || mask->shape(1) != static_cast<size_t>((n_rows + 7) / 8))
                throw nb::value_error("the bits are not trees × rows");
            request.mask = mask->data(), request.mask_stride = (n_rows + 7) / 8;
        }
        without_gil([&] {
            add_votes(*forest_, columns_view, n_rows, request, n_jobs > 0 ? n_jobs : n_processors(), no_progress(),
                      sums.data());
        });
    }

    nb::object leaves(const std::vector<ColumnArray*>& columns, int64_t n_rows, int n_jobs) const {
        const std::vector<Column> columns_view = check_columns(columns, n_rows);
        const size_t n_trees = forest_->n_trees();
        std::unique_ptr<int32_t[]> result(new int32_t[static_cast<size_t>(n_rows) * n_trees]);
        without_gil([&] {
            find_forest_leaves(*forest_, columns_view, n_rows, n_jobs > 0 ? n_jobs : n_processors(), no_progress(),
                               result.get());
        });
        return to_numpy(std::move(result), static_cast<size_t>(n_rows), n_trees);
    }

    // One row: its cells in the order of `used_columns`, floats and integers (or codes) in separate lists.
    std::vector<double> predict_row(const std::vector<double>& numbers, const std::vector<int64_t>& integers,
                                    Output output) const {
        check_output(output);
        std::vector<int32_t> codes(integers.begin(), integers.end());
        std::vector<Column> columns(column_info_.size());
        size_t n = 0, i = 0;
        for (int64_t column : used_columns_) {
            const ColumnInfo kind = column_info_[static_cast<size_t>(column)];
            Column& c = columns[static_cast<size_t>(column)];
            const bool number = kind.n_levels < 0 && !kind.integer;
            if (number ? n >= numbers.size() : i >= integers.size()) throw nb::value_error("too few cells");
            if (number) {
                c.type = ValueType::f64, c.data = &numbers[n++];
            } else if (kind.integer) {
                c.type = ValueType::i64, c.data = &integers[i++];
            } else {
                if (integers[i] >= kind.n_levels || integers[i] < kUnseen) throw nb::value_error("code out of range");
                c.type = ValueType::code, c.data = &codes[i++], c.n_levels = kind.n_levels;
            }
        }
        std::vector<double> sums(forest_->width());
        add_votes(
            *forest_, columns, 1, {0, forest_->n_trees(), output, span_of(votes_), nullptr, 0}, 1, [](double) {},
            sums.data());
        return sums;
    }

    // (tree, node) of the first test on a row's paths that uses one of these columns, or None.
    nb::object first_test_on_columns(const std::vector<ColumnArray*>& columns,
                                     const std::vector<int64_t>& which) const {
        const std::vector<Column> columns_view = check_columns(columns, 1);
        std::vector<bool> marked(columns_view.size());
        for (int64_t c : which) marked.at(static_cast<size_t>(c)) = true;
        const TreeNodeId place = first_test_on(*forest_, columns_view, 0, marked);
        if (place.tree < 0) return nb::none();
        return nb::make_tuple(place.tree, place.node);
    }

private:
    void find_used_columns(const PackedForest& packed) {
        std::vector<bool> is_used(column_info_.size());
        for (size_t i = 0; i < packed.column.size; ++i) is_used[packed.column.get<size_t>(i)] = true;
        for (size_t c = 0; c < is_used.size(); ++c)
            if (is_used[c]) used_columns_.push_back(static_cast<int64_t>(c));
    }
    void check_output(Output output) const {
        if ((output == Output::values) != (forest_->n_classes() == 0))
            throw nb::value_error("votes and probabilities need classes, values need numbers");
    }
    std::vector<Column> check_columns(const std::vector<ColumnArray*>& columns, int64_t n_rows) const {
        std::vector<Column> columns_view = views(columns, n_rows, true);
        if (columns_view.size() != column_info_.size()) throw nb::value_error("wrong number of columns");
        for (int64_t used : used_columns_) {
            const auto c = static_cast<size_t>(used);
            const ColumnInfo kind = column_info_[c];
            if (n_rows > 0 && columns[c]->size == 0) throw nb::value_error("a column is missing");
            if (columns_view[c].is_code() != (kind.n_levels >= 0) ||
                (columns_view[c].type == ValueType::i64) != kind.integer ||
                (columns_view[c].is_code() && columns_view[c].n_levels > kind.n_levels))
                throw nb::type_error("a column has the wrong type");
        }
        return columns_view;
    }

    Array<double> votes_;
    std::vector<nb::object> keep_;
    std::vector<ColumnInfo> column_info_;
    std::vector<int64_t> used_columns_;
    std::unique_ptr<CompiledForest> forest_;
};

}  // namespace

void bind_voting(nb::module_& m) {
    nb::enum_<Output>(m, "Output", "What is summed over the trees.")
        .value("probabilities", Output::probabilities)
        .value("votes", Output::votes)
        .value("values", Output::values);
    nb::class_<ForestPredictor>(m, "CompiledForest", "A forest compiled for prediction.")
        .def(nb::init<const nb::dict&, const std::vector<int64_t>&, const std::vector<bool>&, Array<double>, int64_t,
                      Array<int64_t>, Array<int32_t>, Array<double>, std::optional<uint32_t>>(),
             "members"_a, "n_levels"_a, "integer"_a, "votes"_a, "n_classes"_a, "derived"_a, "derived_label"_a,
             "derived_outputs"_a, "max_number"_a = nb::none())
        .def_prop_ro("nbytes", &ForestPredictor::n_bytes)
        .def_prop_ro("used_columns", &ForestPredictor::used_columns)
        .def("add", &ForestPredictor::add, "columns"_a, "n_rows"_a, "output"_a, "first"_a, "last"_a, "sums"_a,
             "mask"_a = nb::none(), "n_jobs"_a = 0, "Add the predictions of some trees to the sums (rows × classes).")
        .def("leaves", &ForestPredictor::leaves, "columns"_a, "n_rows"_a, "n_jobs"_a = 0,
             "Return the leaf of each row in each tree.")
        .def("predict_row", &ForestPredictor::predict_row, "numbers"_a, "integers"_a, "output"_a,
             "Return the summed predictions of all trees for one row.")
        .def("first_test_on", &ForestPredictor::first_test_on_columns, "columns"_a, "which"_a,
             "Return (tree, node) of the first test on a single row's paths that uses one of these columns, or None.");
}

}  // namespace treewise
