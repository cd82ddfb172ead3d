//! A tensor that is packed for another schedule.

#[path = "../support/kernels.rs"]
mod kernels;

use kernels::matmul;
use tilewright::devices::vulkan_1_1;
use tilewright::{Device, schedule};

schedule! {
    pub PACKED: matmul<T = f32> for vulkan_1_1 {
        pack(b[k, j] => [j / 4, k, j % 4], when: caller);
    }
}

schedule! {
    pub OTHER: matmul<T = f32> for vulkan_1_1 {
        pack(b[k, j] => [j / 8, k, j % 8], when: caller);
    }
}

fn main() -> tilewright::Result<()> {
    let device = Device::open()?;
    let (packed, other) = (device.load(&[PACKED])?, device.load(&[OTHER])?);
    let (a, b) = (device.zeros::<f32>([2, 3])?, device.zeros::<f32>([3, 4])?);
    let c = packed.run((&a, &other.pack_b(&b)?))?;
    println!("{c:?}");
    Ok(())
}
