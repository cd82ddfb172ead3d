//! Pipelines: checks that each read of a prefetched copy gets the elements of its own step, and all of them.
//!
//! The one-iteration loop around a fetch names the step that it fetches for. The check simulates the accesses of the copy and of its
//! registers in order: before the loop, then one iteration. It tracks which step each version and the registers hold, relative to the
//! current step. The state at the end of an iteration, moved on by one step, must be the state at its start, so that it holds in every
//! iteration.
//!
//! `values` checks that a version holds the elements of its step; there, a store counts as the element that its registers hold. `hazards`
//! checks the barriers.

use crate::diag::Error;
use crate::nest::{AxisId, BufferId, Exec, Made, NodeKind, Pipelined, Step};
use crate::verify::Rule;
use crate::verify::context::Checks;
use crate::verify::site::{Site, SiteAccess};
use std::collections::BTreeMap;

/// The steps that the registers and versions hold, as far as they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    registers: Option<i64>,
    /// The step of each version. Versions are numbered relative to the version of the current step.
    versions: BTreeMap<i64, i64>,
}

/// The effect of an access on the held steps.
enum Action {
    /// Fills the registers for a step.
    Fetch(i64),
    /// Stores the registers to a version.
    Store(i64),
    /// Fills a version for a step.
    Fill(i64, i64),
    /// Reads a version.
    Read(i64),
}

/// A pipeline that lowering has made.
struct Pipeline<'v> {
    of: &'v Pipelined,
    made: Made,
    registers: Option<BufferId>,
}

/// An access in a pipeline.
type Access<'v> = (&'v Site<'v>, &'v SiteAccess);

impl<'v> Checks<'v> {
    /// Checks all pipelines.
    pub(in crate::verify) fn steps(&self) {
        for of in &self.program.notes.pipelines {
            let Some(made) = of.made else { continue };
            let registers = made.registers.map(|stage| self.program.stages[stage].buffer);
            let pipeline = Pipeline { of, made, registers };
            let accesses: Vec<Access<'v>> =
                self.sites.iter().flat_map(|site| site.touches.iter().map(move |touch| (site, touch))).collect();
            let is_own = |(_, touch): &Access<'v>| touch.buffer == of.copy || Some(touch.buffer) == registers;
            let own: Vec<Access<'v>> = accesses.into_iter().filter(is_own).collect();
            if !own.is_empty() {
                self.pipeline(&pipeline, &own);
            }
        }
    }

    /// True if a buffer is prefetched: it is the copy or the registers of a pipeline.
    pub(in crate::verify) fn is_pipelined(&self, buffer: BufferId) -> bool {
        self.program.notes.pipelines.iter().filter(|p| p.made.is_some()).any(|p| {
            let registers = p.made.and_then(|made| made.registers).map(|stage| self.program.stages[stage].buffer);
            p.copy == buffer || registers == Some(buffer)
        })
    }

    /// The versions of a buffer that its pipeline makes. Any other buffer has one.
    pub(super) fn versions_made(&self, buffer: BufferId) -> u32 {
        self.program.pipeline_of(buffer).filter(|p| p.made.is_some()).map_or(1, |p| p.buffers)
    }

    fn pipeline(&self, pipeline: &Pipeline<'v>, accesses: &[Access<'v>]) {
        let mut actions: Vec<(bool, Action, Access<'v>)> = Vec::new();
        for (n, (site, touch)) in accesses.iter().enumerate() {
            let is_inside = site.binds(pipeline.of.axis);
            if !is_inside && accesses[..n].iter().any(|(earlier, _)| earlier.binds(pipeline.of.axis)) {
                return self.wrong_step(site, touch, "comes after the steps");
            }
            if self.runs_apart(pipeline, accesses, n) {
                let what = "is nested in a loop inside the steps, or in another loop over the steps";
                return self.wrong_step(site, touch, what);
            }
            match self.action(pipeline, (*site, *touch), is_inside) {
                // A store that reads the registers and writes the copy is one action.
                Ok(Some(action)) => actions.push((is_inside, action, (*site, *touch))),
                Ok(None) => {}
                Err(what) => return self.wrong_step(site, touch, what),
            }
        }
        let mut held = Held { registers: None, versions: BTreeMap::new() };
        for (_, action, access) in actions.iter().filter(|(is_inside, ..)| !is_inside) {
            if !self.acts(pipeline, action, *access, &mut held, true) {
                return;
            }
        }
        let inside = || actions.iter().filter(|(is_inside, ..)| *is_inside);
        // The steps held at the beginning of each iteration.
        let mut at_start = held;
        loop {
            let mut held = at_start.clone();
            for (_, action, access) in inside() {
                self.acts(pipeline, action, *access, &mut held, false);
            }
            let kept = at_start.kept(&held.later(pipeline.of.buffers));
            if kept == at_start {
                break;
            }
            at_start = kept;
        }
        for (_, action, access) in inside() {
            if !self.acts(pipeline, action, *access, &mut at_start, true) {
                return;
            }
        }
        self.covers_steps(pipeline, accesses);
    }

    /// True if an access does not run exactly once per step, because of a loop around it and another access of the pipeline, or a loop that
    /// may not run.
    fn runs_apart(&self, pipeline: &Pipeline<'v>, accesses: &[Access<'v>], n: usize) -> bool {
        let (site, touch) = accesses[n];
        let Some(life) = site.life(touch.buffer) else { return true };
        let is_step = |axis: AxisId| axis == pipeline.of.axis || axis == pipeline.made.step;
        let is_plain = |exec: Exec| matches!(exec, Exec::Serial | Exec::Unroll);
        let around = accesses.iter().filter(|(other, _)| touch.writes && !std::ptr::eq(*other, site)).any(|(other, _)| {
            let common = &site.around[life..site.common(other).max(life)];
            common.iter().any(|around| matches!(&around.node.kind, NodeKind::Loop(l) if is_plain(l.exec) && !is_step(l.axis)))
        });
        let own = || site.loops_from(life).filter(|l| !is_step(l.axis) && is_plain(l.exec));
        let steps = |site: &Site<'v>| -> Option<usize> {
            let over = |node: &NodeKind| matches!(node, NodeKind::Loop(l) if l.axis == pipeline.of.axis);
            site.around.iter().find(|around| over(&around.node.kind)).map(|around| std::ptr::from_ref(around.node) as usize)
        };
        let first = accesses.iter().find_map(|(site, _)| steps(site));
        let is_of_other = steps(site).is_some_and(|own| Some(own) != first);
        let is_outside = site.loops().take_while(|l| l.axis != pipeline.of.axis).count() < loops_before(site, life);
        around || is_of_other || is_outside || (touch.writes && own().any(|l| self.literal(l.axis).is_none_or(|n| n < 1)))
    }

    /// Returns the effect of an access.
    fn action(&self, pipeline: &Pipeline<'v>, (site, touch): Access<'v>, is_inside: bool) -> Result<Option<Action>, &'static str> {
        let reads_registers = || site.touches.iter().any(|t| !t.writes && Some(t.buffer) == pipeline.registers);
        if Some(touch.buffer) == pipeline.registers {
            return match touch.writes {
                true => self.step_of(pipeline, site, is_inside).map(|step| Some(Action::Fetch(step))),
                false if site.touches.iter().any(|t| t.writes && t.buffer == pipeline.of.copy) => Ok(None),
                false => Err("reads fetched elements, but does not store them"),
            };
        }
        let version = self.version_of(pipeline, touch, is_inside).ok_or("does not select its version by the step")?;
        match (touch.writes, reads_registers()) {
            // If the loop has no steps, nothing was fetched before this store.
            (true, true) if !is_inside && self.step_of(pipeline, site, is_inside).is_err() => {
                Err("may store elements that were not fetched")
            }
            (true, true) => Ok(Some(Action::Store(version))),
            (true, false) => self.step_of(pipeline, site, is_inside).map(|step| Some(Action::Fill(version, step))),
            (false, _) if !is_inside => Err("reads it outside the loop over the steps"),
            (false, _) => Ok(Some(Action::Read(version))),
        }
    }

    /// Returns the step that a leaf fetches for, relative to the current step.
    fn step_of(&self, pipeline: &Pipeline<'v>, site: &Site<'v>, is_inside: bool) -> Result<i64, &'static str> {
        match site.exec(pipeline.made.step) {
            Some(Exec::Step(Step::First(n))) if !is_inside => Ok(n.into()),
            Some(Exec::Step(Step::Ahead(of, n))) if is_inside && of == pipeline.of.axis => Ok(n.into()),
            _ => Err("does not name the step that it is for"),
        }
    }

    /// Returns the version that an access uses, relative to the version of the current step.
    fn version_of(&self, pipeline: &Pipeline<'v>, touch: &SiteAccess, is_inside: bool) -> Option<i64> {
        if pipeline.of.buffers < 2 {
            return Some(0);
        }
        let mut sum = self.sum(*touch.index.first()?);
        let counted = sum.axes.remove(&pipeline.of.axis).unwrap_or(0);
        let is_counted = sum.is_constant() && counted == i64::from(is_inside);
        is_counted.then(|| sum.constant.rem_euclid(pipeline.of.buffers.into()))
    }

    /// Applies an access to the held steps. Returns false, and reports it if `is_said`, when the access reads another step.
    fn acts(&self, pipeline: &Pipeline<'v>, action: &Action, (site, touch): Access<'v>, held: &mut Held, is_said: bool) -> bool {
        match *action {
            Action::Fetch(step) => held.registers = Some(step),
            Action::Fill(version, step) => drop(held.versions.insert(version, step)),
            Action::Store(version) => match held.registers {
                Some(step) => drop(held.versions.insert(version, step)),
                None => drop(held.versions.remove(&version)),
            },
            Action::Read(version) => {
                let step = held.versions.get(&version);
                if step != Some(&0) && is_said {
                    let axis = self.name(pipeline.of.axis);
                    let what = match step {
                        Some(n) => format!("reads the step `{axis} + {n}`"),
                        None => "may read any step".to_owned(),
                    };
                    self.wrong_step(site, touch, &what);
                    return false;
                }
            }
        }
        true
    }

    /// Checks that every writer writes all elements that are read.
    fn covers_steps(&self, pipeline: &Pipeline<'v>, accesses: &[Access<'v>]) {
        for buffer in pipeline.registers.into_iter().chain([pipeline.of.copy]) {
            let of = |writes: bool| accesses.iter().filter(move |(_, touch)| touch.buffer == buffer && touch.writes == writes);
            for (reader, read) in of(false) {
                let is_whole =
                    |(writer, by): &Access<'v>| self.covers_read((*writer, *by), (*reader, *read), writer.common(reader));
                if !of(true).all(is_whole) {
                    return self.wrong_step(reader, read, "reads more than is written for a step");
                }
            }
        }
    }

    fn wrong_step(&self, site: &Site<'_>, touch: &SiteAccess, what: &str) {
        let (line, name) = (self.line(site), self.buffer(touch.buffer));
        let error = Error::new(site.span(), format!("{}: `{line}` accesses `{name}`, and {what}", Rule::Step));
        self.error(error.note_at(self.program.buffers[touch.buffer].span, format!("`{name}` was declared here")));
    }
}

/// Returns the number of loops outside a depth.
fn loops_before(site: &Site<'_>, depth: usize) -> usize {
    site.around[..depth].iter().filter(|around| matches!(around.node.kind, NodeKind::Loop(_))).count()
}

impl Held {
    /// Returns the same state relative to the next step.
    fn later(&self, buffers: u32) -> Held {
        let version = |(version, step): (&i64, &i64)| ((version - 1).rem_euclid(buffers.into()), step - 1);
        Held { registers: self.registers.map(|step| step - 1), versions: self.versions.iter().map(version).collect() }
    }

    /// Returns the entries on which both states agree.
    fn kept(&self, other: &Held) -> Held {
        let same = |(version, step): (&i64, &i64)| other.versions.get(version) == Some(step);
        Held {
            registers: self.registers.filter(|step| other.registers == Some(*step)),
            versions: self.versions.iter().filter(|entry| same(*entry)).map(|(version, step)| (*version, *step)).collect(),
        }
    }
}
