//! Matrices that are no list.

tilewright::profile! {
    pub board: tilewright::devices::nvidia_ampere {
        matrices: 16
    }
}

fn main() {}
