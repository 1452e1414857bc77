// 16 numbers of float32 at once: one register of AVX-512, or two of AVX2 and FMA. All other files use these alone.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

using std::int64_t;
constexpr int LANES = 16;

// To be called behind the last `store_past_cache` of a thread, before others read what it stored.
inline void finish_stores() { _mm_sfence(); }

#ifdef __AVX512F__

constexpr bool HAS_AVX512 = true;
using Vector = __m512;
using Integers = __m512i;  // 16 of 32 bits
using Mask = __mmask16;

inline Vector all(float x) { return _mm512_set1_ps(x); }
inline Vector load(const float* from) { return _mm512_loadu_ps(from); }
inline void store(float* to, Vector x) { _mm512_storeu_ps(to, x); }
inline void store_past_cache(float* to, Vector x) { _mm512_stream_ps(to, x); }  // `to` at a multiple of 64 bytes
inline Vector multiply_add(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
inline Vector multiply_subtract(Vector a, Vector b, Vector c) { return _mm512_fmsub_ps(a, b, c); }
inline Vector subtract_product(Vector a, Vector b, Vector c) { return _mm512_fnmadd_ps(a, b, c); }  // c − a·b
inline Vector larger(Vector a, Vector b) { return _mm512_max_ps(a, b); }
inline Vector smaller(Vector a, Vector b) { return _mm512_min_ps(a, b); }  // b where one of them is not a number
inline Vector root(Vector x) { return _mm512_sqrt_ps(x); }
inline float sum_of(Vector x) { return _mm512_reduce_add_ps(x); }
inline float largest_of(Vector x) { return _mm512_reduce_max_ps(x); }
inline Mask is_greater(Vector a, Vector b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
// x·2ⁿ for whole n where the mask is on, else 0.
inline Vector times_power(Mask here, Vector x, Vector n) { return _mm512_maskz_scalef_ps(here, x, n); }
inline Vector where(Mask here, Vector x) { return _mm512_maskz_mov_ps(here, x); }
inline Vector choose(Mask here, Vector x, Vector other) { return _mm512_mask_mov_ps(other, here, x); }
inline Vector absolute(Vector x) { return _mm512_abs_ps(x); }
// x ≥ 0 with the sign of `of`.
inline Vector with_sign(Vector x, Vector of) { return _mm512_or_ps(x, _mm512_and_ps(of, all(-0.f))); }

inline Vector load_twice(const float* from) { return _mm512_broadcast_f32x8(_mm256_loadu_ps(from)); }  // 8 numbers
inline Vector with_halves_swapped(Vector x) { return _mm512_shuffle_f32x4(x, x, 0x4e); }
inline Vector halves(float x) { return _mm512_mask_mov_ps(all(-x), 0x00ff, all(x)); }  // 8 times x, 8 times −x

// The first `left` of 16 places.
inline Mask first_places(int64_t left) { return left >= LANES ? 0xffff : (1 << std::max<int64_t>(0, left)) - 1; }
inline Vector load(Mask here, const float* from) { return _mm512_maskz_loadu_ps(here, from); }
inline Vector load_or(Mask here, const float* from, Vector other) { return _mm512_mask_loadu_ps(other, here, from); }
inline void store(Mask here, float* to, Vector x) { _mm512_mask_storeu_ps(to, here, x); }

inline Integers all_integers(uint32_t x) { return _mm512_set1_epi32((int)x); }
inline Integers load_integers(const void* from) { return _mm512_loadu_si512(from); }
inline Integers load_integers(Mask here, const void* from) { return _mm512_maskz_loadu_epi32(here, from); }
inline void store_integers(void* to, Integers x) { _mm512_storeu_si512(to, x); }
inline Integers zero_to_fifteen() { return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }
inline Integers xor_shifted(Integers x, int bits) { return _mm512_xor_si512(x, _mm512_srli_epi32(x, bits)); }
inline Integers product_of(Integers a, Integers b) { return _mm512_mullo_epi32(a, b); }
inline Integers sum_of(Integers a, Integers b) { return _mm512_add_epi32(a, b); }
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
struct Integers {  // 16 of 32 bits
    __m256i low, high;
};
struct Mask {
    __m256i low, high;  // ones in every bit where it is on
};

inline Vector operator+(Vector a, Vector b) { return {a.low + b.low, a.high + b.high}; }
inline Vector operator-(Vector a, Vector b) { return {a.low - b.low, a.high - b.high}; }
inline Vector operator*(Vector a, Vector b) { return {a.low * b.low, a.high * b.high}; }
inline Vector operator/(Vector a, Vector b) { return {a.low / b.low, a.high / b.high}; }
inline Vector all(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline Vector load(const float* from) { return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)}; }
inline void store(float* to, Vector x) { _mm256_storeu_ps(to, x.low), _mm256_storeu_ps(to + 8, x.high); }
// `to` is at a multiple of 64 bytes.
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
inline Vector larger(Vector a, Vector b) { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
inline Vector smaller(Vector a, Vector b) {  // b where one of them is not a number
    return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
}
inline Vector root(Vector x) { return {_mm256_sqrt_ps(x.low), _mm256_sqrt_ps(x.high)}; }
inline float sum_of(Vector x) {
    const __m256 eight = x.low + x.high;
    __m128 four = _mm256_castps256_ps128(eight) + _mm256_extractf128_ps(eight, 1);
    four = four + _mm_movehl_ps(four, four);
    return four[0] + four[1];
}
inline float largest_of(Vector x) {
    const __m256 eight = _mm256_max_ps(x.low, x.high);
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return std::max(four[0], four[1]);
}
inline Mask is_greater(Vector a, Vector b) {
    return {_mm256_castps_si256(_mm256_cmp_ps(a.low, b.low, _CMP_GT_OQ)),
            _mm256_castps_si256(_mm256_cmp_ps(a.high, b.high, _CMP_GT_OQ))};
}
inline __m256 where(__m256i here, __m256 x) { return _mm256_and_ps(_mm256_castsi256_ps(here), x); }
inline Vector where(Mask here, Vector x) { return {where(here.low, x.low), where(here.high, x.high)}; }
inline Vector choose(Mask here, Vector x, Vector other) {
    return {_mm256_blendv_ps(other.low, x.low, _mm256_castsi256_ps(here.low)),
            _mm256_blendv_ps(other.high, x.high, _mm256_castsi256_ps(here.high))};
}
inline Vector absolute(Vector x) {
    const __m256 sign = _mm256_set1_ps(-0.f);
    return {_mm256_andnot_ps(sign, x.low), _mm256_andnot_ps(sign, x.high)};
}
// x ≥ 0 with the sign of `of`.
inline Vector with_sign(Vector x, Vector of) {
    const __m256 sign = _mm256_set1_ps(-0.f);
    return {_mm256_or_ps(x.low, _mm256_and_ps(of.low, sign)), _mm256_or_ps(x.high, _mm256_and_ps(of.high, sign))};
}
inline __m256 times_power(__m256 x, __m256 n) {  // adds n to the exponent, which has to stay one of a normal number
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23)));
}
// x·2ⁿ for whole n where the mask is on, else 0.
inline Vector times_power(Mask here, Vector x, Vector n) {
    return where(here, Vector{times_power(x.low, n.low), times_power(x.high, n.high)});
}

inline Vector load_twice(const float* from) { return {_mm256_loadu_ps(from), _mm256_loadu_ps(from)}; }  // 8 numbers
inline Vector with_halves_swapped(Vector x) { return {x.high, x.low}; }
inline Vector halves(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(-x)}; }  // 8 times x, 8 times −x

inline Integers all_integers(uint32_t x) { return {_mm256_set1_epi32((int)x), _mm256_set1_epi32((int)x)}; }
inline Integers zero_to_fifteen() {
    return {_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15)};
}
// The first `left` of 16 places.
inline Mask first_places(int64_t left) {
    const __m256i number = _mm256_set1_epi32((int)std::min<int64_t>(left, LANES));
    const Integers place = zero_to_fifteen();
    return {_mm256_cmpgt_epi32(number, place.low), _mm256_cmpgt_epi32(number, place.high)};
}
inline Vector load(Mask here, const float* from) {
    return {_mm256_maskload_ps(from, here.low), _mm256_maskload_ps(from + 8, here.high)};
}
inline Vector load_or(Mask here, const float* from, Vector other) {
    return choose(here, load(here, from), other);
}
inline void store(Mask here, float* to, Vector x) {
    _mm256_maskstore_ps(to, here.low, x.low), _mm256_maskstore_ps(to + 8, here.high, x.high);
}

inline Integers load_integers(const void* from) {
    const auto place = static_cast<const __m256i*>(from);
    return {_mm256_loadu_si256(place), _mm256_loadu_si256(place + 1)};
}
inline Integers load_integers(Mask here, const void* from) {
    const auto place = static_cast<const int*>(from);
    return {_mm256_maskload_epi32(place, here.low), _mm256_maskload_epi32(place + 8, here.high)};
}
inline void store_integers(void* to, Integers x) {
    const auto place = static_cast<__m256i*>(to);
    _mm256_storeu_si256(place, x.low), _mm256_storeu_si256(place + 1, x.high);
}
inline __m256i xor_shifted(__m256i x, int bits) { return _mm256_xor_si256(x, _mm256_srli_epi32(x, bits)); }
inline Integers xor_shifted(Integers x, int bits) { return {xor_shifted(x.low, bits), xor_shifted(x.high, bits)}; }
inline Integers product_of(Integers a, Integers b) {
    return {_mm256_mullo_epi32(a.low, b.low), _mm256_mullo_epi32(a.high, b.high)};
}
inline Integers sum_of(Integers a, Integers b) {
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
    __m256i parts[2][2][8];  // upper or lower rows, left or right columns
    for (int i = 0; i < 16; i++) parts[i / 8][0][i % 8] = r[i].low, parts[i / 8][1][i % 8] = r[i].high;
    for (auto& rows : parts)
        for (auto& part : rows) transpose8(part);
    for (int i = 0; i < 16; i++) r[i] = {parts[0][i / 8][i % 8], parts[1][i / 8][i % 8]};
}

#endif
