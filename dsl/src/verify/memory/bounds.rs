//! Checks that every access is inside its buffer, on each side that the access neither clamps nor fills.

use crate::diag::Error;
use crate::expr::{Binary, Expr, ExprId, Outside};
use crate::facts::Prover;
use crate::nest::{BufferId, Space};
use crate::verify::Rule;
use crate::verify::context::Checks;
use crate::verify::site::{Site, SiteAccess};

impl<'v> Checks<'v> {
    /// Checks every access of the dispatch.
    pub(in crate::verify) fn bounds(&self) {
        for site in self.sites {
            for touch in &site.touches {
                self.inside(site, touch);
            }
        }
    }

    fn inside(&self, site: &Site<'_>, touch: &SiteAccess) {
        let named = |index: ExprId| if touch.writes { index } else { self.over_chosen(site, index) };
        let buffer = &self.program.buffers[touch.buffer];
        let versions = usize::from(buffer.versions > 1);
        if let Some(version) = touch.index.first().filter(|_| versions == 1)
            && !self.holds(&[*version], site, |prover| prover.nonneg(*version))
        {
            self.outside(site, touch, 0, "may be a negative version");
        }
        for (dimension, extent) in buffer.shape.iter().enumerate() {
            let Some(index) = touch.index.get(dimension + versions).map(|index| named(*index)) else { continue };
            // Each invocation has its own element in this dimension, inactive invocations included, so the index cannot be out of bounds.
            if self.is_private(touch.buffer) && self.owner(site, index).is_some() {
                continue;
            }
            let (low, high) = sides(touch, dimension);
            if low && !self.is_above(site, index) {
                self.outside(site, touch, dimension + versions, "may be negative");
            } else if high && !self.is_below(site, index, *extent) {
                self.outside(site, touch, dimension + versions, &format!("may reach {}", self.printer.expr(*extent)));
            }
        }
    }

    /// True if an index is not negative. A clamped index is judged by its clamp, and a component (`x % n`) by its definition.
    fn is_above(&self, site: &Site<'_>, index: ExprId) -> bool {
        let kept = match *self.program.exprs.get(index) {
            _ if !self.program.exprs.is_walkable(index) => false,
            Expr::Binary(Binary::Max, a, b) => self.is_above(site, b) || self.is_above(site, a),
            Expr::Binary(Binary::Min, a, b) => self.is_above(site, a) && self.is_above(site, b),
            Expr::Binary(Binary::FloorMod, _, by) => self.program.exprs.as_int(by).is_some_and(|by| by > 0),
            _ => false,
        };
        // For the difference of two indices that are clamped in the same way, the prover would have to split into too many cases.
        let is_difference = |prover: &Prover<'v>| match *self.program.exprs.get(index) {
            Expr::Binary(Binary::Sub, a, b) => self.grows(&[prover], b, a),
            _ => false,
        };
        kept || self.holds(&[index], site, |prover| prover.nonneg(index)) || self.holds(&[index], site, is_difference)
    }

    /// True if an index is below an extent. Clamped indices and components are judged as in [`Checks::is_above`].
    fn is_below(&self, site: &Site<'_>, index: ExprId, extent: ExprId) -> bool {
        let exprs = &self.program.exprs;
        let kept = match *exprs.get(index) {
            _ if !exprs.is_walkable(index) => false,
            Expr::Binary(Binary::Max, a, b) => self.is_below(site, a, extent) && self.is_below(site, b, extent),
            Expr::Binary(Binary::Min, a, b) => self.is_below(site, b, extent) || self.is_below(site, a, extent),
            Expr::Binary(Binary::Sub, a, b) => self.is_below(site, a, extent) && self.is_above(site, b),
            Expr::Binary(Binary::FloorMod, _, by) => {
                exprs.as_int(by).zip(exprs.as_int(extent)).is_some_and(|(by, extent)| by > 0 && by <= extent)
            }
            // The quotient of a minimum is at most the quotient of each operand, because a floored division is monotonic.
            Expr::Binary(Binary::FloorDiv, place, by) if exprs.as_int(by).is_some_and(|by| by > 0) => match *exprs.get(place) {
                Expr::Binary(Binary::Min, a, b) => {
                    [b, a].into_iter().any(|place| self.is_below(site, exprs.binary(Binary::FloorDiv, place, by), extent))
                }
                _ => false,
            },
            _ => false,
        };
        kept || self.holds(&[index], site, |prover| prover.less_by(index, extent, 1))
    }

    fn outside(&self, site: &Site<'_>, touch: &SiteAccess, at: usize, how: &str) {
        if self.never_runs(site) {
            return;
        }
        let index: ExprId = touch.index[at];
        if let Some(axis) = self.running_past(&[index], site).into_iter().next() {
            let name = self.buffer(touch.buffer);
            return self.missing(site, axis, &format!("would access `{name}` past its end"));
        }
        let verb = if touch.writes { "writes" } else { "reads" };
        let (line, name) = (self.line(site), self.buffer(touch.buffer));
        let what = format!("{}: `{line}` {verb} `{name}` at `{}`, which {how}", Rule::Bounds, self.printer.expr(index));
        self.error(Error::new(site.span(), what));
    }

    /// True if other invocations can read the elements that one invocation writes to a buffer.
    pub(in crate::verify) fn is_visible(&self, buffer: BufferId) -> bool {
        self.space(buffer).is_global() || *self.space(buffer) == Space::Shared
    }
}

/// The sides (low, high) of a dimension on which an access must be proved in bounds.
pub(in crate::verify) fn sides(touch: &SiteAccess, dimension: usize) -> (bool, bool) {
    match &touch.outside {
        Outside::Never => (true, true),
        Outside::Clamp(sides) | Outside::Fill(_, sides) => sides.get(dimension).map_or((true, true), |(low, high)| (!low, !high)),
    }
}
