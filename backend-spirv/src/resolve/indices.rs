//! Indices, remembered: iterations that are written out reach the same rows and elements again and again.
//!
//! An index that reads nothing is a function of the values that loops have given to the axes it is made of, and of the predicates that
//! clamp it. So it is found by these, in whatever compute it stands; and so is whether a predicate holds. A place in memory is found by
//! its indices.

use super::Resolver;
use super::expr::{Mask, Resolved, View};
use super::values::ValueId;
use crate::Result;
use crate::hash::{Map, Places, hash, hash_words};
use smallvec::SmallVec;
use std::rc::Rc;
use tilewright_dsl::arena::Id as _;
use tilewright_dsl::expr::{Expr, ExprId};
use tilewright_dsl::nest::{AxisDef, AxisId, BufferId, Fate, Pred};

/// What is known of indices.
#[derive(Default)]
pub(crate) struct Indices {
    /// Of what is asked for, by kind: the axes that each can depend on and that loops bind, once that is known.
    sources: [Vec<Option<Sources>>; 4],
    /// Predicates that were asked under.
    preds: Vec<Vec<Pred>>,
    resolved: Remembered,
    /// By axis: whether a loop binds it somewhere.
    looped: Vec<bool>,
    /// Of buffers: their extents or strides, if no axis is in them.
    extents: Map<BufferId, Option<Extents>>,
    flat: Map<(BufferId, SmallVec<[ValueId; 4]>), ValueId>,
    /// Places that were asked for, and where each is in the list.
    places: Vec<Place>,
    known_places: Places,
    /// Of axes whose extents name others: these, and the predicates that clamp them.
    pub(super) clamped: Map<AxisId, Option<Clamped>>,
}

/// Axes that an extent names, and their predicates.
type Clamped = Rc<(Vec<AxisId>, Vec<Pred>)>;

/// The axes that something can depend on and that loops bind; `None` if it is more than a function of axes, because it reads.
type Sources = Option<Rc<[AxisId]>>;

/// The extents of a buffer, or its strides.
pub(crate) type Extents = Rc<[ValueId]>;

/// What was resolved, by keys that are words.
#[derive(Default)]
struct Remembered {
    places: Places,
    /// Of each key, where it ends among the words.
    ends: Vec<usize>,
    words: Vec<u32>,
    /// Once it is found.
    found: Vec<Option<Resolved>>,
    /// The key that is asked for.
    key: Vec<u32>,
}

impl Remembered {
    /// Where the key is that is asked for; it is new if nothing is found there.
    fn place(&mut self) -> usize {
        let (key, words, ends) = (&self.key, &self.words, &self.ends);
        let hash = hash_words(key);
        let known = self.places.find(hash, |n| {
            let start = if n == 0 { 0 } else { ends[n - 1] };
            words[start..ends[n]] == **key
        });
        known.unwrap_or_else(|| {
            self.places.push(hash);
            self.words.extend_from_slice(&self.key);
            self.ends.push(self.words.len());
            self.found.push(None);
            self.found.len() - 1
        })
    }
}

/// An element of a buffer, by its indices.
type Place = (BufferId, SmallVec<[ExprId; 4]>);

/// What is asked for.
#[derive(Clone, Copy)]
enum Asked {
    Value(ExprId),
    /// Whether an axis is within its extent.
    Within(AxisId),
    /// The row-major index of a place.
    Place(u32),
    /// Whether the indices of a place are within its buffer.
    Inside(u32),
}

impl Asked {
    /// Which kind, and which of that.
    fn which(self) -> (usize, usize) {
        match self {
            Asked::Value(id) => (0, id.index()),
            Asked::Within(axis) => (1, axis.index()),
            Asked::Place(at) => (2, at as usize),
            Asked::Inside(at) => (3, at as usize),
        }
    }
}

impl Resolver<'_> {
    /// The value of an index in a view: [`Resolver::resolve_in`]'s.
    pub(super) fn index_in(&mut self, id: ExprId, view: View) -> Result<Resolved> {
        self.remembered(Asked::Value(id), view, |r| r.resolve_in(id, view))
    }

    /// Whether an axis is within its extent: [`Resolver::new_within`]'s.
    pub(super) fn within(&mut self, axis: AxisId, view: View) -> Result<ValueId> {
        Ok(self.remembered(Asked::Within(axis), view, |r| Ok((r.new_within(axis, view)?, 0)))?.0)
    }

    /// The row-major index of a place, none of whose indices is looked at alone.
    pub(crate) fn place_in(&mut self, buffer: BufferId, index: &[ExprId], view: View) -> Result<Resolved> {
        if self.unrolled.is_empty() {
            return self.new_place(buffer, index, view);
        }
        let place = self.asked_place(buffer, index);
        self.remembered(Asked::Place(place), view, |r| r.new_place(buffer, index, view))
    }

    /// Whether the indices of a place are within its buffer, as `find` finds out.
    pub(super) fn stays_inside(
        &mut self,
        buffer: BufferId,
        index: &[ExprId],
        view: View,
        find: impl FnOnce(&mut Self) -> Result<bool>,
    ) -> Result<bool> {
        let place = self.asked_place(buffer, index);
        let inside = self.remembered(Asked::Inside(place), view, |r| {
            let inside = find(r)?;
            Ok((r.values.boolean(inside), 0))
        })?;
        Ok(self.values.as_bool(inside.0) == Some(true))
    }

    /// Where a place is among those asked for.
    fn asked_place(&mut self, buffer: BufferId, index: &[ExprId]) -> u32 {
        let Indices { places, known_places, .. } = &mut self.indices;
        let hash = hash(&(buffer, index));
        let known = known_places.find(hash, |n| places[n].0 == buffer && places[n].1.as_slice() == index);
        known.unwrap_or_else(|| {
            known_places.push(hash);
            places.push((buffer, SmallVec::from_slice(index)));
            places.len() - 1
        }) as u32
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
        let (preds, (kind, which)) = (self.asked_under(), asked.which());
        let key = &mut self.indices.resolved.key;
        key.clear();
        key.extend_from_slice(&[kind as u32 | u32::from(view.key()) << 2, which as u32, preds]);
        for axis in sources.iter() {
            key.push(self.bound[axis.index()].map_or(0, |bound| bound.value.index() as u32 + 1));
        }
        let at = self.indices.resolved.place();
        if let Some(known) = self.indices.resolved.found[at] {
            return Ok(known);
        }
        let resolved = find(self)?;
        self.indices.resolved.found[at] = Some(resolved);
        Ok(resolved)
    }

    /// Notes that a loop binds an axis. Of all loops this must be known before anything is resolved in them.
    pub(super) fn note_loop(&mut self, axis: AxisId) {
        let looped = &mut self.indices.looped;
        looped.resize(looped.len().max(axis.index() + 1), false);
        looped[axis.index()] = true;
    }

    /// Whether it is known that a loop binds an axis: else what is remembered would not change with it.
    pub(super) fn is_looped(&self, axis: AxisId) -> bool {
        self.indices.looped.get(axis.index()).is_some_and(|looped| *looped)
    }

    /// The row-major index of an element, padding and versions included.
    pub(crate) fn flat(&mut self, buffer: BufferId, index: &[ValueId]) -> Result<ValueId> {
        if self.unrolled.is_empty() {
            return self.new_flat(buffer, index, None);
        }
        let Some(extents) = self.fixed_extents(buffer)? else { return self.new_flat(buffer, index, None) };
        let key = (buffer, SmallVec::from_slice(index));
        if let Some(known) = self.indices.flat.get(&key) {
            return Ok(*known);
        }
        let flat = self.new_flat(buffer, index, Some(&extents))?;
        self.indices.flat.insert(key, flat);
        Ok(flat)
    }

    /// The extents of a buffer, or its strides where it has gaps, if they are the same everywhere.
    fn fixed_extents(&mut self, buffer: BufferId) -> Result<Option<Extents>> {
        if let Some(known) = self.indices.extents.get(&buffer) {
            return Ok(known.clone());
        }
        let shape = self.program.strides(buffer).unwrap_or(&self.program.buffers[buffer].shape);
        let fixed = shape.iter().all(|e| self.sources(Asked::Value(*e)).is_some_and(|axes| axes.is_empty()));
        let extents: Option<Result<Extents>> =
            fixed.then(|| shape.iter().map(|e| Ok(self.resolve_in(*e, View::ALL)?.0)).collect::<Result<_>>());
        let extents = extents.transpose()?;
        self.indices.extents.insert(buffer, extents.clone());
        Ok(extents)
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
    fn sources(&mut self, asked: Asked) -> Sources {
        let (kind, which) = asked.which();
        if let Some(Some(known)) = self.indices.sources[kind].get(which) {
            return known.clone();
        }
        let axes = match asked {
            Asked::Value(id) => self.all_sources(vec![id], Vec::new()),
            Asked::Within(axis) => self.all_sources(Vec::new(), vec![axis]),
            Asked::Place(at) | Asked::Inside(at) => {
                let (buffer, index) = &self.indices.places[at as usize];
                self.all_sources(self.program.buffers[*buffer].shape.iter().chain(index).copied().collect(), Vec::new())
            }
        };
        let sources: Sources = axes.map(|axes| axes.into_iter().filter(|axis| self.is_looped(*axis)).collect());
        let known = &mut self.indices.sources[kind];
        known.resize(known.len().max(which + 1), None);
        known[which] = Some(sources.clone());
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
