//! A program can be anything: loading one is unsafe.
use tilewright::Device;

fn main() {
    let device = Device::open().expect("a device");
    let _ = device.load_programs(Vec::new());
}
