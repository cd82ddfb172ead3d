//! Where nodes come from in the user's files: plain data, for those who have no [`Spans`](crate::diag::Spans) and do not need them.

use super::{Program, walk};
use crate::diag::{Place, SpanId};
use std::collections::BTreeMap;

/// The places of a program's nodes.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The files' names. The first one is the schedule's.
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
    /// Notes the places of all its nodes. They are looked up only now, for those that are left: that is slow within rustc.
    pub(crate) fn locate(&mut self, schedule: SpanId, place: &dyn Fn(SpanId) -> Option<Place>) {
        let mut places = Places::default();
        if let Some(Place { file, .. }) = place(schedule) {
            places.file(&file);
        }
        for span in self.plan.iter().flat_map(|dispatch| walk::nodes(&dispatch.body)).map(|node| node.span) {
            if !places.of.contains_key(&span)
                && let Some(Place { file, line, column }) = place(span)
            {
                let file = places.file(&file);
                places.of.insert(span, [file, line, column]);
            }
        }
        self.places = places;
    }
}
