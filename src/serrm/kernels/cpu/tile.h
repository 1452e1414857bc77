// Matrix products a·b with float32 sums, of float32 or bfloat16 numbers, tile by tile, with an epilogue for the sums.
//
// Each build has one type of numbers. An instruction multiplies one unit of a row: a float32 number, or with
// AVX512-BF16 a pair of adjacent bfloat16 numbers (sum += a[2p]·b[2p] + a[2p+1]·b[2p+1], for 16 columns at once). So
// the right operand b is stored as lines of units, one line per p with a unit for every column, and the left operand a
// is read unit by unit. Where the CPU has tile registers, they multiply the pairs instead (amx.h).
//
// An epilogue is a function object that takes the sums of a tile of R rows and 16·C columns, and stores or uses them.
// It is called with the tile's first row and first column. NEEDS_PANEL says that it takes all columns of a panel at
// once.
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
constexpr int64_t PER_UNIT = 2;  // numbers that are adjacent along the summed axis
#else
using number = float;
using unit = float;
constexpr int64_t PER_UNIT = 1;
#endif

inline const unit* units(const number* from) { return reinterpret_cast<const unit*>(from); }
inline int64_t num_units(int64_t numbers) { return (numbers + PER_UNIT - 1) / PER_UNIT; }

// Loads R rows of sums from memory and calls the epilogue with them.
template <int R, int C, class Epilogue>
[[gnu::always_inline]] inline void run_epilogue(const float* from, int64_t row, int64_t column, Epilogue& epilogue) {
    Vector sum[R][C];
    for (int i = 0; i < R; i++)
        for (int j = 0; j < C; j++) sum[i][j] = load(from + (i * C + j) * LANES);
    epilogue.template operator()<R, C>(row, column, sum);
}

#if defined(TILES) && defined(__AMX_BF16__)
#include "amx.h"
constexpr bool HAS_TILES = true;
#else
#undef TILES
constexpr bool HAS_TILES = false;
struct Tiles {};
#endif

constexpr int TILE_ROWS = 6, TILE_COLUMNS = 4;  // with AVX-512, 6 · 4 sums and 4 + 1 operands take 29 of 32 registers
constexpr int64_t PANEL = TILE_COLUMNS * LANES;
constexpr int64_t ROWS = HAS_TILES ? 16 : TILE_ROWS;  // rows of a tile
// The maximum number of rows in a block, which goes through a chain of products while it is in the cache. Large weights
// take larger blocks, because every block reads the weights again.
constexpr int64_t BLOCK = HAS_TILES ? 128 : 216;
constexpr int64_t BLOCK_OF_SMALL_WEIGHTS = HAS_TILES ? 128 : 120;
constexpr int64_t LARGE_WEIGHTS = 1 << 17;  // numbers

#ifdef BFLOAT16
inline Vector load(const number* from) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)from)), 16));
}

inline void store(number* to, Vector value) { _mm256_storeu_si256((__m256i*)to, (__m256i)_mm512_cvtneps_pbh(value)); }

inline Vector load(Mask mask, const number* from) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from)), 16));
}

inline void store_past_cache(number* to, Vector value) {
    _mm256_stream_si256((__m256i*)to, (__m256i)_mm512_cvtneps_pbh(value));
}

inline void store(Mask mask, number* to, Vector value) {
    if (mask == 0xffff)
        store(to, value);  // several times as fast
    else
        _mm256_mask_storeu_epi16(to, mask, (__m256i)_mm512_cvtneps_pbh(value));
}
#endif

// The width of the next panel where `num` columns remain: 64, then 32, then 16.
inline int64_t panel_width(int64_t num) { return num >= PANEL ? PANEL : num >= 32 ? 32 : LANES; }

// The number of panels, and the first column of one. All panels but the last two have 64 columns.
inline int64_t num_panels(int64_t columns) {
    return columns / PANEL + (columns % PANEL >= 32) + (columns % 32 >= LANES);
}
inline int64_t panel_start(int64_t columns, int64_t panel) {
    return panel <= columns / PANEL ? panel * PANEL : columns / 32 * 32;
}

// Memory that a thread reuses from call to call. It is aligned to cache lines, because a load across two lines takes
// twice as long.
template <class T>
class Buffer {
   public:
    // Returns at least `size` elements, not initialised.
    T* reserve(int64_t size) {
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

constexpr int64_t LINES_AHEAD = 16;  // lines of the right operand by which prefetching is ahead

// sum[i][·] += Σ_p a[i·row_stride + p·unit_stride] ⊗ b[p·line_stride …] over `depth` units.
template <int R, int C>
[[gnu::always_inline]] inline void multiply(const unit* a, int64_t row_stride, int64_t unit_stride, const unit* b,
                                            int64_t line_stride, int64_t depth, Vector (&sum)[R][C]) {
    for (int64_t p = 0; p < depth; p++) {
        // The right operand comes from the L2 cache, whose hardware prefetcher is too short for the lines of a whole
        // panel.
        if constexpr (C == TILE_COLUMNS)
            for (int j = 0; j < C; j++)
                _mm_prefetch((const char*)(b + (p + LINES_AHEAD) * line_stride + LANES * j), _MM_HINT_T0);
#ifdef BFLOAT16
        __m512bh right[C];
        for (int j = 0; j < C; j++) right[j] = (__m512bh)load_integers(b + p * line_stride + LANES * j);
        for (int i = 0; i < R; i++) {
            __m512bh left = (__m512bh)_mm512_set1_epi32(a[i * row_stride + p * unit_stride]);
            for (int j = 0; j < C; j++) sum[i][j] = _mm512_dpbf16_ps(sum[i][j], left, right[j]);
        }
#else
        Vector right[C];
        for (int j = 0; j < C; j++) right[j] = load(b + p * line_stride + LANES * j);
        for (int i = 0; i < R; i++) {
            const Vector left = broadcast(a[i * row_stride + p * unit_stride]);
            for (int j = 0; j < C; j++) sum[i][j] = multiply_add(left, right[j], sum[i][j]);
        }
#endif
    }
}

// Computes a tile of a product from `row` and `column` on, and calls the epilogue with it.
template <int R, int C, class Epilogue>
[[gnu::always_inline]] inline void tile(const unit* a, int64_t row_stride, int64_t unit_stride, const unit* b,
                                        int64_t line_stride, int64_t depth, int64_t row, int64_t column,
                                        Epilogue& epilogue) {
    Vector sum[R][C];
    for (auto& row_sums : sum)
        for (Vector& vector : row_sums) vector = broadcast(0);
    multiply<R, C>(a + row * row_stride, row_stride, unit_stride, b, line_stride, depth, sum);
    epilogue.template operator()<R, C>(row, column, sum);
}

// Computes the last `num_rows` rows, at most R, as one tile.
template <int R, int C, class Epilogue>
inline void last_rows_product(const unit* a, int64_t row_stride, int64_t unit_stride, const unit* b,
                              int64_t line_stride, int64_t depth, int64_t num_rows, int64_t row, int64_t column,
                              Epilogue& epilogue) {
    if (num_rows == R)
        tile<R, C>(a, row_stride, unit_stride, b, line_stride, depth, row, column, epilogue);
    else if constexpr (R > 1)
        last_rows_product<R - 1, C>(a, row_stride, unit_stride, b, line_stride, depth, num_rows, row, column, epilogue);
}

// Epilogue: stores the sums as float32, or adds them to those in memory.
template <bool IsAdded>
struct StoreSums {
    static constexpr bool NEEDS_PANEL = false;
    float* to;
    int64_t row_stride;
    template <int R, int C>
    void operator()(int64_t row, int64_t column, Vector (&sum)[R][C]) const {
        for (int i = 0; i < R; i++)
            for (int j = 0; j < C; j++) {
                float* address = to + (row + i) * row_stride + column + LANES * j;
                store(address, IsAdded ? load(address) + sum[i][j] : sum[i][j]);
            }
    }
};

// Calls `run_product` with an epilogue for sums at `to`: one that stores them if `is_first`, else one that adds them.
template <class Product>
inline void store_or_add(bool is_first, float* to, int64_t row_stride, Product run_product) {
    if (is_first)
        run_product(StoreSums<false>{to, row_stride});
    else
        run_product(StoreSums<true>{to, row_stride});
}

// Computes all rows of 16·C columns in tiles of R rows.
template <int R, int C, class Epilogue>
[[gnu::always_inline]] inline void product_in_tiles(const unit* a, int64_t row_stride, int64_t unit_stride,
                                                    const unit* b, int64_t line_stride, int64_t depth, int64_t num_rows,
                                                    int64_t column, Epilogue& epilogue) {
    int64_t i = 0;
    for (; i + R <= num_rows; i += R)
        tile<R, C>(a, row_stride, unit_stride, b, line_stride, depth, i, column, epilogue);
    last_rows_product<R - 1, C>(a, row_stride, unit_stride, b, line_stride, depth, num_rows - i, i, column, epilogue);
}

// Computes all rows of 16·C columns in tiles of TILE_ROWS rows, or of twice as many where AVX-512 would leave registers
// idle: with one register per row, so that no sum waits for its last addition, and with two if the left operand's rows
// are adjacent (row_stride 1), because those share an address register.
template <int C, class Epilogue>
inline void rows_product(const unit* a, int64_t row_stride, int64_t unit_stride, const unit* b, int64_t line_stride,
                         int64_t depth, int64_t num_rows, int64_t column, Epilogue& epilogue) {
    if (row_stride == 1)
        product_in_tiles<HAS_AVX512 && C <= 2 ? 2 * TILE_ROWS : TILE_ROWS, C>(a, 1, unit_stride, b, line_stride, depth,
                                                                              num_rows, column, epilogue);
    else
        product_in_tiles<HAS_AVX512 && C == 1 ? 2 * TILE_ROWS : TILE_ROWS, C>(
            a, row_stride, unit_stride, b, line_stride, depth, num_rows, column, epilogue);
}

// Computes a panel of 16·C columns. AVX2 has 16 registers, which hold the sums of 6 rows and 16 columns, so an epilogue
// that needs all columns of a row at once gets them from memory.
template <int C, class Epilogue>
inline void panel_product(const unit* a, int64_t row_stride, int64_t unit_stride, const unit* b, int64_t line_stride,
                          int64_t depth, int64_t num_rows, int64_t column, Epilogue& epilogue) {
#ifdef TILES
    assert(unit_stride == 1);
    panel_in_tiles<C>(a, row_stride, b, line_stride, depth, num_rows, column, epilogue);
#else
    if constexpr (HAS_AVX512 || C == 1) {
        rows_product<C>(a, row_stride, unit_stride, b, line_stride, depth, num_rows, column, epilogue);
    } else if constexpr (!Epilogue::NEEDS_PANEL) {
        for (int j = 0; j < C; j++)
            rows_product<1>(a, row_stride, unit_stride, b + LANES * j, line_stride, depth, num_rows, column + LANES * j,
                            epilogue);
    } else {
        alignas(64) float sum[TILE_ROWS * C * LANES];
        for (int64_t i = 0; i < num_rows; i += TILE_ROWS) {
            const int64_t rows = std::min<int64_t>(TILE_ROWS, num_rows - i);
            for (int j = 0; j < C; j++) {
                StoreSums<false> to_memory{sum + LANES * j, C * LANES};
                rows_product<1>(a + i * row_stride, row_stride, unit_stride, b + LANES * j, line_stride, depth, rows, 0,
                                to_memory);
            }
            for (int64_t r = 0; r < rows; r++) run_epilogue<1, C>(sum + r * C * LANES, i + r, column, epilogue);
        }
    }
#endif
}

// Computes the product of `num_rows` rows with a right operand of `columns` columns (a multiple of 16). The right
// operand consists of panels: all lines of the first 64 columns, then those of the next 64, and at the end panels of 32
// and 16 columns. With a `line_stride` it is instead one matrix whose lines are that far apart. Tile registers read
// adjacent pairs of a row, so `unit_stride` is 1 there.
template <class Epilogue>
inline void product(const unit* a, int64_t row_stride, int64_t unit_stride, int64_t num_rows, const unit* b,
                    int64_t depth, int64_t columns, Epilogue epilogue, int64_t line_stride = 0) {
    for (int64_t c = 0; c < columns;) {
        const int64_t width = panel_width(columns - c);
        const unit* panel = line_stride ? b + c : b + c * depth;
        const int64_t stride = line_stride ? line_stride : width;
        if (width == PANEL)
            panel_product<4>(a, row_stride, unit_stride, panel, stride, depth, num_rows, c, epilogue);
        else if (width == 32)
            panel_product<2>(a, row_stride, unit_stride, panel, stride, depth, num_rows, c, epilogue);
        else
            panel_product<1>(a, row_stride, unit_stride, panel, stride, depth, num_rows, c, epilogue);
        c += width;
    }
}

// Epilogue: stores the sums as numbers of the build's type.
struct StoreRounded {
    static constexpr bool NEEDS_PANEL = false;
    number* to;
    int64_t row_stride;
    template <int R, int C>
    void operator()(int64_t row, int64_t column, Vector (&sum)[R][C]) const {
        for (int i = 0; i < R; i++)
            for (int j = 0; j < C; j++) store(to + (row + i) * row_stride + column + LANES * j, sum[i][j]);
    }
};
