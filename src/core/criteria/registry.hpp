// The criteria, rules and selections of the core, each declared once: enum, dispatch and names for Python are generated
// from these lists. To add a criterion, write its statistics class (criteria/exact_impurity.hpp) and add a line here.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace treewise {

// X(name, statistics class, whether criteria/approx_impurity.hpp supports it). A criterion it does not support is
// grown by the presorted engine alone (grow/engine_choice.cpp).
#define TREEWISE_CRITERIA(X)                        \
    X(entropy, EntropyImpurity, true)               \
    X(gini, GiniImpurity, true)                     \
    X(error, ErrorImpurity, true)                   \
    X(squared_error, SquaredErrorImpurity, true)    \
    X(absolute_error, AbsoluteErrorImpurity, false) \
    X(poisson, PoissonImpurity, true)

// What candidates are ranked by: gain, gain ratio, or C4.5's two steps.
#define TREEWISE_RULES(X) X(gain) X(ratio) X(c45)

// How the candidates of a node compete (Settings.selection in train/settings.py).
#define TREEWISE_SELECTIONS(X) X(gain) X(test) X(priced)

#define TREEWISE_NAME(name, ...) name,
#define TREEWISE_QUOTED(name, ...) #name,
#define TREEWISE_HAS_APPROX_IMPURITY(name, impurity_class, has_approx_impurity) has_approx_impurity,
#define TREEWISE_ENUM(Enum, list)                                        \
    enum class Enum { list(TREEWISE_NAME) };                             \
    constexpr auto names_of(Enum) { /* of all values, in order */        \
        return std::to_array<std::string_view>({list(TREEWISE_QUOTED)}); \
    }

TREEWISE_ENUM(Criterion, TREEWISE_CRITERIA)
TREEWISE_ENUM(Rule, TREEWISE_RULES)
TREEWISE_ENUM(Selection, TREEWISE_SELECTIONS)

constexpr bool has_approx_impurity(Criterion criterion) {
    constexpr auto kHas = std::to_array<bool>({TREEWISE_CRITERIA(TREEWISE_HAS_APPROX_IMPURITY)});
    return kHas[static_cast<size_t>(criterion)];
}

#undef TREEWISE_NAME
#undef TREEWISE_QUOTED
#undef TREEWISE_HAS_APPROX_IMPURITY
#undef TREEWISE_ENUM

template <class Enum>
std::string to_name(Enum value) {
    return std::string(names_of(value)[static_cast<size_t>(value)]);
}
template <class Enum>
Enum from_name(std::string_view name) {
    const auto names = names_of(Enum{});
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) throw std::invalid_argument("unknown name: " + std::string(name));
    return static_cast<Enum>(found - names.begin());
}

}  // namespace treewise
