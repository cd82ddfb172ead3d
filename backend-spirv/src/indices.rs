//! Indices, remembered: iterations that are written out reach the same rows and elements again and again.
//!
//! An index that reads nothing is a function of the values that loops have given to the axes it is made of, and of the predicates that
//! clamp it. So it is found by these, in whatever compute it stands; and so is whether a predicate holds. A place in memory is found by
//! its indices.

use crate::emit::{Emit, Result};
use crate::hash::Map;
use crate::resolve::{Resolved, View};
use crate::values::ValueId;
use smallvec::SmallVec;
use std::rc::Rc;
use tilewright_dsl::arena::Id as _;
use tilewright_dsl::expr::{Expr, ExprId};
use tilewright_dsl::nest::{AxisDef, AxisId, BufferId, Fate, Pred};

/// What is known of indices.
#[derive(Default)]
pub(crate) struct Indices {
    /// Of what reads nothing: the axes that it can depend on and that loops bind.
    sources: Map<Asked, Option<Rc<[AxisId]>>>,
    /// Predicates that were asked under.
    preds: Vec<Vec<Pred>>,
    resolved: Map<Key, Resolved>,
    /// By axis: whether a loop binds it somewhere.
    looped: Vec<bool>,
    /// Of buffers: whether no axis is in their shape.
    fixed: Map<BufferId, bool>,
    flat: Map<(BufferId, SmallVec<[ValueId; 4]>), ValueId>,
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Asked {
    Value(ExprId),
    /// Whether an axis is within its extent.
    Within(AxisId),
}

/// What is asked for, the view, the place of the predicates among those asked under, and the values of the sources.
type Key = (Asked, u8, u32, SmallVec<[Option<ValueId>; 8]>);

impl Emit<'_> {
    /// The value of an index in a view: [`Emit::resolve_in`]'s.
    pub(crate) fn index_in(&mut self, id: ExprId, view: View) -> Result<Resolved> {
        self.remembered(Asked::Value(id), view, |e| e.resolve_in(id, view))
    }

    /// Whether an axis is within its extent: [`Emit::new_within`]'s.
    pub(crate) fn within(&mut self, axis: AxisId, view: View) -> Result<ValueId> {
        Ok(self.remembered(Asked::Within(axis), view, |e| Ok((e.new_within(axis, view)?, 0)))?.0)
    }

    fn remembered(&mut self, asked: Asked, view: View, find: impl FnOnce(&mut Self) -> Result<Resolved>) -> Result<Resolved> {
        // Nothing comes twice where nothing is written out.
        if self.unrolled.is_empty() {
            return find(self);
        }
        let Some(sources) = self.sources(asked) else { return find(self) };
        let preds = self.asked_under();
        let values = sources.iter().map(|axis| self.bound[axis.index()].map(|bound| bound.value)).collect();
        let key = (asked, view.key(), preds, values);
        if let Some(known) = self.indices.resolved.get(&key) {
            return Ok(*known);
        }
        let resolved = find(self)?;
        self.indices.resolved.insert(key, resolved);
        Ok(resolved)
    }

    /// Notes that a loop binds an axis.
    pub(crate) fn note_loop(&mut self, axis: AxisId) {
        let looped = &mut self.indices.looped;
        looped.resize(looped.len().max(axis.index() + 1), false);
        looped[axis.index()] = true;
    }

    /// The values of a place's indices.
    pub(crate) fn indices(&mut self, index: &[ExprId], view: View) -> Result<SmallVec<[ValueId; 4]>> {
        index.iter().map(|i| Ok(self.index_in(*i, view)?.0)).collect()
    }

    /// The row-major index of an element, padding and versions included.
    pub(crate) fn flat(&mut self, buffer: BufferId, index: &[ValueId]) -> Result<ValueId> {
        if self.unrolled.is_empty() || !self.has_fixed_shape(buffer) {
            return self.new_flat(buffer, index);
        }
        let key = (buffer, SmallVec::from_slice(index));
        if let Some(known) = self.indices.flat.get(&key) {
            return Ok(*known);
        }
        let flat = self.new_flat(buffer, index)?;
        self.indices.flat.insert(key, flat);
        Ok(flat)
    }

    fn has_fixed_shape(&mut self, buffer: BufferId) -> bool {
        if let Some(known) = self.indices.fixed.get(&buffer) {
            return *known;
        }
        let program = self.program;
        let fixed =
            program.buffers[buffer].shape.iter().all(|e| self.sources(Asked::Value(*e)).is_some_and(|axes| axes.is_empty()));
        self.indices.fixed.insert(buffer, fixed);
        fixed
    }

    /// The place of the predicates at hand among those asked under.
    fn asked_under(&mut self) -> u32 {
        let known = self.indices.preds.iter().position(|preds| *preds == self.preds);
        known.unwrap_or_else(|| {
            self.indices.preds.push(self.preds.clone());
            self.indices.preds.len() - 1
        }) as u32
    }

    /// The bound axes that something can depend on, at any depth; `None` if it is more than a function of them.
    fn sources(&mut self, asked: Asked) -> Option<Rc<[AxisId]>> {
        if let Some(known) = self.indices.sources.get(&asked) {
            return known.clone();
        }
        let axes = match asked {
            Asked::Value(id) => self.all_sources(id, Vec::new()),
            Asked::Within(axis) => self.all_sources(self.program.axes[axis].extent, vec![axis]),
        };
        let looped = |axis: &AxisId| self.indices.looped.get(axis.index()).is_some_and(|looped| *looped);
        let sources: Option<Rc<[AxisId]>> = axes.map(|axes| axes.into_iter().filter(looped).collect());
        self.indices.sources.insert(asked, sources.clone());
        sources
    }

    /// The axes that an expression and these ones are made of.
    fn all_sources(&self, id: ExprId, mut named: Vec<AxisId>) -> Option<Vec<AxisId>> {
        let (program, mut open, mut found) = (self.program, vec![id], Vec::new());
        while let Some(id) = open.pop() {
            let mut pure = true;
            program.exprs.any(id, &mut |e| {
                match e {
                    Expr::Axis(axis) => named.push(*axis),
                    Expr::Read(_) | Expr::State(_) | Expr::Item(_) => pure = false,
                    _ => {}
                }
                !pure
            });
            if !pure {
                return None;
            }
            while let Some(axis) = named.pop() {
                if found.contains(&axis) {
                    continue;
                }
                found.push(axis);
                open.push(program.axes[axis].extent);
                match &program.axes[axis].fate {
                    Fate::Live => {}
                    Fate::Split(split) => named.extend(&split.parts),
                    Fate::Fused { into, .. } => {
                        named.push(*into);
                        if let AxisDef::Fused(digits) = &program.axes[*into].def {
                            open.extend(digits.iter().map(|digit| program.axes[*digit].extent));
                        }
                    }
                }
            }
        }
        Some(found)
    }
}
