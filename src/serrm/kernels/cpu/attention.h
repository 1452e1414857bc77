// Softmax attention of one head over one sequence, forward and backward, without a copy of the whole score matrix.
//
// Queries, keys and values are read where the product before left them, rows `row` apart, and turned on the way. Scores of
// bfloat16 numbers stand in a row per query (attention_rows.h), because a product takes two neighbours of a row. Those of
// float32 numbers stand in a column per query (attention_columns.h), which adds up a softmax without summing a register.
#pragma once

#include "pack.h"
#include "rows.h"

struct Head {
    int64_t length, head_dim;
    int64_t row;          // between the queries of neighbours; likewise of keys and values
    int64_t mixed_row;    // between the results of neighbours
    const float *cos, *sin;  // length × head_dim/2, or null
    float dropout;
    uint32_t seed;  // of this head of this sequence
    float slope() const { return 1.f / std::sqrt((float)head_dim); }  // of a score by the product of query and key
};

// What turns the products of a query with keys into weights: share · 2^((product − largest) · factor), where factor is slope/ln 2.
struct Softmax {
    float largest, share;
};

struct AttentionScratch {
    Buffer<number> queries, keys, weights, changes;
    Buffer<unit> keys_across, values_across, queries_across, outs_across;
    Buffer<unit> value_units, key_units, query_units, change_units, weight_units, out_units;
    Buffer<float> scores, weight_changes, key_sums, value_sums, query_sums;
};

inline int64_t padded(int64_t length) { return (length + LANES - 1) / LANES * LANES; }

// Turned copies of `length` rows.
inline const number* turned(const number* from, const Head& head, Buffer<number>& buffer) {
    number* to = buffer.room(head.length * head.head_dim);
    const int64_t half = head.head_dim / 2;
    for (int64_t s = 0; s < head.length; s++) {
        for (int64_t c = 0; c < head.head_dim; c += LANES)
            _mm_prefetch((const char*)(from + (s + AHEAD) * head.row + c), _MM_HINT_T0);
        const float* cos = head.cos ? head.cos + s * half : nullptr;
        rotate<false>(from + s * head.row, cos, head.sin + (head.cos ? s * half : 0), half, to + s * head.head_dim);
    }
    return to;
}

// Bits that have nothing in common with those of neighbours.
inline Integers scrambled(Integers x) {
    x = product_of(xor_shifted(x, 16), all_integers(0x7feb352d));
    x = product_of(xor_shifted(x, 15), all_integers(0x846ca68b));
    return xor_shifted(x, 16);
}

// Which of 16 weights stay, and by what those are multiplied.
struct Dropout {
    uint32_t seed;
    Integers least;
    Vector factor;
    bool is_on;
    explicit Dropout(const Head& head)
        : seed(head.seed),
          least(all_integers((uint32_t)(head.dropout * 4294967296.0))),
          factor(all(1.f / (1.f - head.dropout))),
          is_on(head.dropout > 0) {}
    // Whether weights are dropped is decided by a hash of seed, query and key, which begins with the query:
    Integers rows(Integers queries) const {
        return scrambled(sum_of(all_integers(seed), product_of(queries, all_integers(0x9e3779b9u))));
    }
    // … of 16 queries from `query` on.
    Integers rows(int64_t query) const { return rows(sum_of(zero_to_fifteen(), all_integers((uint32_t)query))); }
    // Weights of one query and 16 keys from `key` on, or of 16 queries and one key.
    Vector operator()(Vector x, Integers rows, Integers keys) const {
        return where(is_at_least(scrambled(sum_of(rows, keys)), least), x * factor);
    }
    Vector operator()(Vector x, Integers rows, int64_t key) const {
        return is_on ? (*this)(x, rows, all_integers((uint32_t)key)) : x;
    }
    Vector of_row(Vector x, int64_t query, int64_t key) const {
        if (!is_on) return x;
        return (*this)(x, rows(all_integers((uint32_t)query)), sum_of(zero_to_fifteen(), all_integers((uint32_t)key)));
    }
};

// Stores the sums of a tile as numbers, each row times its own share.
struct StoreShares {
    static constexpr bool NEEDS_PANEL = false;
    number* to;
    int64_t row;
    const float* shares;
    template <int R, int C>
    void operator()(int64_t at_row, int64_t column, Vector (&sum)[R][C]) const {
        for (int i = 0; i < R; i++)
            for (int j = 0; j < C; j++)
                store(to + (at_row + i) * row + column + LANES * j, sum[i][j] * all(shares[at_row + i]));
    }
};

#ifdef BFLOAT16
#include "attention_rows.h"
#else
#include "attention_columns.h"
#endif
