//! Programs that do not compile, each with all that rustc says about it: the wrong error is a failure, and so is one more.
//!
//! One program a file, so that each stands alone; rustc needs some hundredths of a second for one. `tests/ui/support` has the
//! kernels and profiles that stand in other files than the schedules. `TRYBUILD=overwrite cargo test -p tilewright-tests --test ui` writes what is
//! said now, for review; `cargo test -p tilewright-tests --test ui compile_fail -- trybuild=vectorize` looks at some of the files only.

#[test]
fn compile_fail() {
    let cases = trybuild::TestCases::new();
    for folder in [
        "kernel",
        "profile",
        "head",
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
