//! Pointwise intermediates that are stored: the factors of products whose elements are expensive.
//!
//! A product reads each element of a factor many times. If an intermediate with functions were inlined there, as the exponentials
//! of attention would be, each read would compute it again.

use super::draft::Line;
use super::form::Nest;
use super::product;
use crate::expr::{Binary, Expr, Unary};
use crate::nest::{Body, Program, StageId};
use crate::schedule::placement;
use crate::syntax::schedule::{Directive, DirectiveKind, Item};

/// Returns the intermediates that are stored, of those that the schedule does not place.
pub(super) fn of(program: &Program, items: &[Item]) -> Vec<StageId> {
    let stages: Vec<StageId> = program.stages.ids().collect();
    let reductions = stages.iter().filter(|stage| matches!(program.stages[**stage].body, Body::Reduce { .. }));
    let mut found = Vec::new();
    for stage in reductions {
        let nest = Nest::of(program, *stage);
        let Some(product) = product::of(&nest, program) else { continue };
        for buffer in product.factors() {
            let made = program.definition(buffer).filter(|made| is_expensive(program, *made) && !is_placed(program, items, *made));
            found.extend(made.filter(|made| !found.contains(made)));
        }
    }
    found
}

/// Returns the directive that stores an intermediate.
pub(super) fn line(name: &str) -> Line {
    Line::new(format!("root({name})"), "a product reads each element many times")
}

/// True if a schedule places the stage itself.
pub(super) fn is_placed(program: &Program, items: &[Item], stage: StageId) -> bool {
    let name = &program.stages[stage].name;
    let inlines = |d: &Directive| matches!(&d.kind, DirectiveKind::Inline(names) | DirectiveKind::Root(names) if names.iter().any(|n| n.text == *name));
    placement::directives(items).any(inlines) || placement::computed_at(items).any(|placed| placed.source.text == *name)
}

/// True if an intermediate is pointwise, and one of the stages that it inlines has a function.
fn is_expensive(program: &Program, stage: StageId) -> bool {
    let Body::Map(value) = program.stages[stage].body else { return false };
    if program.is_result(stage) {
        return false;
    }
    let function = |e: &Expr| match e {
        Expr::Unary(op, _) => !matches!(op, Unary::Neg | Unary::Not | Unary::Abs | Unary::Sign | Unary::IsNan | Unary::Index),
        Expr::Binary(op, ..) => matches!(op, Binary::Pow | Binary::Atan2),
        _ => false,
    };
    let inlined =
        program.exprs.reads(value).into_iter().filter_map(|read| program.definition(read.buffer)).filter(|of| *of != stage);
    program.exprs.any(value, &mut |e| function(e)) || inlined.into_iter().any(|of| of < stage && is_expensive(program, of))
}
