//! Every kernel with its variants, as data for programs that time them: the variants, and default sizes.

mod convolutions;
mod elements;
mod products;
mod quantized;
mod transformers;

use std::sync::LazyLock;
use tilewright::{Kernel, Result, Variant};
use tilewright_launch::Program;

/// Looks up a dim or parameter by its name in the kernel.
pub type Dim<'a> = &'a dyn Fn(&str) -> f64;

/// A kernel with its variants.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// A description of the computation.
    pub about: &'static str,
    /// Its variants, compiled.
    pub programs: fn() -> Result<Vec<Program>>,
    /// The dims that the shapes of its inputs name, with their default values.
    pub dims: &'static [(&'static str, i64)],
    /// Returns the number of arithmetic operations for given dims. A multiply-add counts as two.
    pub operations: fn(Dim<'_>) -> f64,
}

/// Every kernel. Variants for another shape of problem have a separate entry.
pub static ALL: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    [convolutions::ENTRIES, products::ENTRIES, transformers::ENTRIES, elements::ENTRIES, quantized::ENTRIES].concat()
});

/// Returns the programs of variants.
fn programs<K: Kernel>(variants: &[Variant<K>]) -> Result<Vec<Program>> {
    variants.iter().map(Variant::program).collect()
}
