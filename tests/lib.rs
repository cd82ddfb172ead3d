//! The tests of the whole project. They are a separate package so that building `tilewright` and its examples does not build their
//! dependencies.

use std::path::Path;

/// Returns the repository's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("/"))
}
