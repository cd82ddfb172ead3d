// A kernel without a default schedule says why where the schedule is named.
use tilewright::Device;

tilewright::kernel! { pub fn open<T: f32 | f16, N>(x: T[N]) -> y: T[N] { y[i] = x[i]; } }
tilewright::kernel! { pub fn half<N>(x: f16[N]) -> y: f16[N] { y[i] = x[i] * 2.0; } }
tilewright::schedule! { pub PLAIN: open<T = f32> for tilewright::devices::vulkan_1_1 {} }

// The use of a wrong kernel adds no error.
tilewright::kernel! { pub fn wrong<N>(x: f32[N]) -> y: f32[N] { y[i] = z[i]; } }

fn main() -> tilewright::Result<()> {
    let device = Device::open()?;
    device.load(&[open::DEFAULT])?;
    device.load(&[PLAIN, open::DEFAULT])?;
    device.load(&[half::DEFAULT])?;
    device.load(&[wrong::DEFAULT])?;
    Ok(())
}
