//! Reductions that `accumulate` computes in another dtype. The verifier compares them with the algorithm's.

use super::Body;
use crate::diag::SpanId;
use crate::ids::StageId;

/// A reduction of integers that is computed in another dtype, which has all its partial results.
#[derive(Clone, Debug)]
pub struct Accumulated {
    /// The stage when its dtype was changed. `rfactor` may have split it since.
    pub stage: StageId,
    /// The reduction in the algorithm's dtype.
    pub declared: Body,
    /// The same reduction in the other dtype.
    pub body: Body,
    /// The directive.
    pub span: SpanId,
}
