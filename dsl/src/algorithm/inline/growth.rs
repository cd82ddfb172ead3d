//! Limits the size of a value while it is built.

use crate::expr::{ExprId, Exprs};
use crate::table::Set;

/// Counts the parts of values, each once, up to a limit.
pub(super) struct Growth<'e> {
    pub(super) exprs: &'e Exprs,
    most: usize,
    seen: Set<ExprId>,
}

impl<'e> Growth<'e> {
    pub(super) fn new(exprs: &'e Exprs, most: usize) -> Growth<'e> {
        Growth { exprs, most, seen: Set::default() }
    }

    /// Counts an expression and its parts. Returns the expression, or `None` if the limit is exceeded.
    pub(super) fn add(&mut self, id: ExprId) -> Option<ExprId> {
        let mut open = vec![id];
        while let Some(part) = open.pop() {
            if self.seen.insert(part) {
                if self.seen.len() > self.most {
                    return None;
                }
                self.exprs.get(part).each_operand(&mut |operand| open.push(operand));
            }
        }
        Some(id)
    }
}
