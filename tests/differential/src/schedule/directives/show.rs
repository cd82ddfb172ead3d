//! `show`.

use crate::schedule::nest::Nest;
use crate::schedule::tree::Directive;
use fastrand::Rng;

pub(super) fn propose(_: &mut Nest<'_>, _: &mut Rng) -> Option<Directive> {
    Some(Directive::new("show", []))
}
