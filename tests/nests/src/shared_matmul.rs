//! A matrix multiply through shared memory, for any M, N and K: 32x32 a workgroup, 4x4 a thread.
//!
//! ```text
//! tile(i: 32 round_up, j: 32 round_up) => workgroup(y, x);
//! tile(k: 8 round_up => k_o);
//! reorder(k_o, k, i, j);
//! promote(a => a_s[k, i], at: k_o, to: shared, fill: 0.0, row_pad: 4);
//! promote(b => b_s[k, j], at: k_o, to: shared, fill: 0.0, row_pad: 4);
//! tile(i: 4, j: 4) => thread(y, x);
//! unroll(k, i);
//! vectorize(j, 4, unaligned: scalar);
//! ```
//! The threads are distributed inside the reduction, so the accumulator outlives their loops and they own its first two
//! dimensions. Steps past the end of K add 0 * 0: both copies are filled.

use crate::build::*;
use crate::copies::Copied;
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{Exec, Phase, Program, Slot, Space};

/// Its sizes: `c[M, N] = a[M, K] * b[K, N]`.
#[derive(Clone, Copy, Debug)]
pub struct SharedMatmul {
    /// M, N and K.
    pub sizes: [Option<i64>; 3],
    /// Of tensors and accumulator.
    pub dtype: DType,
}

impl SharedMatmul {
    /// Everything symbolic, in f32.
    pub fn symbolic() -> SharedMatmul {
        SharedMatmul { sizes: [None; 3], dtype: DType::F32 }
    }

    /// The final nest.
    pub fn program(&self) -> Program {
        let mut b = Builder::new("matmul");
        let [m, n, k] = [("M", 0), ("N", 1), ("K", 2)].map(|(name, i)| b.dim(name, self.sizes[i]));
        let left = b.input("a", self.dtype, &[m, k]);
        let right = b.input("b", self.dtype, &[k, n]);
        let output = b.output("c", self.dtype, &[m, n]);

        let [i, j] = [("i", m), ("j", n)].map(|(name, extent)| b.parallel(name, extent));
        let over = b.reduction("k", k);
        let (row, column, step) = (b.at(i), b.at(j), b.at(over));
        let (x, y) = (b.read(left, &[row, step]), b.read(right, &[step, column]));
        let item = b.mul(x, y);
        let body = b.sum_of(&[over], item);
        let stage = b.stage(output, &[i, j], body);

        let i_w = b.split(i, "i_workgroup", &[("i", 32)]);
        let j_w = b.split(j, "j_workgroup", &[("j", 32)]);
        let steps = b.split(over, "k_o", &[("k", 8)]);
        let i_t = b.split(i_w[1], "i_thread", &[("i", 4)]);
        let j_t = b.split(j_w[1], "j_thread", &[("j", 4)]);

        let a_s = b.local("a_s", self.dtype, &[8, 32], Space::Shared);
        let b_s = b.local("b_s", self.dtype, &[8, 32], Space::Shared);
        b.p.buffers[a_s].row_pad = 4;
        b.p.buffers[b_s].row_pad = 4;
        let a_axes = [("a_k", 8), ("a_i", 32)].map(|(name, n)| b.made(name, n));
        let b_axes = [("b_k", 8), ("b_j", 32)].map(|(name, n)| b.made(name, n));
        let (a_k, a_i) = (b.at(a_axes[0]), b.at(a_axes[1]));
        let (b_k, b_j) = (b.at(b_axes[0]), b.at(b_axes[1]));
        let a_index = [b.scaled(i_w[0], 32, a_i), b.scaled(steps[0], 8, a_k)];
        let b_index = [b.scaled(steps[0], 8, b_k), b.scaled(j_w[0], 32, b_j)];
        let a_value = b.filled(left, &a_index, &[true, true]);
        let b_value = b.filled(right, &b_index, &[true, true]);
        let copy_a = Copied { dst: a_s, axes: &a_axes, value: a_value }.dealt(&mut b, 64, 1);
        let copy_b = Copied { dst: b_s, axes: &b_axes, value: b_value }.dealt(&mut b, 64, 1);

        let acc = b.local("acc", self.dtype, &[8, 8, 4, 4], Space::Register);
        let tile = [(i_t[0], thread(Slot::Y)), (j_t[0], thread(Slot::X)), (i_t[1], Exec::Unroll), (j_t[1], Exec::Lanes)];
        let place = access(acc, &b.all(&tile.map(|(axis, _)| axis)));
        let zero = b.number(0.0, self.dtype);
        let init = compute(stage, Phase::Init, place.clone(), zero);
        let (k_in, i_in, j_in) = (b.at(steps[1]), b.at(i_w[1]), b.at(j_w[1]));
        let (x, y) = (b.read(a_s, &[k_in, i_in]), b.read(b_s, &[k_in, j_in]));
        let item = b.mul(x, y);
        let update = compute(stage, Phase::Update, place.clone(), item);
        let total = b.read(acc, &place.index);
        let finish = guarded(compute(stage, Phase::Finish, access(output, &[row, column]), total), &[i, j], &b.p);

        let step = sequence([copy_a, copy_b, barrier(), nest(&[(steps[1], Exec::Unroll)], nest(&tile, leaf(update))), barrier()]);
        let body = sequence([
            nest(&tile, leaf(init)),
            nest(&[(steps[0], Exec::Serial)], alloc(&[a_s, b_s], step)),
            nest(&tile, leaf(finish)),
        ]);
        let bound = [(i_w[0], workgroup(Slot::Y)), (j_w[0], workgroup(Slot::X))];
        b.p.plan = vec![dispatch("c", [8, 8, 1], nest(&bound, alloc(&[acc], body)))];
        b.p
    }
}
