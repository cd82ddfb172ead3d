//! A row of a type that is none.

tilewright::profile! {
    pub board: tilewright::devices::nvidia_ampere {
        matrices: [16 x 16 x 16 f16 f16 f64]
    }
}

fn main() {}
