// Softmax attention of one head over one sequence, forward and backward, without a copy of the whole score matrix.
//
// Queries, keys and values are read from the output of the product before, queries and keys in rotated copies where
// there is a rotation. With bfloat16 numbers, the scores of a query are a row (attention_rows.h), because products take
// two adjacent numbers of a row. With float32 numbers they are a column (attention_columns.h), so that a softmax needs
// no sum over the lanes of a register.
#pragma once

#include "pack.h"
#include "rows.h"

struct Head {
    int64_t length, head_dim;
    int64_t row_stride;      // numbers from one position's query to the next one's; likewise for keys and values
    int64_t output_stride;   // numbers from one position's output to the next one's
    const float *cos, *sin;  // length × head_dim/2, or null
    float dropout;
    uint32_t seed;  // of this head of this sequence

    // The factor of query·key.
    float score_scale() const { return 1.f / std::sqrt((float)head_dim); }
};

// What the backward pass needs of a query's softmax. A key's weight is 2^((product − maximum) · factor) · inverse_sum,
// with product = query·key and factor = score_scale/ln 2.
struct Softmax {
    float maximum, inverse_sum;
};

struct AttentionScratch {
    Buffer<number> queries, keys, weights, d_scores;
    Buffer<unit> transposed_keys, transposed_values, transposed_queries, transposed_d_output;
    Buffer<unit> value_units, key_units, query_units, d_score_units, weight_units, d_output_units;
    Buffer<float> scores, d_weights, key_sums, value_sums, query_sums;
};

inline int64_t padded_length(int64_t length) { return (length + LANES - 1) / LANES * LANES; }

// Copies the `length` rows of a head's queries or keys, rotated to their positions.
inline const number* rotate_rows(const number* from, const Head& head, Buffer<number>& buffer) {
    number* to = buffer.reserve(head.length * head.head_dim);
    const int64_t half = head.head_dim / 2;
    for (int64_t s = 0; s < head.length; s++) {
        for (int64_t c = 0; c < head.head_dim; c += LANES)
            _mm_prefetch((const char*)(from + (s + ROWS_AHEAD) * head.row_stride + c), _MM_HINT_T0);
        const float* cos = head.cos ? head.cos + s * half : nullptr;
        rotate<false>(from + s * head.row_stride, cos, head.sin + (head.cos ? s * half : 0), half,
                      to + s * head.head_dim);
    }
    return to;
}

// A hash: the bits for adjacent numbers have nothing in common.
inline Integers scramble(Integers x) {
    x = multiply_integers(xor_shift(x, 16), broadcast_integer(0x7feb352d));
    x = multiply_integers(xor_shift(x, 15), broadcast_integer(0x846ca68b));
    return xor_shift(x, 16);
}

// Dropout of weights: a hash of seed, query and key decides which of them are dropped; the others are multiplied by
// `factor`.
struct Dropout {
    uint32_t seed;
    Integers threshold;
    Vector factor;
    bool is_on;
    explicit Dropout(const Head& head)
        : seed(head.seed),
          threshold(broadcast_integer((uint32_t)(head.dropout * 4294967296.0))),
          factor(broadcast(1.f / (1.f - head.dropout))),
          is_on(head.dropout > 0) {}
    // The first step of the hash, from the seed and 16 queries.
    Integers hash_queries(Integers queries) const {
        return scramble(
            add_integers(broadcast_integer(seed), multiply_integers(queries, broadcast_integer(0x9e3779b9u))));
    }
    // The same for 16 queries from `query` on.
    Integers hash_queries(int64_t query) const {
        return hash_queries(add_integers(lane_indices(), broadcast_integer((uint32_t)query)));
    }
    // Drops from 16 weights x, given the queries' hashes and the keys.
    Vector operator()(Vector x, Integers hashes, Integers keys) const {
        return where(is_at_least(scramble(add_integers(hashes, keys)), threshold), x * factor);
    }
    // Drops from the weights of 16 queries for one key.
    Vector operator()(Vector x, Integers hashes, int64_t key) const {
        return is_on ? (*this)(x, hashes, broadcast_integer((uint32_t)key)) : x;
    }
    // Drops from the weights of one query for 16 keys from `key` on.
    Vector along_keys(Vector x, int64_t query, int64_t key) const {
        if (!is_on) return x;
        return (*this)(x, hash_queries(broadcast_integer((uint32_t)query)),
                       add_integers(lane_indices(), broadcast_integer((uint32_t)key)));
    }
};

// Epilogue: stores the sums as numbers of the build's type, each row multiplied by its scale.
struct StoreScaled {
    static constexpr bool NEEDS_PANEL = false;
    number* to;
    int64_t row_stride;
    const float* scales;
    template <int R, int C>
    void operator()(int64_t row, int64_t column, Vector (&sum)[R][C]) const {
        for (int i = 0; i < R; i++)
            for (int j = 0; j < C; j++)
                store(to + (row + i) * row_stride + column + LANES * j, sum[i][j] * broadcast(scales[row + i]));
    }
};

#ifdef BFLOAT16
#include "attention_rows.h"
#else
#include "attention_columns.h"
#endif
