//! The network: two dense layers, as one kernel.

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, profile, schedule};

kernel! {
    /// Classifies images of bytes from 0 to 16. The results are the logarithms of the probabilities of all classes, and the most probable class.
    pub fn classify<B, P, H, C>(
        images: u8[B, P],
        weight_1: f32[P, H],
        bias_1: f32[H],
        weight_2: f32[H, C],
        bias_2: f32[C],
    ) -> (log_probability: f32[B, C], class: i32[B]) where C >= 1 {
        let hidden[b, h]: f32[B, H] = (sum(p in 0..P) { images[b, p] as f32 / 16.0 * weight_1[p, h] } + bias_1[h]).max(0.0);
        let logit[b, c]: f32[B, C] = sum(h in 0..H) { hidden[b, h] * weight_2[h, c] } + bias_2[c];
        let peak[b]: f32[B] = max(c in 0..C) { logit[b, c] };
        let total[b]: f32[B] = sum(c in 0..C) { (logit[b, c] - peak[b]).exp() };
        log_probability[b, c] = logit[b, c] - peak[b] - total[b].ln();
        class[b] = argmax(c in 0..C) { logit[b, c] };
    }
}

profile! {
    /// Devices that load single bytes.
    pub bytes: vulkan_1_1 { features: [storage_8] }
}

schedule! {
    pub PLANNED: classify for bytes {}
}
