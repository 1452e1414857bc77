// Matrix products of bfloat16 numbers with float32 sums on AMX: 16 × 16 sums of 32 products per instruction.
//
// A tile register holds 16 rows of 64 bytes. The right operand has the same order as for AVX-512 (tile.h); the left one
// is read as rows of pairs. A row's sums do not depend on the other rows of its tile. Included by tile.h.
#pragma once

constexpr int64_t TILE = 16;  // rows of a tile register, and pairs per row

// The tile registers of a thread while it computes: 0 to 3 hold sums, 4 the left operand, 5 the right one; 6 and 7 hold
// the operands where the summed axis ends in fewer than 16 pairs. Other libraries (oneDNN) configure them differently
// between two calls of these kernels.
class Tiles {
   public:
    Tiles() { rows_ = 0; }
    ~Tiles() { _tile_release(); }

    // Configures the registers for `rows` rows of the left operand and `rest` pairs at the end of the summed axis.
    static void configure(int64_t rows, int64_t rest) {
        if (rows == rows_ && (rest == 0 || rest == rest_)) return;
        rows_ = rows, rest_ = rest;
        alignas(64) Layout layout{.palette = 1};
        for (int i = 0; i < 8; i++) layout.rows[i] = rows, layout.bytes[i] = 64;
        layout.rows[5] = TILE;
        layout.bytes[6] = layout.rows[7] = std::max<int64_t>(1, rest);
        layout.bytes[6] *= 4;
        asm volatile("" ::"m"(layout));  // GCC before 12.4 and 13.3 assumes that only 8 bytes are read (PR 114098)
        _tile_loadconfig(&layout);
    }

   private:
    struct Layout {
        uint8_t palette, start_row;
        uint8_t unused[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    };
    inline static thread_local int64_t rows_ = 0, rest_ = 0;
};

// Adds the products of the next 16 pairs of the summed axis, or of its rest, for a tile of rows and C tiles of columns.
// A macro, because the intrinsics take register numbers only as literals.
#define MULTIPLY_TILES(LEFT, RIGHT, a, row_stride, b, step) \
    _tile_loadd(LEFT, a, 4 * (row_stride));                 \
    _tile_loadd(RIGHT, b, step);                            \
    _tile_dpbf16ps(0, LEFT, RIGHT);                         \
    if constexpr (C > 1) {                                  \
        _tile_loadd(RIGHT, (b) + 16, step);                 \
        _tile_dpbf16ps(1, LEFT, RIGHT);                     \
    }                                                       \
    if constexpr (C > 2) {                                  \
        _tile_loadd(RIGHT, (b) + 32, step);                 \
        _tile_dpbf16ps(2, LEFT, RIGHT);                     \
        _tile_loadd(RIGHT, (b) + 48, step);                 \
        _tile_dpbf16ps(3, LEFT, RIGHT);                     \
    }

// sum (16 × 16·C) = Σ_p a[i·row_stride + p] ⊗ b[p·line_stride …] in row i, over `depth` pairs.
template <int C>
[[gnu::always_inline]] inline void multiply_tiles(const unit* a, int64_t row_stride, const unit* b, int64_t line_stride,
                                                  int64_t depth, float* sum) {
    const int64_t step = 4 * line_stride, width = 4 * 16 * C;  // in bytes
    static_assert(C == 1 || C == 2 || C == 4);
    asm volatile("" ::: "memory");  // writes the operands first: to GCC, the tile loads read no memory
    _tile_zero(0);
    if constexpr (C > 1) _tile_zero(1);
    if constexpr (C > 2) {
        _tile_zero(2);
        _tile_zero(3);
    }
    int64_t p = 0;
    for (; p + TILE <= depth; p += TILE) {
        MULTIPLY_TILES(4, 5, a + p, row_stride, b + p * line_stride, step)
    }
    if (p < depth) {
        MULTIPLY_TILES(6, 7, a + p, row_stride, b + p * line_stride, step)
    }
    _tile_stored(0, sum, width);
    if constexpr (C > 1) _tile_stored(1, sum + 16, width);
    if constexpr (C > 2) {
        _tile_stored(2, sum + 32, width);
        _tile_stored(3, sum + 48, width);
    }
}
#undef MULTIPLY_TILES

// Computes a panel of C tiles of columns. The last tile of rows overlaps the one before it instead of having fewer
// rows.
template <int C, class Epilogue>
inline void panel_in_tiles(const unit* a, int64_t row_stride, const unit* b, int64_t line_stride, int64_t depth,
                           int64_t num_rows, int64_t column, Epilogue& epilogue) {
    constexpr int EPILOGUE_ROWS = 4;  // rows per call of the epilogue
    if (num_rows <= 0) return;
    alignas(64) float sum[TILE * 16 * C];
    const int64_t rows = std::min(TILE, num_rows);
    Tiles::configure(rows, depth % TILE);
    for (int64_t i = 0; i < num_rows; i += TILE) {
        const int64_t first = std::min(i, num_rows - rows);
        multiply_tiles<C>(a + first * row_stride, row_stride, b, line_stride, depth, sum);
        int64_t r = i - first;
        for (; r + EPILOGUE_ROWS <= rows; r += EPILOGUE_ROWS)
            run_epilogue<EPILOGUE_ROWS, C>(sum + r * 16 * C, first + r, column, epilogue);
        for (; r < rows; r++) run_epilogue<1, C>(sum + r * 16 * C, first + r, column, epilogue);
    }
}
