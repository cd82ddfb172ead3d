//! Gives a reduction a combiner of the kernel, with a state of several components, `reduce(…) { … } from … by …`. Schedules treat it as the
//! operation that it had.

use super::bins::identity;
use super::text::commas;
use super::tree::{Expr, ExprKind, INDEX, Kernel, Range, Role, Stage, Type};
use fastrand::Rng;
use tilewright_launch::DType;

/// A combiner: its name in the tree, the operation that it replaces, and its text. The components of the operands are `c2` and `c3`, and
/// `c4` and `c5`. The results are `c0` and `c1`.
struct Form {
    name: &'static str,
    of: &'static str,
    /// The kinds of dtypes that it takes: floats, integers, bools.
    takes: [bool; 3],
    /// The second component of the item, over its value `c6` and the axis `AXIS`.
    second: &'static str,
    /// The identity of the second component.
    identity: &'static str,
    combined: &'static str,
    /// The result of a definition of one tensor, whose dtype is `T`.
    result: &'static str,
}

const BEST: &str = "if c4 OP c2 || (c4 == c2 && c5 < c3) { (c4, c5) } else { (c2, c3) }";

const FORMS: [Form; 8] = [
    both(["reduce ends", "max"], [true, false, false], "T::INFINITY", "(c2.max(c4), c3.min(c5))", "(c0.max(-8.0) - c1.min(8.0))"),
    best("reduce most of ints", "max"),
    best("reduce least of ints", "min"),
    both(["reduce sum", "sum"], [true, false, false], "0.0", "(c2 + c4, c3.max(c5))", "(c0 + c1)"),
    both(["reduce sum of ints", "sum"], [false, true, false], "0", "(c2 + c4, c3 ^ c5)", "(c0 ^ c1)"),
    both(["reduce prod of ints", "prod"], [false, true, false], "0", "(c2 * c4, c3 | c5)", "(c0 ^ c1)"),
    both(["reduce any", "any"], [false, false, true], "false", "(c2 || c4, c3 ^ c5)", "(c0 ^ c1)"),
    both(["reduce all", "all"], [false, false, true], "false", "{ let both = c2 && c4; (both, c3 ^ c5) }", "(c0 ^ c1)"),
];

/// The greatest or the least item, and its first position. Of floats that are nearly equal, a device may choose another one, whose error is not
/// in the bound.
const fn best(name: &'static str, of: &'static str) -> Form {
    let takes = [false, true, false];
    Form { name, of, takes, second: "AXIS", identity: "2147483647", combined: BEST, result: "(c0 ^ (c1 % 4) as T)" }
}

/// Two results of the same items.
const fn both(
    [name, of]: [&'static str; 2],
    takes: [bool; 3],
    identity: &'static str,
    combined: &'static str,
    result: &'static str,
) -> Form {
    Form { name, of, takes, second: "c6", identity, combined, result }
}

/// Gives a random reduction of a kernel a combiner. Sometimes its second component is a result, too.
pub(crate) fn combined(random: &mut Rng, kernel: &mut Kernel) {
    let mut found = Vec::new();
    for (at, stage) in kernel.stages.iter().enumerate() {
        let mut node = 0;
        stage.value.visit(&mut |e| {
            if let ExprKind::Reduce { op, body, .. } = &e.kind {
                let form = FORMS.iter().find(|form| form.of == *op && form.takes[kind(body.ty)]);
                found.extend(form.filter(|_| identity(op, body.ty).is_some()).map(|form| (at, node, form)));
            }
            node += 1;
        });
    }
    let Some((at, node, form)) = random.choice(found) else { return };
    let Some(place) = kernel.stages[at].value.nth_mut(&mut { node }) else { return };
    let ExprKind::Reduce { op, body, .. } = &mut place.kind else { return };
    *op = form.name;
    let ty = if form.second == "c6" { body.ty } else { INDEX };
    if node == 0 && kernel.stages[at].role == Role::Output && !kernel.stages[at].joined && random.bool() {
        let first = kernel.stages[at].clone();
        let value = Expr::new(ExprKind::Name("c1".into()), ty);
        kernel.stages.insert(at + 1, Stage { name: "second".into(), ty, value, joined: true, ..first });
    }
}

/// Returns the place of a dtype's kind in [`Form::takes`].
fn kind(ty: Type) -> usize {
    match ty {
        Type::Is(DType::Bool) => 2,
        ty if ty.is_float() => 0,
        _ => 1,
    }
}

/// Returns the `let` and the result of a reduction by a name of [`FORMS`]. `None` for other reductions.
pub(super) fn text(op: &str, ranges: &[Range], only: Option<&Expr>, body: &Expr) -> Option<(String, String)> {
    let form = FORMS.iter().find(|form| form.name == op)?;
    let first = identity(form.of, body.ty)?;
    let only = only.map(|only| format!("where {only} ")).unwrap_or_default();
    let axis = ranges.first().map_or("0", |range| range.axis.as_str());
    let combined = form.combined.replace("OP", if form.of == "max" { ">" } else { "<" });
    let bound = format!(
        "let (c0, c1) = reduce({}) {only}{{ let c6 = {body}; (c6, {}) }} from ({first}, {}) by |(c2, c3), (c4, c5)| {combined};",
        commas(ranges),
        form.second.replace("AXIS", axis),
        form.identity.replace('T', &body.ty.to_string()),
    );
    Some((bound, form.result.replace('T', &body.ty.to_string())))
}
