//! Tests that the verifier refuses broken nests: correct ones, each with one change.

mod masked;
mod pipeline;
mod promote;
mod running;
mod scratch;
