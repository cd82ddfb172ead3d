//! The contact sheet: every feature map as a grey tile, eight in a row.

use crate::filters::Filter;

const COLUMNS: usize = 8;
/// Pixels between tiles.
const GAP: usize = 2;
/// The share of the pixels that may be clipped, at each end of the scale.
const CLIPPED: f32 = 0.002;

/// A grey image.
pub struct Sheet {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Row by row.
    pub bytes: Vec<u8>,
}

/// Returns the sheet of maps of `height` by `width`, whose elements are (row, column, filter).
///
/// Each tile has its own scale. A filter that is a difference has 0 at mid-grey. The others range from the darkest to the brightest
/// pixel.
pub fn sheet(maps: &[f32], height: usize, width: usize, filters: &[Filter]) -> Sheet {
    let count = filters.len();
    let rows = count.div_ceil(COLUMNS);
    let (full_width, full_height) = (COLUMNS * (width + GAP) + GAP, rows * (height + GAP) + GAP);
    let mut bytes = vec![0; full_width * full_height];
    for (n, filter) in filters.iter().enumerate() {
        let map: Vec<f32> = maps.iter().skip(n).step_by(count).copied().collect();
        let (low, high) = range(&map, filter.is_difference());
        let (top, left) = (GAP + n / COLUMNS * (height + GAP), GAP + n % COLUMNS * (width + GAP));
        for (y, line) in map.chunks_exact(width).enumerate() {
            let start = (top + y) * full_width + left;
            let tile = bytes[start..start + width].iter_mut();
            tile.zip(line).for_each(|(byte, value)| *byte = ((value - low) / (high - low) * 255.0).round() as u8);
        }
    }
    Sheet { width: full_width, height: full_height, bytes }
}

/// Returns the values that become black and white.
fn range(map: &[f32], difference: bool) -> (f32, f32) {
    let mut sorted = map.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    let cut = (map.len() as f32 * CLIPPED) as usize;
    let (low, high) = (sorted[cut], sorted[sorted.len() - 1 - cut]);
    let (low, high) = if difference { (-high.abs().max(low.abs()), high.abs().max(low.abs())) } else { (low, high) };
    if high > low { (low, high) } else { (low - 0.5, low + 0.5) }
}
