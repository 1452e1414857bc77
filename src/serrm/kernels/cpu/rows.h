// Arithmetic on rows: the exponential, the sigmoid, a residual addition with RMSNorm, rotary positions.
#pragma once

#include "tile.h"

constexpr float NORM_EPS = 1e-5f;

constexpr float LOG2_E = 1.44269504f, LOG2_E_REST = 1.92596299e-8f;  // in two parts

// 2ⁿ⁺ʳ for whole n ≤ 126 and |r| ≤ ½ to about two units in the last place (of 24 bits); 0 for n < −124, because only a
// little below, results would be subnormal numbers, on which Intel's CPUs are slow.
inline Vector power_of_two(Vector n, Vector r) {
    // The polynomial of degree 5 with value 1 at 0 that has the least maximum relative error, 1.1e-7.
    Vector sum = broadcast(1.32647273e-3f);
    for (const float factor : {9.67151299e-3f, 5.55073358e-2f, 0.240222424f, 0.693147004f, 1.f})
        sum = multiply_add(sum, r, broadcast(factor));
    return scale_by_power(is_greater(n, broadcast(-125.f)), sum, n);
}

// The nearest whole number, for |x| < 2²². A float32 number near 1.5 · 2²³ has no fractional bits.
inline Vector round_to_integer(Vector x) {
    const Vector shift = broadcast(12582912.f);
    return x + shift - shift;
}

// 2ˣ for x ≤ 126. It is 0 far below −124, even where `round_to_integer` is inexact.
inline Vector power_of_two(Vector x) {
    const Vector n = round_to_integer(x);
    return power_of_two(n, x - n);
}

// eˣ for x ≤ 87.
inline Vector exponential(Vector x) {
    const Vector n = round_to_integer(x * broadcast(LOG2_E));
    return power_of_two(n, multiply_add(x, broadcast(LOG2_E_REST), multiply_subtract(x, broadcast(LOG2_E), n)));
}

inline Vector sigmoid(Vector x) {
    const Vector one = broadcast(1.f);
    return one / (one + exponential(broadcast(0) - maximum(broadcast(-87.f), x)));
}

// Computes y = z/rms(z) with z = x + sums for one row, and returns 1/rms(z). Overwrites `sums` with z.
inline float add_and_norm(const number* x, float* sums, number* y, int64_t width) {
    Vector squares = broadcast(0);
    for (int64_t c = 0; c < width; c += LANES) {
        const Vector z = load(sums + c) + load(x + c);
        store(sums + c, z);
        squares = multiply_add(z, z, squares);
    }
    const float scale = 1.f / std::sqrt(reduce_sum(squares) / width + NORM_EPS);
    for (int64_t c = 0; c < width; c += LANES) store(y + c, load(sums + c) * broadcast(scale));
    return scale;
}

// Computes dz = (dy − y·mean(y·dy))/rms(z) for one row, the gradient of both summands of `add_and_norm`.
inline void norm_backward(const number* y, const number* dy, float scale, number* dz, int64_t width) {
    Vector products = broadcast(0);
    for (int64_t c = 0; c < width; c += LANES) products = multiply_add(load(y + c), load(dy + c), products);
    const Vector mean = broadcast(reduce_sum(products) / width);
    for (int64_t c = 0; c < width; c += LANES) {
        const Vector centred = subtract_product(load(y + c), mean, load(dy + c));
        store(dz + c, centred * broadcast(scale));
    }
}

// Stores x + sums as numbers of the build's type, for one row.
inline void add_row(const number* x, const float* sums, number* to, int64_t width) {
    for (int64_t c = 0; c < width; c += LANES) store(to + c, load(sums + c) + load(x + c));
}

// Stores sums as numbers of the build's type, for one row.
inline void round_row(const float* sums, number* to, int64_t width) {
    for (int64_t c = 0; c < width; c += LANES) store(to + c, load(sums + c));
}

// Rotates the halves of a row, (x₁, x₂) → (x₁cos − x₂sin, x₂cos + x₁sin), or back, or copies the row where `cos` is
// null. `half` is a multiple of 8.
template <bool IsInverse, class From>
inline void rotate(const From* from, const float* cos, const float* sin, int64_t half, number* to) {
    if (cos == nullptr) {
        for (int64_t c = 0; c < 2 * half; c += LANES) store(to + c, load(from + c));
        return;
    }
    if (2 * half == LANES) {  // both halves at once
        const Vector x = load(from), cross = swap_halves(x) * load_twice(sin) * opposite_halves(IsInverse ? 1.f : -1.f);
        store(to, multiply_add(x, load_twice(cos), cross));
        return;
    }
    int64_t c = 0;
    for (; c + LANES <= half; c += LANES) {
        const Vector first = load(from + c), second = load(from + half + c), cosine = load(cos + c),
                     sine = load(sin + c);
        const Vector first_sine = first * sine, second_sine = second * sine;
        store(to + c,
              IsInverse ? multiply_add(first, cosine, second_sine) : multiply_subtract(first, cosine, second_sine));
        store(to + half + c,
              IsInverse ? multiply_subtract(second, cosine, first_sine) : multiply_add(second, cosine, first_sine));
    }
    if (c < half) {
        const Mask mask = first_lanes(half - c);
        const Vector first = load(mask, from + c), second = load(mask, from + half + c);
        const Vector cosine = load(mask, cos + c), sine = load(mask, sin + c);
        const Vector first_sine = first * sine, second_sine = second * sine;
        const Vector rotated_first =
            IsInverse ? multiply_add(first, cosine, second_sine) : multiply_subtract(first, cosine, second_sine);
        const Vector rotated_second =
            IsInverse ? multiply_subtract(second, cosine, first_sine) : multiply_add(second, cosine, first_sine);
        store(mask, to + c, rotated_first), store(mask, to + half + c, rotated_second);
    }
}
