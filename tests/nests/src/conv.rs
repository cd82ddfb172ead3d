//! A convolution, NHWC x HWCF, in registers: a 1x8x32 (OH x OW x OC) patch a workgroup, 1x4x4 a thread.
//!
//! ```text
//! tile(n: 1, oh: 1, ow: 8, oc: 32) => workgroup(z, z, y, x);
//! tile(ow: 4, oc: 4) => thread(y, x);
//! reorder(fh, fw, ic, ow, oc);
//! unroll(ic, ow);
//! vectorize(oc, 4);
//! ```
//! OW may have any value. Unless it is a literal multiple of 8, some threads are out of bounds, so they are predicated.

use crate::build::*;
use tilewright_dsl::expr::{Binary, ExprId};
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{AxisId, Exec, Phase, Program, Slot, Space};

/// Its sizes. OC is a multiple of 32, stated if it is symbolic.
#[derive(Clone, Copy, Debug)]
pub struct Conv {
    /// Images.
    pub n: Option<i64>,
    /// Rows of the input.
    pub ih: Option<i64>,
    /// Columns of the input.
    pub iw: Option<i64>,
    /// Channels of the input. A literal's loop is unrolled.
    pub ic: Option<i64>,
    /// Channels of the output.
    pub oc: Option<i64>,
    /// Rows and columns of the filter.
    pub filter: [i64; 2],
    /// Input elements from one output element to the next.
    pub stride: i64,
    /// Of tensors and accumulator.
    pub dtype: DType,
}

impl Conv {
    /// Everything symbolic but the filter's 3x3, in f32.
    pub fn symbolic(stride: i64) -> Conv {
        Conv { n: None, ih: None, iw: None, ic: None, oc: None, filter: [3, 3], stride, dtype: DType::F32 }
    }

    /// One literal image, 3x3, in f32.
    pub fn literal([ih, iw, ic, oc]: [i64; 4], stride: i64) -> Conv {
        let (n, ih, iw, ic, oc) = (Some(1), Some(ih), Some(iw), Some(ic), Some(oc));
        Conv { n, ih, iw, ic, oc, ..Conv::symbolic(stride) }
    }

    /// The final nest.
    pub fn program(&self) -> Program {
        let mut b = Builder::new("conv2d");
        let [n, ih, iw] = [("N", self.n), ("IH", self.ih), ("IW", self.iw)].map(|(name, size)| b.dim(name, size));
        let [ic, oc] = [("IC", self.ic), ("OC", self.oc)].map(|(name, size)| b.dim(name, size));
        b.multiple(oc, 32);
        let [fh, fw] = self.filter.map(|size| b.int(size));
        let oh = self.outputs(&mut b, "OH", ih, fh);
        let ow = self.outputs(&mut b, "OW", iw, fw);
        let input = b.input("input", self.dtype, &[n, ih, iw, ic]);
        let filter = b.input("filter", self.dtype, &[fh, fw, ic, oc]);
        let output = b.output("output", self.dtype, &[n, oh, ow, oc]);

        let axes = [("n", n), ("oh", oh), ("ow", ow), ("oc", oc)].map(|(name, extent)| b.parallel(name, extent));
        let over = [("fh", fh), ("fw", fw), ("ic", ic)].map(|(name, extent)| b.reduction(name, extent));
        let item = {
            let [n, oh, ow, oc] = axes;
            let (fh, fw, ic) = (b.at(over[0]), b.at(over[1]), b.at(over[2]));
            let (row, column) = (b.scaled(oh, self.stride, fh), b.scaled(ow, self.stride, fw));
            let (n, oc) = (b.at(n), b.at(oc));
            let (x, w) = (b.read(input, &[n, row, column, ic]), b.read(filter, &[fh, fw, ic, oc]));
            b.mul(x, w)
        };
        let body = b.sum_of(&over, item);
        let stage = b.stage(output, &axes, body);

        let grid = b.split(axes[0], "n_workgroup", &[("n", 1)])[0];
        let rows = b.split(axes[1], "oh_workgroup", &[("oh", 1)])[0];
        let ow = b.split(axes[2], "ow_workgroup", &[("ow", 8)]);
        let oc = b.split(axes[3], "oc_workgroup", &[("oc", 32)]);
        let ow_t = b.split(ow[1], "ow_thread", &[("ow", 4)]);
        let oc_t = b.split(oc[1], "oc_thread", &[("oc", 4)]);

        let acc = b.local("acc", self.dtype, &[4, 4], Space::Register);
        let place = access(acc, &b.all(&[ow_t[1], oc_t[1]]));
        let tile: [(AxisId, Exec); 2] = [(ow_t[1], Exec::Unroll), (oc_t[1], Exec::Lanes)];
        let zero = b.number(0.0, self.dtype);
        let init = compute(stage, Phase::Init, place.clone(), zero);
        let update = guarded(compute(stage, Phase::Update, place.clone(), item), &axes, &b.p);
        let total = b.read(acc, &place.index);
        let everywhere = access(output, &b.all(&axes));
        let finish = guarded(compute(stage, Phase::Finish, everywhere, total), &axes, &b.p);

        let channels = if self.ic.is_some() { Exec::Unroll } else { Exec::Serial };
        let reduction = [(over[0], Exec::Serial), (over[1], Exec::Serial), (over[2], channels)];
        let body = alloc(
            &[acc],
            sequence([nest(&tile, leaf(init)), nest(&reduction, nest(&tile, leaf(update))), nest(&tile, leaf(finish))]),
        );
        let bound = [
            (grid, workgroup(Slot::Z)),
            (rows, workgroup(Slot::Z)),
            (ow[0], workgroup(Slot::Y)),
            (oc[0], workgroup(Slot::X)),
            (ow_t[0], thread(Slot::Y)),
            (oc_t[0], thread(Slot::X)),
        ];
        b.p.plan = vec![dispatch("output", [8, 2, 1], nest(&bound, body))];
        b.p
    }

    /// `(size - filter) / stride + 1`.
    fn outputs(&self, b: &mut Builder, name: &str, size: ExprId, filter: ExprId) -> ExprId {
        let (stride, one) = (b.int(self.stride), b.int(1));
        let span = b.sub(size, filter);
        let steps = b.p.exprs.binary(Binary::FloorDiv, span, stride);
        let count = b.add(steps, one);
        b.derived(name, count)
    }
}
