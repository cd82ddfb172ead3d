//! The picture: a row for each shown filter, with the map of the floats, the map of the bytes, and their difference.

use crate::filters::{COUNT, Filter};

/// The filters that are shown.
pub const SHOWN: [usize; 4] = [4, 8, 20, 31];
/// Pixels between tiles.
const GAP: usize = 2;
/// The factor of differences.
const ENLARGED: f32 = 32.0;

/// A grey image.
pub struct Sheet {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Row by row.
    pub bytes: Vec<u8>,
}

/// Returns the sheet of maps whose elements are (row, column, filter). Grey is 0 in differences, and in the maps of
/// filters that are differences. In the others, black is 0. White is the greatest number that a map of bytes has.
pub fn sheet([height, width]: [usize; 2], bank: &[Filter], maps: &[f32], restored: &[f32], scales: &[f32]) -> Sheet {
    let (full_width, full_height) = (3 * (width + GAP) + GAP, SHOWN.len() * (height + GAP) + GAP);
    let mut bytes = vec![0; full_width * full_height];
    for (row, filter) in SHOWN.into_iter().enumerate() {
        for (y, x) in (0..height * width).map(|n| (n / width, n % width)) {
            let at = (y * width + x) * COUNT + filter;
            let shade = |value: f32, has_both_signs: bool| {
                let steps = value / scales[filter];
                if has_both_signs { (128.0 + steps).round() as u8 } else { (2.0 * steps).round() as u8 }
            };
            let is_difference = bank[filter].is_difference();
            let shades = [
                shade(maps[at], is_difference),
                shade(restored[at], is_difference),
                shade((restored[at] - maps[at]) * ENLARGED, true),
            ];
            let place = (GAP + row * (height + GAP) + y) * full_width + GAP + x;
            shades.into_iter().enumerate().for_each(|(column, shade)| bytes[place + column * (width + GAP)] = shade);
        }
    }
    Sheet { width: full_width, height: full_height, bytes }
}
