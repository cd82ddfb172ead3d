//! A cache of the facts that a program's dims and conditions imply. A directive makes a prover for nearly every question, and
//! each prover starts from these facts.
//!
//! Each thread remembers the last few programs. The key contains the dims and conditions with all their expressions and ids, so
//! a hit has the same content as a new load.

use crate::arena::Id as _;
use crate::expr::{Expr, ExprId};
use crate::facts::View;
use crate::facts::context::Context;
use crate::facts::polynomials::atoms::Atoms;
use crate::facts::polynomials::mono::AtomId;
use crate::facts::polynomials::poly::Poly;
use crate::facts::refutation::samples::Sizes;
use crate::nest::Program;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use tilewright_launch::{DType, Relation};

/// The most programs that are remembered: a variant, the variant without its facts, and its specialized versions.
const MAX: usize = 8;

thread_local! {
    /// The newest is last.
    static REMEMBERED: RefCell<Vec<(Key, Rc<Loaded>)>> = const { RefCell::new(Vec::new()) };
}

/// Everything that loading depends on.
struct Key {
    dims: Vec<Option<ExprId>>,
    conditions: Vec<(ExprId, Relation, ExprId)>,
    /// All expressions in the dims and conditions.
    exprs: Vec<(ExprId, Expr, DType)>,
}

/// The result of loading.
struct Loaded {
    atoms: Atoms,
    equal: BTreeMap<AtomId, Poly>,
    facts: Vec<Poly>,
    zeros: Vec<Poly>,
    nonzeros: Vec<Poly>,
    absurd: bool,
    sizes: Sizes,
}

impl<'p> Context<'p> {
    /// Returns a context that has loaded the program's dims and conditions.
    pub(in crate::facts) fn loaded(program: &'p Program, view: View) -> Context<'p> {
        let find =
            |list: &Vec<(Key, Rc<Loaded>)>| list.iter().find(|(key, _)| key.is_of(program)).map(|(_, loaded)| loaded.clone());
        if let Some(loaded) = REMEMBERED.with_borrow(find) {
            return loaded.context(program, view);
        }
        let mut context = Context::new(program, view);
        context.load(&|_| true);
        if let Some(key) = Key::new(program) {
            let loaded = Rc::new(Loaded::new(&mut context));
            REMEMBERED.with_borrow_mut(|list| {
                if list.len() == MAX {
                    list.remove(0);
                }
                list.push((key, loaded));
            });
        }
        context
    }
}

impl Key {
    /// Returns the key. `None` if an expression contains an axis or a read, which this key does not cover.
    fn new(program: &Program) -> Option<Key> {
        let dims: Vec<Option<ExprId>> = program.dims.values().map(|dim| dim.derived).collect();
        let conditions: Vec<_> = program.checks.conditions.iter().map(|c| (c.left, c.relation, c.right)).collect();
        let sides = conditions.iter().flat_map(|(left, _, right)| [*left, *right]);
        let mut open: Vec<ExprId> = dims.iter().flatten().copied().chain(sides).collect();
        let mut exprs: Vec<(ExprId, Expr, DType)> = Vec::new();
        while let Some(id) = open.pop() {
            if exprs.iter().any(|(known, _, _)| *known == id) {
                continue;
            }
            let expr = program.exprs.get(id).clone();
            if matches!(expr, Expr::Axis(_) | Expr::Read(_)) {
                return None;
            }
            open.extend(expr.operands());
            exprs.push((id, expr, program.exprs.dtype(id)));
        }
        Some(Key { dims, conditions, exprs })
    }

    fn is_of(&self, program: &Program) -> bool {
        let all = &program.exprs;
        let same =
            |(id, expr, dtype): &(ExprId, Expr, DType)| id.index() < all.len() && all.dtype(*id) == *dtype && all.get(*id) == expr;
        self.dims.iter().copied().eq(program.dims.values().map(|dim| dim.derived))
            && self.conditions.iter().copied().eq(program.checks.conditions.iter().map(|c| (c.left, c.relation, c.right)))
            && self.exprs.iter().all(same)
    }
}

impl Loaded {
    fn new(context: &mut Context<'_>) -> Loaded {
        let sizes = context.sizes();
        Loaded {
            atoms: context.atoms.clone(),
            equal: context.equal.clone(),
            facts: context.facts.clone(),
            zeros: context.zeros.clone(),
            nonzeros: context.nonzeros.clone(),
            absurd: context.absurd,
            sizes,
        }
    }

    fn context<'p>(&self, program: &'p Program, view: View) -> Context<'p> {
        Context {
            atoms: self.atoms.clone(),
            equal: self.equal.clone(),
            facts: self.facts.clone(),
            zeros: self.zeros.clone(),
            nonzeros: self.nonzeros.clone(),
            absurd: self.absurd,
            sizes: Some(self.sizes.clone()),
            ..Context::new(program, view)
        }
    }
}
