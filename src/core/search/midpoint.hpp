// Threshold between two neighbouring values a < b, always with a <= t < b. tree/splits.py has the Python version.

#pragma once

#include <cmath>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <locale>
#include <sstream>

namespace treewise {

// Powers of ten that are exact doubles.
inline constexpr double kTens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// t rounded to 15 significant digits, ties to even: 42.35, not 42.349999999999994.
inline double shorten(double t) {
    const double size = std::abs(t);
    if (size >= 1e-7 && size < 1e15) {  // an integer below 2^53 over a power of ten: rounded once
        int positions = 0;
        while (size * kTens[positions] < 1e14) ++positions;
        int exponent = 0;
        const auto mantissa = static_cast<uint64_t>(std::ldexp(std::frexp(size, &exponent), 53));
        const int down = 53 - exponent;  // 3 … 76 fractional bits
        const auto scaled = static_cast<unsigned __int128>(mantissa) * static_cast<unsigned __int128>(kTens[positions]);
        const auto half = static_cast<unsigned __int128>(1) << (down - 1);
        const auto rest = scaled & ((half << 1) - 1);
        auto digits = static_cast<uint64_t>(scaled >> down);
        digits += rest > half || (rest == half && (digits & 1));
        return std::copysign(static_cast<double>(digits) / kTens[positions], t);
    }
    if (t == 0) return t;
    std::stringstream text;  // rare; not std::from_chars, which libc++ lacks for doubles
    text.imbue(std::locale::classic());
    double shorter = t;
    text << std::setprecision(15) << t;
    text >> shorter;
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
    return static_cast<int64_t>((static_cast<__int128>(a) + b) >> 1);  // floor of the mean
}

}  // namespace treewise
