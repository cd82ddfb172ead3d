//! Matrix multiply.

use crate::kernels::matmul;
use crate::parts;
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// Eight invocations over 32 columns, eight rows of four columns each.
    pub ROWS_8: matmul for mesa_lavapipe where M % 8 == 0, N % 32 == 0, K % 4 == 0 {
        tile(i: 8, j: 32) => workgroup(y, x);
        tile(j: 4) => thread(x);
        tile(k: 4 => k_o);
        reorder(k_o, k, i, j);
        unroll(k, i);
        vectorize(j, 4);
    }
}

schedule! {
    /// 8x8 (rows x columns) per invocation, in registers.
    pub REGISTERS_8X8: matmul for mesa_lavapipe where M % 64 == 0, N % 64 == 0, K % 4 == 0 {
        tile(i: 64, j: 64) => workgroup(y, x);
        tile(i: 8, j: 8) => thread(y, x);
        tile(k: 4 => k_o);
        reorder(k_o, k, i, j);
        unroll(k, i);
        vectorize(j, 4);
        unroll(j);
    }
}

schedule! {
    /// Eight adjacent invocations, each with several rows and columns, row by row, so that all rows reuse the loaded part of `b`.
    /// The sizes are specialization constants.
    pub ROWS_PINNED: matmul for mesa_lavapipe where M % 32 == 0, N % 64 == 0, K % 4 == 0 {
        apply parts::matrices::VECTORS<ROWS = ROWS, COLUMNS = COLUMNS, STEP = DEPTH>;
        pin(N, K);
        tune ROWS in [4, 8, 16, 32] = 32;
        tune COLUMNS in [4, 8] = 8;
        tune DEPTH in [1, 2, 4] = 4;
    }
}

schedule! {
    /// For Mesa 26: eight invocations over 32 columns, 64 rows of four columns each. The sizes are specialization constants.
    pub ROWS_64: matmul for mesa_lavapipe where M % 64 == 0, N % 32 == 0, K % 4 == 0 {
        apply parts::matrices::VECTORS<ROWS = 64, COLUMNS = 4, STEP = 4>;
        pin(N, K);
    }
}

schedule! {
    /// For few results and long sums: one dispatch computes partial sums of 512 products, 8x8 (rows x columns) per invocation, and
    /// a second dispatch adds them up.
    pub SPLIT_K: matmul for mesa_lavapipe where M % 64 == 0, N % 64 == 0, K % 512 == 0 {
        split(k, [_, 128, 4] => k_o, k_m, k);
        rfactor(k_o => part);
        part {
            distribute(k_o => workgroup(z));
            tile(i: 64, j: 64) => workgroup(y, x);
            tile(i: 8, j: 8) => thread(y, x);
            reorder(k_m, k, i, j);
            unroll(k, i);
            vectorize(j, 4);
            unroll(j);
        }
        tile(i: 4, j: 16) => workgroup(y, x);
        distribute(i, j => thread(y, x));
    }
}
