//! The places in the user's files that nodes come from. They are plain data, for code that has no [`Spans`](crate::diag::Spans).

use super::{Program, walk};
use crate::diag::{SourcePosition, SpanId};
use std::collections::BTreeMap;

/// The places of a program's nodes.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The names of the files. The first one is the schedule's.
    pub files: Vec<String>,
    /// File, line and column, the latter two counted from 1.
    of: BTreeMap<SpanId, [u32; 3]>,
}

impl Places {
    /// File, line and column of a node's span.
    pub fn get(&self, span: SpanId) -> Option<[u32; 3]> {
        self.of.get(&span).copied()
    }

    fn file(&mut self, name: &str) -> u32 {
        let at = self.files.iter().position(|known| known == name).unwrap_or_else(|| {
            self.files.push(name.into());
            self.files.len() - 1
        });
        at as u32
    }
}

impl Program {
    /// Records the places of all nodes. They are looked up only now, for the nodes that remain, because the lookup is slow within rustc.
    pub(crate) fn locate(&mut self, schedule: SpanId, place: &dyn Fn(SpanId) -> Option<SourcePosition>) {
        let mut places = Places::default();
        if let Some(SourcePosition { file, .. }) = place(schedule) {
            places.file(&file);
        }
        for span in self.plan.iter().flat_map(|dispatch| walk::nodes(&dispatch.body)).map(|node| node.span) {
            if !places.of.contains_key(&span)
                && let Some(SourcePosition { file, line, column }) = place(span)
            {
                let file = places.file(&file);
                places.of.insert(span, [file, line, column]);
            }
        }
        self.report.places = places;
    }
}
