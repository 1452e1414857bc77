// Arithmetic on rows: the exponential, SiLU, RMSNorm behind a residual addition, rotary positions.
#pragma once

#include "tile.h"

constexpr float NORM_EPS = 1e-5f;

// eˣ to about one unit in the last place (of 24 bits), 0 for x ≤ −87: soon below, results would be subnormal numbers, which
// take Intel's CPUs long.
inline __m512 exponential(__m512 x) {
    const __mmask16 is_normal = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-87.f), _CMP_GT_OQ);
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), 8);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);  // ln 2 in two parts
    r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
    __m512 sum = _mm512_set1_ps(1.f / 720);  // Taylor to r⁶: |r| ≤ ln 2 / 2, so the rest is below 2⁻²³
    for (const float factor : {1.f / 120, 1.f / 24, 1.f / 6, 0.5f, 1.f, 1.f})
        sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(factor));
    return _mm512_maskz_scalef_ps(is_normal, sum, n);
}

inline __m512 sigmoid(__m512 x) {
    const __m512 one = _mm512_set1_ps(1.f);
    return _mm512_div_ps(one, _mm512_add_ps(one, exponential(_mm512_sub_ps(_mm512_setzero_ps(), x))));
}

// y = z/rms(z) with z = x + sums, for one row; returns 1/rms(z). `sums` is overwritten with z.
inline float add_and_norm(const bf16* x, float* sums, bf16* y, int64_t width) {
    __m512 squares = _mm512_setzero_ps();
    for (int64_t c = 0; c < width; c += LANES) {
        const __m512 z = _mm512_add_ps(_mm512_loadu_ps(sums + c), load(x + c));
        _mm512_storeu_ps(sums + c, z);
        squares = _mm512_fmadd_ps(z, z, squares);
    }
    const float scale = 1.f / std::sqrt(_mm512_reduce_add_ps(squares) / width + NORM_EPS);
    for (int64_t c = 0; c < width; c += LANES)
        store(y + c, _mm512_mul_ps(_mm512_loadu_ps(sums + c), _mm512_set1_ps(scale)));
    return scale;
}

// dz = (dy − y·mean(y·dy))/rms(z), for one row: the gradient of `add_and_norm` in both of its summands.
inline void norm_backward(const bf16* y, const bf16* dy, float scale, bf16* dz, int64_t width) {
    __m512 products = _mm512_setzero_ps();
    for (int64_t c = 0; c < width; c += LANES) products = _mm512_fmadd_ps(load(y + c), load(dy + c), products);
    const __m512 mean = _mm512_set1_ps(_mm512_reduce_add_ps(products) / width);
    for (int64_t c = 0; c < width; c += LANES) {
        const __m512 centred = _mm512_fnmadd_ps(load(y + c), mean, load(dy + c));
        store(dz + c, _mm512_mul_ps(centred, _mm512_set1_ps(scale)));
    }
}

// to = x + sums, rounded, for one row.
inline void add_row(const bf16* x, const float* sums, bf16* to, int64_t width) {
    for (int64_t c = 0; c < width; c += LANES)
        store(to + c, _mm512_add_ps(_mm512_loadu_ps(sums + c), load(x + c)));
}

inline __m512 load(__mmask16 here, const float* from) { return _mm512_maskz_loadu_ps(here, from); }

inline __m512 load(__mmask16 here, const bf16* from) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(here, from)), 16));
}

inline void store(__mmask16 here, bf16* to, __m512 value) {
    if (here == 0xffff)
        store(to, value);  // several times as fast
    else
        _mm256_mask_storeu_epi16(to, here, (__m256i)_mm512_cvtneps_pbh(value));
}

// The first `left` of 16 places.
inline __mmask16 first_places(int64_t left) { return left >= LANES ? 0xffff : (1 << std::max<int64_t>(0, left)) - 1; }

// (x₁, x₂) → (x₁cos − x₂sin, x₂cos + x₁sin), or back; a copy where there is no rotation.
template <bool IsBack, class From>
inline void rotate(const From* from, const float* cos, const float* sin, int64_t half, bf16* to) {
    for (int64_t c = 0; c < half; c += LANES) {
        const __mmask16 here = first_places(half - c);
        const __m512 first = load(here, from + c), second = load(here, from + half + c);
        if (cos == nullptr) {
            store(here, to + c, first), store(here, to + half + c, second);
            continue;
        }
        const __m512 co = load(here, cos + c), si = load(here, sin + c);
        const __m512 of_first = _mm512_mul_ps(first, si), of_second = _mm512_mul_ps(second, si);
        const __m512 turned_first = IsBack ? _mm512_fmadd_ps(first, co, of_second) : _mm512_fmsub_ps(first, co, of_second);
        const __m512 turned_second = IsBack ? _mm512_fmsub_ps(second, co, of_first) : _mm512_fmadd_ps(second, co, of_first);
        store(here, to + c, turned_first), store(here, to + half + c, turned_second);
    }
}
