//! Any device, any size.

use crate::kernel::conv2d;
use tilewright::devices::vulkan_1_1;
use tilewright::schedule;

schedule! {
    /// The planned schedule.
    pub PLAIN: conv2d<T = f32, S = 2> for vulkan_1_1 {}
}
