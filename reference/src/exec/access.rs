//! The memory and the offsets of loads and stores.

use super::{Numbers, Result, Worker};
use crate::code::{AccessInfo, Root, Term};
use crate::fault::{Access, Element, FaultKind, Object, Space};
use crate::memory::device::{Meant, split};
use crate::run::BoundTensor;

/// Memory that is addressed in bytes.
#[derive(Clone, Copy)]
pub(super) enum ByteMemory<'a> {
    Tensor(&'a BoundTensor<'a>),
    /// 32-bit words, and the number of bytes that are valid.
    Block(&'a [u32], i64),
}

impl<'a, N: Numbers> Worker<'a, N> {
    pub(super) fn load(&mut self, n: u32) -> Result {
        let code = self.code;
        let info = &code.accesses[n as usize];
        self.offsets(info, Access::Read)?;
        match info.root {
            Root::Shared { first, object } => self.load_shared(info, first, &code.objects[object as usize]),
            Root::Register(register) => self.load_register(info, &code.registers[register as usize]),
            _ => self.load_bytes(info),
        }
    }

    pub(super) fn store(&mut self, n: u32) -> Result {
        let code = self.code;
        let info = &code.accesses[n as usize];
        self.offsets(info, Access::Write)?;
        match info.root {
            Root::Shared { first, object } => self.store_shared(info, first, &code.objects[object as usize]),
            Root::Register(register) => self.store_register(info, &code.registers[register as usize]),
            _ => self.store_bytes(info),
        }
    }

    /// Computes the offset of each lane. If all lanes access the same place, only the first offset is computed.
    pub(super) fn offsets(&mut self, info: &AccessInfo, access: Access) -> Result {
        let lanes = if info.apart { self.code.lanes as usize } else { 1 };
        self.offsets[..lanes].fill(info.offset);
        for term in &info.terms {
            if let Some(bound) = term.bound {
                self.check_bound(info, term, bound, access)?;
            }
            self.look(term.index, term.lanes);
            let stride = i64::from(term.stride);
            let at = term.index as usize;
            if term.lanes {
                let (numbers, indices) = (&self.numbers, &self.words[at..at + lanes]);
                let index = |i: &N::Word| i64::from(numbers.integer(*i) as i32);
                self.offsets[..lanes].iter_mut().zip(indices).for_each(|(o, i)| *o += index(i) * stride);
            } else {
                let step = i64::from(self.integer(term.index) as i32) * stride;
                self.offsets[..lanes].iter_mut().for_each(|o| *o += step);
            }
        }
        Ok(())
    }

    fn check_bound(&self, info: &AccessInfo, term: &Term, bound: u32, access: Access) -> Result {
        let row = if term.lanes { self.code.lanes } else { 1 };
        let bad = (0..row).find(|lane| self.integer(term.index + lane) >= bound && (!term.lanes || self.mask[*lane as usize] != 0));
        let Some(lane) = bad else { return Ok(()) };
        let index = i64::from(self.integer(term.index + lane) as i32);
        let lane = if term.lanes { lane } else { self.first() };
        let of = Object { elements: bound.into(), ..self.object(info) };
        self.fault(lane, info.word, FaultKind::OutOfBounds { access, at: Element { of, index } })
    }

    /// Returns the object that is accessed, for a message.
    fn object(&self, info: &AccessInfo) -> Object {
        let objects = &self.code.objects;
        match info.root {
            Root::Shared { object, .. } => objects[object as usize].clone(),
            Root::Register(register) => objects[self.code.registers[register as usize].object as usize].clone(),
            _ => match self.place(info, self.first()) {
                Some((ByteMemory::Tensor(bound), _)) => bound.object.clone(),
                _ => parameters(0),
            },
        }
    }

    /// Returns the memory at the root of an access, and the offset there.
    pub(super) fn place(&self, info: &AccessInfo, lane: u32) -> Option<(ByteMemory<'a>, i64)> {
        let launch = self.launch;
        let piece = &launch.pieces[self.piece as usize];
        let block = ByteMemory::Block(&piece.block, piece.block_bytes);
        match info.root {
            Root::Params => Some((ByteMemory::Block(&piece.push, piece.push_bytes), 0)),
            Root::Binding(n) => Some((launch.buffers.get(n as usize).map_or(block, ByteMemory::Tensor), 0)),
            Root::Address { .. } => {
                let (meant, offset) = split(self.address(info, lane));
                match meant {
                    Meant::Params => Some((block, offset)),
                    Meant::Buffer(n) => Some((ByteMemory::Tensor(launch.buffers.get(n)?), offset)),
                    Meant::Nothing => None,
                }
            }
            Root::Shared { .. } | Root::Register(_) => None,
        }
    }

    /// Returns the address at which an access begins.
    pub(super) fn address(&self, info: &AccessInfo, lane: u32) -> u64 {
        let Root::Address { slot, lanes } = info.root else { return 0 };
        let (row, lane) = if lanes { (self.code.lanes, lane) } else { (1, 0) };
        let word = |plane: u32| u64::from(self.integer(slot + plane * row + lane));
        word(0) | word(1) << 32
    }
}

pub(super) fn parameters(bytes: i64) -> Object {
    Object { space: Space::Parameters, name: String::new(), elements: bytes as u64, first: None }
}
