//! Lints of memory accesses: neighbouring invocations that access distant elements, bank conflicts, and scalar accesses where wide
//! ones would be possible.

use super::{Advice, Edit, LintName, Look};
use std::collections::BTreeMap;
use tilewright_codegen::cost::{Apart, SubgroupAccess, touches};
use tilewright_dsl::diag::SpanId;
use tilewright_dsl::nest::{Program, Space};
use tilewright_dsl::syntax::schedule::{Directive, DirectiveKind};

/// The distance in bytes from which on neighbours count as far apart: the least that memory fetches at once.
const APART: i64 = 32;

/// The row paddings and swizzle group sizes, in elements, that are tried.
const STEPS: [u32; 5] = [1, 2, 4, 8, 16];

/// An argument of a copy that moves its rows to other banks.
struct Banks {
    argument: &'static str,
    number: i64,
    /// The turns that are left.
    left: u32,
}

/// True if neighbouring invocations access elements of device memory that are far apart.
pub(super) fn is_scattered(touch: &SubgroupAccess) -> bool {
    let apart = match touch.apart {
        Some(Apart::Rows) => true,
        Some(Apart::Bytes(n)) => n >= APART && n > i64::from(touch.bytes),
        None => false,
    };
    apart && !touch.shared
}

/// The number of turns that is not reported if no padding reduces it.
const FEW: u32 = 2;

impl Look<'_> {
    pub(super) fn memory(&mut self) {
        let figures = self.figures;
        if self.subject.profile.subgroup.is_some() {
            figures.touches.iter().for_each(|touch| self.uncoalesced(touch));
        }
        self.bank_conflicts(&figures.touches);
        let mut missing: BTreeMap<(&str, &str), &SubgroupAccess> = BTreeMap::new();
        for touch in figures.touches.iter().filter(|t| !t.shared) {
            if let Some(fact) = &touch.missing {
                missing.entry((&touch.buffer, fact)).or_insert(touch);
            }
        }
        for ((buffer, fact), touch) in missing {
            self.scalar(buffer, fact, touch);
        }
    }

    fn uncoalesced(&mut self, touch: &SubgroupAccess) {
        if !is_scattered(touch) {
            return;
        }
        let apart = match touch.apart {
            Some(Apart::Bytes(n)) => format!("{n} bytes apart"),
            _ => "a row apart".into(),
        };
        let verb = if touch.write { "write" } else { "read" };
        let what = format!("neighbouring invocations {verb} elements of `{}` that are {apart}", touch.buffer);
        let axis = touch.next.as_ref().map_or_else(|| "the last index".into(), |next| format!("`{}`", next.axis));
        // On a CPU, shared memory is not faster than the tensor.
        let can_copy = !self.subject.profile.cpu;
        let letters = self.exchanged_letters(touch);
        let mends = |(_, edit): &(String, Option<Edit>)| {
            edit.as_ref().is_some_and(|edit| self.is_coalesced_by(edit, &touch.buffer, touch.write))
        };
        let copies = || if can_copy { self.copied_together(touch) } else { Vec::new() };
        let found = letters.clone().filter(mends).or_else(|| copies().into_iter().find(mends));
        // If the letters cannot be exchanged, other accesses need the present neighbours.
        let neighbours = letters.is_none().then(|| format!("let neighbouring invocations have neighbouring values of {axis}"));
        let copy = can_copy.then(|| "copy what a workgroup needs to shared memory".to_owned());
        let general: Vec<String> = neighbours.into_iter().chain(copy).collect();
        if general.is_empty() && found.is_none() {
            return;
        }
        let advice = Advice::general(general.join(", or "));
        let advice = match found {
            Some((instead, edit)) => advice.or(instead, edit),
            None => advice,
        };
        self.note(LintName::Uncoalesced, touch.span, what, advice);
    }

    /// Returns the directive with other letters, if these make neighbouring invocations access neighbouring elements.
    fn exchanged_letters(&self, touch: &SubgroupAccess) -> Option<(String, Option<Edit>)> {
        let next = touch.next.as_ref().filter(|next| next.bound && next.span == touch.span)?;
        let is_next = |axis: &str| next.axis == axis || next.axis == format!("{axis}_thread");
        let new = self.exchanged(touch.span, is_next)?;
        Some((format!("write `{new};`"), self.edit(touch.span, new)))
    }

    /// Returns several ways to write a copy that a workgroup makes together, with its invocations along the rows.
    fn copied_together(&self, touch: &SubgroupAccess) -> Vec<(String, Option<Edit>)> {
        let Some(next) = &touch.next else { return Vec::new() };
        let name = self.fresh(&format!("{}_s", touch.buffer));
        let promote = |at: &str| format!("promote({} => {name}, at: {at}, to: shared)", touch.buffer);
        let (behind, more) = match (&next.outer, touch.write || next.bound) {
            (_, true) => (touch.span, promote("workgroup")),
            (Some((outer, made)), false) => (*made, promote(outer)),
            (None, false) => {
                let outer = self.fresh(&format!("{}_o", next.axis));
                (touch.span, format!("tile({}: 16 => {outer}); {}", next.axis, promote(&outer)))
            }
        };
        let Some(text) = self.text(behind) else { return Vec::new() };
        let texts = [format!("{text}; {more}"), format!("{more}; {text}")];
        texts.into_iter().map(|text| (format!("copy what a workgroup needs: `{more};`"), self.edit(behind, text))).collect()
    }

    /// Returns a name that neither the tensors nor the axes of the schedule have.
    fn fresh(&self, name: &str) -> String {
        let is_there = |name: &str| {
            self.nest.buffers.iter().any(|(_, buffer)| buffer.name == name)
                || self.nest.axes.iter().any(|(_, axis)| axis.name == name)
        };
        let numbered = (2..).map(|n| format!("{name}{n}"));
        [name.to_owned()].into_iter().chain(numbered).find(|name| !is_there(name)).unwrap_or_default()
    }

    /// Reports the access with the most turns of each buffer.
    fn bank_conflicts(&mut self, touches: &[SubgroupAccess]) {
        let mut worst: BTreeMap<&str, &SubgroupAccess> = BTreeMap::new();
        for touch in touches.iter().filter(|t| t.conflicts.is_some_and(|turns| turns > 1)) {
            let entry = worst.entry(&touch.buffer).or_insert(touch);
            if touch.conflicts > entry.conflicts {
                *entry = touch;
            }
        }
        for (buffer, touch) in worst {
            let turns = touch.conflicts.unwrap_or(1);
            let apart = self.other_banks(buffer, touch.made);
            if turns <= FEW && apart.is_none() {
                continue;
            }
            let (verb, matrices) = (if touch.write { "written" } else { "read" }, if touch.matrix { " as matrices" } else { "" });
            let what = format!("`{buffer}` is {verb}{matrices} in {turns} turns, because its rows share banks");
            let advice = Advice::general("let neighbouring invocations access neighbouring elements of a row");
            let advice = match apart {
                Some(Banks { argument, number, left }) => {
                    let left = if left > 1 { format!(", which leaves {left} turns") } else { String::new() };
                    let instead = format!("write `{argument}: {number}`{left}");
                    match self.with_argument(touch.made, argument, number) {
                        Some(new) => advice.or(instead, self.edit(touch.made, new)),
                        None => advice,
                    }
                }
                None => advice,
            };
            self.note(LintName::BankConflict, touch.made, what, advice);
        }
    }

    /// Returns the argument of a buffer's directive that leaves the fewest turns, if they are fewer than now. It is a padding of
    /// rows, or, if that leaves more turns, a swizzle of groups of elements.
    fn other_banks(&self, name: &str, made: SpanId) -> Option<Banks> {
        let (id, buffer) = self.nest.buffers.iter().find(|(_, b)| b.name == name && b.space == Space::Shared)?;
        let profile = &self.subject.profile;
        let own = |touch: &&SubgroupAccess| touch.shared && touch.buffer == name;
        let widest = |touch: &SubgroupAccess| if touch.matrix { 16 } else { i64::from(touch.bytes) };
        let mine = || self.figures.touches.iter().filter(own);
        let by = (mine().map(widest).max()? / self.nest.element_bytes(id, profile).max(1)).max(1);
        let turns = |row_pad: u32, swizzle: u32| {
            let mut other: Program = self.nest.clone();
            (other.buffers[id].row_pad, other.buffers[id].swizzle) = (row_pad, swizzle);
            let touches = touches(&other, profile).into_iter().nth(self.dispatch)?;
            touches.iter().filter(own).filter_map(|t| t.conflicts).max()
        };
        let row = buffer.shape.last().and_then(|n| self.nest.exprs.as_int(*n))?;
        let is_copy = matches!(self.directive(made)?.kind, DirectiveKind::Promote(_));
        let can_swizzle = is_copy && buffer.row_pad == 0 && !mine().any(|t| t.matrix);
        let steps = || STEPS.into_iter().filter(|n| i64::from(*n) % by == 0);
        let pads = steps().filter_map(|n| Some(Banks { argument: "row_pad", number: n.into(), left: turns(n, buffer.swizzle)? }));
        let groups = steps().filter(|n| can_swizzle && row % i64::from(*n) == 0 && row / i64::from(*n) % 2 == 0);
        let groups = groups.filter_map(|n| Some(Banks { argument: "swizzle", number: n.into(), left: turns(0, n)? }));
        let pads = pads.filter(|_| buffer.swizzle == 0);
        let best = pads.chain(groups).min_by_key(|b| b.left)?;
        (best.left < turns(buffer.row_pad, buffer.swizzle)?).then_some(best)
    }

    fn scalar(&mut self, buffer: &str, fact: &str, touch: &SubgroupAccess) {
        let span = if touch.copy { self.copied(buffer).unwrap_or(touch.span) } else { touch.span };
        let verb = if touch.write { "written" } else { "read" };
        // If the fact does not make the access wide, there is another reason for scalar access.
        if !self.widens(fact) {
            return;
        }
        let what = format!("`{buffer}` is {verb} element by element, because `{fact}` is not known");
        let specialize = format!("specialize({fact});");
        let instead = format!("write `where {fact}` in the header, or `{specialize}` for a separate version");
        let edit = self.subject.spans.locate(span).filter(|_| self.text(span).is_some());
        let edit = edit.map(|place| Edit { place, from: String::new(), to: format!("{specialize} ") });
        let advice = Advice::general(format!("write `where {fact}` in the header"));
        self.note(LintName::ScalarAccess, span, what, advice.or(instead, edit));
    }

    /// Returns the directive that copies a tensor.
    fn copied(&self, tensor: &str) -> Option<SpanId> {
        let is = |d: &&Directive| matches!(&d.kind, DirectiveKind::Promote(copy) if copy.source.text == tensor);
        self.directives().find(is).map(|directive| directive.span)
    }
}
