//! Allocates slots in the file for values.

use crate::code::Slot;
use crate::words::{Result, unknown};
use std::collections::HashMap;

/// The maximal number of words in the file. Each thread has a file.
const MOST_WORDS: u32 = 1 << 26;

/// The slot of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) at: Slot,
    pub(super) planes: u32,
    /// True if each plane is a row of lanes, false if it is one word.
    pub(super) lanes: bool,
    /// True if the slot can be reused when the value ends. It is then not a part of another value's slot, and is not written
    /// later.
    pub(super) owned: bool,
}

/// The slots of the file that are in use or free.
pub(super) struct Slots {
    lanes: u32,
    top: u32,
    /// Free slots, by length.
    free: HashMap<u32, Vec<Slot>>,
}

impl Slots {
    pub(super) fn new(lanes: u32) -> Slots {
        Slots { lanes, top: 0, free: HashMap::new() }
    }

    pub(super) fn take(&mut self, planes: u32, lanes: bool) -> Result<Value> {
        let len = planes.saturating_mul(if lanes { self.lanes } else { 1 });
        let kept = self.free.get_mut(&len).and_then(Vec::pop);
        let at = kept.map_or_else(|| self.fresh(planes, lanes), Ok)?;
        Ok(Value { at, planes, lanes, owned: true })
    }

    /// Allocates words that were never used.
    pub(super) fn fresh(&mut self, planes: u32, lanes: bool) -> Result<Slot> {
        let at = self.top;
        let top = u64::from(at) + u64::from(planes) * u64::from(if lanes { self.lanes } else { 1 });
        match u32::try_from(top) {
            Ok(top) if top <= MOST_WORDS => self.top = top,
            _ => return unknown(format!("a module whose values take {top} words")),
        }
        Ok(at)
    }

    pub(super) fn give(&mut self, value: Value) {
        let len = value.planes * if value.lanes { self.lanes } else { 1 };
        self.free.entry(len).or_default().push(value.at);
    }

    /// Returns the number of words that were ever in use at once.
    pub(super) fn words(&self) -> u32 {
        self.top
    }
}
