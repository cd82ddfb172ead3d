//! Walks over the parts of an expression.

use super::{Block, Expr, ExprKind, Outside, Reduce};

impl Expr {
    /// Calls `f` with an expression and each of its parts.
    pub fn each<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(self);
        self.parts(&mut |part| part.each(f));
    }

    /// Returns the height of the tree.
    pub fn height(&self) -> u32 {
        let mut highest = 0;
        self.parts(&mut |part| highest = part.height().max(highest));
        highest + 1
    }

    /// Calls `f` with each direct part.
    fn parts<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match &self.kind {
            ExprKind::Int { .. } | ExprKind::Float { .. } | ExprKind::Bool(_) | ExprKind::Path(_) | ExprKind::Name(_) => {}
            ExprKind::Index { outside, index, .. } => {
                if let Outside::Pad(value) = outside {
                    f(value);
                }
                index.iter().for_each(f);
            }
            ExprKind::Method { receiver, args, .. } => {
                f(receiver);
                args.iter().for_each(f);
            }
            ExprKind::Call { args, .. } | ExprKind::Array(args) => args.iter().for_each(f),
            ExprKind::Neg(a) | ExprKind::Not(a) | ExprKind::Cast(a, _) => f(a),
            ExprKind::Binary(_, _, a, b) | ExprKind::Compare(_, _, a, b) => {
                f(a);
                f(b);
            }
            ExprKind::If { cond, then, other } => {
                f(cond);
                then.parts(f);
                other.parts(f);
            }
            ExprKind::Block(block) => block.parts(f),
            ExprKind::Closure(function) => function.body.parts(f),
            ExprKind::Reduce(reduce) => reduce.parts(f),
        }
    }
}

impl Reduce {
    fn parts<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        for range in &self.ranges {
            f(&range.low);
            f(&range.high);
        }
        self.only.iter().for_each(|only| f(only));
        self.items.iter().for_each(|item| item.parts(f));
        if let Some(combiner) = &self.combiner {
            combiner.identity.iter().chain(&combiner.combined).for_each(f);
        }
    }

    /// Calls `f` with each expression of the reduction and each of its parts.
    pub fn each<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        self.parts(&mut |part| part.each(f));
    }
}

impl Block {
    fn parts<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        self.lets.iter().for_each(|bound| f(&bound.value));
        f(&self.value);
    }

    /// Calls `f` with each expression in the block and each of its parts.
    pub fn each<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        self.parts(&mut |part| part.each(f));
    }

    /// Returns the height of the highest tree.
    pub fn height(&self) -> u32 {
        let mut highest = 0;
        self.parts(&mut |part| highest = part.height().max(highest));
        highest
    }
}
