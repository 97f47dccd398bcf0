// The packed members become a program: one pass over all nodes, from the last to the first.

#include "forest/compiled_forest.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace treewise {
namespace {

void need(bool sound, const char* what) {
    if (!sound) throw std::invalid_argument(what);
}

// Finds an answer among those there are: an open table of their numbers.
class Index {
public:
    // same(n): whether answer n is the one looked for. Returns where its number stands, or is to be put.
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

// Goes through the nodes backwards: a node's children then stand on top of a stack, the first uppermost.
class Program::Maker {
public:
    Maker(Program& program, const std::vector<ColumnKind>& kinds, const Pulse& pulse)
        : p_(program), in_(program.packed_), kinds_(kinds), pulse_(pulse) {
        const size_t n_trees = in_.start.size() - 1;
        check_lengths();
        choose_cells();
        p_.slots_.resize(in_.kind.size());
        p_.code_start_.push_back(0), p_.child_start_.push_back(0);
        pure_.assign(static_cast<size_t>(in_.n_classes), Index::kNone);
        if (p_.lists_classes()) p_.share_start_.push_back(0);
        inner_ = in_.column.size, leaf_ = in_.kind.size() - inner_, derived_ = in_.derived.size();
        code_ = in_.codes.size, count_ = in_.count_class.size;
        for (size_t t = n_trees; t-- > 0; pulse_()) write_tree(in_.start[t], in_.start[t + 1]);
        std::reverse(p_.stay_node_.begin(), p_.stay_node_.end());
        std::reverse(p_.stay_answer_.begin(), p_.stay_answer_.end());
        need(code_ == 0 && count_ == 0 && derived_ == 0, "the members' lists have more entries than they name");
    }

private:
    void check_lengths() {
        const size_t n = in_.kind.size();
        need(in_.start.size() > 1 && in_.start.front() == 0 && in_.start.back() == static_cast<int64_t>(n),
             "the members' nodes do not begin and end where they should");
        const auto leaf = [](uint8_t kind) { return kind == kLeaf; };
        const auto leaves = static_cast<size_t>(std::count_if(in_.kind.begin(), in_.kind.end(), leaf));
        const auto inner = [&](const Narrow& a, bool may_lack) {
            return a.size == n - leaves || (may_lack && !a.size);
        };
        need(inner(in_.column, false) && inner(in_.cut, false) && inner(in_.missing, false) &&
                 inner(in_.cut_int, true) && inner(in_.other, true) && inner(in_.n_codes, true),
             "the members' arrays differ in length");
        need(in_.n_classes ? in_.n_counts.size == leaves && in_.count_class.size == in_.count_weight.size
                           : in_.value.size == (in_.by_node ? n : leaves),
             "the members' answers differ in length");
        need(in_.answers.size() == in_.derived.size(), "the derived answers differ in length");
    }

    // Which columns have tests by 32 bits, and whether their thresholds are floats; marks the inner nodes on the way.
    void choose_cells() {
        std::vector<uint8_t> asked(kinds_.size()), odd(kinds_.size());
        p_.inner_.assign(in_.kind.size() / 64 + 1, 0);
        size_t inner = 0;
        for (size_t node = 0; node < in_.kind.size(); ++node) {
            if (node % kBetweenPulses == 0) pulse_();
            if (node % 64 == 0) p_.inner_before_.push_back(static_cast<uint32_t>(inner));
            if (in_.kind[node] == kLeaf) continue;
            p_.inner_[node / 64] |= uint64_t{1} << (node % 64);
            const auto column = in_.column.get<int64_t>(inner);
            need(column >= 0 && column < static_cast<int64_t>(kinds_.size()), "a column out of range");
            const auto c = static_cast<size_t>(column);
            if (is_short(in_.kind[node], kinds_[c], inner)) {
                asked[c] = 1;
                if (kinds_[c].n_levels < 0 && !kinds_[c].integer) {
                    const auto cut = in_.cut.get<double>(inner);
                    odd[c] |= static_cast<float>(cut) != cut;
                }
            }
            ++inner;
        }
        cell_of_.resize(kinds_.size());
        for (size_t c = 0; c < kinds_.size(); ++c) {
            cell_of_[c] = static_cast<uint32_t>(p_.cell_columns_.size());
            if (asked[c]) p_.cell_columns_.push_back({c, kinds_[c], !odd[c]});
        }
        const size_t n_cells = std::max<size_t>(1, p_.cell_columns_.size());
        p_.shift_ = 2 + static_cast<uint32_t>(std::bit_width(n_cells - 1));
    }

    // Whether a test has two branches, one of them for missing values, and 32 bits will do.
    bool is_short(uint8_t kind, ColumnKind column, size_t inner) const {
        const auto missing = in_.missing.get<int64_t>(inner);
        if (missing < 0 || missing > 1 || kind == kMultiway) return false;
        return kind == kThreshold ? column.n_levels < 0 : column.n_levels <= kMostLevels;
    }

    void write_tree(int64_t begin, int64_t end) {
        need(begin < end && end - begin < int64_t{1} << 32, "a tree without nodes, or with too many");
        stack_.clear();
        for (int64_t node = end; node-- > begin;) {
            const auto at = static_cast<uint32_t>(node - begin);
            if (in_.kind[node] == kLeaf) {
                --leaf_;
                put_stop(node, answer_of_leaf(node), false);
            } else {
                --inner_;
                write_test(node, at);
            }
            stack_.push_back(at);
        }
        need(stack_.size() == 1, "the members are not trees");
    }

    void write_test(int64_t node, uint32_t at) {
        const uint8_t kind = in_.kind[node];
        const auto column = in_.column.get<size_t>(inner_);
        const auto missing = in_.missing.get<int64_t>(inner_), other = in_.other.get_or<int64_t>(inner_, -1);
        const auto n_codes = in_.n_codes.get_or<size_t>(inner_, 0);
        need(kind <= kMultiway && (kind == kThreshold) == (kinds_[column].n_levels < 0), "a test of another kind");
        need(n_codes <= code_ && (kind == kThreshold || kind >= kSubset || n_codes == 1), "a test of too few levels");
        const int64_t own = kind == kMultiway ? static_cast<int64_t>(n_codes) + (other >= 0) : 2;
        const auto branches = static_cast<size_t>(std::max(own, missing + 1));
        need(missing >= -1 && other >= -1 && other < static_cast<int64_t>(branches) && branches <= stack_.size(),
             "the members are not trees");
        code_ -= n_codes;
        const uint32_t beyond = branches > 1 ? stack_[stack_.size() - 2] - at - 1 : 0;
        if (is_short(kind, kinds_[column], inner_) && branches == 2 && beyond < 1u << (31 - p_.shift_)) {
            const bool by_level = kind != kThreshold, first = missing == 0;
            p_.has_levels_ |= by_level;
            p_.slots_[node] = {by_level ? level_mask(kind, column, n_codes, first) : cut_key(column),
                               beyond << p_.shift_ | uint32_t{by_level} << (p_.shift_ - 1) |
                                   uint32_t{first} << (p_.shift_ - 2) | cell_of_[column]};
        } else {
            write_question(node, kind, n_codes, branches);
        }
        if (missing < 0 || (kind == kMultiway && other < 0)) {
            need(derived_ > 0 && in_.derived[derived_ - 1] == node, "a node without an answer");
            p_.stay_node_.push_back(node), p_.stay_answer_.push_back(number_of(in_.answers[--derived_]));
        }
        stack_.resize(stack_.size() - branches);
    }

    uint32_t cut_key(size_t column) const {
        return key_of(kinds_[column].integer ? rounded_down(in_.cut_int.get_or<int64_t>(inner_, 0))
                                             : rounded_down(in_.cut.get<double>(inner_)));
    }

    // The levels of the first branch. A level never seen has no place in an order: there it goes with the missing ones.
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
        const auto code = in_.codes.get<int64_t>(code_ + i);
        need(code >= 0 && code < kinds_[column].n_levels, "a level out of range");
        return code;
    }

    void write_question(int64_t node, uint8_t kind, size_t n_codes, size_t branches) {
        const auto column = in_.column.get<size_t>(inner_);
        put_stop(node, static_cast<uint32_t>(p_.kind_.size()), true);
        p_.kind_.push_back(kind);
        p_.column_.push_back(static_cast<int32_t>(column));
        p_.missing_.push_back(in_.missing.get<int32_t>(inner_));
        p_.other_.push_back(in_.other.get_or<int32_t>(inner_, -1));
        p_.cut_.push_back(in_.cut.get<double>(inner_));
        p_.cut_int_.push_back(in_.cut_int.get_or<int64_t>(inner_, 0));
        std::vector<int32_t> order(n_codes);
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
            return code_at(static_cast<size_t>(a), column) < code_at(static_cast<size_t>(b), column);
        });
        for (int32_t i : order) {
            p_.codes_.push_back(static_cast<int32_t>(code_at(static_cast<size_t>(i), column)));
            p_.code_branch_.push_back(i);
        }
        p_.code_start_.push_back(static_cast<int64_t>(p_.codes_.size()));
        for (size_t b = 0; b < branches; ++b) p_.children_.push_back(stack_[stack_.size() - 1 - b]);
        p_.child_start_.push_back(static_cast<int64_t>(p_.children_.size()));
    }

    void put_stop(int64_t node, uint32_t number, bool question) {
        const uint32_t most = question ? p_.most_questions_ : p_.most_answers_;
        p_.slots_[node] = {std::min(number, most) + (question ? kFirstQuestion : 0), ~0u << p_.shift_};
        if (number < most) return;
        question ? p_.large_questions_.put(inner_, number) : p_.large_answers_.put(leaf_, number);
    }

    uint32_t answer_of_leaf(int64_t node) {
        if (!in_.n_classes) {
            const auto value = in_.value.get<double>(in_.by_node ? static_cast<size_t>(node) : leaf_);
            return number_of({0, {}, {value}});
        }
        const auto n_counts = in_.n_counts.get<size_t>(leaf_);
        need(n_counts <= count_, "the members' arrays differ in length");
        count_ -= n_counts;
        if (derived_ > 0 && in_.derived[derived_ - 1] == node) return number_of(in_.answers[--derived_]);
        need(n_counts > 0, "a leaf without an answer");
        if (n_counts > 1) return number_of(answer_of_counts(n_counts));
        uint32_t& pure = pure_[class_at(0)];
        if (pure == Index::kNone) pure = number_of(answer_of_counts(1));
        return pure;
    }
    Answer answer_of_counts(size_t n_counts) const {
        Answer said;
        double total = 0, most = -1;
        for (size_t i = 0; i < n_counts; ++i) {
            const auto weight = in_.count_weight.get<double>(count_ + i);
            said.classes.push_back(static_cast<int32_t>(class_at(i)));
            said.shares.push_back(weight);
            total += weight;
            if (weight > most) most = weight, said.label = said.classes.back();  // of equals the first
        }
        for (double& share : said.shares) share /= total;
        return said;
    }
    size_t class_at(size_t i) const {
        const auto label = in_.count_class.get<int64_t>(count_ + i);
        need(label >= 0 && label < in_.n_classes, "a class out of range");
        return static_cast<size_t>(label);
    }

    // The number of an answer, new or known; two are the same when all their bits are.
    uint32_t number_of(const Answer& said) {
        if (p_.lists_classes() || !in_.n_classes) return number_of_bits(said);
        Answer all{said.label, {}, std::vector<double>(p_.width())};
        for (size_t i = 0; i < said.shares.size(); ++i)
            all.shares[static_cast<size_t>(said.classes[i])] = said.shares[i];
        return number_of_bits(all);
    }
    uint32_t number_of_bits(const Answer& said) {
        const bool lists = p_.lists_classes();
        uint64_t hash = static_cast<uint32_t>(said.label);
        for (size_t i = 0; lists && i < said.classes.size(); ++i)
            hash = mixed(hash, static_cast<uint32_t>(said.classes[i]));
        for (double s : said.shares) hash = mixed(hash, std::bit_cast<uint64_t>(s));
        const auto bits_equal = [](double a, double b) {
            return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
        };
        const auto same = [&](uint32_t n) {
            const size_t first = lists ? p_.share_start_[n] : n * p_.width();
            return (!in_.n_classes || p_.label_[n] == said.label) &&
                   (!lists ||
                    (p_.share_start_[n + 1] - first == said.classes.size() &&
                     std::equal(said.classes.begin(), said.classes.end(), p_.share_class_.begin() + first))) &&
                   std::equal(said.shares.begin(), said.shares.end(), p_.share_.begin() + first, bits_equal);
        };
        const auto n_known = static_cast<uint32_t>(lists ? p_.label_.size() : p_.share_.size() / p_.width());
        uint32_t& number = index_.find(hash, n_known, same);
        if (number != Index::kNone) return number;
        if (in_.n_classes) p_.label_.push_back(said.label);
        p_.share_.insert(p_.share_.end(), said.shares.begin(), said.shares.end());
        if (lists) {
            p_.share_class_.insert(p_.share_class_.end(), said.classes.begin(), said.classes.end());
            p_.share_start_.push_back(static_cast<uint32_t>(p_.share_.size()));
        }
        return number = n_known;
    }

    Program& p_;
    const Packed& in_;
    const std::vector<ColumnKind>& kinds_;
    const Pulse& pulse_;
    std::vector<uint32_t> cell_of_;  // of each column
    std::vector<uint32_t> pure_;     // the number of the answer that is one class for certain
    Index index_;
    std::vector<uint32_t> stack_;                                       // nodes whose parent is still to come
    size_t inner_ = 0, leaf_ = 0, code_ = 0, count_ = 0, derived_ = 0;  // where the current node's entries begin
};

Program::Program(const Packed& packed, const std::vector<ColumnKind>& kinds, uint32_t most, const Pulse& pulse)
    : packed_(packed), most_answers_(std::min(most, kMostAnswers)), most_questions_(std::min(most, kMostQuestions)) {
    Maker(*this, kinds, pulse);
    packed_.answers.clear(), packed_.derived = {};
    const auto fit = [](auto&... vectors) { (vectors.shrink_to_fit(), ...); };
    fit(label_, share_start_, share_class_, share_, stay_node_, stay_answer_, kind_, column_, missing_, other_, codes_,
        code_branch_, cut_, cut_int_, code_start_, child_start_, children_, packed_.answers, large_answers_,
        large_questions_);
}

size_t Program::n_bytes() const {
    const auto bytes = [](const auto&... vectors) { return (... + (vectors.capacity() * sizeof(vectors[0]))); };
    return bytes(slots_, inner_, inner_before_, label_, share_start_, share_class_, share_, stay_node_, stay_answer_,
                 kind_, column_, missing_, other_, codes_, code_branch_, cut_, cut_int_, code_start_, child_start_,
                 children_) +
           large_answers_.n_bytes() + large_questions_.n_bytes();
}

uint32_t Program::number_at(size_t t, uint32_t at) const {
    const Slot s = tree(t)[at];
    const bool question = is_question(s);
    const uint32_t number = question ? s.test - kFirstQuestion : s.test;
    if (number < (question ? most_questions_ : most_answers_)) return number;
    const int64_t node = packed_.start[t] + at;
    const size_t inner = inner_before(node);
    return question ? large_questions_[inner] : large_answers_[static_cast<size_t>(node) - inner];
}

uint32_t Program::rare_answer_at(size_t t, uint32_t at) const {
    const Slot s = tree(t)[at];
    if (s.stops() && !is_question(s)) return number_at(t, at);
    const auto place = std::lower_bound(stay_node_.begin(), stay_node_.end(), packed_.start[t] + at);
    return stay_answer_[static_cast<size_t>(place - stay_node_.begin())];
}

size_t Program::inner_before(int64_t node) const {
    const auto word = static_cast<size_t>(node / 64);
    const uint64_t before = inner_[word] & ((uint64_t{1} << (node % 64)) - 1);
    return inner_before_[word] + static_cast<size_t>(std::popcount(before));
}

size_t Program::column_at(size_t t, uint32_t at) const {
    return packed_.column.get<size_t>(inner_before(packed_.start[t] + at));
}

Paths Program::questions() const {
    return {kind_,       column_, cut_,         cut_int_,     missing_, other_,
            code_start_, codes_,  code_branch_, child_start_, children_};
}

int64_t Program::child_by_question(size_t t, uint32_t at, const std::vector<Column>& columns, int64_t row) const {
    const uint32_t question = number_at(t, at);
    const int32_t b = branch(questions(), question, columns[static_cast<size_t>(column_[question])], row);
    return b < 0 ? -1 : children_[static_cast<size_t>(child_start_[question] + b)];
}

int64_t Program::next_exactly(size_t t, uint32_t at, const std::vector<Column>& columns, int64_t row) const {
    const Slot s = tree(t)[at];
    if (s.stops()) return is_question(s) ? child_by_question(t, at, columns, row) : -1;
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
    return at + 1 + (first ? 0 : beyond(s));
}

}  // namespace treewise
