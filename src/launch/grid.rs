//! Splits grids so that they fit a device's limits.

/// A part of a grid: its first workgroup, and the number of its workgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) base: [u32; 3],
    pub(crate) groups: [u32; 3],
}

/// Splits a grid into parts that the device can dispatch. A grid without workgroups has no parts.
pub(crate) fn parts(grid: [u32; 3], limit: [u32; 3]) -> Vec<Part> {
    let [xs, ys, zs] = [0, 1, 2].map(|axis| cuts(grid[axis], limit[axis]));
    let mut parts = Vec::with_capacity(xs.len() * ys.len() * zs.len());
    for &(z, nz) in &zs {
        for &(y, ny) in &ys {
            parts.extend(xs.iter().map(|&(x, nx)| Part { base: [x, y, z], groups: [nx, ny, nz] }));
        }
    }
    parts
}

/// Returns the number of parts that [`parts`] splits a grid into.
pub(crate) fn count(grid: [u32; 3], limit: [u32; 3]) -> u64 {
    grid.into_iter().zip(limit).fold(1, |all, (n, limit)| all.saturating_mul(n.div_ceil(limit.max(1)).into()))
}

/// Splits `0..count` into pieces of at most `limit`, and returns the start and the length of each.
fn cuts(count: u32, limit: u32) -> Vec<(u32, u32)> {
    let limit = limit.max(1);
    (0..count).step_by(limit as usize).map(|base| (base, limit.min(count - base))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_within_the_limits_is_one_part() {
        assert_eq!(parts([7, 1, 2], [65535; 3]), [Part { base: [0; 3], groups: [7, 1, 2] }]);
    }

    #[test]
    fn an_empty_grid_has_no_parts() {
        assert_eq!(parts([7, 0, 2], [65535; 3]), []);
    }

    #[test]
    fn every_workgroup_is_in_one_part() {
        let parts = parts([5, 1, 4], [2, 9, 3]);
        assert_eq!(count([5, 1, 4], [2, 9, 3]), parts.len() as u64);
        assert_eq!(count([u32::MAX; 3], [1; 3]), u64::MAX);
        let mut seen = [0; 5 * 4];
        for p in &parts {
            assert!(p.groups[0] <= 2 && p.groups[2] <= 3);
            for x in p.base[0]..p.base[0] + p.groups[0] {
                for z in p.base[2]..p.base[2] + p.groups[2] {
                    seen[(x * 4 + z) as usize] += 1;
                }
            }
        }
        assert!(seen.iter().all(|&n| n == 1), "{parts:?}");
    }
}
