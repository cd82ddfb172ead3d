//! `serial(i)`.

use crate::schedule::nest::Nest;
use crate::schedule::tree::Directive;
use fastrand::Rng;

pub(super) fn propose(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    let axis = random.choice(nest.plain_parallel())?;
    nest.axes[axis].serial = true;
    Some(Directive::new("serial", [nest.axes[axis].name.clone()]))
}
