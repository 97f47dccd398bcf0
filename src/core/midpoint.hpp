// The threshold between two neighbouring values a < b, with a <= t < b always. split.py has the readable twin.

#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

namespace treewise {

// t rounded to 15 significant digits: 42.35, not 42.349999999999994. Independent of the locale.
inline double shorten(double t) {
    char text[64];
    const auto written = std::to_chars(text, text + sizeof text, t, std::chars_format::general, 15);
    double shorter = t;
    std::from_chars(text, written.ptr, shorter);
    return shorter;
}

inline double midpoint(double a, double b) {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    constexpr double kMax = std::numeric_limits<double>::max();
    if (a == -kInf) {
        if (b == kInf) return 0.0;
        return -kMax < b ? -kMax : -kInf;
    }
    if (b == kInf) return a + 0.0;
    double t = std::isfinite(b - a) ? a + (b - a) / 2 : a / 2 + b / 2;
    if (t >= b) t = a;
    const double shorter = shorten(t);
    if (a <= shorter && shorter < b) t = shorter;
    return t + 0.0;  // -0.0 becomes 0.0
}

inline int64_t midpoint(int64_t a, int64_t b) {
    return static_cast<int64_t>((static_cast<__int128>(a) + b) >> 1);  // the floor of the mean
}

}  // namespace treewise
