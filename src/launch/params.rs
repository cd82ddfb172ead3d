//! Parameter blocks: the bytes that a dispatch reads from push constants, or from a buffer if they do not fit there.

use tilewright_launch::{Dispatch, ParamValue, Size};

/// The values of a parameter block that are not sizes.
pub(crate) struct Sources<'a> {
    /// The address of each tensor.
    pub(crate) addresses: &'a [u64],
    /// The bits of each scalar.
    pub(crate) scalars: &'a [u32],
}

/// Returns the block of a validated dispatch with its sizes, and zeros for all else. `None` if a size does not fit 128 bits.
///
/// A size is stored as its low 32 bits. Where more bits would matter, a limit of the program has excluded sizes that need them.
pub(crate) fn sizes(dispatch: &Dispatch, dims: &[i64]) -> Option<Vec<u8>> {
    let mut bytes = vec![0; dispatch.param_bytes as usize];
    for param in &dispatch.params {
        if let ParamValue::Size(size) = &param.value {
            put(&mut bytes, param.offset, &low(size, dims)?.to_le_bytes());
        }
    }
    Some(bytes)
}

/// Returns the block with these sizes, for workgroups that begin at `base`.
pub(crate) fn block(dispatch: &Dispatch, sizes: &[u8], sources: &Sources<'_>, base: [u32; 3]) -> Vec<u8> {
    let mut bytes = sizes.to_vec();
    for param in &dispatch.params {
        let word = |from: &[u32], at: usize| from.get(at).copied().unwrap_or_default().to_le_bytes();
        match &param.value {
            ParamValue::Address(t) => {
                let address = sources.addresses.get(*t as usize).copied().unwrap_or_default();
                put(&mut bytes, param.offset, &address.to_le_bytes());
            }
            ParamValue::Scalar(s) => put(&mut bytes, param.offset, &word(sources.scalars, *s as usize)),
            ParamValue::GroupBase(axis) => put(&mut bytes, param.offset, &word(&base, usize::from(*axis))),
            ParamValue::Size(_) => {}
        }
    }
    bytes
}

/// Writes a value at an offset, if it fits.
fn put(bytes: &mut [u8], offset: u32, value: &[u8]) {
    let at = offset as usize;
    if let Some(place) = bytes.get_mut(at..at.saturating_add(value.len())) {
        place.copy_from_slice(value);
    }
}

/// Returns the values of a dispatch's specialization constants, which are sizes as in [`sizes`].
pub(crate) fn constants(dispatch: &Dispatch, dims: &[i64]) -> Option<Vec<u32>> {
    dispatch.constants.iter().map(|size| low(size, dims)).collect()
}

/// Returns the low 32 bits of a size.
fn low(size: &Size, dims: &[i64]) -> Option<u32> {
    size.eval_wide(dims).map(|value| value as u32)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{bin, dim, lit};
    use super::*;
    use tilewright_launch::{Addressing, Param};

    #[test]
    fn each_value_lies_at_its_offset() {
        let param = |offset, value| Param { offset, value };
        let dispatch = Dispatch {
            name: "d".into(),
            spirv: vec![],
            lines: tilewright_launch::Lines::default(),
            grid: [lit(1), lit(1), lit(1)],
            local: [1; 3],
            buffers: vec![],
            addressing: Addressing::Address,
            params: vec![
                param(0, ParamValue::Address(1)),
                param(8, ParamValue::Size(bin(Size::Sub, dim(0), lit(9)))),
                param(16, ParamValue::Scalar(0)),
                param(20, ParamValue::GroupBase(2)),
            ],
            param_bytes: 24,
            constants: vec![],
            spilled: false,
        };
        let sources = Sources { addresses: &[1, 0x1122_3344_5566_7788], scalars: &[0xAABB_CCDD] };
        let filled = |dim: i64, base: [u32; 3]| Some(block(&dispatch, &sizes(&dispatch, &[dim])?, &sources, base));
        let wanted = [
            &[0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xFE, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0][..],
            &[0xDD, 0xCC, 0xBB, 0xAA, 6, 0, 0, 0],
        ]
        .concat();
        assert_eq!(filled(7, [4, 5, 6]), Some(wanted));
        assert_eq!(filled((1 << 40) + 16, [0; 3]).map(|b| b[8..12].to_vec()), Some(vec![7, 0, 0, 0]));
    }
}
