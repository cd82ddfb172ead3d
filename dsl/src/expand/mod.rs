//! From trees to the user's crate: the expansions of the macros.
//!
//! # The chain
//! A schedule, its kernel and its profile are in different files, perhaps of different crates, and a macro sees only its own tokens. So
//! every kernel and every profile is also a macro that passes its tokens on (a *carrier*, see `carrier`):
//!
//! ```text
//! schedule!{ pub FAST: a::conv for b::board { … } }                reads its header's two paths
//! a::conv::__kernel!{ { …the schedule… } b::board::__profile }     the kernel's carrier adds the kernel's tokens
//! b::board::__profile!{ __compile schedule {…} kernel {…} }        the profile's carrier adds the profiles' tokens
//! __compile!{ schedule {…} kernel {…} profiles { {…} {…} } }       compiles, with every span still the user's own
//! ```
//!
//! `profile!` itself takes the same path once, through its base's carrier to `__define_profile!`. So a profile's carrier holds all profiles
//! that it extends, the root first, and paths are resolved in the file where they are written.
//!
//! A schedule that applies others, `apply c::TILES<R = 8>;`, first takes the way through their carriers, which add their tokens:
//!
//! ```text
//! c::TILES!{ { …the schedule… } "c::TILES" }                       a schedule's carrier has the schedule's name
//! __applied!{ { …the schedule… } "c::TILES" { …TILES… } }          puts them before the schedule's tokens
//! ```
//!
//! A kernel that imports functions, `use maths::cube;`, first takes the way through their carriers, too. So does `functions!`:
//!
//! ```text
//! maths::cube::__function!{ kernel { …the kernel… } "maths::cube" }   each function of `functions!` is also a macro
//! __imported!{ kernel { …the kernel… } "maths::cube" { …cube… } }     puts it before the kernel's tokens
//! ```
//!
//! # Errors
//! `kernel!` and `profile!` check their items and report errors once. The carrier of an item with errors does not carry its tokens.
//! Schedules for such an item report no further errors and define a constant of the right type, so that the rest of the crate is still
//! checked. The same holds for an item whose name is all that can be read. An error in a kernel that depends on a schedule's header is
//! reported in that schedule. An error that occurs under every header is reported once (`shared`).
//!
//! All tokens are [`proc_macro2`]'s. The crate `macros` converts them from and to the compiler's.

mod carrier;
mod default;
mod functions;
mod head;
mod items;
mod kernel;
mod link;
mod outputs;
mod packing;
mod profile;
mod schedule;
mod shared;
mod signature;
pub mod source;
pub mod tokens;
mod variant;

use crate::launch;
use crate::nest::Program;
use crate::profile::Profile;

pub use functions::{functions, imported, needed, not_a_function};
pub use kernel::kernel;
pub use profile::{bundled_profile, define_profile, not_a_profile, profile};
pub use schedule::{applied, compile, not_a_kernel, schedule};

pub use crate::variant::Backend;

/// A function that writes the cost of a variant for its documentation, from its nest, its launch program and its profile.
pub type Costs = fn(&Program, &launch::Program, &Profile) -> CostText;

/// The cost of a variant as text.
#[derive(Clone, Debug, Default)]
pub struct CostText {
    /// The lines of Markdown with which the documentation begins.
    pub summary: Vec<String>,
    /// The figures of every dispatch, which follow the ledger.
    pub figures: String,
}
