//! Computes the dims of a launch from its arguments: from dims that are given, and from shapes.

use super::{Cause, Refusal, text};
use tilewright_launch::{Argument, MOST, Program, Size, Solve};

/// Calls `found` with each dim that a size names.
pub(super) fn dims_of(size: &Size, found: &mut dyn FnMut(u32)) {
    match size {
        Size::Const(_) => {}
        Size::Dim(d) => found(*d),
        Size::Add(a, b)
        | Size::Sub(a, b)
        | Size::Mul(a, b)
        | Size::FloorDiv(a, b)
        | Size::FloorMod(a, b)
        | Size::Min(a, b)
        | Size::Max(a, b) => {
            dims_of(a, found);
            dims_of(b, found);
        }
    }
}

/// Returns true if all dims that a size names are known.
pub(super) fn is_known(size: &Size, known: &[bool]) -> bool {
    let mut all = true;
    dims_of(size, &mut |d| all &= known.get(d as usize).is_some_and(|k| *k));
    all
}

/// Returns the values of all dims. `shapes[i]` is the shape of `program.tensors[i]`, for inputs and updates only. `sizes` has the
/// values of the dims that are arguments, in order.
pub(crate) fn solve(program: &Program, shapes: &[&[usize]], sizes: &[i64]) -> Result<Vec<i64>, Refusal> {
    check_ranks(program, shapes)?;
    let mut dims = vec![0; program.dims.len()];
    let mut known = vec![false; dims.len()];
    let given = program.arguments.iter().filter_map(|a| if let Argument::Dim(d) = a { Some(*d as usize) } else { None });
    for (at, size) in given.zip(sizes) {
        if let (Some(d), Some(k)) = (dims.get_mut(at), known.get_mut(at)) {
            (*d, *k) = (*size, true);
        }
    }
    derive(program, shapes, &mut dims, &mut known)?;
    for s in &program.solve {
        let value = solve_one(program, shapes, s, &dims)?;
        if let (Some(d), Some(k)) = (dims.get_mut(s.dim as usize), known.get_mut(s.dim as usize)) {
            (*d, *k) = (value, true);
        }
        derive(program, shapes, &mut dims, &mut known)?;
    }
    match dims.iter().zip(&program.dims).find(|(value, _)| **value > MOST) {
        Some((value, dim)) => Err(Refusal::new(Cause::Shape, format!("`{}` is {value}, and a dim is at most {MOST}", dim.name))),
        None => Ok(dims),
    }
}

fn check_ranks(program: &Program, shapes: &[&[usize]]) -> Result<(), Refusal> {
    for (tensor, got) in program.tensors.iter().zip(shapes) {
        if tensor.shape.len() != got.len() {
            let (name, wanted) = (&tensor.name, tensor.shape.len());
            let symbols = text::shape(program, &tensor.shape);
            let s = if got.len() == 1 { "" } else { "s" };
            let reason = format!("`{name}` has {} dimension{s}, {got:?}, but should have {wanted}: {symbols}", got.len());
            return Err(Refusal::new(Cause::Shape, reason));
        }
    }
    Ok(())
}

/// Solves one equation for its dim.
fn solve_one(program: &Program, shapes: &[&[usize]], s: &Solve, dims: &[i64]) -> Result<i64, Refusal> {
    let got = shapes.get(s.tensor as usize).and_then(|shape| shape.get(s.axis as usize));
    let got = got.and_then(|&n| i64::try_from(n).ok());
    let found = || {
        let rest = got?.checked_sub(s.minus.eval(dims)?)?;
        let divide = s.divide.eval(dims).filter(|d| *d != 0)?;
        (rest.checked_rem(divide)? == 0).then_some(rest.checked_div(divide)?).filter(|n| *n >= 0)
    };
    found().ok_or_else(|| Refusal::new(Cause::Shape, no_solution(program, shapes, s, dims)))
}

fn no_solution(program: &Program, shapes: &[&[usize]], s: &Solve, dims: &[i64]) -> String {
    let name = text::dim_name(program, s.dim);
    let (Some(tensor), Some(shape)) = (program.tensors.get(s.tensor as usize), shapes.get(s.tensor as usize)) else {
        return format!("`{name}` cannot be found");
    };
    let axis = s.axis as usize;
    let wanted = tensor.shape.get(axis).map_or_else(String::new, |w| text::size(program, w));
    let got = shape.get(axis).copied().unwrap_or_default();
    let others = text::values(program, dims, [&s.minus, &s.divide]);
    let with = if others.is_empty() { String::new() } else { format!(" (with {others})") };
    let symbols = text::shape(program, &tensor.shape);
    format!("`{}` has shape {shape:?}, but should have {symbols}: no {name} >= 0 makes {wanted} equal to {got}{with}", tensor.name)
}

/// Evaluates the derived dims whose operands are known by now.
fn derive(program: &Program, shapes: &[&[usize]], dims: &mut [i64], known: &mut [bool]) -> Result<(), Refusal> {
    for (i, dim) in program.dims.iter().enumerate() {
        let Some(size) = dim.derived.as_ref().filter(|s| !known.get(i).is_some_and(|k| *k) && is_known(s, known)) else {
            continue;
        };
        let value = size.eval(dims).filter(|v| *v >= 0);
        let Some(value) = value else { return Err(Refusal::new(Cause::Shape, bad_derived(program, shapes, i, size, dims))) };
        if let (Some(d), Some(k)) = (dims.get_mut(i), known.get_mut(i)) {
            (*d, *k) = (value, true);
        }
    }
    Ok(())
}

fn bad_derived(program: &Program, shapes: &[&[usize]], dim: usize, size: &Size, dims: &[i64]) -> String {
    let name = text::dim_name(program, dim as u32);
    let value = match size.eval(dims) {
        Some(value) => format!("is {value}, and a size cannot be negative"),
        None if size.divides_by_zero(dims) => "divides by 0".into(),
        None => "cannot be computed".into(),
    };
    let values = text::values(program, dims, [size]);
    let with = if values.is_empty() { String::new() } else { format!(" for {values}") };
    let from = sources(program, shapes, size);
    format!("{name} = {} {value}{with}{from}", text::size(program, size))
}

/// Describes the tensors whose shapes determine the dims of a size.
fn sources(program: &Program, shapes: &[&[usize]], size: &Size) -> String {
    let (mut pending, mut seen, mut tensors) = (Vec::new(), Vec::new(), Vec::new());
    dims_of(size, &mut |d| pending.push(d));
    while let Some(d) = pending.pop() {
        if seen.contains(&d) {
            continue;
        }
        seen.push(d);
        if let Some(derived) = program.dims.get(d as usize).and_then(|d| d.derived.as_ref()) {
            dims_of(derived, &mut |d| pending.push(d));
        }
        for s in program.solve.iter().filter(|s| s.dim == d) {
            tensors.push(s.tensor as usize);
            dims_of(&s.minus, &mut |d| pending.push(d));
            dims_of(&s.divide, &mut |d| pending.push(d));
        }
    }
    tensors.sort_unstable();
    tensors.dedup();
    let one = |t: usize| Some(format!("`{}` has shape {:?}", program.tensors.get(t)?.name, shapes.get(t)?));
    let named: Vec<String> = tensors.into_iter().filter_map(one).collect();
    if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::super::samples::conv;
    use super::*;

    fn reason(shapes: &[&[usize]]) -> String {
        let refusal = solve(&conv(), shapes, &[]).expect_err("these shapes are wrong");
        assert_eq!(refusal.cause, Cause::Shape);
        refusal.message
    }

    #[test]
    fn dims_come_from_the_shapes() {
        assert_eq!(solve(&conv(), &[&[1, 9, 7, 3], &[3, 3, 3, 8]], &[]), Ok(vec![1, 9, 3, 8, 4, 3]));
    }

    #[test]
    fn a_dim_that_is_given_is_known_first() {
        let mut program = conv();
        program.arguments.insert(1, Argument::Dim(3));
        program.solve.remove(3);
        // The output's rows follow from it.
        program.dims[4].derived = Some(Size::Sub(Size::Dim(3).into(), Size::Const(2).into()));
        assert_eq!(solve(&program, &[&[1, 9, 7, 3], &[3, 3, 3, 8]], &[8]), Ok(vec![1, 9, 3, 8, 6, 3]));
        let refusal = solve(&program, &[&[1, 9, 7, 3], &[3, 3, 3, 8]], &[1]).expect_err("it is too small");
        assert_eq!(refusal.message, "OH = OC - 2 is -1, and a size cannot be negative for OC = 1");
    }

    #[test]
    fn a_wrong_rank_names_the_tensor_and_its_shape() {
        assert_eq!(
            reason(&[&[9, 7, 3], &[3, 3, 3, 8]]),
            "`input` has 3 dimensions, [9, 7, 3], but should have 4: [N, IH, 2 * OW + 1, IC]"
        );
    }

    #[test]
    fn a_remainder_is_no_solution() {
        assert_eq!(
            reason(&[&[1, 9, 8, 3], &[3, 3, 3, 8]]),
            "`input` has shape [1, 9, 8, 3], but should have [N, IH, 2 * OW + 1, IC]: no OW >= 0 makes 2 * OW + 1 equal to 8"
        );
    }

    #[test]
    fn a_negative_dim_is_no_solution() {
        assert_eq!(
            reason(&[&[1, 9, 0, 3], &[3, 3, 3, 8]]),
            "`input` has shape [1, 9, 0, 3], but should have [N, IH, 2 * OW + 1, IC]: no OW >= 0 makes 2 * OW + 1 equal to 0"
        );
    }

    #[test]
    fn a_negative_derived_dim_names_the_shape() {
        assert_eq!(
            reason(&[&[1, 0, 7, 3], &[3, 3, 3, 8]]),
            "OH = (IH - 3) / 2 + 1 is -1, and a size cannot be negative for IH = 0: `input` has shape [1, 0, 7, 3]"
        );
    }
}
