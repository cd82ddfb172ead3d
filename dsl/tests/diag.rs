//! Tests the positions that errors and debug information name.

use tilewright_dsl::diag::SourcePosition;

#[test]
fn places_say_nothing_of_the_machine() {
    let file = |name: &str| SourcePosition::new(name, 3, 5).map(|place| place.file);
    let is = |name: &str, wanted: &str| assert_eq!(file(name).as_deref(), Some(wanted), "{name}");
    is("schedules/src/hopper/products/sgemm.rs", "schedules/src/hopper/products/sgemm.rs");
    is("src/lib.rs", "src/lib.rs");
    is("/home/user/.cargo/registry/src/index-1/kernels-0.1.0/src/a/b.rs", "kernels-0.1.0/src/a/b.rs");
    is("/home/user/project/examples/conv2d/kernel.rs", "conv2d/kernel.rs");
    is("/src/lib.rs", "src/lib.rs");
    is("/lib.rs", "lib.rs");
    is("C:\\project\\kernels\\src\\lib.rs", "kernels/src/lib.rs");
    is("kernels\\src\\lib.rs", "kernels/src/lib.rs");
    for none in ["", "<anon>", "<parsed string 1>"] {
        assert_eq!(file(none), None, "{none}");
    }
    assert_eq!(SourcePosition::new("src/lib.rs", 1, 1), None, "rust-analyzer knows no places");
}
