//! Recognizes the members of a decomposition: a maximum `m` of scores, and sums over the same range whose items use the scores only
//! as `exp(s - m)`, as one factor. So a factor alone rescales a sum relative to one maximum to another maximum.

use crate::algorithm::inline::{MOST, rewrite};
use crate::diag::Error;
use crate::expr::{Binary, Compare, Const, Expr, ExprId, Exprs, Outside, Read, Unary};
use crate::facts::Prover;
use crate::nest::fill::{Known, known_by};
use crate::nest::points::{both, points};
use crate::nest::print;
use crate::nest::{AxisId, Body, BufferId, Program, Stage, StageId};
use crate::schedule::stage_names;
use crate::syntax::Name;
use std::collections::{HashMap, HashSet};

/// A maximum and the sums relative to it.
#[derive(Debug)]
pub(super) struct Online {
    pub(super) max: StageId,
    /// The sums. The last one is the stage that computes all members.
    pub(super) sums: Vec<Sum>,
    pub(super) rescale: Rescale,
}

/// A sum of exponentials relative to the maximum.
#[derive(Debug)]
pub(super) struct Sum {
    pub(super) stage: StageId,
    /// Maps the axes of the maximum to the sum's axes.
    pub(super) axes: HashMap<AxisId, AxisId>,
    /// The item without its exponential.
    pub(super) weight: ExprId,
    /// The stored value, as a function of the sum.
    pub(super) finish: ExprId,
}

/// `exp(scale * x)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rescale {
    pub(super) function: Unary,
    /// A literal above 0, or a number that is the same for all items.
    pub(super) scale: Option<ExprId>,
}

impl Rescale {
    /// Rescales a sum relative to maximum `a` to one relative to `b`. A sum relative to -inf is empty, so its factor is 0.
    pub(super) fn factor(self, program: &Program, a: ExprId, b: ExprId) -> ExprId {
        let exprs = &program.exprs;
        let difference = exprs.difference(a, b);
        let scaled = self.scale.map_or(difference, |scale| exprs.product(difference, scale));
        let factor = exprs.unary(self.function, scaled);
        let told = |e: ExprId| match e {
            _ if e == a => Some(Known::exactly(f64::NEG_INFINITY)),
            _ if e == b => Some(Known::finite(exprs.dtype(b))),
            _ => None,
        };
        if known_by(program, factor, &told).is(0.0) {
            return factor;
        }
        // If the scale may be 0 or negative, `exp(scale * -inf)` is NaN or infinite, so 0 is selected explicitly.
        let number = |value: f64, like: ExprId| exprs.constant(Const::number(value, exprs.dtype(like)));
        let nothing = exprs.compare(Compare::Eq, a, number(f64::NEG_INFINITY, a));
        exprs.select(nothing, number(0.0, factor), factor)
    }
}

const FORM: &str = "it needs a maximum, and then sums of exponentials relative to it: `m[i] = max(j in 0..N) { s[i, j] }` and \
    `l[i] = sum(j in 0..N) { (s[i, j] - m[i]).exp() }`";

/// Recognizes the members with these names.
pub(super) fn online(program: &Program, members: &[Name]) -> Result<Online, Error> {
    let [max, sums @ ..] = members else { return Err(Error::new(crate::diag::SpanId::NONE, FORM)) };
    let stage = stage_names::find(program, max)?;
    let of = maximum(program, stage, max)?;
    let mut rescale = None;
    let mut found: Vec<Sum> = Vec::new();
    for name in sums {
        let others: Vec<BufferId> = found.iter().map(|sum| program.stages[sum.stage].buffer).collect();
        let sum = Finder { program, of: &of, max, name, others: &others }.sum(&mut rescale)?;
        found.push(sum);
    }
    let rescale = rescale.ok_or_else(|| Error::new(max.span, FORM))?;
    Ok(Online { max: stage, sums: found, rescale })
}

/// A stage that is a maximum.
struct Maximum {
    buffer: BufferId,
    axes: Vec<AxisId>,
    over: Vec<AxisId>,
    score: ExprId,
}

fn maximum(program: &Program, id: StageId, name: &Name) -> Result<Maximum, Error> {
    let stage = &program.stages[id];
    let Body::Reduce { monoid, over, lift, finish } = &stage.body else {
        return Err(Error::new(name.span, format!("`{name}` is not a reduction")).help(FORM));
    };
    if monoid.name != "max" {
        return Err(Error::new(name.span, format!("`{name}` reduces by `{}`, not by `max`", monoid.name)).help(FORM));
    }
    let score = lift[0];
    if !program.exprs.dtype(score).is_float() {
        let error = Error::new(name.span, format!("`{name}` is a maximum of {}", program.exprs.dtype(score)));
        return Err(error.help("exponentials need floats: convert the scores before their maximum is taken"));
    }
    if !matches!(program.exprs.get(*finish), Expr::State(0)) {
        let error = Error::new(name.span, format!("`{name}` is not the maximum itself, but a value computed from it"));
        return Err(error.help("define the maximum alone, and the value in another definition"));
    }
    Ok(Maximum { buffer: stage.buffer, axes: stage.axes.clone(), over: over.clone(), score })
}

/// Analyzes one sum.
struct Finder<'f> {
    program: &'f Program,
    of: &'f Maximum,
    max: &'f Name,
    name: &'f Name,
    /// The sums before it.
    others: &'f [BufferId],
}

impl Finder<'_> {
    fn error(&self, what: impl Into<String>) -> Error {
        Error::new(self.name.span, what)
    }

    fn sum(&self, rescale: &mut Option<Rescale>) -> Result<Sum, Error> {
        let (name, exprs) = (self.name, &self.program.exprs);
        let id = stage_names::find(self.program, name)?;
        let stage = &self.program.stages[id];
        let Body::Reduce { monoid, over, lift, finish } = &stage.body else {
            return Err(self.error(format!("`{name}` is not a reduction")).help(FORM));
        };
        if monoid.name != "sum" {
            return Err(self.error(format!("`{name}` reduces by `{}`, not by `sum`", monoid.name)).help(FORM));
        }
        let (item, finish) = (expanded(self.program, lift[0], &|buffer| self.sees(buffer)), *finish);
        let axes = self.axes(stage, over, item)?;
        let (item, factors) = without_totals(self.program, item, over, self.others);
        if exprs.reads(item).iter().any(|read| self.others.contains(&read.buffer)) {
            let error = self.error(format!("the items of `{name}` depend on an earlier sum in another way than by a factor"));
            return Err(
                error.help("an earlier sum is known only at the end: multiply or divide the whole item, or the result, by it")
            );
        }
        let finish = self.with_totals(finish, &factors, over);
        let score = renamed(exprs, self.of.score, &axes);
        let mut walk = ExponentialSearch { finder: self, score, rescale };
        let weight = walk.weight(item, None)?;
        Ok(Sum { stage: id, axes, weight, finish })
    }

    /// True if a buffer belongs to a pointwise intermediate that depends on the maximum.
    fn sees(&self, buffer: BufferId) -> bool {
        sees(self.program, buffer, self.of.buffer)
    }

    /// Maps the axes of the maximum to the sum's axes.
    fn axes(&self, stage: &Stage, over: &[AxisId], item: ExprId) -> Result<HashMap<AxisId, AxisId>, Error> {
        let (exprs, name, max) = (&self.program.exprs, self.name, self.max);
        let reads: Vec<Read> = exprs.reads(item).into_iter().filter(|read| read.buffer == self.of.buffer).collect();
        let Some(read) = reads.first() else {
            return Err(self.error(format!("the items of `{name}` do not depend on `{max}`")).help(FORM));
        };
        let plain = |index: &ExprId| match *exprs.get(*index) {
            Expr::Axis(axis) if stage.axes.contains(&axis) => Some(axis),
            _ => None,
        };
        let own: Option<Vec<AxisId>> = read.index.iter().map(plain).collect();
        let distinct = |own: &Vec<AxisId>| own.iter().enumerate().all(|(n, axis)| !own[..n].contains(axis));
        let Some(own) = own.filter(|own| reads.len() == 1 && read.outside == Outside::Never && distinct(own)) else {
            let error = self.error(format!("`{name}` reads `{max}` at another point than its own, or at several points"));
            return Err(error.help(format!("read `{max}` at one point: at axes of `{name}` itself, each alone and once")));
        };
        if over.len() != self.of.over.len() {
            return Err(self.ranges(over));
        }
        let axes: HashMap<AxisId, AxisId> =
            self.of.axes.iter().copied().zip(own).chain(self.of.over.iter().copied().zip(over.iter().copied())).collect();
        let same = |(a, b): (&AxisId, &AxisId)| renamed(exprs, self.program.axes[*a].extent, &axes) == self.program.axes[*b].extent;
        if self.of.over.iter().zip(over).all(same) { Ok(axes) } else { Err(self.ranges(over)) }
    }

    fn ranges(&self, over: &[AxisId]) -> Error {
        let extents = |over: &[AxisId]| {
            let extents = over.iter().map(|axis| format!("`{}`", print::expr(self.program, self.program.axes[*axis].extent)));
            extents.collect::<Vec<_>>().join(" x ")
        };
        let (name, max) = (self.name, self.max);
        let error = self.error(format!("`{name}` runs over another range than `{max}`"));
        let error = error.note(format!("`{max}` has {} scores, and `{name}` sums {} items", extents(&self.of.over), extents(over)));
        error.help("let both run over the same scores, with their axes in the same order")
    }

    /// Returns the stored value, multiplied by the factors that were taken out of the items. They are applied once, and not to an
    /// empty sum.
    fn with_totals(&self, finish: ExprId, factors: &[Factor], over: &[AxisId]) -> ExprId {
        let exprs = &self.program.exprs;
        if factors.is_empty() {
            return finish;
        }
        let (zero, prover) = (exprs.int(0), Prover::new(self.program));
        let extents = over.iter().map(|axis| self.program.axes[*axis].extent).filter(|extent| !prover.less(zero, *extent));
        let some = extents.fold(None, |all, extent| Some(both(exprs, all, exprs.compare(Compare::Lt, zero, extent))));
        exprs.replace(finish, &mut |exprs, id| {
            matches!(exprs.get(id), Expr::State(0)).then(|| {
                let times = |sum, (op, factor): &Factor| exprs.add(Expr::Binary(*op, sum, *factor), exprs.dtype(id));
                let whole = factors.iter().fold(id, times);
                some.map_or(whole, |some| exprs.select(some, whole, id))
            })
        })
    }
}

/// A factor, or a divisor.
type Factor = (Binary, ExprId);

/// Splits off the factors of an item that depend on other sums and not on the reduction's axes. Returns the remaining item and the
/// factors.
pub(super) fn without_totals(program: &Program, item: ExprId, over: &[AxisId], totals: &[BufferId]) -> (ExprId, Vec<Factor>) {
    let exprs = &program.exprs;
    let total = |e: ExprId| {
        exprs.reads(e).iter().any(|read| totals.contains(&read.buffer)) && !exprs.uses_axis(e, &mut |axis| over.contains(&axis))
    };
    match *exprs.get(item) {
        Expr::Binary(op @ (Binary::Mul | Binary::Div), a, b) if total(b) => {
            let (item, mut factors) = without_totals(program, a, over, totals);
            factors.push((op, b));
            (item, factors)
        }
        Expr::Binary(Binary::Mul, a, b) if total(a) => {
            let (item, mut factors) = without_totals(program, b, over, totals);
            factors.push((Binary::Mul, a));
            (item, factors)
        }
        Expr::Binary(Binary::Mul, a, b) => {
            let ((a, mut factors), (b, more)) =
                (without_totals(program, a, over, totals), without_totals(program, b, over, totals));
            factors.extend(more);
            (exprs.product(a, b), factors)
        }
        Expr::Binary(Binary::Div, a, b) => {
            let (a, factors) = without_totals(program, a, over, totals);
            (exprs.binary(Binary::Div, a, b), factors)
        }
        _ => (item, Vec::new()),
    }
}

/// Finds the exponential in an item.
struct ExponentialSearch<'w, 'f> {
    finder: &'w Finder<'f>,
    /// The score, on the sum's axes.
    score: ExprId,
    rescale: &'w mut Option<Rescale>,
}

impl ExponentialSearch<'_, '_> {
    fn exprs(&self) -> &Exprs {
        &self.finder.program.exprs
    }

    fn sees(&self, e: ExprId) -> bool {
        self.exprs().reads(e).iter().any(|read| read.buffer == self.finder.of.buffer)
    }

    fn other(&self) -> Error {
        let (name, max) = (self.finder.name, self.finder.max);
        let error = self
            .finder
            .error(format!("the items of `{name}` depend on `{max}` in another way than by one factor `(s - {max}).exp()`"));
        error.help(format!(
            "write each item as this factor, with the scores of `{max}` for `s`, times a value that does not depend on `{max}`: only such a sum \
             can be rescaled to another maximum by a factor"
        ))
    }

    /// Returns the item without its exponential. `under` is a condition that holds here.
    fn weight(&mut self, e: ExprId, under: Option<ExprId>) -> Result<ExprId, Error> {
        let dtype = self.exprs().dtype(e);
        match *self.exprs().get(e) {
            _ if !self.exprs().is_walkable(e) => Err(self.other()),
            Expr::Unary(function @ (Unary::Exp | Unary::Exp2), of) => {
                self.exponential(function, of, under)?;
                Ok(self.exprs().constant(Const::number(1.0, dtype)))
            }
            Expr::Unary(Unary::Neg, a) => {
                let a = self.weight(a, under)?;
                Ok(self.exprs().unary(Unary::Neg, a))
            }
            Expr::Cast(to, a) if to.is_float() && self.exprs().dtype(a).is_float() => {
                let a = self.weight(a, under)?;
                Ok(self.exprs().cast(to, a))
            }
            Expr::Binary(Binary::Mul, a, b) if self.sees(a) != self.sees(b) => {
                let (with, without) = if self.sees(a) { (a, b) } else { (b, a) };
                let weight = self.weight(with, under)?;
                Ok(times(self.exprs(), weight, without))
            }
            Expr::Binary(Binary::Div, a, b) if !self.sees(b) => {
                let a = self.weight(a, under)?;
                Ok(self.exprs().binary(Binary::Div, a, b))
            }
            Expr::Binary(op @ (Binary::Add | Binary::Sub), a, b) => {
                let (a, b) = (self.weight(a, under)?, self.weight(b, under)?);
                Ok(self.exprs().binary(op, a, b))
            }
            Expr::Select(cond, a, b) if !self.sees(cond) => {
                let (a, b) = (self.side(a, Some(cond))?, self.side(b, None)?);
                Ok(self.exprs().select(cond, a, b))
            }
            _ => Err(self.other()),
        }
    }

    /// Returns the weight of an operand of a selection: it has the exponential, or is 0.
    fn side(&mut self, e: ExprId, under: Option<ExprId>) -> Result<ExprId, Error> {
        match self.exprs().get(e) {
            Expr::Const(c) if c.value() == 0.0 => Ok(e),
            _ => self.weight(e, under),
        }
    }

    /// Decomposes an exponent into the scores, the maximum and the factor of their difference. It accepts `(s - m) * scale`, also
    /// multiplied out, or as `s.mul_add(scale, -m * scale)`, and `a.mul_add(b, -m)` for the score `a * b`.
    fn exponent(&self, of: ExprId) -> Option<(ExprId, ExprId, Option<ExprId>)> {
        let exprs = self.exprs();
        let negated = |e: ExprId| if let Expr::Unary(Unary::Neg, of) = *exprs.get(e) { Some(of) } else { None };
        // Returns the factor that depends on the maximum, and the other factor.
        let scaled = |e: ExprId| match *exprs.get(e) {
            Expr::Binary(Binary::Mul, a, b) if self.sees(a) => Some((a, b)),
            Expr::Binary(Binary::Mul, a, b) if self.sees(b) => Some((b, a)),
            _ => None,
        };
        let subtracted = |e: ExprId| {
            let plain = negated(e).map(|of| scaled(of).map_or((of, None), |(max, by)| (max, Some(by))));
            plain.or_else(|| scaled(e).and_then(|(max, by)| Some((negated(max)?, Some(by)))))
        };
        match *exprs.get(of) {
            Expr::MulAdd(a, b, c) => match subtracted(c)? {
                (max, None) => Some((exprs.product(a, b), max, None)),
                (max, Some(scale)) if scale == b => Some((a, max, Some(scale))),
                (max, Some(scale)) if scale == a => Some((b, max, Some(scale))),
                _ => None,
            },
            Expr::Binary(Binary::Sub, a, b) => match (scaled(b), exprs.get(a)) {
                (None, _) => Some((a, b, None)),
                (Some((max, scale)), Expr::Binary(Binary::Mul, score, by)) if *by == scale => Some((*score, max, Some(scale))),
                (Some((max, scale)), Expr::Binary(Binary::Mul, by, score)) if *by == scale => Some((*score, max, Some(scale))),
                _ => None,
            },
            Expr::Binary(Binary::Mul, ..) => {
                let (difference, scale) = scaled(of)?;
                let Expr::Binary(Binary::Sub, score, max) = *exprs.get(difference) else { return None };
                Some((score, max, Some(scale)))
            }
            _ => None,
        }
    }

    /// Checks an exponential of `scale * (score - m)`.
    fn exponential(&mut self, function: Unary, of: ExprId, under: Option<ExprId>) -> Result<(), Error> {
        if let Expr::Binary(Binary::Div, a, b) = *self.exprs().get(of)
            && self.sees(a) != self.sees(b)
        {
            let error = self.finder.error(format!("there is a division within the exponential of `{}`", self.finder.name));
            return Err(error.help("multiply by the reciprocal there, or divide the scores before their maximum is taken"));
        }
        let Some((score, max, scale)) = self.exponent(of) else { return Err(self.other()) };
        let is_max = matches!(self.exprs().get(max), Expr::Read(read) if read.buffer == self.finder.of.buffer);
        if !is_max || self.sees(score) {
            return Err(self.other());
        }
        self.scale(scale)?;
        if !self.is_score(score, under) {
            let (name, max) = (self.finder.name, self.finder.max);
            let error = self.finder.error(format!("`{name}` takes exponentials of other scores than the scores of `{max}`"));
            let mut texts = [score, self.score].map(|e: ExprId| print::expr(self.finder.program, e));
            if texts[0] == texts[1] {
                // They differ only in the conditions that keep reads in bounds, which this printer shows.
                texts = [score, self.score].map(|e| print::Printer::new(self.finder.program).expr(e));
            }
            let [here, there] = texts;
            let error = error.note(format!("the scores here are `{here}`, and the scores of `{max}` are `{there}`"));
            return Err(error.help("let both read the same scores: `let s[i, j]: f32[N, M] = …;` in the kernel"));
        }
        let found = Rescale { function, scale };
        match self.rescale.replace(found) {
            Some(other) if other != found => {
                let what = "takes exponentials with another base, or with another factor of the scores, than an earlier sum";
                let error = self.finder.error(format!("`{}` {what}", self.finder.name));
                Err(error
                    .help("use the same function (`exp` or `exp2`) and the same factor in all sums, because one number rescales all of them"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a factor of the scores that is not allowed within the exponential.
    fn scale(&self, scale: Option<ExprId>) -> Result<(), Error> {
        let (finder, before) = (self.finder, "multiply the scores by it, before their maximum is taken");
        match scale.map(|scale| self.exprs().get(scale)) {
            None => Ok(()),
            Some(Expr::Const(c)) if c.value() > 0.0 && c.value().is_finite() => Ok(()),
            Some(Expr::Const(c)) => {
                let error = finder.error(format!("the factor within the exponential of `{}` is {}", finder.name, c.value()));
                Err(error.help(format!("it must be above 0, so that the largest score has the largest exponential; or {before}")))
            }
            Some(_) if scale.is_some_and(|scale| self.varies(scale)) => {
                let error =
                    finder.error(format!("the factor within the exponential of `{}` is not the same for all items", finder.name));
                Err(error.note("one number must rescale all sums to a new maximum").help(before))
            }
            Some(_) => Ok(()),
        }
    }

    /// True if a value depends on data or on axes.
    fn varies(&self, e: ExprId) -> bool {
        !self.exprs().reads(e).is_empty() || self.exprs().uses_axis(e, &mut |_| true)
    }

    /// True if a value is the score, given that a condition holds.
    fn is_score(&self, e: ExprId, under: Option<ExprId>) -> bool {
        let masked = match *self.exprs().get(self.score) {
            Expr::Select(cond, score, masked) => Some(cond) == under && score == e && self.is_literal(masked),
            _ => false,
        };
        masked || e == self.score
    }

    /// True if a value is a literal, or a negated one.
    fn is_literal(&self, e: ExprId) -> bool {
        match *self.exprs().get(e) {
            Expr::Const(_) => true,
            Expr::Unary(Unary::Neg, of) => self.is_literal(of),
            _ => false,
        }
    }
}

/// Returns a product, or the other factor if one is 1.
fn times(exprs: &Exprs, a: ExprId, b: ExprId) -> ExprId {
    let one = |e: ExprId| matches!(exprs.get(e), Expr::Const(c) if c.value() == 1.0);
    if one(a) { b } else { exprs.product(a, b) }
}

/// True if a buffer belongs to a pointwise intermediate that depends on another buffer.
pub(super) fn sees(program: &Program, buffer: BufferId, other: BufferId) -> bool {
    let (mut open, mut seen) = (vec![buffer], HashSet::new());
    while let Some(buffer) = open.pop() {
        let Some(stage) = program.definition(buffer).filter(|_| seen.insert(buffer)) else { continue };
        let Body::Map(value) = program.stages[stage].body else { continue };
        let reads = program.exprs.reads(value);
        if reads.iter().any(|read| read.buffer == other) {
            return true;
        }
        open.extend(reads.iter().map(|read| read.buffer));
    }
    false
}

/// Substitutes some pointwise intermediates into a value. An intermediate that would make the value too large is not substituted.
pub(super) fn expanded(program: &Program, e: ExprId, which: &dyn Fn(BufferId) -> bool) -> ExprId {
    expanded_once(program, e, which, &mut HashMap::new())
}

/// Implements [`expanded`]; `done` caches expanded values.
fn expanded_once(program: &Program, e: ExprId, which: &dyn Fn(BufferId) -> bool, done: &mut HashMap<ExprId, ExprId>) -> ExprId {
    if let Some(known) = done.get(&e) {
        return *known;
    }
    let new = rewrite(&program.exprs, e, &mut |exprs, read| {
        let stage = program.definition(read.buffer).filter(|_| which(read.buffer) && read.outside == Outside::Never)?;
        let stage = &program.stages[stage];
        let Body::Map(value) = stage.body else { return None };
        let (points, _) = points(exprs, &stage.axes, &program.buffers[read.buffer], read);
        let value = expanded_once(program, value, which, done);
        if exprs.parts([value]) > MOST {
            return None;
        }
        let value = exprs.with_axes(value, &mut |axis| points.get(&axis).copied());
        Some(exprs.cast(program.buffers[read.buffer].dtype, value))
    });
    done.insert(e, new);
    new
}

/// Renames axes in an expression.
pub(super) fn renamed(exprs: &Exprs, e: ExprId, axes: &HashMap<AxisId, AxisId>) -> ExprId {
    exprs.with_axes(e, &mut |axis| axes.get(&axis).map(|new| exprs.axis(*new)))
}
