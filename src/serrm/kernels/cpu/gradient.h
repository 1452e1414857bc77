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

// How the product of a weight's gradient is done. Operands are brought into order, the narrower side as the left one; a sum
// for every narrow column, in lines along the wide side. Float32 numbers of a narrow side of one panel are read where they
// stand instead, the wide side as the left operand: lines are then along the narrow side.
struct Gradient {
    int64_t num_narrow, num_wide;
    bool is_turned;  // the wide side is the output's: dy
    bool is_gated;
    int64_t each;  // columns of the wide side in a block
    float* sums;   // of the blocks, one behind the other
    bool in_place() const { return PER_UNIT == 1 && num_narrow <= PANEL; }
};

// A gradient of num_out × num_in numbers, with its sums at `sums`.
inline Gradient gradient_of(int64_t num_out, int64_t num_in, bool is_gated, int64_t threads, float* sums) {
    const int64_t wide = std::max(num_out, num_in), share = (wide / LANES + threads - 1) / threads * LANES;
    return {std::min(num_out, num_in), wide, num_out > num_in, is_gated, std::min(WIDTH, share), sums};
}

// `add_gradient` where both operands are read in place.
inline void add_gradient_in_place(const Gradient& g, const number* narrow, const number* wide, int64_t rows, bool is_first) {
#pragma omp for schedule(dynamic)
    for (int64_t c = 0; c < g.num_wide; c += g.each)
        for (int64_t s = 0; s < rows; s += SUMMED)
            store_or_add(is_first && s == 0, g.sums + c * g.num_narrow, g.num_narrow, [&](auto done) {
                product(units(wide + s * g.num_wide + c), 1, g.num_wide, std::min(g.each, g.num_wide - c),
                        units(narrow + s * g.num_narrow), std::min(SUMMED, rows - s), g.num_narrow, done, g.num_narrow);
            });
}

// Adds Σ over `rows` of dy ⊗ x to the sums, which the first rows overwrite. To be called by all threads of a parallel region.
inline void add_gradient(const Gradient& g, const number* dy, const number* x, int64_t rows, bool is_first,
                         GradientScratch& own) {
    const number *narrow = g.is_turned ? x : dy, *wide = g.is_turned ? dy : x;
    if (g.in_place()) return add_gradient_in_place(g, narrow, wide, rows, is_first);
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
                for (int64_t i = 0; i < g.num_narrow; i += at_once)
                    store_or_add(is_first && block == 0, sums + i * width + n, width, [&](auto done) {
                        product(by_column.at + i / GROUP * size, by_column.row, by_column.step,
                                std::min(at_once, g.num_narrow - i), right + n * lines, lines, panel_width(width - n), done);
                    });
        }
    }
}

// Stores a line of sums, or adds them to what is there.
inline void put_line(const float* sums, int64_t num, bool is_added, float* to) {
    for (int64_t k = 0; k < num; k += LANES) store(to + k, is_added ? load(to + k) + load(sums + k) : load(sums + k));
}

// Writes the sums in the weight's own order, or adds them to an earlier gradient, turning blocks of 16 × 16 where a line of
// sums is not part of a line of the weight. To be called by all threads of a parallel region.
inline void write_gradient(const Gradient& g, bool is_added, float* to) {
    const int64_t num_out = g.is_turned ? g.num_wide : g.num_narrow, num_in = g.is_turned ? g.num_narrow : g.num_wide;
#pragma omp for schedule(static)
    for (int64_t c = 0; c < g.num_wide; c += g.each) {
        const int64_t width = std::min(g.each, g.num_wide - c);
        const float* sums = g.sums + c * g.num_narrow;
        const int64_t lines = g.in_place() ? width : g.num_narrow, columns = g.in_place() ? g.num_narrow : width;
        const int64_t out = g.is_turned ? c : 0, in = g.is_turned ? 0 : c;  // where the block begins in the weight
        if (g.is_turned == g.in_place()) {
            for (int64_t i = 0; i < lines; i++)
                put_line(sums + i * columns, columns, is_added, to + own_row(out + i, num_out, g.is_gated) * num_in + in);
            continue;
        }
        for (int64_t i = 0; i < lines; i += LANES)
            for (int64_t j = 0; j < columns; j += LANES) {
                Integers block[LANES];
                for (int64_t k = 0; k < LANES; k++) block[k] = load_integers(sums + (i + k) * columns + j);
                transpose16(block);
                alignas(64) float turned[LANES][LANES];
                for (int64_t k = 0; k < LANES; k++) store_integers(turned[k], block[k]);
                for (int64_t k = 0; k < LANES; k++)
                    put_line(turned[k], LANES, is_added, to + own_row(out + j + k, num_out, g.is_gated) * num_in + in + i);
            }
    }
}
