// Packing: copies of operands in the order in which products read them.
#pragma once

#include "tile.h"

constexpr int64_t ROWS_AHEAD = 8;  // rows by which prefetching is ahead

#ifdef BFLOAT16
// Joins two rows of 16 numbers to 16 units; a null pointer stands for a row of zeros.
inline Integers join_rows(const number* first, const number* second) {
    const Integers low = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)first));
    if (second == nullptr) return low;
    const Integers high = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)second));
    return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}
#else
inline Integers join_rows(const number* row, const number*) { return load_integers(row); }
#endif

// Copies `rows` × `columns` numbers (columns: a multiple of 16) to lines of units, each of which joins PER_UNIT rows: a
// line of bfloat16 units alternates between the numbers of two rows.
inline void pack_rows(const number* from, int64_t row_stride, int64_t rows, int64_t columns, unit* to,
                      int64_t line_stride) {
    for (int64_t s = 0; s < rows; s += PER_UNIT)
        for (int64_t c = 0; c < columns; c += LANES) {
            const number* address = from + s * row_stride + c;
            _mm_prefetch((const char*)(address + ROWS_AHEAD * row_stride), _MM_HINT_T0);
            _mm_prefetch((const char*)(address + (ROWS_AHEAD + 1) * row_stride), _MM_HINT_T0);
            store_integers(to + s / PER_UNIT * line_stride + c,
                           join_rows(address, s + 1 < rows ? address + row_stride : nullptr));
        }
}

// Copies as `pack_rows` does, in panels of 64, 32 and 16 columns, as `product` reads them.
inline void pack_panels(const number* from, int64_t row_stride, int64_t rows, int64_t columns, unit* to) {
    const int64_t lines = num_units(rows);
    for (int64_t s = 0; s < rows; s += PER_UNIT)
        for (int64_t c = 0; c < columns; c += panel_width(columns - c))
            pack_rows(from + s * row_stride + c, row_stride, std::min(PER_UNIT, rows - s), panel_width(columns - c),
                      to + c * lines + s / PER_UNIT * panel_width(columns - c), 0);
}

// Transposes `rows` × `columns` numbers (columns: a multiple of 16): every column becomes a line of units that join
// PER_UNIT rows, with zeros up to a multiple of 16 units.
inline void transpose_units(const number* from, int64_t row_stride, int64_t rows, int64_t columns, unit* to,
                            int64_t line_stride) {
    for (int64_t s = 0; s < rows; s += PER_UNIT * LANES)
        for (int64_t c = 0; c < columns; c += LANES) {
            Integers block[LANES];
            for (int64_t k = 0; k < LANES; k++) {
                const int64_t first = s + PER_UNIT * k;
                if (first >= rows) {
                    block[k] = broadcast_integer(0);
                    continue;
                }
                const number* address = from + first * row_stride + c;
                block[k] = join_rows(address, first + 1 < rows ? address + row_stride : nullptr);
            }
            transpose16(block);
            for (int64_t k = 0; k < LANES; k++) store_integers(to + (c + k) * line_stride + s / PER_UNIT, block[k]);
        }
}

// A left operand: its strides lead to the next row, and to the next unit of a row.
struct LeftOperand {
    const unit* data;
    int64_t row_stride, unit_stride;
};

// Packs the left operand of a product that sums over the rows of `from`: `rows` × `columns` numbers (columns: a
// multiple of 16). `buffer` gets room for `max_units` units (a multiple of 16) per column.
inline LeftOperand pack_left(const number* from, int64_t row_stride, int64_t rows, int64_t columns,
                             Buffer<unit>& buffer, int64_t max_units) {
    unit* to = buffer.reserve(max_units * columns);
    if constexpr (HAS_TILES) {
        transpose_units(from, row_stride, rows, columns, to, max_units);
        return {to, max_units, 1};
    }
    pack_rows(from, row_stride, rows, columns, to, columns);
    return {to, 1, columns};
}

// A right operand: its stride leads to the next line.
struct RightOperand {
    const unit* data;
    int64_t line_stride;
};

// Packs the right operand of a product that sums over the rows of `from`: `rows` × `columns` numbers (columns: a
// multiple of 16). Contiguous float32 numbers are not copied.
inline RightOperand pack_right(const number* from, int64_t row_stride, int64_t rows, int64_t columns,
                               Buffer<unit>& buffer) {
    if (PER_UNIT == 1 && row_stride == columns) return {units(from), row_stride};
    unit* to = buffer.reserve(num_units(rows) * columns);
    pack_rows(from, row_stride, rows, columns, to, columns);
    return {to, columns};
}

// Transposes `rows` rows of `num` units (a multiple of 8) to `num` lines of `line_stride` columns, with zeros in the
// columns beyond `rows`.
inline void transpose(const number* from, int64_t row_stride, int64_t rows, int64_t num, unit* to,
                      int64_t line_stride) {
    for (int64_t s = 0; s < line_stride; s += LANES)
        for (int64_t p = 0; p < num; p += LANES) {
            const int64_t num_remaining = num - p;
            Integers block[16];
            for (int i = 0; i < 16; i++)
                block[i] = load_integers(first_lanes(s + i < rows ? num_remaining : 0),
                                         from + (s + i) * row_stride + PER_UNIT * p);
            transpose16(block);
            for (int64_t i = 0; i < std::min<int64_t>(LANES, num - p); i++)
                store_integers(to + (p + i) * line_stride + s, block[i]);
        }
}

#ifdef BFLOAT16
inline number round_number(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    if ((bits & 0x7fffffff) > 0x7f800000) return (bits >> 16) | 0x40;  // NaN
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
#else
inline number round_number(float value) { return value; }
#endif

// Returns the row of a weight that is row n in packed order. There SwiGLU's gate and up rows alternate in groups of 32,
// so that a panel holds 32 gates and the 32 ups that they multiply.
inline int64_t weight_row(int64_t n, int64_t num_out, bool is_gated) {
    if (!is_gated) return n;
    return (n % PANEL < 32 ? 0 : num_out / 2) + n / PANEL * 32 + n % 32;
}

// Packs W of `num_out` × `num_in` (multiples of 16) as the right operand of x·Wᵀ, whose columns are outputs. The rows
// of 16 adjacent outputs are adjacent in W too. All threads of a parallel region call this together.
inline void pack_forward(const float* weight, int64_t num_out, int64_t num_in, bool is_gated, number* to) {
#pragma omp for schedule(static) nowait
    for (int64_t panel = 0; panel < num_panels(num_out); panel++) {
        const int64_t c = panel_start(num_out, panel), width = panel_width(num_out - c);
        for (int64_t n = 0; n < width; n += LANES) {
            const float* rows = weight + weight_row(c + n, num_out, is_gated) * num_in;
            for (int64_t k = 0; k < num_in; k += LANES) {
                Integers block[LANES];
                for (int64_t i = 0; i < LANES; i++) block[i] = load_integers(rows + i * num_in + k);
                transpose16(block);  // a register now holds the weights from one input to 16 outputs
                alignas(64) float weights[LANES][LANES];
                for (int64_t i = 0; i < LANES; i++) store_integers(weights[i], block[i]);
                for (int64_t i = 0; i < LANES; i++) {
                    number* line = to + c * num_in + ((k + i) / PER_UNIT * width + n) * PER_UNIT + i % PER_UNIT;
                    for (int64_t m = 0; m < LANES; m++) line[PER_UNIT * m] = round_number(weights[i][m]);
                }
            }
        }
    }
}

// Packs W as the right operand of dy·W, whose columns are inputs and whose summed axis is the outputs. All threads of a
// parallel region call this together.
inline void pack_backward(const float* weight, int64_t num_out, int64_t num_in, bool is_gated, number* to) {
#pragma omp for schedule(static) nowait
    for (int64_t panel = 0; panel < num_panels(num_in); panel++) {
        const int64_t c = panel_start(num_in, panel), width = panel_width(num_in - c);
        for (int64_t n = 0; n < num_out; n++) {
            const float* row = weight + weight_row(n, num_out, is_gated) * num_in + c;
            number* line = to + c * num_out + n / PER_UNIT * width * PER_UNIT + n % PER_UNIT;
            for (int64_t k = 0; k < width; k++) line[PER_UNIT * k] = round_number(row[k]);
        }
    }
}
