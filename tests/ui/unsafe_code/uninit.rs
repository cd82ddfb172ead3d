//! There are no tensors whose elements nobody wrote.
use tilewright::Device;

fn main() {
    let device = Device::open().expect("a device");
    let _ = device.uninit::<f32>([3]);
}
