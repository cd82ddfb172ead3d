//! The launch's parameters: sizes and scalars, and the facts about dims that are known beforehand.

use crate::hash::Map;
use crate::values::{Kind, ValueId};
use crate::{Resolver, Wanted};
use tilewright_dsl::arena::Id as _;
use tilewright_dsl::expr::{Binary, Expr, ExprId};
use tilewright_dsl::launch::{DType, ParamValue, Relation, Size};
use tilewright_dsl::lower::launch::{scalar_index, size};
use tilewright_dsl::nest::{DimId, Program, ScalarId};

/// The sizes and scalars that values refer to, by number.
pub(crate) struct Params {
    all: Vec<Param>,
    sizes: Map<Size, u32>,
    scalars: Map<u32, u32>,
    /// Dims that conditions require to be multiples of a literal.
    multiples: Map<u32, i64>,
    /// For each dim, whether it is known when the pipeline is created.
    pinned: Vec<bool>,
}

/// A size or a scalar.
pub struct Param {
    /// The size, or the scalar's number.
    pub value: ParamValue,
    /// The type in which it is passed.
    pub dtype: DType,
    /// True if it is known when the pipeline is created.
    pub pinned: bool,
}

impl Params {
    pub(crate) fn new(program: &Program) -> Params {
        let (multiples, pinned) = (multiples(program), pinned(program));
        Params { all: Vec::new(), sizes: Map::default(), scalars: Map::default(), multiples, pinned }
    }
}

impl Resolver<'_> {
    /// Returns the parameter with a number.
    pub fn parameter(&self, n: u32) -> &Param {
        &self.params.all[n as usize]
    }

    /// Returns the value of a dim. A dim that is a multiple of 32 is 32 times a parameter, so that indices can be
    /// divided by 32.
    pub(crate) fn dim(&mut self, dim: DimId) -> ValueId {
        let n = dim.index() as u32;
        match self.params.multiples.get(&n).copied() {
            Some(by) if by > 1 => {
                let part = Size::FloorDiv(Size::Dim(n).into(), Size::Const(by).into());
                let part = self.size_param(part);
                self.values.scaled(part, by)
            }
            _ => self.size_param(Size::Dim(n)),
        }
    }

    /// Returns a size that the launch computes.
    pub(crate) fn size_param(&mut self, size: Size) -> ValueId {
        let bounds = size.bounds();
        let n = self.size_number(size);
        self.values.size(n, bounds)
    }

    /// Returns the number of a size.
    fn size_number(&mut self, size: Size) -> u32 {
        if let Some(n) = self.params.sizes.get(&size) {
            return *n;
        }
        let n = self.param(Param { value: ParamValue::Size(size.clone()), dtype: DType::I32, pinned: self.is_pinned(&size) });
        self.params.sizes.insert(size, n);
        n
    }

    fn param(&mut self, param: Param) -> u32 {
        let n = self.params.all.len() as u32;
        self.params.all.push(param);
        self.wanted.push(Wanted::Param(n));
        n
    }

    /// Returns the size with a parameter number.
    pub(crate) fn size_of(&self, n: u32) -> Option<&Size> {
        match &self.params.all.get(n as usize)?.value {
            ParamValue::Size(size) => Some(size),
            _ => None,
        }
    }

    /// True if a size depends on pinned dims only.
    fn is_pinned(&self, size: &Size) -> bool {
        let pinned = |d: u32| self.params.pinned.get(d as usize).is_some_and(|pinned| *pinned);
        size.any_dim(&|_| true) && !size.any_dim(&|d| !pinned(d))
    }

    /// True if a value is known when the pipeline is created.
    pub fn is_folded(&self, id: ValueId) -> bool {
        match &self.values.node(id).kind {
            Kind::Const(_) => true,
            Kind::Param(n) => self.params.all.get(*n as usize).is_some_and(|param| param.pinned),
            Kind::Sum(sum) => sum.terms.iter().flat_map(|t| &t.factors).all(|factor| self.is_folded(*factor)),
            Kind::Op(_, operands) => operands.iter().all(|operand| self.is_folded(*operand)),
            _ => false,
        }
    }

    /// Returns a scalar argument in the type in which it is passed: f16 as f32, bool as a 32-bit word, and narrow dtypes as values have them.
    pub(crate) fn scalar_param(&mut self, scalar: ScalarId) -> ValueId {
        let index = scalar_index(self.program, scalar);
        let dtype = match self.program.scalars[scalar].dtype {
            DType::F16 => DType::F32,
            DType::Bool => DType::U32,
            dtype => dtype.computed(),
        };
        let n = match self.params.scalars.get(&index) {
            Some(n) => *n,
            None => {
                let n = self.param(Param { value: ParamValue::Scalar(index), dtype, pinned: false });
                self.params.scalars.insert(index, n);
                n
            }
        };
        self.values.scalar_param(n, dtype, crate::narrow::numbers(self.program.scalars[scalar].dtype))
    }

    /// Returns a size expression over dims as the launch computes it, or `None` if the expression is not one.
    pub(crate) fn launch_size(&self, id: ExprId) -> Option<Size> {
        size(self.program, id)
    }
}

/// The dims that a condition of the form `D % 4 == 0` requires to be multiples of a literal.
fn multiples(program: &Program) -> Map<u32, i64> {
    let mut multiples: Map<u32, i64> = Map::default();
    for c in &program.checks.conditions {
        let exprs = &program.exprs;
        let Expr::Binary(Binary::FloorMod | Binary::Rem, dim, by) = exprs.get(c.left) else { continue };
        let (Expr::Dim(dim), Some(by), Some(0)) = (exprs.get(*dim), exprs.as_int(*by), exprs.as_int(c.right)) else { continue };
        if c.relation == Relation::Eq && (1..=1 << 16).contains(&by) {
            let known = multiples.get_or_insert_with(dim.index() as u32, || 1);
            *known = (*known * by / gcd(*known, by)).min(1 << 24).max(*known);
        }
    }
    multiples
}

/// For each dim, whether it is pinned or derived from pinned dims only.
fn pinned(program: &Program) -> Vec<bool> {
    let mut pinned = vec![false; program.dims.len()];
    for (id, dim) in program.dims.iter() {
        let follows = |value| size(program, value).is_some_and(|s| !s.any_dim(&|d| !pinned.get(d as usize).is_some_and(|p| *p)));
        pinned[id.index()] = match dim.derived {
            None => program.statements.pinned.contains(&id),
            Some(value) => follows(value),
        };
    }
    pinned
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
