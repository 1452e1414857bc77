// Attention of float32 numbers: scores in a matrix with a line per key and a column per query. Included by attention.h.
#pragma once

constexpr int64_t QUERIES = PANEL;  // queries whose softmax is computed at a time

// Calls function.template operator()<C>(c) for the columns from c on, 64, 32 or 16 at a time.
template <class Function>
inline void for_columns(int64_t columns, Function function) {
    for (int64_t c = 0; c < columns; c += panel_width(columns - c)) switch (panel_width(columns - c)) {
            case PANEL:
                function.template operator()<TILE_COLUMNS>(c);
                break;
            case 32:
                function.template operator()<2>(c);
                break;
            default:
                function.template operator()<1>(c);
        }
}

// Returns what to subtract from the scores times `factor`, so that the maximum of every query becomes 0. Where its
// rounding error might not be far below 1, subtracts the maximum from the scores themselves instead, and returns 0.
inline Vector exponent_shift(float* scores, int64_t length, int64_t stride, float factor, Vector maximum) {
    const Vector shift = broadcast(factor) * maximum;
    if (reduce_maximum(absolute(shift)) < 1e6f) return shift;
    const Mask is_large = is_greater(absolute(shift), broadcast(1e6f));
    for (int64_t s = 0; s < length; s++)
        store(scores + s * stride, load(scores + s * stride) - where(is_large, maximum));
    return where(is_large, broadcast(0), shift);
}

// Replaces the scores by 2^((score − maximum) · factor), or by 0 where dropped. Also writes the maximum of every query
// and one over the sum of its powers, the dropped ones included.
template <int C>
inline void exponentiate(float* scores, int64_t length, int64_t stride, float factor, const Dropout& dropout,
                         int64_t query, float* maxima, float* inverse_sums) {
    Vector query_maxima[C], sums[C], shifts[C];
    Integers hashes[C];
    for (int c = 0; c < C; c++)
        query_maxima[c] = broadcast(-INFINITY), sums[c] = broadcast(0),
        hashes[c] = dropout.hash_queries(query + LANES * c);
    for (int64_t s = 0; s < length; s++)
        for (int c = 0; c < C; c++) query_maxima[c] = maximum(query_maxima[c], load(scores + s * stride + LANES * c));
    for (int c = 0; c < C; c++) shifts[c] = exponent_shift(scores + LANES * c, length, stride, factor, query_maxima[c]);
    for (int64_t s = 0; s < length; s++)
        for (int c = 0; c < C; c++) {
            float* address = scores + s * stride + LANES * c;
            const Vector weight = power_of_two(multiply_subtract(load(address), broadcast(factor), shifts[c]));
            sums[c] = sums[c] + weight;
            store(address, dropout(weight, hashes[c], s));
        }
    for (int c = 0; c < C; c++)
        store(maxima + LANES * c, query_maxima[c]), store(inverse_sums + LANES * c, broadcast(1.f) / sums[c]);
}

// Computes the output of a head, and unless `softmax` is null what the backward pass needs of the softmax of every
// query.
inline void attend(const number* query, const number* key, const number* value, number* output, Softmax* softmax,
                   const Head& head, AttentionScratch& scratch) {
    const int64_t length = head.length, dim = head.head_dim;
    if (head.cos) query = rotate_rows(query, head, scratch.queries), key = rotate_rows(key, head, scratch.keys);
    const int64_t row_stride = head.cos ? dim : head.row_stride;
    const RightOperand values = pack_right(value, head.row_stride, length, dim, scratch.value_units);
    unit* queries = scratch.transposed_queries.reserve(dim * QUERIES);
    float* scores = scratch.scores.reserve(length * QUERIES);
    const Dropout dropout(head);
    alignas(64) float maxima[QUERIES], inverse_sums[QUERIES];
    for (int64_t q = 0; q < length; q += QUERIES) {
        const int64_t num = std::min(QUERIES, length - q), stride = padded_length(num);
        transpose(query + q * row_stride, row_stride, num, dim, queries, stride);
        product(key, row_stride, 1, length, queries, dim, stride, StoreSums<false>{scores, stride}, stride);
        for_columns(stride, [&]<int C>(int64_t c) {
            exponentiate<C>(scores + c, length, stride, LOG2_E * head.score_scale(), dropout, q + c, maxima + c,
                            inverse_sums + c);
        });
        if (softmax)
            for (int64_t i = 0; i < num; i++) softmax[q + i] = {maxima[i], inverse_sums[i]};
        product(scores, 1, stride, num, values.data, length, dim,
                StoreScaled{output + q * head.output_stride, head.output_stride, inverse_sums}, values.line_stride);
    }
}

// Replaces the scores by the weights that the forward pass used, and the gradients of the weights by those of the
// products of queries and keys.
template <int C>
inline void softmax_backward(float* scores, float* d_weights, int64_t length, int64_t stride, float score_scale,
                             const Dropout& dropout, int64_t query, const float* maxima, const float* inverse_sums) {
    Vector means[C], shifts[C], query_inverse_sums[C];
    Integers hashes[C];
    for (int c = 0; c < C; c++) {
        means[c] = broadcast(0), query_inverse_sums[c] = load(inverse_sums + LANES * c),
        hashes[c] = dropout.hash_queries(query + LANES * c);
        shifts[c] = exponent_shift(scores + LANES * c, length, stride, LOG2_E * score_scale, load(maxima + LANES * c));
    }
    for (int64_t s = 0; s < length; s++)
        for (int c = 0; c < C; c++) {
            const int64_t offset = s * stride + LANES * c;
            const Vector exponent =
                multiply_subtract(load(scores + offset), broadcast(LOG2_E * score_scale), shifts[c]);
            const Vector weight = power_of_two(exponent) * query_inverse_sums[c],
                         d_weight = dropout(load(d_weights + offset), hashes[c], s);
            store(scores + offset, weight);
            if (dropout.is_on) store(d_weights + offset, d_weight);
            means[c] = multiply_add(weight, d_weight, means[c]);
        }
    for (int c = 0; c < C; c++) means[c] = means[c] * broadcast(score_scale);
    for (int64_t s = 0; s < length; s++)
        for (int c = 0; c < C; c++) {
            const int64_t offset = s * stride + LANES * c;
            const Vector weight = load(scores + offset);
            if (dropout.is_on) store(scores + offset, dropout(weight, hashes[c], s));
            store(d_weights + offset,
                  weight * multiply_subtract(load(d_weights + offset), broadcast(score_scale), means[c]));
        }
}

// Computes the gradients of queries, keys and values, stored with their stride, from that of the output.
inline void attend_backward(const number* query, const number* key, const number* value, const Softmax* softmax,
                            const number* d_output, number* d_query, number* d_key, number* d_value, const Head& head,
                            AttentionScratch& scratch) {
    const int64_t length = head.length, dim = head.head_dim, half = dim / 2;
    // The rows of a head are far apart in memory, so those that are needed last are prefetched now.
    for (int64_t s = 0; s < length; s++)
        for (int64_t c = 0; c < dim; c += LANES) {
            _mm_prefetch((const char*)(value + s * head.row_stride + c), _MM_HINT_T0);
            for (const number* to : {d_query, d_key, d_value})
                _mm_prefetch((const char*)(to + s * head.row_stride + c), _MM_HINT_T1);
        }
    query = rotate_rows(query, head, scratch.queries), key = rotate_rows(key, head, scratch.keys);
    const RightOperand packed_d_output = pack_right(d_output, head.output_stride, length, dim, scratch.d_output_units);
    unit* queries = scratch.transposed_queries.reserve(dim * QUERIES);
    unit* transposed_d_output = scratch.transposed_d_output.reserve(dim * QUERIES);
    float* scores = scratch.scores.reserve(length * QUERIES);
    float* d_weights = scratch.d_weights.reserve(length * QUERIES);
    float* query_sums = scratch.query_sums.reserve(QUERIES * dim);
    float* key_sums = scratch.key_sums.reserve(length * dim);
    float* value_sums = scratch.value_sums.reserve(length * dim);
    std::fill_n(key_sums, length * dim, 0.f), std::fill_n(value_sums, length * dim, 0.f);
    const Dropout dropout(head);
    alignas(64) float maxima[QUERIES], inverse_sums[QUERIES];
    auto angles = [&](const float* table, int64_t s) { return table ? table + s * half : nullptr; };
    for (int64_t q = 0; q < length; q += QUERIES) {
        const int64_t num = std::min(QUERIES, length - q), stride = padded_length(num);
        for (int64_t i = 0; i < stride; i++) {
            const Softmax query_softmax = i < num ? softmax[q + i] : Softmax{0, 0};
            maxima[i] = query_softmax.maximum, inverse_sums[i] = query_softmax.inverse_sum;
        }
        transpose(query + q * dim, dim, num, dim, queries, stride);
        transpose(packed_d_output.data + q * packed_d_output.line_stride, packed_d_output.line_stride, num, dim,
                  transposed_d_output, stride);
        product(key, dim, 1, length, queries, dim, stride, StoreSums<false>{scores, stride}, stride);
        product(value, head.row_stride, 1, length, transposed_d_output, dim, stride,
                StoreSums<false>{d_weights, stride}, stride);
        for_columns(stride, [&]<int C>(int64_t c) {
            softmax_backward<C>(scores + c, d_weights + c, length, stride, head.score_scale(), dropout, q + c,
                                maxima + c, inverse_sums + c);
        });
        product(d_weights, 1, stride, num, key, length, dim, StoreSums<false>{query_sums, dim}, dim);
        for (int64_t i = 0; i < num; i++)
            rotate<true>(query_sums + i * dim, angles(head.cos, q + i), angles(head.sin, q + i), half,
                         d_query + (q + i) * head.row_stride);
        product(scores, stride, 1, length, packed_d_output.data + q * packed_d_output.line_stride, num, dim,
                StoreSums<true>{value_sums, dim}, packed_d_output.line_stride);
        product(d_weights, stride, 1, length, query + q * dim, num, dim, StoreSums<true>{key_sums, dim}, dim);
    }
    for (int64_t s = 0; s < length; s++) {
        rotate<true>(key_sums + s * dim, angles(head.cos, s), angles(head.sin, s), half, d_key + s * head.row_stride);
        round_row(value_sums + s * dim, d_value + s * head.row_stride, dim);
    }
}
