//! What a program's dims and conditions come to, remembered: a prover is made for nearly every question of a directive, and each
//! starts from these.
//!
//! The memory is a thread's, of the last few programs. It is found by what the dims and conditions are, down to every expression
//! in them and its id, so it never gives what loading them again would not.

use super::View;
use super::atoms::Atoms;
use super::context::Context;
use super::mono::AtomId;
use super::poly::Poly;
use super::samples::Sizes;
use crate::arena::Id as _;
use crate::expr::{Expr, ExprId};
use crate::nest::Program;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use tilewright_launch::{DType, Relation};

/// Programs that are remembered: a variant's, without its facts, and those of its specialized versions.
const MAX: usize = 8;

thread_local! {
    /// Newest last.
    static REMEMBERED: RefCell<Vec<(Key, Rc<Loaded>)>> = const { RefCell::new(Vec::new()) };
}

/// All that loading depends on.
struct Key {
    dims: Vec<Option<ExprId>>,
    conditions: Vec<(ExprId, Relation, ExprId)>,
    /// Every expression in them.
    exprs: Vec<(ExprId, Expr, DType)>,
}

/// What is known then.
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
    /// A context that knows all that holds of the program's dims.
    pub(super) fn loaded(program: &'p Program, view: View) -> Context<'p> {
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
    /// `None`: something in it is more than sizes.
    fn new(program: &Program) -> Option<Key> {
        let dims: Vec<Option<ExprId>> = program.dims.values().map(|dim| dim.derived).collect();
        let conditions: Vec<_> = program.conditions.iter().map(|c| (c.left, c.relation, c.right)).collect();
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
            && self.conditions.iter().copied().eq(program.conditions.iter().map(|c| (c.left, c.relation, c.right)))
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
