//! How long the module of a dispatch is. The time that drivers take for a module grows with its words, so a long one is a warning, and a
//! much longer one is refused, at the unrolled loop with the most copies. The modules that pack and prepare tensors are not checked.

use crate::diag::{Error, Errors};
use crate::launch;
use crate::nest::walk;
use crate::nest::{Block, Dispatch, Exec, Loop, NodeKind, Program};

/// Words beyond which a module is a warning: NVIDIA's driver took at most 3.3 seconds for 34 of such, and 5 to 12 for two others.
const LONG: usize = 1 << 15;

/// Words that a module has at most: NVIDIA's driver took 20 seconds and longer for five of six that have 90,000 to 130,000, whose values
/// are all alive at a time, as the transforms of large tiles are.
const LIMIT: usize = 1 << 16;

/// The number of words at which the backend stops unrolling, so that a module that will be refused is not emitted as a whole. It is above
/// [`LIMIT`], because modules that prepare tensors may be longer than that.
pub const MOST: u64 = 1 << 17;

/// The note of a module that is longer than [`LIMIT`].
const LIMITED: &str = "it may have 65536: drivers take 10 seconds and longer for most that have more";

/// Whether drivers may take seconds for a dispatch, of which the compiler warned.
pub fn is_long(dispatch: &launch::Dispatch) -> bool {
    words(dispatch) > LONG
}

fn words(dispatch: &launch::Dispatch) -> usize {
    dispatch.spirv.len() / 4
}

/// Warnings of long modules.
///
/// # Errors
/// Modules beyond the limit.
pub(crate) fn check(nest: &Program, program: &launch::Program) -> Result<Errors, Errors> {
    let (mut warnings, mut errors) = (Errors::new(), Errors::new());
    for (dispatch, made) in nest.plan.iter().zip(&program.dispatches).filter(|(_, made)| is_long(made)) {
        let said = said(nest, dispatch, &words(made).to_string());
        match words(made) > LIMIT {
            true => errors.push(said.note(LIMITED)),
            false => warnings.push(said.note(format!("drivers take up to 12 seconds for some that have more than {LONG}"))),
        }
    }
    errors.into_result().map(|()| warnings)
}

/// Returns the error of a dispatch whose module has reached [`MOST`] words.
pub fn beyond(nest: &Program, dispatch: &Dispatch) -> Error {
    said(nest, dispatch, &format!("more than {MOST}")).note(LIMITED)
}

fn said(nest: &Program, dispatch: &Dispatch, words: &str) -> Error {
    let text = format!("the module of `{}` has {words} words", dispatch.name);
    match most_copies(nest, &dispatch.body) {
        Some(Copies { all, of, span }) => {
            let name = &nest.axes[of.axis].name;
            let error = Error::new(span, format!("{text}, as `{name}` is unrolled into {all} copies"));
            error.help("unroll, or promote to registers, smaller tiles")
        }
        None => {
            let span = dispatch.body.first().map_or(crate::diag::SpanId::NONE, |node| node.span);
            Error::new(span, text).help("compute fewer stages in one nest, with `root`, or vectorize less")
        }
    }
}

/// A loop that is written out, and how many copies of its body there are in all.
struct Copies<'a> {
    all: i64,
    of: &'a Loop,
    span: crate::diag::SpanId,
}

/// The innermost loop of those written out of which there are the most copies.
fn most_copies<'a>(nest: &Program, block: &'a Block) -> Option<Copies<'a>> {
    let written_out = |axis, exec| if exec == Exec::Unroll { nest.exprs.as_int(nest.axes[axis].extent) } else { None };
    let mut most: Option<Copies<'a>> = None;
    walk::within(block, &mut |node, around| {
        let NodeKind::Loop(of) = &node.kind else { return };
        let Some(own) = written_out(of.axis, of.exec) else { return };
        let all = around.iter().filter_map(|l| written_out(l.axis, l.exec)).fold(own, i64::saturating_mul);
        if all > 1 && most.as_ref().is_none_or(|most| all >= most.all) {
            most = Some(Copies { all, of, span: node.span });
        }
    });
    most
}
