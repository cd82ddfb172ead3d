//! Modules that check their own accesses, on any device.
//!
//! [`Checked::new`] takes the module of a dispatch and returns a module that computes the same, and compares each index with the bounds of
//! its array before it is used. An index out of bounds becomes 0, so that the access does no harm, and the first such access of an
//! invocation is reported when the invocation ends. On request, each access to shared memory is also recorded, so that races are found.
//! A report becomes the same [`Fault`](crate::Fault) as on the reference device, with the line of the schedule.
//!
//! ```text
//! words ── module, pointers ── rewrite ──▶ words, sites, spans ── a driver ──▶ record ── report ──▶ Fault
//! ```
//!
//! [`declare`] adds types and variables, [`bounds`] and [`matrix`] check indices, [`races`] records the accesses to shared memory, and
//! [`report`] has the layout of the record that the host reads. The host binds the record, and the memory for races, as two more storage
//! buffers in a descriptor set of their own ([`Checked::set`]).
//!
//! The control flow of the module stays as it was. An access out of bounds costs a comparison and some selections, so that loads can
//! still be moved together. Registers that were never written, divisions by zero and barriers that are not reached are not found: the
//! reference device finds these.

mod bounds;
mod declare;
mod matrix;
mod races;
mod report;
mod rewrite;

use crate::module::read;
use crate::words::{Result, instructions};
use report::{Site, Span};
use tilewright_launch::Dispatch;

pub use report::{Chunk, Tensor};

/// A module that checks its accesses.
#[derive(Clone, Debug)]
pub struct Checked {
    words: Vec<u8>,
    set: u32,
    sites: Vec<Site>,
    spans: Vec<Span>,
    local: [u32; 3],
    /// The words in which a workgroup records accesses to shared memory.
    group_words: u32,
    clock: races::Clock,
}

impl Checked {
    /// Adds checks to the module of a dispatch, for subgroups of a size and with the values of its specialization constants by `SpecId`.
    /// With `races`, accesses to shared memory are recorded.
    ///
    /// Returns an error if the module has instructions that the reference device does not know, or that cannot be checked.
    pub fn new(dispatch: &Dispatch, subgroup: u32, constants: &[u32], races: bool) -> Result<Checked> {
        let words = dispatch.words_with_lines();
        let module = read(&words, constants, subgroup.max(1))?;
        let (_, insts) = instructions(&words)?;
        rewrite::rewrite(&words, &module, &insts, (dispatch, subgroup.max(1)), races)
    }

    /// Returns the module's little-endian words.
    pub fn words(&self) -> &[u8] {
        &self.words
    }

    /// Returns the number of the descriptor set of the checks. Binding 0 is the record, and binding 1 the memory for races.
    pub fn set(&self) -> u32 {
        self.set
    }

    /// Returns the bytes of memory for races that each workgroup of a chunk needs, all zero. 0 if no shared memory is recorded.
    pub fn group_bytes(&self) -> u64 {
        4 * u64::from(self.group_words)
    }
}
