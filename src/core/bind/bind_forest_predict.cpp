// For Python: many trees as a program (treewise/ensemble/predict.py), and rows that go down all of them.

#include "bind/python.hpp"
#include "forest/forest_predict.hpp"

namespace treewise {
namespace {

Narrow narrow(const nb::object& given) {
    Narrow out;
    const auto is = [&]<class T>(Narrow::Type type, T) {
        Array<T> array;
        if (!nb::try_cast(given, array, false)) return false;
        out = {array.data(), type, array.size()};
        return true;
    };
    using enum Narrow::Type;
    if (!is(u8, uint8_t{}) && !is(i8, int8_t{}) && !is(u16, uint16_t{}) && !is(i16, int16_t{}) &&
        !is(u32, uint32_t{}) && !is(i32, int32_t{}) && !is(i64, int64_t{}) && !is(f32, float{}) && !is(f64, double{}))
        throw nb::type_error("a member's array is not contiguous, or of a type that members do not have");
    return out;
}

template <class T>
std::span<const T> view(const Array<T>& array) {
    return std::span(array.data(), array.size());
}

// The answers of some nodes as Python derives them: one row a node, with the share of every class, or the value.
std::vector<Answer> derived_answers(size_t n, const Array<int32_t>& label, const Array<double>& said,
                                    int64_t n_classes) {
    const auto width = static_cast<size_t>(std::max<int64_t>(1, n_classes));
    if (said.size() != n * width || (n_classes && label.size() != n)) throw nb::value_error("lengths differ");
    std::vector<Answer> out(n);
    for (size_t i = 0; i < n; ++i) {
        if (n_classes) out[i].label = label(i);
        if (out[i].label < 0 || out[i].label >= std::max<int64_t>(1, n_classes))
            throw nb::value_error("class out of range");
        for (size_t c = 0; c < width; ++c) {
            if (n_classes && said(i * width + c) == 0) continue;
            out[i].classes.push_back(static_cast<int32_t>(c)), out[i].shares.push_back(said(i * width + c));
        }
    }
    return out;
}

// A program, with the arrays of the members it looks at, and all that a single row needs.
class Voter {
public:
    Voter(const nb::dict& members, const std::vector<int64_t>& n_levels, const std::vector<bool>& integer,
          Array<double> votes, int64_t n_classes, Array<int64_t> derived, Array<int32_t> derived_label,
          Array<double> derived_said, std::optional<uint32_t> most)
        : votes_(votes) {
        const auto held = [&](const char* name) {
            keep_.push_back(members[name]);
            return keep_.back();
        };
        Packed in;
        in.start = view(nb::cast<Array<int64_t>>(held("start"), false));
        in.kind = view(nb::cast<Array<uint8_t>>(held("kind"), false));
        in.column = narrow(held("column")), in.cut = narrow(held("cut")), in.cut_int = narrow(held("cut_int"));
        in.missing = narrow(held("missing")), in.other = narrow(held("other"));
        in.n_codes = narrow(held("n_codes")), in.codes = narrow(held("codes"));
        in.n_counts = narrow(held("n_counts")), in.count_class = narrow(held("count_class"));
        in.count_weight = narrow(held("count_weight")), in.value = narrow(held("value"));
        in.by_node = nb::len(held("impurity")) > 0;
        in.n_classes = n_classes;
        in.derived = view(derived);
        in.answers = derived_answers(derived.size(), derived_label, derived_said, n_classes);
        if (n_levels.size() != integer.size() || votes.size() + 1 != in.start.size())
            throw nb::value_error("lengths differ");
        for (size_t c = 0; c < n_levels.size(); ++c) kinds_.push_back({integer[c], n_levels[c]});
        std::optional<std::function<void(double)>> silent;
        const Monitor look = monitor(silent);
        nb::gil_scoped_release no_python;
        program_ = std::make_unique<Program>(in, kinds_, most.value_or(~0u), [&] { look(0.0); });
        find_asked(in);
    }

    size_t n_bytes() const { return program_->n_bytes(); }
    const std::vector<int64_t>& asked() const { return asked_; }

    // Adds to `sums` what the trees first … last−1 say.
    void add(const std::vector<ColumnArray*>& columns, int64_t n_rows, Said said, size_t first, size_t last,
             nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> sums,
             std::optional<nb::ndarray<const uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>> counted,
             int n_jobs) const {
        const std::vector<Column> seen = check_columns(columns, n_rows);
        check_said(said);
        const auto width = program_->width();
        if (first > last || last > program_->n_trees()) throw nb::value_error("trees out of range");
        if (sums.shape(0) != static_cast<size_t>(n_rows) || sums.shape(1) != width)
            throw nb::value_error("the sums are not rows × classes");
        Ballot ballot{first, last, said, view(votes_), nullptr, 0};
        if (counted) {
            if (counted->shape(0) != program_->n_trees() || counted->shape(1) != static_cast<size_t>((n_rows + 7) / 8))
                throw nb::value_error("the bits are not trees × rows");
            ballot.counted = counted->data(), ballot.bytes_a_tree = (n_rows + 7) / 8;
        }
        std::optional<std::function<void(double)>> silent;
        nb::gil_scoped_release no_python;
        add_votes(*program_, seen, n_rows, ballot, n_jobs > 0 ? n_jobs : workers(), monitor(silent), sums.data());
    }

    nb::object ends(const std::vector<ColumnArray*>& columns, int64_t n_rows, int n_jobs) const {
        const std::vector<Column> seen = check_columns(columns, n_rows);
        const size_t n_trees = program_->n_trees();
        auto found = std::make_unique_for_overwrite<int32_t[]>(static_cast<size_t>(n_rows) * n_trees);
        std::optional<std::function<void(double)>> silent;
        {
            nb::gil_scoped_release no_python;
            find_ends(*program_, seen, n_rows, n_jobs > 0 ? n_jobs : workers(), monitor(silent), found.get());
        }
        int32_t* nodes = found.release();
        nb::capsule owner(nodes, [](void* p) noexcept { delete[] static_cast<int32_t*>(p); });
        return nb::cast(
            nb::ndarray<nb::numpy, int32_t, nb::ndim<2>>(nodes, {static_cast<size_t>(n_rows), n_trees}, owner));
    }

    // One row: its cells in the order of `asked`, numbers by themselves, whole numbers and codes by themselves.
    std::vector<double> row(const std::vector<double>& numbers, const std::vector<int64_t>& integers, Said said) const {
        check_said(said);
        std::vector<int32_t> codes(integers.begin(), integers.end());
        std::vector<Column> columns(kinds_.size());
        size_t n = 0, i = 0;
        for (int64_t column : asked_) {
            const ColumnKind kind = kinds_[static_cast<size_t>(column)];
            Column& c = columns[static_cast<size_t>(column)];
            const bool number = kind.n_levels < 0 && !kind.integer;
            if (number ? n >= numbers.size() : i >= integers.size()) throw nb::value_error("cells are lacking");
            if (number) {
                c.type = ValueType::f64, c.data = &numbers[n++];
            } else if (kind.integer) {
                c.type = ValueType::i64, c.data = &integers[i++];
            } else {
                if (integers[i] >= kind.n_levels || integers[i] < kUnseen) throw nb::value_error("code out of range");
                c.type = ValueType::code, c.data = &codes[i++], c.n_levels = kind.n_levels;
            }
        }
        std::vector<double> sums(program_->width());
        add_votes(
            *program_, columns, 1, {0, program_->n_trees(), said, view(votes_), nullptr, 0}, 1, [](double) {},
            sums.data());
        return sums;
    }

    // (tree, node) of the first test on a row's paths that asks for one of these columns; None if none does.
    nb::object first_asking_for(const std::vector<ColumnArray*>& columns, const std::vector<int64_t>& which) const {
        const std::vector<Column> seen = check_columns(columns, 1);
        std::vector<bool> marked(seen.size());
        for (int64_t c : which) marked.at(static_cast<size_t>(c)) = true;
        const Place place = first_asking(*program_, seen, 0, marked);
        if (place.tree < 0) return nb::none();
        return nb::make_tuple(place.tree, place.node);
    }

private:
    void find_asked(const Packed& in) {
        std::vector<bool> seen(kinds_.size());
        for (size_t i = 0; i < in.column.size; ++i) seen[in.column.get<size_t>(i)] = true;
        for (size_t c = 0; c < seen.size(); ++c)
            if (seen[c]) asked_.push_back(static_cast<int64_t>(c));
    }
    void check_said(Said said) const {
        if ((said == Said::values) != (program_->n_classes() == 0))
            throw nb::value_error("the trees say something else");
    }
    std::vector<Column> check_columns(const std::vector<ColumnArray*>& columns, int64_t n_rows) const {
        std::vector<Column> seen = views(columns, n_rows, true);
        if (seen.size() != kinds_.size()) throw nb::value_error("another number of columns");
        for (int64_t asked : asked_) {
            const auto c = static_cast<size_t>(asked);
            const ColumnKind kind = kinds_[c];
            if (n_rows > 0 && columns[c]->size == 0) throw nb::value_error("a column is lacking");
            if (seen[c].is_code() != (kind.n_levels >= 0) || (seen[c].type == ValueType::i64) != kind.integer ||
                (seen[c].is_code() && seen[c].n_levels > kind.n_levels))
                throw nb::type_error("a column is of another type");
        }
        return seen;
    }

    Array<double> votes_;
    std::vector<nb::object> keep_;
    std::vector<ColumnKind> kinds_;
    std::vector<int64_t> asked_;
    std::unique_ptr<Program> program_;
};

}  // namespace

void bind_voting(nb::module_& m) {
    nb::enum_<Said>(m, "Said", "What trees say that is added up.")
        .value("shares", Said::shares)
        .value("votes", Said::votes)
        .value("values", Said::values);
    nb::class_<Voter>(m, "Voter", "Many trees made ready to predict.")
        .def(nb::init<const nb::dict&, const std::vector<int64_t>&, const std::vector<bool>&, Array<double>, int64_t,
                      Array<int64_t>, Array<int32_t>, Array<double>, std::optional<uint32_t>>(),
             "members"_a, "n_levels"_a, "integer"_a, "votes"_a, "n_classes"_a, "derived"_a, "derived_label"_a,
             "derived_said"_a, "most"_a = nb::none())
        .def_prop_ro("nbytes", &Voter::n_bytes)
        .def_prop_ro("asked", &Voter::asked)
        .def("add", &Voter::add, "columns"_a, "n_rows"_a, "said"_a, "first"_a, "last"_a, "sums"_a,
             "counted"_a = nb::none(), "n_jobs"_a = 0,
             "Add to the sums, rows × classes, what some trees say of each row.")
        .def("ends", &Voter::ends, "columns"_a, "n_rows"_a, "n_jobs"_a = 0,
             "The node at which each row ends in each tree.")
        .def("row", &Voter::row, "numbers"_a, "integers"_a, "said"_a, "What all trees say of one row, added up.")
        .def("first_asking", &Voter::first_asking_for, "columns"_a, "which"_a,
             "The (tree, node) of the first test that asks a single row for one of these columns, or None.");
}

}  // namespace treewise
