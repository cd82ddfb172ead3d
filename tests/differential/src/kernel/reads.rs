//! Reads of new inputs, whose shape is made to fit the indices, and of existing inputs, intermediates and tables.

use super::builder::{Axis, Builder, Defined, Value};
use super::tree::{ArgumentKind, Expr, ExprKind, INDEX, Outside, Table, Type};
use tilewright_check::Fill;
use tilewright_launch::DType;

/// An index, the extent of the dimension that it fits, and whether it can be out of bounds.
struct Index {
    expr: Expr,
    extent: Expr,
    open: bool,
}

impl Builder<'_> {
    /// Generates a read of an input or a table.
    pub(super) fn read(&mut self, ty: Type) -> Value {
        let float = ty.is_float();
        if float && self.percent(4) {
            return self.table(ty);
        }
        let known: Vec<(String, Vec<Expr>)> = self
            .kernel
            .arguments
            .iter()
            .filter_map(|a| match &a.kind {
                ArgumentKind::Input(shape) if a.ty == ty => Some((a.name.clone(), shape.clone())),
                _ => None,
            })
            .collect();
        let ((name, shape), index, open) = match known.is_empty() || (self.may_declare() && self.percent(60)) {
            true if self.may_declare() || known.is_empty() => self.new_input(ty),
            _ => {
                let known = self.pick(&known);
                let (index, open) = self.fitting(&known.1);
                (known, index, open)
            }
        };
        let expr = self.read_of((name, &shape), ty, index, open);
        Value::new(expr, if float { 1.0 } else { f64::INFINITY }, true)
    }

    /// Generates a read of an intermediate, with a window over it if there is one, and sometimes of neighbours.
    pub(super) fn read_defined(&mut self, defined: &Defined) -> Value {
        let (mut index, mut open) = self.fitting(&defined.shape);
        for (index, extent) in index.iter_mut().zip(&defined.shape) {
            let window = self.windows.iter().find(|w| w.size == *extent);
            let axis = window.and_then(|w| self.scope.iter().find(|a| a.within == w.outer).cloned());
            if let Some(window) = axis.and_then(|axis| self.window_of(&axis)) {
                *index = window.expr;
            } else if self.percent(7) {
                *index = self.loose(&index.clone());
                open = true;
            }
        }
        let expr = self.read_of((defined.name.clone(), &defined.shape), defined.ty, index, open);
        Value::new(expr, defined.size, false)
    }

    fn read_of(&mut self, (tensor, shape): (String, &[Expr]), ty: Type, index: Vec<Expr>, open: bool) -> Expr {
        if open && ty.is_float() && self.percent(30) {
            return self.read_where_inside(tensor, shape, ty, index);
        }
        let outside = match open || self.percent(6) {
            false => Outside::Never,
            true if self.percent(50) => Outside::Clamp,
            true if ty == Type::Is(DType::Bool) => Outside::Pad("false".into()),
            true if ty.is_float() => Outside::Pad(self.pick(&["0.0", "0.0", "0.5", "-1.0"]).into()),
            true => Outside::Pad(self.pick(&["0", "7"]).into()),
        };
        Expr::new(ExprKind::Read { tensor, outside, index }, ty)
    }

    /// Generates a read under the condition that it is in bounds.
    fn read_where_inside(&mut self, tensor: String, shape: &[Expr], ty: Type, index: Vec<Expr>) -> Expr {
        let both = |index: &Expr, extent: &Expr| {
            let low = Expr::int(0).compare("<=", index.clone());
            low.infix("&&", index.clone().compare("<", extent.clone()))
        };
        let inside = index.iter().zip(shape).map(|(index, extent)| both(index, extent)).reduce(|all, one| all.infix("&&", one));
        let other = Expr::literal(self.pick(&["0.0", "0.5", "-1.0"]), ty);
        let read = Expr::new(ExprKind::Read { tensor, outside: Outside::Never, index }, ty);
        match inside {
            Some(inside) => Expr::new(ExprKind::If(inside.into(), read.into(), other.into()), ty),
            None => read,
        }
    }

    /// Declares an input for this read, with its shape.
    fn new_input(&mut self, ty: Type) -> ((String, Vec<Expr>), Vec<Expr>, bool) {
        let mut axes = self.scope.clone();
        self.random.shuffle(&mut axes);
        let rank = self.random.usize(1..=4).min(axes.len());
        axes.truncate(rank);
        // In the order of the loops, or transposed.
        if self.percent(55) {
            axes.sort_by_key(|a| self.scope.iter().position(|s| s.name == a.name));
        }
        let mut found: Vec<Index> = Vec::new();
        for axis in &axes {
            let index = self.new_index(axis);
            found.push(index);
        }
        let open = found.iter().any(|i| i.open);
        let (index, shape): (Vec<Expr>, Vec<Expr>) = found.into_iter().map(|i| (i.expr, i.extent)).unzip();
        ((self.input(ty, shape.clone()), shape), index, open)
    }

    /// Generates an index from an axis, and the extent of the dimension.
    fn new_index(&mut self, axis: &Axis) -> Index {
        let (name, within) = (Expr::name(&axis.name), axis.within.clone());
        let inside = |expr, extent| Index { expr, extent, open: false };
        if let Some(window) = self.window_of(axis)
            && self.percent(80)
        {
            return window;
        }
        if self.percent(40)
            && let Some(found) = self.found()
        {
            return found;
        }
        if let Some(expr) = self.maybe_large(40) {
            return Index { expr, extent: within, open: true };
        }
        match self.random.u8(..100) {
            0..5 => inside(within.clone().infix("-", Expr::int(1)).infix("-", name), within),
            5..9 => {
                let by = self.random.i64(2..=3);
                inside(name.infix("/", Expr::int(by)), within)
            }
            9..13 => {
                let by = self.random.i64(2..=4);
                inside(name.infix("%", Expr::int(by)), Expr::int(by))
            }
            13..18 => match self.scope.iter().find_map(|a| Some((a.name.clone(), a.within.as_int()?))) {
                Some((inner, count)) if inner != axis.name => {
                    inside(name.infix("*", Expr::int(count)).infix("+", Expr::name(inner)), within.infix("*", Expr::int(count)))
                }
                _ => inside(name, within),
            },
            18..20 => {
                let at = self.random.i64(0..=2);
                inside(Expr::int(at), Expr::int(at + 1))
            }
            20..32 => Index { expr: self.loose(&name), extent: within, open: true },
            32..37 if self.may_declare() => self.gathered(axis),
            _ => inside(name, within),
        }
    }

    /// Returns a convolution's index, if the axis is one of its two axes.
    fn window_of(&mut self, axis: &Axis) -> Option<Index> {
        let window = self.windows.iter().find(|w| w.outer == axis.within)?.clone();
        let tap = self.scope.iter().find(|a| a.within == window.taps && a.name != axis.name)?.name.clone();
        let tap = match window.dilation {
            Some(by) => Expr::name(tap).infix("*", by),
            None => Expr::name(tap),
        };
        let expr = Expr::name(&axis.name).infix("*", window.stride).infix("+", tap);
        Some(Index { expr, extent: window.size, open: false })
    }

    /// Generates an index that can be out of bounds: shifted, stretched, or made of two axes.
    fn loose(&mut self, name: &Expr) -> Expr {
        if let Some(index) = self.maybe_large(30) {
            return index;
        }
        let other = self.axis().map_or(Expr::int(1), |a| Expr::name(a.name));
        let by = Expr::int(self.random.i64(1..=3));
        match self.random.u8(..5) {
            0 | 1 => name.clone().infix(self.pick(&["+", "-"]), by),
            2 => name.clone().infix("+", other).infix("-", by),
            3 => name.clone().infix("*", Expr::int(2)).infix("-", by),
            _ => name.clone().infix("-", other),
        }
    }

    /// Returns the result of an argmin or argmax over a whole range as an index.
    fn found(&mut self) -> Option<Index> {
        let of = |defined: &Defined| {
            let stage = self.kernel.stages.iter().find(|stage| stage.name == defined.name)?;
            let ExprKind::Reduce { op: "argmin" | "argmax", ranges, .. } = &stage.value.kind else { return None };
            let [range] = ranges.as_slice() else { return None };
            let is_whole = range.low == Expr::int(0) && !range.inclusive && self.extents.contains(&range.high);
            is_whole.then(|| (defined.clone(), range.high.clone()))
        };
        let found: Vec<(Defined, Expr)> = self.defined.iter().filter_map(of).collect();
        let (defined, extent) = if found.is_empty() { return None } else { self.pick(&found) };
        let (index, open) = self.fitting(&defined.shape);
        let outside = if open { Outside::Clamp } else { Outside::Never };
        let expr = Expr::new(ExprKind::Read { tensor: defined.name, outside, index }, INDEX);
        Some(Index { expr, extent, open: false })
    }

    /// Generates an index that depends on data.
    fn gathered(&mut self, axis: &Axis) -> Index {
        // Uses a copy of the random numbers, so that the rest of the case stays the same as before this type existed.
        let ty = if self.random.clone().u8(..100) < 40 { Type::Is(DType::I64) } else { INDEX };
        let ids = self.input(ty, vec![axis.within.clone()]);
        self.fills.retain(|(name, _)| *name != ids);
        let fill = if self.percent(15) { Fill::Wild } else { Fill::Below(self.random.i64(4..=16)) };
        self.fills.push((ids.clone(), fill));
        let index = vec![Expr::name(&axis.name)];
        let mut expr = Expr::new(ExprKind::Read { tensor: ids, outside: Outside::Never, index }, ty);
        if self.percent(40) {
            let number = if ty == INDEX { expr } else { expr.cast(INDEX) };
            expr = number.infix(self.pick(&["-", "+"]), Expr::int(self.random.i64(1..=3)));
        }
        let extent = self.pick(&self.extents.clone());
        Index { expr, extent, open: true }
    }

    /// Generates indices for a given shape, and returns whether they can be out of bounds.
    pub(super) fn fitting(&mut self, shape: &[Expr]) -> (Vec<Expr>, bool) {
        let (mut index, mut used, mut open) = (Vec::new(), Vec::new(), false);
        for extent in shape {
            let exact: Vec<String> = self.scope.iter().filter(|a| a.within == *extent).map(|a| a.name.clone()).collect();
            let free: Vec<String> = exact.iter().filter(|n| !used.contains(*n)).cloned().collect();
            let name = if !free.is_empty() {
                Some(self.pick(&free))
            } else if !exact.is_empty() {
                Some(self.pick(&exact))
            } else {
                None
            };
            index.push(match (name, extent.as_int()) {
                (Some(name), _) => {
                    used.push(name.clone());
                    if self.percent(92) {
                        Expr::name(name)
                    } else {
                        extent.clone().infix("-", Expr::int(1)).infix("-", Expr::name(name))
                    }
                }
                (None, Some(count)) if count > 0 => match self.axis() {
                    Some(axis) => Expr::name(axis.name).infix("%", Expr::int(count)),
                    None => Expr::int(count - 1),
                },
                _ => {
                    open = true;
                    let name = self.axis().map_or(Expr::int(0), |a| Expr::name(a.name));
                    if self.percent(60) { name } else { self.loose(&name) }
                }
            });
        }
        (index, open)
    }

    /// Generates a read of a constant table.
    fn table(&mut self, ty: Type) -> Value {
        let rows = self.random.usize(1..=3);
        let columns = self.random.usize(2..=4);
        let name = format!("t{}", self.kernel.tables.len());
        let values = ["0.0", "1.0", "-0.5", "0.25", "0.75", "-1.0"];
        let rows: Vec<Vec<String>> = (0..rows).map(|_| (0..columns).map(|_| self.pick(&values).to_string()).collect()).collect();
        let shape = [Expr::int(rows.len() as i64), Expr::int(columns as i64)];
        self.kernel.tables.push(Table { name: name.clone(), ty, rows });
        let (index, _) = self.fitting(&shape);
        Value::new(Expr::new(ExprKind::Read { tensor: name, outside: Outside::Never, index }, ty), 1.0, true)
    }
}
