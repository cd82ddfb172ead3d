//! `mask: s`: makes the scores -inf beyond the range. The maximum ignores such scores, and items computed from them need no mask of
//! their own.
//!
//! This is correct if an item of the score -inf is 0. For example, `(s * scale - m * scale).exp()` is 0 for a `scale` above 0 and a
//! finite maximum. So bounds of `scale` must be stated, and the inputs of the scores must be finite.
//!
//! Refused: a stage whose elements the maximum does not take directly, or that another stage also reads; blocks that exceed its
//! end; items that are not proved to be 0.

use super::blocks::Blocked;
use super::recognize::{expanded, sees};
use super::stages::Decomposition;
use crate::diag::Error;
use crate::expr::{Compare, Const, Expr, ExprId, Outside, Read};
use crate::facts::Prover;
use crate::facts::sources::defined::known_of;
use crate::nest::fill::known_by;
use crate::nest::known::Known;
use crate::nest::{AxisId, Body, BufferId, Program, Space, Stage, StageId, print};
use crate::schedule::algebra::winograd::stages::replaced;
use crate::schedule::stage_names;
use crate::syntax::Name;
use std::collections::HashMap;

/// Scores that are masked.
pub(super) struct Scores {
    buffer: BufferId,
    /// The condition that an element is in the range, on the axes of its stage.
    counts: ExprId,
}

/// Analyzes the scores.
struct Finder<'f> {
    program: &'f Program,
    whole: &'f Decomposition<'f>,
    name: &'f Name,
    stage: StageId,
}

/// Finds the scores by name. `stages` are the block's, the maximum first; `gone` are the kernel's stages that they replace.
pub(super) fn scores(
    program: &Program,
    whole: &Decomposition<'_>,
    (name, size): (&Name, i64),
    stages: &[&Blocked],
    gone: &[StageId],
) -> Result<Scores, Error> {
    let temporary = |(_, stage): &(StageId, &Stage)| program.buffers[stage.buffer].space == Space::Temporary;
    let names = || program.stages.iter().filter(temporary).map(|(_, stage)| stage.name.as_str()).collect::<Vec<_>>();
    let stage = program.stage_named(&name.text).ok_or_else(|| stage_names::unknown(program, name, "stage", &names()))?;
    let finder = Finder { program, whole, name, stage };
    let (end, over) = finder.end(stages)?;
    finder.check_readers(stages, gone, (end, over))?;
    finder.check_blocks(over, size)?;
    finder.check_items(stages)?;
    let exprs = &program.exprs;
    Ok(Scores { buffer: program.stages[stage].buffer, counts: exprs.compare(Compare::Lt, exprs.axis(over), end) })
}

impl Scores {
    /// Puts the mask into the stage.
    pub(super) fn mask(&self, program: &mut Program) {
        let Some(stage) = program.definition(self.buffer) else { return };
        let nothing = program.exprs.constant(Const::number(f64::NEG_INFINITY, program.buffers[self.buffer].dtype));
        let exprs = &program.exprs;
        let value = match &mut program.stages[stage].body {
            Body::Map(value) => value,
            Body::Reduce { finish, .. } => finish,
        };
        *value = exprs.select(self.counts, *value, nothing);
    }
}

impl Finder<'_> {
    fn error(&self, what: String) -> Error {
        Error::new(self.name.span, what)
    }

    fn buffer(&self) -> BufferId {
        self.program.stages[self.stage].buffer
    }

    /// Maps the axes at which the stage is read to the stage's own axes, if each index is an axis and all are distinct.
    fn own(&self, read: &Read) -> Option<HashMap<AxisId, ExprId>> {
        let exprs = &self.program.exprs;
        let mut own = HashMap::new();
        for (index, axis) in read.index.iter().zip(&self.program.stages[self.stage].axes) {
            let Expr::Axis(at) = *exprs.get(*index) else { return None };
            if own.insert(at, exprs.axis(*axis)).is_some() {
                return None;
            }
        }
        (read.outside == Outside::Never).then_some(own)
    }

    fn reads(&self, value: ExprId) -> Vec<Read> {
        self.program.exprs.reads(value).into_iter().filter(|read| read.buffer == self.buffer()).collect()
    }

    /// Returns the end of the range on the stage's own axes, and the axis that runs over the range.
    fn end(&self, stages: &[&Blocked]) -> Result<(ExprId, AxisId), Error> {
        let (program, name, max) = (self.program, self.name, &self.whole.members[0]);
        let read = match program.exprs.get(stages[0].value) {
            Expr::Read(read) if read.buffer == self.buffer() => self.own(read),
            _ => None,
        };
        let Some(own) = read else {
            let error = self.error(format!("`{max}` is not the maximum of the unchanged elements of `{name}`"));
            return Err(error.help(format!(
                "name the stage whose elements `{max}` takes, from index 0 and indexed by axes only: in the kernel, `let s[i, j]: f32[N, M] = …;`"
            )));
        };
        let Some(mask) = stages[0].mask else {
            let error = self.error("blocks divide the range, so no score needs a mask".to_owned());
            return Err(error.help("leave `mask` out"));
        };
        let over = own
            .get(&stages[0].over)
            .and_then(|axis| if let Expr::Axis(axis) = *program.exprs.get(*axis) { Some(axis) } else { None });
        let known = !program.exprs.uses_axis(mask.end, &mut |axis| !own.contains_key(&axis));
        over.filter(|_| known).map(|over| (replaced(&program.exprs, mask.end, &own), over)).ok_or_else(|| {
            let error = self.error(format!("the end of the range of `{max}` is not determined by the axes of `{name}`"));
            error.help("leave `mask` out")
        })
    }

    /// Checks that no other stage reads the scores, and that their readers read them at the same points as the maximum.
    fn check_readers(&self, stages: &[&Blocked], gone: &[StageId], (end, over): (ExprId, AxisId)) -> Result<(), Error> {
        let (program, name) = (self.program, self.name);
        let buffer = &program.buffers[self.buffer()];
        let others = program.stages.iter().filter(|(id, _)| !gone.contains(id) && *id != self.whole.target());
        let mut readers = others.filter(|(_, stage)| stage.values().into_iter().any(|value| !self.reads(value).is_empty()));
        // The target stores an expression into which stages that read the maximum are inlined.
        let max = program.stages[self.whole.of.max].buffer;
        let stored = |finish: ExprId| expanded(program, finish, &|buffer| sees(program, buffer, max));
        let finishes = || self.whole.of.sums.iter().any(|sum| !self.reads(stored(sum.finish)).is_empty());
        let other = match readers.next() {
            _ if buffer.space != Space::Temporary => Some("it is an output".to_owned()),
            Some((_, reader)) => Some(format!("`{}` also reads it", reader.name)),
            None if finishes() => Some("the stored value of a sum also reads it".to_owned()),
            None => None,
        };
        if let Some(other) = other {
            let error = self.error(format!("`{name}` is needed beyond the range")).note(other);
            return Err(error.help("leave `mask` out, or define the scores twice in the kernel, under two names"));
        }
        for of in stages {
            for read in self.reads(of.value) {
                let ends =
                    |own: &HashMap<AxisId, ExprId>| of.mask.is_some_and(|mask| replaced(&program.exprs, mask.end, own) == end);
                let runs = |own: &HashMap<AxisId, ExprId>| own.get(&of.over) == Some(&program.exprs.axis(over));
                if !self.own(&read).is_some_and(|own| runs(&own) && ends(&own)) {
                    let error =
                        self.error(format!("`{}` reads `{name}` at other points than `{}`", of.name, self.whole.members[0]));
                    return Err(error.help("leave `mask` out"));
                }
            }
        }
        Ok(())
    }

    /// Checks that no block exceeds the end of the scores themselves, because it does not have elements beyond.
    fn check_blocks(&self, over: AxisId, size: i64) -> Result<(), Error> {
        let (program, name) = (self.program, self.name);
        let extent = program.axes[over].extent;
        if Prover::new(program).divides(size, extent) {
            return Ok(());
        }
        let text = print::expr(program, extent);
        let error = self.error(format!("blocks of {size} can exceed the end of `{name}`, at {text}"));
        Err(error.help(format!("state `{text} % {size} == 0`, or leave `mask` out")))
    }

    /// Checks that items are 0 if their score is -inf.
    fn check_items(&self, stages: &[&Blocked]) -> Result<(), Error> {
        let mut zero: Vec<BufferId> = Vec::new();
        let mut not_zero = None;
        for of in &stages[1..] {
            let known = self.known(of.value, &zero);
            match (of.buffer, known.is(0.0)) {
                (Some(buffer), true) => zero.push(buffer),
                (Some(_), false) => not_zero = not_zero.or(Some(&of.name)),
                (None, true) => {}
                (None, false) => return Err(self.unproved(not_zero.unwrap_or(&of.name))),
            }
        }
        Ok(())
    }

    /// Returns the known range of a value if the score is -inf.
    fn known(&self, value: ExprId, zero: &[BufferId]) -> Known {
        let max = self.program.stages[self.whole.of.max].buffer;
        known_by(self.program, value, &|e| match self.program.exprs.get(e) {
            Expr::Read(read) if read.buffer == self.buffer() => Some(Known::exactly(f64::NEG_INFINITY)),
            Expr::Read(read) if zero.contains(&read.buffer) => Some(Known::exactly(0.0)),
            // If all scores are -inf, exponentials are taken relative to 0.
            Expr::Read(read) if read.buffer == max => {
                Some(known_of(self.program, max, &|_| true).except(f64::NEG_INFINITY).or(Known::exactly(0.0)))
            }
            _ => None,
        })
    }

    /// Reports an item that is not proved to be 0, and names the missing fact.
    fn unproved(&self, item: &str) -> Error {
        let (program, name) = (self.program, self.name);
        let error = self.error(format!("`{item}` is not proved to be 0 where `{name}` is -inf"));
        if !known_of(program, self.buffer(), &|_| true).is_finite() {
            let error = error
                .note(format!("`{name}` is not known to be finite elsewhere, so its maximum is not known to be finite either"));
            return error.help(
                "state in the schedule's header that its inputs are finite, and the maximum number of items of a sum: `where finite(x), D <= 1024`. \
                 (Products of 16-bit floats are finite in f32, but products of f32 may not be.)",
            );
        }
        let scale = self.whole.of.rescale.scale;
        if let Some(scale) = scale.filter(|scale| !known_by(program, *scale, &|_| None).is_above_zero()) {
            let error = error.note(format!("`{}` is not known to be finite and above 0", print::expr(program, scale)));
            return error
                .help("state bounds of its scalars in the schedule's header that ensure this: `where scale > 1e-6, scale < 1e6`");
        }
        error.help("leave `mask` out, state closer bounds, or write the item as `((s - m) * scale).exp()`, times a finite value")
    }
}
