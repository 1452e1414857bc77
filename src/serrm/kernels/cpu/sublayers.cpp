// The sublayers of a block with residual and norm, y = norm(x + f(x)), forward and backward, for rows of bfloat16 or
// float32.
//
// Python calls them through a C interface (network.py), with packed weights (pack.h). Threads share out rows or
// sequences, and sums have a fixed order, so no number depends on the number of threads. A gradient is named d_ and
// what it is the gradient of.
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
thread_local Scratch scratch;

// A division of rows into blocks of whole tiles: the same number of blocks for each thread, of sizes that differ by one
// tile at most. `weights` is the number of weights in the first product.
struct Blocks {
    int64_t rows, num;
    Blocks(int64_t rows, int64_t weights, int64_t threads) : rows(rows) {
        const int64_t max_rows = (weights < LARGE_WEIGHTS ? BLOCK_OF_SMALL_WEIGHTS : BLOCK) * threads;
        num = std::max<int64_t>(1, (rows + max_rows - 1) / max_rows) * threads;
    }
    // The first row of a block, or the number of rows for the block after the last one.
    int64_t start(int64_t block) const {
        const int64_t tiles = (rows + ROWS - 1) / ROWS;
        return std::min(rows, tiles * block / num * ROWS);
    }
    int64_t size(int64_t block) const { return start(block + 1) - start(block); }
};

// The number of heads that a thread takes at once: one of a long sequence, several of short ones.
int64_t heads_at_once(int64_t length) { return std::max<int64_t>(1, 128 / length); }

// Computes y = norm(x + hidden·W) and 1/rms for a block of rows.
void project_and_norm(const number* hidden, int64_t num, const number* packed, const number* x, int64_t rows,
                      int64_t width, number* y, float* scale) {
    float* sums = scratch.sums.reserve(BLOCK * width);
    product(units(hidden), num / PER_UNIT, 1, rows, units(packed), num / PER_UNIT, width,
            StoreSums<false>{sums, width});
    for (int64_t i = 0; i < rows; i++) scale[i] = add_and_norm(x + i * width, sums + i * width, y + i * width, width);
}

// Computes dx = dz + d_output·W for a block of rows.
void add_product(const number* d_output, int64_t num, const number* packed, const number* dz, int64_t rows,
                 int64_t width, number* dx) {
    float* sums = scratch.sums.reserve(BLOCK * width);
    product(units(d_output), num / PER_UNIT, 1, rows, units(packed), num / PER_UNIT, width,
            StoreSums<false>{sums, width});
    for (int64_t i = 0; i < rows; i++) add_row(dz + i * width, sums + i * width, dx + i * width, width);
}

// Epilogue: stores silu(gate)·up of a panel of 32 gates and 32 ups, and for the backward pass the panel itself, past
// the cache, which would not hold it until then.
struct Gate {
    static constexpr bool NEEDS_PANEL = true;
    number* hidden;
    int64_t inner;
    number* gates_and_ups;  // null without a backward pass
    template <int R, int C>
    void operator()(int64_t row, int64_t column, Vector (&sum)[R][C]) const {
        if constexpr (C == TILE_COLUMNS)
            for (int i = 0; i < R; i++) {
                for (int j = 0; j < 2; j++)
                    store(hidden + (row + i) * inner + column / 2 + LANES * j,
                          sum[i][j] * sigmoid(sum[i][j]) * sum[i][j + 2]);
                if (gates_and_ups)
                    for (int j = 0; j < C; j++)
                        store_past_cache(gates_and_ups + (row + i) * 2 * inner + column + LANES * j, sum[i][j]);
            }
    }
};

// Epilogue: from the gradient of silu(gate)·up, stores those of gate and up, and silu(gate)·up again.
struct GateBackward {
    static constexpr bool NEEDS_PANEL = false;
    const number* gates_and_ups;
    int64_t inner;
    number *d_gates_and_ups, *hidden;
    template <int R, int C>
    void operator()(int64_t row, int64_t column, Vector (&sum)[R][C]) const {
        for (int i = 0; i < R; i++)
            for (int j = 0; j < C; j++) {
                const int64_t gate_index = column + LANES * j;
                const int64_t offset = (row + i) * 2 * inner + gate_index / 32 * PANEL + gate_index % 32;
                const int64_t next_offset = offset + 2 * R * 2 * inner;  // two tiles further
                for (const number* ahead : {gates_and_ups + next_offset, gates_and_ups + next_offset + 32})
                    _mm_prefetch((const char*)ahead, _MM_HINT_T0);
                const Vector gate = load(gates_and_ups + offset), up = load(gates_and_ups + offset + 32);
                const Vector gate_sigmoid = sigmoid(gate), silu = gate * gate_sigmoid;
                // silu' = s + silu·(1 − s) with s = σ(gate)
                const Vector slope = multiply_add(silu, broadcast(1.f) - gate_sigmoid, gate_sigmoid);
                store(hidden + (row + i) * inner + gate_index, silu * up);
                store(d_gates_and_ups + offset, sum[i][j] * up * slope);
                store(d_gates_and_ups + offset + 32, sum[i][j] * silu);
            }
    }
};

}  // namespace

extern "C" {

// Tells whether products use tile registers.
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
    constexpr int64_t MIN_PARALLEL_NUMBERS = 1 << 16;  // below, starting threads takes longer than the work
#pragma omp parallel num_threads(threads) if (num_out * num_in >= MIN_PARALLEL_NUMBERS)
    {
        pack_forward(weight, num_out, num_in, is_gated, forward);
        if (backward) pack_backward(weight, num_out, num_in, is_gated, backward);
    }
}

void gated_forward(const Gated* a, const number* x, const number* gate_up, const number* down, number* y, float* scale,
                   number* gates_and_ups) {
    const int64_t width = a->width, inner = a->inner;
    const Blocks blocks(a->rows, 2 * inner * width, a->threads);
#pragma omp parallel num_threads(a->threads)
    {
        [[maybe_unused]] const Tiles tiles;
#pragma omp for schedule(dynamic)
        for (int64_t block = 0; block < blocks.num; block++) {
            const int64_t m = blocks.start(block), rows = blocks.size(block);
            number* hidden = scratch.hidden.reserve(BLOCK * inner);
            product(units(x + m * width), width / PER_UNIT, 1, rows, units(gate_up), width / PER_UNIT, 2 * inner,
                    Gate{hidden, inner, gates_and_ups ? gates_and_ups + m * 2 * inner : nullptr});
            project_and_norm(hidden, inner, down, x + m * width, rows, width, y + m * width, scale + m);
        }
        finish_stores();
    }
}

// `dz`, `hidden` and `d_gates_and_ups` are memory for `chunk` rows, from which the weights' gradients are summed while
// they are in the cache. Those are added to the numbers in d_gate_up and d_down if `is_added`.
void gated_backward(const Gated* a, const number* x, const number* y, const float* scale, const number* gates_and_ups,
                    const number* dy, const number* gate_up, const number* down, number* dz, number* hidden,
                    number* d_gates_and_ups, number* dx, int64_t chunk, int is_added, float* d_gate_up, float* d_down) {
    const int64_t width = a->width, inner = a->inner;
    const Gradient gate_up_gradient =
        plan_gradient(2 * inner, width, true, a->threads, scratch.gradient.first.reserve(2 * inner * width));
    const Gradient down_gradient =
        plan_gradient(width, inner, false, a->threads, scratch.gradient.second.reserve(width * inner));
#pragma omp parallel num_threads(a->threads)
    {
        [[maybe_unused]] const Tiles tiles;
        for (int64_t first = 0; first < a->rows; first += chunk) {
            const int64_t num = std::min(chunk, a->rows - first);
            const Blocks blocks(num, 2 * inner * width, a->threads);
#pragma omp for schedule(dynamic)
            for (int64_t block = 0; block < blocks.num; block++) {
                const int64_t m = blocks.start(block), rows = blocks.size(block), row = first + m;
                for (int64_t i = 0; i < rows; i++)
                    norm_backward(y + (row + i) * width, dy + (row + i) * width, scale[row + i], dz + (m + i) * width,
                                  width);
                product(units(dz + m * width), width / PER_UNIT, 1, rows, units(down), width / PER_UNIT, inner,
                        GateBackward{gates_and_ups + row * 2 * inner, inner, d_gates_and_ups + m * 2 * inner,
                                     hidden + m * inner});
                add_product(d_gates_and_ups + m * 2 * inner, 2 * inner, gate_up, dz + m * width, rows, width,
                            dx + row * width);
            }
            add_gradient(down_gradient, dz, hidden, num, first == 0, scratch.gradient);
            add_gradient(gate_up_gradient, d_gates_and_ups, x + first * width, num, first == 0, scratch.gradient);
        }
        write_gradient(down_gradient, is_added, d_down);
        write_gradient(gate_up_gradient, is_added, d_gate_up);
    }
}

// Returns head `item` of the sequences whose outer index is `first` or more; writes the head's first row to `start`,
// and its number within a sequence to `head`.
static Head find_head(const Attention* a, int64_t first, int64_t item, int64_t* start, int64_t* head) {
    const int64_t sequence = item / a->heads, outer = first + sequence / a->inner;
    *head = item % a->heads;
    *start = outer * a->length * a->inner + sequence % a->inner;
    const int64_t heads_width = a->heads * a->head_dim;
    const uint64_t head_number = (uint64_t)(outer * a->inner + sequence % a->inner) * a->heads + *head;
    // A hash of the number of sequence and head (splitmix64), without which rows of two heads would drop the same
    // weights.
    uint64_t hash = (uint64_t)a->seed + head_number * 0x9e3779b97f4a7c15ull;
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9ull;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebull;
    hash ^= hash >> 31;
    return Head{a->length, a->head_dim, a->inner * 3 * heads_width, a->inner * heads_width,
                a->cos,    a->sin,      (float)a->dropout,          (uint32_t)(hash >> 32)};
}

// `projections` is memory for queries, keys and values, and `head_outputs` for the outputs of the heads: of all rows
// for a backward pass, else of a chunk. `softmax`, one per row and head, is null without a backward pass.
void attention_forward(const Attention* a, const number* x, const number* qkv, const number* out, number* y,
                       float* scale, number* projections, number* head_outputs, Softmax* softmax, int64_t chunk) {
    const int64_t width = a->width, heads_width = a->heads * a->head_dim, outer_rows = a->length * a->inner;
#pragma omp parallel num_threads(a->threads)
    {
        [[maybe_unused]] const Tiles tiles;
        for (int64_t first = 0; first < a->outer; first += chunk) {
            const int64_t num = std::min(chunk, a->outer - first), rows = num * outer_rows,
                          first_row = first * outer_rows;
            const int64_t base = softmax ? 0 : first_row;  // the first row in this memory
            const Blocks blocks(rows, 3 * heads_width * width, a->threads);
#pragma omp for schedule(dynamic)
            for (int64_t block = 0; block < blocks.num; block++) {
                const int64_t m = first_row + blocks.start(block);
                product(units(x + m * width), width / PER_UNIT, 1, blocks.size(block), units(qkv), width / PER_UNIT,
                        3 * heads_width, StoreRounded{projections + (m - base) * 3 * heads_width, 3 * heads_width});
            }
#pragma omp for schedule(dynamic, heads_at_once(a->length))
            for (int64_t item = 0; item < num * a->inner * a->heads; item++) {
                int64_t start, h;
                const Head head = find_head(a, first, item, &start, &h);
                const number* query = projections + (start - base) * 3 * heads_width + h * a->head_dim;
                attend(query, query + heads_width, query + 2 * heads_width,
                       head_outputs + (start - base) * heads_width + h * a->head_dim,
                       softmax ? softmax + (first * a->inner * a->heads + item) * a->length : nullptr, head,
                       scratch.attention);
            }
#pragma omp for schedule(dynamic)
            for (int64_t block = 0; block < blocks.num; block++) {
                const int64_t m = first_row + blocks.start(block);
                project_and_norm(head_outputs + (m - base) * heads_width, heads_width, out, x + m * width,
                                 blocks.size(block), width, y + m * width, scale + m);
            }
        }
    }
}

// `dz`, `d_head_outputs` and `d_projections` are memory for the rows of `group` outer indices, from which the weights'
// gradients are summed while they are in the cache. `group`, unlike `chunk`, must not depend on the number of threads,
// because the order of the sums depends on it.
void attention_backward(const Attention* a, const number* x, const number* y, const float* scale,
                        const number* projections, const number* head_outputs, const Softmax* softmax, const number* dy,
                        const number* qkv, const number* out, number* dz, number* d_head_outputs, number* d_projections,
                        number* dx, int64_t chunk, int64_t group, int is_added, float* d_qkv, float* d_out) {
    const int64_t width = a->width, heads_width = a->heads * a->head_dim, outer_rows = a->length * a->inner;
    const Gradient qkv_gradient = plan_gradient(3 * heads_width, width, false, a->threads,
                                                scratch.gradient.first.reserve(3 * heads_width * width));
    const Gradient out_gradient =
        plan_gradient(width, heads_width, false, a->threads, scratch.gradient.second.reserve(width * heads_width));
#pragma omp parallel num_threads(a->threads)
    {
        [[maybe_unused]] const Tiles tiles;
        for (int64_t group_start = 0; group_start < a->outer; group_start += group) {
            const int64_t end = std::min(a->outer, group_start + group), base = group_start * outer_rows;
            for (int64_t first = group_start; first < end; first += chunk) {
                const int64_t num = std::min(chunk, end - first), rows = num * outer_rows,
                              first_row = first * outer_rows;
                const int64_t items = num * a->inner * a->heads;
                const Blocks blocks(rows, 3 * heads_width * width, a->threads);
#pragma omp for schedule(dynamic)
                for (int64_t block = 0; block < blocks.num; block++) {
                    const int64_t m = first_row + blocks.start(block), size = blocks.size(block);
                    for (int64_t i = m; i < m + size; i++)
                        norm_backward(y + i * width, dy + i * width, scale[i], dz + (i - base) * width, width);
                    product(units(dz + (m - base) * width), width / PER_UNIT, 1, size, units(out), width / PER_UNIT,
                            heads_width, StoreRounded{d_head_outputs + (m - base) * heads_width, heads_width});
                }
#pragma omp for schedule(dynamic, heads_at_once(a->length))
                for (int64_t item = 0; item < items; item++) {
                    int64_t start, h;
                    const Head head = find_head(a, first, item, &start, &h);
                    const int64_t column = h * a->head_dim;
                    const number* query = projections + start * 3 * heads_width + column;
                    number* d_query = d_projections + (start - base) * 3 * heads_width + column;
                    attend_backward(query, query + heads_width, query + 2 * heads_width,
                                    softmax + (first * a->inner * a->heads + item) * a->length,
                                    d_head_outputs + (start - base) * heads_width + column, d_query,
                                    d_query + heads_width, d_query + 2 * heads_width, head, scratch.attention);
                }
#pragma omp for schedule(dynamic)
                for (int64_t block = 0; block < blocks.num; block++) {
                    const int64_t m = first_row + blocks.start(block);
                    add_product(d_projections + (m - base) * 3 * heads_width, 3 * heads_width, qkv,
                                dz + (m - base) * width, blocks.size(block), width, dx + m * width);
                }
            }
            const int64_t rows = (end - group_start) * outer_rows;
            add_gradient(out_gradient, dz, head_outputs + base * heads_width, rows, group_start == 0, scratch.gradient);
            add_gradient(qkv_gradient, d_projections, x + base * width, rows, group_start == 0, scratch.gradient);
        }
        write_gradient(out_gradient, is_added, d_out);
        write_gradient(qkv_gradient, is_added, d_qkv);
    }
}

#ifndef BFLOAT16
// Computes out = a·b for `num_rows` rows of a and `depth` lines of b with `columns` numbers, a multiple of 16. Every
// TERMS_PER_SUM products are summed first, and those sums one after another, so no number depends on the number of
// threads.
void multiply(const float* a, int64_t row_stride, int64_t unit_stride, int64_t num_rows, const float* b, int64_t depth,
              int64_t columns, float* out, int64_t threads) {
    constexpr int64_t TERMS_PER_SUM = 2048;
#pragma omp parallel for collapse(2) schedule(dynamic) num_threads(threads)
    for (int64_t m = 0; m < num_rows; m += BLOCK)
        for (int64_t c = 0; c < columns; c += PANEL) {
            const int64_t rows = std::min(BLOCK, num_rows - m), width = std::min(PANEL, columns - c);
            float* to = out + m * columns + c;
            for (int64_t p = 0; p < depth; p += TERMS_PER_SUM) {
                const float *left = a + m * row_stride + p * unit_stride, *right = b + p * columns + c;
                const int64_t terms = std::min(TERMS_PER_SUM, depth - p);
                store_or_add(p == 0, to, columns, [&](auto epilogue) {
                    product(left, row_stride, unit_stride, rows, right, terms, width, epilogue, columns);
                });
            }
        }
}
#endif

void adam_atan2_step(const AdamAtan2* a, const float* gradient, float* parameter, float* mean, float* square,
                     int64_t num) {
    update_parameter(*a, gradient, parameter, mean, square, num);
}

}  // extern "C"
