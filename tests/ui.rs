//! Programs that do not compile, each with rustc's whole output. A different error is a failure, and so is an additional one.
//!
//! Each program has its own file, because rustc needs only some hundredths of a second for it. `tests/ui/support` has the kernels and
//! profiles that are in other files than the schedules. `TRYBUILD=overwrite cargo test -p tilewright-tests --test ui` writes the current
//! errors, for review. `cargo test -p tilewright-tests --test ui compile_fail -- trybuild=vectorize` checks only some of the files.

#[test]
fn compile_fail() {
    let cases = trybuild::TestCases::new();
    for folder in [
        "kernel",
        "functions",
        "families",
        "profile",
        "head",
        "apply",
        "directives",
        "layouts",
        "promote",
        "compute_at",
        "mma",
        "fragment",
        "pipeline",
        "shared",
        "unsafe_code",
    ] {
        cases.compile_fail(format!("ui/{folder}/*.rs"));
    }
}
