//! The compact form that runs: flat operations over a file of words.
//!
//! A slot is a range of the file. A divergent value has a row of lanes for each plane, one word for each invocation of the
//! workgroup; a uniform one has one word for each plane. What operates is told a length: all the same to it.

mod matrix;

pub(crate) use matrix::{Arrangement, Cooperation, Integer, MatrixAccess, MatrixOp, MulAdd, Product};

use crate::fault::Object;
use crate::form::Form;
use crate::lines::Lines;
use spirv::BuiltIn;

/// A place in the file.
pub(crate) type Slot = u32;

/// An operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Unary {
        op: Unary,
        dst: Slot,
        a: Slot,
        len: u32,
    },
    Binary {
        op: Binary,
        dst: Slot,
        a: Slot,
        b: Slot,
        len: u32,
    },
    Ternary {
        op: Ternary,
        dst: Slot,
        a: Slot,
        b: Slot,
        c: Slot,
        len: u32,
    },
    /// May be undefined: an index into [`Code::checks`].
    Checked(u32),
    Copy {
        dst: Slot,
        src: Slot,
        len: u32,
    },
    /// One word for each plane to a row of lanes for each.
    Broadcast {
        dst: Slot,
        src: Slot,
        planes: u32,
    },
    /// Rows of lanes, where lanes are active.
    Masked {
        dst: Slot,
        src: Slot,
        planes: u32,
    },
    /// That a register was written: an index into [`Code::written`].
    CheckWritten(u32),
    /// Indices into [`Code::accesses`].
    Load(u32),
    Store(u32),
    /// An index into [`Code::atomics`].
    Atomic(u32),
    /// An index into [`Code::groups`].
    Group(u32),
    /// An index into [`Code::barriers`].
    Barrier(u32),
    /// An index into [`Code::matrices`].
    Matrix(u32),
    /// Something undefined is used: an index into [`Code::undefined`].
    Undefined(u32),
}

/// How a block ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Jump(u32),
    /// On one word for all.
    Branch {
        condition: Slot,
        yes: u32,
        no: u32,
    },
    /// On a word in each lane.
    Divide {
        condition: Slot,
        yes: u32,
        no: u32,
    },
    /// An index into [`Code::switches`].
    Switch(u32),
    Return,
}

/// `f(a)`, word by word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    /// Rounds an f32 to a half.
    Half,
    /// Rounds an f32 to a half towards zero.
    HalfTowardsZero,
    /// Rounds an f32 to its upper half.
    Upper,
    /// What there is.
    Same,
    /// The lowest 8 bits, with zeros above or with their sign.
    LowByte,
    SignByte,
    /// An f32 from the low half of a word, and from the high one.
    LowHalf,
    HighHalf,
    FNegate,
    SNegate,
    Not,
    LogicalNot,
    SToF,
    UToF,
    IsNan,
    IsInf,
    FAbs,
    FSign,
    Floor,
    Ceil,
    Trunc,
    Round,
    RoundEven,
    Fract,
    Sqrt,
    InverseSqrt,
    Exp,
    Exp2,
    Log,
    Log2,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    SAbs,
    SSign,
    BitCount,
    BitReverse,
    /// The number of the highest bit that is 1, and of the lowest; -1 if there is none.
    HighestBit,
    LowestBit,
}

/// `f(a, b)`, word by word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    /// Two halves in a word.
    PackHalves,
    FAdd,
    FSub,
    FMul,
    FDiv,
    FRem,
    FMod,
    FMin,
    FMax,
    Pow,
    Atan2,
    Step,
    IAdd,
    ISub,
    IMul,
    SMin,
    SMax,
    UMin,
    UMax,
    And,
    Or,
    Xor,
    IEqual,
    INotEqual,
    SLess,
    SLessEqual,
    ULess,
    ULessEqual,
    LogicalEqual,
    FOrdEqual,
    FOrdNotEqual,
    FOrdLess,
    FOrdLessEqual,
    FUnordLess,
    FUnordLessEqual,
}

/// `f(a, b, c)`, word by word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ternary {
    Select,
    Fma,
    FMix,
    FClamp,
    SClamp,
    UClamp,
}

/// What has operands for which it is undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Partial {
    SDiv,
    UDiv,
    SRem,
    SMod,
    UMod,
    ShiftLeft,
    ShiftRight,
    ShiftRightSigned,
    FToS,
    FToU,
}

/// An operation that is checked in each active lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Check {
    pub(crate) op: Partial,
    pub(crate) dst: Slot,
    pub(crate) a: Slot,
    pub(crate) b: Slot,
    pub(crate) planes: u32,
    pub(crate) lanes: bool,
    /// Of 8 bits, not of 32.
    pub(crate) byte: bool,
    pub(crate) word: u32,
}

/// A register of which it must be looked at whether it was written: flags in the file say so.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) flags: Slot,
    pub(crate) lanes: bool,
    /// The planes that must be.
    pub(crate) planes: Vec<u32>,
    /// The first plane's number in its register.
    pub(crate) first: u32,
    /// An index into [`Code::objects`].
    pub(crate) object: u32,
    pub(crate) word: u32,
}

/// A load or a store.
#[derive(Clone, Debug)]
pub(crate) struct AccessInfo {
    pub(crate) root: Root,
    /// In bytes, or in planes for shared arrays and registers.
    pub(crate) offset: i64,
    pub(crate) terms: Box<[Term]>,
    /// Whether the place is another one in each lane.
    pub(crate) apart: bool,
    /// The first word of what is loaded or stored, and whether it has lanes.
    pub(crate) slot: Slot,
    pub(crate) lanes: bool,
    pub(crate) planes: Box<[Part]>,
    /// Bytes from the first part's beginning to the last one's end, or planes.
    pub(crate) extent: u32,
    /// Bytes.
    pub(crate) align: u32,
    /// No barrier orders it with what other invocations do.
    pub(crate) private: bool,
    pub(crate) word: u32,
}

/// A plane of what is loaded or stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Where it lies in what is accessed.
    pub(crate) offset: u32,
    /// Bytes, or 1 plane.
    pub(crate) size: u32,
    /// How it lies there, in bytes.
    pub(crate) form: Form,
    /// Whether anything is made of it.
    pub(crate) wanted: bool,
}

/// `index * stride`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term {
    pub(crate) index: Slot,
    pub(crate) lanes: bool,
    pub(crate) stride: u32,
    /// The index must be below.
    pub(crate) bound: Option<u32>,
}

/// What an access begins at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Root {
    /// A storage buffer by its binding.
    Binding(u32),
    /// An address in two words or rows.
    Address { slot: Slot, lanes: bool },
    /// The push constants.
    Params,
    /// The first plane of a shared array; an index into [`Code::objects`].
    Shared { first: u32, object: u32 },
    /// A register that is indexed at run time: an index into [`Code::registers`].
    Register(u32),
}

/// A register that is indexed as the module runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Register {
    pub(crate) slot: Slot,
    pub(crate) lanes: bool,
    /// Whether its planes were written, if that is not certain.
    pub(crate) flags: Option<Slot>,
    /// An index into [`Code::objects`].
    pub(crate) object: u32,
}

/// An atomic operation, lane by lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    /// Where: an index into [`Code::accesses`], whose slot takes what was there before.
    pub(crate) access: u32,
    pub(crate) op: AtomicOp,
    /// Rows of operands.
    pub(crate) value: Slot,
    pub(crate) comparator: Slot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicOp {
    Load,
    Store,
    Exchange,
    CompareExchange,
    ISub,
    Combine(Combine),
}

/// An operation over the active lanes of each subgroup.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) op: GroupOp,
    pub(crate) dst: Slot,
    pub(crate) a: Slot,
    /// The lane to read from, or how far away it is.
    pub(crate) b: Slot,
    pub(crate) planes: u32,
    /// Rounded to halves.
    pub(crate) half: bool,
    /// What is read from a lane that does not run: undefined, so that nobody takes it for a number.
    pub(crate) poison: u32,
    pub(crate) word: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupOp {
    Combine(Combine, Spread),
    /// Over so many lanes that stand together.
    Clustered(Combine, u32),
    Elect,
    All,
    Any,
    AllEqual,
    /// From another lane.
    Take(From),
    BroadcastFirst,
    /// Four words of bits: which lanes say yes.
    Ballot,
    /// The own bit of four words, or bit `b`.
    InverseBallot,
    BallotBit,
    /// How many bits of four words are set: in all lanes, up to the own, or before it.
    BallotCount(Spread),
    BallotFirst,
    BallotLast,
}

/// Which lane a value is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// The lane `b`, the same one in all.
    Broadcast,
    /// The lane `b`.
    Shuffle,
    /// The lane whose number differs in the bits of `b`.
    Xor,
    /// `b` lanes before, or after.
    Up,
    Down,
    /// Lane `b` of the own four.
    Quad,
    /// The neighbour across, down or diagonal in the own four, by `b`.
    QuadSwap,
    /// `b` lanes after, in a circle of so many.
    Rotate(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    IAdd,
    FAdd,
    IMul,
    FMul,
    SMin,
    UMin,
    FMin,
    SMax,
    UMax,
    FMax,
    And,
    /// Of truth values.
    LogicalAnd,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    Reduce,
    Inclusive,
    Exclusive,
}

/// A barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Barrier {
    /// Only the invocations of a subgroup wait for each other.
    pub(crate) subgroup: bool,
    /// Whose accesses to shared memory and to buffers it puts in order.
    pub(crate) shared: Order,
    pub(crate) global: Order,
    pub(crate) word: u32,
}

/// Between whom a barrier orders accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Nobody,
    Subgroup,
    Workgroup,
}

/// A block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) end: End,
    /// Instructions of the module.
    pub(crate) count: u32,
    /// Where its last one lies.
    pub(crate) word: u32,
}

/// A value that a workgroup begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    pub(crate) builtin: BuiltIn,
    pub(crate) slot: Slot,
    pub(crate) planes: u32,
    pub(crate) lanes: bool,
}

/// A selector and where each of its values leads.
#[derive(Clone, Debug)]
pub(crate) struct Switch {
    pub(crate) selector: Slot,
    pub(crate) lanes: bool,
    pub(crate) default: u32,
    pub(crate) cases: Vec<(u32, u32)>,
}

/// What runs.
#[derive(Debug, Default)]
pub(crate) struct Code {
    pub(crate) local: [u32; 3],
    pub(crate) lanes: u32,
    pub(crate) lines: Lines,
    pub(crate) ops: Vec<Op>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) checks: Vec<Check>,
    pub(crate) written: Vec<Written>,
    pub(crate) accesses: Vec<AccessInfo>,
    pub(crate) registers: Vec<Register>,
    pub(crate) atomics: Vec<Atomic>,
    pub(crate) groups: Vec<Group>,
    pub(crate) barriers: Vec<Barrier>,
    pub(crate) matrices: Vec<MatrixOp>,
    /// The numbers of elements in arrangements.
    pub(crate) places: Vec<u32>,
    pub(crate) switches: Vec<Switch>,
    pub(crate) undefined: Vec<(String, u32)>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) objects: Vec<Object>,
    /// The file as it is at first: with the constants.
    pub(crate) image: Vec<u32>,
    /// Flags that a workgroup begins without.
    pub(crate) flags: Vec<std::ops::Range<usize>>,
    /// Planes of shared memory.
    pub(crate) shared: u32,
}
