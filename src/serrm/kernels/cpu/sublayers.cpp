// The sublayers of a block with residual and norm, y = norm(x + f(x)), forward and backward, for rows of bfloat16 or float32.
//
// Called from Python through a C interface (network.py). Weights come packed (pack.h). Everything is split by rows or
// sequences and summed in a fixed order, so no number depends on the number of threads.
#include "attention.h"
#include "gradient.h"
#include "optimizer.h"

namespace {

struct Scratch {
    Buffer<float> sums;
    Buffer<number> hidden;
    AttentionScratch attention;
    GradientScratch gradient;
};
thread_local Scratch own;

// Rows in blocks of whole tiles, whose sizes differ by one tile at most, and as many blocks for each thread; `weights` is the
// size of the first weight.
struct Blocks {
    int64_t rows, num;
    Blocks(int64_t rows, int64_t weights, int64_t threads) : rows(rows) {
        const int64_t most = (weights < LARGE_WEIGHTS ? BLOCK_OF_SMALL_WEIGHTS : BLOCK) * threads;
        num = std::max<int64_t>(1, (rows + most - 1) / most) * threads;
    }
    // The first row of a block; of the block behind the last one, the number of rows.
    int64_t start(int64_t block) const {
        const int64_t tiles = (rows + ROWS - 1) / ROWS;
        return std::min(rows, tiles * block / num * ROWS);
    }
    int64_t size(int64_t block) const { return start(block + 1) - start(block); }
};

// Heads that a thread takes at once: one of a long sequence, several of short ones.
int64_t heads_at_once(int64_t length) { return std::max<int64_t>(1, 128 / length); }

// y = norm(x + hidden·W) and 1/rms, for a block of rows.
void project_and_norm(const number* hidden, int64_t num, const number* packed, const number* x, int64_t rows, int64_t width,
                      number* y, float* scale) {
    float* sums = own.sums.room(BLOCK * width);
    product(units(hidden), num / PER_UNIT, 1, rows, units(packed), num / PER_UNIT, width, StoreSums<false>{sums, width});
    for (int64_t i = 0; i < rows; i++)
        scale[i] = add_and_norm(x + i * width, sums + i * width, y + i * width, width);
}

// dx = dz + changes·W, for a block of rows.
void add_projected(const number* changes, int64_t num, const number* packed, const number* dz, int64_t rows, int64_t width,
                   number* dx) {
    float* sums = own.sums.room(BLOCK * width);
    product(units(changes), num / PER_UNIT, 1, rows, units(packed), num / PER_UNIT, width, StoreSums<false>{sums, width});
    for (int64_t i = 0; i < rows; i++) add_row(dz + i * width, sums + i * width, dx + i * width, width);
}

// silu(gate)·up of a panel of 32 gates and 32 ups, and the panel itself if it is to be kept for the backward pass, which comes
// when it would no longer be in the cache.
struct Gate {
    static constexpr bool NEEDS_PANEL = true;
    number* hidden;
    int64_t inner;
    number* kept;  // or null
    template <int R, int C>
    void operator()(int64_t row, int64_t column, Vector (&sum)[R][C]) const {
        if constexpr (C == TILE_COLUMNS)
            for (int i = 0; i < R; i++) {
                for (int j = 0; j < 2; j++)
                    store(hidden + (row + i) * inner + column / 2 + LANES * j,
                          ((sum[i][j] * sigmoid(sum[i][j])) * (sum[i][j + 2])));
                if (kept)
                    for (int j = 0; j < C; j++)
                        store_past_cache(kept + (row + i) * 2 * inner + column + LANES * j, sum[i][j]);
            }
    }
};

// From the gradient of silu(gate)·up: those of gate and up, and silu(gate)·up again.
struct GateBackward {
    static constexpr bool NEEDS_PANEL = false;
    const number* kept;
    int64_t inner;
    number *changes, *hidden;
    template <int R, int C>
    void operator()(int64_t row, int64_t column, Vector (&sum)[R][C]) const {
        for (int i = 0; i < R; i++)
            for (int j = 0; j < C; j++) {
                const int64_t at = column + LANES * j, place = (row + i) * 2 * inner + at / 32 * PANEL + at % 32;
                const int64_t soon = place + 2 * R * 2 * inner;  // two tiles further
                for (const number* part : {kept + soon, kept + soon + 32}) _mm_prefetch((const char*)part, _MM_HINT_T0);
                const Vector gate = load(kept + place), up = load(kept + place + 32), share = sigmoid(gate);
                const Vector silu = (gate * share);
                // silu' = s + silu·(1 − s)
                const Vector slope = multiply_add(silu, (all(1.f) - share), share);
                store(hidden + (row + i) * inner + at, (silu * up));
                store(changes + place, ((sum[i][j] * up) * slope));
                store(changes + place + 32, (sum[i][j] * silu));
            }
    }
};

}  // namespace

extern "C" {

// Whether products go through tile registers.
int has_tiles() { return HAS_TILES; }

struct Attention {
    // x is outer × length × inner rows of `width`; the attended axis is `length`.
    int64_t outer, length, inner, width, heads, head_dim, threads;
    const float *cos, *sin;  // length × head_dim/2, or null
    double dropout;
    int64_t seed;
};

struct Gated {
    int64_t rows, width, inner, threads;
};

void pack(const float* weight, int64_t num_out, int64_t num_in, int is_gated, int64_t threads, number* forward,
          number* backward) {
    constexpr int64_t LEAST = 1 << 16;  // numbers for which it pays to start threads
#pragma omp parallel num_threads(threads) if (num_out * num_in >= LEAST)
    {
        pack_forward(weight, num_out, num_in, is_gated, forward);
        if (backward) pack_backward(weight, num_out, num_in, is_gated, backward);
    }
}

void gated_forward(const Gated* a, const number* x, const number* gate_up, const number* down, number* y, float* scale,
                   number* kept) {
    const int64_t width = a->width, inner = a->inner;
    const Blocks blocks(a->rows, 2 * inner * width, a->threads);
#pragma omp parallel num_threads(a->threads)
    {
        [[maybe_unused]] const Tiles tiles;
#pragma omp for schedule(dynamic)
        for (int64_t block = 0; block < blocks.num; block++) {
            const int64_t m = blocks.start(block), rows = blocks.size(block);
            number* hidden = own.hidden.room(BLOCK * inner);
            product(units(x + m * width), width / PER_UNIT, 1, rows, units(gate_up), width / PER_UNIT, 2 * inner,
                    Gate{hidden, inner, kept ? kept + m * 2 * inner : nullptr});
            project_and_norm(hidden, inner, down, x + m * width, rows, width, y + m * width, scale + m);
        }
        finish_stores();
    }
}

// dz, hidden and changes are room for `chunk` rows, whose gradients are added up while they are in the cache. The gradients of
// the weights are added to what is there if `is_added`.
void gated_backward(const Gated* a, const number* x, const number* y, const float* scale, const number* kept, const number* dy,
                    const number* gate_up, const number* down, number* dz, number* hidden, number* changes, number* dx,
                    int64_t chunk, int is_added, float* d_gate_up, float* d_down) {
    const int64_t width = a->width, inner = a->inner;
    const Gradient of_gate_up = gradient_of(2 * inner, width, true, a->threads, own.gradient.first.room(2 * inner * width));
    const Gradient of_down = gradient_of(width, inner, false, a->threads, own.gradient.second.room(width * inner));
#pragma omp parallel num_threads(a->threads)
    {
        [[maybe_unused]] const Tiles tiles;
        for (int64_t first = 0; first < a->rows; first += chunk) {
            const int64_t num = std::min(chunk, a->rows - first);
            const Blocks blocks(num, 2 * inner * width, a->threads);
#pragma omp for schedule(dynamic)
            for (int64_t block = 0; block < blocks.num; block++) {
                const int64_t m = blocks.start(block), rows = blocks.size(block), at = first + m;
                for (int64_t i = 0; i < rows; i++)
                    norm_backward(y + (at + i) * width, dy + (at + i) * width, scale[at + i], dz + (m + i) * width, width);
                product(units(dz + m * width), width / PER_UNIT, 1, rows, units(down), width / PER_UNIT, inner,
                        GateBackward{kept + at * 2 * inner, inner, changes + m * 2 * inner, hidden + m * inner});
                add_projected(changes + m * 2 * inner, 2 * inner, gate_up, dz + m * width, rows, width, dx + at * width);
            }
            add_gradient(of_down, dz, hidden, num, first == 0, own.gradient);
            add_gradient(of_gate_up, changes, x + first * width, num, first == 0, own.gradient);
        }
        write_gradient(of_down, is_added, d_down);
        write_gradient(of_gate_up, is_added, d_gate_up);
    }
}

// The head of number `item` of the sequences of outer parts from `first` on, with where its first row is.
static Head head_of(const Attention* a, int64_t first, int64_t item, int64_t* start, int64_t* head) {
    const int64_t sequence = item / a->heads, outer = first + sequence / a->inner;
    *head = item % a->heads;
    *start = outer * a->length * a->inner + sequence % a->inner;
    const int64_t across = a->heads * a->head_dim;
    const uint64_t number = (uint64_t)(outer * a->inner + sequence % a->inner) * a->heads + *head;
    // Mixed until neighbours have nothing in common (splitmix64), else the rows of one head are those of another.
    uint64_t mixed = (uint64_t)a->seed + number * 0x9e3779b97f4a7c15ull;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ull;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebull;
    mixed ^= mixed >> 31;
    return Head{a->length, a->head_dim, a->inner * 3 * across, a->inner * across, a->cos, a->sin,
                (float)a->dropout, (uint32_t)(mixed >> 32)};
}

// `kept` is room for queries, keys and values, `mixed` for what comes out of the heads: of all rows where they are
// kept for the backward pass, else of a chunk. `softmax`, one per row and head, is null where nothing is kept.
void attention_forward(const Attention* a, const number* x, const number* qkv, const number* out, number* y, float* scale,
                       number* kept, number* mixed, Softmax* softmax, int64_t chunk) {
    const int64_t width = a->width, across = a->heads * a->head_dim, of_outer = a->length * a->inner;
#pragma omp parallel num_threads(a->threads)
    {
        [[maybe_unused]] const Tiles tiles;
        for (int64_t first = 0; first < a->outer; first += chunk) {
            const int64_t num = std::min(chunk, a->outer - first), rows = num * of_outer, m0 = first * of_outer;
            const int64_t base = softmax ? 0 : m0;  // of the rows in the buffers
            const Blocks blocks(rows, 3 * across * width, a->threads);
#pragma omp for schedule(dynamic)
            for (int64_t block = 0; block < blocks.num; block++) {
                const int64_t m = m0 + blocks.start(block);
                product(units(x + m * width), width / PER_UNIT, 1, blocks.size(block), units(qkv), width / PER_UNIT,
                        3 * across, StoreRounded{kept + (m - base) * 3 * across, 3 * across});
            }
#pragma omp for schedule(dynamic, heads_at_once(a->length))
            for (int64_t item = 0; item < num * a->inner * a->heads; item++) {
                int64_t start, h;
                const Head head = head_of(a, first, item, &start, &h);
                const number* query = kept + (start - base) * 3 * across + h * a->head_dim;
                attend(query, query + across, query + 2 * across, mixed + (start - base) * across + h * a->head_dim,
                       softmax ? softmax + (first * a->inner * a->heads + item) * a->length : nullptr, head, own.attention);
            }
#pragma omp for schedule(dynamic)
            for (int64_t block = 0; block < blocks.num; block++) {
                const int64_t m = m0 + blocks.start(block);
                project_and_norm(mixed + (m - base) * across, across, out, x + m * width, blocks.size(block), width,
                                 y + m * width, scale + m);
            }
        }
    }
}

// dz, d_mixed and changes are room for the rows of `group` outer parts, whose gradients are added up while they are in the
// cache. What is added together must not depend on the number of threads, as `chunk` does.
void attention_backward(const Attention* a, const number* x, const number* y, const float* scale, const number* kept,
                        const number* mixed, const Softmax* softmax, const number* dy, const number* qkv, const number* out,
                        number* dz, number* d_mixed, number* changes, number* dx, int64_t chunk, int64_t group, int is_added,
                        float* d_qkv, float* d_out) {
    const int64_t width = a->width, across = a->heads * a->head_dim, of_outer = a->length * a->inner;
    const Gradient of_qkv = gradient_of(3 * across, width, false, a->threads, own.gradient.first.room(3 * across * width));
    const Gradient of_out = gradient_of(width, across, false, a->threads, own.gradient.second.room(width * across));
#pragma omp parallel num_threads(a->threads)
    {
        [[maybe_unused]] const Tiles tiles;
        for (int64_t start_of_group = 0; start_of_group < a->outer; start_of_group += group) {
            const int64_t end = std::min(a->outer, start_of_group + group), base = start_of_group * of_outer;
            for (int64_t first = start_of_group; first < end; first += chunk) {
                const int64_t num = std::min(chunk, end - first), rows = num * of_outer, m0 = first * of_outer;
                const int64_t items = num * a->inner * a->heads;
                const Blocks blocks(rows, 3 * across * width, a->threads);
#pragma omp for schedule(dynamic)
                for (int64_t block = 0; block < blocks.num; block++) {
                    const int64_t m = m0 + blocks.start(block), some = blocks.size(block);
                    for (int64_t i = m; i < m + some; i++)
                        norm_backward(y + i * width, dy + i * width, scale[i], dz + (i - base) * width, width);
                    product(units(dz + (m - base) * width), width / PER_UNIT, 1, some, units(out), width / PER_UNIT, across,
                            StoreRounded{d_mixed + (m - base) * across, across});
                }
#pragma omp for schedule(dynamic, heads_at_once(a->length))
                for (int64_t item = 0; item < items; item++) {
                    int64_t start, h;
                    const Head head = head_of(a, first, item, &start, &h);
                    const int64_t column = h * a->head_dim;
                    const number* query = kept + start * 3 * across + column;
                    number* change = changes + (start - base) * 3 * across + column;
                    attend_backward(query, query + across, query + 2 * across,
                                    softmax + (first * a->inner * a->heads + item) * a->length,
                                    d_mixed + (start - base) * across + column, change, change + across,
                                    change + 2 * across, head, own.attention);
                }
#pragma omp for schedule(dynamic)
                for (int64_t block = 0; block < blocks.num; block++) {
                    const int64_t m = m0 + blocks.start(block);
                    add_projected(changes + (m - base) * 3 * across, 3 * across, qkv, dz + (m - base) * width,
                                  blocks.size(block), width, dx + m * width);
                }
            }
            const int64_t rows = (end - start_of_group) * of_outer;
            add_gradient(of_out, dz, mixed + base * across, rows, start_of_group == 0, own.gradient);
            add_gradient(of_qkv, changes, x + base * width, rows, start_of_group == 0, own.gradient);
        }
        write_gradient(of_out, is_added, d_out);
        write_gradient(of_qkv, is_added, d_qkv);
    }
}

#ifndef BFLOAT16
// out = a·b for `num_rows` rows of a, whose neighbours along the summed axis are `step` numbers apart, and lines of b. The
// lines have `columns` numbers, a multiple of 16. Sums of ROWS_OF_SUM products are added up one after another, so no number
// depends on the number of threads.
void multiply(const float* a, int64_t row, int64_t step, int64_t num_rows, const float* b, int64_t num, int64_t columns,
              float* out, int64_t threads) {
    constexpr int64_t ROWS_OF_SUM = 2048;
#pragma omp parallel for collapse(2) schedule(dynamic) num_threads(threads)
    for (int64_t m = 0; m < num_rows; m += BLOCK)
        for (int64_t c = 0; c < columns; c += PANEL) {
            const int64_t rows = std::min(BLOCK, num_rows - m), width = std::min(PANEL, columns - c);
            float* to = out + m * columns + c;
            for (int64_t p = 0; p < num; p += ROWS_OF_SUM) {
                const float *left = a + m * row + p * step, *right = b + p * columns + c;
                const int64_t some = std::min(ROWS_OF_SUM, num - p);
                store_or_add(p == 0, to, columns, [&](auto done) {
                    product(left, row, step, rows, right, some, width, done, columns);
                });
            }
        }
}
#endif

void adam_atan2_step(const AdamAtan2* a, const float* gradient, float* parameter, float* mean, float* square, int64_t num) {
    update_all(*a, gradient, parameter, mean, square, num);
}

}  // extern "C"
