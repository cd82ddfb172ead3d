//! Hash tables for code generation. Keys are small, and a backend looks one up for nearly every instruction. A table of the standard
//! library costs several times as much in builds that do not optimize the compiler. No table is ever iterated, so that the emitted module
//! does not depend on the order of hashes.

use std::hash::{Hash, Hasher};

/// A hasher that multiplies and shifts, one word at a time.
#[derive(Default)]
pub(crate) struct Mixer(u64);

impl Mixer {
    #[inline(always)]
    fn mix(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }

    #[inline(always)]
    fn write_u8(&mut self, n: u8) {
        self.mix(n as u64);
    }

    #[inline(always)]
    fn write_u16(&mut self, n: u16) {
        self.mix(n as u64);
    }

    #[inline(always)]
    fn write_u32(&mut self, n: u32) {
        self.mix(n as u64);
    }

    #[inline(always)]
    fn write_u64(&mut self, n: u64) {
        self.mix(n);
    }

    #[inline(always)]
    fn write_usize(&mut self, n: usize) {
        self.mix(n as u64);
    }

    #[inline(always)]
    fn write_isize(&mut self, n: isize) {
        self.mix(n as u64);
    }

    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0
    }
}

/// Returns the hash of a key.
pub(crate) fn hash(key: &(impl Hash + ?Sized)) -> u32 {
    let mut mixer = Mixer::default();
    key.hash(&mut mixer);
    mixer.finish() as u32
}

/// Returns the hash of 32-bit words.
pub(crate) fn hash_words(words: &[u32]) -> u32 {
    let mut mixer = Mixer::default();
    for word in words {
        mixer.mix(u64::from(*word));
    }
    mixer.finish() as u32
}

/// An index of a list by the hashes of its members. The list itself is stored by the owner.
#[derive(Debug, Default)]
pub struct Places {
    /// The slots of an open-addressing table: members' numbers, counted from 1, or 0 for an empty slot. The slots from a hash's own slot
    /// to its member are occupied. At least half of the slots are empty. Their number is a power of 2.
    slots: Vec<u32>,
    /// The hash of each member.
    hashes: Vec<u32>,
}

impl Places {
    /// Returns the member with this hash for which `is` returns true.
    pub fn find(&self, hash: u32, mut is: impl FnMut(usize) -> bool) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let last = self.slots.len() - 1;
        let mut at = hash as usize & last;
        loop {
            let number = self.slots[at] as usize;
            if number == 0 {
                return None;
            }
            if self.hashes[number - 1] == hash && is(number - 1) {
                return Some(number - 1);
            }
            at = (at + 1) & last;
        }
    }

    /// Adds the hash of the list's next member.
    pub fn push(&mut self, hash: u32) {
        self.hashes.push(hash);
        if self.hashes.len() * 2 <= self.slots.len() {
            return self.place(self.hashes.len(), hash);
        }
        self.slots = vec![0; (self.slots.len() * 4).max(16)];
        for number in 1..=self.hashes.len() {
            self.place(number, self.hashes[number - 1]);
        }
    }

    fn place(&mut self, number: usize, hash: u32) {
        let last = self.slots.len() - 1;
        let mut at = hash as usize & last;
        while self.slots[at] != 0 {
            at = (at + 1) & last;
        }
        self.slots[at] = number as u32;
    }

    /// Forgets all members.
    pub fn clear(&mut self) {
        let last = self.slots.len().wrapping_sub(1);
        // The slots from a hash's own slot to its member are occupied, so that this clears each occupied slot.
        for hash in &self.hashes {
            let mut at = *hash as usize & last;
            while self.slots[at] != 0 {
                self.slots[at] = 0;
                at = (at + 1) & last;
            }
        }
        self.hashes.clear();
    }
}

/// A hash map. It cannot be iterated.
pub struct Map<K, V> {
    places: Places,
    entries: Vec<(K, V)>,
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Map { places: Places::default(), entries: Vec::new() }
    }
}

impl<K: Hash + Eq, V> Map<K, V> {
    fn find(&self, key: &K) -> Option<usize> {
        if self.entries.is_empty() {
            return None;
        }
        self.places.find(hash(key), |n| self.entries[n].0 == *key)
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        let at = self.find(key)?;
        Some(&self.entries[at].1)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let at = self.find(key)?;
        Some(&mut self.entries[at].1)
    }

    /// True if the map has a key.
    pub fn contains_key(&self, key: &K) -> bool {
        self.find(key).is_some()
    }

    /// Returns the value of a key. A new key gets the value of `new` first.
    pub fn get_or_insert_with(&mut self, key: K, new: impl FnOnce() -> V) -> &mut V {
        let hash = hash(&key);
        let at = match self.places.find(hash, |n| self.entries[n].0 == key) {
            Some(at) => at,
            None => {
                self.places.push(hash);
                self.entries.push((key, new()));
                self.entries.len() - 1
            }
        };
        &mut self.entries[at].1
    }

    /// Sets the value of a key. Returns true if the key is new.
    pub fn insert(&mut self, key: K, value: V) -> bool {
        let hash = hash(&key);
        match self.places.find(hash, |n| self.entries[n].0 == key) {
            Some(at) => {
                self.entries[at].1 = value;
                false
            }
            None => {
                self.places.push(hash);
                self.entries.push((key, value));
                true
            }
        }
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.places.clear();
        self.entries.clear();
    }
}
