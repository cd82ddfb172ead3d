//! The faults that a run can be stopped by, and their messages.

use std::fmt;

/// A fault that a module committed. The run stops at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The invocation that committed it.
    pub by: Invocation,
    /// The kind of fault.
    pub kind: FaultKind,
    /// The position of the instruction among the words of the module, including its line instructions.
    pub word: u32,
    /// The source position of the instruction, if the module has it (`OpLine`). For a race, it is the position of one of the two
    /// accesses.
    pub place: Option<SourcePosition>,
}

/// A position in a source file, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePosition {
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
    /// The part of the dispatch, if its grid is cut into several.
    pub piece: Option<u32>,
}

/// The direction of an access.
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

/// An object that was accessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The memory that it is in.
    pub space: Space,
    /// Its name in the algorithm or in the module, or its id.
    pub name: String,
    /// The number of its elements.
    pub elements: u64,
    /// For a part of a register, the number of its first element in the whole register.
    pub first: Option<u64>,
}

/// The memory of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// A tensor in device memory.
    Tensor,
    /// Memory that is shared by a workgroup.
    Shared,
    /// A register of a single invocation.
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

/// An element of an object. In tensors and shared arrays, elements are counted from 0 in memory order. In the parameter block,
/// bytes are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// The object.
    pub of: Object,
    /// The number of the element, which may be out of bounds.
    pub index: i64,
}

impl Element {
    /// True if the index is in range, so that the access is between the elements of a view.
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

/// The kind of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It accessed an object out of bounds.
    OutOfBounds {
        /// The direction of the access.
        access: Access,
        /// The element that was accessed.
        at: Element,
    },
    /// It read an element that was never written.
    Unwritten {
        /// The element that was read.
        at: Element,
    },
    /// It and another invocation accessed an element without an order between the two, and at least one of them wrote.
    Race {
        /// The direction of its access.
        access: Access,
        /// The element that was accessed.
        at: Element,
        /// The direction of the other, earlier access.
        other_access: Access,
        /// The other invocation. `None` if it is one of several of the same workgroup.
        other: Option<Invocation>,
    },
    /// It waits at a barrier that other invocations of its workgroup do not reach.
    Barrier {
        /// The `LocalInvocationId` of an invocation that does not reach it.
        absent: [u32; 3],
        /// The number of invocations that reach it.
        reached: u32,
        /// The number of invocations that must reach it.
        of: u32,
        /// True if only the invocations of a subgroup wait for each other.
        subgroup: bool,
    },
    /// It divided an integer by zero.
    DivisionByZero {
        /// The dividend.
        dividend: i64,
        /// The instruction's name.
        instruction: String,
    },
    /// It used a value that is undefined.
    Undefined {
        /// A description of the undefined value.
        what: String,
    },
    /// It accessed memory at an address that is less aligned than the instruction states.
    Misaligned {
        /// The direction of the access.
        access: Access,
        /// The element that was accessed.
        at: Element,
        /// The alignment that the instruction states, in bytes.
        alignment: u32,
    },
    /// It wrote to memory that is read-only according to the launch program.
    ReadOnly {
        /// The element that was written.
        at: Element,
    },
    /// It executed more instructions than its budget allows.
    Endless {
        /// The budget.
        instructions: u64,
    },
    /// It executed an instruction on cooperative matrices without all invocations of its subgroup.
    Apart {
        /// The instruction's name.
        instruction: String,
        /// The `LocalInvocationId` of an invocation that does not execute it. `None`: the subgroup has too few invocations.
        absent: Option<[u32; 3]>,
        /// The number of invocations that execute it.
        reached: u32,
        /// The number of invocations that must execute it.
        of: u32,
    },
    /// It executed an instruction on cooperative matrices with an operand that is not the same in its whole subgroup.
    Differs {
        /// The instruction's name.
        instruction: String,
        /// The name of the operand.
        operand: String,
        /// The `LocalInvocationId` of an invocation with a different operand.
        other: [u32; 3],
    },
    /// It loaded or stored a cooperative matrix with a stride that is not allowed.
    Stride {
        /// The instruction's name.
        instruction: String,
        /// The stride.
        bytes: i64,
        /// The number of bytes that the stride must be a multiple of.
        alignment: u32,
    },
    /// It accessed an address that is not in a buffer of its dispatch.
    Address {
        /// The direction of the access.
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
                write!(f, "{} {at}, which is between the elements of a view", access.verb())
            }
            FaultKind::OutOfBounds { access, at } => {
                let unit = if at.of.space == Space::Parameters { "bytes" } else { "elements" };
                write!(f, "{} {at}, which is out of bounds: there are {} {unit}", access.verb(), at.of.elements)
            }
            FaultKind::Unwritten { at } => write!(f, "reads {at}, which was never written"),
            FaultKind::Race { access, at, other_access, other: None } => {
                let verb = other_access.verb();
                write!(
                    f,
                    "{} {at}, which another invocation of the same workgroup {verb} too, with no barrier between the two",
                    access.verb()
                )
            }
            FaultKind::Race { access, at, other_access, other: Some(other) } => {
                write!(f, "{} {at}, which {} ", access.verb(), Other(self.by, *other))?;
                f.write_str(other_access.verb())?;
                if self.by == *other {
                    f.write_str(" too, with no barrier between the two: a subgroup's accesses to matrices are not ordered")
                } else if (self.by.workgroup, self.by.piece) == (other.workgroup, other.piece) {
                    f.write_str(" too, with no barrier between the two")
                } else {
                    f.write_str(" too: two workgroups of one dispatch are not ordered")
                }
            }
            FaultKind::Barrier { absent, reached, of, subgroup } => {
                let team = if *subgroup { "its subgroup" } else { "the workgroup" };
                write!(f, "waits at a barrier that {reached} of the {of} invocations of {team} reach: not invocation {absent:?}")
            }
            FaultKind::DivisionByZero { dividend, instruction } => write!(f, "divides {dividend} by zero ({instruction})"),
            FaultKind::Undefined { what } => write!(f, "uses a value that is undefined: {what}"),
            FaultKind::Misaligned { access, at, alignment } => {
                write!(f, "{} {at}, which is not at a multiple of {alignment} bytes as the instruction states", access.verb())
            }
            FaultKind::ReadOnly { at } => write!(f, "writes {at}, which this dispatch only reads according to its launch program"),
            FaultKind::Endless { instructions } => {
                write!(f, "has not ended after {instructions} instructions: one of its loops seems to be endless")
            }
            FaultKind::Apart { instruction, absent: Some(absent), reached, of } => {
                write!(
                    f,
                    "runs {instruction} with {reached} of the {of} invocations of its subgroup: not with invocation {absent:?}"
                )
            }
            FaultKind::Apart { instruction, absent: None, reached, of } => {
                write!(f, "runs {instruction} in a subgroup of {reached} invocations, but needs {of}")
            }
            FaultKind::Differs { instruction, operand, other } => {
                write!(f, "runs {instruction} with a different {operand} than invocation {other:?} of its subgroup")
            }
            FaultKind::Stride { instruction, bytes: 0, .. } => write!(f, "runs {instruction} with a stride of 0"),
            FaultKind::Stride { instruction, bytes, .. } if *bytes < 0 => {
                write!(f, "runs {instruction} with a stride of {bytes} bytes, which is negative")
            }
            FaultKind::Stride { instruction, bytes, alignment } => {
                write!(f, "runs {instruction} with a stride of {bytes} bytes, which is not a multiple of {alignment}")
            }
            FaultKind::Address { access, address } => {
                write!(f, "{} the address {address:#x}, which is not in a buffer of this dispatch", access.verb())
            }
        }?;
        let Some(SourcePosition { file, line, column }) = &self.place else { return Ok(()) };
        let which = if matches!(self.kind, FaultKind::Race { .. }) { "one of the two is " } else { "" };
        write!(f, " ({which}{file}:{line}:{column})")
    }
}

/// The other invocation of a race, named relative to the reported one.
struct Other(Invocation, Invocation);

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Other(by, other) = self;
        if (by.workgroup, by.piece) == (other.workgroup, other.piece) {
            write!(f, "invocation {:?} of the same workgroup", other.local)
        } else {
            write!(f, "{other}")
        }
    }
}

impl std::error::Error for Fault {}
