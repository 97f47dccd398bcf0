// The upper tail of the χ² distribution, as a logarithm.
//
// train/chi_square.py is the readable version. Both perform the same additions, multiplications and divisions in the
// same order, so both languages and every platform produce the same bits; no library function is called.

#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace treewise {

inline double portable_log(double x) {
    constexpr double kLn2High = 0.693147180369123816490, kLn2Low = 1.90821492927058770002e-10;
    constexpr double kSqrt2 = 1.4142135623730951;
    if (!(x > 0.0)) return -std::numeric_limits<double>::infinity();
    int exponent = 0;
    double m = std::frexp(x, &exponent);
    if (2.0 * m < kSqrt2) m *= 2.0, --exponent;
    const double z = (m - 1.0) / (m + 1.0), square = z * z, k = exponent;
    double power = z, total = 0.0;
    for (int odd = 1; odd < 23; odd += 2) {  // ln m = 2·(z + z³/3 + z⁵/5 + …)
        total += power / odd;
        power *= square;
    }
    return k * kLn2High + (2.0 * total + k * kLn2Low);
}

inline double portable_exp(double x) {  // for x <= 0
    constexpr double kLn2High = 0.693147180369123816490, kLn2Low = 1.90821492927058770002e-10;
    if (!(x > -745.0)) return 0.0;
    const double k = std::floor(x / kLn2High + 0.5);
    const double r = (x - k * kLn2High) - k * kLn2Low;
    double total = 1.0;
    for (int i = 16; i > 0; --i) total = 1.0 + r / i * total;
    return std::ldexp(total, static_cast<int>(k));
}

inline double ln_gamma(double a) {  // Stirling's series from 16 on
    double product = 1.0;
    while (a < 16.0) product *= a, a += 1.0;
    const double r = 1.0 / (a * a);
    const double series = (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680 - r * (1.0 / 1188))))) / a;
    return (a - 0.5) * portable_log(a) - a + 0.91893853320467274178 + series - portable_log(product);
}

// ln P(X >= statistic) of a χ² variable with df degrees of freedom.
inline double chi_square_log_tail(double statistic, int64_t df) {
    if (!(statistic > 0.0)) return 0.0;
    const double a = 0.5 * static_cast<double>(df), x = 0.5 * statistic;
    const double log_density = a * portable_log(x) - x - ln_gamma(a);
    if (x < a + 1.0) {  // series of the lower incomplete gamma function
        double n = a, term = 1.0 / a, total = term;
        while (term > total * 0x1p-54) {
            n += 1.0;
            term *= x / n;
            total += term;
        }
        return portable_log(1.0 - portable_exp(log_density + portable_log(total)));
    }
    // Legendre's continued fraction of the upper incomplete gamma function, by Lentz's method
    double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, total = d, change = 0.0;
    for (double i = 1.0; !(-0x1p-50 < change - 1.0 && change - 1.0 < 0x1p-50); i += 1.0) {
        const double numerator = i * (a - i);
        b += 2.0;
        d = 1.0 / (numerator * d + b);
        c = b + numerator / c;
        change = c * d;
        total *= change;
    }
    return log_density + portable_log(total);
}

}  // namespace treewise
