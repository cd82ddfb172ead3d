//! The places in the user's files that the instructions of a dispatch come from. They are stored next to its SPIR-V and woven into it on
//! request.
//!
//! The SPIR-V itself holds no places, because drivers cache pipelines by its words: a moved line must not cause a compilation.
//! [`Dispatch::words_with_lines`] makes the module that debuggers and the reference device read.

use crate::Dispatch;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ffi::CStr;

/// The places of a dispatch's instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    /// The files, by the index in [`Line::file`]. The first one is the schedule's.
    pub files: Vec<String>,
    /// The changes of the place, in the order of the words.
    pub changes: Vec<Line>,
}

/// The place of the instructions from a word on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The number of words from the last change or, for the first one, from the start of the module.
    pub after: u32,
    /// An index into [`Lines::files`].
    pub file: u32,
    /// The line, counted from 1. 0 for no place.
    pub line: u32,
    /// The column, counted from 1.
    pub column: u32,
}

/// The opcodes.
mod op {
    pub(super) const SOURCE: u32 = 3;
    pub(super) const STRING: u32 = 7;
    pub(super) const LINE: u32 = 8;
    pub(super) const EXTENSION: u32 = 10;
    pub(super) const EXT_INST_IMPORT: u32 = 11;
    pub(super) const MEMORY_MODEL: u32 = 14;
    pub(super) const ENTRY_POINT: u32 = 15;
    pub(super) const EXECUTION_MODE: u32 = 16;
    pub(super) const CAPABILITY: u32 = 17;
    pub(super) const FUNCTION: u32 = 54;
    pub(super) const FUNCTION_END: u32 = 56;
    pub(super) const VARIABLE: u32 = 59;
    pub(super) const PHI: u32 = 245;
    pub(super) const LOOP_MERGE: u32 = 246;
    pub(super) const SELECTION_MERGE: u32 = 247;
    pub(super) const LABEL: u32 = 248;
    pub(super) const BRANCH: u32 = 249;
    pub(super) const UNREACHABLE: u32 = 255;
    pub(super) const EXECUTION_MODE_ID: u32 = 331;
}

/// The words before the first instruction.
const HEADER: usize = 5;

impl Dispatch {
    /// Returns the name of the module's entry point, as in its SPIR-V.
    pub fn entry(&self) -> Option<&CStr> {
        let entry = Instructions::of(&self.spirv).find(|i| i.op == op::ENTRY_POINT)?;
        // The bytes of a literal string are in order, because the words are little-endian.
        CStr::from_bytes_until_nul(self.spirv.get(4 * (entry.at + 3)..4 * (entry.at + entry.words))?).ok()
    }

    /// Returns the SPIR-V with an `OpLine` at each change of place in [`Dispatch::lines`]. Without files, these are the stored words.
    pub fn words_with_lines(&self) -> Cow<'_, [u8]> {
        match self.lines.files.is_empty() {
            true => Cow::Borrowed(&self.spirv),
            false => weave(&self.spirv, &self.lines).map_or(Cow::Borrowed(&self.spirv), Cow::Owned),
        }
    }
}

/// An instruction's opcode, and its position and length in words.
struct Instruction {
    op: u32,
    at: usize,
    words: usize,
}

/// The instructions of a module, up to one that is cut off.
struct Instructions<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Instructions<'_> {
    fn of(bytes: &[u8]) -> Instructions<'_> {
        Instructions { bytes, at: HEADER }
    }
}

impl Iterator for Instructions<'_> {
    type Item = Instruction;

    fn next(&mut self) -> Option<Instruction> {
        let (at, first) = (self.at, word(self.bytes, self.at)?);
        let words = (first >> 16) as usize;
        self.at += words;
        (words > 0 && 4 * self.at <= self.bytes.len()).then_some(Instruction { op: first & 0xffff, at, words })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(4 * at..)?.first_chunk().map(|w| u32::from_le_bytes(*w))
}

/// Returns the module with its lines. `None` if the words are not a module.
fn weave(bytes: &[u8], lines: &Lines) -> Option<Vec<u8>> {
    let bound = word(bytes, 3)?;
    let files = u32::try_from(lines.files.len()).ok()?;
    let mut woven = bytes.get(..4 * HEADER)?.to_vec();
    woven.get_mut(12..16)?.copy_from_slice(&bound.checked_add(files)?.to_le_bytes());
    let (mut named, mut place) = (false, Placed::new(lines));
    let mut last = 0;
    for Instruction { op, at, words } in Instructions::of(bytes) {
        if !named && !is_before_strings(op) {
            named = true;
            name_files(&mut woven, bound, lines);
        }
        if let Some([file, line, column]) = place.before(op, at)
            && file < files
        {
            push(&mut woven, op::LINE, &[bound + file, line, column]);
        }
        last = at + words;
        woven.extend_from_slice(bytes.get(4 * at..4 * last)?);
    }
    // An instruction that is cut off is copied as it is.
    woven.extend_from_slice(bytes.get(4 * last.max(HEADER)..)?);
    Some(woven)
}

/// Writes the files' names, and the name of the module's source.
fn name_files(woven: &mut Vec<u8>, bound: u32, lines: &Lines) {
    for (id, file) in (bound..).zip(&lines.files) {
        let mut text = file.replace('\0', "").into_bytes();
        // The text is cut off, because an instruction has at most 65,535 words.
        text.truncate(1 << 16);
        text.resize(text.len() / 4 * 4 + 4, 0);
        let text = text.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]));
        push(woven, op::STRING, &[id].into_iter().chain(text).collect::<Vec<u32>>());
    }
    // The source language is unknown (0), and so is its version.
    push(woven, op::SOURCE, &[0, 0, bound]);
}

fn push(woven: &mut Vec<u8>, op: u32, operands: &[u32]) {
    let first = ((operands.len() as u32 + 1) << 16) | op;
    [first].iter().chain(operands).for_each(|word| woven.extend_from_slice(&word.to_le_bytes()));
}

/// True if an instruction precedes debug information in every module.
fn is_before_strings(op: u32) -> bool {
    matches!(
        op,
        op::CAPABILITY
            | op::EXTENSION
            | op::EXT_INST_IMPORT
            | op::MEMORY_MODEL
            | op::ENTRY_POINT
            | op::EXECUTION_MODE
            | op::EXECUTION_MODE_ID
    )
}

/// The current place while the instructions are read.
struct Placed<'a> {
    /// The later changes, and the word of the next one.
    rest: std::slice::Iter<'a, Line>,
    next: Option<(usize, [u32; 3])>,
    wanted: [u32; 3],
    /// The place of the last `OpLine`, which holds until its block ends.
    said: [u32; 3],
    inside: bool,
}

impl<'a> Placed<'a> {
    fn new(lines: &'a Lines) -> Placed<'a> {
        let mut placed = Placed { rest: lines.changes.iter(), next: None, wanted: [0; 3], said: [0; 3], inside: false };
        placed.advance(0);
        placed
    }

    fn advance(&mut self, from: usize) {
        let change = |l: &Line| (from.saturating_add(l.after as usize), [l.file, l.line, l.column]);
        self.next = self.rest.next().map(change);
    }

    /// Returns the place to write before an instruction, if it has changed.
    fn before(&mut self, op: u32, at: usize) -> Option<[u32; 3]> {
        while let Some((from, place)) = self.next.filter(|(from, _)| *from <= at) {
            self.wanted = place;
            self.advance(from);
        }
        match op {
            op::FUNCTION => self.inside = true,
            op::FUNCTION_END => self.inside = false,
            op::LABEL => self.said = [0; 3],
            _ => {}
        }
        // A branch must follow its merge instruction directly, and instructions that compute nothing need no line.
        let silent = matches!(op, op::FUNCTION | op::LABEL | op::VARIABLE | op::PHI | op::LOOP_MERGE | op::SELECTION_MERGE)
            || (op::BRANCH..=op::UNREACHABLE).contains(&op);
        if !self.inside || silent || self.wanted == self.said || self.wanted[1] == 0 {
            return None;
        }
        self.said = self.wanted;
        Some(self.said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dispatch(words: &[u32], lines: Lines) -> Dispatch {
        Dispatch { lines, ..Dispatch::alone("d", words.iter().flat_map(|w| w.to_le_bytes()).collect()) }
    }

    fn words(bytes: &[u8]) -> Vec<u32> {
        bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
    }

    const fn first(op: u32, words: u32) -> u32 {
        words << 16 | op
    }

    /// `OpEntryPoint GLCompute %1 "ab"`, a type, and a function of two blocks.
    const MODULE: [u32; 25] = [
        0x0723_0203,
        0x0001_0300,
        0,
        9,
        0,
        first(op::ENTRY_POINT, 4),
        5,
        1,
        u32::from_le_bytes(*b"ab\0\0"),
        first(19, 2), // OpTypeVoid
        2,
        first(op::FUNCTION, 5),
        2,
        1,
        0,
        3,
        first(op::LABEL, 2),
        4,
        first(1, 1), // OpUndef, shortened
        first(1, 1),
        first(op::BRANCH, 2),
        5,
        first(op::LABEL, 2),
        5,
        first(1, 1),
    ];

    fn lines() -> Lines {
        let line = |after, line| Line { after, file: 0, line, column: 7 };
        Lines { files: vec!["f.rs".into()], changes: vec![line(18, 3), line(1, 4)] }
    }

    #[test]
    fn lines_stand_where_places_change_and_blocks_begin() {
        let woven = words(&dispatch(&MODULE, lines()).words_with_lines());
        let at = |line| [first(op::LINE, 4), 9, line, 7];
        let name = [first(op::STRING, 4), 9, u32::from_le_bytes(*b"f.rs"), 0, first(op::SOURCE, 4), 0, 0, 9];
        let mut wanted = MODULE.to_vec();
        wanted[3] = 10;
        wanted.splice(24..24, at(4));
        wanted.splice(19..19, at(4));
        wanted.splice(18..18, at(3));
        wanted.splice(9..9, name);
        assert_eq!(woven, wanted);
    }

    #[test]
    fn without_lines_the_words_are_the_same() {
        let plain = dispatch(&MODULE, Lines::default());
        assert_eq!(plain.words_with_lines(), plain.spirv);
        assert_eq!(plain.entry(), Some(c"ab"));
    }

    #[test]
    fn damaged_words_and_lines_do_no_harm() {
        let mut rng = 1u32;
        let mut next = || {
            rng = rng.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            rng >> 8
        };
        for _ in 0..20_000 {
            let mut module = MODULE.to_vec();
            module.truncate(1 + next() as usize % MODULE.len());
            let at = next() as usize % module.len();
            module[at] = [next(), u32::MAX, 0, next() % 64, ((next() % 8) << 16) | 54][next() as usize % 5];
            let mut lines = lines();
            lines.changes[0] = Line { after: next() % 40, file: next() % 3, line: next() % 3, column: 0 };
            let mut damaged = dispatch(&module, lines);
            damaged.spirv.truncate(damaged.spirv.len() - next() as usize % 4);
            assert!(damaged.words_with_lines().len() >= damaged.spirv.len());
            let _ = damaged.entry();
        }
    }
}
