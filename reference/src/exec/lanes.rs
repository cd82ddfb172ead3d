//! Copies words of the file.

use crate::code::Slot;

/// The parts of the file around a range that is written.
pub(super) struct Rest<'a, W> {
    low: &'a [W],
    high: &'a [W],
    end: usize,
}

impl<'a, W> Rest<'a, W> {
    #[inline(always)]
    pub(super) fn get(&self, at: Slot, len: usize) -> &'a [W] {
        let at = at as usize;
        if at < self.low.len() { &self.low[at..at + len] } else { &self.high[at - self.end..at - self.end + len] }
    }
}

/// Splits the file into a range to write and the words around it, which hold the operands. No operand overlaps a
/// result.
#[inline(always)]
pub(super) fn split<W>(words: &mut [W], dst: Slot, len: usize) -> (&mut [W], Rest<'_, W>) {
    let (low, rest) = words.split_at_mut(dst as usize);
    let (dst, high) = rest.split_at_mut(len);
    let end = low.len() + len;
    (dst, Rest { low, high, end })
}

#[inline]
pub(super) fn copy<W: Copy>(words: &mut [W], dst: Slot, src: Slot, len: u32) {
    if len == 1 {
        words[dst as usize] = words[src as usize];
    } else {
        words.copy_within(src as usize..(src + len) as usize, dst as usize);
    }
}

#[inline]
pub(super) fn broadcast<W: Copy>(words: &mut [W], dst: Slot, src: Slot, planes: u32, lanes: u32) {
    for plane in 0..planes {
        let word = words[(src + plane) as usize];
        let at = (dst + plane * lanes) as usize;
        words[at..at + lanes as usize].fill(word);
    }
}

#[inline]
pub(super) fn masked<W: Copy>(words: &mut [W], mask: &[u32], dst: Slot, src: Slot, planes: u32) {
    let len = mask.len() * planes as usize;
    let (to, rest) = split(words, dst, len);
    let from = rest.get(src, len);
    for (to, from) in to.chunks_exact_mut(mask.len()).zip(from.chunks_exact(mask.len())) {
        for ((to, from), active) in to.iter_mut().zip(from).zip(mask) {
            *to = if *active != 0 { *from } else { *to };
        }
    }
}
