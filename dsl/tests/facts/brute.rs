//! Decides claims by brute force: evaluates every point of small domains, independently of the prover.

use crate::facts::world::World;
use std::collections::{BTreeMap, BTreeSet};
use tilewright_dsl::expr::{Binary, Compare, Expr, ExprId, Unary};
use tilewright_dsl::nest::{AxisDef, AxisId, DimId, Fate, Program};

/// The sizes that symbolic dims take.
const SIZES: [i64; 7] = [0, 1, 2, 3, 4, 6, 9];

/// Values of dims and axes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Env {
    pub(crate) dims: BTreeMap<DimId, i64>,
    pub(crate) axes: BTreeMap<AxisId, i64>,
}

/// Evaluates an index, or a bool as 0 or 1. Returns `None` if a divisor is below 1.
pub(crate) fn eval(program: &Program, e: ExprId, env: &Env, leaves: bool) -> Option<i64> {
    let go = |e: ExprId| eval(program, e, env, leaves);
    Some(match program.exprs.get(e) {
        Expr::Const(c) => c.value() as i64,
        Expr::Dim(d) => env.dims[d],
        Expr::Axis(a) => axis(program, *a, env, leaves)?,
        Expr::Unary(Unary::Neg, a) => -go(*a)?,
        Expr::Unary(Unary::Abs, a) => go(*a)?.abs(),
        Expr::Unary(Unary::Not, a) => 1 - go(*a)?,
        Expr::Binary(op, a, b) => {
            let (a, b) = (go(*a)?, go(*b)?);
            match op {
                Binary::Add => a + b,
                Binary::Sub => a - b,
                Binary::Mul => a * b,
                Binary::FloorDiv | Binary::FloorMod if b < 1 => return None,
                Binary::FloorDiv => (a as f64 / b as f64).floor() as i64,
                Binary::FloorMod => a - b * (a as f64 / b as f64).floor() as i64,
                Binary::Div if b == 0 => 0,
                Binary::Div => a / b,
                Binary::Rem if b == 0 => 0,
                Binary::Rem => a % b,
                Binary::Min => a.min(b),
                Binary::Max => a.max(b),
                Binary::And => a & b,
                Binary::Or => a | b,
                other => panic!("{other:?} is not an index"),
            }
        }
        Expr::Compare(op, a, b) => {
            let (a, b) = (go(*a)?, go(*b)?);
            i64::from(match op {
                Compare::Eq => a == b,
                Compare::Ne => a != b,
                Compare::Lt => a < b,
                Compare::Le => a <= b,
                Compare::Gt => a > b,
                Compare::Ge => a >= b,
            })
        }
        Expr::Select(c, a, b) => {
            if go(*c)? != 0 {
                go(*a)?
            } else {
                go(*b)?
            }
        }
        // Casts to `u32` and back. In between, negative values are large.
        Expr::Cast(to, a) => match to {
            tilewright_dsl::launch::DType::U32 => i64::from(go(*a)? as u32),
            _ => i64::from(go(*a)? as u32 as i32),
        },
        other => panic!("{other:?} is not an index"),
    })
}

fn axis(program: &Program, id: AxisId, env: &Env, leaves: bool) -> Option<i64> {
    if let Some(value) = env.axes.get(&id) {
        return Some(*value);
    }
    assert!(leaves, "{} is not bound", program.axes[id].name);
    match &program.axes[id].fate {
        Fate::Live => panic!("{} is not bound", program.axes[id].name),
        Fate::Split(split) => split.parts.iter().try_fold(0, |value, part| {
            Some(value * eval(program, program.axes[*part].extent, env, leaves)? + axis(program, *part, env, leaves)?)
        }),
        Fate::Fused { into, digit, .. } => {
            let AxisDef::Fused(digits) = &program.axes[*into].def else { panic!("not fused") };
            let size = |d: &AxisId| eval(program, program.axes[*d].extent, env, leaves);
            let later: i64 = digits[digit + 1..].iter().map(size).product::<Option<i64>>()?;
            if later < 1 {
                return None;
            }
            let quotient = axis(program, *into, env, leaves)? / later;
            if *digit == 0 { Some(quotient) } else { Some(quotient % size(&digits[*digit])?) }
        }
    }
}

/// Returns the axes that an expression names, including those in their extents. Each axis follows the axes that its extent names.
pub(crate) fn axes_of(program: &Program, exprs: &[ExprId], leaves: bool) -> Vec<AxisId> {
    fn visit(program: &Program, id: AxisId, leaves: bool, done: &mut Vec<AxisId>, seen: &mut BTreeSet<AxisId>) {
        if !seen.insert(id) {
            return;
        }
        match &program.axes[id].fate {
            Fate::Split(split) if leaves => split.parts.iter().for_each(|p| visit(program, *p, leaves, done, seen)),
            Fate::Fused { into, .. } if leaves => visit(program, *into, leaves, done, seen),
            _ => {
                program.axes[id].extent.pipe(|e| visit_expr(program, e, leaves, done, seen));
                done.push(id);
            }
        }
    }
    fn visit_expr(program: &Program, e: ExprId, leaves: bool, done: &mut Vec<AxisId>, seen: &mut BTreeSet<AxisId>) {
        if let Expr::Axis(a) = program.exprs.get(e) {
            visit(program, *a, leaves, done, seen);
        }
        program.exprs.get(e).operands().iter().for_each(|o| visit_expr(program, *o, leaves, done, seen));
    }
    let (mut done, mut seen) = (Vec::new(), BTreeSet::new());
    exprs.iter().for_each(|e| visit_expr(program, *e, leaves, &mut done, &mut seen));
    done
}

trait Pipe: Sized {
    fn pipe<R>(self, f: impl FnOnce(Self) -> R) -> R {
        f(self)
    }
}
impl Pipe for ExprId {}

/// Returns every admitted choice of sizes.
pub(crate) fn sizes(program: &Program, conditions: &dyn Fn(usize) -> bool, mut visit: impl FnMut(&Env)) {
    let symbolic: Vec<DimId> = program.dims.iter().filter(|(_, d)| d.derived.is_none()).map(|(id, _)| id).collect();
    let count = SIZES.len().pow(symbolic.len() as u32);
    'sizes: for mut at in 0..count {
        let mut env = Env::default();
        for dim in &symbolic {
            env.dims.insert(*dim, SIZES[at % SIZES.len()]);
            at /= SIZES.len();
        }
        for (id, dim) in program.dims.iter() {
            if let Some(value) = dim.derived {
                match eval(program, value, &env, false) {
                    Some(value) if value >= 0 => env.dims.insert(id, value),
                    _ => continue 'sizes,
                };
            }
        }
        let holds = |(i, c): (usize, &tilewright_dsl::nest::Condition)| {
            let sides = eval(program, c.left, &env, false).zip(eval(program, c.right, &env, false));
            !conditions(i) || sides.is_some_and(|(a, b)| c.relation.holds(a, b))
        };
        if program.checks.conditions.iter().enumerate().all(holds) {
            visit(&env);
        }
    }
}

/// Visits every admitted point with these axes in range. Stops when `visit` returns false.
pub(crate) fn points(world: &World, axes: &[AxisId], leaves: bool, visit: &mut dyn FnMut(&Env) -> bool) {
    fn inner(program: &Program, axes: &[AxisId], leaves: bool, env: &mut Env, visit: &mut dyn FnMut(&Env) -> bool) -> bool {
        let Some((first, rest)) = axes.split_first() else { return visit(env) };
        let Some(extent) = eval(program, program.axes[*first].extent, env, leaves) else { return true };
        for value in 0..extent {
            env.axes.insert(*first, value);
            if !inner(program, rest, leaves, env, visit) {
                return false;
            }
        }
        env.axes.remove(first);
        true
    }
    let mut open = true;
    sizes(&world.program, &|_| true, |env| {
        open = open && inner(&world.program, axes, leaves, &mut env.clone(), visit);
    });
}
