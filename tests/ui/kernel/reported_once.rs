//! A wrong kernel reports once, however many schedules there are, and what names them has no further error.

use tilewright::devices::{arm_valhall, vulkan_1_1};

tilewright::kernel! {
    pub fn shift<T: f32 | f16, N>(x: T[N]) -> y: T[N] {
        y[i] = x[i + 1];
    }
}

tilewright::schedule! { pub A: shift<T = f32> for vulkan_1_1 {} }
tilewright::schedule! { pub B: shift<T = f32> for arm_valhall { tile(i: 64) => workgroup(x); distribute(i => thread(x)); } }

fn main() -> tilewright::Result<()> {
    let device = tilewright::Device::open()?;
    let shift = device.load(&[A, B])?;
    let x = device.upload([2], &[1.0f32, 2.0])?;
    let y: tilewright::Tensor<f32> = shift.run(&x)?;
    println!("{y:?}");
    Ok(())
}
