//! `decompose_online(m, l, o => m_b, l_b, o_b, block: 64, mask: s)`: computes a maximum and sums of exponentials relative to it in
//! one pass over the scores. For example, softmax and attention need these (Milakov and Gimelshein, 2018; Dao and others,
//! *FlashAttention*, 2022). Whenever the maximum grows, a factor rescales the sums so far to the new maximum.
//!
//! It rewrites the algebra before nests exist. The stage of the last member computes all members ([`stages`]), item by item, or
//! from blocks of items that other stages reduce ([`blocks`]). Blocks that exceed the range are masked, in the scores if those are
//! named ([`scores`]). Directives schedule the new stages like any other.
//!
//! Refused: a first member that is not a maximum; a further member that is not a sum over the same range whose items use the
//! maximum only in the exponential ([`recognize`]); a member that another stage also reads, if the last member has other axes;
//! names that are already used.

mod blocks;
mod factor;
mod recognize;
mod scores;
mod stages;

use super::new_stages::check_names;
use super::pack::Rewritten;
use crate::diag::{Error, Errors, SpanId, list};
use crate::nest::{BufferId, Program, State};
use crate::schedule::{number, placement};
use crate::syntax::Name;
use crate::syntax::schedule::{Online, Schedule, StatementKind};
use blocks::Wanted;
use stages::Decomposition;

/// True if a schedule has a decomposition of this kind.
pub(crate) fn is_in(schedule: &Schedule) -> bool {
    statements(schedule).next().is_some()
}

fn statements(schedule: &Schedule) -> impl Iterator<Item = (&Online, SpanId)> {
    schedule.statements().filter_map(|statement| match &statement.kind {
        StatementKind::Online(online) => Some((online, statement.span)),
        _ => None,
    })
}

/// Applies a schedule's decompositions.
pub(crate) fn apply(program: &mut Program, schedule: &Schedule, rewritten: &mut Rewritten) -> Result<(), Errors> {
    let mut errors = Errors::new();
    // Stages get new ids, so the stored stages are remembered by their buffers.
    let stored: Vec<BufferId> = rewritten.stored.iter().map(|stage| program.stages[*stage].buffer).collect();
    let mut taken: Vec<&Name> = Vec::new();
    for (online, span) in statements(schedule) {
        let placed = placement::computed_at(schedule).map(|placed| placed.text.clone()).collect();
        errors.keep(one(program, online, &taken, placed, span));
        taken.extend(&online.members);
    }
    rewritten.stored = stored.into_iter().filter_map(|buffer| program.writer(buffer)).collect();
    errors.into_result()
}

fn one(program: &mut Program, online: &Online, taken: &[&Name], placed: Vec<String>, span: SpanId) -> Result<(), Error> {
    for (n, name) in online.members.iter().enumerate() {
        let again = taken.iter().copied().chain(&online.members[..n]).find(|other| other.text == name.text);
        if let Some(first) = again {
            let error = Error::new(name.span, format!("`{name}` is decomposed twice"));
            return Err(error.note_at(first.span, "first here").help("leave one of them out"));
        }
    }
    let blocks = match &online.blocks {
        None => None,
        Some(blocks) => {
            check_names(program, &blocks.names)?;
            let size = number::positive(program, &blocks.size, "the size of a block")?;
            let names = blocks.names.iter().map(|name| name.text.clone()).collect();
            Some(Wanted { names, size, masked: blocks.masked.as_ref() })
        }
    };
    let of = recognize::online(program, &online.members)?;
    factor::check(program, of.rescale, &online.members[0], span)?;
    Decomposition { of, members: &online.members, blocks, placed, span }.make(program)?;
    let last = &online.members[online.members.len() - 1];
    let others = list(&online.members[..online.members.len() - 1]);
    let what = format!(
        "`{last}` also computes {others}, and rescales its sums to each new maximum by a factor, for scores below infinity"
    );
    program.owe(what, State::Proved, span);
    if let Some(scores) = online.blocks.as_ref().and_then(|blocks| blocks.masked.as_ref()) {
        let what = format!("`{scores}` is -inf beyond the range, and items of such a score are 0");
        let state = if program.checks.finite.is_empty() { State::Proved } else { State::Assumed };
        program.owe(what, state, scores.span);
    }
    Ok(())
}
