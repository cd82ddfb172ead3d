//! The bars in tables.

/// The characters of the longest bar.
const LENGTH: usize = 20;

/// Returns the bar of a share from 0 to 1, in eighths of a character.
pub(crate) fn bar(share: f64) -> String {
    const PARTS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (share.clamp(0.0, 1.0) * (LENGTH * 8) as f64).round() as usize;
    let rest = (eighths % 8).checked_sub(1).and_then(|n| PARTS.get(n));
    "█".repeat(eighths / 8).chars().chain(rest.copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_grow_by_eighths() {
        assert_eq!((bar(0.0), bar(1.0), bar(7.0)), (String::new(), "█".repeat(20), "█".repeat(20)));
        assert_eq!(bar(0.5), "█".repeat(10));
        assert_eq!(bar(1.0 / 160.0), "▏");
        assert_eq!(bar(15.0 / 160.0), "█▉");
        assert_eq!(bar(f64::NAN), "");
    }
}
