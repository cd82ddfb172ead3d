//! What a run can be found guilty of, and how that is said.

use std::fmt;

/// A fault that a run of a module committed. The run stops at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Who did it.
    pub by: Invocation,
    /// What it did.
    pub kind: FaultKind,
    /// Where its instruction lies among the module's words, those that say lines among them.
    pub word: u32,
    /// Where it comes from, if the module says so (`OpLine`). Of a race it is one of the two accesses.
    pub place: Option<Place>,
}

/// A place in a source file, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as the module names it.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// An invocation of a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// `LocalInvocationId`.
    pub local: [u32; 3],
    /// `WorkgroupId`.
    pub workgroup: [u32; 3],
    /// The part of the dispatch, where its grid is cut into several.
    pub piece: Option<u32>,
}

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An atomic operation.
    Atomic,
}

impl Access {
    fn verb(self) -> &'static str {
        match self {
            Access::Read => "reads",
            Access::Write => "writes",
            Access::Atomic => "atomically accesses",
        }
    }
}

/// What was accessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Where it lies.
    pub space: Space,
    /// Its name in the algorithm or in the module, or its id.
    pub name: String,
    /// How many elements it has.
    pub elements: u64,
    /// The number of its first element in what it is named after, if it is a part of that: of registers.
    pub first: Option<u64>,
}

/// Where an object lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// A tensor in device memory.
    Tensor,
    /// Shared by a workgroup.
    Shared,
    /// An invocation's own.
    Register,
    /// The parameter block.
    Parameters,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.space {
            Space::Tensor => write!(f, "`{}`", self.name),
            Space::Shared => write!(f, "the shared array `{}`", self.name),
            Space::Register => write!(f, "the register `{}`", self.name),
            Space::Parameters => f.write_str("the parameter block"),
        }
    }
}

/// An element of an object: for tensors and shared arrays counted from 0, as they lie in memory; for the parameter block in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// The object.
    pub of: Object,
    /// Which of its elements; it may be out of bounds.
    pub index: i64,
}

impl Element {
    /// Whether it lies between elements of its tensor, if it is none.
    fn is_between(&self) -> bool {
        self.of.space == Space::Tensor && u64::try_from(self.index).is_ok_and(|index| index < self.of.elements)
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of.space {
            Space::Tensor | Space::Shared => write!(f, "{}[{}]", self.of, self.index),
            Space::Register if self.of.elements > 1 || self.of.first.is_some() => {
                write!(f, "{}[{}]", self.of, self.index.saturating_add_unsigned(self.of.first.unwrap_or(0)))
            }
            Space::Register => write!(f, "{}", self.of),
            Space::Parameters => write!(f, "{} at byte {}", self.of, self.index),
        }
    }
}

/// What an invocation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It went outside an object.
    OutOfBounds {
        /// Reading or writing.
        access: Access,
        /// Where.
        at: Element,
    },
    /// It read what nothing had written.
    Unwritten {
        /// Where.
        at: Element,
    },
    /// It and another one accessed an element, at least one of them writing, and nothing orders the two.
    Race {
        /// How it accessed it.
        access: Access,
        /// Where.
        at: Element,
        /// How the other one did, before.
        other_access: Access,
        /// The other one; `None` where all that is known is its workgroup.
        other: Invocation,
    },
    /// It stands at a barrier that others of its workgroup do not reach.
    Barrier {
        /// One that does not.
        absent: [u32; 3],
        /// How many reach it.
        reached: u32,
        /// How many should.
        of: u32,
        /// Whether only the invocations of a subgroup wait for each other.
        subgroup: bool,
    },
    /// It divided an integer by zero.
    DivisionByZero {
        /// What was divided.
        dividend: i64,
        /// The instruction's name.
        instruction: String,
    },
    /// It used a value that is undefined.
    Undefined {
        /// What is undefined.
        what: String,
    },
    /// It accessed memory at an address that is not a multiple of what the instruction promises.
    Misaligned {
        /// Reading or writing.
        access: Access,
        /// Where.
        at: Element,
        /// Bytes promised.
        alignment: u32,
    },
    /// It wrote what the launch program says is only read.
    ReadOnly {
        /// Where.
        at: Element,
    },
    /// It ran more instructions than it may.
    Endless {
        /// How many it may.
        instructions: u64,
    },
    /// It ran an instruction on cooperative matrices without all of its subgroup.
    Apart {
        /// The instruction's name.
        instruction: String,
        /// One that does not run it; `None`: the subgroup has too few invocations.
        absent: Option<[u32; 3]>,
        /// How many run it.
        reached: u32,
        /// How many should.
        of: u32,
    },
    /// It ran an instruction on cooperative matrices with an operand that is not the same in all of its subgroup.
    Differs {
        /// The instruction's name.
        instruction: String,
        /// What differs.
        operand: String,
        /// One for which it is another.
        other: [u32; 3],
    },
    /// It loaded or stored a cooperative matrix with a stride that cannot be.
    Stride {
        /// The instruction's name.
        instruction: String,
        /// The stride.
        bytes: i64,
        /// What it has to be a multiple of.
        alignment: u32,
    },
    /// It accessed an address where no buffer of its dispatch lies.
    Address {
        /// Reading or writing.
        access: Access,
        /// The address.
        address: u64,
    },
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invocation {:?} of workgroup {:?}", self.local, self.workgroup)?;
        self.piece.map_or(Ok(()), |n| write!(f, " (part {n} of the grid)"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.by)?;
        match &self.kind {
            FaultKind::OutOfBounds { access, at } if at.is_between() => {
                write!(f, "{} {at}, which lies between the elements of a view", access.verb())
            }
            FaultKind::OutOfBounds { access, at } => {
                let unit = if at.of.space == Space::Parameters { "bytes" } else { "elements" };
                write!(f, "{} {at}, which is out of bounds: there are {} {unit}", access.verb(), at.of.elements)
            }
            FaultKind::Unwritten { at } => write!(f, "reads {at}, which nothing has written"),
            FaultKind::Race { access, at, other_access, other } => {
                write!(f, "{} {at}, which {} ", access.verb(), Other(self.by, *other))?;
                f.write_str(other_access.verb())?;
                if self.by == *other {
                    f.write_str(
                        " too, with no barrier between the two: no order is promised among a subgroup's accesses to matrices",
                    )
                } else if (self.by.workgroup, self.by.piece) == (other.workgroup, other.piece) {
                    f.write_str(" too, with no barrier between the two")
                } else {
                    f.write_str(" too: nothing orders two workgroups of one dispatch")
                }
            }
            FaultKind::Barrier { absent, reached, of, subgroup } => {
                let team = if *subgroup { "its subgroup" } else { "the workgroup" };
                write!(f, "waits at a barrier that {reached} of the {of} invocations of {team} reach: not invocation {absent:?}")
            }
            FaultKind::DivisionByZero { dividend, instruction } => write!(f, "divides {dividend} by zero ({instruction})"),
            FaultKind::Undefined { what } => write!(f, "uses a value that is undefined: {what}"),
            FaultKind::Misaligned { access, at, alignment } => {
                write!(f, "{} {at}, which does not lie at a multiple of {alignment} bytes as the instruction says", access.verb())
            }
            FaultKind::ReadOnly { at } => write!(f, "writes {at}, which this dispatch only reads by its launch program"),
            FaultKind::Endless { instructions } => {
                write!(f, "has not ended after {instructions} instructions: a loop of it seems to have no end")
            }
            FaultKind::Apart { instruction, absent: Some(absent), reached, of } => {
                write!(
                    f,
                    "runs {instruction} with {reached} of the {of} invocations of its subgroup: not with invocation {absent:?}"
                )
            }
            FaultKind::Apart { instruction, absent: None, reached, of } => {
                write!(f, "runs {instruction} in a subgroup of {reached} invocations, where {of} are needed")
            }
            FaultKind::Differs { instruction, operand, other } => {
                write!(f, "runs {instruction} with another {operand} than invocation {other:?} of its subgroup")
            }
            FaultKind::Stride { instruction, bytes: 0, .. } => write!(f, "runs {instruction} with a stride of 0"),
            FaultKind::Stride { instruction, bytes, .. } if *bytes < 0 => {
                write!(f, "runs {instruction} with a stride of {bytes} bytes, which is negative")
            }
            FaultKind::Stride { instruction, bytes, alignment } => {
                write!(f, "runs {instruction} with a stride of {bytes} bytes, which is no multiple of {alignment}")
            }
            FaultKind::Address { access, address } => {
                write!(f, "{} the address {address:#x}, where no buffer of this dispatch lies", access.verb())
            }
        }?;
        let Some(Place { file, line, column }) = &self.place else { return Ok(()) };
        let which = if matches!(self.kind, FaultKind::Race { .. }) { "one of them is " } else { "" };
        write!(f, " ({which}{file}:{line}:{column})")
    }
}

/// The other party of a race, as seen by the one that is reported.
struct Other(Invocation, Invocation);

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Other(by, other) = self;
        if (by.workgroup, by.piece) == (other.workgroup, other.piece) {
            write!(f, "invocation {:?} of it", other.local)
        } else {
            write!(f, "{other}")
        }
    }
}

impl std::error::Error for Fault {}
