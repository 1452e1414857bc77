// The gradient of a weight, dyᵀ·x: a product whose summed axis is the rows.
#pragma once

#include "pack.h"

constexpr int64_t SUMMED = HAS_TILES ? 256 : 512;     // rows that are brought into order at a time
constexpr int64_t WIDTH = 2 * PANEL;                  // most columns of the wide side that a thread works on
constexpr int64_t GROUP = HAS_TILES ? 1 : TILE_ROWS;  // columns of the narrow side whose units are mixed: line by line

struct GradientScratch {
    Buffer<unit> left, right;
    Buffer<float> first, second;  // sums of the gradients of a sublayer's two weights
};

// Numbers a group of the left operand takes: a cache line more than its own, or all groups share a few sets of the cache.
inline int64_t group_size(int64_t rows) { return num_units(rows) * GROUP + LANES; }

// 8 numbers of a row, of which only the first `left` are there, each in 32 bits.
inline __m256i widened(const number* from, int64_t left) {
#ifdef BFLOAT16
    const auto place = (const __m128i*)from;
    return _mm256_cvtepu16_epi32(left < 8 ? _mm_maskz_loadu_epi16((1 << left) - 1, place) : _mm_loadu_si128(place));
#else
    const __m256i here = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)left), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return _mm256_maskload_epi32((const int*)from, here);
#endif
}

// Left operand: groups of 6 columns of dy, in each a line of 6 units for each row or two. Stores are of 8, of which the
// next line overwrites 2. For tile registers each column by itself, its units side by side.
inline void pack_left(const number* from, int64_t row, int64_t rows, int64_t columns, unit* to, int64_t size) {
    if constexpr (HAS_TILES) return turn_units(from, row, rows, columns, to, size);
    for (int64_t s = 0; s < rows; s += PER_UNIT)
        for (int64_t c = 0; c < columns; c += TILE_ROWS) {
            const number* first = from + s * row + c;
            __m256i both = widened(first, columns - c);
            if (PER_UNIT == 2 && s + 1 < rows) both = _mm256_or_si256(both, _mm256_slli_epi32(widened(first + row, columns - c), 16));
            _mm256_storeu_si256((__m256i*)(to + c / TILE_ROWS * size + s / PER_UNIT * TILE_ROWS), both);
        }
}

// How the product of a weight's gradient is done: the narrower side stands left, in groups of columns.
struct Gradient {
    int64_t num_narrow, num_wide;
    bool is_turned;  // the wide side is the output's: dy
    bool is_gated;
    int64_t each;  // columns of the wide side in a block
    float* sums;   // of the blocks, one behind the other
};

// A gradient of num_out × num_in numbers, with its sums at `sums`.
inline Gradient gradient_of(int64_t num_out, int64_t num_in, bool is_gated, int64_t threads, float* sums) {
    const int64_t wide = std::max(num_out, num_in), share = (wide / LANES + threads - 1) / threads * LANES;
    return {std::min(num_out, num_in), wide, num_out > num_in, is_gated, std::min(WIDTH, share), sums};
}

// Adds Σ over `rows` of dy ⊗ x to the sums, which the first rows overwrite. To be called by all threads of a parallel region.
inline void add_gradient(const Gradient& g, const number* dy, const number* x, int64_t rows, bool is_first,
                         GradientScratch& own) {
    const number *narrow = g.is_turned ? x : dy, *wide = g.is_turned ? dy : x;
    const int64_t groups = (g.num_narrow + GROUP - 1) / GROUP, size = group_size(SUMMED);
    const int64_t blocks = (rows + SUMMED - 1) / SUMMED;
    unit* all_left;  // of all threads
#pragma omp single copyprivate(all_left)
    all_left = own.left.room(blocks * groups * size);
#pragma omp for schedule(dynamic)
    for (int64_t block = 0; block < blocks; block++)
        pack_left(narrow + block * SUMMED * g.num_narrow, g.num_narrow, std::min(SUMMED, rows - block * SUMMED), g.num_narrow,
                  all_left + block * groups * size, size);
#pragma omp for schedule(dynamic)
    for (int64_t c = 0; c < g.num_wide; c += g.each) {
        const int64_t width = std::min(g.each, g.num_wide - c);
        float* sums = g.sums + c * g.num_narrow;
        for (int64_t block = 0; block < blocks; block++) {
            const int64_t some = std::min(SUMMED, rows - block * SUMMED), lines = num_units(some);
            unit* right = own.right.room(width * lines);
            unit_panels(wide + block * SUMMED * g.num_wide + c, g.num_wide, some, width, right);
            const unit* left = all_left + block * groups * size;
            const int64_t at_once = HAS_TILES ? g.num_narrow : GROUP;
            const Left by_column = HAS_TILES ? Left{left, size, 1} : Left{left, 1, GROUP};
            for (int64_t n = 0; n < width; n += panel_width(width - n))
                for (int64_t i = 0; i < g.num_narrow; i += at_once) {
                    const int64_t here = std::min(at_once, g.num_narrow - i), columns = panel_width(width - n);
                    const unit* group = by_column.at + i / GROUP * size;
                    float* to = sums + i * width + n;
                    if (is_first && block == 0)
                        product(group, by_column.row, by_column.step, here, right + n * lines, lines, columns,
                                StoreSums<false>{to, width});
                    else
                        product(group, by_column.row, by_column.step, here, right + n * lines, lines, columns,
                                StoreSums<true>{to, width});
                }
        }
    }
}

// Stores a line of sums, or adds them to what is there.
inline void put_line(const float* sums, int64_t num, bool is_added, float* to) {
    for (int64_t k = 0; k < num; k += LANES) store(to + k, is_added ? load(to + k) + load(sums + k) : load(sums + k));
}

// Writes the sums in the weight's own order, or adds them to an earlier gradient, turning blocks of 16 × 16 where the wide
// side is dy. To be called by all threads of a parallel region.
inline void write_gradient(const Gradient& g, bool is_added, float* to) {
#pragma omp for schedule(static)
    for (int64_t c = 0; c < g.num_wide; c += g.each) {
        const int64_t width = std::min(g.each, g.num_wide - c);
        const float* sums = g.sums + c * g.num_narrow;
        if (!g.is_turned) {
            for (int64_t i = 0; i < g.num_narrow; i++)
                put_line(sums + i * width, width, is_added, to + own_row(i, g.num_narrow, g.is_gated) * g.num_wide + c);
            continue;
        }
        for (int64_t i = 0; i < g.num_narrow; i += LANES)
            for (int64_t j = 0; j < width; j += LANES) {
                Integers block[LANES];
                for (int64_t k = 0; k < LANES; k++) block[k] = load_integers(sums + (i + k) * width + j);
                transpose16(block);
                alignas(64) float lines[LANES][LANES];
                for (int64_t k = 0; k < LANES; k++) store_integers(lines[k], block[k]);
                for (int64_t k = 0; k < LANES; k++)
                    put_line(lines[k], LANES, is_added, to + own_row(c + j + k, g.num_wide, g.is_gated) * g.num_narrow + i);
            }
    }
}
