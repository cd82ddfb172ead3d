//! Reads of tensors, which must be in bounds.

use super::bounds::{Claim, show};
use super::names::Symbol;
use super::ranges::IndexRange;
use super::types::article;
use super::{Checked, Checker};
use crate::diag::{Error, SpanId};
use crate::expr::{Expr as Node, ExprId, Exprs, Outside, Read, Sides};
use crate::nest::{BufferId, Space, State};
use crate::syntax::Name;
use crate::syntax::expr::{self as tree, Expr};
use smallvec::SmallVec;
use tilewright_launch::DType;

/// The result of the proof for one side of one dimension of a read.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    /// Proved in bounds.
    Inside,
    /// In bounds if the conditions around the read hold.
    Guarded,
    /// Not proved.
    Open,
}

impl Checker<'_> {
    /// Checks `x[i, j]`, `x.pad(v)[i, j]` or `x.clamp()[i, j]`. A read in a function has a value for each call.
    pub(super) fn read(&mut self, span: SpanId, tensor: &Name, outside: &tree::Outside, index: &[Expr]) -> Checked<ExprId> {
        if !self.calls.is_empty() {
            return self.new_read(span, tensor, outside, index);
        }
        if let Some(known) = self.together.reads.get(&span) {
            return Ok(*known);
        }
        let read = self.new_read(span, tensor, outside, index)?;
        self.together.reads.insert(span, read);
        Ok(read)
    }

    fn new_read(&mut self, span: SpanId, tensor: &Name, outside: &tree::Outside, index: &[Expr]) -> Checked<ExprId> {
        let buffer = self.readable(tensor);
        let ids: Vec<Checked<ExprId>> = index.iter().map(|i| self.index(i)).collect();
        let buffer = buffer?;
        let (dtype, shape) = (self.program.buffers[buffer].dtype, self.program.buffers[buffer].shape.clone());
        if shape.len() != index.len() {
            let error = Error::new(span, format!("`{tensor}` has {} dimensions, not {}", shape.len(), index.len()));
            let declared = self.program.buffers[buffer].span;
            return self.fail(error.note_at(declared, format!("it is declared as {}", self.declaration(buffer))));
        }
        let fill = match outside {
            tree::Outside::Pad(value) => Some(self.fill(value, dtype)),
            _ => None,
        };
        let ids: SmallVec<[ExprId; 4]> = ids.into_iter().collect::<Checked<_>>()?;
        let fill = fill.transpose()?;
        self.place_of_update(span, tensor, buffer, &ids)?;
        let written = !matches!(outside, tree::Outside::Never);
        let clamps = written && fill.is_none();
        let outside = match (outside, fill) {
            (tree::Outside::Never, _) => self.proved(tensor, buffer, index, &ids)?,
            (_, fill) => {
                let sides = self.open_sides(buffer, &ids);
                let closed = sides.iter().all(|(low, high)| !low && !high);
                match fill {
                    _ if closed => Outside::Never,
                    Some(fill) => Outside::Fill(fill, sides),
                    None => {
                        self.has_a_nearest(&shape, &sides, span);
                        Outside::Clamp(sides)
                    }
                }
            }
        };
        let state = if outside == Outside::Never { State::Proved } else { State::Guarded };
        let is_clamped = matches!(outside, Outside::Clamp(_));
        let is_open = written && outside != Outside::Never;
        let from_start = |(d, index)| self.within_range(index, self.ranges.of(buffer, d), is_open, clamps);
        let index = ids.into_iter().enumerate().map(from_start).collect();
        let read = self.program.exprs.add(Node::Read(Read { buffer, index, outside }), dtype);
        match (is_clamped, written) {
            (true, true) => drop(self.program.clamps.written.insert(buffer)),
            (true, false) => drop(self.program.clamps.guarded.insert(read)),
            _ => {}
        }
        let shown = show(&self.program, read);
        self.program.owe(format!("`{shown}` is in bounds of `{tensor}`"), state, span);
        Ok(read)
    }

    /// Returns the tensor of a name, if it can be read here.
    fn readable(&mut self, tensor: &Name) -> Checked<BufferId> {
        let buffer = match self.find(&tensor.text, tensor.span, "tensor")? {
            Symbol::Tensor(buffer) => buffer,
            other => {
                let error = Error::new(tensor.span, format!("`{tensor}` is {}, not a tensor", other.what()));
                return self.fail(error.help("only tensors have indices"));
            }
        };
        let name = self.definition.name.clone();
        let own = self.definition.buffer == Some(buffer);
        match self.program.buffers[buffer].space {
            Space::Update => {
                self.precedes_update(tensor, buffer)?;
                Ok(buffer)
            }
            Space::Output | Space::Temporary if own => {
                let error = Error::new(tensor.span, format!("the definition of `{name}` reads `{name}`: scans are out of scope"));
                self.fail(error.help(format!(
                    "write each element without the others, `{name}[i] = sum(k in 0..i + 1) {{ … }};`, or update an argument in place, `x: &mut …`"
                )))
            }
            Space::Output | Space::Temporary if !self.defined.contains(&buffer) => {
                let error = self.too_early(tensor, tensor.span);
                self.fail(error)
            }
            _ => Ok(buffer),
        }
    }

    /// Checks an index, which must be an `i32`.
    fn index(&mut self, e: &Expr) -> Checked<ExprId> {
        let id = self.value(e, Some(DType::I32))?;
        let id = self.position(id);
        match self.program.exprs.dtype(id) {
            DType::I32 => Ok(self.exact(id)),
            found => {
                let error = Error::new(e.span, format!("an index must be an `i32`, not {}", article(found)));
                self.fail(error.help("convert it: `(…) as i32`"))
            }
        }
    }

    /// Returns an index with its reads of tables as exact arithmetic. This is right because the elements of a table are literals.
    fn exact(&self, id: ExprId) -> ExprId {
        let exprs = &self.program.exprs;
        if exprs.is_index(id) || self.depends_on_data(id) {
            return id;
        }
        let is_element = |exprs: &Exprs, e: ExprId| match exprs.get(e) {
            Node::Read(_) => true,
            Node::Cast(_, from) => matches!(exprs.get(*from), Node::Read(_)),
            _ => false,
        };
        let exact =
            exprs.replace(id, &mut |exprs, e| (exprs.dtype(e) == DType::I32 && is_element(exprs, e)).then(|| exprs.as_index(e)));
        if exprs.is_index(exact) { exact } else { id }
    }

    /// Checks the fill value of a padded read, which must be the same everywhere.
    fn fill(&mut self, value: &Expr, dtype: DType) -> Checked<ExprId> {
        let id = self.value_as(value, dtype)?;
        if self.program.exprs.any(id, &mut |e| matches!(e, Node::Read(_) | Node::Axis(_) | Node::State(_))) {
            let error = Error::new(value.span, "the padding of a tensor must be the same everywhere");
            return self.fail(error.help("pad with a literal or a scalar, and choose other values by `if`"));
        }
        Ok(id)
    }

    /// Returns the sides on which a padded or clamped read may be out of bounds.
    fn open_sides(&self, buffer: BufferId, index: &[ExprId]) -> Sides {
        let shape = &self.program.buffers[buffer].shape;
        let sides = index.iter().zip(shape).enumerate().map(|(d, (index, extent))| {
            let claims = Claim::both(*index, self.range_of_indices(buffer, d, *extent));
            let [low, high] = claims.map(|claim| !self.proves(claim, false));
            (low, high)
        });
        sides.collect()
    }

    /// Makes sure that a clamped read has a nearest element: no dimension that it may leave is empty. This is proved, or checked at
    /// launch.
    fn has_a_nearest(&mut self, shape: &[ExprId], sides: &Sides, span: SpanId) {
        for (extent, (low, high)) in shape.iter().zip(sides) {
            if (*low || *high) && !self.at_least_one(*extent) {
                self.at_least(*extent, 1, span);
            }
        }
    }

    /// Proves that a read is in bounds. Returns the sides for which the proof needs the conditions around it.
    fn proved(&mut self, tensor: &Name, buffer: BufferId, trees: &[Expr], index: &[ExprId]) -> Checked<Outside> {
        let shape = self.program.buffers[buffer].shape.clone();
        let (mut sides, mut result) = (Sides::new(), Ok(()));
        for (d, ((index, extent), tree)) in index.iter().zip(&shape).zip(trees).enumerate() {
            let range = self.range_of_indices(buffer, d, *extent);
            let claims = Claim::both(*index, range);
            let of_data = self.depends_on_data(*index);
            let found = if of_data { [Side::Open; 2] } else { claims.map(|claim| self.side(claim)) };
            if found.contains(&Side::Open) {
                // If the conditions do not hold, the value is not used, but the index may be anything. So the read is clamped.
                match claims.into_iter().find(|claim| !self.proves_of_data(*claim)) {
                    None => {
                        sides.push((true, true));
                        continue;
                    }
                    Some(open) if of_data => {
                        let error = self.data_error(tensor, tree.span, open, range);
                        result = self.fail(error);
                        continue;
                    }
                    Some(_) => {}
                }
            }
            sides.push((found[0] == Side::Guarded, found[1] == Side::Guarded));
            if let Some(open) = found.iter().position(|s| *s == Side::Open) {
                let error = self.outside_error(tensor, tree.span, claims[open], (d, shape.len()), *index, range);
                result = self.fail(error);
            }
        }
        result?;
        let guarded = sides.iter().any(|(low, high)| *low || *high);
        Ok(if guarded { Outside::Clamp(sides) } else { Outside::Never })
    }

    fn side(&mut self, claim: Claim) -> Side {
        if self.proves(claim, false) {
            Side::Inside
        } else if !self.definition.conditions.is_empty() && self.proves(claim, true) {
            Side::Guarded
        } else {
            Side::Open
        }
    }

    /// Returns the error for a read at an index of data that is not proved in bounds.
    fn data_error(&self, tensor: &Name, span: SpanId, open: Claim, range: IndexRange) -> Error {
        let wanted = open.wanted(&self.program);
        let [start, size] = [range.start, range.end].map(|e| show(&self.program, e));
        let error =
            Error::new(span, format!("this index of `{tensor}` depends on data and may be out of bounds: cannot prove {wanted}"));
        error.help(format!(
            "write `{tensor}.clamp()[…]` for the nearest element or `{tensor}.pad(v)[…]` for the value `v` out of bounds, or read it under an `if` that keeps the index between {start} and `{size}`"
        ))
    }

    /// True if an index depends on data that only a launch knows. The elements of tables are known.
    fn depends_on_data(&self, index: ExprId) -> bool {
        let buffers = &self.program.buffers;
        self.program.exprs.any(index, &mut |e| match e {
            Node::Read(read) => !matches!(buffers[read.buffer].space, Space::Constant(_)),
            _ => matches!(e, Node::Scalar(_) | Node::State(_)),
        })
    }

    /// Returns the error for a read that is not proved in bounds.
    fn outside_error(
        &mut self,
        tensor: &Name,
        span: SpanId,
        claim: Claim,
        (d, rank): (usize, usize),
        index: ExprId,
        range: IndexRange,
    ) -> Error {
        let shown = show(&self.program, index);
        let place: Vec<&str> = (0..rank).map(|n| if n == d { shown.as_str() } else { "_" }).collect();
        let wanted = claim.wanted(&self.program);
        let error = Error::new(span, format!("`{tensor}[{}]` may be out of bounds: cannot prove {wanted}", place.join(", ")));
        let error = match self.counterexample(claim, index, range) {
            Some(example) => error.note(example),
            None => error.note(
                "no example was found; the prover understands axes and dims with `+ - *`, and `/ %` by divisors of at least 1",
            ),
        };
        let help = match self.counted_back(index, range) {
            Some(at) => format!("an index does not count from the end: write `{at}` for `{shown}`"),
            None => format!(
                "write `{tensor}.pad(v)[…]` for the value `v` out of bounds or `{tensor}.clamp()[…]` for the nearest element, or read it under an `if` that keeps it in bounds"
            ),
        };
        self.counted_from_zero(error).help(help)
    }

    /// Returns an index that is always below 0 as an index from the start, for help.
    fn counted_back(&self, index: ExprId, range: IndexRange) -> Option<String> {
        let exprs = &self.program.exprs;
        let below = exprs.difference(exprs.int(-1), index);
        let is_below = exprs.as_int(range.start) == Some(0) && self.proves_nonneg(below);
        let back = exprs.canonical(exprs.difference(exprs.int(0), index));
        let forms = [exprs.canonical(exprs.sum(range.end, index)), exprs.difference(range.end, back)];
        forms.into_iter().map(|e| show(&self.program, e)).min_by_key(String::len).filter(|_| is_below)
    }

    /// Returns a tensor as it is declared.
    fn declaration(&self, buffer: BufferId) -> String {
        let shape = self.shown_shape(buffer);
        let buffer = &self.program.buffers[buffer];
        format!("`{}: {}[{shape}]`", buffer.name, buffer.dtype)
    }

    /// Returns the error for a tensor that is read before its definition.
    pub(super) fn too_early(&self, name: &Name, span: SpanId) -> Error {
        let reader = self.definition.name.as_str();
        let Some(define) = super::order::definitions(self.kernel).find(|d| d.name.text == name.text) else {
            return Error::new(span, format!("`{}` is read but never defined", name.text));
        };
        if !reader.is_empty() && super::order::depends(self.kernel, &name.text, reader) {
            let error = Error::new(span, format!("`{reader}` and `{}` depend on each other", name.text));
            let error = error.note_at(define.span, format!("`{}` reads `{reader}`, directly or indirectly", name.text));
            return error.help("scans and recurrences are out of scope: define each of them without the other");
        }
        let error = Error::new(span, format!("`{}` is read before its definition", name.text));
        error.note_at(define.span, "it is defined here").help("move that definition up")
    }
}
