//! From trees to the user's crate: what the macros expand to.
//!
//! # The chain
//! A schedule, its kernel and its profile stand in different files, perhaps of different crates, and a macro sees only
//! its own tokens. So every kernel and every profile is also a macro that hands its tokens on (a *carrier*, see
//! `carrier`):
//!
//! ```text
//! schedule!{ pub FAST: a::conv for b::board { … } }                reads its head's two paths
//! a::conv::__kernel!{ { …the schedule… } b::board::__profile }     the kernel's carrier adds the kernel's tokens
//! b::board::__profile!{ __compile schedule {…} kernel {…} }        the profile's carrier adds the profiles' tokens
//! __compile!{ schedule {…} kernel {…} profiles { {…} {…} } }       compiles, with every span still the user's own
//! ```
//!
//! `profile!` itself goes the same way once, through its base's carrier to `__define_profile!`: so a profile's carrier
//! holds all profiles that it extends, the root first, and paths are resolved where they are written.
//!
//! # Errors
//! `kernel!` and `profile!` check what they hold and report it, once. A wrong one's carrier does not carry its tokens:
//! schedules for it report nothing more and define a constant of the right type, so that the rest of the crate is still
//! checked. So it is with an item of which only the name can be read. What is wrong with a kernel only under a schedule's head is that
//! schedule's error; what is wrong with it under any is said once (`shared`).
//!
//! Tokens are [`proc_macro2`]'s throughout; the macros' crate turns them into the compiler's and back.

mod carrier;
mod default;
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
mod source;
mod tokens;
mod variant;

pub use kernel::kernel;
pub use profile::{bundled_profile, define_profile, not_a_profile, profile};
pub use schedule::{compile, not_a_kernel, schedule};

pub use crate::variant::Backend;
