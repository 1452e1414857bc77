// Matrix products of bfloat16 numbers with float32 sums, on AVX512-BF16, and what is done with rows of 16 numbers.
//
// The instruction multiplies pairs: sum += a[2p]·b[2p] + a[2p+1]·b[2p+1] for 16 columns at once. So the right operand
// stands as lines of pairs (one line a p, columns side by side), the left one is read a pair at a time. Where the CPU has
// tile registers, they multiply in its place (amx.h).
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

using bf16 = uint16_t;
using pair = uint32_t;  // two bfloat16 neighbours along the summed axis
using std::int64_t;

#if defined(TILES) && defined(__AMX_BF16__)
#include "amx.h"
constexpr bool HAS_TILES = true;
#else
#undef TILES
constexpr bool HAS_TILES = false;
struct Tiles {};
#endif

constexpr int LANES = 16;
constexpr int TILE_ROWS = 6, TILE_COLUMNS = 4;  // 6 · 4 sums, 4 + 1 operands: of 32 registers
constexpr int64_t PANEL = TILE_COLUMNS * LANES;
constexpr int64_t ROWS = HAS_TILES ? 16 : TILE_ROWS;  // rows that a product takes at once
constexpr int64_t BLOCK = HAS_TILES ? 128 : 120;      // rows that go through a chain of products while they are in the cache

inline __m512 load(const bf16* from) {
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)from)), 16));
}

inline void store(bf16* to, __m512 value) { _mm256_storeu_si256((__m256i*)to, (__m256i)_mm512_cvtneps_pbh(value)); }

// Columns of the next panel: 64 while there are as many left, then 32, then 16.
inline int64_t panel_width(int64_t left) { return left >= PANEL ? PANEL : left >= 32 ? 32 : LANES; }

// Room that a thread keeps from call to call, on cache lines of its own (a load across two lines takes twice as long).
template <class T>
class Buffer {
   public:
    // At least `size` elements, of any value.
    T* room(int64_t size) {
        if (size > size_) {
            size_ = (size + 63) / 64 * 64;
            data_.reset(static_cast<T*>(std::aligned_alloc(64, size_ * sizeof(T))));
        }
        return data_.get();
    }

   private:
    struct Free {
        void operator()(T* data) const { std::free(data); }
    };
    std::unique_ptr<T, Free> data_;
    int64_t size_ = 0;
};

// sum[i][·] += Σ_p a[i·row + p·step] ⊗ b[p·line …] over `num` pairs.
template <int R, int C>
[[gnu::always_inline]] inline void multiply(const pair* a, int64_t row, int64_t step, const pair* b, int64_t line,
                                            int64_t num, __m512 (&sum)[R][C]) {
    for (int64_t p = 0; p < num; p++) {
        __m512bh right[C];
        for (int j = 0; j < C; j++) right[j] = (__m512bh)_mm512_loadu_si512(b + p * line + LANES * j);
        for (int i = 0; i < R; i++) {
            __m512bh left = (__m512bh)_mm512_set1_epi32(a[i * row + p * step]);
            for (int j = 0; j < C; j++) sum[i][j] = _mm512_dpbf16_ps(sum[i][j], left, right[j]);
        }
    }
}

// A tile of a product: calls done.template operator()<R, C>(row, column, sums).
template <int R, int C, class Done>
[[gnu::always_inline]] inline void tile(const pair* a, int64_t row, int64_t step, const pair* b, int64_t line,
                                        int64_t num, int64_t at_row, int64_t at_column, Done& done) {
    __m512 sum[R][C];
    for (auto& part : sum)
        for (auto& one : part) one = _mm512_setzero_ps();
    multiply<R, C>(a + at_row * row, row, step, b, line, num, sum);
    done.template operator()<R, C>(at_row, at_column, sum);
}

// The last rows, fewer than a whole tile's.
template <int R, int C, class Done>
inline void rest_of_rows(const pair* a, int64_t row, int64_t step, const pair* b, int64_t line, int64_t num, int64_t left,
                         int64_t at_row, int64_t column, Done& done) {
    if (left == R)
        tile<R, C>(a, row, step, b, line, num, at_row, column, done);
    else if constexpr (R > 1)
        rest_of_rows<R - 1, C>(a, row, step, b, line, num, left, at_row, column, done);
}

// A panel of C times 16 columns.
template <int C, class Done>
inline void panel_product(const pair* a, int64_t row, int64_t step, const pair* b, int64_t line, int64_t num,
                          int64_t num_rows, int64_t column, Done& done) {
#ifdef TILES
    assert(step == 1);
    panel_in_tiles<C>(a, row, b, line, num, num_rows, column, done);
#else
    int64_t i = 0;
    for (; i + TILE_ROWS <= num_rows; i += TILE_ROWS)
        tile<TILE_ROWS, C>(a, row, step, b, line, num, i, column, done);
    rest_of_rows<TILE_ROWS - 1, C>(a, row, step, b, line, num, num_rows - i, i, column, done);
#endif
}

// The whole product of `num_rows` rows with a right operand of `columns` (a multiple of 16) in panels: the first 64
// columns' lines, then the next 64's; the last ones in panels of 32 and 16. A fixed `line` says: no panels, lines of
// that length. Tile registers read a row's pairs side by side: `step` is 1 there.
template <class Done>
inline void product(const pair* a, int64_t row, int64_t step, int64_t num_rows, const pair* b, int64_t num,
                    int64_t columns, Done&& done, int64_t line = 0) {
    for (int64_t c = 0; c < columns;) {
        const int64_t width = panel_width(columns - c);
        const pair* panel = line ? b + c : b + c * num;
        const int64_t each = line ? line : width;
        if (width == PANEL)
            panel_product<4>(a, row, step, panel, each, num, num_rows, c, done);
        else if (width == 32)
            panel_product<2>(a, row, step, panel, each, num, num_rows, c, done);
        else
            panel_product<1>(a, row, step, panel, each, num, num_rows, c, done);
        c += width;
    }
}

// What a product may do with its sums: round and store them …
struct StoreRounded {
    bf16* to;
    int64_t row;
    template <int R, int C>
    void operator()(int64_t at_row, int64_t column, __m512 (&sum)[R][C]) const {
        for (int i = 0; i < R; i++)
            for (int j = 0; j < C; j++) store(to + (at_row + i) * row + column + LANES * j, sum[i][j]);
    }
};

// … or store them as they are, or add them to what is there.
template <bool IsAdded>
struct StoreSums {
    float* to;
    int64_t row;
    template <int R, int C>
    void operator()(int64_t at_row, int64_t column, __m512 (&sum)[R][C]) const {
        for (int i = 0; i < R; i++)
            for (int j = 0; j < C; j++) {
                float* place = to + (at_row + i) * row + column + LANES * j;
                _mm512_storeu_ps(place, IsAdded ? _mm512_add_ps(_mm512_loadu_ps(place), sum[i][j]) : sum[i][j]);
            }
    }
};
