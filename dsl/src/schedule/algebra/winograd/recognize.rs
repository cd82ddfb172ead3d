//! Recognizes a convolution by its axes, in any layout: a sum of products of two factors. The input depends on an axis of the
//! result and an axis of the sum only through their sum (a window). The filter depends on the latter axis only.

use crate::diag::Error;
use crate::expr::ExprId;
use crate::launch::DType;
use crate::nest::{AxisId, Monoid, Program, StageId};
use crate::schedule::algebra::convolution::{self, Pairs, Sum};
use crate::syntax::Name;

/// A dimension in which a filter slides over the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// The axis of the result.
    pub(super) out: AxisId,
    /// The axis of the sum.
    pub(super) tap: AxisId,
    /// The number of taps of the filter in this dimension.
    pub(super) taps: usize,
}

/// A stage that is a convolution.
#[derive(Debug)]
pub(super) struct Convolution {
    pub(super) stage: StageId,
    /// One or two windows.
    pub(super) windows: Vec<Window>,
    /// The factor over which the windows slide.
    pub(super) input: ExprId,
    /// The other factor.
    pub(super) filter: ExprId,
    /// All axes of the stage.
    pub(super) axes: Vec<AxisId>,
    /// The axes of the sum that do not belong to windows.
    pub(super) channels: Vec<AxisId>,
    pub(super) monoid: Monoid,
    /// The result as a function of the sum.
    pub(super) finish: ExprId,
}

/// The required form of a stage.
const SUM: &str = "Winograd's algorithm is for a sum of products: `y[i] = sum(f in 0..3, c in 0..C) { x[i + f, c] * w[f, c] }`";

/// Recognizes the convolution that a name denotes.
pub(super) fn convolution(program: &Program, name: &Name) -> Result<Convolution, Error> {
    let sum = |what: &str| Err(convolution::no_sum(name, what, SUM));
    let Sum { stage, monoid, over, item, finish } = convolution::sum(program, name, SUM)?;
    let dtype = program.exprs.dtype(item);
    if !matches!(dtype, DType::F32 | DType::F16) {
        let error = Error::new(name.span, format!("`{name}` is a sum of {dtype}, but the transforms need fractions"));
        return Err(error.help("Winograd's algorithm is for f32 and f16"));
    }
    let factors = convolution::factors(program, item);
    if factors.len() < 2 {
        return sum("a sum whose items are not products");
    }
    let all: Vec<AxisId> = program.root_axes(stage);
    convolution::check_ranges(program, name, &all, "Winograd's algorithm needs extents that depend on sizes only")?;
    let outs = program.stages[stage].axes.clone();
    let pairs = |e: ExprId| convolution::pairs(program, e, &outs, &over);
    let (slid, others): (Vec<ExprId>, Vec<ExprId>) = factors.into_iter().partition(|factor| !pairs(*factor).is_empty());
    let [input] = slid[..] else {
        return sum(if slid.is_empty() { "a sum without a window" } else { "a sum of products in which several factors slide" });
    };
    let Some(filter) = others.into_iter().reduce(|a, b| program.exprs.product(a, b)) else { return sum("not a sum of products") };
    let (pairs, found) = (pairs(input), Found { program, name, input, filter });
    let windows = found.windows(pairs)?;
    found.check(&windows)?;
    let channels = over.into_iter().filter(|axis| windows.iter().all(|w| w.tap != *axis)).collect();
    Ok(Convolution { stage, axes: all, windows, input, filter, channels, monoid, finish })
}

/// The state of the analysis.
struct Found<'f> {
    program: &'f Program,
    name: &'f Name,
    input: ExprId,
    filter: ExprId,
}

impl Found<'_> {
    fn axis(&self, axis: AxisId) -> &str {
        &self.program.axes[axis].name
    }

    fn error(&self, what: String) -> Error {
        Error::new(self.name.span, what)
    }

    /// Converts pairs of axes to windows.
    fn windows(&self, pairs: Pairs) -> Result<Vec<Window>, Error> {
        let mut windows: Vec<Window> = Vec::new();
        for ((out, tap), (stride, dilation)) in pairs {
            let taps = self.literal(tap);
            let (o, f) = (self.axis(out), self.axis(tap));
            if stride != 1 || dilation != 1 {
                let what = if stride == 1 { ("dilation", dilation, f) } else { ("stride", stride, o) };
                let error = self.error(format!("`{}` has the {} {} in `{}`", self.name, what.0, what.1, what.2));
                return Err(error.help("Winograd's algorithm is for stride 1 and dilation 1"));
            }
            let taps = taps.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| self.unknown(tap))?;
            if !matches!(taps, 3 | 5) {
                let error = self.error(format!("the window over `{f}` has {taps} taps"));
                return Err(error.help("windows of 3 and 5 taps are possible"));
            }
            if windows.iter().any(|w| w.out == out || w.tap == tap) {
                let error = self.error(format!("the window of `{o}` and `{f}` shares an axis with another window"));
                return Err(error.help("Winograd's algorithm needs one axis of the sum for each axis of the result"));
            }
            windows.push(Window { out, tap, taps });
        }
        match windows.len() {
            1 | 2 => Ok(windows),
            n => Err(self.error(format!("`{}` has windows in {n} dimensions", self.name)).help("one or two are possible")),
        }
    }

    fn literal(&self, tap: AxisId) -> Option<i64> {
        self.program.exprs.as_int(self.program.axes[tap].extent)
    }

    fn unknown(&self, tap: AxisId) -> Error {
        let text = crate::nest::print::expr(self.program, self.program.axes[tap].extent);
        let error = self.error(format!("the number of taps of the window over `{}` is not known: `{text}`", self.axis(tap)));
        error.help("make it a parameter of the kernel, as `FH = 3`, or state it as a fact")
    }

    /// Checks that the factors depend on a window's axes as in a convolution.
    fn check(&self, windows: &[Window]) -> Result<(), Error> {
        for window in windows {
            let (o, f) = (self.axis(window.out), self.axis(window.tap));
            if self.program.exprs.uses_axis(self.filter, &mut |axis| axis == window.out) {
                let error = self.error(format!("the filter depends on `{o}`, over which it slides"));
                return Err(error.help("Winograd's algorithm needs one filter for all results"));
            }
            if !self.slides(self.input, window) {
                let error = self.error(format!("the input depends on `{o}` and `{f}` in another way than through `{o} + {f}`"));
                return Err(error.help("Winograd's algorithm needs an input that every tap reads at every element"));
            }
        }
        Ok(())
    }

    /// True if a value depends on a window's axes only through their sum.
    fn slides(&self, e: ExprId, window: &Window) -> bool {
        let exprs = &self.program.exprs;
        if !exprs.uses_axis(e, &mut |axis| axis == window.out || axis == window.tap) {
            return true;
        }
        if !exprs.is_index(e) {
            return exprs.get(e).operands().into_iter().all(|operand| self.slides(operand, window));
        }
        let linear = exprs.linear(e);
        let times = |axis| linear.axes.get(&axis).copied().unwrap_or(0);
        let inner = |rest: ExprId| exprs.get(rest).operands().into_iter().all(|operand| self.slides(operand, window));
        times(window.out) == times(window.tap) && linear.rest.iter().all(|(rest, _)| inner(*rest))
    }
}
