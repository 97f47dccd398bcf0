// The criteria and rules of the core, each declared once: enum, dispatch and names for Python are generated from these
// lists. To add a criterion, write its statistics class (criteria/exact_impurity.hpp) and add a line here.

#pragma once

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace treewise {

// X(name, statistics class, whether criteria/approx_impurity.hpp supports it). A criterion it does not support is
// grown by the presorted engine alone (grow/engine_choice.cpp).
#define TREEWISE_CRITERIA(X)                     \
    X(entropy, EntropyStats, true)               \
    X(gini, GiniStats, true)                     \
    X(error, ErrorStats, true)                   \
    X(squared_error, SquaredErrorStats, true)    \
    X(absolute_error, AbsoluteErrorStats, false) \
    X(poisson, PoissonStats, true)

// What candidates are ranked by: gain, gain ratio, or C4.5's two steps.
#define TREEWISE_RULES(X) X(gain) X(ratio) X(c45)

// How the candidates of a node compete (Settings.selection in train/settings.py).
#define TREEWISE_SELECTIONS(X) X(gain) X(test) X(priced)

#define TREEWISE_NAME(name, ...) name,
#define TREEWISE_QUOTED(name, ...) #name,
#define TREEWISE_HAS_APPROX_IMPURITY(name, stats, has_approx_impurity) has_approx_impurity,

enum class Criterion { TREEWISE_CRITERIA(TREEWISE_NAME) };
inline constexpr std::array kCriterionNames = std::to_array<std::string_view>({TREEWISE_CRITERIA(TREEWISE_QUOTED)});
inline constexpr std::array kHasApproxImpurity = std::to_array<bool>({TREEWISE_CRITERIA(TREEWISE_HAS_APPROX_IMPURITY)});

enum class Rule { TREEWISE_RULES(TREEWISE_NAME) };
inline constexpr std::array kRuleNames = std::to_array<std::string_view>({TREEWISE_RULES(TREEWISE_QUOTED)});

enum class Selection { TREEWISE_SELECTIONS(TREEWISE_NAME) };
inline constexpr std::array kSelectionNames = std::to_array<std::string_view>({TREEWISE_SELECTIONS(TREEWISE_QUOTED)});

#undef TREEWISE_NAME
#undef TREEWISE_QUOTED
#undef TREEWISE_HAS_APPROX_IMPURITY

constexpr bool has_approx_impurity(Criterion criterion) { return kHasApproxImpurity[static_cast<size_t>(criterion)]; }

// The enum value with this name.
template <class Enum, size_t N>
Enum enum_from_name(const std::array<std::string_view, N>& names, std::string_view name) {
    for (size_t i = 0; i < N; ++i)
        if (names[i] == name) return static_cast<Enum>(i);
    throw std::invalid_argument("unknown name: " + std::string(name));
}

}  // namespace treewise
