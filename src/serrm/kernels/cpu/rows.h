// Arithmetic on rows: the exponential, SiLU, RMSNorm behind a residual addition, rotary positions.
#pragma once

#include "tile.h"

constexpr float NORM_EPS = 1e-5f;

constexpr float LOG2_E = 1.44269504f, LOG2_E_REST = 1.92596299e-8f;  // in two parts

// 2ⁿ⁺ʳ for whole n ≤ 126 and |r| ≤ ½ to about two units in the last place (of 24 bits), 0 for n < −124: soon below, results
// would be subnormal numbers, which take Intel's CPUs long.
inline Vector power_of_two(Vector n, Vector r) {
    // Of the polynomials of degree 5 that are 1 at 0, the one whose largest relative error is least: 1.1e-7.
    Vector sum = all(1.32647273e-3f);
    for (const float factor : {9.67151299e-3f, 5.55073358e-2f, 0.240222424f, 0.693147004f, 1.f})
        sum = multiply_add(sum, r, all(factor));
    return times_power(is_greater(n, all(-125.f)), sum, n);
}

// The nearest whole number, for |x| < 2²². The sum with 1.5 · 2²³ has no digits behind the point.
inline Vector nearest(Vector x) {
    const Vector shift = all(12582912.f);
    return x + shift - shift;
}

// 2ˣ for x ≤ 126; whatever `nearest` makes of a number far below −124, the power is 0.
inline Vector power_of_two(Vector x) {
    const Vector n = nearest(x);
    return power_of_two(n, x - n);
}

// eˣ for x ≤ 87.
inline Vector exponential(Vector x) {
    const Vector n = nearest(x * all(LOG2_E));
    return power_of_two(n, multiply_add(x, all(LOG2_E_REST), multiply_subtract(x, all(LOG2_E), n)));
}

inline Vector sigmoid(Vector x) {
    const Vector one = all(1.f);
    return one / (one + exponential(all(0) - larger(all(-87.f), x)));
}

// y = z/rms(z) with z = x + sums, for one row; returns 1/rms(z). `sums` is overwritten with z.
inline float add_and_norm(const number* x, float* sums, number* y, int64_t width) {
    Vector squares = all(0);
    for (int64_t c = 0; c < width; c += LANES) {
        const Vector z = (load(sums + c) + load(x + c));
        store(sums + c, z);
        squares = multiply_add(z, z, squares);
    }
    const float scale = 1.f / std::sqrt(sum_of(squares) / width + NORM_EPS);
    for (int64_t c = 0; c < width; c += LANES)
        store(y + c, (load(sums + c) * all(scale)));
    return scale;
}

// dz = (dy − y·mean(y·dy))/rms(z), for one row: the gradient of `add_and_norm` in both of its summands.
inline void norm_backward(const number* y, const number* dy, float scale, number* dz, int64_t width) {
    Vector products = all(0);
    for (int64_t c = 0; c < width; c += LANES) products = multiply_add(load(y + c), load(dy + c), products);
    const Vector mean = all(sum_of(products) / width);
    for (int64_t c = 0; c < width; c += LANES) {
        const Vector centred = subtract_product(load(y + c), mean, load(dy + c));
        store(dz + c, (centred * all(scale)));
    }
}

// to = x + sums, rounded, for one row.
inline void add_row(const number* x, const float* sums, number* to, int64_t width) {
    for (int64_t c = 0; c < width; c += LANES)
        store(to + c, (load(sums + c) + load(x + c)));
}

// to = sums, rounded, for one row.
inline void round_row(const float* sums, number* to, int64_t width) {
    for (int64_t c = 0; c < width; c += LANES) store(to + c, load(sums + c));
}

// (x₁, x₂) → (x₁cos − x₂sin, x₂cos + x₁sin), or back; a copy where there is no rotation. `half` is a multiple of 8.
template <bool IsBack, class From>
inline void rotate(const From* from, const float* cos, const float* sin, int64_t half, number* to) {
    if (cos == nullptr) {
        for (int64_t c = 0; c < 2 * half; c += LANES) store(to + c, load(from + c));
        return;
    }
    if (2 * half == LANES) {  // both halves at once
        const Vector x = load(from), turned = with_halves_swapped(x) * load_twice(sin) * halves(IsBack ? 1.f : -1.f);
        store(to, multiply_add(x, load_twice(cos), turned));
        return;
    }
    int64_t c = 0;
    for (; c + LANES <= half; c += LANES) {
        const Vector first = load(from + c), second = load(from + half + c), co = load(cos + c), si = load(sin + c);
        const Vector of_first = first * si, of_second = second * si;
        store(to + c, IsBack ? multiply_add(first, co, of_second) : multiply_subtract(first, co, of_second));
        store(to + half + c, IsBack ? multiply_subtract(second, co, of_first) : multiply_add(second, co, of_first));
    }
    if (c < half) {
        const Mask here = first_places(half - c);
        const Vector first = load(here, from + c), second = load(here, from + half + c);
        const Vector co = load(here, cos + c), si = load(here, sin + c);
        const Vector of_first = (first * si), of_second = (second * si);
        const Vector turned_first = IsBack ? multiply_add(first, co, of_second) : multiply_subtract(first, co, of_second);
        const Vector turned_second = IsBack ? multiply_subtract(second, co, of_first) : multiply_add(second, co, of_first);
        store(here, to + c, turned_first), store(here, to + half + c, turned_second);
    }
}
