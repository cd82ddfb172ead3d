//! The ids of an emitted value: a single id for up to four components, otherwise one for every four. A value has at
//! most 16 components.

use crate::module::Id;
use std::ops::Deref;

/// One to four ids, or no id if the value is not written yet.
#[derive(Clone, Copy, Default)]
pub(crate) struct Chunks {
    count: usize,
    ids: [Id; 4],
}

impl Chunks {
    pub(crate) fn one(id: Id) -> Chunks {
        Chunks { count: 1, ids: [id, 0, 0, 0] }
    }
}

impl Deref for Chunks {
    type Target = [Id];

    fn deref(&self) -> &[Id] {
        &self.ids[..self.count]
    }
}

impl FromIterator<Id> for Chunks {
    fn from_iter<I: IntoIterator<Item = Id>>(ids: I) -> Chunks {
        let mut chunks = Chunks::default();
        for id in ids {
            chunks.ids[chunks.count] = id;
            chunks.count += 1;
        }
        chunks
    }
}
