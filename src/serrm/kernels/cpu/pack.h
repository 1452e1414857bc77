// Bringing operands into the order in which products read them.
#pragma once

#include "tile.h"

constexpr int64_t AHEAD = 8;  // rows that are asked for before they are needed

#ifdef BFLOAT16
// Two rows of 16 numbers as 16 units; a missing row is zeros.
inline Integers units_of(const number* first, const number* second) {
    const Integers low = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)first));
    if (second == nullptr) return low;
    const Integers high = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)second));
    return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}
#else
inline Integers units_of(const number* row, const number*) { return load_integers(row); }
#endif

// Lines of units along the rows, of `rows` × `columns` numbers (a multiple of 16): two rows of bfloat16 side by side.
inline void unit_rows(const number* from, int64_t row, int64_t rows, int64_t columns, unit* to, int64_t line) {
    for (int64_t s = 0; s < rows; s += PER_UNIT)
        for (int64_t c = 0; c < columns; c += LANES) {
            const number* first = from + s * row + c;
            _mm_prefetch((const char*)(first + AHEAD * row), _MM_HINT_T0);
            _mm_prefetch((const char*)(first + (AHEAD + 1) * row), _MM_HINT_T0);
            store_integers(to + s / PER_UNIT * line + c, units_of(first, s + 1 < rows ? first + row : nullptr));
        }
}

// The same in panels of 64, 32 and 16 columns, as `product` reads them.
inline void unit_panels(const number* from, int64_t row, int64_t rows, int64_t columns, unit* to) {
    const int64_t lines = num_units(rows);
    for (int64_t s = 0; s < rows; s += PER_UNIT)
        for (int64_t c = 0; c < columns; c += panel_width(columns - c))
            unit_rows(from + s * row + c, row, std::min(PER_UNIT, rows - s), panel_width(columns - c),
                      to + c * lines + s / PER_UNIT * panel_width(columns - c), 0);
}

// Columns become rows: `rows` × `columns` (a multiple of 16) → for each column a line of units along the rows, with
// zeros up to a multiple of 16 units.
inline void turn_units(const number* from, int64_t row, int64_t rows, int64_t columns, unit* to, int64_t line) {
    for (int64_t s = 0; s < rows; s += PER_UNIT * LANES)
        for (int64_t c = 0; c < columns; c += LANES) {
            Integers block[LANES];
            for (int64_t k = 0; k < LANES; k++) {
                const int64_t first = s + PER_UNIT * k;
                if (first >= rows) {
                    block[k] = all_integers(0);
                    continue;
                }
                const number* here = from + first * row + c;
                block[k] = units_of(here, first + 1 < rows ? here + row : nullptr);
            }
            transpose16(block);
            for (int64_t k = 0; k < LANES; k++) store_integers(to + (c + k) * line + s / PER_UNIT, block[k]);
        }
}

// A left operand, and how far apart its units stand: from row to row, and within a row.
struct Left {
    const unit* at;
    int64_t row, step;
};

// The left operand of a product whose summed axis is the rows: `rows` × `columns` (a multiple of 16) → units along the
// rows. `buffer` holds `most` units (a multiple of 16) per column.
inline Left left_across(const number* from, int64_t row, int64_t rows, int64_t columns, Buffer<unit>& buffer,
                        int64_t most) {
    unit* to = buffer.room(most * columns);
    if constexpr (HAS_TILES) {
        turn_units(from, row, rows, columns, to, most);
        return {to, most, 1};
    }
    unit_rows(from, row, rows, columns, to, columns);
    return {to, 1, columns};
}

// A right operand whose columns are those of `from`, and how far apart its lines stand.
struct Right {
    const unit* at;
    int64_t line;
};

// The right operand of a product whose summed axis is the rows: `rows` × `columns` (a multiple of 16). float32 numbers that
// are side by side stay where they are.
inline Right right_along(const number* from, int64_t row, int64_t rows, int64_t columns, Buffer<unit>& buffer) {
    if (PER_UNIT == 1 && row == columns) return {units(from), row};
    unit* to = buffer.room(num_units(rows) * columns);
    unit_rows(from, row, rows, columns, to, columns);
    return {to, columns};
}

// Rows become columns: `rows` rows of `num` units (a multiple of 8) → `num` lines of `line` columns, zeros past the rows.
inline void transpose(const number* from, int64_t row, int64_t rows, int64_t num, unit* to, int64_t line) {
    for (int64_t s = 0; s < line; s += LANES)
        for (int64_t p = 0; p < num; p += LANES) {
            const int64_t here = num - p;
            Integers block[16];
            for (int i = 0; i < 16; i++)
                block[i] = load_integers(first_places(s + i < rows ? here : 0), from + (s + i) * row + PER_UNIT * p);
            transpose16(block);
            for (int64_t i = 0; i < std::min<int64_t>(LANES, num - p); i++)
                store_integers(to + (p + i) * line + s, block[i]);
        }
}

#ifdef BFLOAT16
inline number rounded(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    if ((bits & 0x7fffffff) > 0x7f800000) return (bits >> 16) | 0x40;  // not a number
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
#else
inline number rounded(float value) { return value; }
#endif

// Where row n of a weight that stands in packed order is in the weight itself: SwiGLU's gate and up rows alternate in
// groups of 32, so that a panel holds 32 gates and the 32 numbers they gate.
inline int64_t own_row(int64_t n, int64_t num_out, bool is_gated) {
    if (!is_gated) return n;
    return (n % PANEL < 32 ? 0 : num_out / 2) + n / PANEL * 32 + n % 32;
}

// The right operand of x·Wᵀ, from W of `num_out` × `num_in` (multiples of 16): columns are outputs. Rows of 16 neighbouring
// outputs are neighbours in W too. To be called by all threads of a parallel region.
inline void pack_forward(const float* weight, int64_t num_out, int64_t num_in, bool is_gated, number* to) {
#pragma omp for schedule(static) nowait
    for (int64_t panel = 0; panel < num_panels(num_out); panel++) {
        const int64_t c = panel_start(num_out, panel), width = panel_width(num_out - c);
        for (int64_t n = 0; n < width; n += LANES) {
            const float* rows = weight + own_row(c + n, num_out, is_gated) * num_in;
            for (int64_t k = 0; k < num_in; k += LANES) {
                Integers block[LANES];
                for (int64_t i = 0; i < LANES; i++) block[i] = load_integers(rows + i * num_in + k);
                transpose16(block);  // a register now holds an input's weights to 16 outputs
                alignas(64) float weights[LANES][LANES];
                for (int64_t i = 0; i < LANES; i++) store_integers(weights[i], block[i]);
                for (int64_t i = 0; i < LANES; i++) {
                    number* line = to + c * num_in + ((k + i) / PER_UNIT * width + n) * PER_UNIT + i % PER_UNIT;
                    for (int64_t m = 0; m < LANES; m++) line[PER_UNIT * m] = rounded(weights[i][m]);
                }
            }
        }
    }
}

// The right operand of dy·W: columns are inputs, the summed axis is the outputs. To be called as `pack_forward`.
inline void pack_backward(const float* weight, int64_t num_out, int64_t num_in, bool is_gated, number* to) {
#pragma omp for schedule(static) nowait
    for (int64_t panel = 0; panel < num_panels(num_in); panel++) {
        const int64_t c = panel_start(num_in, panel), width = panel_width(num_in - c);
        for (int64_t n = 0; n < num_out; n++) {
            const float* row = weight + own_row(n, num_out, is_gated) * num_in + c;
            number* line = to + c * num_out + n / PER_UNIT * width * PER_UNIT + n % PER_UNIT;
            for (int64_t k = 0; k < width; k++) line[PER_UNIT * k] = rounded(row[k]);
        }
    }
}
