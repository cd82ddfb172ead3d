//! Checks that every loop is of a kind that the device can execute, and that the dispatch fits its profile.

use crate::diag::{Error, SpanId};
use crate::expr::ExprId;
use crate::launch::Feature;
use crate::nest::print::bound;
use crate::nest::{AxisId, Block, BufferId, Dispatch, Exec, How, Level, Loop, Node, NodeKind, Scope, Slot, Space, StageId, Step};
use crate::verify::Rule;
use crate::verify::context::Checks;
use crate::verify::site::Site;
use std::collections::{BTreeMap, BTreeSet};

/// True if a loop of this kind is among those around.
fn stands_in(above: &[(Exec, Option<AxisId>)], kind: Exec) -> bool {
    above.iter().any(|(exec, _)| *exec == kind)
}

/// True if a node may be nested in loops over a matrix's sides.
fn is_of_matrices(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Loop(looped) => matches!(looped.exec, Exec::Matrix(_)),
        NodeKind::Compute(_) => true,
        NodeKind::AllReduce(reduction) => reduction.scope == Scope::Subgroup,
        _ => false,
    }
}

/// The most bytes that an invocation reads or writes in one access.
const VECTOR_BYTES: i64 = 16;

impl Checks<'_> {
    /// Checks the limits of the dispatch.
    pub(in crate::verify) fn limits(&self) {
        self.size();
        let dispatch: &Dispatch = self.dispatch;
        self.loops(&dispatch.body, &mut Vec::new());
        self.subgroups();
        self.vectors();
    }

    /// Checks the workgroup's size.
    fn size(&self) {
        let span = self.first(|exec| matches!(exec, Exec::Bind(Level::Thread | Level::Subgroup, _)));
        if self.local.contains(&0) {
            self.refuse(Rule::Limits, span, "the workgroup has 0 invocations");
        } else if let Some((what, guaranteed)) = self.profile.too_large(self.local) {
            self.refuse(Rule::Limits, span, format!("{what}, and {guaranteed}"));
        }
    }

    /// Returns the span of the first loop of a kind.
    fn first(&self, is: impl Fn(Exec) -> bool) -> SpanId {
        let around = self.sites.iter().flat_map(|site| &site.around);
        let mut spans =
            around.filter(|around| matches!(&around.node.kind, NodeKind::Loop(l) if is(l.exec))).map(|around| around.node.span);
        spans.next().unwrap_or(SpanId::NONE)
    }

    fn loops(&self, block: &Block, above: &mut Vec<(Exec, Option<AxisId>)>) {
        for node in block {
            let in_lanes = match &node.kind {
                NodeKind::Loop(_) | NodeKind::Compute(_) => true,
                NodeKind::AllReduce(reduction) => reduction.how != How::Atomic,
                _ => false,
            };
            if stands_in(above, Exec::Lanes) && !in_lanes {
                let line = self.printer.line(node);
                self.refuse(Rule::Limits, node.span, format!("`{line}` cannot be nested in the lanes of a vector"));
            }
            if above.iter().any(|(exec, _)| matches!(exec, Exec::Matrix(_))) && !is_of_matrices(node) {
                let line = self.printer.line(node);
                self.refuse(Rule::Limits, node.span, format!("`{line}` cannot be nested in a matrix"));
            }
            if stands_in(above, Exec::Dot) && !matches!(node.kind, NodeKind::Compute(_)) {
                let line = self.printer.line(node);
                self.refuse(Rule::Limits, node.span, format!("`{line}` cannot be nested in a dot product"));
            }
            match &node.kind {
                NodeKind::Loop(looped) => {
                    self.looped(node, looped, above, block.len() == 1);
                    above.push((looped.exec, Some(looped.axis)));
                    self.loops(&looped.body, above);
                    above.pop();
                }
                NodeKind::Alloc { buffer, body } => {
                    self.allocated(node, *buffer);
                    above.push((Exec::Serial, None));
                    self.loops(body, above);
                    above.pop();
                }
                NodeKind::AllReduce(reduction) => self.all_reduce_limits(node, reduction),
                _ => {}
            }
        }
    }

    /// Checks that a prefetched step belongs to an enclosing serial loop of the same extent.
    fn later_step(&self, axis: AxisId, of: AxisId, above: &[(Exec, Option<AxisId>)]) -> Option<&'static str> {
        let is_around = above.contains(&(Exec::Serial, Some(of)));
        let is_as_long = self.extent(axis) == self.extent(of) || self.provers.roots.equal(self.extent(axis), self.extent(of));
        (!is_around || !is_as_long).then_some("is a step of a loop that does not enclose it, or whose extent differs")
    }

    fn looped(&self, node: &Node, looped: &Loop, above: &[(Exec, Option<AxisId>)], alone: bool) {
        let line = self.printer.line(node);
        let literal = self.literal(looped.axis);
        let wrong = match looped.exec {
            Exec::Serial => None,
            Exec::Unroll => literal.is_none().then_some("is unrolled, but its extent is not a literal"),
            Exec::Matrix(_) => {
                self.feature(node, Feature::CooperativeMatrix);
                self.feature(node, Feature::MemoryModel);
                let again = stands_in(above, looped.exec) || stands_in(above, Exec::Lanes);
                let wrong = if again { Some("is nested in a loop over the same matrix side, or in lanes") } else { None };
                wrong.or(literal.is_none().then_some("is a side of matrices, but its extent is not a literal"))
            }
            Exec::Dot => {
                self.feature(node, Feature::IntegerDotProduct);
                let inside = stands_in(above, Exec::Lanes) || above.iter().any(|(exec, _)| matches!(exec, Exec::Matrix(_)));
                let wrong = inside.then_some("is a dot product nested in lanes or in a matrix");
                wrong.or((literal != Some(4)).then_some("is a dot product of other than four factors"))
            }
            Exec::Lanes if stands_in(above, Exec::Lanes) => Some("is nested in the lanes of another vector"),
            Exec::Lanes => {
                let power = literal.is_some_and(|n| n >= 1 && (n as u64).is_power_of_two());
                (!power).then_some("is executed in lanes, but its extent is not a literal power of two")
            }
            Exec::Step(Step::First(_)) => None,
            Exec::Step(Step::Ahead(of, _)) => self.later_step(looped.axis, of, above),
            Exec::Bind(Level::Workgroup, Slot::Linear) => Some("is bound to workgroups by their linear index"),
            Exec::Bind(Level::Workgroup, _) => self.workgroup(looped.axis, above, alone),
            Exec::Bind(level, slot) => self.bound(looped.axis, level, slot, above),
        };
        if let Some(wrong) = wrong {
            self.refuse(Rule::Limits, node.span, format!("`{line}` {wrong}"));
        }
    }

    /// Checks that loops over workgroups enclose everything else, and that their extents make a grid.
    fn workgroup(&self, axis: AxisId, above: &[(Exec, Option<AxisId>)], alone: bool) -> Option<&'static str> {
        if above.iter().any(|(exec, _)| !matches!(exec, Exec::Bind(Level::Workgroup, _))) {
            return Some("is bound to workgroups, but is nested in another kind of node");
        }
        if !alone {
            return Some("is bound to workgroups, but has siblings");
        }
        (!self.named(&[self.extent(axis)]).is_empty()).then_some("is bound to workgroups, but its extent depends on an axis")
    }

    fn bound(&self, axis: AxisId, level: Level, slot: Slot, above: &[(Exec, Option<AxisId>)]) -> Option<&'static str> {
        let mut around = above.iter().filter(|(exec, _)| *exec == Exec::Bind(level, slot)).filter_map(|(_, outer)| *outer);
        if around.any(|outer| self.is_used_within(axis, outer)) {
            return Some("is bound to the same coordinate as a loop around it");
        }
        let Some(n) = self.literal(axis) else { return Some("is bound to invocations, but its extent is not a literal") };
        if matches!(level, Level::Subgroup | Level::Lane) && self.profile.subgroup.is_none() {
            return Some("is bound within subgroups, but the profile does not fix the subgroup size");
        }
        self.width(level, slot).is_some_and(|width| n > width).then_some("has more values than there are invocations")
    }

    /// True if a leaf inside the inner loop depends on the outer loop's axis. If none does, both loops may count the same invocations: the
    /// invocations execute the inner loop together, within an outer iteration that each executes for itself.
    fn is_used_within(&self, inner: AxisId, outer: AxisId) -> bool {
        self.sites.iter().filter(|site| site.binds(inner)).any(|site| match &site.node.kind {
            NodeKind::Compute(_) => {
                let extents: Vec<ExprId> = site.loops().skip_while(|l| l.axis != inner).map(|l| self.extent(l.axis)).collect();
                self.depends_on(site, &extents).contains(&outer)
            }
            NodeKind::Barrier { .. } => false,
            _ => true,
        })
    }

    /// Returns the loop axes that a compute and some further expressions depend on.
    pub(in crate::verify) fn depends_on(&self, site: &Site<'_>, and: &[ExprId]) -> BTreeSet<AxisId> {
        let NodeKind::Compute(compute) = &site.node.kind else { return BTreeSet::new() };
        let index = compute.dst.iter().flat_map(|dst| dst.index.iter().copied());
        let exprs: Vec<ExprId> = compute.values().chain(index).chain(and.iter().copied()).collect();
        let axes = self.named(&exprs).into_iter().chain(compute.preds.iter().map(|pred| pred.axis));
        self.made_of(axes, site).leaves
    }

    /// Checks that loops are bound to all subgroups of the workgroup.
    fn subgroups(&self) {
        let (mut bound, mut uses) = (false, false);
        for site in self.sites {
            for looped in site.loops() {
                bound |= matches!(looped.exec, Exec::Bind(Level::Subgroup, _));
                uses |= matches!(looped.exec, Exec::Bind(Level::Subgroup | Level::Lane, _));
            }
            uses |= site.is_matrix();
        }
        let Some(size) = self.profile.subgroup.map(i64::from).filter(|_| uses) else { return };
        let whole = self.invocations();
        if self.local[1] != 1 || self.local[2] != 1 || whole % size != 0 {
            let what = format!("subgroups of {size} in a workgroup that is not a row of whole subgroups");
            self.refuse(Rule::Limits, self.first(|exec| matches!(exec, Exec::Bind(..))), what);
        }
        let count = self.width(Level::Subgroup, Slot::Linear).unwrap_or(1);
        if bound && count * size != whole {
            let what = format!("loops are bound to {count} subgroups of {size}, but the workgroup has {whole} invocations");
            self.refuse(Rule::Limits, self.first(|exec| matches!(exec, Exec::Bind(Level::Subgroup, _))), what);
        }
    }

    /// Checks that no access moves more than 16 bytes. (Registers are not accessed in memory: each is a few variables.)
    fn vectors(&self) {
        for site in self.sites {
            let Some(lanes) = site.loops().find(|looped| looped.exec == Exec::Lanes) else { continue };
            let Some(n) = self.literal(lanes.axis) else { continue };
            for touch in site.touches.iter().filter(|touch| !self.is_private(touch.buffer)) {
                let moves = self.made_of(self.named(&touch.index), site).leaves.contains(&lanes.axis);
                let bytes = n * i64::from(self.program.buffers[touch.buffer].dtype.bytes());
                if moves && bytes > VECTOR_BYTES {
                    let (axis, name) = (self.name(lanes.axis), self.buffer(touch.buffer));
                    let what = format!(
                        "the lanes of `{axis}` access {bytes} bytes of `{name}` at once; vectors have at most {VECTOR_BYTES}"
                    );
                    self.refuse(Rule::Limits, site.span(), what);
                }
            }
        }
    }

    fn allocated(&self, node: &Node, buffer: BufferId) {
        let local = matches!(self.space(buffer), Space::Shared | Space::Register | Space::Fragment { .. });
        let name = self.buffer(buffer);
        if !local {
            self.refuse(Rule::Scope, node.span, format!("`{name}` is in device memory and cannot be allocated in a nest"));
        } else if self.program.local_bytes(buffer, self.profile).is_none() {
            self.refuse(Rule::Limits, node.span, format!("the shape of `{name}` is not literal"));
        }
        let (versions, made) = (self.program.buffers[buffer].versions, self.versions_made(buffer));
        if versions != made {
            self.refuse(Rule::Limits, node.span, format!("`{name}` has {versions} versions, but {made} are made"));
        }
    }

    /// Checks that the shared buffers and the all-reduces' scratch fit into the profile's shared memory. Overlaid buffers take the memory up
    /// to the largest end of a buffer of their dtype.
    pub(in crate::verify) fn shared(&self) {
        let mut parts: BTreeMap<String, (i64, SpanId)> = BTreeMap::new();
        for site in self.sites {
            for around in &site.around {
                if let NodeKind::Alloc { buffer, .. } = around.node.kind
                    && *self.space(buffer) == Space::Shared
                {
                    let first = self.program.notes.overlaid.get(&buffer).copied();
                    let before = i64::from(first.unwrap_or(0)) * self.program.element_bytes(buffer, self.profile);
                    let end = before.saturating_add(self.program.local_bytes(buffer, self.profile).unwrap_or(0));
                    let name = match first {
                        Some(_) => format!("the array of {}", self.program.buffers[buffer].dtype),
                        None => self.buffer(buffer).to_owned(),
                    };
                    let part = parts.entry(name).or_insert((end, around.node.span));
                    part.0 = part.0.max(end);
                }
            }
            if let NodeKind::AllReduce(reduction) = &site.node.kind {
                let name = format!("the all-reduce of `{}`", self.program.stages[reduction.stage].name);
                let lanes = site.loops().find(|looped| looped.exec == Exec::Lanes).and_then(|looped| self.literal(looped.axis));
                let bytes = self.program.all_reduce_bytes(reduction, lanes.unwrap_or(1), self.invocations(), self.profile);
                parts.insert(name, (bytes, site.span()));
            }
        }
        let (total, most) = (parts.values().map(|(bytes, _)| bytes).sum::<i64>(), i64::from(self.profile.shared_bytes));
        if total <= most {
            return;
        }
        let what = format!("{total} bytes of shared memory, but `{}` has {most}", self.profile.name);
        let largest = parts.values().max_by_key(|(bytes, _)| *bytes).map_or(SpanId::NONE, |(_, span)| *span);
        let error = Error::new(largest, format!("{}: {what}", Rule::Limits));
        let each =
            |error: Error, (name, (bytes, span)): (String, (i64, SpanId))| error.note_at(span, format!("{name} takes {bytes}"));
        self.error(parts.into_iter().fold(error, each));
    }

    pub(in crate::verify) fn feature(&self, node: &Node, feature: Feature) {
        if !self.profile.has(feature) {
            let (line, name) = (self.printer.line(node), &self.profile.name);
            let what = format!("`{line}` needs `{}`, which `{name}` does not have", feature.name());
            self.refuse(Rule::Limits, node.span, what);
        }
    }

    pub(in crate::verify) fn stage(&self, stage: StageId) -> &str {
        &self.program.stages[stage].name
    }

    /// Returns the name of a slot.
    pub(in crate::verify) fn slot(level: Level, slot: Slot) -> String {
        bound(level, slot)
    }
}
