//! The sum of a long vector, and where its highest element is.

use super::{Workload, programs};
use tilewright::devices::{mesa_lavapipe, nvidia_ampere};
use tilewright::{kernel, schedule};

kernel! {
    /// The sum of `x`.
    pub fn total<K>(x: f32[K]) -> y: f32[] {
        y[] = sum(k in 0..K) { x[k] };
    }
}

schedule! {
    /// Two dispatches: 16384 elements a workgroup of 64, four at a time; then one workgroup for the partial sums.
    pub TWO_DISPATCHES: total for mesa_lavapipe where K % 16384 == 0 {
        tile(k: 16384 => k_o);
        rfactor(k_o => part);
        part {
            distribute(k_o => workgroup(x));
            split(k, [_, 64, 4] => k_r, k_t, k_v);
            distribute(k_t => thread(x), by: tree);
            unroll(k_v);
        }
        tile(k_o: 64 => k_r);
        distribute(k_o => thread(x), by: tree);
    }
}

schedule! {
    /// The same, each workgroup's part by subgroup arithmetic.
    pub SUBGROUPS: total for mesa_lavapipe where K % 16384 == 0 {
        tile(k: 16384 => k_o);
        rfactor(k_o => part);
        part {
            distribute(k_o => workgroup(x));
            split(k, [_, 64, 4] => k_r, k_t, k_v);
            distribute(k_t => thread(x), by: subgroup);
            unroll(k_v);
        }
        tile(k_o: 64 => k_r);
        distribute(k_o => thread(x), by: subgroup);
    }
}

schedule! {
    /// One element of the result that all workgroups add to.
    pub ATOMIC: total for mesa_lavapipe where K % 16384 == 0 {
        tile(k: 16384) => workgroup(x), by: atomic;
        split(k, [_, 64, 4] => k_r, k_t, k_v);
        distribute(k_t => thread(x), by: subgroup);
        unroll(k_v);
    }
}

schedule! {
    /// Two dispatches of larger workgroups, for subgroups of 32.
    pub AMPERE: total for nvidia_ampere where K % 16384 == 0 {
        tile(k: 16384 => k_o);
        rfactor(k_o => part);
        part {
            distribute(k_o => workgroup(x));
            split(k, [_, 256, 4] => k_r, k_t, k_v);
            distribute(k_t => thread(x), by: subgroup);
            unroll(k_r, k_v);
        }
        tile(k_o: 256 => k_r);
        distribute(k_o => thread(x), by: subgroup);
    }
}

schedule! {
    /// One workgroup.
    pub ONE_WORKGROUP: total for mesa_lavapipe {
        tile(k: 64 => k_o);
        distribute(k => thread(x), by: tree);
    }
}

pub const SUM: Workload = Workload {
    name: "sum",
    about: "the sum of a vector",
    programs: || programs(&[TWO_DISPATCHES, SUBGROUPS, ATOMIC, AMPERE, ONE_WORKGROUP, total::DEFAULT]),
    dims: &[("K", 1 << 24)],
    operations: |dim| dim("K"),
};

kernel! {
    /// Where `x` is highest.
    pub fn peak<K>(x: f32[K]) -> y: i32[] {
        y[] = argmax(k in 0..K) { x[k] };
    }
}

schedule! {
    /// Two dispatches: 16384 elements a workgroup of 64, then one workgroup for the parts' highest.
    pub PEAK_TWO_DISPATCHES: peak for mesa_lavapipe where K % 16384 == 0 {
        tile(k: 16384 => k_o);
        rfactor(k_o => part);
        part {
            distribute(k_o => workgroup(x));
            split(k, [_, 64, 4] => k_r, k_t, k_v);
            distribute(k_t => thread(x), by: tree);
            unroll(k_v);
        }
        tile(k_o: 64 => k_r);
        distribute(k_o => thread(x), by: tree);
    }
}

pub const ARGMAX: Workload = Workload {
    name: "argmax",
    about: "where a vector is highest",
    programs: || programs(&[PEAK_TWO_DISPATCHES, peak::DEFAULT]),
    dims: &[("K", 1 << 24)],
    operations: |dim| dim("K"),
};
