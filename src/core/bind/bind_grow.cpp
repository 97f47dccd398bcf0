// Bindings: columns, target and settings; growing a tree.
//
// nanobind checks types, dimensions and contiguity; shapes that must agree are checked below. Columns are used in
// place, whatever their stride.

#include "bind/python.hpp"
#include "grow/grow.hpp"
#include "tree/predict.hpp"

namespace treewise {
namespace {

// Views the array in place if it has this type.
template <class T>
bool view_as(ColumnArray& c, ValueType type) {
    Strided<T> array;
    if (!nb::try_cast(c.keep, array, false)) return false;
    c.column.data = array.data();
    c.column.type = type;
    c.column.stride = array.stride(0) * static_cast<int64_t>(sizeof(T));
    c.size = static_cast<int64_t>(array.size());
    return true;
}

void check_codes(const ColumnArray& c) {
    const auto codes = c.column.view<int32_t>();
    bool any_invalid = false;  // no early exit: the loop vectorises
    for (int64_t r = 0; r < c.size; ++r) any_invalid |= codes[r] >= c.column.n_levels || codes[r] < kUnseen;
    if (any_invalid) throw nb::value_error("code out of range");
}

ColumnArray make_column(nb::object array, int64_t n_levels, const std::vector<int>& kinds, bool ordered) {
    ColumnArray c;
    c.keep = array;
    c.column.n_levels = n_levels;
    c.column.ordered = ordered;
    for (int k : kinds) c.column.kinds.push_back(static_cast<SplitKind>(k));
    if (!view_as<float>(c, ValueType::f32) && !view_as<double>(c, ValueType::f64) &&
        !view_as<int64_t>(c, ValueType::i64) && !view_as<int32_t>(c, ValueType::code))
        throw nb::type_error("a column must be a one-dimensional float32, float64, int64 or int32 array");
    if (c.column.is_code()) check_codes(c);
    return c;
}

// Views the array if it has this type and returns its length; −1 otherwise.
template <class T>
int64_t take(const nb::object& given, const T*& data) {
    Array<T> array;
    if (!nb::try_cast(given, array, false)) return -1;
    data = array.data();
    return static_cast<int64_t>(array.size());
}

TargetArrays make_target(nb::object y, Array<double> raw, Strided<int64_t> weight, int64_t n_classes, int scale,
                         int weight_scale, std::optional<int> max_exponent) {
    Target t;
    t.n_rows = n_classes == 0 ? take(y, t.y) : n_classes > 256 ? take(y, t.label.wide) : take(y, t.label.bytes);
    if (t.n_rows < 0) throw nb::type_error("y must be int64 numbers, or class numbers: uint8 up to 256, else int32");
    if (static_cast<int64_t>(weight.size()) != t.n_rows ||
        (n_classes == 0 && static_cast<int64_t>(raw.size()) != t.n_rows))
        throw nb::value_error("lengths differ");
    for (int64_t r = 0; n_classes && r < t.n_rows; ++r) {
        const int32_t label = t.label[static_cast<size_t>(r)];
        if (label < 0 || label >= n_classes) throw nb::value_error("class out of range");
    }
    t.raw = raw.data();
    t.weight = view_of(weight);
    t.n_classes = n_classes, t.scale = scale, t.weight_scale = weight_scale,
    t.max_exponent = max_exponent.value_or(kNothingRounded);
    return {y, raw, weight, t};
}

// (low, high) of each column, in the type of its thresholds; None if there are none.
nb::list to_list(const std::vector<Quartiles>& quartiles, const std::vector<Column>& columns) {
    nb::list out;
    for (size_t c = 0; c < columns.size(); ++c) {
        const auto [low, high] = quartiles[c];
        if (low == kMissingKey)
            out.append(nb::none());
        else if (columns[c].is_number())
            out.append(nb::make_tuple(key_to_double(low), key_to_double(high)));
        else
            out.append(nb::make_tuple(key_to_int(low), key_to_int(high)));
    }
    return out;
}

nb::object quartiles(const std::vector<ColumnArray*>& columns, Strided<int64_t> weight) {
    const auto n_rows = static_cast<int64_t>(weight.size());
    const std::vector<Column> columns_view = views(columns, n_rows);
    const View<int64_t> weights = view_of(weight);
    const std::vector<Quartiles> result = without_gil([&] {
        bool unit = true;
        for (int64_t r = 0; r < n_rows; ++r) unit = unit && weights[static_cast<size_t>(r)] == 1;
        const ProgressCallback report = no_progress();
        ThreadPool pool(n_processors());
        return find_quartiles(columns_view, weights, n_rows, unit, pool, [&] { report(1.0); });
    });
    return to_list(result, columns_view);
}

nb::dict grow_tree(const std::vector<ColumnArray*>& columns, const TargetArrays& target, const Settings& settings,
                   std::optional<std::function<void(double)>> progress) {
    const std::vector<Column> columns_view = views(columns, target.target.n_rows);
    Nodes nodes =
        without_gil([&] { return grow(columns_view, target.target, settings, make_progress_callback(progress)); });
    const nb::list quartiles = settings.quartiles ? to_list(nodes.quartiles, columns_view) : nb::list();
    nb::dict out = to_dict(std::move(nodes));
    if (settings.quartiles) out["quartiles"] = quartiles;
    return out;
}

// A field as an attribute; an enum by the name of its value.
template <class Class, class T>
void define_attribute(nb::class_<Class>& defined, const char* name, T Class::* field) {
    if constexpr (std::is_enum_v<T>)
        defined.def_prop_rw(
            name, [field](const Class& self) { return to_name(self.*field); },
            [field](Class& self, const std::string& value) { self.*field = from_name<T>(value); });
    else
        defined.def_rw(name, field);
}

}  // namespace

#define TREEWISE_TUNING_ATTRIBUTE(type, name, initial) define_attribute(tuning, #name, &Tuning::name);
#define TREEWISE_SETTINGS_ATTRIBUTE(type, name, initial) define_attribute(settings, #name, &Settings::name);
#define TREEWISE_PUT(type, name, ...) out[#name] = to_numpy(std::move(nodes.name));
#define TREEWISE_NUMBER(enumerator, number, name) numbers[name] = number;

nb::dict to_dict(Nodes&& nodes) {
    nb::dict out;
    TREEWISE_NODE_ARRAYS(TREEWISE_PUT)
    if (!nodes.p_value.empty()) out["p_value"] = to_numpy(std::move(nodes.p_value));
    return out;
}

void bind_growing(nb::module_& m) {
    nb::class_<ColumnArray>(m, "Column", "An encoded column and its allowed split kinds.")
        .def(
            "__init__",
            [](ColumnArray* self, nb::object array, int64_t n_levels, const std::vector<int>& kinds, bool ordered) {
                new (self) ColumnArray(make_column(array, n_levels, kinds, ordered));
            },
            "array"_a, "n_levels"_a = 0, "kinds"_a = std::vector<int>{}, "ordered"_a = false)
        .def(
            "constrain",
            [](ColumnArray& self, int monotone, uint64_t groups, double feature_cost, uint64_t feature_cost_bit) {
                self.column.monotone = monotone, self.column.interaction_groups = groups;
                self.column.feature_cost = feature_cost, self.column.feature_cost_bit = feature_cost_bit;
            },
            "monotone"_a, "groups"_a, "feature_cost"_a, "feature_cost_bit"_a,
            "Set the constraints (train/constraints.py).");

    nb::class_<Tuning> tuning(m, "Tuning", "Performance knobs for tests; they never change the tree.");
    tuning.def(nb::init<>());
    TREEWISE_TUNING(TREEWISE_TUNING_ATTRIBUTE)

    nb::class_<Settings> settings(m, "Settings", "Training settings; filled by train/grow.py.");
    settings.def(nb::init<>()).def_rw("tuning", &Settings::tuning);
    TREEWISE_SETTINGS(TREEWISE_SETTINGS_ATTRIBUTE)

    nb::class_<TargetArrays>(m, "Target", "Classes or scaled targets, and the weights of the rows.")
        .def(
            "__init__",
            [](TargetArrays* self, nb::object y, Array<double> raw, Strided<int64_t> weight, int64_t n_classes,
               int scale, int weight_scale, std::optional<int> max_exponent) {
                new (self) TargetArrays(make_target(y, raw, weight, n_classes, scale, weight_scale, max_exponent));
            },
            "y"_a, "raw"_a, "weight"_a, "n_classes"_a, "scale"_a, "weight_scale"_a, "max_exponent"_a = nb::none());

    m.def("grow", &grow_tree, "columns"_a, "target"_a, "settings"_a, "progress"_a = nb::none(),
          "Grow a tree; return its nodes as flat arrays, and the quartiles of the columns if requested.");
    const auto numbers_of = [](const auto& fill) {
        nb::dict numbers;
        fill(numbers);
        return numbers;
    };
    m.attr("SPLIT_KINDS") = numbers_of([](nb::dict& numbers) { TREEWISE_SPLIT_KINDS(TREEWISE_NUMBER) });
    m.attr("STOP_REASONS") = numbers_of([](nb::dict& numbers) { TREEWISE_STOP_REASONS(TREEWISE_NUMBER) });
    m.def("quartiles", &quartiles, "columns"_a, "weight"_a,
          "Return the lower and upper quartile of each numeric column; None for others and for all-missing columns.");
}

}  // namespace treewise
