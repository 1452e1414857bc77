// Attention of bfloat16 numbers: scores in a matrix with a row per query. Included by attention.h.
#pragma once

constexpr int64_t MAX_CHUNK = 96;  // queries whose weights are in memory at a time in the backward pass
constexpr int64_t MAX_UNITS = MAX_CHUNK / PER_UNIT;
constexpr int64_t QUERIES = HAS_TILES ? 48 : 24;  // queries whose softmax is computed at a time

// Sets the scores from `length` up to `stride` to −∞, so that their weights are 0.
inline void mask_padding(float* scores, int64_t length, int64_t stride) {
    const int64_t whole = length / LANES * LANES;
    if (whole < stride)
        store(scores + whole, load_or(first_lanes(length - whole), scores + whole, broadcast(-INFINITY)));
}

// The maximum of a row.
inline float reduce_maximum(const float* row, int64_t stride) {
    Vector maxima = broadcast(-INFINITY);
    for (int64_t c = 0; c < stride; c += LANES) maxima = maximum(maxima, load(row + c));
    return reduce_maximum(maxima);
}

// Returns what to subtract from the scores of a row times `factor`, so that their maximum becomes 0. Where its rounding
// error might not be far below 1, subtracts the maximum from the scores themselves instead, and returns 0.
inline float exponent_shift(float* scores, int64_t stride, float factor, float maximum) {
    if (std::abs(factor * maximum) < 1e6f) return factor * maximum;
    for (int64_t c = 0; c < stride; c += LANES) store(scores + c, load(scores + c) - broadcast(maximum));
    return 0;
}

// Computes 2^(score · factor − shift) for a row of scores, stores it as a weight, or 0 where dropped, and returns the
// sum of the powers, the dropped ones included.
inline float exponentiate(const float* scores, int64_t stride, float factor, float shift, const Dropout& dropout,
                          int64_t query, number* weights) {
    Vector sums = broadcast(0);
    for (int64_t c = 0; c < stride; c += LANES) {
        const Vector weight = power_of_two(multiply_subtract(load(scores + c), broadcast(factor), broadcast(shift)));
        sums = sums + weight;
        store(weights + c, dropout.along_keys(weight, query, c));
    }
    return reduce_sum(sums);
}

// Computes the output of a head, and unless `softmax` is null what the backward pass needs of the softmax of every
// query.
inline void attend(const number* query, const number* key, const number* value, number* output, Softmax* softmax,
                   const Head& head, AttentionScratch& scratch) {
    const int64_t length = head.length, dim = head.head_dim, stride = padded_length(length), num = num_units(length);
    if (head.cos) query = rotate_rows(query, head, scratch.queries), key = rotate_rows(key, head, scratch.keys);
    const int64_t row_stride = head.cos ? dim : head.row_stride;
    unit* keys = scratch.transposed_keys.reserve(dim / PER_UNIT * stride);
    transpose(key, row_stride, length, dim / PER_UNIT, keys, stride);
    const RightOperand values = pack_right(value, head.row_stride, length, dim, scratch.value_units);
    float* scores = scratch.scores.reserve(QUERIES * stride);
    number* weights = scratch.weights.reserve(QUERIES * stride);
    const float factor = LOG2_E * head.score_scale();
    const Dropout dropout(head);
    float maxima[QUERIES], inverse_sums[QUERIES];
    for (int64_t q = 0; q < length; q += QUERIES) {
        const int64_t rows = std::min<int64_t>(QUERIES, length - q);
        product(units(query + q * row_stride), row_stride / PER_UNIT, 1, rows, keys, dim / PER_UNIT, stride,
                StoreSums<false>{scores, stride}, stride);
        // Each loop goes over all rows, because the operations on one row depend on each other.
        for (int64_t i = 0; i < rows; i++) {
            mask_padding(scores + i * stride, length, stride);
            maxima[i] = reduce_maximum(scores + i * stride, stride);
        }
        for (int64_t i = 0; i < rows; i++) {
            const float shift = exponent_shift(scores + i * stride, stride, factor, maxima[i]);
            inverse_sums[i] =
                1.f / exponentiate(scores + i * stride, stride, factor, shift, dropout, q + i, weights + i * stride);
            if (softmax) softmax[q + i] = {maxima[i], inverse_sums[i]};
        }
        product(units(weights), stride / PER_UNIT, 1, rows, values.data, num, dim,
                StoreScaled{output + q * head.output_stride, head.output_stride, inverse_sums}, values.line_stride);
    }
}

// Replaces the scores of a query by its weights before dropout, and drops from the gradients of the weights what the
// forward pass dropped. Returns the mean of these gradients, weighted by the weights.
inline float recompute_weights(float* scores, float* d_weights, int64_t stride, float factor, Softmax softmax,
                               const Dropout& dropout, int64_t query) {
    const float shift = exponent_shift(scores, stride, factor, softmax.maximum);
    Vector products = broadcast(0);
    for (int64_t c = 0; c < stride; c += LANES) {
        const Vector exponent = multiply_subtract(load(scores + c), broadcast(factor), broadcast(shift));
        const Vector weight = power_of_two(exponent) * broadcast(softmax.inverse_sum),
                     d_weight = dropout.along_keys(load(d_weights + c), query, c);
        store(scores + c, weight);
        if (dropout.is_on) store(d_weights + c, d_weight);
        products = multiply_add(weight, d_weight, products);
    }
    return reduce_sum(products);
}

// Computes the weights of a query that the forward pass used, and the gradients of the products of query and keys.
inline void score_gradients(const float* weights, const float* d_weights, int64_t stride, float score_scale, float mean,
                            const Dropout& dropout, int64_t query, number* forward_weights, number* d_scores) {
    for (int64_t c = 0; c < stride; c += LANES) {
        const Vector weight = load(weights + c);
        store(forward_weights + c, dropout.along_keys(weight, query, c));
        store(d_scores + c,
              weight * multiply_subtract(load(d_weights + c), broadcast(score_scale), broadcast(score_scale * mean)));
    }
}

// Computes the gradients of queries, keys and values, stored with their stride, from that of the output.
inline void attend_backward(const number* query, const number* key, const number* value, const Softmax* softmax,
                            const number* d_output, number* d_query, number* d_key, number* d_value, const Head& head,
                            AttentionScratch& scratch) {
    const int64_t length = head.length, dim = head.head_dim, half = dim / 2, depth = dim / PER_UNIT;
    const int64_t stride = padded_length(length), num = num_units(length);
    query = rotate_rows(query, head, scratch.queries), key = rotate_rows(key, head, scratch.keys);
    unit* keys = scratch.transposed_keys.reserve(depth * stride);
    transpose(key, dim, length, depth, keys, stride);
    unit* values = scratch.transposed_values.reserve(depth * stride);
    transpose(value, head.row_stride, length, depth, values, stride);
    const RightOperand packed_keys = pack_right(key, dim, length, dim, scratch.key_units);
    const RightOperand packed_queries = pack_right(query, dim, length, dim, scratch.query_units);
    const RightOperand packed_d_output = pack_right(d_output, head.output_stride, length, dim, scratch.d_output_units);
    float* scores = scratch.scores.reserve(QUERIES * stride);
    float* d_weights = scratch.d_weights.reserve(QUERIES * stride);
    number* forward_weights = scratch.weights.reserve(MAX_CHUNK * stride);
    number* d_scores = scratch.d_scores.reserve(MAX_CHUNK * stride);
    float* query_sums = scratch.query_sums.reserve(QUERIES * dim);
    float* key_sums = scratch.key_sums.reserve(stride * dim);
    float* value_sums = scratch.value_sums.reserve(stride * dim);
    std::fill_n(key_sums, stride * dim, 0.f), std::fill_n(value_sums, stride * dim, 0.f);
    const float score_scale = head.score_scale();
    const Dropout dropout(head);
    float means[QUERIES];
    auto angles = [&](const float* table, int64_t s) { return table ? table + s * half : nullptr; };
    for (int64_t start = 0; start < length; start += MAX_CHUNK) {
        const int64_t chunk = std::min(MAX_CHUNK, length - start);
        for (int64_t i = 0; i < chunk; i += QUERIES) {
            const int64_t q = start + i, rows = std::min<int64_t>(QUERIES, chunk - i);
            product(units(query + q * dim), depth, 1, rows, keys, depth, stride, StoreSums<false>{scores, stride},
                    stride);
            product(units(d_output + q * head.output_stride), head.output_stride / PER_UNIT, 1, rows, values, depth,
                    stride, StoreSums<false>{d_weights, stride}, stride);
            for (int64_t r = 0; r < rows; r++) {
                mask_padding(scores + r * stride, length, stride);
                means[r] = recompute_weights(scores + r * stride, d_weights + r * stride, stride, LOG2_E * score_scale,
                                             softmax[q + r], dropout, q + r);
            }
            for (int64_t r = 0; r < rows; r++)
                score_gradients(scores + r * stride, d_weights + r * stride, stride, score_scale, means[r], dropout,
                                q + r, forward_weights + (i + r) * stride, d_scores + (i + r) * stride);
            product(units(d_scores + i * stride), stride / PER_UNIT, 1, rows, packed_keys.data, num, dim,
                    StoreSums<false>{query_sums, dim}, packed_keys.line_stride);
            for (int64_t r = 0; r < rows; r++)
                rotate<true>(query_sums + r * dim, angles(head.cos, q + r), angles(head.sin, q + r), half,
                             d_query + (q + r) * head.row_stride);
        }
        const LeftOperand left_weights =
            pack_left(forward_weights, stride, chunk, stride, scratch.weight_units, MAX_UNITS);
        const LeftOperand left_d_scores = pack_left(d_scores, stride, chunk, stride, scratch.d_score_units, MAX_UNITS);
        const int64_t lines = num_units(chunk), first = start / PER_UNIT;
        product(left_weights.data, left_weights.row_stride, left_weights.unit_stride, length,
                packed_d_output.data + first * packed_d_output.line_stride, lines, dim,
                StoreSums<true>{value_sums, dim}, packed_d_output.line_stride);
        product(left_d_scores.data, left_d_scores.row_stride, left_d_scores.unit_stride, length,
                packed_queries.data + first * packed_queries.line_stride, lines, dim, StoreSums<true>{key_sums, dim},
                packed_queries.line_stride);
    }
    for (int64_t s = 0; s < length; s++) {
        rotate<true>(key_sums + s * dim, angles(head.cos, s), angles(head.sin, s), half, d_key + s * head.row_stride);
        round_row(value_sums + s * dim, d_value + s * head.row_stride, dim);
    }
}
