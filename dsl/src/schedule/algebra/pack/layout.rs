//! Converts a map in a schedule to a [`Layout`], and checks that the map is one to one.

use crate::diag::{Error, did_you_mean, list};
use crate::launch::{Digit, Layout};
use crate::nest::Program;
use crate::schedule::number;
use crate::syntax::expr::{BinaryOp, Expr, ExprKind};
use crate::syntax::schedule::Pack;

/// Returns the layout that a `pack` requests for a tensor of `rank` dimensions.
pub(super) fn layout(program: &mut Program, pack: &Pack, rank: usize) -> Result<Layout, Error> {
    let Pack { tensor, axes, digits, .. } = pack;
    if axes.len() != rank {
        let error = Error::new(tensor.span, format!("`{tensor}` has {rank} dimensions, not {}", axes.len()));
        return Err(error.help("name an index for each of them"));
    }
    for (n, axis) in axes.iter().enumerate() {
        if let Some(first) = axes[..n].iter().find(|a| a.text == axis.text) {
            return Err(Error::new(axis.span, format!("two indices are named `{axis}`")).note_at(first.span, "first here"));
        }
    }
    let made = digits.iter().map(|digit| one(program, pack, digit)).collect::<Result<Vec<Digit>, Error>>()?;
    for axis in 0..rank as u32 {
        is_whole(pack, &made, axis)?;
    }
    Ok(Layout(made))
}

/// Parses one component: `c`, `c / 4`, `c % 4` or `c / 4 % 2`.
fn one(program: &mut Program, pack: &Pack, expr: &Expr) -> Result<Digit, Error> {
    match &expr.kind {
        ExprKind::Name(name) => match pack.axes.iter().position(|a| a.text == *name) {
            Some(axis) => Ok(Digit { axis: axis as u32, divide: 1, modulo: None }),
            None => {
                let names = || pack.axes.iter().map(|a| a.as_str());
                let help = did_you_mean(name, names()).unwrap_or_else(|| format!("the indices are {}", list(names())));
                Err(Error::new(expr.span, format!("`{name}` is not an index of `{}` here", pack.tensor)).help(help))
            }
        },
        ExprKind::Binary(BinaryOp::Div, _, a, b) => {
            let (digit, by) = (one(program, pack, a)?, factor(program, b)?);
            let divide = digit.divide.checked_mul(by).filter(|_| digit.modulo.is_none());
            Ok(Digit { divide: divide.ok_or_else(|| no_digit(expr))?, ..digit })
        }
        ExprKind::Binary(BinaryOp::Rem, _, a, b) => {
            let (digit, by) = (one(program, pack, a)?, factor(program, b)?);
            if digit.modulo.is_some() { Err(no_digit(expr)) } else { Ok(Digit { modulo: Some(by), ..digit }) }
        }
        ExprKind::Block(block) if block.lets.is_empty() => one(program, pack, &block.value),
        _ => Err(no_digit(expr)),
    }
}

fn factor(program: &mut Program, expr: &Expr) -> Result<u32, Error> {
    let value = number::positive(program, expr, "a factor")?;
    u32::try_from(value).map_err(|_| Error::new(expr.span, "this factor is larger than 2^31"))
}

fn no_digit(expr: &Expr) -> Error {
    Error::new(expr.span, "this is not a component of an index").help("write `c`, `c / 4`, `c % 4` or `c / 4 % 2`")
}

/// Checks that the components of an index determine it. From the lowest on, each component must begin where the previous one ends,
/// and the last must be unbounded.
fn is_whole(pack: &Pack, digits: &[Digit], axis: u32) -> Result<(), Error> {
    let name = &pack.axes[axis as usize];
    let mut found: Vec<(&Digit, &Expr)> = digits.iter().zip(&pack.digits).filter(|(d, _)| d.axis == axis).collect();
    found.sort_by_key(|(d, _)| d.divide);
    let Some((_, blame)) = found.last() else {
        return Err(Error::new(name.span, format!("the map is not one to one: `{name}` is not in it"))
            .help(format!("elements that differ only in `{name}` would share an address: add it")));
    };
    let mut next = Some(1u32);
    for (digit, expr) in &found {
        if next != Some(digit.divide) {
            let error =
                Error::new(expr.span, format!("the map is not one to one: this does not continue the components of `{name}`"));
            return Err(error.help(match next {
                Some(1) => format!("the lowest component is missing: `{name} % {}`", digit.divide),
                Some(n) => format!("the next component is of `{name} / {n}`"),
                None => format!("`{name}` is complete without it"),
            }));
        }
        next = digit.modulo.and_then(|n| n.checked_mul(digit.divide));
    }
    match next {
        None => Ok(()),
        Some(n) => Err(Error::new(blame.span, format!("the map is not one to one: the components of `{name}` end below {n}"))
            .help(format!("add the highest component: `{name} / {n}`"))),
    }
}
