//! Each rule of the verifier, broken on purpose in a nest that is otherwise good; and what looks like a break and is none.

mod edit;
mod invocations;
mod loops;
mod matrices;
mod values;
mod versions;
