//! What a decomposition's members are: a maximum `m` of scores, and sums over the same range whose items see the scores as `exp(s - m)` only,
//! as one factor. So a sum that was taken below one maximum becomes that below another by a factor alone.

use crate::algorithm::inline::rewrite;
use crate::diag::{Error, list};
use crate::expr::{Binary, Const, Expr, ExprId, Exprs, Outside, Read, Unary};
use crate::nest::points::points;
use crate::nest::{AxisId, Body, BufferId, Program, Stage, StageId};
use crate::syntax::Name;
use std::collections::HashMap;

/// A maximum and the sums below it.
#[derive(Debug)]
pub(super) struct Online {
    pub(super) max: StageId,
    /// The last one is the stage that computes all of them.
    pub(super) sums: Vec<Sum>,
    pub(super) rescale: Rescale,
}

/// A sum of exponentials below the maximum.
#[derive(Debug)]
pub(super) struct Sum {
    pub(super) stage: StageId,
    /// Its axes for those of the maximum.
    pub(super) axes: HashMap<AxisId, AxisId>,
    /// The item without its exponential.
    pub(super) weight: ExprId,
    /// What is stored, over the sum.
    pub(super) finish: ExprId,
}

/// `exp(scale * x)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rescale {
    pub(super) function: Unary,
    /// A literal or a scalar argument.
    pub(super) scale: Option<ExprId>,
}

impl Rescale {
    /// The factor from what lies below `a` to what lies below `b`.
    pub(super) fn factor(self, exprs: &Exprs, a: ExprId, b: ExprId) -> ExprId {
        let difference = exprs.difference(a, b);
        let scaled = self.scale.map_or(difference, |scale| exprs.product(difference, scale));
        exprs.unary(self.function, scaled)
    }
}

const FORM: &str = "an online reduction is of a maximum and of sums of exponentials below it: `m[i] = max(j in 0..N) { s[i, j] }` and \
    `l[i] = sum(j in 0..N) { (s[i, j] - m[i]).exp() }`";

/// The members of these names.
pub(super) fn online(program: &Program, members: &[Name]) -> Result<Online, Error> {
    let [max, sums @ ..] = members else { return Err(Error::new(crate::diag::SpanId::NONE, FORM)) };
    let stage = stage(program, max)?;
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

/// The stage of a name.
fn stage(program: &Program, name: &Name) -> Result<StageId, Error> {
    let found = program.stages.iter().find(|(_, stage)| stage.name == name.text);
    found.map(|(id, _)| id).ok_or_else(|| {
        let names = list(program.stages.values().map(|s| s.name.as_str()));
        Error::new(name.span, format!("there is no stage `{name}`")).help(format!("the stages are {names}"))
    })
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
        return Err(Error::new(name.span, format!("`{name}` is no reduction")).help(FORM));
    };
    if monoid.name != "max" {
        return Err(Error::new(name.span, format!("`{name}` is a `{}`, and no maximum", monoid.name)).help(FORM));
    }
    let score = lift[0];
    if !program.exprs.dtype(score).is_float() {
        let error = Error::new(name.span, format!("`{name}` is a maximum of {}", program.exprs.dtype(score)));
        return Err(error.help("exponentials are of floats: convert the scores"));
    }
    if !matches!(program.exprs.get(*finish), Expr::State(0)) {
        let error = Error::new(name.span, format!("`{name}` is more than a maximum"));
        return Err(error.help("define the maximum alone, and what is made of it after that"));
    }
    Ok(Maximum { buffer: stage.buffer, axes: stage.axes.clone(), over: over.clone(), score })
}

/// Looks at one sum.
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
        let id = stage(self.program, name)?;
        let stage = &self.program.stages[id];
        let Body::Reduce { monoid, over, lift, finish } = &stage.body else {
            return Err(self.error(format!("`{name}` is no reduction")).help(FORM));
        };
        if monoid.name != "sum" {
            return Err(self.error(format!("`{name}` is a `{}`, and no sum", monoid.name)).help(FORM));
        }
        let (item, finish) = (expanded(self.program, lift[0], &|buffer| self.sees(buffer)), *finish);
        let axes = self.axes(stage, over, item)?;
        let (item, factors) = without_totals(self.program, item, over, self.others);
        if exprs.reads(item).iter().any(|read| self.others.contains(&read.buffer)) {
            let error = self.error(format!("the items of `{name}` see another sum otherwise than as a factor"));
            return Err(error.help("divide by it, or multiply, what the sum is"));
        }
        let finish = self.with_totals(finish, factors);
        let score = renamed(exprs, self.of.score, &axes);
        let mut walk = Walk { finder: self, score, rescale };
        let weight = walk.weight(item, None)?;
        Ok(Sum { stage: id, axes, weight, finish })
    }

    /// Whether a buffer is of a pointwise intermediate that sees the maximum.
    fn sees(&self, buffer: BufferId) -> bool {
        sees(self.program, buffer, self.of.buffer)
    }

    /// The sum's axes for those of the maximum.
    fn axes(&self, stage: &Stage, over: &[AxisId], item: ExprId) -> Result<HashMap<AxisId, AxisId>, Error> {
        let (exprs, name, max) = (&self.program.exprs, self.name, self.max);
        let reads: Vec<Read> = exprs.reads(item).into_iter().filter(|read| read.buffer == self.of.buffer).collect();
        let Some(read) = reads.first() else {
            return Err(self.error(format!("the items of `{name}` do not see `{max}`")).help(FORM));
        };
        let plain = |index: &ExprId| match *exprs.get(*index) {
            Expr::Axis(axis) if stage.axes.contains(&axis) => Some(axis),
            _ => None,
        };
        let own: Option<Vec<AxisId>> = read.index.iter().map(plain).collect();
        let distinct = |own: &Vec<AxisId>| own.iter().enumerate().all(|(n, axis)| !own[..n].contains(axis));
        let Some(own) = own.filter(|own| reads.len() == 1 && read.outside == Outside::Never && distinct(own)) else {
            let error = self.error(format!("`{name}` sees `{max}` at other points than its own"));
            return Err(error.help("read it at the axes of the sum, each alone"));
        };
        if over.len() != self.of.over.len() {
            return Err(self.ranges());
        }
        let axes: HashMap<AxisId, AxisId> =
            self.of.axes.iter().copied().zip(own).chain(self.of.over.iter().copied().zip(over.iter().copied())).collect();
        let same = |(a, b): (&AxisId, &AxisId)| renamed(exprs, self.program.axes[*a].extent, &axes) == self.program.axes[*b].extent;
        if self.of.over.iter().zip(over).all(same) { Ok(axes) } else { Err(self.ranges()) }
    }

    fn ranges(&self) -> Error {
        let error = self.error(format!("`{}` runs over another range than `{}`", self.name, self.max));
        error.help("both run over the same scores, in the same order of axes")
    }

    /// What is stored, with the factors of the items that are made of other sums: they count once.
    fn with_totals(&self, finish: ExprId, factors: Vec<(Binary, ExprId)>) -> ExprId {
        factors.into_iter().fold(finish, |finish, (op, factor)| {
            self.program.exprs.replace(finish, &mut |exprs, id| {
                matches!(exprs.get(id), Expr::State(0)).then(|| exprs.add(Expr::Binary(op, id, factor), exprs.dtype(id)))
            })
        })
    }
}

/// A factor, or a divisor.
type Factor = (Binary, ExprId);

/// An item without the factors that are made of other sums and do not depend on the reduction's axes, and these.
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
struct Walk<'w, 'f> {
    finder: &'w Finder<'f>,
    /// The score, on the sum's axes.
    score: ExprId,
    rescale: &'w mut Option<Rescale>,
}

impl Walk<'_, '_> {
    fn exprs(&self) -> &Exprs {
        &self.finder.program.exprs
    }

    fn sees(&self, e: ExprId) -> bool {
        self.exprs().reads(e).iter().any(|read| read.buffer == self.finder.of.buffer)
    }

    fn other(&self) -> Error {
        let (name, max) = (self.finder.name, self.finder.max);
        let error = self.finder.error(format!("the items of `{name}` see `{max}` otherwise than in one factor `exp(s - {max})`"));
        error.help("then the sum below another maximum is the same but for a factor, and no other sum is")
    }

    /// The item without its exponential. `under`: a condition that holds here.
    fn weight(&mut self, e: ExprId, under: Option<ExprId>) -> Result<ExprId, Error> {
        let dtype = self.exprs().dtype(e);
        match *self.exprs().get(e) {
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

    /// What is chosen: it has the exponential, or is 0.
    fn side(&mut self, e: ExprId, under: Option<ExprId>) -> Result<ExprId, Error> {
        match self.exprs().get(e) {
            Expr::Const(c) if c.value() == 0.0 => Ok(e),
            _ => self.weight(e, under),
        }
    }

    /// `scale * (score - m)`.
    fn exponential(&mut self, function: Unary, of: ExprId, under: Option<ExprId>) -> Result<(), Error> {
        let (difference, scale) = match *self.exprs().get(of) {
            Expr::Binary(Binary::Mul, a, b) if self.sees(a) => (a, Some(b)),
            Expr::Binary(Binary::Mul, a, b) if self.sees(b) => (b, Some(a)),
            _ => (of, None),
        };
        let Expr::Binary(Binary::Sub, score, max) = *self.exprs().get(difference) else { return Err(self.other()) };
        let is_max = matches!(self.exprs().get(max), Expr::Read(read) if read.buffer == self.finder.of.buffer);
        if !is_max || self.sees(score) {
            return Err(self.other());
        }
        if let Some(scale) = scale
            && !matches!(self.exprs().get(scale), Expr::Const(_) | Expr::Scalar(_))
        {
            let error =
                self.finder.error(format!("the factor within the exponential of `{}` is no literal or argument", self.finder.name));
            return Err(error.help("multiply the scores by it, before their maximum is taken"));
        }
        if !self.is_score(score, under) {
            let (name, max) = (self.finder.name, self.finder.max);
            let error =
                self.finder.error(format!("`{name}` takes exponentials of other scores than those that `{max}` is the maximum of"));
            return Err(error.help("both name the same scores: `let s[i, j]: f32[N, M] = …;` in the kernel"));
        }
        let found = Rescale { function, scale };
        match self.rescale.replace(found) {
            Some(other) if other != found => {
                let error = self.finder.error(format!("`{}` takes other exponentials than the sums before it", self.finder.name));
                Err(error.help("all of them are brought from one maximum to the next by one factor"))
            }
            _ => Ok(()),
        }
    }

    /// Whether a value is the score, where a condition holds.
    fn is_score(&self, e: ExprId, under: Option<ExprId>) -> bool {
        let masked = match *self.exprs().get(self.score) {
            Expr::Select(cond, score, masked) => {
                Some(cond) == under && score == e && matches!(self.exprs().get(masked), Expr::Const(_))
            }
            _ => false,
        };
        masked || e == self.score
    }
}

/// A product; of 1, the other factor.
fn times(exprs: &Exprs, a: ExprId, b: ExprId) -> ExprId {
    let one = |e: ExprId| matches!(exprs.get(e), Expr::Const(c) if c.value() == 1.0);
    if one(a) { b } else { exprs.product(a, b) }
}

/// Whether a buffer is of a pointwise intermediate that sees another buffer.
pub(super) fn sees(program: &Program, buffer: BufferId, other: BufferId) -> bool {
    let Some(stage) = program.definition(buffer) else { return false };
    let Body::Map(value) = program.stages[stage].body else { return false };
    program.exprs.reads(value).iter().any(|read| read.buffer == other || sees(program, read.buffer, other))
}

/// A value with some pointwise intermediates in their places.
pub(super) fn expanded(program: &Program, e: ExprId, which: &dyn Fn(BufferId) -> bool) -> ExprId {
    rewrite(&program.exprs, e, &mut |exprs, read| {
        let stage = program.definition(read.buffer).filter(|_| which(read.buffer) && read.outside == Outside::Never)?;
        let stage = &program.stages[stage];
        let Body::Map(value) = stage.body else { return None };
        let (points, _) = points(exprs, &stage.axes, &program.buffers[read.buffer], read);
        let value = expanded(program, value, which);
        let value = exprs.replace(value, &mut |exprs, id| match exprs.get(id) {
            Expr::Axis(axis) => points.get(axis).copied(),
            _ => None,
        });
        Some(exprs.cast(program.buffers[read.buffer].dtype, value))
    })
}

/// An expression on other axes.
pub(super) fn renamed(exprs: &Exprs, e: ExprId, axes: &HashMap<AxisId, AxisId>) -> ExprId {
    exprs.replace(e, &mut |exprs, id| match exprs.get(id) {
        Expr::Axis(axis) => axes.get(axis).map(|new| exprs.axis(*new)),
        _ => None,
    })
}
