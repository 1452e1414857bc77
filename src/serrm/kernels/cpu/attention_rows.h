// Attention of bfloat16 numbers: a row of scores per query. Included by attention.h.
#pragma once

constexpr int64_t CHUNK = 96;  // queries whose weights are kept at a time in the backward pass
constexpr int64_t UNITS = CHUNK / PER_UNIT;
constexpr int64_t QUERIES = HAS_TILES ? 48 : 24;  // that go through the softmax at a time

// Scores from `length` up to `line` become −∞, so that their weights are 0.
inline void mask(float* scores, int64_t length, int64_t line) {
    const int64_t whole = length / LANES * LANES;
    if (whole < line)
        store(scores + whole, load_or(first_places(length - whole), scores + whole, all(-INFINITY)));
}

// The largest number of a row.
inline float largest_of(const float* row, int64_t line) {
    Vector most = all(-INFINITY);
    for (int64_t c = 0; c < line; c += LANES) most = larger(most, load(row + c));
    return largest_of(most);
}

// What to lower the scores of a row by after multiplication with `factor`, so that the largest becomes 0. The rounding of this
// number is far below 1, or else the scores themselves are lowered, and there is nothing left to do.
inline float lowered_by(float* scores, int64_t line, float factor, float largest) {
    if (std::abs(factor * largest) < 1e6f) return factor * largest;
    for (int64_t c = 0; c < line; c += LANES) store(scores + c, load(scores + c) - all(largest));
    return 0;
}

// 2 to the power of scores times `factor` less `lowered`, for one row, dropped ones as 0; returns the sum of them all.
inline float powers(const float* scores, int64_t line, float factor, float lowered, const Dropout& dropped, int64_t query,
                    number* weights) {
    Vector sums = all(0);
    for (int64_t c = 0; c < line; c += LANES) {
        const Vector weight = power_of_two(multiply_subtract(load(scores + c), all(factor), all(lowered)));
        sums = sums + weight;
        store(weights + c, dropped.of_row(weight, query, c));
    }
    return sum_of(sums);
}

// Results of a head, and in `kept`, unless it is null, the softmax of every query.
inline void attend(const number* query, const number* key, const number* value, number* mixed, Softmax* kept, const Head& head,
                   AttentionScratch& own) {
    const int64_t length = head.length, dim = head.head_dim, line = padded(length), num = num_units(length);
    if (head.cos) query = turned(query, head, own.queries), key = turned(key, head, own.keys);
    const int64_t row = head.cos ? dim : head.row;
    unit* keys = own.keys_across.room(dim / PER_UNIT * line);
    transpose(key, row, length, dim / PER_UNIT, keys, line);
    const Right values = right_along(value, head.row, length, dim, own.value_units);
    float* scores = own.scores.room(QUERIES * line);
    number* weights = own.weights.room(QUERIES * line);
    const float factor = LOG2_E * head.slope();
    const Dropout dropped(head);
    float largest[QUERIES], shares[QUERIES];
    for (int64_t q = 0; q < length; q += QUERIES) {
        const int64_t rows = std::min<int64_t>(QUERIES, length - q);
        product(units(query + q * row), row / PER_UNIT, 1, rows, keys, dim / PER_UNIT, line,
                StoreSums<false>{scores, line}, line);
        // Each pass goes over all rows before the next one begins, because operations on one row wait for each other.
        for (int64_t i = 0; i < rows; i++) {
            mask(scores + i * line, length, line);
            largest[i] = largest_of(scores + i * line, line);
        }
        for (int64_t i = 0; i < rows; i++) {
            const float lowered = lowered_by(scores + i * line, line, factor, largest[i]);
            shares[i] = 1.f / powers(scores + i * line, line, factor, lowered, dropped, q + i, weights + i * line);
            if (kept) kept[q + i] = {largest[i], shares[i]};
        }
        product(units(weights), line / PER_UNIT, 1, rows, values.at, num, dim,
                StoreShares{mixed + q * head.mixed_row, head.mixed_row, shares}, values.line);
    }
}

// Turns the scores of a query into weights again, and drops from `changes`, the weights' gradients, what the forward pass
// dropped. Returns the gradients' mean by the weights.
inline float weights_again(float* scores, float* changes, int64_t line, float factor, Softmax softmax, const Dropout& dropped,
                           int64_t query) {
    const float lowered = lowered_by(scores, line, factor, softmax.largest);
    Vector products = all(0);
    for (int64_t c = 0; c < line; c += LANES) {
        const Vector exponent = multiply_subtract(load(scores + c), all(factor), all(lowered));
        const Vector weight = power_of_two(exponent) * all(softmax.share), change = dropped.of_row(load(changes + c), query, c);
        store(scores + c, weight);
        if (dropped.is_on) store(changes + c, change);
        products = multiply_add(weight, change, products);
    }
    return sum_of(products);
}

// For one query, the weights as the forward pass used them, and the gradients of the products of query and keys.
inline void score_changes(const float* weights, const float* changes, int64_t line, float slope, float mean,
                          const Dropout& dropped, int64_t query, number* used, number* of_scores) {
    for (int64_t c = 0; c < line; c += LANES) {
        const Vector weight = load(weights + c);
        store(used + c, dropped.of_row(weight, query, c));
        store(of_scores + c, weight * multiply_subtract(load(changes + c), all(slope), all(slope * mean)));
    }
}

// Gradients of queries, keys and values (rows as the originals) from that of the result.
inline void attend_backward(const number* query, const number* key, const number* value, const Softmax* softmax,
                            const number* d_mixed, number* d_query, number* d_key, number* d_value, const Head& head,
                            AttentionScratch& own) {
    const int64_t length = head.length, dim = head.head_dim, half = dim / 2, depth = dim / PER_UNIT;
    const int64_t line = padded(length), num = num_units(length);
    query = turned(query, head, own.queries), key = turned(key, head, own.keys);
    unit* keys = own.keys_across.room(depth * line);
    transpose(key, dim, length, depth, keys, line);
    unit* values = own.values_across.room(depth * line);
    transpose(value, head.row, length, depth, values, line);
    const Right keys_along = right_along(key, dim, length, dim, own.key_units);
    const Right queries_along = right_along(query, dim, length, dim, own.query_units);
    const Right out_along = right_along(d_mixed, head.mixed_row, length, dim, own.out_units);
    float* scores = own.scores.room(QUERIES * line);
    float* changes = own.weight_changes.room(QUERIES * line);
    number* used = own.weights.room(CHUNK * line);
    number* of_scores = own.changes.room(CHUNK * line);
    float* query_sums = own.query_sums.room(QUERIES * dim);
    float* key_sums = own.key_sums.room(line * dim);
    float* value_sums = own.value_sums.room(line * dim);
    std::fill_n(key_sums, line * dim, 0.f), std::fill_n(value_sums, line * dim, 0.f);
    const float slope = head.slope();
    const Dropout dropped(head);
    float means[QUERIES];
    auto angles = [&](const float* table, int64_t s) { return table ? table + s * half : nullptr; };
    for (int64_t start = 0; start < length; start += CHUNK) {
        const int64_t chunk = std::min(CHUNK, length - start);
        for (int64_t i = 0; i < chunk; i += QUERIES) {
            const int64_t q = start + i, rows = std::min<int64_t>(QUERIES, chunk - i);
            product(units(query + q * dim), depth, 1, rows, keys, depth, line, StoreSums<false>{scores, line}, line);
            product(units(d_mixed + q * head.mixed_row), head.mixed_row / PER_UNIT, 1, rows, values, depth, line,
                    StoreSums<false>{changes, line}, line);
            for (int64_t r = 0; r < rows; r++) {
                mask(scores + r * line, length, line);
                means[r] = weights_again(scores + r * line, changes + r * line, line, LOG2_E * slope,
                                         softmax[q + r], dropped, q + r);
            }
            for (int64_t r = 0; r < rows; r++)
                score_changes(scores + r * line, changes + r * line, line, slope, means[r], dropped, q + r,
                              used + (i + r) * line, of_scores + (i + r) * line);
            product(units(of_scores + i * line), line / PER_UNIT, 1, rows, keys_along.at, num, dim,
                    StoreSums<false>{query_sums, dim}, keys_along.line);
            for (int64_t r = 0; r < rows; r++)
                rotate<true>(query_sums + r * dim, angles(head.cos, q + r), angles(head.sin, q + r), half,
                             d_query + (q + r) * head.row);
        }
        const Left weights_across = left_across(used, line, chunk, line, own.weight_units, UNITS);
        const Left changes_across = left_across(of_scores, line, chunk, line, own.change_units, UNITS);
        const int64_t lines = num_units(chunk), first = start / PER_UNIT;
        product(weights_across.at, weights_across.row, weights_across.step, length, out_along.at + first * out_along.line,
                lines, dim, StoreSums<true>{value_sums, dim}, out_along.line);
        product(changes_across.at, changes_across.row, changes_across.step, length,
                queries_along.at + first * queries_along.line, lines, dim, StoreSums<true>{key_sums, dim},
                queries_along.line);
    }
    for (int64_t s = 0; s < length; s++) {
        rotate<true>(key_sums + s * dim, angles(head.cos, s), angles(head.sin, s), half, d_key + s * head.row);
        round_row(value_sums + s * dim, d_value + s * head.row, dim);
    }
}
