// Matrix products of bfloat16 numbers with float32 sums on AMX: 16 × 16 sums of 32 products an instruction.
//
// A tile register holds 16 rows of 64 bytes. The right operand stands as for AVX512 (tile.h); the left one is read as
// rows of pairs. A row's sums are the same whichever rows are computed with it. (Part of tile.h.)
#pragma once

constexpr int64_t TILE = 16;  // rows of a tile register, and pairs in each

// The tile registers of a thread while it computes: 0 to 3 take sums, 4 the left operand, 5 the right one; 6 and 7 the
// same where the summed axis ends in fewer than 16 pairs. Others (oneDNN) set them up otherwise between our calls.
class Tiles {
   public:
    Tiles() { rows_ = 0; }
    ~Tiles() { _tile_release(); }

    // For `rows` rows of the left operand, and `rest` pairs at the end of the summed axis.
    static void set_up(int64_t rows, int64_t rest) {
        if (rows == rows_ && (rest == 0 || rest == rest_)) return;
        rows_ = rows, rest_ = rest;
        alignas(64) Layout layout{.palette = 1};
        for (int i = 0; i < 8; i++) layout.rows[i] = rows, layout.bytes[i] = 64;
        layout.rows[5] = TILE;
        layout.bytes[6] = layout.rows[7] = std::max<int64_t>(1, rest);
        layout.bytes[6] *= 4;
        asm volatile("" ::"m"(layout));  // GCC before 12.4 and 13.3 believes that only 8 bytes of it are read (PR 114098)
        _tile_loadconfig(&layout);
    }

   private:
    struct Layout {
        uint8_t palette, first;
        uint8_t unused[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    };
    inline static thread_local int64_t rows_ = 0, rest_ = 0;
};

// The next 16 pairs of the summed axis, or the rest of it, for a tile of rows and C tiles of columns. The intrinsics want
// their registers' numbers spelled out.
#define MULTIPLY_TILES(LEFT, RIGHT, a, row, b, step)          \
    _tile_loadd(LEFT, a, 4 * (row));                          \
    _tile_loadd(RIGHT, b, step);                              \
    _tile_dpbf16ps(0, LEFT, RIGHT);                           \
    if constexpr (C > 1) {                                    \
        _tile_loadd(RIGHT, (b) + 16, step);                   \
        _tile_dpbf16ps(1, LEFT, RIGHT);                       \
    }                                                         \
    if constexpr (C > 2) {                                    \
        _tile_loadd(RIGHT, (b) + 32, step);                   \
        _tile_dpbf16ps(2, LEFT, RIGHT);                       \
        _tile_loadd(RIGHT, (b) + 48, step);                   \
        _tile_dpbf16ps(3, LEFT, RIGHT);                       \
    }

// sum (16 × 16·C): in row i, Σ_p a[i·row + p] ⊗ b[p·line …] over `num` pairs.
template <int C>
[[gnu::always_inline]] inline void multiply_tiles(const unit* a, int64_t row, const unit* b, int64_t line,
                                                  int64_t num, float* sum) {
    const int64_t step = 4 * line, width = 4 * 16 * C;  // in bytes
    static_assert(C == 1 || C == 2 || C == 4);
    asm volatile("" ::: "memory");  // the operands are written by now: GCC's loads do not say that they read
    _tile_zero(0);
    if constexpr (C > 1) _tile_zero(1);
    if constexpr (C > 2) {
        _tile_zero(2);
        _tile_zero(3);
    }
    int64_t p = 0;
    for (; p + TILE <= num; p += TILE) {
        MULTIPLY_TILES(4, 5, a + p, row, b + p * line, step)
    }
    if (p < num) {
        MULTIPLY_TILES(6, 7, a + p, row, b + p * line, step)
    }
    _tile_stored(0, sum, width);
    if constexpr (C > 1) _tile_stored(1, sum + 16, width);
    if constexpr (C > 2) {
        _tile_stored(2, sum + 32, width);
        _tile_stored(3, sum + 48, width);
    }
}
#undef MULTIPLY_TILES

// A panel of C tiles of columns. The last tile of rows begins among those before it rather than have fewer rows.
template <int C, class Done>
inline void panel_in_tiles(const unit* a, int64_t row, const unit* b, int64_t line, int64_t num, int64_t num_rows,
                           int64_t column, Done& done) {
    constexpr int HANDED = 4;  // rows at once
    if (num_rows <= 0) return;
    alignas(64) float sum[TILE * 16 * C];
    const int64_t rows = std::min(TILE, num_rows);
    Tiles::set_up(rows, num % TILE);
    for (int64_t i = 0; i < num_rows; i += TILE) {
        const int64_t first = std::min(i, num_rows - rows);
        multiply_tiles<C>(a + first * row, row, b, line, num, sum);
        int64_t r = i - first;
        for (; r + HANDED <= rows; r += HANDED) hand_over<HANDED, C>(sum + r * 16 * C, first + r, column, done);
        for (; r < rows; r++) hand_over<1, C>(sum + r * 16 * C, first + r, column, done);
    }
}
