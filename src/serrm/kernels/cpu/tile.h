// Matrix products with float32 sums, of float32 numbers or of bfloat16 numbers, and what is done with their rows.
//
// A build is for one of the two. An instruction takes one unit of a row at a time: a float32 number, or on AVX512-BF16 a
// pair of bfloat16 neighbours (sum += a[2p]·b[2p] + a[2p+1]·b[2p+1], for 16 columns at once). So the right operand stands
// as lines of units (one line per p, columns side by side), and the left one is read a unit at a time. Where the CPU has
// tile registers, they multiply pairs in its place (amx.h).
#pragma once

#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "vector.h"

#ifdef BFLOAT16
using number = uint16_t;  // the upper half of a float32
using unit = uint32_t;
constexpr int64_t PER_UNIT = 2;  // neighbours along the summed axis
#else
using number = float;
using unit = float;
constexpr int64_t PER_UNIT = 1;
#endif

inline const unit* units(const number* from) { return reinterpret_cast<const unit*>(from); }
inline int64_t num_units(int64_t numbers) { return (numbers + PER_UNIT - 1) / PER_UNIT; }

// Hands R rows of sums in memory to `done`.
template <int R, int C, class Done>
[[gnu::always_inline]] inline void hand_over(const float* from, int64_t at_row, int64_t at_column, Done& done) {
    Vector sum[R][C];
    for (int i = 0; i < R; i++)
        for (int j = 0; j < C; j++) sum[i][j] = load(from + (i * C + j) * LANES);
    done.template operator()<R, C>(at_row, at_column, sum);
}

#if defined(TILES) && defined(__AMX_BF16__)
#include "amx.h"
constexpr bool HAS_TILES = true;
#else
#undef TILES
constexpr bool HAS_TILES = false;
struct Tiles {};
#endif

constexpr int TILE_ROWS = 6, TILE_COLUMNS = 4;  // AVX-512: 6 · 4 sums, 4 + 1 operands, of 32 registers
constexpr int64_t PANEL = TILE_COLUMNS * LANES;
constexpr int64_t ROWS = HAS_TILES ? 16 : TILE_ROWS;  // rows that a product takes at once
// Most rows that go through a chain of products while they are in the cache: with large weights more, because every block
// reads the weights again.
constexpr int64_t BLOCK = HAS_TILES ? 128 : 216;
constexpr int64_t BLOCK_OF_SMALL_WEIGHTS = HAS_TILES ? 128 : 120;
constexpr int64_t LARGE_WEIGHTS = 1 << 17;  // numbers

#ifdef BFLOAT16
inline Vector load(const number* from) {
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)from)), 16));
}

inline void store(number* to, Vector value) { _mm256_storeu_si256((__m256i*)to, (__m256i)_mm512_cvtneps_pbh(value)); }

inline Vector load(Mask here, const number* from) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(here, from)), 16));
}

inline void store_past_cache(number* to, Vector value) {
    _mm256_stream_si256((__m256i*)to, (__m256i)_mm512_cvtneps_pbh(value));
}

inline void store(Mask here, number* to, Vector value) {
    if (here == 0xffff)
        store(to, value);  // several times as fast
    else
        _mm256_mask_storeu_epi16(to, here, (__m256i)_mm512_cvtneps_pbh(value));
}
#endif

// Columns of the next panel: 64 while there are as many left, then 32, then 16.
inline int64_t panel_width(int64_t left) { return left >= PANEL ? PANEL : left >= 32 ? 32 : LANES; }

// How many panels there are, and the first column of one: all but the last two have 64 columns.
inline int64_t num_panels(int64_t columns) {
    return columns / PANEL + (columns % PANEL >= 32) + (columns % 32 >= LANES);
}
inline int64_t panel_start(int64_t columns, int64_t panel) {
    return panel <= columns / PANEL ? panel * PANEL : columns / 32 * 32;
}

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

constexpr int64_t LINES_AHEAD = 16;  // of the right operand that are asked for before they are needed

// sum[i][·] += Σ_p a[i·row + p·step] ⊗ b[p·line …] over `num` units.
template <int R, int C>
[[gnu::always_inline]] inline void multiply(const unit* a, int64_t row, int64_t step, const unit* b, int64_t line,
                                            int64_t num, Vector (&sum)[R][C]) {
    for (int64_t p = 0; p < num; p++) {
        // The right operand comes from the second cache, whose own look-ahead is too short for a whole panel's lines.
        if constexpr (C == TILE_COLUMNS)
            for (int j = 0; j < C; j++) _mm_prefetch((const char*)(b + (p + LINES_AHEAD) * line + LANES * j), _MM_HINT_T0);
#ifdef BFLOAT16
        __m512bh right[C];
        for (int j = 0; j < C; j++) right[j] = (__m512bh)load_integers(b + p * line + LANES * j);
        for (int i = 0; i < R; i++) {
            __m512bh left = (__m512bh)_mm512_set1_epi32(a[i * row + p * step]);
            for (int j = 0; j < C; j++) sum[i][j] = _mm512_dpbf16_ps(sum[i][j], left, right[j]);
        }
#else
        Vector right[C];
        for (int j = 0; j < C; j++) right[j] = load(b + p * line + LANES * j);
        for (int i = 0; i < R; i++) {
            const Vector left = all(a[i * row + p * step]);
            for (int j = 0; j < C; j++) sum[i][j] = multiply_add(left, right[j], sum[i][j]);
        }
#endif
    }
}

// A tile of a product: calls done.template operator()<R, C>(row, column, sums).
template <int R, int C, class Done>
[[gnu::always_inline]] inline void tile(const unit* a, int64_t row, int64_t step, const unit* b, int64_t line,
                                        int64_t num, int64_t at_row, int64_t at_column, Done& done) {
    Vector sum[R][C];
    for (auto& part : sum)
        for (auto& one : part) one = all(0);
    multiply<R, C>(a + at_row * row, row, step, b, line, num, sum);
    done.template operator()<R, C>(at_row, at_column, sum);
}

// The last rows, fewer than a whole tile's.
template <int R, int C, class Done>
inline void rest_of_rows(const unit* a, int64_t row, int64_t step, const unit* b, int64_t line, int64_t num, int64_t left,
                         int64_t at_row, int64_t column, Done& done) {
    if (left == R)
        tile<R, C>(a, row, step, b, line, num, at_row, column, done);
    else if constexpr (R > 1)
        rest_of_rows<R - 1, C>(a, row, step, b, line, num, left, at_row, column, done);
}

// Stores the sums of a tile as they are, or adds them to what is there.
template <bool IsAdded>
struct StoreSums {
    static constexpr bool NEEDS_PANEL = false;
    float* to;
    int64_t row;
    template <int R, int C>
    void operator()(int64_t at_row, int64_t column, Vector (&sum)[R][C]) const {
        for (int i = 0; i < R; i++)
            for (int j = 0; j < C; j++) {
                float* place = to + (at_row + i) * row + column + LANES * j;
                store(place, IsAdded ? load(place) + sum[i][j] : sum[i][j]);
            }
    }
};

// Hands a product to `call` with what is to be done with its sums, which stand at `to` in lines of `line`.
template <class Call>
inline void store_or_add(bool is_first, float* to, int64_t line, Call call) {
    if (is_first)
        call(StoreSums<false>{to, line});
    else
        call(StoreSums<true>{to, line});
}

// All rows of C times 16 columns, in tiles of R rows.
template <int R, int C, class Done>
[[gnu::always_inline]] inline void rows_in_tiles(const unit* a, int64_t row, int64_t step, const unit* b, int64_t line,
                                                 int64_t num, int64_t num_rows, int64_t column, Done& done) {
    int64_t i = 0;
    for (; i + R <= num_rows; i += R) tile<R, C>(a, row, step, b, line, num, i, column, done);
    rest_of_rows<R - 1, C>(a, row, step, b, line, num, num_rows - i, i, column, done);
}

// The same in tiles of TILE_ROWS; of twice as many where that leaves AVX-512's registers idle: with one register per row, so
// that no sum waits for itself, and with two where the rows are neighbours, which need no address each.
template <int C, class Done>
inline void rows_product(const unit* a, int64_t row, int64_t step, const unit* b, int64_t line, int64_t num,
                         int64_t num_rows, int64_t column, Done& done) {
    if (row == 1)
        rows_in_tiles<HAS_AVX512 && C <= 2 ? 2 * TILE_ROWS : TILE_ROWS, C>(a, 1, step, b, line, num, num_rows, column, done);
    else
        rows_in_tiles<HAS_AVX512 && C == 1 ? 2 * TILE_ROWS : TILE_ROWS, C>(a, row, step, b, line, num, num_rows, column, done);
}

// A panel of C times 16 columns. AVX2 has 16 registers, which hold the sums of 6 rows and 16 columns; what needs all
// columns of a row at once gets them from memory.
template <int C, class Done>
inline void panel_product(const unit* a, int64_t row, int64_t step, const unit* b, int64_t line, int64_t num,
                          int64_t num_rows, int64_t column, Done& done) {
#ifdef TILES
    assert(step == 1);
    panel_in_tiles<C>(a, row, b, line, num, num_rows, column, done);
#else
    if constexpr (HAS_AVX512 || C == 1) {
        rows_product<C>(a, row, step, b, line, num, num_rows, column, done);
    } else if constexpr (!Done::NEEDS_PANEL) {
        for (int j = 0; j < C; j++)
            rows_product<1>(a, row, step, b + LANES * j, line, num, num_rows, column + LANES * j, done);
    } else {
        alignas(64) float sum[TILE_ROWS * C * LANES];
        for (int64_t i = 0; i < num_rows; i += TILE_ROWS) {
            const int64_t rows = std::min<int64_t>(TILE_ROWS, num_rows - i);
            for (int j = 0; j < C; j++) {
                StoreSums<false> to_memory{sum + LANES * j, C * LANES};
                rows_product<1>(a + i * row, row, step, b + LANES * j, line, num, rows, 0, to_memory);
            }
            for (int64_t r = 0; r < rows; r++) hand_over<1, C>(sum + r * C * LANES, i + r, column, done);
        }
    }
#endif
}

// The whole product of `num_rows` rows with a right operand of `columns` (a multiple of 16) in panels: the first 64
// columns' lines, then the next 64's; the last ones in panels of 32 and 16. A fixed `line` says: no panels, lines of
// that length. Tile registers read a row's pairs side by side: `step` is 1 there.
template <class Done>
inline void product(const unit* a, int64_t row, int64_t step, int64_t num_rows, const unit* b, int64_t num,
                    int64_t columns, Done done, int64_t line = 0) {
    for (int64_t c = 0; c < columns;) {
        const int64_t width = panel_width(columns - c);
        const unit* panel = line ? b + c : b + c * num;
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

// Stores the sums of a tile as numbers.
struct StoreRounded {
    static constexpr bool NEEDS_PANEL = false;
    number* to;
    int64_t row;
    template <int R, int C>
    void operator()(int64_t at_row, int64_t column, Vector (&sum)[R][C]) const {
        for (int i = 0; i < R; i++)
            for (int j = 0; j < C; j++) store(to + (at_row + i) * row + column + LANES * j, sum[i][j]);
    }
};
