//! Pipelines: who reads a copy that is made ahead reads what belongs to the step, and all of it.
//!
//! A fetch says for which step it is, by the loop of one iteration that it stands in. The accesses of a copy and of its registers are gone
//! through in order, from before the loop to its end and again, with what each version and the registers hold: a step, counted from the
//! one at hand. What holds at the end of an iteration, one less, must be what held at its beginning; so it holds in all.
//!
//! That a version holds the elements of its step is `values`' business, where a store counts as the element that its registers hold; that
//! there are barriers, `hazards`'.

use super::Rule;
use super::context::Checks;
use super::site::{Site, Touch};
use crate::diag::Error;
use crate::nest::{AxisId, BufferId, Exec, Made, NodeKind, Pipelined, Step};
use std::collections::BTreeMap;

/// What is held, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    registers: Option<i64>,
    /// By the version's number, counted from that of the step at hand.
    versions: BTreeMap<i64, i64>,
}

/// What an access does to what is held.
enum Action {
    /// Registers are filled for a step.
    Fetch(i64),
    /// Registers are stored to a version.
    Store(i64),
    /// A version is filled for a step.
    Fill(i64, i64),
    /// A version is read.
    Read(i64),
}

/// A pipeline that is made.
struct Pipeline<'v> {
    of: &'v Pipelined,
    made: Made,
    registers: Option<BufferId>,
}

/// An access in a pipeline.
type Access<'v> = (&'v Site<'v>, &'v Touch);

impl<'v> Checks<'v> {
    /// All of it.
    pub(super) fn steps(&self) {
        for of in &self.program.pipelines {
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

    /// Whether a buffer is made ahead: a copy, or registers.
    pub(super) fn is_pipelined(&self, buffer: BufferId) -> bool {
        self.program.pipelines.iter().filter(|p| p.made.is_some()).any(|p| {
            let registers = p.made.and_then(|made| made.registers).map(|stage| self.program.stages[stage].buffer);
            p.copy == buffer || registers == Some(buffer)
        })
    }

    fn pipeline(&self, pipeline: &Pipeline<'v>, accesses: &[Access<'v>]) {
        let mut actions: Vec<(bool, Action, Access<'v>)> = Vec::new();
        for (n, (site, touch)) in accesses.iter().enumerate() {
            let is_inside = site.binds(pipeline.of.axis);
            if !is_inside && accesses[..n].iter().any(|(earlier, _)| earlier.binds(pipeline.of.axis)) {
                return self.wrong_step(site, touch, "comes after the steps");
            }
            if self.runs_apart(pipeline, accesses, n) {
                let what = "stands in a loop within the steps, or in another one over them";
                return self.wrong_step(site, touch, what);
            }
            match self.action(pipeline, (*site, *touch), is_inside) {
                // A store reads its registers and writes the copy: that is one action.
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
        // What holds at the beginning of each iteration.
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

    /// Whether an access is not made once a step: by a loop around it and another access of the pipeline, or one that may not run.
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

    /// What an access does.
    fn action(&self, pipeline: &Pipeline<'v>, (site, touch): Access<'v>, is_inside: bool) -> Result<Option<Action>, &'static str> {
        let reads_registers = || site.touches.iter().any(|t| !t.writes && Some(t.buffer) == pipeline.registers);
        if Some(touch.buffer) == pipeline.registers {
            return match touch.writes {
                true => self.step_of(pipeline, site, is_inside).map(|step| Some(Action::Fetch(step))),
                false if site.touches.iter().any(|t| t.writes && t.buffer == pipeline.of.copy) => Ok(None),
                false => Err("reads what is fetched, and does not store it"),
            };
        }
        let version = self.version_of(pipeline, touch, is_inside).ok_or("counts its buffers by something else than the steps")?;
        match (touch.writes, reads_registers()) {
            // Without any steps, nothing is fetched.
            (true, true) if !is_inside && self.step_of(pipeline, site, is_inside).is_err() => {
                Err("may store what nobody has fetched")
            }
            (true, true) => Ok(Some(Action::Store(version))),
            (true, false) => self.step_of(pipeline, site, is_inside).map(|step| Some(Action::Fill(version, step))),
            (false, _) if !is_inside => Err("reads it outside of the steps"),
            (false, _) => Ok(Some(Action::Read(version))),
        }
    }

    /// For which step a leaf fetches, counted from the one at hand.
    fn step_of(&self, pipeline: &Pipeline<'v>, site: &Site<'v>, is_inside: bool) -> Result<i64, &'static str> {
        match site.exec(pipeline.made.step) {
            Some(Exec::Step(Step::First(n))) if !is_inside => Ok(n.into()),
            Some(Exec::Step(Step::Ahead(of, n))) if is_inside && of == pipeline.of.axis => Ok(n.into()),
            _ => Err("does not say for which step it is"),
        }
    }

    /// Which version a touch is of, counted from that of the step at hand.
    fn version_of(&self, pipeline: &Pipeline<'v>, touch: &Touch, is_inside: bool) -> Option<i64> {
        if pipeline.of.buffers < 2 {
            return Some(0);
        }
        let mut sum = self.sum(*touch.index.first()?);
        let counted = sum.axes.remove(&pipeline.of.axis).unwrap_or(0);
        let is_counted = sum.is_constant() && counted == i64::from(is_inside);
        is_counted.then(|| sum.constant.rem_euclid(pipeline.of.buffers.into()))
    }

    /// Changes what is held as an access does; `false`: it reads another step, which is said.
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
                        Some(n) => format!("reads that of `{axis} + {n}`"),
                        None => "may read that of any".to_owned(),
                    };
                    self.wrong_step(site, touch, &what);
                    return false;
                }
            }
        }
        true
    }

    /// Whether all that is read is written by each who writes it.
    fn covers_steps(&self, pipeline: &Pipeline<'v>, accesses: &[Access<'v>]) {
        for buffer in pipeline.registers.into_iter().chain([pipeline.of.copy]) {
            let of = |writes: bool| accesses.iter().filter(move |(_, touch)| touch.buffer == buffer && touch.writes == writes);
            for (reader, read) in of(false) {
                let is_whole =
                    |(writer, by): &Access<'v>| self.covers_read((*writer, *by), (*reader, *read), writer.common(reader));
                if !of(true).all(is_whole) {
                    return self.wrong_step(reader, read, "reads more than is made for a step");
                }
            }
        }
    }

    fn wrong_step(&self, site: &Site<'_>, touch: &Touch, what: &str) {
        let (line, name) = (self.line(site), self.buffer(touch.buffer));
        let error = Error::new(site.span(), format!("{}: `{line}` touches `{name}`, and {what}", Rule::Step));
        self.error(error.note_at(self.program.buffers[touch.buffer].span, format!("`{name}` was declared here")));
    }
}

/// How many loops are around a depth.
fn loops_before(site: &Site<'_>, depth: usize) -> usize {
    site.around[..depth].iter().filter(|around| matches!(around.node.kind, NodeKind::Loop(_))).count()
}

impl Held {
    /// The same, counted from the next step.
    fn later(&self, buffers: u32) -> Held {
        let version = |(version, step): (&i64, &i64)| ((version - 1).rem_euclid(buffers.into()), step - 1);
        Held { registers: self.registers.map(|step| step - 1), versions: self.versions.iter().map(version).collect() }
    }

    /// What is so in both.
    fn kept(&self, other: &Held) -> Held {
        let same = |(version, step): (&i64, &i64)| other.versions.get(version) == Some(step);
        Held {
            registers: self.registers.filter(|step| other.registers == Some(*step)),
            versions: self.versions.iter().filter(|entry| same(*entry)).map(|(version, step)| (*version, *step)).collect(),
        }
    }
}
