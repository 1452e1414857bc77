// Bringing operands into the order in which products read them.
#pragma once

#include "tile.h"

constexpr int64_t AHEAD = 8;  // rows that are asked for before they are needed

// Two rows of 16 numbers as 16 pairs; a missing row is zeros.
inline __m512i pairs_of(const bf16* first, const bf16* second) {
    const __m512i low = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)first));
    if (second == nullptr) return low;
    const __m512i high = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)second));
    return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}

// Rows s, s+1 side by side as pairs: `rows` × `columns` (a multiple of 16) → lines of pairs along the rows.
inline void pair_rows(const bf16* from, int64_t row, int64_t rows, int64_t columns, pair* to, int64_t line) {
    for (int64_t s = 0; s < rows; s += 2)
        for (int64_t c = 0; c < columns; c += LANES) {
            const bf16* first = from + s * row + c;
            _mm_prefetch((const char*)(first + AHEAD * row), _MM_HINT_T0);
            _mm_prefetch((const char*)(first + (AHEAD + 1) * row), _MM_HINT_T0);
            _mm512_storeu_si512(to + s / 2 * line + c, pairs_of(first, s + 1 < rows ? first + row : nullptr));
        }
}

// The same in panels of 64, 32 and 16 columns, as `product` reads them.
inline void pair_panels(const bf16* from, int64_t row, int64_t rows, int64_t columns, pair* to) {
    const int64_t lines = (rows + 1) / 2;
    for (int64_t s = 0; s < rows; s += 2)
        for (int64_t c = 0; c < columns; c += panel_width(columns - c))
            pair_rows(from + s * row + c, row, std::min<int64_t>(2, rows - s), panel_width(columns - c),
                      to + c * lines + s / 2 * panel_width(columns - c), 0);
}

// Transposes 16 × 16 pairs.
inline void transpose16(__m512i (&r)[16]) {
    __m512i t[16];
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

// Columns become rows, two numbers a pair: `rows` × `columns` (a multiple of 16) → for each column a line of pairs along
// the rows, with zeros up to a multiple of 16 pairs.
inline void turn_pairs(const bf16* from, int64_t row, int64_t rows, int64_t columns, pair* to, int64_t line) {
    for (int64_t s = 0; s < rows; s += 2 * LANES)
        for (int64_t c = 0; c < columns; c += LANES) {
            __m512i block[LANES];
            for (int64_t k = 0; k < LANES; k++) {
                const int64_t first = s + 2 * k;
                if (first >= rows) {
                    block[k] = _mm512_setzero_si512();
                    continue;
                }
                const bf16* here = from + first * row + c;
                block[k] = pairs_of(here, first + 1 < rows ? here + row : nullptr);
            }
            transpose16(block);
            for (int64_t k = 0; k < LANES; k++) _mm512_storeu_si512(to + (c + k) * line + s / 2, block[k]);
        }
}

// How far apart the pairs of a left operand stand: from row to row, and within a row.
struct Left {
    int64_t row, step;
};

// The left operand of a product whose summed axis is the rows: `rows` × `columns` (a multiple of 16) → pairs along the
// rows. `to` has room for `most` (a multiple of 16) a column.
inline Left left_across(const bf16* from, int64_t row, int64_t rows, int64_t columns, pair* to, int64_t most) {
    if constexpr (HAS_TILES) {
        turn_pairs(from, row, rows, columns, to, most);
        return {most, 1};
    }
    pair_rows(from, row, rows, columns, to, columns);
    return {1, columns};
}

// Rows become columns: `rows` rows of `num` pairs (a multiple of 8) → `num` lines of `line` columns, zeros past the rows.
inline void transpose(const bf16* from, int64_t row, int64_t rows, int64_t num, pair* to, int64_t line) {
    for (int64_t s = 0; s < line; s += LANES)
        for (int64_t p = 0; p < num; p += LANES) {
            const __mmask16 here = num - p >= LANES ? 0xffff : 0xff;
            __m512i block[16];
            for (int i = 0; i < 16; i++)
                block[i] = _mm512_maskz_loadu_epi32(s + i < rows ? here : 0, from + (s + i) * row + 2 * p);
            transpose16(block);
            for (int64_t i = 0; i < std::min<int64_t>(LANES, num - p); i++)
                _mm512_storeu_si512(to + (p + i) * line + s, block[i]);
        }
}

inline bf16 rounded(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    if ((bits & 0x7fffffff) > 0x7f800000) return (bits >> 16) | 0x40;  // not a number
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// Where row n of a weight that stands in packed order is in the weight itself: SwiGLU's gate and up rows alternate in
// groups of 32, so that a panel holds 32 gates and the 32 numbers they gate.
inline int64_t own_row(int64_t n, int64_t num_out, bool is_gated) {
    if (!is_gated) return n;
    return (n % PANEL < 32 ? 0 : num_out / 2) + n / PANEL * 32 + n % 32;
}

// The right operand of x·Wᵀ, from W of `num_out` × `num_in`: columns are outputs.
inline void pack_forward(const float* weight, int64_t num_out, int64_t num_in, bool is_gated, bf16* to) {
    for (int64_t c = 0; c < num_out;) {
        const int64_t width = panel_width(num_out - c);
        for (int64_t n = 0; n < width; n++) {
            const float* row = weight + own_row(c + n, num_out, is_gated) * num_in;
            for (int64_t k = 0; k < num_in; k++) to[c * num_in + (k / 2 * width + n) * 2 + k % 2] = rounded(row[k]);
        }
        c += width;
    }
}

// The right operand of dy·W: columns are inputs, the summed axis is the outputs.
inline void pack_backward(const float* weight, int64_t num_out, int64_t num_in, bool is_gated, bf16* to) {
    for (int64_t c = 0; c < num_in;) {
        const int64_t width = panel_width(num_in - c);
        for (int64_t n = 0; n < num_out; n++) {
            const float* row = weight + own_row(n, num_out, is_gated) * num_in + c;
            bf16* line = to + c * num_out + n / 2 * width * 2 + n % 2;
            for (int64_t k = 0; k < width; k++) line[2 * k] = rounded(row[k]);
        }
        c += width;
    }
}
