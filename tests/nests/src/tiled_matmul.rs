//! A matrix multiply in registers: a tile a thread, straight from device memory. With literal sizes it is made for speed
//! on CPUs, where memory is cached anyway.
//!
//! ```text
//! tile(i: threads[0] * rows, j: threads[1] * columns) => workgroup(y, x);
//! tile(k: k => k_o);
//! tile(i: rows, j: columns) => thread(y, x);
//! tile(j: lanes => j_r);
//! reorder(k_o, k, i, j_r, j);
//! unroll(k, i, j_r);
//! vectorize(j, lanes);
//! ```

use crate::build::*;
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{Exec, Phase, Program, Slot, Space};

/// Its sizes: `c[M, N] = a[M, K] * b[K, N]`.
#[derive(Clone, Copy, Debug)]
pub struct TiledMatmul {
    /// M, N and K.
    pub sizes: [Option<i64>; 3],
    /// Threads of a workgroup in y (rows) and x (columns).
    pub threads: [i64; 2],
    /// Rows of a thread's tile, unrolled.
    pub rows: i64,
    /// Vectors in each of these rows, unrolled.
    pub vectors: i64,
    /// Lanes of a vector.
    pub lanes: i64,
    /// Steps of the reduction that are unrolled.
    pub k: i64,
}

impl TiledMatmul {
    /// 8x(2x4) a thread, k by 4.
    pub fn literal(m: i64, n: i64, k: i64) -> TiledMatmul {
        TiledMatmul { sizes: [m, n, k].map(Some), threads: [8, 8], rows: 8, vectors: 2, lanes: 4, k: 4 }
    }

    /// The final nest, in f32.
    pub fn program(&self) -> Program {
        let mut b = Builder::new("matmul");
        let [m, n, k] = [("M", 0), ("N", 1), ("K", 2)].map(|(name, i)| b.dim(name, self.sizes[i]));
        let left = b.input("a", DType::F32, &[m, k]);
        let right = b.input("b", DType::F32, &[k, n]);
        let output = b.output("c", DType::F32, &[m, n]);

        let [i, j] = [("i", m), ("j", n)].map(|(name, extent)| b.parallel(name, extent));
        let over = b.reduction("k", k);
        let (row, column, step) = (b.at(i), b.at(j), b.at(over));
        let (x, y) = (b.read(left, &[row, step]), b.read(right, &[step, column]));
        let item = b.mul(x, y);
        let body = b.sum_of(&[over], item);
        let stage = b.stage(output, &[i, j], body);

        let columns = self.vectors * self.lanes;
        let i_w = b.split(i, "i_workgroup", &[("i", self.threads[0] * self.rows)]);
        let j_w = b.split(j, "j_workgroup", &[("j", self.threads[1] * columns)]);
        let steps = b.split(over, "k_o", &[("k", self.k)]);
        let i_t = b.split(i_w[1], "i_thread", &[("i", self.rows)]);
        let j_t = b.split(j_w[1], "j_thread", &[("j", columns)]);
        let j_v = b.split(j_t[1], "j_r", &[("j", self.lanes)]);

        let acc = b.local("acc", DType::F32, &[self.rows, self.vectors, self.lanes], Space::Register);
        let tile = [(i_t[1], Exec::Unroll), (j_v[0], Exec::Unroll), (j_v[1], Exec::Lanes)];
        let place = access(acc, &b.all(&tile.map(|(axis, _)| axis)));
        let zero = b.number(0.0, DType::F32);
        let init = compute(stage, Phase::Init, place.clone(), zero);
        let update = guarded(compute(stage, Phase::Update, place.clone(), item), &[i, j, over], &b.p);
        let total = b.read(acc, &place.index);
        let finish = guarded(compute(stage, Phase::Finish, access(output, &[row, column]), total), &[i, j], &b.p);

        let reduction = [(steps[0], Exec::Serial), (steps[1], Exec::Unroll)];
        let body = sequence([nest(&tile, leaf(init)), nest(&reduction, nest(&tile, leaf(update))), nest(&tile, leaf(finish))]);
        let bound =
            [(i_w[0], workgroup(Slot::Y)), (j_w[0], workgroup(Slot::X)), (i_t[0], thread(Slot::Y)), (j_t[0], thread(Slot::X))];
        let local = [self.threads[1] as u32, self.threads[0] as u32, 1];
        b.p.plan = vec![dispatch("c", local, nest(&bound, alloc(&[acc], body)))];
        b.p
    }
}
