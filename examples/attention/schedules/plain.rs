//! The algorithm as it is written: scores, maxima, totals and output one after another.

use crate::kernel::attention;
use tilewright::devices::vulkan_1_1;
use tilewright::schedule;

schedule! {
    /// The planned schedule: four dispatches, and the scores and weights of all pairs of pixels in memory.
    pub PLAIN: attention for vulkan_1_1 {}
}
