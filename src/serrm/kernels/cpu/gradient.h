// The gradient of a weight, dyᵀ·x: a product that sums over the rows.
#pragma once

#include "pack.h"

constexpr int64_t ROWS_PER_PACK = HAS_TILES ? 256 : 512;  // rows of dy and x that are packed and multiplied at a time
constexpr int64_t MAX_WIDE_COLUMNS = 2 * PANEL;           // columns of the wide side that a thread computes at a time
constexpr int64_t GROUP_COLUMNS = HAS_TILES ? 1 : TILE_ROWS;  // columns of the narrow side that are packed in one group

struct GradientScratch {
    Buffer<unit> left, right;
    Buffer<float> first, second;  // sums of a sublayer's two weight gradients
};

// Units from one group of the left operand to the next. A group is followed by an unused cache line, without which all
// groups would share a few sets of the cache.
inline int64_t group_size(int64_t rows) { return num_units(rows) * GROUP_COLUMNS + LANES; }

// Loads 8 numbers of a row, or only the first `num` if there are fewer, as integers of 32 bits.
inline __m256i widen_eight(const number* from, int64_t num) {
#ifdef BFLOAT16
    const auto eight = (const __m128i*)from;
    return _mm256_cvtepu16_epi32(num < 8 ? _mm_maskz_loadu_epi16((1 << num) - 1, eight) : _mm_loadu_si128(eight));
#else
    const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)num), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return _mm256_maskload_epi32((const int*)from, mask);
#endif
}

// Packs the left operand, the narrow side: groups of 6 columns, in which PER_UNIT rows become a line of 6 units. It
// stores 8 units at a time, and the next line overwrites the last 2. For tile registers a group is a column, with
// adjacent units.
inline void pack_groups(const number* from, int64_t row_stride, int64_t rows, int64_t columns, unit* to,
                        int64_t group_size) {
    if constexpr (HAS_TILES) return transpose_units(from, row_stride, rows, columns, to, group_size);
    for (int64_t s = 0; s < rows; s += PER_UNIT)
        for (int64_t c = 0; c < columns; c += TILE_ROWS) {
            const number* address = from + s * row_stride + c;
            __m256i units = widen_eight(address, columns - c);
            if (PER_UNIT == 2 && s + 1 < rows)
                units = _mm256_or_si256(units, _mm256_slli_epi32(widen_eight(address + row_stride, columns - c), 16));
            _mm256_storeu_si256((__m256i*)(to + c / TILE_ROWS * group_size + s / PER_UNIT * TILE_ROWS), units);
        }
}

// How a weight's gradient is computed. Its sides are dy and x. Both are packed, the narrow side as the left operand, so
// the sums form a matrix with a row for every column of the narrow side and a column for every column of the wide side.
// But float32 numbers with a narrow side of at most one panel are read in place, with the wide side as the left
// operand, and the matrix of sums is transposed.
struct Gradient {
    int64_t num_narrow, num_wide;
    bool has_wide_output;  // the wide side is dy, else x
    bool is_gated;
    int64_t block_columns;  // columns of the wide side per block
    float* sums;            // one block after another
    bool reads_in_place() const { return PER_UNIT == 1 && num_narrow <= PANEL; }
};

// Plans a gradient of num_out × num_in numbers with memory for its sums at `sums`.
inline Gradient plan_gradient(int64_t num_out, int64_t num_in, bool is_gated, int64_t threads, float* sums) {
    const int64_t wide = std::max(num_out, num_in), share = (wide / LANES + threads - 1) / threads * LANES;
    return {std::min(num_out, num_in), wide, num_out > num_in, is_gated, std::min(MAX_WIDE_COLUMNS, share), sums};
}

// Does what `add_gradient` does where both operands are read in place.
inline void add_gradient_in_place(const Gradient& g, const number* narrow, const number* wide, int64_t rows,
                                  bool is_first) {
#pragma omp for schedule(dynamic)
    for (int64_t c = 0; c < g.num_wide; c += g.block_columns)
        for (int64_t s = 0; s < rows; s += ROWS_PER_PACK)
            store_or_add(is_first && s == 0, g.sums + c * g.num_narrow, g.num_narrow, [&](auto epilogue) {
                product(units(wide + s * g.num_wide + c), 1, g.num_wide, std::min(g.block_columns, g.num_wide - c),
                        units(narrow + s * g.num_narrow), std::min(ROWS_PER_PACK, rows - s), g.num_narrow, epilogue,
                        g.num_narrow);
            });
}

// Adds dy ⊗ x, summed over `rows` rows, to the sums, or overwrites them if `is_first`. All threads of a parallel region
// call this together.
inline void add_gradient(const Gradient& g, const number* dy, const number* x, int64_t rows, bool is_first,
                         GradientScratch& scratch) {
    const number *narrow = g.has_wide_output ? x : dy, *wide = g.has_wide_output ? dy : x;
    if (g.reads_in_place()) return add_gradient_in_place(g, narrow, wide, rows, is_first);
    const int64_t num_groups = (g.num_narrow + GROUP_COLUMNS - 1) / GROUP_COLUMNS, stride = group_size(ROWS_PER_PACK);
    const int64_t num_blocks = (rows + ROWS_PER_PACK - 1) / ROWS_PER_PACK;
    unit* all_groups;  // shared by all threads
#pragma omp single copyprivate(all_groups)
    all_groups = scratch.left.reserve(num_blocks * num_groups * stride);
#pragma omp for schedule(dynamic)
    for (int64_t block = 0; block < num_blocks; block++)
        pack_groups(narrow + block * ROWS_PER_PACK * g.num_narrow, g.num_narrow,
                    std::min(ROWS_PER_PACK, rows - block * ROWS_PER_PACK), g.num_narrow,
                    all_groups + block * num_groups * stride, stride);
#pragma omp for schedule(dynamic)
    for (int64_t c = 0; c < g.num_wide; c += g.block_columns) {
        const int64_t width = std::min(g.block_columns, g.num_wide - c);
        float* sums = g.sums + c * g.num_narrow;
        for (int64_t block = 0; block < num_blocks; block++) {
            const int64_t num_rows = std::min(ROWS_PER_PACK, rows - block * ROWS_PER_PACK), lines = num_units(num_rows);
            unit* right = scratch.right.reserve(width * lines);
            pack_panels(wide + block * ROWS_PER_PACK * g.num_wide + c, g.num_wide, num_rows, width, right);
            const unit* block_groups = all_groups + block * num_groups * stride;
            const int64_t num_columns = HAS_TILES ? g.num_narrow : GROUP_COLUMNS;
            const LeftOperand left =
                HAS_TILES ? LeftOperand{block_groups, stride, 1} : LeftOperand{block_groups, 1, GROUP_COLUMNS};
            for (int64_t n = 0; n < width; n += panel_width(width - n))
                for (int64_t i = 0; i < g.num_narrow; i += num_columns)
                    store_or_add(is_first && block == 0, sums + i * width + n, width, [&](auto epilogue) {
                        product(left.data + i / GROUP_COLUMNS * stride, left.row_stride, left.unit_stride,
                                std::min(num_columns, g.num_narrow - i), right + n * lines, lines,
                                panel_width(width - n), epilogue);
                    });
        }
    }
}

// Stores a line of sums, or adds it to the line in memory.
inline void write_line(const float* sums, int64_t num, bool is_added, float* to) {
    for (int64_t k = 0; k < num; k += LANES) store(to + k, is_added ? load(to + k) + load(sums + k) : load(sums + k));
}

// Writes the sums in the order of the weight, or adds them to an earlier gradient. Where a line of sums is a column of
// the weight, it transposes them in blocks of 16 × 16. All threads of a parallel region call this together.
inline void write_gradient(const Gradient& g, bool is_added, float* to) {
    const int64_t num_out = g.has_wide_output ? g.num_wide : g.num_narrow,
                  num_in = g.has_wide_output ? g.num_narrow : g.num_wide;
#pragma omp for schedule(static)
    for (int64_t c = 0; c < g.num_wide; c += g.block_columns) {
        const int64_t width = std::min(g.block_columns, g.num_wide - c);
        const float* sums = g.sums + c * g.num_narrow;
        const int64_t lines = g.reads_in_place() ? width : g.num_narrow,
                      columns = g.reads_in_place() ? g.num_narrow : width;
        const int64_t out = g.has_wide_output ? c : 0,
                      in = g.has_wide_output ? 0 : c;  // the weight's row and column where the block begins
        if (g.has_wide_output == g.reads_in_place()) {
            for (int64_t i = 0; i < lines; i++)
                write_line(sums + i * columns, columns, is_added,
                           to + weight_row(out + i, num_out, g.is_gated) * num_in + in);
            continue;
        }
        for (int64_t i = 0; i < lines; i += LANES)
            for (int64_t j = 0; j < columns; j += LANES) {
                Integers block[LANES];
                for (int64_t k = 0; k < LANES; k++) block[k] = load_integers(sums + (i + k) * columns + j);
                transpose16(block);
                alignas(64) float transposed[LANES][LANES];
                for (int64_t k = 0; k < LANES; k++) store_integers(transposed[k], block[k]);
                for (int64_t k = 0; k < LANES; k++)
                    write_line(transposed[k], LANES, is_added,
                               to + weight_row(out + j + k, num_out, g.is_gated) * num_in + in + i);
            }
    }
}
