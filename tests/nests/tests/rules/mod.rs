//! Breaks each rule of the verifier in an otherwise correct nest. Also checks nests that only seem to break a rule.

mod edit;
mod invocations;
mod loops;
mod matrices;
mod values;
mod versions;
