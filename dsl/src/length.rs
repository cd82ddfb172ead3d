//! Limits the length of a dispatch's SPIR-V module. The time that drivers take for a module grows with its number of 32-bit words. So a
//! long module is a warning, and a much longer one is an error at the unrolled loop with the most copies. The modules that pack and prepare
//! tensors are not checked.

use crate::diag::{Error, Errors};
use crate::launch;
use crate::nest::walk;
use crate::nest::{Block, Dispatch, Exec, Loop, NodeKind, Program};

/// The number of words above which a module is a warning. NVIDIA's driver took at most 3.3 seconds for 34 such modules, and 5 to 12 for two
/// others.
const LONG: usize = 1 << 15;

/// The most words of a module. NVIDIA's driver took 20 seconds and longer for five of six modules with 90,000 to 130,000 words whose values
/// are all live at the same time, as in the transforms of large tiles.
const LIMIT: usize = 1 << 16;

/// The number of words at which the backend stops unrolling, so that a module that will be refused is not emitted as a whole. It is above
/// `LIMIT`, because modules that prepare tensors may be longer than that.
pub const MOST: u64 = 1 << 17;

/// The note of a module that is longer than [`LIMIT`].
const LIMITED: &str = "the limit is 65536, because drivers take 10 seconds or more for most longer modules";

/// True if drivers may take seconds for the dispatch, which the compiler has warned about.
pub fn is_long(dispatch: &launch::Dispatch) -> bool {
    words(dispatch) > LONG
}

fn words(dispatch: &launch::Dispatch) -> usize {
    dispatch.spirv.len() / 4
}

/// Returns warnings of long modules.
///
/// # Errors
/// Returns the errors of modules beyond the limit.
pub(crate) fn check(nest: &Program, program: &launch::Program) -> Result<Errors, Errors> {
    let (mut warnings, mut errors) = (Errors::new(), Errors::new());
    for (dispatch, made) in nest.plan.iter().zip(&program.dispatches).filter(|(_, made)| is_long(made)) {
        let said = said(nest, dispatch, &words(made).to_string());
        match words(made) > LIMIT {
            true => errors.push(said.note(LIMITED)),
            false => warnings.push(said.note(format!("drivers take up to 12 seconds for some modules of more than {LONG} words"))),
        }
    }
    errors.into_result().map(|()| warnings)
}

/// Returns the error of a dispatch whose module has reached [`MOST`] words.
pub fn beyond(nest: &Program, dispatch: &Dispatch) -> Error {
    said(nest, dispatch, &format!("more than {MOST}")).note(LIMITED)
}

fn said(nest: &Program, dispatch: &Dispatch, words: &str) -> Error {
    let text = format!("the SPIR-V module of `{}` has {words} words", dispatch.name);
    match most_copies(nest, &dispatch.body) {
        Some(Copies { all, of, span }) => {
            let name = &nest.axes[of.axis].name;
            let error = Error::new(span, format!("{text}, because `{name}` is unrolled into {all} copies"));
            error.help("unroll smaller tiles, or promote smaller tiles to registers")
        }
        None => {
            let span = dispatch.body.first().map_or(crate::diag::SpanId::NONE, |node| node.span);
            Error::new(span, text).help("compute fewer stages in one nest, with `root`, or vectorize less")
        }
    }
}

/// An unrolled loop, and the number of copies of its body including the unrolled loops around it.
struct Copies<'a> {
    all: i64,
    of: &'a Loop,
    span: crate::diag::SpanId,
}

/// Returns the unrolled loop with the most copies, the innermost of equal ones.
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
