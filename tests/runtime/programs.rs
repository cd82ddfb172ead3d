//! Launch programs made by hand.

use super::support::assemble;
use tilewright::DType;
use tilewright_launch::*;

pub fn dim(d: u32) -> Size {
    Size::Dim(d)
}

pub fn lit(n: i64) -> Size {
    Size::Const(n)
}

pub fn bin(op: fn(Box<Size>, Box<Size>) -> Size, a: Size, b: Size) -> Size {
    op(Box::new(a), Box::new(b))
}

/// Returns `n` divided by `by`, rounded up.
pub fn ceil_div(n: Size, by: i64) -> Size {
    bin(Size::FloorDiv, bin(Size::Add, n, lit(by - 1)), lit(by))
}

pub fn tensor(name: &str, dtype: DType, shape: Vec<Size>, role: Role) -> Tensor {
    Tensor { name: name.into(), dtype, shape, layout: None, strides: None, role }
}

pub fn symbol(name: &str) -> Dim {
    Dim { name: name.into(), derived: None }
}

pub fn solve(dim: u32, tensor: u32, axis: u32) -> Solve {
    Solve { dim, tensor, axis, minus: lit(0), divide: lit(1) }
}

pub fn fact(text: &str, left: Size, relation: Relation, right: i64) -> Fact {
    Fact { text: text.into(), condition: Condition::Sizes { left, relation, right: lit(right) }, needed: false }
}

fn read(tensor: u32) -> BufferUse {
    BufferUse { tensor, reads: true, writes: false, align: 4 }
}

fn write(tensor: u32) -> BufferUse {
    BufferUse { tensor, reads: false, writes: true, align: 4 }
}

/// The way in which a program accesses its buffers and parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    pub addressing: Addressing,
    pub spilled: bool,
}

/// All combinations.
pub const WAYS: [Way; 4] = [
    Way { addressing: Addressing::Address, spilled: false },
    Way { addressing: Addressing::Address, spilled: true },
    Way { addressing: Addressing::Descriptor, spilled: false },
    Way { addressing: Addressing::Descriptor, spilled: true },
];

/// Buffers by address, and parameters that are not spilled.
pub const PLAIN: Way = WAYS[0];

/// Returns one dispatch of `out = alpha * x + y` over the tensors with these indices.
fn axpy_dispatch(way: Way, x: u32, y: u32, out: u32) -> Dispatch {
    let words = match (way.addressing, way.spilled) {
        (Addressing::Address, false) => include_str!("kernels/axpy_address.spvasm"),
        (Addressing::Address, true) => include_str!("kernels/axpy_address_spilled.spvasm"),
        (Addressing::Descriptor, false) => include_str!("kernels/axpy_descriptor.spvasm"),
        (Addressing::Descriptor, true) => include_str!("kernels/axpy_descriptor_spilled.spvasm"),
    };
    let mut values = vec![];
    if way.addressing == Addressing::Address {
        values.extend([x, y, out].map(ParamValue::Address));
    }
    values.extend([ParamValue::Size(dim(0)), ParamValue::Scalar(0)]);
    let mut params = vec![];
    let mut offset = 0;
    for value in values {
        let bytes = value.bytes();
        params.push(Param { offset, value });
        offset += bytes;
    }
    Dispatch {
        name: "out".into(),
        spirv: assemble(words),
        lines: tilewright_launch::Lines::default(),
        grid: [ceil_div(dim(0), 64), lit(1), lit(1)],
        local: [64, 1, 1],
        buffers: vec![read(x), read(y), write(out)],
        addressing: way.addressing,
        params,
        param_bytes: offset,
        constants: vec![],
        spilled: way.spilled,
    }
}

fn requires(way: Way) -> Requires {
    let features = if way.addressing == Addressing::Address { vec![Feature::Address] } else { vec![] };
    Requires { features, invocations: 64, local: [64, 1, 1], ..Requires::default() }
}

/// `axpy(x: f32[N], y: f32[N], alpha: f32) -> out: f32[N]`, out = alpha * x + y.
pub fn axpy(way: Way) -> Program {
    Program {
        kernel: "axpy".into(),
        variant: "AXPY".into(),
        profile: "test".into(),
        arguments: vec![Argument::Tensor(0), Argument::Tensor(1), Argument::Scalar(0)],
        tensors: vec![
            tensor("x", DType::F32, vec![dim(0)], Role::Input),
            tensor("y", DType::F32, vec![dim(0)], Role::Input),
            tensor("out", DType::F32, vec![dim(0)], Role::Output),
        ],
        scalars: vec![Scalar { name: "alpha".into(), dtype: DType::F32 }],
        dims: vec![symbol("N")],
        parameters: vec![],
        solve: vec![solve(0, 0, 0)],
        facts: vec![],
        limits: vec![Limit { what: "the elements of `x`".into(), least: dim(0), most: dim(0) }],
        dispatches: vec![axpy_dispatch(way, 0, 1, 2)],
        requires: requires(way),
        specialized: vec![],
        conversions: vec![],
        preparations: vec![],
    }
}

/// [`axpy`], where the SPIR-V takes the tensors to be one element longer than they are.
pub fn axpy_past_the_end(way: Way) -> Program {
    let mut program = axpy(way);
    for param in &mut program.dispatches[0].params {
        if param.value == ParamValue::Size(dim(0)) {
            param.value = ParamValue::Size(bin(Size::Add, dim(0), lit(1)));
        }
    }
    program
}

/// `mirror(x: f32[N]) -> out: f32[N]` for multiples of 64: each 64 elements in reverse, through shared memory. Without a barrier, it has races.
pub fn mirror(has_barrier: bool) -> Program {
    let way = WAYS[2];
    let mut program = axpy(way);
    let is_kept = |line: &&str| has_barrier || !line.contains("OpControlBarrier");
    let words: Vec<&str> = include_str!("kernels/mirror.spvasm").lines().filter(is_kept).collect();
    (program.kernel, program.variant) = ("mirror".into(), "MIRROR".into());
    program.arguments = vec![Argument::Tensor(0)];
    program.tensors.remove(1);
    program.scalars.clear();
    program.requires.shared_bytes = 4 * 4096;
    let buffers = vec![read(0), write(1)];
    let dispatch = program.dispatches.remove(0);
    let spirv = assemble(&words.join("\n"));
    program.dispatches = vec![Dispatch { spirv, buffers, params: vec![], param_bytes: 0, ..dispatch }];
    program
}

/// [`axpy`] twice, through a temporary: out = alpha * (alpha * x + y) + y.
pub fn axpy_twice(way: Way) -> Program {
    let mut program = axpy(way);
    program.kernel = "axpy_twice".into();
    program.tensors.push(tensor("t", DType::F32, vec![dim(0)], Role::Temporary));
    program.dispatches = vec![axpy_dispatch(way, 0, 1, 3), axpy_dispatch(way, 3, 1, 2)];
    program.dispatches[0].name = "t".into();
    program
}

/// [`axpy`] nine times in a chain, through eight temporaries.
pub fn axpy_chain(way: Way) -> Program {
    let mut program = axpy(way);
    program.kernel = "axpy_chain".into();
    program.tensors.extend((0..8).map(|n| tensor(&format!("t{n}"), DType::F32, vec![dim(0)], Role::Temporary)));
    let chain = [0, 3, 4, 5, 6, 7, 8, 9, 10, 2];
    program.dispatches = chain.windows(2).map(|pair| axpy_dispatch(way, pair[0], 1, pair[1])).collect();
    program
}

/// `bump(x: f32[N], &mut y: f32[N], alpha: f32)`, y = alpha * x + y.
pub fn bump(way: Way) -> Program {
    let mut program = axpy(way);
    program.kernel = "bump".into();
    program.tensors.truncate(2);
    program.tensors[1].role = Role::Update;
    let mut dispatch = axpy_dispatch(way, 0, 1, 1);
    if way.addressing == Addressing::Address {
        dispatch.buffers = vec![read(0), BufferUse { tensor: 1, reads: true, writes: true, align: 4 }];
    }
    program.dispatches = vec![dispatch];
    program
}

/// `mark(&mut marks: u32[Y, X])`: adds 1 to each element, with one workgroup for each. `based` selects the axes of the grid that
/// take a base.
pub fn mark(based: [bool; 2]) -> Program {
    let base = |axis: u8| if based[usize::from(axis)] { ParamValue::GroupBase(axis) } else { ParamValue::Size(lit(0)) };
    let dispatch = Dispatch {
        name: "marks".into(),
        spirv: assemble(include_str!("kernels/mark.spvasm")),
        lines: tilewright_launch::Lines::default(),
        grid: [dim(1), dim(0), lit(1)],
        local: [1; 3],
        buffers: vec![BufferUse { tensor: 0, reads: true, writes: true, align: 4 }],
        addressing: Addressing::Address,
        params: vec![
            Param { offset: 0, value: ParamValue::Address(0) },
            Param { offset: 8, value: base(0) },
            Param { offset: 12, value: base(1) },
            Param { offset: 16, value: ParamValue::Size(dim(1)) },
        ],
        param_bytes: 24,
        constants: vec![],
        spilled: false,
    };
    Program {
        kernel: "mark".into(),
        variant: "MARK".into(),
        profile: "test".into(),
        arguments: vec![Argument::Tensor(0)],
        tensors: vec![tensor("marks", DType::U32, vec![dim(0), dim(1)], Role::Update)],
        scalars: vec![],
        dims: vec![symbol("Y"), symbol("X")],
        parameters: vec![],
        solve: vec![solve(0, 0, 0), solve(1, 0, 1)],
        facts: vec![],
        limits: vec![],
        dispatches: vec![dispatch],
        requires: Requires { features: vec![Feature::Address], invocations: 1, local: [1; 3], ..Requires::default() },
        specialized: vec![],
        conversions: vec![],
        preparations: vec![],
    }
}

/// `spin(&mut x: u32[N], times: u32)`: applies [`spun`] to each element, with one workgroup for each.
pub fn spin() -> Program {
    let dispatch = Dispatch {
        name: "x".into(),
        spirv: assemble(include_str!("kernels/spin.spvasm")),
        lines: tilewright_launch::Lines::default(),
        grid: [dim(0), lit(1), lit(1)],
        local: [1; 3],
        buffers: vec![BufferUse { tensor: 0, reads: true, writes: true, align: 4 }],
        addressing: Addressing::Address,
        params: vec![Param { offset: 0, value: ParamValue::Address(0) }, Param { offset: 8, value: ParamValue::Scalar(0) }],
        param_bytes: 12,
        constants: vec![],
        spilled: false,
    };
    Program {
        kernel: "spin".into(),
        variant: "SPIN".into(),
        profile: "test".into(),
        arguments: vec![Argument::Tensor(0), Argument::Scalar(0)],
        tensors: vec![tensor("x", DType::U32, vec![dim(0)], Role::Update)],
        scalars: vec![Scalar { name: "times".into(), dtype: DType::U32 }],
        dims: vec![symbol("N")],
        parameters: vec![],
        solve: vec![solve(0, 0, 0)],
        facts: vec![],
        limits: vec![],
        dispatches: vec![dispatch],
        requires: Requires { features: vec![Feature::Address], invocations: 1, local: [1; 3], ..Requires::default() },
        specialized: vec![],
        conversions: vec![],
        preparations: vec![],
    }
}

/// Returns the result of [`spin`] for a number. Its steps are combined, twice as many at a time.
pub fn spun(x: u32, mut times: u32) -> u32 {
    let (mut x, mut step) = (x, (1_664_525u32, 1_013_904_223u32));
    while times > 0 {
        let (a, c) = step;
        if times % 2 == 1 {
            x = x.wrapping_mul(a).wrapping_add(c);
        }
        step = (a.wrapping_mul(a), a.wrapping_mul(c).wrapping_add(c));
        times /= 2;
    }
    x
}
