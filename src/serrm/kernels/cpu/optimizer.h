// An update of Adam-atan2 in one pass over a parameter, its gradient and its two moments.
#pragma once

#include "vector.h"

// Factors of an update, all of a number of steps t.
struct AdamAtan2 {
    float rate;                      // of learning
    float decay;                     // 1 − rate · weight decay
    float mean_share;                // 1 − β₁
    float square_kept, square_share;  // β₂, 1 − β₂
    float mean_factor, square_factor;  // 1/(1 − β₁ᵗ), 1/(1 − β₂ᵗ)
    int32_t threads;
};

constexpr float HALF_PI = 1.57079633f;

// The angle of (x, y) for x ≥ 0, to about one unit in the last place; 0 at the origin, not a number if y is none.
inline Vector angle(Vector y, Vector x) {
    const Vector height = absolute(y);
    const Mask is_steep = is_greater(height, x);
    // x and y are not both subnormal: x is the root of a number.
    const Vector slope = smaller(x, height) / larger(larger(x, height), all(1.17549435e-38f)), square = slope * slope;
    // Of the polynomials P of degree 7, the one whose largest relative error in t + t³·P(t²) ≈ arctan t, 0 ≤ t ≤ 1, is
    // least: 1.7e-8.
    Vector sum = all(2.92069092e-3f);
    for (const float factor : {-1.63679235e-2f, 4.32118513e-2f, -7.55221397e-2f, 0.106660046f, -0.142110556f, 0.199937731f,
                               -0.333331525f})
        sum = multiply_add(sum, square, all(factor));
    const Vector flat = multiply_add(slope, sum * square, slope);
    return with_sign(choose(is_steep, all(HALF_PI) - flat, flat), y);
}

// 16 numbers of each, updated.
inline void update(const AdamAtan2& a, Vector gradient, Vector& parameter, Vector& mean, Vector& square) {
    mean = multiply_add(all(a.mean_share), gradient - mean, mean);
    square = multiply_add(gradient * all(a.square_share), gradient, square * all(a.square_kept));
    const Vector turn = angle(mean * all(a.mean_factor), root(square * all(a.square_factor)));
    parameter = subtract_product(all(a.rate), turn, parameter * all(a.decay));
}

// Parts of `each` numbers, a multiple of 16, are split over the threads.
inline void update_all(const AdamAtan2& a, const float* gradient, float* parameter, float* mean, float* square, int64_t num) {
    constexpr int64_t each = 1 << 14;
#pragma omp parallel for num_threads(a.threads) schedule(static)
    for (int64_t first = 0; first < num; first += each) {
        const int64_t end = std::min(first + each, num), whole = first + (end - first) / LANES * LANES;
        for (int64_t at = first; at < whole; at += LANES) {
            Vector p = load(parameter + at), m = load(mean + at), s = load(square + at);
            update(a, load(gradient + at), p, m, s);
            store(parameter + at, p), store(mean + at, m), store(square + at, s);
        }
        if (whole == end) continue;
        const Mask here = first_places(end - whole);
        Vector p = load(here, parameter + whole), m = load(here, mean + whole), s = load(here, square + whole);
        update(a, load(here, gradient + whole), p, m, s);
        store(here, parameter + whole, p), store(here, mean + whole, m), store(here, square + whole, s);
    }
}
