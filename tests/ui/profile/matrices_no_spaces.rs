//! Sides without spaces.

tilewright::profile! {
    pub board: tilewright::devices::nvidia_ampere {
        matrices: [16x16x16 f16 f16 f32]
    }
}

fn main() {}
