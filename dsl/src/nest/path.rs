//! The path from a dispatch down to a stage's compute. It is opened into frames so that directives can move, split and wrap its
//! loops, and then closed again. Siblings of the path stay with the frame whose block they are in.

use super::walk;
use super::{AxisId, Block, BufferId, Compute, Exec, Level, Loop, Node, NodeKind, Phase, Slot, StageId};
use crate::diag::SpanId;

/// The path from a dispatch's body to one compute.
#[derive(Clone, Debug)]
pub struct Path {
    /// The nodes around the compute, outermost first.
    pub frames: Vec<Frame>,
    /// The nodes that precede the compute in its block.
    pub before: Block,
    /// The compute.
    pub compute: Compute,
    /// The directive or definition that made it.
    pub span: SpanId,
    /// The nodes that follow the compute in its block.
    pub after: Block,
}

/// A node that encloses the rest of the path, and its siblings.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The nodes that precede it in its block.
    pub before: Block,
    /// The node.
    pub head: Head,
    /// The directive that made it.
    pub span: SpanId,
    /// The nodes that follow it in its block.
    pub after: Block,
}

/// A node without its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// A loop.
    Loop {
        /// Its axis.
        axis: AxisId,
        /// Its execution.
        exec: Exec,
    },
    /// The scope of a buffer.
    Alloc {
        /// The buffer.
        buffer: BufferId,
    },
}

impl Frame {
    /// Makes a loop without siblings.
    pub fn looped(axis: AxisId, exec: Exec, span: SpanId) -> Frame {
        Frame { before: Vec::new(), head: Head::Loop { axis, exec }, span, after: Vec::new() }
    }

    /// Returns the axis and execution, if it is a loop.
    pub fn as_loop(&self) -> Option<(AxisId, Exec)> {
        match self.head {
            Head::Loop { axis, exec } => Some((axis, exec)),
            Head::Alloc { .. } => None,
        }
    }

    /// Returns the level and slot, if it is a bound loop.
    pub fn level(&self) -> Option<(Level, Slot)> {
        match self.head {
            Head::Loop { exec: Exec::Bind(level, slot), .. } => Some((level, slot)),
            _ => None,
        }
    }

    /// Wraps a body in the node, and adds its siblings.
    pub fn close(self, body: Block) -> Block {
        let kind = match self.head {
            Head::Loop { axis, exec } => NodeKind::Loop(Loop::new(axis, exec, body)),
            Head::Alloc { buffer } => NodeKind::Alloc { buffer, body },
        };
        let mut block = self.before;
        block.push(Node::new(kind, self.span));
        block.extend(self.after);
        block
    }
}

impl Path {
    /// Opens the path to the compute of a stage and phase, if the block contains one. Branches are not searched, because lowering
    /// makes them later.
    pub fn open(block: &Block, stage: StageId, phase: Phase) -> Option<Path> {
        for (i, node) in block.iter().enumerate() {
            let siblings = || (block[..i].to_vec(), block[i + 1..].to_vec());
            if let NodeKind::Compute(compute) = &node.kind
                && compute.stage == stage
                && compute.phase == phase
            {
                let (before, after) = siblings();
                return Some(Path { frames: Vec::new(), before, compute: compute.clone(), span: node.span, after });
            }
            let (head, body) = match &node.kind {
                NodeKind::Loop(l) => (Head::Loop { axis: l.axis, exec: l.exec }, &l.body),
                NodeKind::Alloc { buffer, body } => (Head::Alloc { buffer: *buffer }, body),
                _ => continue,
            };
            if let Some(mut path) = Path::open(body, stage, phase) {
                let (before, after) = siblings();
                path.frames.insert(0, Frame { before, head, span: node.span, after });
                return Some(path);
            }
        }
        None
    }

    /// True if a block contains the compute of a stage and phase.
    pub fn is_in(block: &Block, stage: StageId, phase: Phase) -> bool {
        let is_it = |node: &Node| matches!(&node.kind, NodeKind::Compute(c) if c.stage == stage && c.phase == phase);
        walk::nodes(block).any(is_it)
    }

    /// Puts the block together again.
    pub fn close(self) -> Block {
        let mut block = self.before;
        block.push(Node::new(NodeKind::Compute(self.compute), self.span));
        block.extend(self.after);
        self.frames.into_iter().rev().fold(block, |body, frame| frame.close(body))
    }

    /// Returns the position of the loop over an axis.
    pub fn position(&self, axis: AxisId) -> Option<usize> {
        self.frames.iter().position(|f| f.as_loop().is_some_and(|(a, _)| a == axis))
    }

    /// The axes bound on the path, outermost first.
    pub fn axes(&self) -> impl DoubleEndedIterator<Item = AxisId> {
        self.frames.iter().filter_map(|f| f.as_loop().map(|(a, _)| a))
    }

    /// Counts the outermost frames that are loops bound to workgroups.
    pub fn workgroup_depth(&self) -> usize {
        self.frames.iter().take_while(|f| matches!(f.level(), Some((Level::Workgroup, _)))).count()
    }

    /// Removes a frame. Its siblings become siblings of the next inner node.
    pub fn remove(&mut self, at: usize) -> Frame {
        let mut frame = self.frames.remove(at);
        let (before, after) = match self.frames.get_mut(at) {
            Some(next) => (&mut next.before, &mut next.after),
            None => (&mut self.before, &mut self.after),
        };
        before.splice(0..0, std::mem::take(&mut frame.before));
        after.append(&mut frame.after);
        frame
    }
}
