//! Stages that are computed where they are read: checks that each computes the value of the algorithm's stage at the element that it
//! replaces ([`Notes::placed`](crate::nest::Notes::placed)). `copies` traces the reads of such a stage to that element.

use crate::expr::{Expr, ExprId, Outside};
use crate::nest::points::points;
use crate::nest::{Body, Monoid, Stage, StageId};
use crate::verify::Rule;
use crate::verify::context::Checks;
use crate::verify::site::Site;

/// The definition that a leaf of a stage must match.
pub(in crate::verify) struct Wanted {
    pub(in crate::verify) body: Body,
    /// The further values that a reduction stores.
    pub(in crate::verify) also: Vec<ExprId>,
}

impl Checks<'_> {
    /// Returns the definition that a leaf of a stage must match: the stage's own, or, if the stage is placed, the algorithm's stage at its
    /// element.
    pub(in crate::verify) fn wanted(&self, site: &Site<'_>, id: StageId) -> Wanted {
        let Stage { body, also, .. } = &self.program.stages[id];
        let own = || Wanted { body: body.clone(), also: also.iter().map(|(_, value)| *value).collect() };
        let Some(element) = self.program.notes.placed.get(&id) else { return own() };
        self.at_element(site, *element, body).unwrap_or_else(|| {
            let what = format!("the elements of `{}` are not defined in the algorithm", self.stage(id));
            self.refuse(Rule::Value, site.span(), what);
            own()
        })
    }

    /// Returns the body of the stage that defines `element`, at that element. `own` provides the axes to reduce over.
    fn at_element(&self, site: &Site<'_>, element: ExprId, own: &Body) -> Option<Wanted> {
        let (program, exprs) = (self.program, &self.program.exprs);
        let Expr::Read(read) = exprs.get(element) else { return None };
        let stage = &program.stages[program.definition(read.buffer)?];
        let (kept, inside) = points(exprs, &stage.axes, &program.buffers[read.buffer], read);
        // The fill replaces the value at these points, so any value may be computed there.
        let mut places = match read.outside {
            Outside::Fill(..) => stage.axes.iter().copied().zip(read.index.iter().copied()).collect(),
            _ => kept.clone(),
        };
        let filled = |value: ExprId| match (&read.outside, inside) {
            (Outside::Fill(fill, _), Some(inside)) => exprs.select(inside, value, *fill),
            _ => value,
        };
        let body = match (&stage.body, own) {
            (Body::Map(value), Body::Map(_)) => Body::Map(filled(program.at_points(*value, &places))),
            (Body::Reduce { monoid, over, lift, finish }, Body::Reduce { monoid: same, over: own, .. })
                if is_same(monoid, same) && over.len() == own.len() =>
            {
                let mut ranges = kept;
                for (axis, own) in over.iter().zip(own) {
                    let here = exprs.axis(*own);
                    let extent = program.at_points(self.extent(*axis), &ranges);
                    if !self.same_index(self.extent(*own), extent) {
                        let what =
                            format!("the range of `{}` differs from the range in the stage that it replaces", self.name(*own));
                        self.refuse(Rule::Value, site.span(), what);
                    }
                    ranges.insert(*axis, here);
                    places.insert(*axis, here);
                }
                let lift = lift.iter().map(|item| program.at_points(*item, &places)).collect();
                let finish = filled(program.at_points(*finish, &places));
                Body::Reduce { monoid: monoid.clone(), over: own.clone(), lift, finish }
            }
            _ => return None,
        };
        let also = stage.also.iter().map(|(_, value)| program.at_points(*value, &places)).collect();
        Some(Wanted { body, also })
    }
}

fn is_same(a: &Monoid, b: &Monoid) -> bool {
    a.identity == b.identity && a.combine == b.combine
}
