//! A tensor that was not prepared where a prepared one is taken.

#[path = "../support/kernels.rs"]
mod kernels;

use kernels::matmul;
use tilewright::devices::vulkan_1_1;
use tilewright::{Device, schedule};

schedule! {
    pub PREPARED: matmul<T = f32> for vulkan_1_1 {
        pack(b[k, j] => [j / 4, k, j % 4], when: prepare);
    }
}

fn main() -> tilewright::Result<()> {
    let device = Device::open()?;
    let (a, b) = (device.zeros::<f32>([2, 3])?, device.zeros::<f32>([3, 4])?);
    let c = device.load(&[PREPARED])?.run((&a, &b))?;
    println!("{c:?}");
    Ok(())
}
