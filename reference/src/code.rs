//! The compact form of a module that is executed: flat operations over a file of 32-bit words.
//!
//! A slot is a range of the file. A divergent value has a row of lanes for each plane, with one word for each invocation
//! of the workgroup. A uniform value has one word for each plane. Operations get a length, so that they need not
//! distinguish the two.

mod matrix;

pub(crate) use matrix::{Arrangement, Cooperation, Integer, MatrixAccess, MatrixOp, MulAdd, Product};

use crate::fault::Object;
use crate::field::Format;
use crate::form::Form;
use crate::lines::Lines;
use spirv::BuiltIn;

/// An index into the file.
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
    /// An operation that may be undefined: an index into [`Code::checks`].
    Checked(u32),
    Copy {
        dst: Slot,
        src: Slot,
        len: u32,
    },
    /// Copies one word for each plane to a row of lanes each.
    Broadcast {
        dst: Slot,
        src: Slot,
        planes: u32,
    },
    /// Copies rows of lanes, in active lanes only.
    Masked {
        dst: Slot,
        src: Slot,
        planes: u32,
    },
    /// Checks that a register was written: an index into [`Code::written`].
    CheckWritten(u32),
    /// A load or a store: an index into [`Code::accesses`].
    Load(u32),
    Store(u32),
    /// An atomic operation: an index into [`Code::atomics`].
    Atomic(u32),
    /// An operation over a subgroup: an index into [`Code::groups`].
    Group(u32),
    /// A barrier: an index into [`Code::barriers`].
    Barrier(u32),
    /// An operation on cooperative matrices: an index into [`Code::matrices`].
    Matrix(u32),
    /// A use of an undefined value: an index into [`Code::undefined`].
    Undefined(u32),
    /// A call of a function, whose operations follow: an index into [`Code::calls`].
    Call(u32),
}

/// The end of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Jump(u32),
    /// Branches on one word for all lanes.
    Branch {
        condition: Slot,
        yes: u32,
        no: u32,
    },
    /// Branches on a word in each lane.
    Divide {
        condition: Slot,
        yes: u32,
        no: u32,
    },
    /// A switch: an index into [`Code::switches`].
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
    /// Returns the operand.
    Same,
    /// Returns the bits of an f32.
    FloatBits,
    /// Extends 16 bits by zeros.
    WordOfShort,
    /// Keeps 16 bits, or 8, from a bit on.
    ShortAt(u8),
    ByteAt(u8),
    /// Extends the lowest 16 bits, or 8, by their sign.
    SignShort,
    SignByte,
    /// Converts the low or the high half of a word to an f32.
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
    /// Returns the number of the highest or lowest bit that is 1, or -1 if there is none.
    HighestBit,
    LowestBit,
}

/// `f(a, b)`, word by word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    /// Packs two halves into a word.
    PackHalves,
    /// Moves the first operand up by some bits, and places the second operand below it.
    Append(u8),
    /// The sum of the products of four bytes, which are signed or not in the first operand, and in the second one.
    Dot(bool, bool),
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

/// Operations that are undefined for some operands.
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
    /// True for 8-bit operands, false for 32-bit ones.
    pub(crate) byte: bool,
    pub(crate) word: u32,
}

/// A check that a register was written. Flags in the file record this.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) flags: Slot,
    pub(crate) lanes: bool,
    /// The planes that must have been written.
    pub(crate) planes: Vec<u32>,
    /// The number of the first plane in its register.
    pub(crate) first: u32,
    /// An index into [`Code::objects`].
    pub(crate) object: u32,
    pub(crate) word: u32,
}

/// A load or a store.
#[derive(Clone, Debug)]
pub(crate) struct AccessInfo {
    pub(crate) root: Root,
    /// The constant offset, in bytes, or in planes for shared arrays and registers.
    pub(crate) offset: i64,
    pub(crate) terms: Box<[Term]>,
    /// True if each lane accesses a place of its own.
    pub(crate) apart: bool,
    /// The first word of the value that is loaded or stored, and whether it has lanes.
    pub(crate) slot: Slot,
    pub(crate) lanes: bool,
    pub(crate) planes: Box<[Part]>,
    /// The size from the start of the first part to the end of the last one, in bytes or planes.
    pub(crate) extent: u32,
    /// The alignment in bytes.
    pub(crate) align: u32,
    /// True if no barrier orders it with the accesses of other invocations.
    pub(crate) private: bool,
    pub(crate) word: u32,
}

/// A plane of the value that is loaded or stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// The offset from the start of the access.
    pub(crate) offset: u32,
    /// The size in bytes, or 1 plane.
    pub(crate) size: u32,
    /// The form of a scalar in bytes.
    pub(crate) form: Form,
    /// True if the plane is used.
    pub(crate) wanted: bool,
}

/// `index * stride`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term {
    pub(crate) index: Slot,
    pub(crate) lanes: bool,
    pub(crate) stride: u32,
    /// The index must be less than this.
    pub(crate) bound: Option<u32>,
}

/// The start of an access.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Root {
    /// A storage buffer by its binding.
    Binding(u32),
    /// An address in two words or rows.
    Address { slot: Slot, lanes: bool },
    /// The push constants.
    Params,
    /// A shared array: its first plane, and an index into [`Code::objects`].
    Shared { first: u32, object: u32 },
    /// A register that is indexed at run time: an index into [`Code::registers`].
    Register(u32),
}

/// A register that is indexed as the module runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Register {
    pub(crate) slot: Slot,
    pub(crate) lanes: bool,
    /// Flags for each plane that was written, if that is not certain.
    pub(crate) flags: Option<Slot>,
    /// An index into [`Code::objects`].
    pub(crate) object: u32,
}

/// An atomic operation, lane by lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    /// The place: an index into [`Code::accesses`]. Its slot receives the previous value.
    pub(crate) access: u32,
    pub(crate) op: AtomicOp,
    /// The rows of the operands.
    pub(crate) value: Slot,
    pub(crate) comparator: Slot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicOp {
    Load,
    Store,
    Exchange,
    CompareExchange,
    Combine(Combine),
}

/// An operation over the active lanes of each subgroup.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) op: GroupOp,
    pub(crate) dst: Slot,
    pub(crate) a: Slot,
    /// The lane to read from, or its distance.
    pub(crate) b: Slot,
    pub(crate) planes: u32,
    /// True if results are rounded to halves.
    pub(crate) half: bool,
    /// The result of reading from an inactive lane. It is an unusual word, so that its use does not go unnoticed.
    pub(crate) poison: u32,
    pub(crate) word: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupOp {
    Combine(Combine, Spread),
    /// Over this many adjacent lanes.
    Clustered(Combine, u32),
    Elect,
    All,
    Any,
    AllEqual,
    /// From another lane.
    Take(From),
    BroadcastFirst,
    /// Returns four words of bits, with a bit for each lane whose operand is true.
    Ballot,
    /// Returns the lane's own bit of four words, or bit `b`.
    InverseBallot,
    BallotBit,
    /// Returns the number of bits of four words that are set: in all lanes, up to the own lane, or before it.
    BallotCount(Spread),
    BallotFirst,
    BallotLast,
}

/// The lane that a value is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// The lane `b`, which is the same in all lanes.
    Broadcast,
    /// The lane `b`.
    Shuffle,
    /// The lane whose number differs in the bits of `b`.
    Xor,
    /// The lane that is `b` lanes before, or after.
    Up,
    Down,
    /// Lane `b` of the own group of four.
    Quad,
    /// The horizontal, vertical or diagonal neighbour in the own group of four, selected by `b`.
    QuadSwap,
    /// The lane that is `b` lanes after, within a group of this many lanes that wraps around.
    Rotate(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    IAdd,
    ISub,
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
    /// Of booleans.
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
    /// True if only the invocations of a subgroup wait for each other.
    pub(crate) subgroup: bool,
    /// The invocations whose accesses to shared memory and to buffers it orders.
    pub(crate) shared: Order,
    pub(crate) global: Order,
    pub(crate) word: u32,
}

/// The invocations whose accesses a barrier orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Nobody,
    Subgroup,
    Workgroup,
}

/// A call of a function of floats.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The name of the function, without its type.
    pub(crate) name: String,
    pub(crate) dst: Slot,
    /// The rows of the operands, which have as many words as the result.
    pub(crate) operands: Vec<Slot>,
    pub(crate) len: u32,
    /// The number of operations that follow and that compute the same.
    pub(crate) count: u32,
}

/// A block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) end: End,
    /// The number of instructions in the module.
    pub(crate) count: u32,
    /// The position of the last instruction in the module.
    pub(crate) word: u32,
}

/// A built-in value that a workgroup begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    pub(crate) builtin: BuiltIn,
    pub(crate) slot: Slot,
    pub(crate) planes: u32,
    pub(crate) lanes: bool,
}

/// A selector, and the target of each of its values.
#[derive(Clone, Debug)]
pub(crate) struct Switch {
    pub(crate) selector: Slot,
    pub(crate) lanes: bool,
    pub(crate) default: u32,
    pub(crate) cases: Vec<(u32, u32)>,
}

/// A kernel in its executable form.
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
    pub(crate) calls: Vec<Call>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) objects: Vec<Object>,
    /// The initial contents of the file, with the constants.
    pub(crate) image: Vec<u32>,
    /// The ranges of the image that hold constants of floats, with their formats.
    pub(crate) floats: Vec<(std::ops::Range<usize>, Format)>,
    /// The flags that are cleared when a workgroup begins.
    pub(crate) flags: Vec<std::ops::Range<usize>>,
    /// The number of planes of shared memory.
    pub(crate) shared: u32,
}
