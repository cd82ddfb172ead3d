//! Names of axes in directives: the axis that a name currently denotes, and the names that are unused.

use super::StageNest;
use crate::diag::{Error, SpanId, did_you_mean, list};
use crate::nest::{AxisId, Fate};
use crate::syntax::Name;

impl StageNest<'_> {
    /// Returns the live axis of a name.
    pub fn axis(&self, name: &Name) -> Result<AxisId, Error> {
        let named = |a: &&AxisId| self.name(**a) == name.text;
        let live = |a: &&AxisId| self.program.axes[**a].fate == Fate::Live;
        if let Some(axis) = self.axes.iter().rev().filter(named).find(live) {
            return Ok(*axis);
        }
        match self.axes.iter().rev().find(named) {
            Some(axis) => Err(self.consumed(*axis, name)),
            None => Err(self.unknown(name)),
        }
    }

    /// Returns the axes of several names, each named once.
    pub fn axes(&self, names: &[Name]) -> Result<Vec<AxisId>, Error> {
        let mut axes = Vec::new();
        for name in names {
            let axis = self.axis(name)?;
            if axes.contains(&axis) {
                return Err(Error::new(name.span, format!("axis `{name}` is named twice")));
            }
            axes.push(axis);
        }
        Ok(axes)
    }

    /// Lists the current axes, outermost first.
    pub fn there_are(&self) -> String {
        format!("the axes are {}, outermost first", list(self.path.axes().map(|a| self.name(a).to_owned())))
    }

    fn consumed(&self, axis: AxisId, name: &Name) -> Error {
        let error = Error::new(name.span, format!("axis `{name}` no longer exists"));
        let error = match &self.program.axes[axis].fate {
            Fate::Live => error,
            Fate::Split(split) => {
                let parts = list(split.parts.iter().map(|p| self.name(*p).to_owned()));
                error.note_at(split.span, format!("it was split into {parts} here"))
            }
            Fate::Fused { into, span, .. } => error.note_at(*span, format!("it was fused into `{}` here", self.name(*into))),
        };
        error.help(self.there_are())
    }

    fn unknown(&self, name: &Name) -> Error {
        if let Some(place) = self.scattered_by(name) {
            let error = Error::new(name.span, format!("axis `{name}` has no loop, because the data choose its value"));
            return error.note_at(place, "it was scattered here").help(self.there_are());
        }
        let stage = &self.program.stages[self.stage].name;
        let live = self.axes.iter().filter(|a| self.program.axes[**a].fate == Fate::Live);
        let help = did_you_mean(&name.text, live.map(|a| self.name(*a)));
        let error = Error::new(name.span, format!("`{name}` is not an axis of stage `{stage}`"));
        error.help(help.unwrap_or_else(|| self.there_are()))
    }

    /// Checks that a new axis can have a name, because no axis of the stage has or had it.
    pub fn fresh(&self, name: &str, span: SpanId, say: &str) -> Result<(), Error> {
        if let Some(tuned) = self.program.statements.tuned.iter().find(|t| t.name == name) {
            let error = Error::new(span, format!("the name `{name}` is already used"));
            return Err(error.note_at(tuned.span, "by the tuned constant here").help(format!("choose another name: `{say}`")));
        }
        let Some(other) = self.axes.iter().find(|a| self.name(**a) == name) else { return Ok(()) };
        let error = Error::new(span, format!("the name `{name}` is already used"));
        let made = self.program.axes[*other].span;
        Err(error.note_at(made, "by the axis made here").help(format!("choose another name: `{say}`")))
    }
}
