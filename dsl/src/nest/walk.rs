//! Walks over a nest, for code that does not depend on how the nodes are nested. Code that computes a result for each block, or
//! changes the nesting, uses [`Node::blocks`] itself.

use super::{AxisId, Block, Exec, Node, NodeKind};
use crate::diag::SpanId;

/// A loop around a node.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// Its axis.
    pub axis: AxisId,
    /// How its iterations are executed.
    pub exec: Exec,
    /// The directive that made it.
    pub span: SpanId,
}

impl Around {
    fn of(node: &Node) -> Option<Around> {
        let NodeKind::Loop(looped) = &node.kind else { return None };
        Some(Around { axis: looped.axis, exec: looped.exec, span: node.span })
    }
}

/// All nodes of a block in order, each before those inside it.
pub fn nodes(block: &[Node]) -> impl Iterator<Item = &Node> {
    let mut open: Vec<&Node> = block.iter().rev().collect();
    std::iter::from_fn(move || {
        let node = open.pop()?;
        let inside = open.len();
        open.extend(node.blocks().flatten());
        open[inside..].reverse();
        Some(node)
    })
}

/// Calls `f` for each node, before the nodes inside it.
pub fn each_mut(block: &mut Block, f: &mut dyn FnMut(&mut Node)) {
    within_mut(block, &mut |node, _| f(node));
}

/// Calls `f` for each node, before the nodes inside it, with the loops around it, outermost first.
pub fn within<'n>(block: &'n [Node], f: &mut dyn FnMut(&'n Node, &[Around])) {
    fn go<'n>(block: &'n [Node], around: &mut Vec<Around>, f: &mut dyn FnMut(&'n Node, &[Around])) {
        for node in block {
            f(node, around);
            let looped = Around::of(node);
            around.extend(looped);
            node.blocks().for_each(|inner| go(inner, around, f));
            around.truncate(around.len() - usize::from(looped.is_some()));
        }
    }
    go(block, &mut Vec::new(), f);
}

/// Like [`within`], but `f` may change the node. It must not change the node's blocks.
pub fn within_mut(block: &mut Block, f: &mut dyn FnMut(&mut Node, &[Around])) {
    fn go(block: &mut Block, around: &mut Vec<Around>, f: &mut dyn FnMut(&mut Node, &[Around])) {
        for node in block {
            f(node, around);
            let looped = Around::of(node);
            around.extend(looped);
            node.blocks_mut().for_each(|inner| go(inner, around, f));
            around.truncate(around.len() - usize::from(looped.is_some()));
        }
    }
    go(block, &mut Vec::new(), f);
}
