//! Signs that dot products do not have.

tilewright::profile! {
    pub board: tilewright::devices::nvidia_ampere {
        fast_dots: [signed, sined]
    }
}

fn main() {}
