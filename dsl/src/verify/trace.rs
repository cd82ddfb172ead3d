//! Traces a value to device memory: each read of local memory is replaced by the value that the memory holds, which is traced in turn.
//!
//! There are two sources of [`Contents`]. [`values::copies`](super::values::copies) takes what stages define, to compare the value with
//! a stage's. [`reductions::fills`](super::reductions::fills) takes what leaves store, because past the end of an axis a stage
//! defines nothing.

use crate::expr::{Expr, ExprId, Exprs, Read};
use crate::nest::BufferId;
use std::collections::HashMap;

/// The number of cases to consider. A buffer with several writers (a prologue and a loop) gives one case for each.
const MAX_CASES: usize = 16;

/// A traced value, and the conditions under which it has this form.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) item: ExprId,
    /// Further conditions that hold in this case.
    pub(super) given: Vec<ExprId>,
}

impl Case {
    /// Returns a value that has this form always.
    pub(super) fn always(item: ExprId) -> Case {
        Case { item, given: Vec::new() }
    }

    /// Returns the case that holds if another case holds, too.
    pub(super) fn and(mut self, given: &[ExprId]) -> Case {
        self.given.extend_from_slice(given);
        self
    }
}

/// The contents of local memory.
pub(super) trait Contents {
    /// The place where a value is computed.
    type At: Copy;

    /// True if the contents of a buffer can be known.
    fn is_known(&self, buffer: BufferId) -> bool;

    /// Returns the values that the element of a read can hold, one for each writer, each with the place where it is computed.
    fn held(&self, read: &Read, at: Self::At) -> Option<Vec<(Case, Self::At)>>;
}

/// Traces a value through at most `depth` buffers. Returns one case for each combination of writers, or `None` if there are too many.
pub(super) fn trace<C: Contents>(exprs: &Exprs, value: ExprId, at: C::At, contents: &C, depth: u32) -> Option<Vec<Case>> {
    let mut reads: Vec<Read> = Vec::new();
    exprs.any(value, &mut |e| {
        if let Expr::Read(read) = e
            && contents.is_known(read.buffer)
        {
            reads.push(read.clone());
        }
        false
    });
    let mut cases: Vec<(HashMap<&Read, ExprId>, Vec<ExprId>)> = vec![Default::default()];
    for read in &reads {
        // A read that cannot be traced stays, with an unknown value: the arm that contains it may not be selected.
        let Some(written) = written(exprs, read, at, contents, depth) else { continue };
        let with = |(items, given): &(HashMap<_, _>, Vec<_>), by: &Case| {
            let mut items = items.clone();
            items.insert(read, by.item);
            (items, [&given[..], &by.given].concat())
        };
        cases = cases.iter().flat_map(|case| written.iter().map(move |by| with(case, by))).collect();
        if cases.is_empty() || cases.len() > MAX_CASES {
            return None;
        }
    }
    let replaced = |items: &HashMap<&Read, ExprId>| match items.is_empty() {
        true => value,
        false => {
            exprs.replace(value, &mut |exprs, e| if let Expr::Read(read) = exprs.get(e) { items.get(read).copied() } else { None })
        }
    };
    Some(cases.into_iter().map(|(items, given)| Case { item: replaced(&items), given }).collect())
}

/// Returns the traced values that the element of a read can hold.
fn written<C: Contents>(exprs: &Exprs, read: &Read, at: C::At, contents: &C, depth: u32) -> Option<Vec<Case>> {
    let depth = depth.checked_sub(1)?;
    let mut cases = Vec::new();
    for (case, at) in contents.held(read, at)? {
        let traced = trace(exprs, case.item, at, contents, depth)?;
        cases.extend(traced.into_iter().map(|deeper| deeper.and(&case.given)));
    }
    (!cases.is_empty()).then_some(cases)
}
