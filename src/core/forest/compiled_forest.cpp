// Compiles packed trees in one pass over all nodes, from the last to the first.

#include "forest/compiled_forest.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace treewise {
namespace {

void require(bool sound, const char* what) {
    if (!sound) throw std::invalid_argument(what);
}

// Open-addressing hash table from outputs to their indices.
class OutputIndex {
public:
    // same(n): whether output n is the one looked for. Returns the slot with its index, or the slot to fill.
    template <class Same>
    uint32_t& find(uint64_t hash, uint32_t n_known, const Same& same) {
        if (2 * (n_known + size_t{1}) > table_.size()) grow();
        size_t at = hash & (table_.size() - 1);
        while (table_[at].second != kNone && !(table_[at].first == hash && same(table_[at].second)))
            at = (at + 1) & (table_.size() - 1);
        table_[at].first = hash;
        return table_[at].second;
    }
    static constexpr uint32_t kNone = ~0u;

private:
    void grow() {
        std::vector<std::pair<uint64_t, uint32_t>> old(std::max<size_t>(64, 2 * table_.size()), {0, kNone});
        old.swap(table_);
        for (const auto& [hash, number] : old) {
            if (number == kNone) continue;
            size_t at = hash & (table_.size() - 1);
            while (table_[at].second != kNone) at = (at + 1) & (table_.size() - 1);
            table_[at] = {hash, number};
        }
    }
    std::vector<std::pair<uint64_t, uint32_t>> table_;
};

uint64_t mixed(uint64_t hash, uint64_t more) {
    hash = (hash ^ more) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 29);
}

}  // namespace

// Visits nodes in reverse, so that a node's children are on top of the stack, the first uppermost.
class CompiledForest::Compiler {
public:
    Compiler(CompiledForest& forest, const std::vector<ColumnInfo>& column_info, const CheckInterrupt& check_interrupt)
        : forest_(forest), packed_(forest.packed_), column_info_(column_info), check_interrupt_(check_interrupt) {
        const size_t n_trees = packed_.start.size() - 1;
        check_lengths();
        choose_cells();
        forest_.slots_.resize(packed_.kind.size());
        forest_.code_start_.push_back(0), forest_.child_start_.push_back(0);
        pure_.assign(static_cast<size_t>(packed_.n_classes), OutputIndex::kNone);
        if (forest_.is_sparse()) forest_.share_start_.push_back(0);
        inner_ = packed_.column.size, leaf_ = packed_.kind.size() - inner_, derived_ = packed_.derived.size();
        code_ = packed_.codes.size, count_ = packed_.count_class.size;
        for (size_t t = n_trees; t-- > 0; check_interrupt_()) write_tree(packed_.start[t], packed_.start[t + 1]);
        std::reverse(forest_.stay_node_.begin(), forest_.stay_node_.end());
        std::reverse(forest_.stay_output_.begin(), forest_.stay_output_.end());
        require(code_ == 0 && count_ == 0 && derived_ == 0, "the members' lists have more entries than they name");
    }

private:
    void check_lengths() {
        const size_t n = packed_.kind.size();
        require(
            packed_.start.size() > 1 && packed_.start.front() == 0 && packed_.start.back() == static_cast<int64_t>(n),
            "the members' nodes do not begin and end where they should");
        const auto leaf = [](uint8_t kind) { return kind == kLeaf; };
        const auto leaves = static_cast<size_t>(std::count_if(packed_.kind.begin(), packed_.kind.end(), leaf));
        const auto inner = [&](const NarrowArray& a, bool may_lack) {
            return a.size == n - leaves || (may_lack && !a.size);
        };
        require(inner(packed_.column, false) && inner(packed_.cut, false) && inner(packed_.missing, false) &&
                    inner(packed_.cut_int, true) && inner(packed_.other, true) && inner(packed_.n_codes, true),
                "the members' arrays differ in length");
        require(packed_.n_classes
                    ? packed_.n_counts.size == leaves && packed_.count_class.size == packed_.count_weight.size
                    : packed_.value.size == (packed_.by_node ? n : leaves),
                "the members' outputs differ in length");
        require(packed_.outputs.size() == packed_.derived.size(), "the derived outputs differ in length");
    }

    // Finds the columns with compact tests and whether their thresholds are floats; marks inner nodes.
    void choose_cells() {
        std::vector<uint8_t> is_used(column_info_.size()), has_double_cut(column_info_.size());
        forest_.inner_.assign(packed_.kind.size() / 64 + 1, 0);
        size_t inner = 0;
        for (size_t node = 0; node < packed_.kind.size(); ++node) {
            if (node % kRowsBetweenChecks == 0) check_interrupt_();
            if (node % 64 == 0) forest_.inner_before_.push_back(static_cast<uint32_t>(inner));
            if (packed_.kind[node] == kLeaf) continue;
            forest_.inner_[node / 64] |= uint64_t{1} << (node % 64);
            const auto column = packed_.column.get<int64_t>(inner);
            require(column >= 0 && column < static_cast<int64_t>(column_info_.size()), "a column out of range");
            const auto c = static_cast<size_t>(column);
            if (is_compact(packed_.kind[node], column_info_[c], inner)) {
                is_used[c] = 1;
                if (column_info_[c].n_levels < 0 && !column_info_[c].integer) {
                    const auto cut = packed_.cut.get<double>(inner);
                    has_double_cut[c] |= static_cast<float>(cut) != cut;
                }
            }
            ++inner;
        }
        cell_of_.resize(column_info_.size());
        for (size_t c = 0; c < column_info_.size(); ++c) {
            cell_of_[c] = static_cast<uint32_t>(forest_.cell_columns_.size());
            if (is_used[c]) forest_.cell_columns_.push_back({c, column_info_[c], !has_double_cut[c]});
        }
        const size_t n_cells = std::max<size_t>(1, forest_.cell_columns_.size());
        forest_.shift_ = 2 + static_cast<uint32_t>(std::bit_width(n_cells - 1));
    }

    // Whether a test has two branches, one of them for missing values, and fits 32 bits.
    bool is_compact(uint8_t kind, ColumnInfo column, size_t inner) const {
        const auto missing = packed_.missing.get<int64_t>(inner);
        if (missing < 0 || missing > 1 || kind == kMultiway) return false;
        return kind == kThreshold ? column.n_levels < 0 : column.n_levels <= kMaxMaskLevels;
    }

    void write_tree(int64_t begin, int64_t end) {
        require(begin < end && end - begin < int64_t{1} << 32, "a tree without nodes, or with too many");
        stack_.clear();
        for (int64_t node = end; node-- > begin;) {
            const auto at = static_cast<uint32_t>(node - begin);
            if (packed_.kind[node] == kLeaf) {
                --leaf_;
                put_stop(node, output_of_leaf(node), false);
            } else {
                --inner_;
                write_test(node, at);
            }
            stack_.push_back(at);
        }
        require(stack_.size() == 1, "the members are not trees");
    }

    void write_test(int64_t node, uint32_t at) {
        const uint8_t kind = packed_.kind[node];
        const auto column = packed_.column.get<size_t>(inner_);
        const auto missing = packed_.missing.get<int64_t>(inner_), other = packed_.other.get_or<int64_t>(inner_, -1);
        const auto n_codes = packed_.n_codes.get_or<size_t>(inner_, 0);
        require(kind <= kMultiway && (kind == kThreshold) == (column_info_[column].n_levels < 0),
                "a test of another kind");
        require(n_codes <= code_ && (kind == kThreshold || kind >= kSubset || n_codes == 1),
                "a test of too few levels");
        const int64_t own = kind == kMultiway ? static_cast<int64_t>(n_codes) + (other >= 0) : 2;
        const auto branches = static_cast<size_t>(std::max(own, missing + 1));
        require(missing >= -1 && other >= -1 && other < static_cast<int64_t>(branches) && branches <= stack_.size(),
                "the members are not trees");
        code_ -= n_codes;
        const uint32_t second_offset = branches > 1 ? stack_[stack_.size() - 2] - at - 1 : 0;
        if (is_compact(kind, column_info_[column], inner_) && branches == 2 &&
            second_offset < 1u << (31 - forest_.shift_)) {
            const bool by_level = kind != kThreshold, first = missing == 0;
            forest_.has_levels_ |= by_level;
            forest_.slots_[node] = {by_level ? level_mask(kind, column, n_codes, first) : threshold_key(column),
                                    second_offset << forest_.shift_ | uint32_t{by_level} << (forest_.shift_ - 1) |
                                        uint32_t{first} << (forest_.shift_ - 2) | cell_of_[column]};
        } else {
            write_general_test(node, kind, n_codes, branches);
        }
        if (missing < 0 || (kind == kMultiway && other < 0)) {
            require(derived_ > 0 && packed_.derived[derived_ - 1] == node, "a node without an output");
            forest_.stay_node_.push_back(node), forest_.stay_output_.push_back(intern(packed_.outputs[--derived_]));
        }
        stack_.resize(stack_.size() - branches);
    }

    uint32_t threshold_key(size_t column) const {
        return float_cell(column_info_[column].integer ? rounded_down(packed_.cut_int.get_or<int64_t>(inner_, 0))
                                                       : rounded_down(packed_.cut.get<double>(inner_)));
    }

    // Bit mask of the levels in the first branch. In an ordinal test an unseen level follows the missing values.
    uint32_t level_mask(uint8_t kind, size_t column, size_t n_codes, bool missing_first) const {
        uint32_t mask = uint32_t{missing_first} << kMissingBit;
        if (kind == kOrdinal) {
            const int64_t last = code_at(0, column);
            return mask | uint32_t{missing_first} << kUnseenBit | ((2u << last) - 1);
        }
        for (size_t i = 0; i < n_codes; ++i) mask |= 1u << code_at(i, column);
        return mask;
    }
    int64_t code_at(size_t i, size_t column) const {
        const auto code = packed_.codes.get<int64_t>(code_ + i);
        require(code >= 0 && code < column_info_[column].n_levels, "a level out of range");
        return code;
    }

    void write_general_test(int64_t node, uint8_t kind, size_t n_codes, size_t branches) {
        const auto column = packed_.column.get<size_t>(inner_);
        put_stop(node, static_cast<uint32_t>(forest_.kind_.size()), true);
        forest_.kind_.push_back(kind);
        forest_.column_.push_back(static_cast<int32_t>(column));
        forest_.missing_.push_back(packed_.missing.get<int32_t>(inner_));
        forest_.other_.push_back(packed_.other.get_or<int32_t>(inner_, -1));
        forest_.cut_.push_back(packed_.cut.get<double>(inner_));
        forest_.cut_int_.push_back(packed_.cut_int.get_or<int64_t>(inner_, 0));
        std::vector<int32_t> order(n_codes);
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
            return code_at(static_cast<size_t>(a), column) < code_at(static_cast<size_t>(b), column);
        });
        for (int32_t i : order) {
            forest_.codes_.push_back(static_cast<int32_t>(code_at(static_cast<size_t>(i), column)));
            forest_.code_branch_.push_back(i);
        }
        forest_.code_start_.push_back(static_cast<int64_t>(forest_.codes_.size()));
        for (size_t b = 0; b < branches; ++b) forest_.children_.push_back(stack_[stack_.size() - 1 - b]);
        forest_.child_start_.push_back(static_cast<int64_t>(forest_.children_.size()));
    }

    void put_stop(int64_t node, uint32_t number, bool is_general) {
        const uint32_t most = is_general ? forest_.max_general_tests_ : forest_.max_outputs_;
        forest_.slots_[node] = {std::min(number, most) + (is_general ? kFirstGeneralTest : 0), ~0u << forest_.shift_};
        if (number < most) return;
        is_general ? forest_.large_test_numbers_.put(inner_, number) : forest_.large_output_numbers_.put(leaf_, number);
    }

    uint32_t output_of_leaf(int64_t node) {
        if (!packed_.n_classes) {
            const auto value = packed_.value.get<double>(packed_.by_node ? static_cast<size_t>(node) : leaf_);
            return intern({0, {}, {value}});
        }
        const auto n_counts = packed_.n_counts.get<size_t>(leaf_);
        require(n_counts <= count_, "the members' arrays differ in length");
        count_ -= n_counts;
        if (derived_ > 0 && packed_.derived[derived_ - 1] == node) return intern(packed_.outputs[--derived_]);
        require(n_counts > 0, "a leaf without an output");
        if (n_counts > 1) return intern(output_of_counts(n_counts));
        uint32_t& pure = pure_[class_at(0)];
        if (pure == OutputIndex::kNone) pure = intern(output_of_counts(1));
        return pure;
    }
    LeafOutput output_of_counts(size_t n_counts) const {
        LeafOutput output;
        double total = 0, most = -1;
        for (size_t i = 0; i < n_counts; ++i) {
            const auto weight = packed_.count_weight.get<double>(count_ + i);
            output.classes.push_back(static_cast<int32_t>(class_at(i)));
            output.shares.push_back(weight);
            total += weight;
            if (weight > most) most = weight, output.label = output.classes.back();  // the first among equals
        }
        for (double& share : output.shares) share /= total;
        return output;
    }
    size_t class_at(size_t i) const {
        const auto label = packed_.count_class.get<int64_t>(count_ + i);
        require(label >= 0 && label < packed_.n_classes, "a class out of range");
        return static_cast<size_t>(label);
    }

    // The index of an output, existing or new; outputs are equal if all their bits are.
    uint32_t intern(const LeafOutput& output) {
        if (forest_.is_sparse() || !packed_.n_classes) return intern_bits(output);
        LeafOutput all{output.label, {}, std::vector<double>(forest_.width())};
        for (size_t i = 0; i < output.shares.size(); ++i)
            all.shares[static_cast<size_t>(output.classes[i])] = output.shares[i];
        return intern_bits(all);
    }
    uint32_t intern_bits(const LeafOutput& output) {
        const bool lists = forest_.is_sparse();
        uint64_t hash = static_cast<uint32_t>(output.label);
        for (size_t i = 0; lists && i < output.classes.size(); ++i)
            hash = mixed(hash, static_cast<uint32_t>(output.classes[i]));
        for (double s : output.shares) hash = mixed(hash, std::bit_cast<uint64_t>(s));
        const auto bits_equal = [](double a, double b) {
            return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
        };
        const auto same = [&](uint32_t n) {
            const size_t first = lists ? forest_.share_start_[n] : n * forest_.width();
            return (!packed_.n_classes || forest_.label_[n] == output.label) &&
                   (!lists ||
                    (forest_.share_start_[n + 1] - first == output.classes.size() &&
                     std::equal(output.classes.begin(), output.classes.end(), forest_.share_class_.begin() + first))) &&
                   std::equal(output.shares.begin(), output.shares.end(), forest_.share_.begin() + first, bits_equal);
        };
        const auto n_known =
            static_cast<uint32_t>(lists ? forest_.label_.size() : forest_.share_.size() / forest_.width());
        uint32_t& number = output_index_.find(hash, n_known, same);
        if (number != OutputIndex::kNone) return number;
        if (packed_.n_classes) forest_.label_.push_back(output.label);
        forest_.share_.insert(forest_.share_.end(), output.shares.begin(), output.shares.end());
        if (lists) {
            forest_.share_class_.insert(forest_.share_class_.end(), output.classes.begin(), output.classes.end());
            forest_.share_start_.push_back(static_cast<uint32_t>(forest_.share_.size()));
        }
        return number = n_known;
    }

    CompiledForest& forest_;
    const PackedForest& packed_;
    const std::vector<ColumnInfo>& column_info_;
    const CheckInterrupt& check_interrupt_;
    std::vector<uint32_t> cell_of_;  // by column
    std::vector<uint32_t> pure_;     // by class: index of the output with certainty for it
    OutputIndex output_index_;
    std::vector<uint32_t> stack_;                                       // nodes whose parent has not been visited
    size_t inner_ = 0, leaf_ = 0, code_ = 0, count_ = 0, derived_ = 0;  // start of the current node's entries
};

CompiledForest::CompiledForest(const PackedForest& packed, const std::vector<ColumnInfo>& column_info, uint32_t most,
                               const CheckInterrupt& check_interrupt)
    : packed_(packed), max_outputs_(std::min(most, kMaxOutputs)), max_general_tests_(std::min(most, kMaxGeneralTests)) {
    Compiler(*this, column_info, check_interrupt);
    packed_.outputs.clear(), packed_.derived = {};
    const auto fit = [](auto&... vectors) { (vectors.shrink_to_fit(), ...); };
    fit(label_, share_start_, share_class_, share_, stay_node_, stay_output_, kind_, column_, missing_, other_, codes_,
        code_branch_, cut_, cut_int_, code_start_, child_start_, children_, packed_.outputs, large_output_numbers_,
        large_test_numbers_);
}

size_t CompiledForest::n_bytes() const {
    const auto bytes = [](const auto&... vectors) { return (... + (vectors.capacity() * sizeof(vectors[0]))); };
    return bytes(slots_, inner_, inner_before_, label_, share_start_, share_class_, share_, stay_node_, stay_output_,
                 kind_, column_, missing_, other_, codes_, code_branch_, cut_, cut_int_, code_start_, child_start_,
                 children_) +
           large_output_numbers_.n_bytes() + large_test_numbers_.n_bytes();
}

uint32_t CompiledForest::number_at(size_t t, uint32_t at) const {
    const CompiledNode s = tree(t)[at];
    const bool is_general = is_general_test(s);
    const uint32_t number = is_general ? s.test - kFirstGeneralTest : s.test;
    if (number < (is_general ? max_general_tests_ : max_outputs_)) return number;
    const int64_t node = packed_.start[t] + at;
    const size_t inner = inner_before(node);
    return is_general ? large_test_numbers_[inner] : large_output_numbers_[static_cast<size_t>(node) - inner];
}

uint32_t CompiledForest::rare_output_at(size_t t, uint32_t at) const {
    const CompiledNode s = tree(t)[at];
    if (s.stops() && !is_general_test(s)) return number_at(t, at);
    const auto place = std::lower_bound(stay_node_.begin(), stay_node_.end(), packed_.start[t] + at);
    return stay_output_[static_cast<size_t>(place - stay_node_.begin())];
}

size_t CompiledForest::inner_before(int64_t node) const {
    const auto word = static_cast<size_t>(node / 64);
    const uint64_t before = inner_[word] & ((uint64_t{1} << (node % 64)) - 1);
    return inner_before_[word] + static_cast<size_t>(std::popcount(before));
}

size_t CompiledForest::column_at(size_t t, uint32_t at) const {
    return packed_.column.get<size_t>(inner_before(packed_.start[t] + at));
}

TreeView CompiledForest::general_tests() const {
    return {kind_,       column_, cut_,         cut_int_,     missing_, other_,
            code_start_, codes_,  code_branch_, child_start_, children_};
}

int64_t CompiledForest::child_by_general_test(size_t t, uint32_t at, const std::vector<Column>& columns,
                                              int64_t row) const {
    const uint32_t test = number_at(t, at);
    const int32_t b = branch(general_tests(), test, columns[static_cast<size_t>(column_[test])], row);
    return b < 0 ? -1 : children_[static_cast<size_t>(child_start_[test] + b)];
}

int64_t CompiledForest::next_exactly(size_t t, uint32_t at, const std::vector<Column>& columns, int64_t row) const {
    const CompiledNode s = tree(t)[at];
    if (s.stops()) return is_general_test(s) ? child_by_general_test(t, at, columns, row) : -1;
    const size_t inner = inner_before(packed_.start[t] + at);
    const bool first = columns[cell_columns_[cell(s)].column].visit([&]<class T>(View<T> values) -> bool {
        const T x = values[static_cast<size_t>(row)];
        if (is_missing(x)) return missing_first(s);
        if constexpr (std::is_same_v<T, int32_t>)
            return s.test >> (x < 0 ? kUnseenBit : static_cast<uint32_t>(x)) & 1;
        else if constexpr (std::is_same_v<T, int64_t>)
            return x <= packed_.cut_int.get_or<int64_t>(inner, 0);
        else
            return x <= packed_.cut.get<double>(inner);
    });
    return at + 1 + (first ? 0 : second_offset(s));
}

}  // namespace treewise
