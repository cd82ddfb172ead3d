//! Elements in and out of tensors: slices, bytes, `.npy` files that NumPy wrote, and arrays of the crate `ndarray`.
//!
//! Everything runs on the device that the environment selects and on the reference device, with and without staging buffers.

mod arrays;
mod bytes;
mod files;
mod slices;

use tilewright::{Device, Options};

/// Returns the tests' device, the same with staging buffers, and the reference device.
fn devices() -> [Device; 3] {
    let options = Options::from_env().expect("the environment is right").validation(true).cache(None);
    let open = |options: Options| options.open().expect("the tests need a Vulkan driver and its validation layers");
    [open(options.clone()), open(options.staging(true)), open(Options::new().device("reference"))]
}

fn text<T>(result: tilewright::Result<T>) -> String {
    match result {
        Ok(_) => panic!("it is refused"),
        Err(error) => error.to_string(),
    }
}
