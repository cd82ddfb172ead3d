//! Indices, remembered: iterations that are written out reach the same rows and elements again and again.
//!
//! An index that reads nothing is a function of the values that loops have given to the axes it is made of, and of the predicates that
//! clamp it. So it is found by these, in whatever compute it stands; and so is whether a predicate holds. A place in memory is found by
//! its indices.

use crate::emit::{Emit, Result};
use crate::hash::Map;
use crate::resolve::{Mask, Resolved, View};
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
    /// Places that were asked for, and where each is in the list.
    places: Vec<Rc<Place>>,
    known_places: Map<Rc<Place>, u32>,
}

/// An element of a buffer, by its indices.
type Place = (BufferId, SmallVec<[ExprId; 4]>);

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Asked {
    Value(ExprId),
    /// Whether an axis is within its extent.
    Within(AxisId),
    /// The row-major index of a place.
    Place(u32),
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

    /// The row-major index of a place, none of whose indices is looked at alone.
    pub(crate) fn place_in(&mut self, buffer: BufferId, index: &[ExprId], view: View) -> Result<Resolved> {
        if self.unrolled.is_empty() {
            return self.new_place(buffer, index, view);
        }
        let place: Place = (buffer, SmallVec::from_slice(index));
        let known = self.indices.known_places.get(&place).copied();
        let place = known.unwrap_or_else(|| {
            let (place, at) = (Rc::new(place), self.indices.places.len() as u32);
            self.indices.places.push(place.clone());
            self.indices.known_places.insert(place, at);
            at
        });
        self.remembered(Asked::Place(place), view, |e| e.new_place(buffer, index, view))
    }

    fn new_place(&mut self, buffer: BufferId, index: &[ExprId], view: View) -> Result<Resolved> {
        let (mut values, mut mask): (SmallVec<[ValueId; 4]>, Mask) = (SmallVec::new(), 0);
        for i in index {
            let (value, m) = self.index_in(*i, view)?;
            values.push(value);
            mask |= m;
        }
        Ok((self.flat(buffer, &values)?, mask))
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
            Asked::Value(id) => self.all_sources(vec![id], Vec::new()),
            Asked::Within(axis) => self.all_sources(Vec::new(), vec![axis]),
            Asked::Place(at) => {
                let (buffer, index) = &*self.indices.places[at as usize];
                self.all_sources(self.program.buffers[*buffer].shape.iter().chain(index).copied().collect(), Vec::new())
            }
        };
        let looped = |axis: &AxisId| self.indices.looped.get(axis.index()).is_some_and(|looped| *looped);
        let sources: Option<Rc<[AxisId]>> = axes.map(|axes| axes.into_iter().filter(looped).collect());
        self.indices.sources.insert(asked, sources.clone());
        sources
    }

    /// The axes that expressions and these ones are made of.
    fn all_sources(&self, mut open: Vec<ExprId>, mut named: Vec<AxisId>) -> Option<Vec<AxisId>> {
        let (program, mut found) = (self.program, Vec::new());
        loop {
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
            let Some(id) = open.pop() else { return Some(found) };
            let impure = program.exprs.any(id, &mut |e| {
                if let Expr::Axis(axis) = e {
                    named.push(*axis);
                }
                matches!(e, Expr::Read(_) | Expr::State(_) | Expr::Item(_))
            });
            if impure {
                return None;
            }
        }
    }
}
