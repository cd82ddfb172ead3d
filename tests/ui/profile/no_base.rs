//! A profile that extends nothing.

tilewright::profile! {
    pub board {
        invocations: 256,
    }
}

fn main() {}
