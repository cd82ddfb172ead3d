//! A library can do anything when it is loaded: naming one is unsafe.
use tilewright::Options;

fn main() {
    let _ = Options::new().library("/tmp/any.so");
}
