//! Products of matrices `a[i, k]` and `b[k, j]`.

use tilewright::schedule;

schedule! {
    /// On matrix units, any sizes: `STEP` items at a time through shared memory, which is filled with zeros out of bounds, and `ROWS` x
    /// `COLUMNS` results per subgroup, which are written through shared memory. 16 bytes have `PAD` items.
    pub FILLED<ROWS = 64, COLUMNS = 32, STEP = 32, A = 16, B = 16, DEPTH = 16, PAD = 8> {
        tile(k: STEP round_up => k_o);
        reorder(k_o, k, j, i);
        promote(a => a_s, at: k_o, to: shared, fill: 0, row_pad: PAD);
        promote(b => b_s, at: k_o, to: shared, fill: 0, row_pad: PAD);
        promote(c => c_s, at: workgroup, to: shared);
        tile(i: ROWS, j: COLUMNS) => subgroup(y, x);
        mma(i, j, k, A x B x DEPTH);
        unroll(k);
        specialize(K % PAD == 0, N % PAD == 0);
    }
}

schedule! {
    /// [`FILLED`] for whole matrices, two by two subgroups. The next steps are prefetched to registers.
    pub PREFETCHED<ROWS = 64, COLUMNS = 32, STEP = 32, A = 16, DEPTH = 16, PAD = 8> {
        tile(i: ROWS * 2 round_up, j: COLUMNS * 2 round_up) => workgroup(y, x);
        apply FILLED<ROWS = ROWS, COLUMNS = COLUMNS, STEP = STEP, A = A, DEPTH = DEPTH, PAD = PAD>;
        pipeline(k_o, buffers: 1, prefetch: register);
    }
}

schedule! {
    /// On matrix units, whole tiles: `STEP` items at a time through shared memory, and `ROWS` x `COLUMNS` results per subgroup, in matrices
    /// of `A` x 16 x 16. The next steps are prefetched to registers.
    pub WHOLE<STEP = 64, ROWS = 64, COLUMNS = 64, A = 16> {
        tile(k: STEP => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s, at: k_o, to: shared, row_pad: 8);
        promote(b => b_s, at: k_o, to: shared, row_pad: 8);
        pipeline(k_o, buffers: 1, prefetch: register);
        tile(i: ROWS, j: COLUMNS) => subgroup(y, x);
        mma(i, j, k, A x 16 x 16);
        unroll(k);
    }
}

schedule! {
    /// Any sizes: the sums are a stage `part` of its own, in the fragments of two by two subgroups, 64 x `COLUMNS` each. Each subgroup writes
    /// its sums through a part of shared memory that it alone uses, 16 rows of `SLICE` columns at a time, so that it waits for no other
    /// subgroup. The guards are at these writes. Workgroups process the tiles in bands of `BAND` rows of tiles. In `part`, copies of the
    /// factors at `k_o`, and then [`SLICED`], must follow.
    pub SLICES<COLUMNS = 64, SLICE = 32, BAND = 1> {
        split(k, [1, _] => k_s, k);
        rfactor(k_s => part);
        tile(i: 128 round_up => i_o, j: COLUMNS * 2 round_up => j_o);
        split(i_o, [_, BAND] => band, i_b);
        split(i, [2, 4, 16] => i_y, i_t, i);
        split(j, [2, COLUMNS / SLICE, SLICE] => j_x, j_t, j);
        reorder(band, j_o, i_b, i_t, j_t, i_y, j_x, i, j);
        fuse(band, j_o, i_b => w);
        distribute(w => workgroup(x));
        compute_at(part, workgroup, to: fragment);
        promote(part => p_s[i_y, j_x, i, j], at: j_t, to: shared, row_pad: 4);
        p_s { distribute(i_y, j_x => subgroup(y, x)); fragment(i, j, 16 x 16); }
        unroll(i_t, j_t);
        distribute(i_y, j_x => subgroup(y, x));
        fuse(i, j => t);
        split(t, [_, 32] => t_r, t);
        distribute(t => lane(x));
        unroll(t_r);
        part { tile(k: 64 round_up => k_o); reorder(k_o, k, i, j); }
    }
}

schedule! {
    /// The matrices of `part` of [`SLICES`]. The next steps are prefetched to registers.
    pub SLICED<COLUMNS = 64, DEPTH = 16> {
        pipeline(k_o, buffers: 1, prefetch: register);
        tile(i: 64, j: COLUMNS) => subgroup(y, x);
        mma(i, j, k, 16 x 16 x DEPTH);
        unroll(k);
    }
}

schedule! {
    /// [`SLICES`] of factors that are read in place.
    pub READ_SLICES<COLUMNS = 64, SLICE = 32, BAND = 1> {
        apply SLICES<COLUMNS = COLUMNS, SLICE = SLICE, BAND = BAND>;
        part {
            promote(a => a_s, at: k_o, to: shared, fill: 0.0, row_pad: 8);
            promote(b => b_s, at: k_o, to: shared, fill: 0.0, row_pad: 8);
            apply SLICED<COLUMNS = COLUMNS>;
        }
    }
}

schedule! {
    /// [`SLICES`] of factors that are first copied to whole tiles, padded with zeros, because rows that do not begin at multiples of 16 bytes
    /// are read element by element.
    pub PADDED_SLICES<COLUMNS = 64, BAND = 1> {
        pack(a[i, k] => [i / 128, k / 64, i % 128, k % 64], when: dispatch);
        pack(b[k, j] => [k / 64, j / (COLUMNS * 2), k % 64, j % (COLUMNS * 2)], when: dispatch);
        a_packed {
            split(i, [_, 16] => i_t, i);
            distribute(i_o, i_t => workgroup(z, y));
            distribute(k_o => workgroup(x));
            vectorize(k, 8, unaligned: scalar);
            fuse(i, k => t);
            distribute(t => thread(linear));
        }
        b_packed {
            distribute(k_o, j_o => workgroup(y, x));
            tile(k: 16) => workgroup(z);
            vectorize(j, 8, unaligned: scalar);
            fuse(k, j => t);
            distribute(t => thread(linear));
        }
        apply SLICES<COLUMNS = COLUMNS, BAND = BAND>;
        part {
            promote(a_packed => a_s[i, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
            promote(b_packed => b_s[k, j], at: k_o, to: shared, fill: 0.0, row_pad: 8);
            apply SLICED<COLUMNS = COLUMNS>;
        }
    }
}

schedule! {
    /// [`WHOLE`] in tiles of 128x128. Workgroups process the tiles in bands of `BAND` rows of tiles, so that shared parts of the factors
    /// stay in the cache.
    pub BANDS<BAND = 8, STEP = 64, COLUMNS = 64> {
        tile(i: 128 => i_o, j: 128 => j_o);
        split(i_o, [_, BAND] => band, i_b);
        reorder(band, j_o, i_b, i, j, k);
        fuse(band, j_o, i_b => w);
        distribute(w => workgroup(x));
        apply WHOLE<STEP = STEP, COLUMNS = COLUMNS>;
    }
}

schedule! {
    /// Transposes `b`, because devices load matrices of bytes quickly only if the bytes of one sum are adjacent.
    pub TRANSPOSED {
        pack(b[k, j] => [j, k], when: dispatch);
        b_packed {
            tile(j: 64, k: 64) => workgroup(y, x);
            promote(b => b_t, at: workgroup, to: shared, row_pad: 4);
            tile(j: 8) => thread(y);
            tile(k: 4) => thread(x);
            vectorize(k, 4);
            unroll(j);
        }
    }
}

schedule! {
    /// [`SLICES`] of 8-bit integers.
    pub BYTE_SLICES<COLUMNS = 64, SLICE = 32, BAND = 1> {
        apply TRANSPOSED;
        apply SLICES<COLUMNS = COLUMNS, SLICE = SLICE, BAND = BAND>;
        part {
            promote(a => a_s, at: k_o, to: shared, fill: 0, row_pad: 16);
            promote(b_packed => b_s[j, k], at: k_o, to: shared, fill: 0, row_pad: 16);
            apply SLICED<COLUMNS = COLUMNS, DEPTH = 32>;
        }
    }
}

schedule! {
    /// In f32, any sizes: `ROWS` x `COLUMNS` per workgroup, `STEP` items at a time through shared memory, which is filled with zeros out
    /// of bounds. An invocation has `TALL` x `WIDE` results, in blocks of 4x4, so that adjacent invocations read adjacent elements.
    pub TILES<ROWS = 128, COLUMNS = 128, STEP = 16, TALL = 8, WIDE = 8> {
        tile(i: ROWS round_up, j: COLUMNS round_up) => workgroup(y, x);
        tile(k: STEP round_up => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[k, i], at: k_o, to: shared, fill: 0.0, row_pad: 4);
        promote(b => b_s[k, j], at: k_o, to: shared, fill: 0.0);
        split(i, [TALL / 4, ROWS / TALL, 4] => i_r, i_t, i_v);
        split(j, [WIDE / 4, COLUMNS / WIDE, 4] => j_r, j_t, j_v);
        distribute(i_t, j_t => thread(y, x));
        promote(a_s => a_r[i_r, i_v], at: k, to: register);
        promote(b_s => b_r[j_r, j_v], at: k, to: register);
        unroll(k, i_r, i_v, j_r);
        vectorize(j_v, 4, unaligned: scalar);
    }
}

schedule! {
    /// [`TILES`] of `ROWS` x 128, with versions for rows at multiples of 16 bytes.
    pub BLOCKS<ROWS = 128, STEP = 16, TALL = 8> {
        apply TILES<ROWS = ROWS, STEP = STEP, TALL = TALL>;
        specialize(K % 4 == 0, N % 4 == 0);
    }
}

schedule! {
    /// [`TILES`] of partial sums: a workgroup adds `CHUNK` products for each of its results, so that few results still use all cores. A
    /// second dispatch adds the partial sums, with 16 invocations for four adjacent results.
    pub CHUNKS<ROWS = 64, COLUMNS = 64, STEP = 16, TALL = 8, WIDE = 4, CHUNK = 256> {
        tile(k: CHUNK => k_s);
        rfactor(k_s => part);
        part {
            distribute(k_s => workgroup(z));
            apply TILES<ROWS = ROWS, COLUMNS = COLUMNS, STEP = STEP, TALL = TALL, WIDE = WIDE>;
            pipeline(k_o, buffers: 1, prefetch: register);
        }
        split(j, [_, 16, 4] => j_o, j_t, j);
        distribute(i, j_o => workgroup(y, x));
        distribute(j_t => thread(x));
        split(k_s, [_, 4, 16] => k_r, k_u, k_s);
        distribute(k_s => thread(y), by: tree);
        reorder(k_r, k_u, j);
        unroll(k_u);
        vectorize(j, 4, unaligned: scalar);
        specialize(K % 512 == 0, N % 4 == 0);
        specialize(K % 4 == 0, N % 4 == 0);
    }
}

schedule! {
    /// In vectors of a CPU, whole tiles: eight adjacent invocations, each with `ROWS` rows of `COLUMNS` columns, row by row, so that all
    /// rows reuse the loaded part of `b`.
    pub VECTORS<ROWS = 8, COLUMNS = 8, STEP = 1> {
        tile(i: ROWS, j: COLUMNS * 8) => workgroup(y, x);
        tile(j: COLUMNS) => thread(x);
        tile(k: STEP => k_o);
        vectorize(j, 4);
        reorder(k_o, i, j, k);
        unroll(i, j, k);
    }
}
