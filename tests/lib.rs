//! The tests of the whole, a package of their own: who builds `tilewright` and its examples does not build what they need.

use std::path::Path;

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("/"))
}
