//! A list of types without shapes.

tilewright::profile! {
    pub board: tilewright::devices::nvidia_ampere {
        matrices: [f16, f32]
    }
}

fn main() {}
