//! How large a value becomes while it is made.

use crate::expr::{ExprId, Exprs};
use crate::table::Set;

/// Counts the parts of values, each once, up to a number.
pub(super) struct Growth<'e> {
    pub(super) exprs: &'e Exprs,
    most: usize,
    seen: Set<ExprId>,
}

impl<'e> Growth<'e> {
    pub(super) fn new(exprs: &'e Exprs, most: usize) -> Growth<'e> {
        Growth { exprs, most, seen: Set::default() }
    }

    /// Counts an expression with its parts, and gives it back; `None`: there are too many.
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
