//! Places in the file for values.

use crate::code::Slot;
use crate::words::{Result, unknown};
use std::collections::HashMap;

/// Words of the file, at most: each thread has one.
const MOST_WORDS: u32 = 1 << 26;

/// Where a value lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) at: Slot,
    pub(super) planes: u32,
    /// A row of lanes for each plane; else one word.
    pub(super) lanes: bool,
    /// Whether the slot serves others when the value has ended: it is no part of another's, and nothing is written there later.
    pub(super) owned: bool,
}

/// The file's words: which are taken.
pub(super) struct Slots {
    lanes: u32,
    top: u32,
    /// By length.
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

    /// Words that nothing had before.
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

    /// How many words were ever taken at once.
    pub(super) fn words(&self) -> u32 {
        self.top
    }
}
