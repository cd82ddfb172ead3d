//! `pipeline(k_o, a_s, b_s, buffers: 1, prefetch: register)`: prefetches shared copies at a loop for a later iteration while the
//! current one is computed.
//!
//! The directive only records the copies, the number of buffers, and the places in the iteration
//! ([`Notes::pipelines`](crate::nest::Notes::pipelines)). The copies stay in place until lowering, so that other directives do
//! not handle pipelines. `lower::pipeline` makes the steps. It also refuses the cases that are known only then, which depend on the
//! contents of an iteration and on the schedules of the copies.
//!
//! Refused: a loop that is not serial; names that are not shared copies at it; a number of buffers that is 0 or above three; one
//! buffer without registers between; buffers that do not fit; a copy that already has a pipeline.

use super::promote::Copied;
use crate::diag::{Error, SpanId, list};
use crate::nest::path::Frame;
use crate::nest::{AxisId, BufferId, Exec, Level, Pipelined, Point, Space, StageId, State, StepPlace};
use crate::schedule::invocations::is_invocation;
use crate::schedule::{Applied, StageNest};
use crate::syntax::Name;
use crate::syntax::schedule::{Pipeline, Spot, SpotAt};

/// The maximum number of buffers of a copy.
const MOST: i64 = 3;

/// Applies the directive.
pub(in crate::schedule) fn apply(nest: &mut StageNest<'_>, pipeline: &Pipeline, span: SpanId) -> Applied {
    let Some(axis) = looped(nest, &pipeline.axis)? else {
        let what =
            format!("`{}` has one value, so its loop has only one iteration, and its copies are not prefetched", pipeline.axis);
        nest.program.owe(what, State::Proved, span);
        return Ok(());
    };
    let copies = copies(nest, pipeline, axis, span)?;
    let buffers = buffers(nest, pipeline)?;
    if pipeline.prefetch.is_none()
        && let Some(fetch) = &pipeline.fetch
    {
        let error =
            Error::new(fetch.span, "`fetch` has no effect without `prefetch`, because a copy is then read and written at once");
        return Err(error.help("write `prefetch: register`, or leave `fetch` out: `store` says where the copy is made"));
    }
    let default = |at: Point| StepPlace { at, early: false, span };
    let fetch = match &pipeline.fetch {
        Some(spot) => place(nest, spot)?,
        None => default(Point::Start),
    };
    let store = match &pipeline.store {
        Some(spot) => place(nest, spot)?,
        None if pipeline.prefetch.is_none() => default(Point::Start),
        None => default(Point::End),
    };
    let fetch = pipeline.prefetch.map(|_| fetch);
    for Copied { buffer, stage, .. } in copies {
        nest.program.notes.pipelines.push(Pipelined { axis, copy: buffer, stage, buffers, fetch, store, span, made: None });
    }
    fits(nest, pipeline, span)
}

/// Finds the serial loop over an axis. Returns `None` for a tile of extent 1, which does not need a loop. Versions for small sizes
/// have such tiles.
fn looped(nest: &StageNest<'_>, name: &Name) -> Result<Option<AxisId>, Error> {
    let axis = nest.axis(name)?;
    let Some(at) = nest.path.position(axis) else {
        if nest.vanished.iter().any(|(other, _)| *other == axis) {
            return Ok(None);
        }
        let error = Error::new(name.span, format!("`{name}` has one value, and therefore no loop"));
        return Err(error.help("leave `pipeline` out, because there is only one iteration"));
    };
    let frame = &nest.path.frames[at];
    let (what, help) = match frame.as_loop() {
        Some((_, Exec::Unroll)) => ("unrolled", "keep the loop at which the copies are made, and unroll loops within it"),
        Some((_, Exec::Lanes)) => ("in lanes, which run together", "name a loop whose iterations run one after another"),
        Some((_, Exec::Dot)) => ("in a dot product, which is one instruction", "name the loop around it"),
        Some((_, Exec::Bind(Level::Workgroup, _))) => {
            ("distributed to workgroups, which run together", "name a loop within a workgroup at which copies are made")
        }
        Some((_, Exec::Bind(..))) => {
            ("distributed to invocations, which run together", "name a loop whose iterations run one after another")
        }
        _ => return Ok(Some(axis)),
    };
    Err(Error::new(name.span, format!("`{name}` is {what}")).note_at(frame.span, "by this directive").help(help))
}

/// Returns the named copies, or all copies at the loop if none is named.
fn copies(nest: &StageNest<'_>, pipeline: &Pipeline, axis: AxisId, span: SpanId) -> Result<Vec<Copied>, Error> {
    let plain: Vec<&Frame> = nest.path.frames.iter().filter(|f| !is_invocation(f)).collect();
    let depth = plain.iter().position(|f| f.as_loop().is_some_and(|(a, _)| a == axis)).map_or(0, |at| at + 1);
    let is_here = |copy: &&Copied| {
        let attached = nest.attached_buffer(copy.buffer);
        let made = attached.is_some_and(|a| !a.before.is_empty() && nest.place_of(a) == depth);
        made && nest.program.buffers[copy.buffer].space == Space::Shared && is_plain(nest, copy.stage)
    };
    let here: Vec<&Copied> = nest.copies.iter().filter(is_here).collect();
    let name = |copy: &Copied| nest.program.buffers[copy.buffer].name.as_str();
    let names = || list(here.iter().map(|copy| name(copy)));
    if here.is_empty() {
        let error = Error::new(pipeline.axis.span, format!("no shared copies are made at the loop over `{}`", pipeline.axis));
        return Err(error.help(format!("promote there first: `promote(a => a_s, at: {}, to: shared);`", pipeline.axis)));
    }
    let mut found: Vec<Copied> = Vec::new();
    for named in &pipeline.copies {
        let Some(copy) = here.iter().find(|copy| name(copy) == named.text) else {
            let error = not_here(nest, pipeline, named);
            return Err(error.help(format!("the shared copies at `{}` are {}", pipeline.axis, names())));
        };
        if found.iter().any(|other| other.buffer == copy.buffer) {
            return Err(Error::new(named.span, format!("the copy `{named}` is named twice")).help("name it once"));
        }
        if let Some(other) = nest.program.pipeline_of(copy.buffer) {
            let error = Error::new(named.span, format!("`{named}` has a pipeline")).note_at(other.span, "by this directive");
            return Err(error.help("a copy can have one `pipeline` only"));
        }
        found.push((*copy).clone());
    }
    if !pipeline.copies.is_empty() {
        return Ok(found);
    }
    let (left, taken): (Vec<&Copied>, Vec<&Copied>) = here.iter().partition(|copy| nest.program.pipeline_of(copy.buffer).is_none());
    if let ([], Some(other)) = (&left[..], taken.first().and_then(|copy| nest.program.pipeline_of(copy.buffer))) {
        let error = Error::new(span, format!("all shared copies at `{}` have a pipeline", pipeline.axis));
        return Err(error.note_at(other.span, "by this directive").help("a copy can have one `pipeline` only"));
    }
    Ok(left.into_iter().cloned().collect())
}

/// True if a stage copies elements of a tensor unchanged.
fn is_plain(nest: &StageNest<'_>, stage: StageId) -> bool {
    nest.program.stages[stage].is_copy(nest.program) && !nest.program.notes.placed.contains_key(&stage)
}

/// Reports a name that is not a shared copy at the loop.
fn not_here(nest: &StageNest<'_>, pipeline: &Pipeline, named: &Name) -> Error {
    let error = |what: String| Error::new(named.span, what);
    let is_named = |buffer: &BufferId| nest.program.buffers[*buffer].name == named.text;
    let copy = nest.copies.iter().find(|copy| is_named(&copy.buffer));
    let of_name = copy.map(|copy| copy.buffer).or_else(|| nest.program.buffers.ids().find(is_named));
    let Some(buffer) = of_name else { return error(format!("unknown copy `{named}`")) };
    match copy {
        _ if nest.program.buffers[buffer].space.is_global() => {
            error(format!("`{named}` is a tensor, and only shared copies can be pipelined"))
        }
        Some(copy) if nest.program.buffers[buffer].space != Space::Shared => {
            error(format!("`{named}` is in registers, and only shared copies can be pipelined"))
                .note_at(copy.span, format!("`{named}` is made here"))
        }
        Some(copy) if !is_plain(nest, copy.stage) => {
            error(format!("`{named}` is computed, and only copies of a tensor can be prefetched for later iterations"))
                .note_at(copy.span, format!("`{named}` is placed here"))
        }
        Some(copy) => error(format!("`{named}` is not made at the loop over `{}`", pipeline.axis))
            .note_at(copy.span, format!("`{named}` is made here")),
        None => error(format!("`{named}` is not a copy of this nest")),
    }
}

/// Returns the number of buffers of each copy.
fn buffers(nest: &mut StageNest<'_>, pipeline: &Pipeline) -> Result<u32, Error> {
    let expr = &pipeline.buffers;
    let buffers = nest.positive(expr, "`buffers`").map_err(|error| error.help("each copy has 1, 2 or 3"))?;
    if buffers > MOST {
        let error = Error::new(expr.span, format!("{buffers} buffers for each copy"));
        return Err(error.help(format!("the maximum is {MOST}; 2 let a copy be written while the other is read")));
    }
    if buffers == 1 && pipeline.prefetch.is_none() {
        let error = Error::new(expr.span, "with one buffer and no `prefetch`, a copy cannot overlap its readers");
        return Err(error.help("write `buffers: 1, prefetch: register`, or `buffers: 2`"));
    }
    Ok(buffers as u32)
}

fn place(nest: &StageNest<'_>, spot: &Spot) -> Result<StepPlace, Error> {
    let at = match &spot.at {
        SpotAt::Start => Point::Start,
        SpotAt::End => Point::End,
        SpotAt::Before(stage) => Point::Before(stage_of(nest, stage)?),
        SpotAt::After(stage) => Point::After(stage_of(nest, stage)?),
    };
    Ok(StepPlace { at, early: spot.early, span: spot.span })
}

/// Finds a stage by name: the stage of this nest, or one within it.
fn stage_of(nest: &StageNest<'_>, name: &Name) -> Result<StageId, Error> {
    let program = &*nest.program;
    let is_within = |stage: &StageId| {
        std::iter::successors(Some(*stage), |stage| program.notes.hosts.get(stage).copied()).any(|stage| stage == nest.stage)
    };
    let here: Vec<StageId> = program.stages.ids().filter(is_within).collect();
    let found = here.iter().copied().find(|stage| program.stages[*stage].name == name.text);
    found.ok_or_else(|| {
        let error = Error::new(name.span, format!("`{name}` is not a stage of this nest"));
        error.help(format!("its stages are {}", list(here.iter().map(|stage| program.stages[*stage].name.as_str()))))
    })
}

/// Checks that the buffers fit in shared memory together.
fn fits(nest: &StageNest<'_>, pipeline: &Pipeline, span: SpanId) -> Applied {
    let program = &*nest.program;
    let shared = super::promote::read_together(nest);
    let wanted: i64 = shared.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes));
    let there = i64::from(nest.profile.shared_bytes);
    if wanted <= there {
        return Ok(());
    }
    let what = format!("the buffers do not fit: with them, {wanted} bytes of shared memory are needed");
    let error = Error::new(span, what).note(format!("`{}` has {there}", nest.profile.name));
    let error = shared.iter().fold(error, |error, (buffer, bytes)| {
        let name = &program.buffers[*buffer].name;
        let what = match program.versions(*buffer) {
            1 => format!("`{name}` takes {bytes}"),
            n => format!("`{name}` takes {bytes}, {} for each of {n} buffers", bytes / i64::from(n)),
        };
        error.note_at(program.buffers[*buffer].span, what)
    });
    Err(error.help(match pipeline.prefetch {
        None => "make the tiles smaller, or write `buffers: 1, prefetch: register`",
        Some(_) => "make the tiles smaller, or write fewer `buffers`",
    }))
}
