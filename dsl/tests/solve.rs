//! Tests the order in which a launch solves for dims.

use tilewright_dsl::diag::SpanId;
use tilewright_dsl::expr::{Binary, ExprId, Exprs};
use tilewright_dsl::launch::{DType, Size};
use tilewright_dsl::lower::solve::plan;
use tilewright_dsl::nest::{Argument, Buffer, Dim, DimId, Program, Space};

/// Returns a program with dims `a`, `b`, `c` and one input whose shape `f` builds from them.
fn with_shape(f: impl Fn(&mut Exprs, [ExprId; 3]) -> Vec<ExprId>) -> (Program, [DimId; 3]) {
    let mut p = Program::default();
    let dims = ["a", "b", "c"].map(|name| p.dims.push(Dim { name: name.into(), derived: None, span: SpanId::NONE }));
    let ids = dims.map(|d| p.exprs.dim(d));
    let shape = f(&mut p.exprs, ids);
    let buffer = Buffer {
        name: "x".into(),
        dtype: DType::F32,
        shape,
        space: Space::Input,
        row_pad: 0,
        swizzle: 0,
        versions: 1,
        span: SpanId::NONE,
    };
    let buffer = p.buffers.push(buffer);
    p.arguments.push(Argument::Tensor(buffer));
    (p, dims)
}

#[test]
fn affine_shapes_are_solved_in_the_order_that_makes_them_known() {
    // [a * b + 2 * a, a, 3 * c - b]
    let (p, _) = with_shape(|e, [a, b, c]| {
        let (ab, two, three) = (e.product(a, b), e.int(2), e.int(3));
        let (twice, thrice) = (e.product(two, a), e.product(three, c));
        vec![e.sum(ab, twice), a, e.difference(thrice, b)]
    });
    let solve = plan(&p).expect("all are determined");
    assert_eq!(solve.iter().map(|s| s.dim).collect::<Vec<_>>(), [0, 1, 2]);
    // a = 5, b = 4, c = 7: the shape is [30, 5, 17].
    let (shape, mut dims) = ([30, 5, 17], [0; 3]);
    for s in &solve {
        let (minus, divide) = (s.minus.eval(&dims).expect("known"), s.divide.eval(&dims).expect("known"));
        dims[s.dim as usize] = (shape[s.axis as usize] - minus) / divide;
    }
    assert_eq!(dims, [5, 4, 7]);
}

#[test]
fn a_quotient_or_a_product_of_unknowns_determines_nothing() {
    let (p, [_, b, c]) = with_shape(|e, [a, b, c]| {
        let two = e.int(2);
        vec![a, e.binary(Binary::FloorDiv, b, two), e.product(b, c)]
    });
    assert_eq!(plan(&p), Err(vec![b, c]));
}

#[test]
fn a_derived_dim_is_looked_through() {
    let (mut p, [a, ..]) = with_shape(|_, [a, b, c]| vec![a, b, c]);
    let (four, a_id) = (p.exprs.int(4), p.exprs.dim(a));
    let value = p.exprs.product(a_id, four);
    let derived = p.dims.push(Dim { name: "d".into(), derived: Some(value), span: SpanId::NONE });
    let shape = p.exprs.dim(derived);
    let id = p.buffers.ids().next().expect("one buffer");
    p.buffers[id].shape[0] = shape;
    let solve = plan(&p).expect("d determines a");
    assert!(solve.iter().any(|s| s.dim == 0 && s.divide == Size::Const(4)), "{solve:?}");
}
