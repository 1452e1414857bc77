// Softmax attention of one head over one sequence, forward and backward, without a copy of the whole score matrix.
//
// Queries, keys and values are read where the product before left them, rows `row` apart, and turned on the way.
#pragma once

#include "pack.h"
#include "rows.h"

constexpr int64_t CHUNK = 96;  // queries whose weights are kept at a time in the backward pass
constexpr int64_t PAIRS = CHUNK / 2;
constexpr int64_t QUERIES = HAS_TILES ? 48 : TILE_ROWS;  // that go through the softmax at a time

struct Head {
    int64_t length, head_dim;
    int64_t row;         // between the queries of neighbours; likewise of keys and values
    int64_t mixed_row;   // between the results of neighbours
    const float *cos, *sin;  // length × head_dim/2, or null
    float dropout;
    uint32_t seed;  // of this head of this sequence
};

struct AttentionScratch {
    Buffer<bf16> queries, keys, weights, changes;
    Buffer<pair> keys_across, values_across;
    Buffer<pair> value_pairs, key_pairs, query_pairs, change_pairs, weight_pairs, out_pairs;
    Buffer<float> scores, weight_changes, key_sums, value_sums, query_sums;
};

inline int64_t padded(int64_t length) { return (length + LANES - 1) / LANES * LANES; }

// Turned copies of `length` rows.
inline const bf16* turned(const bf16* from, const Head& head, Buffer<bf16>& buffer) {
    bf16* to = buffer.room(head.length * head.head_dim);
    const int64_t half = head.head_dim / 2;
    for (int64_t s = 0; s < head.length; s++) {
        const float* cos = head.cos ? head.cos + s * half : nullptr;
        rotate<false>(from + s * head.row, cos, head.sin + (head.cos ? s * half : 0), half, to + s * head.head_dim);
    }
    return to;
}

// 16 numbers that decide which of the weights from `column` on are dropped (a hash of seed, row and column).
inline __m512i mixed_bits(uint32_t seed, int64_t query, int64_t column) {
    auto scramble = [](__m512i x) {
        x = _mm512_xor_si512(x, _mm512_srli_epi32(x, 16));
        x = _mm512_mullo_epi32(x, _mm512_set1_epi32(0x7feb352d));
        x = _mm512_xor_si512(x, _mm512_srli_epi32(x, 15));
        x = _mm512_mullo_epi32(x, _mm512_set1_epi32((int)0x846ca68b));
        return _mm512_xor_si512(x, _mm512_srli_epi32(x, 16));
    };
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i row = scramble(_mm512_set1_epi32((int)(seed + (uint32_t)query * 0x9e3779b9u)));
    return scramble(_mm512_add_epi32(row, _mm512_add_epi32(lane, _mm512_set1_epi32((int)column))));
}

// Which of 16 weights stay, and by what those are multiplied.
struct Dropout {
    uint32_t seed;
    __m512i least;
    __m512 factor;
    bool is_on;
    explicit Dropout(const Head& head)
        : seed(head.seed),
          least(_mm512_set1_epi32((int)(uint32_t)(head.dropout * 4294967296.0))),
          factor(_mm512_set1_ps(1.f / (1.f - head.dropout))),
          is_on(head.dropout > 0) {}
    __m512 operator()(__m512 x, int64_t query, int64_t column) const {
        if (!is_on) return x;
        return _mm512_maskz_mul_ps(_mm512_cmpge_epu32_mask(mixed_bits(seed, query, column), least), x, factor);
    }
};

// Softmax of one row of scores in place, over `length` of the `line` numbers; the others become 0.
inline void softmax(float* scores, int64_t length, int64_t line, float factor) {
    __m512 most = _mm512_set1_ps(-INFINITY);
    for (int64_t c = 0; c < line; c += LANES) {
        const __mmask16 here = first_places(length - c);
        const __m512 own = _mm512_mask_loadu_ps(_mm512_set1_ps(-INFINITY), here, scores + c);
        _mm512_storeu_ps(scores + c, own);
        most = _mm512_max_ps(most, own);
    }
    const __m512 largest = _mm512_set1_ps(_mm512_reduce_max_ps(most));
    __m512 sums = _mm512_setzero_ps();
    for (int64_t c = 0; c < line; c += LANES) {
        const __m512 above = _mm512_sub_ps(_mm512_loadu_ps(scores + c), largest);
        const __m512 weight = exponential(_mm512_mul_ps(above, _mm512_set1_ps(factor)));
        _mm512_storeu_ps(scores + c, weight);
        sums = _mm512_add_ps(sums, weight);
    }
    const __m512 share = _mm512_set1_ps(1.f / _mm512_reduce_add_ps(sums));
    for (int64_t c = 0; c < line; c += LANES)
        _mm512_storeu_ps(scores + c, _mm512_mul_ps(_mm512_loadu_ps(scores + c), share));
}

inline void attend(const bf16* query, const bf16* key, const bf16* value, bf16* mixed, const Head& head,
                   AttentionScratch& own) {
    const int64_t length = head.length, dim = head.head_dim, line = padded(length), num = (length + 1) / 2;
    if (head.cos) query = turned(query, head, own.queries), key = turned(key, head, own.keys);
    const int64_t row = head.cos ? dim : head.row;
    pair* keys = own.keys_across.room(dim / 2 * line);
    transpose(key, row, length, dim / 2, keys, line);
    pair* values = own.value_pairs.room(num * dim);
    pair_rows(value, head.row, length, dim, values, dim);
    float* scores = own.scores.room(QUERIES * line);
    bf16* weights = own.weights.room(QUERIES * line);
    const float factor = 1.f / std::sqrt((float)dim);
    const Dropout dropped(head);
    for (int64_t q = 0; q < length; q += QUERIES) {
        const int64_t rows = std::min<int64_t>(QUERIES, length - q);
        product((const pair*)(query + q * row), row / 2, 1, rows, keys, dim / 2, line, StoreSums<false>{scores, line}, line);
        for (int64_t i = 0; i < rows; i++) {
            softmax(scores + i * line, length, line, factor);
            for (int64_t c = 0; c < line; c += LANES)
                store(weights + i * line + c, dropped(_mm512_loadu_ps(scores + i * line + c), q + i, c));
        }
        product((const pair*)weights, line / 2, 1, rows, values, num, dim,
                StoreRounded{mixed + q * head.mixed_row, head.mixed_row}, dim);
    }
}

// One row of the chain from weights to scores: weights as used in the product, and the gradient of the scores.
inline void score_changes(float* weights, const float* changes, int64_t line, int64_t query, float factor,
                          const Dropout& dropped, bf16* used, bf16* of_scores) {
    __m512 products = _mm512_setzero_ps();
    for (int64_t c = 0; c < line; c += LANES) {
        const __m512 weight = _mm512_loadu_ps(weights + c);
        store(used + c, dropped(weight, query, c));
        products = _mm512_fmadd_ps(weight, dropped(_mm512_loadu_ps(changes + c), query, c), products);
    }
    const __m512 mean = _mm512_set1_ps(_mm512_reduce_add_ps(products));
    for (int64_t c = 0; c < line; c += LANES) {
        const __m512 centred = _mm512_sub_ps(dropped(_mm512_loadu_ps(changes + c), query, c), mean);
        const __m512 weight = _mm512_mul_ps(_mm512_loadu_ps(weights + c), _mm512_set1_ps(factor));
        store(of_scores + c, _mm512_mul_ps(weight, centred));
    }
}

// Gradients of queries, keys and values (rows as the originals) from that of the result.
inline void attend_backward(const bf16* query, const bf16* key, const bf16* value, const bf16* d_mixed, bf16* d_query,
                            bf16* d_key, bf16* d_value, const Head& head, AttentionScratch& own) {
    const int64_t length = head.length, dim = head.head_dim, half = dim / 2, line = padded(length), num = (length + 1) / 2;
    query = turned(query, head, own.queries), key = turned(key, head, own.keys);
    pair* keys = own.keys_across.room(half * line);
    transpose(key, dim, length, half, keys, line);
    pair* values = own.values_across.room(half * line);
    transpose(value, head.row, length, half, values, line);
    pair* key_pairs = own.key_pairs.room(num * dim);
    pair_rows(key, dim, length, dim, key_pairs, dim);
    pair* query_pairs = own.query_pairs.room(num * dim);
    pair_rows(query, dim, length, dim, query_pairs, dim);
    pair* out_pairs = own.out_pairs.room(num * dim);
    pair_rows(d_mixed, head.mixed_row, length, dim, out_pairs, dim);
    float* weights = own.scores.room(QUERIES * line);
    float* changes = own.weight_changes.room(QUERIES * line);
    bf16* used = own.weights.room(CHUNK * line);
    bf16* of_scores = own.changes.room(CHUNK * line);
    pair* used_pairs = own.weight_pairs.room(PAIRS * line);
    pair* score_pairs = own.change_pairs.room(PAIRS * line);
    float* query_sums = own.query_sums.room(QUERIES * dim);
    float* key_sums = own.key_sums.room(line * dim);
    float* value_sums = own.value_sums.room(line * dim);
    std::fill_n(key_sums, line * dim, 0.f), std::fill_n(value_sums, line * dim, 0.f);
    const float factor = 1.f / std::sqrt((float)dim);
    const Dropout dropped(head);
    auto angles = [&](const float* table, int64_t s) { return table ? table + s * half : nullptr; };
    for (int64_t start = 0; start < length; start += CHUNK) {
        const int64_t chunk = std::min(CHUNK, length - start);
        for (int64_t i = 0; i < chunk; i += QUERIES) {
            const int64_t q = start + i, rows = std::min<int64_t>(QUERIES, chunk - i);
            product((const pair*)(query + q * dim), half, 1, rows, keys, half, line, StoreSums<false>{weights, line}, line);
            product((const pair*)(d_mixed + q * head.mixed_row), head.mixed_row / 2, 1, rows, values, half, line,
                    StoreSums<false>{changes, line}, line);
            for (int64_t r = 0; r < rows; r++) {
                softmax(weights + r * line, length, line, factor);
                score_changes(weights + r * line, changes + r * line, line, q + r, factor, dropped,
                              used + (i + r) * line, of_scores + (i + r) * line);
            }
            product((const pair*)(of_scores + i * line), line / 2, 1, rows, key_pairs, num, dim,
                    StoreSums<false>{query_sums, dim}, dim);
            for (int64_t r = 0; r < rows; r++)
                rotate<true>(query_sums + r * dim, angles(head.cos, q + r), angles(head.sin, q + r), half,
                             d_query + (q + r) * head.row);
        }
        const Left by_key = left_across(used, line, chunk, line, used_pairs, PAIRS);
        left_across(of_scores, line, chunk, line, score_pairs, PAIRS);
        const int64_t lines = (chunk + 1) / 2, offset = start / 2 * dim;
        product(used_pairs, by_key.row, by_key.step, length, out_pairs + offset, lines, dim, StoreSums<true>{value_sums, dim},
                dim);
        product(score_pairs, by_key.row, by_key.step, length, query_pairs + offset, lines, dim,
                StoreSums<true>{key_sums, dim}, dim);
    }
    for (int64_t s = 0; s < length; s++) {
        rotate<true>(key_sums + s * dim, angles(head.cos, s), angles(head.sin, s), half, d_key + s * head.row);
        rotate<true>(value_sums + s * dim, (const float*)nullptr, nullptr, half, d_value + s * head.row);
    }
}
