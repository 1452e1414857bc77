// Adam-atan2 in one pass over a parameter, its gradient and its two moments.
#pragma once

#include "vector.h"

// The factors of step t.
struct AdamAtan2 {
    float rate;                        // the learning rate
    float decay;                       // 1 − rate · weight decay
    float mean_share;                  // 1 − β₁
    float square_decay, square_share;  // β₂, 1 − β₂
    float mean_factor, square_factor;  // 1/(1 − β₁ᵗ), 1/(1 − β₂ᵗ)
    int32_t threads;
};

constexpr float HALF_PI = 1.57079633f;

// The angle of (x, y) for x ≥ 0, to about one unit in the last place; 0 at the origin, NaN if y is NaN.
inline Vector angle(Vector y, Vector x) {
    const Vector height = absolute(y);
    const Mask is_steep = is_greater(height, x);
    // x and y are not both subnormal, because x is the square root of a number.
    const Vector slope = minimum(x, height) / maximum(maximum(x, height), broadcast(1.17549435e-38f)),
                 square = slope * slope;
    // The polynomial P of degree 7 for which t + t³·P(t²) has the least maximum relative error to arctan t, 0 ≤ t ≤
    // 1: 1.7e-8.
    Vector sum = broadcast(2.92069092e-3f);
    for (const float factor :
         {-1.63679235e-2f, 4.32118513e-2f, -7.55221397e-2f, 0.106660046f, -0.142110556f, 0.199937731f, -0.333331525f})
        sum = multiply_add(sum, square, broadcast(factor));
    const Vector flat = multiply_add(slope, sum * square, slope);
    return copy_sign(where(is_steep, broadcast(HALF_PI) - flat, flat), y);
}

// Updates 16 numbers of a parameter and of its moments.
inline void update(const AdamAtan2& a, Vector gradient, Vector& parameter, Vector& mean, Vector& square) {
    mean = multiply_add(broadcast(a.mean_share), gradient - mean, mean);
    square = multiply_add(gradient * broadcast(a.square_share), gradient, square * broadcast(a.square_decay));
    const Vector direction = angle(mean * broadcast(a.mean_factor), square_root(square * broadcast(a.square_factor)));
    parameter = subtract_product(broadcast(a.rate), direction, parameter * broadcast(a.decay));
}

// Updates a whole parameter, in chunks that the threads share out.
inline void update_parameter(const AdamAtan2& a, const float* gradient, float* parameter, float* mean, float* square,
                             int64_t num) {
    constexpr int64_t chunk = 1 << 14;  // a multiple of 16
#pragma omp parallel for num_threads(a.threads) schedule(static)
    for (int64_t first = 0; first < num; first += chunk) {
        const int64_t end = std::min(first + chunk, num), whole = first + (end - first) / LANES * LANES;
        for (int64_t i = first; i < whole; i += LANES) {
            Vector p = load(parameter + i), m = load(mean + i), s = load(square + i);
            update(a, load(gradient + i), p, m, s);
            store(parameter + i, p), store(mean + i, m), store(square + i, s);
        }
        if (whole == end) continue;
        const Mask mask = first_lanes(end - whole);
        Vector p = load(mask, parameter + whole), m = load(mask, mean + whole), s = load(mask, square + whole);
        update(a, load(mask, gradient + whole), p, m, s);
        store(mask, parameter + whole, p), store(mask, mean + whole, m), store(mask, square + whole, s);
    }
}
