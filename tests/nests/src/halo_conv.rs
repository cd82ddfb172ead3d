//! A strided convolution, NHWC x HWCF, that reads its input through a shared halo: 8x8 (OW x OC) a workgroup, one output
//! element a thread. The halo's 3x16 (rows x channels) are copied by 48 of the 64 threads, column by column.
//!
//! ```text
//! tile(n: 1, oh: 1, ow: 8, oc: 8) => workgroup(z, z, y, x);
//! distribute(ow, oc => thread(y, x));
//! tile(ic: 16 => ic_o);
//! reorder(ic_o, fh, fw, ic);
//! promote(input => x_s, at: ic_o, to: shared, fill: 0.0);
//! x_s { fuse(x_h, x_c => x_t); distribute(x_t => thread(linear)); serial(x_w); }
//! ```
//! The filter is read past the last channel, where 0 * unknown is not 0: the update is predicated there.

use crate::build::*;
use crate::copies::Copied;
use tilewright_dsl::expr::{Binary, ExprId};
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{Block, Exec, Phase, Pred, Program, Slot, Space, Tail};

/// Its sizes; the filter is 3x3.
#[derive(Clone, Copy, Debug)]
pub struct HaloConv {
    /// N, IH, IW, IC and OC.
    pub sizes: [Option<i64>; 5],
    /// Input elements from one output element to the next.
    pub stride: i64,
}

impl HaloConv {
    /// Everything symbolic, of stride 2.
    pub fn symbolic() -> HaloConv {
        HaloConv { sizes: [None; 5], stride: 2 }
    }

    /// The final nest, in f32.
    pub fn program(&self) -> Program {
        let mut b = Builder::new("conv2d");
        let names = [("N", 0), ("IH", 1), ("IW", 2), ("IC", 3), ("OC", 4)];
        let [n, ih, iw, ic, oc] = names.map(|(name, i)| b.dim(name, self.sizes[i]));
        let three = b.int(3);
        let oh = self.outputs(&mut b, "OH", ih);
        let ow = self.outputs(&mut b, "OW", iw);
        let input = b.input("input", DType::F32, &[n, ih, iw, ic]);
        let filter = b.input("filter", DType::F32, &[three, three, ic, oc]);
        let output = b.output("output", DType::F32, &[n, oh, ow, oc]);

        let axes = [("n", n), ("oh", oh), ("ow", ow), ("oc", oc)].map(|(name, extent)| b.parallel(name, extent));
        let over = [("fh", three), ("fw", three), ("ic", ic)].map(|(name, extent)| b.reduction(name, extent));
        let (fh, fw, channel) = (b.at(over[0]), b.at(over[1]), b.at(over[2]));
        let (image, oc_at) = (b.at(axes[0]), b.at(axes[3]));
        let w = b.read(filter, &[fh, fw, channel, oc_at]);
        let item = {
            let (row, column) = (b.scaled(axes[1], self.stride, fh), b.scaled(axes[2], self.stride, fw));
            let x = b.read(input, &[image, row, column, channel]);
            b.mul(x, w)
        };
        let body = b.sum_of(&over, item);
        let stage = b.stage(output, &axes, body);

        let images = b.split(axes[0], "n_workgroup", &[("n", 1)])[0];
        let rows = b.split(axes[1], "oh_workgroup", &[("oh", 1)])[0];
        let ow = b.split(axes[2], "ow_workgroup", &[("ow", 8)]);
        let oc = b.split(axes[3], "oc_workgroup", &[("oc", 8)]);
        let steps = b.split(over[2], "ic_o", &[("ic", 16)]);

        let width = 7 * self.stride + 3;
        let x_s = b.local("x_s", DType::F32, &[3, width, 16], Space::Shared);
        let x_axes = [("x_h", 3), ("x_w", width), ("x_c", 16)].map(|(name, n)| b.made(name, n));
        let [h, w_at, c] = x_axes.map(|axis| b.at(axis));
        let row = b.scaled(axes[1], self.stride, h);
        let column = b.scaled(ow[0], 8 * self.stride, w_at);
        let channels = b.scaled(steps[0], 16, c);
        let value = b.filled(input, &[image, row, column, channels], &[false, false, true, true]);
        let copy = HaloConv::copy(&mut b, Copied { dst: x_s, axes: &x_axes, value });

        let acc = b.local("acc", DType::F32, &[], Space::Register);
        let zero = b.number(0.0, DType::F32);
        let init = compute(stage, Phase::Init, access(acc, &[]), zero);
        let (column, c) = (b.scaled(ow[1], self.stride, fw), b.at(steps[1]));
        let x = b.read(x_s, &[fh, column, c]);
        let item = b.mul(x, w);
        let update = guarded(compute(stage, Phase::Update, access(acc, &[]), item), &[axes[3], over[2]], &b.p);
        let total = b.read(acc, &[]);
        let place = access(output, &b.all(&axes));
        let finish = guarded(compute(stage, Phase::Finish, place, total), &axes, &b.p);

        let window = [(over[0], Exec::Serial), (over[1], Exec::Serial), (steps[1], Exec::Unroll)];
        let step = sequence([copy, barrier(), nest(&window, leaf(update)), barrier()]);
        let body = sequence([leaf(init), nest(&[(steps[0], Exec::Serial)], alloc(&[x_s], step)), leaf(finish)]);
        let bound = [
            (images, workgroup(Slot::Z)),
            (rows, workgroup(Slot::Z)),
            (ow[0], workgroup(Slot::Y)),
            (oc[0], workgroup(Slot::X)),
            (ow[1], thread(Slot::Y)),
            (oc[1], thread(Slot::X)),
        ];
        b.p.plan = vec![dispatch("output", [8, 8, 1], nest(&bound, alloc(&[acc], body)))];
        b.p
    }

    /// Rows and channels in one, an invocation each; those beyond are predicated.
    fn copy(b: &mut Builder, copied: Copied<'_>) -> Block {
        let Copied { dst, axes, value } = copied;
        let stage = copied.stage(b);
        let place = access(dst, &b.all(axes));
        let item = b.fuse(&[axes[0], axes[2]], "x_t");
        let mut write = compute(stage, Phase::Whole, place, value);
        write.preds.push(Pred { axis: item, tail: Tail::Guard });
        nest(&[(axes[1], Exec::Serial), (item, thread(Slot::Linear))], leaf(write))
    }

    /// `(size - 3) / stride + 1`.
    fn outputs(&self, b: &mut Builder, name: &str, size: ExprId) -> ExprId {
        let (stride, one, three) = (b.int(self.stride), b.int(1), b.int(3));
        let span = b.sub(size, three);
        let steps = b.p.exprs.binary(Binary::FloorDiv, span, stride);
        let count = b.add(steps, one);
        b.derived(name, count)
    }
}
