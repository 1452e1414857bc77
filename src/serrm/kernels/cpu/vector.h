// Vectors of 16 float32 numbers: one register of AVX-512, or two of AVX2 and FMA.
//
// The kernels compute with float32 numbers through these functions only, so both builds give the same numbers.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

using std::int64_t;
constexpr int LANES = 16;

// Completes a thread's `store_past_cache`. Call it before other threads read what was stored.
inline void finish_stores() { _mm_sfence(); }

#ifdef __AVX512F__

constexpr bool HAS_AVX512 = true;
using Vector = __m512;
using Integers = __m512i;  // 16 integers of 32 bits
using Mask = __mmask16;

inline Vector broadcast(float x) { return _mm512_set1_ps(x); }
inline Vector load(const float* from) { return _mm512_loadu_ps(from); }
inline void store(float* to, Vector x) { _mm512_storeu_ps(to, x); }
inline void store_past_cache(float* to, Vector x) { _mm512_stream_ps(to, x); }  // `to` is aligned to 64 bytes
inline Vector multiply_add(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
inline Vector multiply_subtract(Vector a, Vector b, Vector c) { return _mm512_fmsub_ps(a, b, c); }
inline Vector subtract_product(Vector a, Vector b, Vector c) { return _mm512_fnmadd_ps(a, b, c); }  // c − a·b
inline Vector maximum(Vector a, Vector b) { return _mm512_max_ps(a, b); }
inline Vector minimum(Vector a, Vector b) { return _mm512_min_ps(a, b); }  // b where a or b is NaN
inline Vector square_root(Vector x) { return _mm512_sqrt_ps(x); }
inline float reduce_sum(Vector x) { return _mm512_reduce_add_ps(x); }
inline float reduce_maximum(Vector x) { return _mm512_reduce_max_ps(x); }
inline Mask is_greater(Vector a, Vector b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
// x·2ⁿ for whole n where the mask is on, 0 elsewhere.
inline Vector scale_by_power(Mask mask, Vector x, Vector n) { return _mm512_maskz_scalef_ps(mask, x, n); }
inline Vector where(Mask mask, Vector x) { return _mm512_maskz_mov_ps(mask, x); }
inline Vector where(Mask mask, Vector x, Vector other) { return _mm512_mask_mov_ps(other, mask, x); }
inline Vector absolute(Vector x) { return _mm512_abs_ps(x); }
// x ≥ 0 with the sign of `sign`.
inline Vector copy_sign(Vector x, Vector sign) { return _mm512_or_ps(x, _mm512_and_ps(sign, broadcast(-0.f))); }

inline Vector load_twice(const float* from) { return _mm512_broadcast_f32x8(_mm256_loadu_ps(from)); }  // 8 numbers
inline Vector swap_halves(Vector x) { return _mm512_shuffle_f32x4(x, x, 0x4e); }
inline Vector opposite_halves(float x) {
    return _mm512_mask_mov_ps(broadcast(-x), 0x00ff, broadcast(x));
}  // 8 times x, 8 times −x

// The mask of the first `num` lanes.
inline Mask first_lanes(int64_t num) { return num >= LANES ? 0xffff : (1 << std::max<int64_t>(0, num)) - 1; }
inline Vector load(Mask mask, const float* from) { return _mm512_maskz_loadu_ps(mask, from); }
inline Vector load_or(Mask mask, const float* from, Vector other) { return _mm512_mask_loadu_ps(other, mask, from); }
inline void store(Mask mask, float* to, Vector x) { _mm512_mask_storeu_ps(to, mask, x); }

inline Integers broadcast_integer(uint32_t x) { return _mm512_set1_epi32((int)x); }
inline Integers load_integers(const void* from) { return _mm512_loadu_si512(from); }
inline Integers load_integers(Mask mask, const void* from) { return _mm512_maskz_loadu_epi32(mask, from); }
inline void store_integers(void* to, Integers x) { _mm512_storeu_si512(to, x); }
inline Integers lane_indices() { return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }
inline Integers xor_shift(Integers x, int bits) { return _mm512_xor_si512(x, _mm512_srli_epi32(x, bits)); }
inline Integers multiply_integers(Integers a, Integers b) { return _mm512_mullo_epi32(a, b); }
inline Integers add_integers(Integers a, Integers b) { return _mm512_add_epi32(a, b); }
inline Mask is_at_least(Integers a, Integers b) { return _mm512_cmpge_epu32_mask(a, b); }

// Transposes 16 × 16 numbers of 32 bits.
inline void transpose16(Integers (&r)[16]) {
    Integers t[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
    }
    for (int i = 0; i < 8; i++) {
        r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    }
}

#else

constexpr bool HAS_AVX512 = false;

struct Vector {
    __m256 low, high;
};
struct Integers {  // 16 integers of 32 bits
    __m256i low, high;
};
struct Mask {
    __m256i low, high;  // ones in every bit where it is on
};

inline Vector operator+(Vector a, Vector b) { return {a.low + b.low, a.high + b.high}; }
inline Vector operator-(Vector a, Vector b) { return {a.low - b.low, a.high - b.high}; }
inline Vector operator*(Vector a, Vector b) { return {a.low * b.low, a.high * b.high}; }
inline Vector operator/(Vector a, Vector b) { return {a.low / b.low, a.high / b.high}; }
inline Vector broadcast(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline Vector load(const float* from) { return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)}; }
inline void store(float* to, Vector x) { _mm256_storeu_ps(to, x.low), _mm256_storeu_ps(to + 8, x.high); }
// `to` is aligned to 64 bytes.
inline void store_past_cache(float* to, Vector x) { _mm256_stream_ps(to, x.low), _mm256_stream_ps(to + 8, x.high); }
inline Vector multiply_add(Vector a, Vector b, Vector c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
inline Vector multiply_subtract(Vector a, Vector b, Vector c) {
    return {_mm256_fmsub_ps(a.low, b.low, c.low), _mm256_fmsub_ps(a.high, b.high, c.high)};
}
inline Vector subtract_product(Vector a, Vector b, Vector c) {  // c − a·b
    return {_mm256_fnmadd_ps(a.low, b.low, c.low), _mm256_fnmadd_ps(a.high, b.high, c.high)};
}
inline Vector maximum(Vector a, Vector b) { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
inline Vector minimum(Vector a, Vector b) {  // b where a or b is NaN
    return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
}
inline Vector square_root(Vector x) { return {_mm256_sqrt_ps(x.low), _mm256_sqrt_ps(x.high)}; }
inline float reduce_sum(Vector x) {
    const __m256 eight = x.low + x.high;
    __m128 four = _mm256_castps256_ps128(eight) + _mm256_extractf128_ps(eight, 1);
    four = four + _mm_movehl_ps(four, four);
    return four[0] + four[1];
}
inline float reduce_maximum(Vector x) {
    const __m256 eight = _mm256_max_ps(x.low, x.high);
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return std::max(four[0], four[1]);
}
inline Mask is_greater(Vector a, Vector b) {
    return {_mm256_castps_si256(_mm256_cmp_ps(a.low, b.low, _CMP_GT_OQ)),
            _mm256_castps_si256(_mm256_cmp_ps(a.high, b.high, _CMP_GT_OQ))};
}
inline __m256 where(__m256i mask, __m256 x) { return _mm256_and_ps(_mm256_castsi256_ps(mask), x); }
inline Vector where(Mask mask, Vector x) { return {where(mask.low, x.low), where(mask.high, x.high)}; }
inline Vector where(Mask mask, Vector x, Vector other) {
    return {_mm256_blendv_ps(other.low, x.low, _mm256_castsi256_ps(mask.low)),
            _mm256_blendv_ps(other.high, x.high, _mm256_castsi256_ps(mask.high))};
}
inline Vector absolute(Vector x) {
    const __m256 sign_bit = _mm256_set1_ps(-0.f);
    return {_mm256_andnot_ps(sign_bit, x.low), _mm256_andnot_ps(sign_bit, x.high)};
}
// x ≥ 0 with the sign of `sign`.
inline Vector copy_sign(Vector x, Vector sign) {
    const __m256 sign_bit = _mm256_set1_ps(-0.f);
    return {_mm256_or_ps(x.low, _mm256_and_ps(sign.low, sign_bit)),
            _mm256_or_ps(x.high, _mm256_and_ps(sign.high, sign_bit))};
}
inline __m256 scale_by_power(__m256 x, __m256 n) {  // adds n to the exponent; x·2ⁿ must be a normal number
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23)));
}
// x·2ⁿ for whole n where the mask is on, 0 elsewhere.
inline Vector scale_by_power(Mask mask, Vector x, Vector n) {
    return where(mask, Vector{scale_by_power(x.low, n.low), scale_by_power(x.high, n.high)});
}

inline Vector load_twice(const float* from) { return {_mm256_loadu_ps(from), _mm256_loadu_ps(from)}; }  // 8 numbers
inline Vector swap_halves(Vector x) { return {x.high, x.low}; }
inline Vector opposite_halves(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(-x)}; }  // 8 times x, 8 times −x

inline Integers broadcast_integer(uint32_t x) { return {_mm256_set1_epi32((int)x), _mm256_set1_epi32((int)x)}; }
inline Integers lane_indices() {
    return {_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15)};
}
// The mask of the first `num` lanes.
inline Mask first_lanes(int64_t num) {
    const __m256i end = _mm256_set1_epi32((int)std::min<int64_t>(num, LANES));
    const Integers lanes = lane_indices();
    return {_mm256_cmpgt_epi32(end, lanes.low), _mm256_cmpgt_epi32(end, lanes.high)};
}
inline Vector load(Mask mask, const float* from) {
    return {_mm256_maskload_ps(from, mask.low), _mm256_maskload_ps(from + 8, mask.high)};
}
inline Vector load_or(Mask mask, const float* from, Vector other) { return where(mask, load(mask, from), other); }
inline void store(Mask mask, float* to, Vector x) {
    _mm256_maskstore_ps(to, mask.low, x.low), _mm256_maskstore_ps(to + 8, mask.high, x.high);
}

inline Integers load_integers(const void* from) {
    const auto halves = static_cast<const __m256i*>(from);
    return {_mm256_loadu_si256(halves), _mm256_loadu_si256(halves + 1)};
}
inline Integers load_integers(Mask mask, const void* from) {
    const auto integers = static_cast<const int*>(from);
    return {_mm256_maskload_epi32(integers, mask.low), _mm256_maskload_epi32(integers + 8, mask.high)};
}
inline void store_integers(void* to, Integers x) {
    const auto halves = static_cast<__m256i*>(to);
    _mm256_storeu_si256(halves, x.low), _mm256_storeu_si256(halves + 1, x.high);
}
inline __m256i xor_shift(__m256i x, int bits) { return _mm256_xor_si256(x, _mm256_srli_epi32(x, bits)); }
inline Integers xor_shift(Integers x, int bits) { return {xor_shift(x.low, bits), xor_shift(x.high, bits)}; }
inline Integers multiply_integers(Integers a, Integers b) {
    return {_mm256_mullo_epi32(a.low, b.low), _mm256_mullo_epi32(a.high, b.high)};
}
inline Integers add_integers(Integers a, Integers b) {
    return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
}
inline __m256i is_at_least(__m256i a, __m256i b) { return _mm256_cmpeq_epi32(_mm256_max_epu32(a, b), a); }
inline Mask is_at_least(Integers a, Integers b) { return {is_at_least(a.low, b.low), is_at_least(a.high, b.high)}; }

// Transposes 8 × 8 numbers of 32 bits.
inline void transpose8(__m256i (&r)[8]) {
    __m256i t[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_unpacklo_epi64(t[i], t[i + 2]);
        r[i + 1] = _mm256_unpackhi_epi64(t[i], t[i + 2]);
        r[i + 2] = _mm256_unpacklo_epi64(t[i + 1], t[i + 3]);
        r[i + 3] = _mm256_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        t[i] = _mm256_permute2x128_si256(r[i], r[i + 4], 0x20);
        t[i + 4] = _mm256_permute2x128_si256(r[i], r[i + 4], 0x31);
    }
    for (int i = 0; i < 8; i++) r[i] = t[i];
}

// Transposes 16 × 16 numbers of 32 bits.
inline void transpose16(Integers (&r)[16]) {
    __m256i blocks[2][2][8];  // [upper or lower rows][left or right columns]
    for (int i = 0; i < 16; i++) blocks[i / 8][0][i % 8] = r[i].low, blocks[i / 8][1][i % 8] = r[i].high;
    for (auto& half : blocks)
        for (auto& block : half) transpose8(block);
    for (int i = 0; i < 16; i++) r[i] = {blocks[0][i / 8][i % 8], blocks[1][i / 8][i % 8]};
}

#endif
