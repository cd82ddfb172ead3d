//! Places in the file for values.

use crate::code::Slot;
use std::collections::HashMap;

/// Where a value lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) at: Slot,
    pub(super) planes: u32,
    /// A row of lanes for each plane; else one word.
    pub(super) lanes: bool,
    /// Whether the slot is this value's, rather than a part of another's.
    pub(super) owned: bool,
}

/// The file's words: which are taken.
pub(super) struct Slots {
    lanes: u32,
    top: u64,
    /// By length.
    free: HashMap<u32, Vec<Slot>>,
}

impl Slots {
    pub(super) fn new(lanes: u32) -> Slots {
        Slots { lanes, top: 0, free: HashMap::new() }
    }

    pub(super) fn take(&mut self, planes: u32, lanes: bool) -> Value {
        let len = planes.saturating_mul(if lanes { self.lanes } else { 1 });
        let kept = self.free.get_mut(&len).and_then(Vec::pop);
        let at = kept.unwrap_or_else(|| self.fresh(planes, lanes));
        Value { at, planes, lanes, owned: true }
    }

    /// Words that nothing had before.
    pub(super) fn fresh(&mut self, planes: u32, lanes: bool) -> Slot {
        let at = self.top;
        self.top += u64::from(planes) * u64::from(if lanes { self.lanes } else { 1 });
        // Beyond 32 bits it is refused in the end.
        at as u32
    }

    pub(super) fn give(&mut self, value: Value) {
        let len = value.planes * if value.lanes { self.lanes } else { 1 };
        self.free.entry(len).or_default().push(value.at);
    }

    /// How many words were ever taken at once.
    pub(super) fn words(&self) -> u64 {
        self.top
    }
}
