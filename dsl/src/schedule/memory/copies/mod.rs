//! The schedules of copies: the default schedule of a copy without directives, and the final checks of all copies.
//!
//! In a cooperative copy, the elements form one row that is distributed across the invocations of the workgroup in rounds. The
//! dimension along which device memory is contiguous varies fastest, in the widest vectors that are proved to be aligned. A copy to
//! registers is unrolled, with the same vectors.

mod alike;
mod check;
mod dealt;
mod once;
mod owners;
mod reuse;

use super::attach::Attached;
use super::compute_at::readers;
use super::promote::Copied;
use crate::diag::{Error, Errors, SpanId};
use crate::expr::{ExprId, Outside, Read};
use crate::lower::{clamp_copies, local};
use crate::nest::path::{Frame, Head};
use crate::nest::{AxisDef, AxisId, AxisKind, Body, BufferId, Exec, Level, Program, Slot, Space, StageId};
use crate::profile::Profile;
use crate::schedule::invocations::is_invocation;
use crate::schedule::loops::lanes::{Along, Missing, along};
use crate::schedule::loops::{fuse, shift, split, vectorize};
use crate::schedule::{Applied, At, Outcome, StageNest, Watch, place_varying};
use crate::syntax::Name;

/// The maximum number of bytes that an invocation reads or writes at once.
const BYTES: i64 = 16;

/// Applies the default schedule to a copy.
pub(in crate::schedule) fn default(program: &mut Program, profile: &Profile, copy: &Copied) -> Applied {
    let Some(mut nest) = StageNest::open(program, profile, copy.stage) else { return Ok(()) };
    let reduces = matches!(nest.program.stages[copy.stage].body, Body::Reduce { .. });
    if let Space::Fragment { .. } = nest.program.buffers[copy.buffer].space {
        alike::as_read(&mut nest, copy)?;
        nest.store();
        return Ok(());
    }
    let lanes = if reduces { None } else { widen(&mut nest, copy)? };
    if nest.program.buffers[copy.buffer].space == Space::Shared {
        together(&mut nest, copy.span)?;
    } else {
        for frame in &mut nest.path.frames {
            if let Head::Loop { axis, exec: Exec::Serial } = frame.head
                && nest.program.axes[axis].kind == AxisKind::Parallel
            {
                frame.head = Head::Loop { axis, exec: Exec::Unroll };
            }
        }
    }
    if let Some(lanes) = lanes.filter(|n| *n > 1) {
        let name = &nest.program.buffers[copy.buffer].name;
        let how = if copy.computed { "computed" } else { "copied" };
        nest.program.owe(format!("`{name}` is {how} {lanes} elements at a time"), crate::nest::State::Proved, copy.span);
    }
    nest.store();
    Ok(())
}

/// Vectorizes a copy's loops as its `vector` says, before its block schedules the other loops.
pub(in crate::schedule) fn lanes(program: &mut Program, profile: &Profile, copy: &Copied, errors: &mut Errors) {
    if copy.vector.is_none() {
        return;
    }
    if let Some(mut nest) = StageNest::open(program, profile, copy.stage) {
        let widened = widen(&mut nest, copy);
        nest.store();
        errors.keep(widened);
    }
}

/// Moves the contiguous dimension innermost and vectorizes it. Returns the width, if there is such a dimension.
fn widen(nest: &mut StageNest<'_>, copy: &Copied) -> Result<Option<i64>, Error> {
    let (memory, index, read) = far_side(nest);
    let Some(axis) = contiguous(nest, &index) else {
        return match copy.vector {
            Some((n, span)) if n > 1 => Err(not_contiguous(nest, memory, span)),
            _ => Ok(None),
        };
    };
    let innermost = nest.path.frames.len() - 1;
    if let Some(at) = nest.path.position(axis) {
        let frame = nest.path.frames.remove(at);
        nest.path.frames.insert(innermost, frame);
    }
    // The elements that are read may be longer. For example, a sum that is written back can have a wider type.
    let read_bytes = nest.path.compute.value.iter().flat_map(|v| nest.program.exprs.reads(*v)).map(|r| r.buffer);
    let bytes = read_bytes.chain([memory]).map(|b| i64::from(nest.program.buffers[b].dtype.bytes())).max().unwrap_or(1);
    let extent = nest.program.exprs.as_int(nest.program.axes[axis].extent).unwrap_or(1);
    let fits = |n: &i64| extent % n == 0;
    let width = match copy.vector {
        Some((n, span)) => {
            explicit(nest, copy, memory, (axis, extent), n, span)?;
            match is_wide(nest, memory, &index, read.as_ref(), axis, n) {
                Ok(()) => n,
                Err(missing) => return Err(not_wide(nest, memory, n, &missing, span)),
            }
        }
        None => {
            let widths: Vec<i64> = std::iter::successors(Some(BYTES / bytes), |n| Some(n / 2)).take_while(|n| *n > 1).collect();
            let wide = widths.into_iter().filter(fits).find(|n| is_wide(nest, memory, &index, read.as_ref(), axis, *n).is_ok());
            wide.unwrap_or(1)
        }
    };
    if width > 1 {
        let name = Name { text: nest.name(axis).to_owned(), span: copy.span };
        vectorize::by(nest, &name, (width, copy.span), true, copy.span)?;
    }
    Ok(Some(width))
}

/// Checks the rules for `vector` that do not concern alignment.
fn explicit(nest: &StageNest<'_>, copy: &Copied, memory: BufferId, (axis, extent): (AxisId, i64), n: i64, span: SpanId) -> Applied {
    let buffer = &nest.program.buffers[memory];
    let bytes = i64::from(buffer.dtype.bytes());
    if !(n as u64).is_power_of_two() || n * bytes > BYTES {
        let error = Error::new(span, format!("cannot copy {n} elements of {} at a time", buffer.dtype));
        return Err(error.help(format!(
            "the number of elements must be a power of two, and at most {BYTES} bytes: {} elements",
            BYTES / bytes
        )));
    }
    if extent % n != 0 {
        let (name, copy) = (nest.name(axis), &nest.program.buffers[copy.buffer].name);
        let error = Error::new(span, format!("{n} does not divide the {extent} elements of `{copy}` along `{name}`"));
        return Err(error.help("choose a number that divides them, or leave out `vector`"));
    }
    Ok(())
}

fn not_contiguous(nest: &StageNest<'_>, memory: BufferId, span: SpanId) -> Error {
    let name = &nest.program.buffers[memory].name;
    let error = Error::new(span, format!("no loop of the copy runs over consecutive elements of `{name}`"));
    error.help("leave out `vector`: elements are copied one by one")
}

fn not_wide(nest: &StageNest<'_>, memory: BufferId, n: i64, missing: &Missing, span: SpanId) -> Error {
    let name = &nest.program.buffers[memory].name;
    let error = Error::new(
        span,
        format!("vectors of {n} elements of `{name}` are not proved to be aligned and wholly inside or outside it"),
    );
    match missing {
        Missing::Fact(fact) => error
            .note(format!("the fact `{fact}` is missing"))
            .help(format!("state it in the schedule's header, `where {fact}`, or leave out `vector`")),
        Missing::Multiple(index) => error.note(format!("`{index}` is not always a multiple of {n}")).help("leave out `vector`"),
        Missing::Other(reason) => error.note(reason.clone()).help("leave out `vector`"),
    }
}

/// Returns the memory that is further from the invocation: its buffer, the index in it, and the read, if the copy reads it.
fn far_side(nest: &StageNest<'_>) -> (BufferId, Vec<ExprId>, Option<Read>) {
    let compute = &nest.path.compute;
    if let Some(dst) = compute.dst.first()
        && nest.program.buffers[dst.buffer].space.is_global()
    {
        return (dst.buffer, dst.index.clone(), None);
    }
    let read = compute.value.iter().flat_map(|v| nest.program.exprs.reads(*v)).next();
    match read {
        Some(read) => (read.buffer, read.index.to_vec(), Some(read)),
        None => (nest.program.stages[nest.stage].buffer, Vec::new(), None),
    }
}

/// Returns the copy's own loop that runs over consecutive elements.
fn contiguous(nest: &mut StageNest<'_>, index: &[ExprId]) -> Option<AxisId> {
    let leaves: Vec<ExprId> = index.iter().map(|i| nest.on_loops(*i)).collect();
    let (last, outer) = leaves.split_last()?;
    let sum = nest.program.exprs.linear(*last);
    let plain = |a: &AxisId| {
        let named = |e: ExprId| nest.program.exprs.uses_axis(e, &mut |b| b == *a);
        sum.axes.get(a) == Some(&1) && !sum.rest.iter().any(|(e, _)| named(*e)) && !outer.iter().any(|e| named(*e))
    };
    nest.path.axes().find(plain)
}

/// Checks that vectors of `n` along an axis are aligned, and wholly inside or outside the tensor. Otherwise returns the missing
/// fact.
fn is_wide(
    nest: &mut StageNest<'_>,
    memory: BufferId,
    index: &[ExprId],
    read: Option<&Read>,
    axis: AxisId,
    n: i64,
) -> Result<(), Missing> {
    if n == 1 {
        return Ok(());
    }
    match along(nest, memory, index, axis, n) {
        Along::Wide => {}
        Along::Unaligned(missing) => return Err(missing),
        Along::Uniform | Along::Scattered => return Err(Missing::Other("the elements are not consecutive".into())),
    }
    let sides = match read.map(|r| &r.outside) {
        None | Some(Outside::Never) => return Ok(()),
        Some(Outside::Clamp(sides) | Outside::Fill(_, sides)) => sides.last().copied().unwrap_or((false, false)),
    };
    let Some(row) = nest.program.buffers[memory].shape.last().copied() else { return Ok(()) };
    let row_text = nest.text(row);
    match sides {
        (false, true) if !nest.prover().divides(n, row) => Err(Missing::Fact(format!("{row_text} % {n} == 0"))),
        (true, _) => Err(Missing::Other("the index may be negative".into())),
        _ => Ok(()),
    }
}

/// Distributes the elements across the invocations of the workgroup. The points of a shifted tile are not distributed, because the
/// overlapping tile has some of them too, and one invocation must write both.
fn together(nest: &mut StageNest<'_>, span: SpanId) -> Applied {
    let [x, y, z] = local::size(nest.program, &nest.program.plan[nest.dispatch].body, nest.profile.subgroup);
    let invocations = i64::from(x) * i64::from(y) * i64::from(z);
    let plain = |f: &Frame| f.as_loop().filter(|(_, e)| *e == Exec::Serial).map(|(a, _)| a);
    let dealt = |a: &AxisId| nest.program.axes[*a].kind == AxisKind::Parallel && shift::shifted(nest, *a).is_none();
    let axes: Vec<AxisId> = nest.path.frames.iter().filter_map(plain).filter(dealt).collect();
    let item = match axes.as_slice() {
        [] => return one_writes(nest, invocations, span),
        _ if invocations == 1 => return Ok(()),
        [one] => *one,
        several => {
            let name = nest.unused("item");
            fuse::fuse(nest, several, name, span)?
        }
    };
    let items = nest.program.exprs.as_int(nest.program.axes[item].extent).unwrap_or(1);
    let mine = if items <= invocations {
        item
    } else {
        let names = [nest.unused("round"), nest.unused("thread")];
        split::split(nest, item, span, &[None, Some((invocations, span))], None, &names, span)?[1]
    };
    if let Some(at) = nest.path.position(mine) {
        nest.path.frames[at].head = Head::Loop { axis: mine, exec: Exec::Bind(Level::Thread, Slot::Linear) };
    }
    Ok(())
}

/// Lets only the first invocation copy, because there is one element (or vector).
fn one_writes(nest: &mut StageNest<'_>, invocations: i64, span: SpanId) -> Applied {
    if invocations == 1 {
        return Ok(());
    }
    let extent = nest.program.exprs.int(1);
    let name = nest.unused("thread");
    let axis = nest.made(name, extent, span);
    nest.path.frames.insert(0, Frame::looped(axis, Exec::Bind(Level::Thread, Slot::Linear), span));
    Ok(())
}

/// Checks after each directive that every attached nest can still be at its place.
pub(in crate::schedule) fn check(nest: &mut StageNest<'_>, span: SpanId) -> Applied {
    for attached in nest.placed.attached.clone() {
        let copy = attached.buffer.map_or_else(String::new, |b| nest.program.buffers[b].name.clone());
        if let Some(frame) = nest.taken_together(&attached) {
            return Err(within_vector(nest, frame, &attached, &copy, span));
        }
        outside_of_reduction(nest, &attached, &copy, span)?;
        results_of_one(nest, &attached, &copy, span)?;
        if attached.together {
            not_fixed(nest, &attached, &copy, span)?;
            uniform(nest, &attached, &copy, span)?;
        } else {
            owned(nest, &attached, &copy, span)?;
        }
    }
    Ok(())
}

/// Reports a copy that would be made among lanes, or for each element of a matrix.
fn within_vector(nest: &StageNest<'_>, frame: &Frame, attached: &Attached, copy: &str, span: SpanId) -> Error {
    let (axis, exec) = frame.as_loop().map_or(("", Exec::Lanes), |(axis, exec)| (nest.name(axis), exec));
    let (within, put, help) = match exec {
        Exec::Matrix(_) => (
            "for each element of the matrices along",
            "split into matrices",
            "`reorder` the axes of the matrices into that loop first",
        ),
        Exec::Dot => ("among the factors of the dot product over", "put in a dot product", "name a place further out"),
        _ => ("among the lanes of", "put in lanes", "name a place further out"),
    };
    let error = Error::new(span, format!("`{copy}` would be made {within} `{axis}`"));
    error.note_at(attached.span, format!("`{copy}` is made at a loop that is {put}")).help(help)
}

/// Checks that a result is written back outside the loops of its reduction, and that a copy which the finish reads is outside them.
fn outside_of_reduction(nest: &StageNest<'_>, attached: &Attached, copy: &str, span: SpanId) -> Applied {
    let written = nest.path.compute.dst.iter().any(|dst| Some(dst.buffer) == attached.buffer);
    let reads = |value: ExprId| nest.program.exprs.reads(value).iter().any(|r| Some(r.buffer) == attached.buffer);
    if !written && !nest.path.compute.finish.is_some_and(reads) {
        return Ok(());
    }
    let plain: Vec<&Frame> = nest.path.frames.iter().filter(|f| !is_invocation(f)).collect();
    let around = plain[..nest.place_of(attached)].iter().filter_map(|f| f.as_loop());
    let Some((axis, _)) = around.into_iter().find(|(a, _)| nest.is_reduction(*a)) else { return Ok(()) };
    let name = nest.name(axis);
    if written {
        let error = Error::new(span, format!("`{copy}` would be written back inside the reduction's loop over `{name}`"));
        let error = error.note_at(attached.span, "the result is promoted here");
        return Err(error.help(format!("keep `{name}` inside the loops at which the result is promoted")));
    }
    let stage = &nest.program.stages[nest.stage].name;
    let error =
        Error::new(span, format!("`{copy}`, which `{stage}` reads outside its reduction, would be inside the loop over `{name}`"));
    let error = error.note_at(attached.span, format!("`{copy}` is made here"));
    Err(error.help(format!("keep `{name}` inside the loop at which `{copy}` is made")))
}

/// Checks that each write-back has all results of its copy: an axis of the copy may not be moved around it or bound to workgroups.
fn results_of_one(nest: &StageNest<'_>, attached: &Attached, copy: &str, span: SpanId) -> Applied {
    if !nest.path.compute.dst.iter().any(|dst| Some(dst.buffer) == attached.buffer) {
        return Ok(());
    }
    let plain: Vec<&Frame> = nest.path.frames.iter().filter(|f| !is_invocation(f)).collect();
    let around = plain[..nest.place_of(attached)].iter().filter_map(|f| Some((f, f.as_loop()?.0)));
    let moved = around.into_iter().find_map(|(f, a)| Some((f, a, brought(nest.program, a, &attached.outer)?)));
    let Some((frame, axis, brought)) = moved else { return Ok(()) };
    let name = nest.name(brought);
    let who = match frame.level() {
        Some(_) => "each workgroup",
        None if brought == axis => "each of its iterations",
        None => "each iteration of the axis that it is fused into",
    };
    let error = Error::new(span, format!("`{copy}` holds the results of all values of `{name}`, but {who} would have only one"));
    let error = error.note_at(attached.span, "the result is promoted here");
    Err(error.help(format!("place `{name}` before the promotion")))
}

/// Returns an axis that a loop brings around an attachment: the loop's own axis, or an axis that was fused with one of `outer`.
fn brought(program: &Program, axis: AxisId, outer: &[AxisId]) -> Option<AxisId> {
    match &program.axes[axis].def {
        _ if outer.contains(&axis) => None,
        AxisDef::Fused(digits) => {
            let mut more = digits.iter().filter(|digit| !program.is_single(**digit));
            more.find_map(|digit| brought(program, *digit, outer))
        }
        AxisDef::Part { of, .. } if program.comes_from(*of, outer) => brought(program, *of, outer),
        _ => Some(axis),
    }
}

/// Checks that a loop around a cooperative attachment is not bound to invocations, because each of them would need another copy.
fn not_fixed(nest: &StageNest<'_>, attached: &Attached, copy: &str, span: SpanId) -> Applied {
    let bound = nest.path.frames.iter().filter(|f| is_invocation(f));
    let mut axes = bound.filter_map(|f| f.as_loop().map(|(a, _)| a));
    let Some(axis) = axes.find(|a| nest.program.comes_from(*a, &attached.outer)) else { return Ok(()) };
    let name = nest.name(axis);
    let shared = attached.buffer.is_none_or(|b| nest.program.buffers[b].space == Space::Shared);
    let what = if shared { "is shared by all invocations of a workgroup" } else { "is reduced by all invocations of a workgroup" };
    let error = Error::new(span, format!("`{copy}` {what}, so it cannot be inside the distributed loop over `{name}`"));
    let error = error.note_at(attached.span, format!("`{copy}` is {} inside its loop here", self::made(nest, attached)));
    let place = if attached.outer.last() == Some(&axis) { ", at `workgroup`" } else { "" };
    Err(error.help(format!(
        "put {} after this directive{place}: it then holds the elements for all values of `{name}`",
        directive(nest, attached, copy)
    )))
}

/// Returns the participle of the directive that attached a buffer.
fn made(nest: &StageNest<'_>, attached: &Attached) -> &'static str {
    if is_computed(nest, attached) { "computed" } else { "promoted" }
}

/// Returns the text of the directive that attached a buffer, for a help.
fn directive(nest: &StageNest<'_>, attached: &Attached, copy: &str) -> String {
    if is_computed(nest, attached) { format!("`compute_at({copy}, …)`") } else { format!("the `promote` of `{copy}`") }
}

fn is_computed(nest: &StageNest<'_>, attached: &Attached) -> bool {
    let program = &*nest.program;
    let of = |buffer| program.notes.placed.keys().any(|stage| program.stages[*stage].buffers().contains(&buffer));
    attached.buffer.is_some_and(of)
}

/// Checks that a cooperative attachment is not in a loop whose trip count differs among invocations.
fn uniform(nest: &StageNest<'_>, attached: &Attached, copy: &str, span: SpanId) -> Applied {
    let plain: Vec<&Frame> = nest.path.frames.iter().filter(|f| !is_invocation(f)).collect();
    for frame in &plain[..nest.place_of(attached)] {
        if let Some((axis, thread, made)) = place_varying(nest, frame) {
            let (name, thread) = (nest.name(axis), nest.name(thread));
            let error = Error::new(
                span,
                format!("`{copy}` is made cooperatively inside the loop over `{name}`, whose trip count differs among invocations"),
            );
            let error = error.note_at(attached.span, format!("`{copy}` is {} here", self::made(nest, attached)));
            let error =
                error.note_at(made, format!("the extent of `{name}` depends on `{thread}`, which is distributed to invocations"));
            return Err(error.help(format!("place `{copy}` outside `{name}`, or write `to: register`")));
        }
    }
    Ok(())
}

/// Checks that registers are not indexed by an invocation coordinate.
fn owned(nest: &mut StageNest<'_>, attached: &Attached, copy: &str, span: SpanId) -> Applied {
    let reads: Vec<Read> = nest
        .path
        .compute
        .values()
        .flat_map(|v| nest.program.exprs.reads(v))
        .filter(|r| Some(r.buffer) == attached.buffer)
        .collect();
    let threads: Vec<(AxisId, SpanId)> =
        nest.path.frames.iter().filter(|f| f.level().is_some()).filter_map(|f| f.as_loop().map(|(a, _)| (a, f.span))).collect();
    for index in reads.iter().flat_map(|r| r.index.clone()) {
        let index = nest.on_loops(index);
        let used = threads.iter().find(|(t, _)| nest.program.exprs.uses_axis(index, &mut |a| a == *t));
        if let Some((thread, _)) = used {
            let name = nest.name(*thread);
            let error = Error::new(
                span,
                format!("`{copy}` holds the elements for all values of `{name}`, but each invocation has its own registers"),
            );
            let error = error.note_at(attached.span, format!("`{copy}` is {} here", self::made(nest, attached)));
            let directive = directive(nest, attached, copy);
            return Err(
                error.help(format!("put {directive} after this directive: it then holds the elements for one value of `{name}`"))
            );
        }
    }
    Ok(())
}

/// Recomputes the predicates of a copy's nest, because later directives may have split axes that its loops share with the host.
fn refresh(program: &mut Program, profile: &Profile, copy: &Copied) {
    if let Some(mut nest) = StageNest::open(program, profile, copy.stage) {
        nest.refresh();
        nest.store();
    }
}

/// Moves the cooperative reduction of a stage into registers out of the invocation loops, after its block has made it cooperative.
pub(in crate::schedule) fn gather(program: &mut Program, profile: &Profile, stage: StageId, span: SpanId) -> Applied {
    let buffer = program.stages[stage].buffer;
    let together = program.buffers[buffer].space == Space::Register && program.is_together(buffer);
    let Some(host) = program.notes.hosts.get(&stage).copied().filter(|_| together) else { return Ok(()) };
    let Some(mut nest) = StageNest::open(program, profile, host) else { return Ok(()) };
    // Its readers must follow it, and must be in the scopes of all its buffers.
    let written = nest.program.stages[stage].buffers();
    let is_own = |a: &Attached| a.buffer.is_some_and(|buffer| written.contains(&buffer));
    let reader = nest.placed.attached.iter().position(|a| !readers(nest.program, &a.before, &written).is_empty());
    if let Some(reader) = reader {
        let late: Vec<Attached> = nest.placed.attached.split_off(reader);
        let (own, others): (Vec<Attached>, Vec<Attached>) = late.into_iter().partition(is_own);
        nest.placed.attached.extend(own.into_iter().chain(others));
    }
    let checked = check(&mut nest, span);
    nest.store();
    // A stage that contains a cooperative reduction becomes cooperative itself.
    checked.and_then(|()| gather(program, profile, host, span))
}

/// Checks that a cooperative computation does not read registers that each invocation has filled for itself.
fn read_apart(program: &mut Program, profile: &Profile, copy: &Copied) -> Applied {
    if program.buffers[copy.buffer].space != Space::Register || program.is_together(copy.buffer) {
        return Ok(());
    }
    let Some(host) = program.notes.hosts.get(&copy.stage).copied() else { return Ok(()) };
    let Some(nest) = StageNest::open(program, profile, host) else { return Ok(()) };
    let together = nest.placed.attached.iter().filter(|a| a.together);
    let reader = together.flat_map(|a| readers(nest.program, &a.before, &nest.program.stages[copy.stage].buffers())).next();
    let Some(reader) = reader else { return Ok(()) };
    let (name, reader) = (&nest.program.buffers[copy.buffer].name, &nest.program.stages[reader].name);
    let what = format!("`{name}` is read by `{reader}`, which the invocations of a workgroup compute cooperatively");
    let error = Error::new(copy.span, what).note("registers belong to one invocation");
    Err(error.help(format!("write `to: shared`, or let them reduce `{name}` cooperatively, too")))
}

/// Schedules the copies without a block, and checks all of them.
pub(in crate::schedule) fn finish(
    program: &mut Program,
    profile: &Profile,
    made: &[(Copied, bool)],
    outcome: &mut Outcome,
    watch: &mut Watch<'_>,
) {
    made.iter().for_each(|(copy, _)| refresh(program, profile, copy));
    for (copy, _) in made {
        outcome.errors.keep(read_apart(program, profile, copy));
    }
    clamp_copies::run(program);
    for (copy, _) in made.iter().filter(|(_, scheduled)| !scheduled) {
        outcome.errors.keep(default(program, profile, copy));
        watch(At::Plain(copy.stage), &|| program.clone());
    }
    // Later steps would only report consequences of errors in a copy's schedule.
    if !outcome.errors.is_empty() {
        return;
    }
    made.iter().for_each(|(copy, _)| once::run(program, profile, copy));
    owners::run(program);
    for (copy, _) in made {
        outcome.errors.keep(dealt::run(program, profile, copy));
    }
    if !outcome.errors.is_empty() {
        return;
    }
    for (copy, _) in made {
        let constant = check::constant(program, copy);
        let whole = constant.and_then(|()| check::shared_out(program, profile, copy));
        if outcome.errors.keep(whole).is_some() {
            reuse::check(program, profile, copy, &mut outcome.warnings);
        }
    }
    local::predicate_inactive(program, profile);
    outcome.errors.keep(check::in_one_row(program));
    outcome.errors.keep(check::by_all_subgroups(program));
}
