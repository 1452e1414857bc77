// Attention of float32 numbers: a line of scores per key, with a column per query. Included by attention.h.
#pragma once

constexpr int64_t QUERIES = PANEL;  // that go through the softmax at a time

// Calls function.template operator()<C>(c) for the columns from c on, 64, 32 or 16 at a time.
template <class Function>
inline void for_columns(int64_t columns, Function function) {
    for (int64_t c = 0; c < columns; c += panel_width(columns - c))
        switch (panel_width(columns - c)) {
            case PANEL: function.template operator()<TILE_COLUMNS>(c); break;
            case 32: function.template operator()<2>(c); break;
            default: function.template operator()<1>(c);
        }
}

// What to lower the scores of queries by after multiplication with `factor`, so that their largest become 0. The rounding of
// this number is far below 1, or else the scores themselves are lowered, and there is nothing left to do.
inline Vector lowered_by(float* scores, int64_t length, int64_t line, float factor, Vector largest) {
    const Vector most = all(factor) * largest;
    if (largest_of(absolute(most)) < 1e6f) return most;
    const Mask is_large = is_greater(absolute(most), all(1e6f));
    for (int64_t s = 0; s < length; s++) store(scores + s * line, load(scores + s * line) - where(is_large, largest));
    return choose(is_large, all(0), most);
}

// Turns scores into 2 to the power of themselves times `factor` less the largest, dropped ones into 0; gives the largest
// score of every query and one over the sum of all its powers.
template <int C>
inline void powers(float* scores, int64_t length, int64_t line, float factor, const Dropout& dropped, int64_t query,
                   float* largest, float* shares) {
    Vector most[C], sums[C], lowered[C];
    Integers rows[C];
    for (int c = 0; c < C; c++) most[c] = all(-INFINITY), sums[c] = all(0), rows[c] = dropped.rows(query + LANES * c);
    for (int64_t s = 0; s < length; s++)
        for (int c = 0; c < C; c++) most[c] = larger(most[c], load(scores + s * line + LANES * c));
    for (int c = 0; c < C; c++) lowered[c] = lowered_by(scores + LANES * c, length, line, factor, most[c]);
    for (int64_t s = 0; s < length; s++)
        for (int c = 0; c < C; c++) {
            float* place = scores + s * line + LANES * c;
            const Vector weight = power_of_two(multiply_subtract(load(place), all(factor), lowered[c]));
            sums[c] = sums[c] + weight;
            store(place, dropped(weight, rows[c], s));
        }
    for (int c = 0; c < C; c++) store(largest + LANES * c, most[c]), store(shares + LANES * c, all(1.f) / sums[c]);
}

// Results of a head, and in `kept`, unless it is null, the softmax of every query.
inline void attend(const number* query, const number* key, const number* value, number* mixed, Softmax* kept, const Head& head,
                   AttentionScratch& own) {
    const int64_t length = head.length, dim = head.head_dim;
    if (head.cos) query = turned(query, head, own.queries), key = turned(key, head, own.keys);
    const int64_t row = head.cos ? dim : head.row;
    const Right values = right_along(value, head.row, length, dim, own.value_units);
    unit* queries = own.queries_across.room(dim * QUERIES);
    float* scores = own.scores.room(length * QUERIES);
    const Dropout dropped(head);
    alignas(64) float largest[QUERIES], shares[QUERIES];
    for (int64_t q = 0; q < length; q += QUERIES) {
        const int64_t num = std::min(QUERIES, length - q), line = padded(num);
        transpose(query + q * row, row, num, dim, queries, line);
        product(key, row, 1, length, queries, dim, line, StoreSums<false>{scores, line}, line);
        for_columns(line, [&]<int C>(int64_t c) {
            powers<C>(scores + c, length, line, LOG2_E * head.slope(), dropped, q + c, largest + c, shares + c);
        });
        if (kept)
            for (int64_t i = 0; i < num; i++) kept[q + i] = {largest[i], shares[i]};
        product(scores, 1, line, num, values.at, length, dim,
                StoreShares{mixed + q * head.mixed_row, head.mixed_row, shares}, values.line);
    }
}

// Turns the scores of queries into weights as the forward pass used them, and the gradients of weights into those of the
// products of queries and keys.
template <int C>
inline void powers_backward(float* scores, float* changes, int64_t length, int64_t line, float slope, const Dropout& dropped,
                            int64_t query, const float* largest, const float* shares) {
    Vector means[C], lowered[C], share[C];
    Integers rows[C];
    for (int c = 0; c < C; c++) {
        means[c] = all(0), share[c] = load(shares + LANES * c), rows[c] = dropped.rows(query + LANES * c);
        lowered[c] = lowered_by(scores + LANES * c, length, line, LOG2_E * slope, load(largest + LANES * c));
    }
    for (int64_t s = 0; s < length; s++)
        for (int c = 0; c < C; c++) {
            const int64_t at = s * line + LANES * c;
            const Vector exponent = multiply_subtract(load(scores + at), all(LOG2_E * slope), lowered[c]);
            const Vector weight = power_of_two(exponent) * share[c], change = dropped(load(changes + at), rows[c], s);
            store(scores + at, weight);
            if (dropped.is_on) store(changes + at, change);
            means[c] = multiply_add(weight, change, means[c]);
        }
    for (int c = 0; c < C; c++) means[c] = means[c] * all(slope);
    for (int64_t s = 0; s < length; s++)
        for (int c = 0; c < C; c++) {
            const int64_t at = s * line + LANES * c;
            const Vector weight = load(scores + at);
            if (dropped.is_on) store(scores + at, dropped(weight, rows[c], s));
            store(changes + at, weight * multiply_subtract(load(changes + at), all(slope), means[c]));
        }
}

// Gradients of queries, keys and values (rows as the originals) from that of the result.
inline void attend_backward(const number* query, const number* key, const number* value, const Softmax* softmax,
                            const number* d_mixed, number* d_query, number* d_key, number* d_value, const Head& head,
                            AttentionScratch& own) {
    const int64_t length = head.length, dim = head.head_dim, half = dim / 2;
    // Rows of a head stand far apart, and what is needed last is asked for first.
    for (int64_t s = 0; s < length; s++)
        for (int64_t c = 0; c < dim; c += LANES) {
            _mm_prefetch((const char*)(value + s * head.row + c), _MM_HINT_T0);
            for (const number* row : {d_query, d_key, d_value}) _mm_prefetch((const char*)(row + s * head.row + c), _MM_HINT_T1);
        }
    query = turned(query, head, own.queries), key = turned(key, head, own.keys);
    const Right out_along = right_along(d_mixed, head.mixed_row, length, dim, own.out_units);
    unit* queries = own.queries_across.room(dim * QUERIES);
    unit* outs = own.outs_across.room(dim * QUERIES);
    float* scores = own.scores.room(length * QUERIES);
    float* changes = own.weight_changes.room(length * QUERIES);
    float* query_sums = own.query_sums.room(QUERIES * dim);
    float* key_sums = own.key_sums.room(length * dim);
    float* value_sums = own.value_sums.room(length * dim);
    std::fill_n(key_sums, length * dim, 0.f), std::fill_n(value_sums, length * dim, 0.f);
    const Dropout dropped(head);
    alignas(64) float largest[QUERIES], shares[QUERIES];
    auto angles = [&](const float* table, int64_t s) { return table ? table + s * half : nullptr; };
    for (int64_t q = 0; q < length; q += QUERIES) {
        const int64_t num = std::min(QUERIES, length - q), line = padded(num);
        for (int64_t i = 0; i < line; i++) {
            const Softmax of_query = i < num ? softmax[q + i] : Softmax{0, 0};
            largest[i] = of_query.largest, shares[i] = of_query.share;
        }
        transpose(query + q * dim, dim, num, dim, queries, line);
        transpose(out_along.at + q * out_along.line, out_along.line, num, dim, outs, line);
        product(key, dim, 1, length, queries, dim, line, StoreSums<false>{scores, line}, line);
        product(value, head.row, 1, length, outs, dim, line, StoreSums<false>{changes, line}, line);
        for_columns(line, [&]<int C>(int64_t c) {
            powers_backward<C>(scores + c, changes + c, length, line, head.slope(), dropped, q + c, largest + c, shares + c);
        });
        product(changes, 1, line, num, key, length, dim, StoreSums<false>{query_sums, dim}, dim);
        for (int64_t i = 0; i < num; i++)
            rotate<true>(query_sums + i * dim, angles(head.cos, q + i), angles(head.sin, q + i), half,
                         d_query + (q + i) * head.row);
        product(scores, line, 1, length, out_along.at + q * out_along.line, num, dim, StoreSums<true>{value_sums, dim},
                out_along.line);
        product(changes, line, 1, length, query + q * dim, num, dim, StoreSums<true>{key_sums, dim}, dim);
    }
    for (int64_t s = 0; s < length; s++) {
        rotate<true>(key_sums + s * dim, angles(head.cos, s), angles(head.sin, s), half, d_key + s * head.row);
        round_row(value_sums + s * dim, d_value + s * head.row, dim);
    }
}
