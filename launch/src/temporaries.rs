//! Memory of temporaries. Temporaries that are not needed at the same time share memory, if a barrier separates their uses anyway.

use crate::{Program, Role};

/// The memory of a launch's temporaries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Temporaries {
    /// The bytes of each memory.
    pub bytes: Vec<u64>,
    /// The memory of each tensor, as an index into `bytes`. `None` for tensors that are not temporaries.
    pub of: Vec<Option<usize>>,
}

/// The first and the last dispatch that uses a temporary, as numbers of barriers before them.
#[derive(Clone, Copy)]
struct Life {
    tensor: usize,
    first: usize,
    last: usize,
}

impl Program {
    /// Chooses the memory of the temporaries, given the bytes of each tensor. In the order of their first uses, each one takes the smallest
    /// memory that is free and large enough, otherwise the largest one that is free, which grows, otherwise a new one.
    ///
    /// A memory is free if a barrier lies between the last use of the temporary in it and the first use of the next one. So sharing needs
    /// no further barriers.
    pub fn temporaries(&self, bytes: &[u64]) -> Temporaries {
        let mut plan = Temporaries { bytes: Vec::new(), of: vec![None; self.tensors.len()] };
        let mut ends: Vec<usize> = Vec::new();
        for life in self.lives() {
            let needed = bytes.get(life.tensor).copied().unwrap_or(0);
            let free = (0..ends.len()).filter(|memory| ends[*memory] < life.first);
            let best = free.min_by_key(|memory| {
                let size = plan.bytes[*memory];
                if size >= needed { (false, size) } else { (true, u64::MAX - size) }
            });
            let memory = best.unwrap_or_else(|| {
                plan.bytes.push(0);
                ends.push(0);
                ends.len() - 1
            });
            plan.bytes[memory] = plan.bytes[memory].max(needed);
            ends[memory] = life.last;
            plan.of[life.tensor] = Some(memory);
        }
        plan
    }

    /// Returns the lives of the temporaries, in the order of their first uses.
    fn lives(&self) -> Vec<Life> {
        let barriers = self.barriers();
        let uses = |tensor: usize| {
            let used = self.dispatches.iter().zip(&barriers);
            used.filter(move |(dispatch, _)| dispatch.buffers.iter().any(|used| used.tensor as usize == tensor)).map(|(_, n)| *n)
        };
        let temporaries = self.tensors.iter().enumerate().filter(|(_, tensor)| tensor.role == Role::Temporary);
        let lives =
            temporaries.filter_map(|(tensor, _)| Some(Life { tensor, first: uses(tensor).min()?, last: uses(tensor).max()? }));
        let mut lives: Vec<Life> = lives.collect();
        lives.sort_by_key(|life| life.first);
        lives
    }

    /// Returns the number of barriers before each dispatch, if no tensors share memory.
    fn barriers(&self) -> Vec<usize> {
        let (mut since, mut barriers) = (Vec::<(u32, bool)>::new(), 0);
        let before = |dispatch: &crate::Dispatch| {
            let clashes = |tensor: u32, writes: bool| since.iter().any(|(other, written)| *other == tensor && (writes || *written));
            if dispatch.buffers.iter().any(|used| clashes(used.tensor, used.writes)) {
                since.clear();
                barriers += 1;
            }
            since.extend(dispatch.buffers.iter().map(|used| (used.tensor, used.writes)));
            barriers
        };
        self.dispatches.iter().map(before).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BufferUse, DType, Dispatch, Tensor};

    /// Makes a program of dispatches, each with the tensors that it reads and the one that it writes. The first tensor is an input and the
    /// last one an output.
    fn program(tensors: usize, dispatches: &[(&[u32], u32)]) -> Program {
        let role = |n: usize| if n == 0 { Role::Input } else { Role::Temporary };
        let tensor = |n: usize| Tensor {
            name: format!("t{n}"),
            dtype: DType::F32,
            shape: Vec::new(),
            layout: None,
            strides: None,
            role: if n + 1 == tensors { Role::Output } else { role(n) },
        };
        let dispatch = |(reads, write): &(&[u32], u32)| {
            let used = |tensor: u32, writes: bool| BufferUse { tensor, reads: !writes, writes, align: 4 };
            let buffers = reads.iter().map(|tensor| used(*tensor, false)).chain([used(*write, true)]).collect();
            Dispatch { buffers, ..Dispatch::alone("d", Vec::new()) }
        };
        Program {
            tensors: (0..tensors).map(tensor).collect(),
            dispatches: dispatches.iter().map(dispatch).collect(),
            ..Program::default()
        }
    }

    fn plan(program: &Program, bytes: &[u64]) -> (Vec<u64>, Vec<Option<usize>>) {
        let Temporaries { bytes, of } = program.temporaries(bytes);
        (bytes, of)
    }

    #[test]
    fn a_chain_needs_two_memories() {
        let chain: Vec<(Vec<u32>, u32)> = (1..8).map(|n| (vec![n - 1], n)).collect();
        let chain: Vec<(&[u32], u32)> = chain.iter().map(|(reads, write)| (&reads[..], *write)).collect();
        let (bytes, of) = plan(&program(8, &chain), &[8; 8]);
        assert_eq!(bytes, [8, 8]);
        assert_eq!(of, [None, Some(0), Some(1), Some(0), Some(1), Some(0), Some(1), None]);
    }

    #[test]
    fn a_temporary_that_is_read_later_keeps_its_memory() {
        let dispatches: [(&[u32], u32); 4] = [(&[0], 1), (&[1], 2), (&[2], 3), (&[1, 3], 4)];
        assert_eq!(plan(&program(5, &dispatches), &[8; 5]), (vec![8, 8, 8], vec![None, Some(0), Some(1), Some(2), None]));
    }

    /// The two branches run at the same time, so a temporary of one must not delay the other.
    #[test]
    fn temporaries_without_a_barrier_between_them_are_apart() {
        let dispatches: [(&[u32], u32); 3] = [(&[0], 1), (&[0], 2), (&[1, 2], 3)];
        assert_eq!(plan(&program(4, &dispatches), &[8; 4]).0, [8, 8]);
    }

    #[test]
    fn the_smallest_memory_that_suffices_is_taken_and_otherwise_the_largest_grows() {
        let dispatches: [(&[u32], u32); 5] = [(&[0], 1), (&[0], 2), (&[1, 2], 3), (&[3], 4), (&[4], 5)];
        let program = program(6, &dispatches);
        assert_eq!(plan(&program, &[0, 4, 16, 8, 3, 0]).1, [None, Some(0), Some(1), Some(2), Some(0), None]);
        assert_eq!(plan(&program, &[0, 4, 16, 8, 12, 0]).1, [None, Some(0), Some(1), Some(2), Some(1), None]);
        assert_eq!(plan(&program, &[0, 4, 16, 8, 20, 0]), (vec![4, 20, 8], vec![None, Some(0), Some(1), Some(2), Some(1), None]));
    }
}
