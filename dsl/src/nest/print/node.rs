//! One line for each kind of node.

use super::Printer;
use crate::nest::{
    Access, AllReduce, AxisId, Body, BufferId, Compute, Exec, How, Level, Loop, Phase, Point, Pred, Scope, Side, Slot, Space,
    StageId, Step, StepPlace, Tail,
};

impl Printer<'_> {
    pub(super) fn looped(&self, looped: &Loop) -> String {
        let (axis, extent) = (self.axis(looped.axis), self.expr(self.program.axes[looped.axis].extent));
        match looped.exec {
            Exec::Serial => format!("for {axis} in 0..{}", looped.end.map_or(extent, |end| self.expr(end))),
            Exec::Unroll => format!("unroll {axis} in 0..{extent}"),
            Exec::Lanes => format!("lanes {axis} in 0..{extent}"),
            Exec::Dot => format!("dot {axis} in 0..{extent}"),
            Exec::Matrix(side) => format!("matrix {} {axis} in 0..{extent}{}", side_name(side), self.reduced(looped.axis)),
            Exec::Step(Step::First(0)) => format!("once {axis} = 0, if it is below {extent}"),
            Exec::Step(Step::First(n)) => format!("once {axis} = min({n}, {extent} - 1), if that is not negative"),
            Exec::Step(Step::Ahead(of, n)) => format!("once {axis} = min({} + {n}, {extent} - 1)", self.axis(of)),
            Exec::Bind(level, slot) => {
                let down = if self.program.notes.down.contains(&looped.axis) { ", downwards" } else { "" };
                format!("{}: {axis} in 0..{extent}{down}{}", bound(level, slot), self.reduced(looped.axis))
            }
        }
    }

    /// Says how the partial results of a reduction are combined.
    fn reduced(&self, axis: AxisId) -> String {
        self.program.notes.strategies.get(&axis).map_or_else(String::new, |h| format!(", reduced by {}", how(*h)))
    }

    /// Returns the declaration of a buffer, for example `shared a_s: f32[8, 32 + 4]`.
    pub fn declaration(&self, buffer: BufferId) -> String {
        let b = &self.program.buffers[buffer];
        let pad = if b.row_pad > 0 { format!(" + {}", b.row_pad) } else { String::new() };
        let pad = if b.swizzle > 0 { format!("{pad} swizzled by {}", b.swizzle) } else { pad };
        let versions = if b.versions > 1 { format!("{} x ", b.versions) } else { String::new() };
        let matrices = match &b.space {
            Space::Fragment { rows: 0, .. } => String::new(),
            Space::Fragment { rows, columns, spread: false } => format!(" of {rows} x {columns}"),
            Space::Fragment { rows, columns, spread: true } => format!(" of rows of {rows} x {columns}"),
            _ => String::new(),
        };
        let shape = self.exprs(&b.shape);
        let (ahead, overlaid) = (self.ahead(buffer), self.program.notes.overlaid.get(&buffer));
        let first = overlaid.map_or_else(String::new, |first| format!(" at element {first} of the memory of {}", b.dtype));
        format!("{} {}: {versions}{}[{shape}{pad}]{matrices}{first}{ahead}", space(&b.space), b.name, b.dtype)
    }

    /// Describes how a copy will be prefetched, until lowering has made it so.
    fn ahead(&self, buffer: BufferId) -> String {
        let Some(pipeline) = self.program.pipeline_of(buffer).filter(|p| p.made.is_none()) else { return String::new() };
        let place = |place: StepPlace| {
            let at = match place.at {
                Point::Start => "start".to_owned(),
                Point::End => "end".to_owned(),
                Point::Before(stage) => format!("before {}", self.program.stages[stage].name),
                Point::After(stage) => format!("after {}", self.program.stages[stage].name),
            };
            if place.early { format!("{at} early") } else { at }
        };
        let buffers = if pipeline.buffers == 1 { "1 buffer".to_owned() } else { format!("{} buffers", pipeline.buffers) };
        let fetch = pipeline.fetch.map_or_else(String::new, |fetch| format!(", fetch {}", place(fetch)));
        format!(", pipelined: {buffers}{fetch}, store {}", place(pipeline.store))
    }

    /// Returns the text of an access, for example `acc[i, j]`.
    pub fn access(&self, access: &Access) -> String {
        format!("{}[{}]", self.program.buffers[access.buffer].name, self.exprs(&access.index))
    }

    fn places(&self, places: &[Access]) -> String {
        tuple(places.iter().map(|place| self.access(place)).collect())
    }

    pub(super) fn compute(&self, compute: &Compute) -> String {
        let dst = self.places(compute.written());
        let value = tuple(compute.value.iter().map(|v| self.expr(*v)).collect());
        let preds = self.preds(&compute.preds);
        let reduces = matches!(self.program.stages[compute.stage].body, Body::Reduce { .. });
        let word = match compute.phase {
            Phase::Whole if reduces => return format!("reduce {dst} {} {value}{preds}", self.assignment(compute.stage)),
            Phase::Update => return format!("update {dst} {} {value}{preds}", self.assignment(compute.stage)),
            Phase::Atomic => return format!("update {dst} {} {value} by atomic{preds}", self.assignment(compute.stage)),
            Phase::Whole => "write",
            Phase::Init => "init",
            Phase::Resume => "resume",
            Phase::Finish => "finish",
        };
        format!("{word} {dst} = {value}{preds}")
    }

    /// Returns `+=`, or the monoid's name and `=`.
    fn assignment(&self, stage: StageId) -> String {
        match self.monoid(stage) {
            "sum" => "+=".into(),
            "prod" => "*=".into(),
            name => format!("{name}="),
        }
    }

    fn monoid(&self, stage: StageId) -> &str {
        match &self.program.stages[stage].body {
            Body::Reduce { monoid, .. } => &monoid.name,
            Body::Map(_) => "write",
        }
    }

    fn preds(&self, preds: &[Pred]) -> String {
        let one = |pred: &Pred| {
            let extent = self.expr(self.program.axes[pred.axis].extent);
            let filled = if pred.tail == Tail::RoundUp { ", else filled" } else { "" };
            format!("{} < {extent}{filled}", self.axis(pred.axis))
        };
        match preds {
            [] => String::new(),
            some => format!("  where {}", some.iter().map(one).collect::<Vec<_>>().join(" and ")),
        }
    }

    pub(super) fn all_reduce(&self, reduction: &AllReduce) -> String {
        let (dst, src, monoid) = (self.places(&reduction.dst), self.places(&reduction.src), self.monoid(reduction.stage));
        let axes = reduction.over.iter().map(|axis| self.axis(*axis)).collect::<Vec<_>>().join(", ");
        let (how, scope, preds) = (how(reduction.how), scope(reduction.scope), self.preds(&reduction.preds));
        let over =
            reduction.scratch.map(|scratch| format!(", in {}", self.program.buffers[scratch.buffer].name)).unwrap_or_default();
        format!("all-reduce {dst} = {monoid} of {src} over {axes}, across the {scope} by {how}{over}{preds}")
    }
}

fn tuple(mut texts: Vec<String>) -> String {
    match texts.len() {
        1 => texts.remove(0),
        _ => format!("({})", texts.join(", ")),
    }
}

fn how(how: How) -> &'static str {
    match how {
        How::Subgroup => "subgroup",
        How::Tree => "tree",
        How::Atomic => "atomic",
        How::Matrix => "matrix",
    }
}

/// Returns the level and slot of a loop, for example `thread x`.
pub(crate) fn bound(of: Level, along: Slot) -> String {
    format!("{} {}", level(of), slot(along))
}

pub(crate) fn level(level: Level) -> &'static str {
    match level {
        Level::Workgroup => "workgroup",
        Level::Subgroup => "subgroup",
        Level::Lane => "lane",
        Level::Thread => "thread",
    }
}

pub(crate) fn slot(slot: Slot) -> &'static str {
    match slot {
        Slot::X => "x",
        Slot::Y => "y",
        Slot::Z => "z",
        Slot::Linear => "linear",
    }
}

pub(super) fn barrier(of: Scope) -> String {
    format!("barrier of the {}", scope(of))
}

pub(crate) fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Invocation => "invocation",
        Scope::Subgroup => "subgroup",
        Scope::Workgroup => "workgroup",
        Scope::Device => "device",
    }
}

fn space(space: &Space) -> &'static str {
    match space {
        Space::Input => "input",
        Space::Update => "update",
        Space::Output => "output",
        Space::Temporary => "temporary",
        Space::Constant(_) => "constant",
        Space::Shared => "shared",
        Space::Register => "register",
        Space::Fragment { .. } => "fragment",
    }
}

fn side_name(side: Side) -> &'static str {
    match side {
        Side::Rows => "rows",
        Side::Columns => "columns",
        Side::Depth => "depth",
    }
}
