//! Bounds of scalars that the kernel or the schedule's header states: comparisons with numbers, which a launch checks.

use super::known::Known;
use super::{Program, ScalarId};
use crate::diag::SpanId;
use crate::launch::Relation;

/// A comparison of a scalar with a number.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The left side.
    pub scalar: ScalarId,
    /// How the sides compare.
    pub relation: Relation,
    /// The right side: a value of the scalar's type.
    pub value: f64,
    /// The comparison as text, the scalar first.
    pub text: String,
    /// The place in the user's file.
    pub span: SpanId,
    /// True if the algorithm needs the bound under every schedule, as for a [`super::Condition`].
    pub needed: bool,
}

impl Program {
    /// Returns the values that a scalar can have if a launch accepts the program.
    pub fn known_of_scalar(&self, scalar: ScalarId) -> Known {
        let dtype = self.scalars[scalar].dtype;
        let bounds = self.checks.bounds.iter().filter(|bound| bound.scalar == scalar);
        bounds.fold(Known::any(dtype), |known, bound| known.that_is(bound.relation, bound.value)).flushed(dtype)
    }

    /// True if a bound follows from the others.
    pub fn implies(&self, bound: &Bound) -> bool {
        let opposite = match bound.relation {
            Relation::Eq => Relation::Ne,
            Relation::Ne => Relation::Eq,
            Relation::Lt => Relation::Ge,
            Relation::Le => Relation::Gt,
            Relation::Gt => Relation::Le,
            Relation::Ge => Relation::Lt,
        };
        let known = self.known_of_scalar(bound.scalar);
        !known.can_be_nan() && known.that_is(opposite, bound.value).is_impossible()
    }
}
