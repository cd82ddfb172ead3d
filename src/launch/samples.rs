//! A launch program without SPIR-V modules, for the tests of this folder.

use tilewright_launch::*;

pub(crate) fn dim(d: u32) -> Size {
    Size::Dim(d)
}

pub(crate) fn lit(n: i64) -> Size {
    Size::Const(n)
}

pub(crate) fn bin(op: fn(Box<Size>, Box<Size>) -> Size, a: Size, b: Size) -> Size {
    op(Box::new(a), Box::new(b))
}

/// A strided convolution, with one of its output's dims derived and the other solved.
///
/// Dims: N 0, IH 1, IC 2, OC 3, OH 4 = (IH - 3) / 2 + 1, OW 5.
pub(crate) fn conv() -> Program {
    let symbol = |name: &str| Dim { name: name.into(), derived: None };
    let oh = bin(Size::Add, bin(Size::FloorDiv, bin(Size::Sub, dim(1), lit(3)), lit(2)), lit(1));
    let iw = bin(Size::Add, bin(Size::Mul, lit(2), dim(5)), lit(1));
    let solve = |dim, tensor, axis| Solve { dim, tensor, axis, minus: lit(0), divide: lit(1) };
    let tensor = |name: &str, shape: Vec<Size>, role| Tensor {
        name: name.into(),
        dtype: DType::F32,
        shape,
        layout: None,
        strides: None,
        role,
    };
    Program {
        kernel: "conv2d".into(),
        variant: "FAST".into(),
        profile: "vulkan_1_1".into(),
        arguments: vec![Argument::Tensor(0), Argument::Tensor(1)],
        tensors: vec![
            tensor("input", vec![dim(0), dim(1), iw, dim(2)], Role::Input),
            tensor("filter", vec![lit(3), lit(3), dim(2), dim(3)], Role::Input),
            tensor("output", vec![dim(0), dim(4), dim(5), dim(3)], Role::Output),
        ],
        scalars: vec![],
        dims: vec![
            symbol("N"),
            symbol("IH"),
            symbol("IC"),
            symbol("OC"),
            Dim { name: "OH".into(), derived: Some(oh) },
            symbol("OW"),
        ],
        parameters: vec![("FH".into(), 3), ("FW".into(), 3), ("S".into(), 2)],
        solve: vec![
            solve(0, 0, 0),
            solve(1, 0, 1),
            solve(2, 0, 3),
            solve(3, 1, 3),
            Solve { dim: 5, tensor: 0, axis: 2, minus: lit(1), divide: lit(2) },
        ],
        facts: vec![Fact {
            text: "OW % 4 == 0".into(),
            condition: Condition::Sizes { left: bin(Size::FloorMod, dim(5), lit(4)), relation: Relation::Eq, right: lit(0) },
            needed: false,
        }],
        limits: vec![Limit {
            what: "`n * ih * 1024`".into(),
            least: lit(0),
            most: bin(Size::Mul, dim(0), bin(Size::Mul, dim(1), lit(1024))),
        }],
        dispatches: vec![],
        requires: Requires::default(),
        specialized: vec![],
        conversions: vec![],
        preparations: vec![],
    }
}
