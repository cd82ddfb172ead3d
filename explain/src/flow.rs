//! The tensors that dispatches of a launch compute for later dispatches.

use crate::figures::DimValues;
use crate::totals::bytes;
use tilewright_dsl::launch::{BufferUse, Program};

/// A tensor that a dispatch passes on to a later one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The tensor's name.
    pub tensor: String,
    /// The dispatch that writes it, counted from 0.
    pub from: usize,
    /// The dispatch that reads it.
    pub to: usize,
    /// The bytes of the tensor; `None` if dims are missing.
    pub bytes: Option<i64>,
}

/// Returns the tensors that dispatches pass on, in the order of their readers.
pub(crate) fn flow(program: &Program, known: &DimValues) -> Vec<Passed> {
    let mut writers: Vec<Vec<usize>> = vec![Vec::new(); program.tensors.len()];
    let mut passed = Vec::new();
    for (to, dispatch) in program.dispatches.iter().enumerate() {
        for BufferUse { tensor, reads, writes, .. } in &dispatch.buffers {
            let Some((tensor, writers)) = program.tensors.get(*tensor as usize).zip(writers.get_mut(*tensor as usize)) else {
                continue;
            };
            if *reads {
                let edge = |from: usize| Passed { tensor: tensor.name.clone(), from, to, bytes: bytes(tensor, known) };
                passed.extend(writers.iter().map(|from| edge(*from)));
            }
            if *writes {
                // Dispatches that only write a tensor compute a part of it each.
                if *reads {
                    writers.clear();
                }
                writers.push(to);
            }
        }
    }
    passed
}
