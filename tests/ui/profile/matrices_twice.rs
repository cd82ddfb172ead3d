//! Two rows alike.

tilewright::profile! {
    pub board: tilewright::devices::nvidia_ampere {
        matrices: [16 x 16 x 16 f16 f16 f32, 16 x 16 x 16 f16 f16 f32]
    }
}

fn main() {}
