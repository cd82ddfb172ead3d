//! Remembers indices, because iterations that are unrolled access the same rows and elements again and again.
//!
//! An index without reads is a function of the values to which loops bind its axes, and of the predicates that clamp it. So it is
//! looked up by these, whichever compute it is in. The result of a predicate is looked up in the same way. A place in memory is looked
//! up by its indices.

use crate::Resolver;
use crate::Result;
use crate::expr::{Mask, Resolved, View};
use crate::hash::{Map, Places, hash, hash_words};
use crate::values::ValueId;
use smallvec::SmallVec;
use std::rc::Rc;
use tilewright_dsl::arena::Id as _;
use tilewright_dsl::expr::{Expr, ExprId};
use tilewright_dsl::nest::{AxisDef, AxisId, BufferId, Fate, Pred};

/// The remembered indices of a dispatch.
#[derive(Default)]
pub(crate) struct Indices {
    /// For each request, by kind: the loop-bound axes that it can depend on, once they are known.
    sources: [Vec<Option<Sources>>; 4],
    /// The lists of predicates under which requests were made.
    preds: Vec<Vec<Pred>>,
    resolved: Remembered,
    /// For each axis, whether a loop binds it anywhere.
    looped: Vec<bool>,
    /// The extents or strides of each buffer, if they do not depend on axes.
    extents: Map<BufferId, Option<Extents>>,
    flat: Map<(BufferId, SmallVec<[ValueId; 4]>), ValueId>,
    /// The places that were requested, and an index of this list.
    places: Vec<BufferElement>,
    known_places: Places,
    /// For each axis whose extent names other axes: these axes, and the predicates that clamp them.
    pub(crate) clamped: Map<AxisId, Option<Clamped>>,
}

/// The axes that an extent names, and their predicates.
type Clamped = Rc<(Vec<AxisId>, Vec<Pred>)>;

/// The loop-bound axes that a request can depend on, or `None` if it also depends on reads.
type Sources = Option<Rc<[AxisId]>>;

/// The extents or the strides of a buffer.
pub(crate) type Extents = Rc<[ValueId]>;

/// Results by keys that are lists of 32-bit words.
#[derive(Default)]
struct Remembered {
    places: Places,
    /// The end of each key in `words`.
    ends: Vec<usize>,
    words: Vec<u32>,
    /// The result for each key, once it is computed.
    found: Vec<Option<Resolved>>,
    /// The key that is looked up.
    key: Vec<u32>,
}

impl Remembered {
    /// Returns the position of the key that is looked up. The key is new if it does not have a result yet.
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
type BufferElement = (BufferId, SmallVec<[ExprId; 4]>);

/// A request.
#[derive(Clone, Copy)]
enum IndexRequest {
    Value(ExprId),
    /// Asks whether an axis is within its extent.
    Within(AxisId),
    /// The row-major index of a place.
    Place(u32),
    /// Asks whether the indices of a place are within its buffer.
    Inside(u32),
}

impl IndexRequest {
    /// The kind of the request, and its number within the kind.
    fn which(self) -> (usize, usize) {
        match self {
            IndexRequest::Value(id) => (0, id.index()),
            IndexRequest::Within(axis) => (1, axis.index()),
            IndexRequest::Place(at) => (2, at as usize),
            IndexRequest::Inside(at) => (3, at as usize),
        }
    }
}

impl Resolver<'_> {
    /// Returns the value of an index in a view, as [`Resolver::resolve_in`] does.
    pub(crate) fn index_in(&mut self, id: ExprId, view: View) -> Result<Resolved> {
        self.remembered(IndexRequest::Value(id), view, |r| r.resolve_in(id, view))
    }

    /// Returns whether an axis is within its extent, as [`Resolver::new_within`] does.
    pub(crate) fn within(&mut self, axis: AxisId, view: View) -> Result<ValueId> {
        Ok(self.remembered(IndexRequest::Within(axis), view, |r| Ok((r.new_within(axis, view)?, 0)))?.0)
    }

    /// Returns the row-major index of a place. It may be remembered, and then its indices are not resolved one by one.
    pub fn place_in(&mut self, buffer: BufferId, index: &[ExprId], view: View) -> Result<Resolved> {
        if self.unrolled.is_empty() {
            return self.new_place(buffer, index, view);
        }
        let place = self.asked_place(buffer, index);
        self.remembered(IndexRequest::Place(place), view, |r| r.new_place(buffer, index, view))
    }

    /// True if the indices of a place are within its buffer. `find` determines this if it is not remembered.
    pub(crate) fn stays_inside(
        &mut self,
        buffer: BufferId,
        index: &[ExprId],
        view: View,
        find: impl FnOnce(&mut Self) -> Result<bool>,
    ) -> Result<bool> {
        let place = self.asked_place(buffer, index);
        let inside = self.remembered(IndexRequest::Inside(place), view, |r| {
            let inside = find(r)?;
            Ok((r.values.boolean(inside), 0))
        })?;
        Ok(self.values.as_bool(inside.0) == Some(true))
    }

    /// Returns the number of a place among those requested.
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

    fn remembered(
        &mut self,
        asked: IndexRequest,
        view: View,
        find: impl FnOnce(&mut Self) -> Result<Resolved>,
    ) -> Result<Resolved> {
        // Without unrolled loops, no request is repeated.
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

    /// Records that a loop binds an axis. This must be done for all loops before anything in them is resolved.
    pub(crate) fn note_loop(&mut self, axis: AxisId) {
        let looped = &mut self.indices.looped;
        looped.resize(looped.len().max(axis.index() + 1), false);
        looped[axis.index()] = true;
    }

    /// True if a loop is known to bind an axis. Otherwise remembered results would not depend on the axis.
    pub(crate) fn is_looped(&self, axis: AxisId) -> bool {
        self.indices.looped.get(axis.index()).is_some_and(|looped| *looped)
    }

    /// Returns the row-major index of an element, including padding and versions.
    pub fn flat(&mut self, buffer: BufferId, index: &[ValueId]) -> Result<ValueId> {
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

    /// Returns the extents of a buffer, or its strides if it has gaps, if they are the same everywhere.
    fn fixed_extents(&mut self, buffer: BufferId) -> Result<Option<Extents>> {
        if let Some(known) = self.indices.extents.get(&buffer) {
            return Ok(known.clone());
        }
        let shape = self.program.strides(buffer).unwrap_or(&self.program.buffers[buffer].shape);
        let fixed = shape.iter().all(|e| self.sources(IndexRequest::Value(*e)).is_some_and(|axes| axes.is_empty()));
        let extents: Option<Result<Extents>> =
            fixed.then(|| shape.iter().map(|e| Ok(self.resolve_in(*e, View::ALL)?.0)).collect::<Result<_>>());
        let extents = extents.transpose()?;
        self.indices.extents.insert(buffer, extents.clone());
        Ok(extents)
    }

    /// Returns the number of the current predicates among the lists under which requests were made.
    fn asked_under(&mut self) -> u32 {
        let known = self.indices.preds.iter().position(|preds| *preds == self.preds);
        known.unwrap_or_else(|| {
            self.indices.preds.push(self.preds.clone());
            self.indices.preds.len() - 1
        }) as u32
    }

    /// Returns the bound axes that a request can depend on, directly or indirectly, or `None` if it also depends on reads.
    fn sources(&mut self, asked: IndexRequest) -> Sources {
        let (kind, which) = asked.which();
        if let Some(Some(known)) = self.indices.sources[kind].get(which) {
            return known.clone();
        }
        let axes = match asked {
            IndexRequest::Value(id) => self.all_sources(vec![id], Vec::new()),
            IndexRequest::Within(axis) => self.all_sources(Vec::new(), vec![axis]),
            IndexRequest::Place(at) | IndexRequest::Inside(at) => {
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

    /// Returns the axes that expressions and the given axes are composed of.
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
