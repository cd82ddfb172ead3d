//! The header of a `.npy` file: a magic number, a version, and a Python dictionary with the element type, the order and the shape.
//!
//! NumPy's documentation of `numpy.lib.format` defines it. A header is read as strictly as NumPy writes it, because it comes from files.

use std::io::{self, Read};
use tilewright_launch::DType;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The bytes of the longest header that is read. NumPy's headers of tensors have 118 bytes, or a few more with many dimensions.
const LONGEST: usize = 1 << 16;

/// The multiple of bytes at which the elements begin, as NumPy writes them.
const ALIGNMENT: usize = 64;

/// The contents of a header.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) dtype: DType,
    /// True if the bytes of each element must be reversed.
    pub(super) swapped: bool,
    /// True if the first index varies fastest.
    pub(super) fortran: bool,
    pub(super) shape: Vec<usize>,
}

/// The reason why a header is not read.
#[derive(Debug)]
pub(super) enum Refusal {
    Io(io::Error),
    Content(String),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Refusal::Content("it ends within its header".to_owned()),
            _ => Refusal::Io(error),
        }
    }
}

impl From<String> for Refusal {
    fn from(reason: String) -> Refusal {
        Refusal::Content(reason)
    }
}

impl Header {
    /// Reads a header. The elements follow it.
    pub(super) fn read(reader: &mut impl Read) -> Result<Header, Refusal> {
        let mut start = [0; 8];
        reader.read_exact(&mut start)?;
        let [magic @ .., major, minor] = start;
        if magic != *MAGIC {
            return Err("it does not begin with the magic number of the format".to_owned().into());
        }
        let length = match major {
            1 => {
                let mut bytes = [0; 2];
                reader.read_exact(&mut bytes)?;
                usize::from(u16::from_le_bytes(bytes))
            }
            2 | 3 => {
                let mut bytes = [0; 4];
                reader.read_exact(&mut bytes)?;
                u32::from_le_bytes(bytes) as usize
            }
            _ => return Err(format!("its version is {major}.{minor}, and versions 1 to 3 are known").into()),
        };
        if length > LONGEST {
            return Err(format!("its header has {length} bytes, and at most {LONGEST} are read").into());
        }
        let mut text = vec![0; length];
        reader.read_exact(&mut text)?;
        let text = std::str::from_utf8(&text).map_err(|_| "its header is not text".to_owned())?;
        Ok(Dictionary { rest: text }.header()?)
    }

    /// Returns the bytes of a header of row-major elements in little-endian order. `None` if the format has no such elements.
    pub(super) fn bytes(dtype: DType, shape: &[usize]) -> Option<Vec<u8>> {
        let name = name(dtype)?;
        let order = if name.ends_with('1') { '|' } else { '<' };
        let extents = shape.iter().map(|n| format!("{n}, ")).collect::<String>();
        // A tuple of one element has a comma at its end.
        let extents = if shape.len() == 1 { extents.trim_end() } else { extents.trim_end_matches(", ") };
        let text = format!("{{'descr': '{order}{name}', 'fortran_order': False, 'shape': ({extents}), }}");
        let before = MAGIC.len() + 4;
        let whole = (before + text.len() + 1).next_multiple_of(ALIGNMENT);
        let mut bytes = [&MAGIC[..], &[1, 0], &u16::try_from(whole - before).ok()?.to_le_bytes(), text.as_bytes()].concat();
        bytes.resize(whole - 1, b' ');
        bytes.push(b'\n');
        Some(bytes)
    }
}

/// Returns the format's name of an element type, without its byte order.
fn name(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::F32 => "f4",
        DType::F16 => "f2",
        DType::I64 => "i8",
        DType::I32 => "i4",
        DType::I16 => "i2",
        DType::I8 => "i1",
        DType::U32 => "u4",
        DType::U16 => "u2",
        DType::U8 => "u1",
        DType::Bool => "b1",
        DType::BF16 => return None,
    })
}

const NAMED: [DType; 10] =
    [DType::F32, DType::F16, DType::I64, DType::I32, DType::I16, DType::I8, DType::U32, DType::U16, DType::U8, DType::Bool];

/// Returns the element type that a `descr` names, and whether the bytes of its elements must be reversed.
fn element(descr: &str) -> Result<(DType, bool), String> {
    let unknown = || {
        let instead = match descr.trim_start_matches(['<', '>', '|', '=']).chars().next() {
            Some('f' | 'c' | 'g') => "; `array.astype(\"float32\")` converts them in NumPy",
            Some('i' | 'u') => "; `array.astype(\"int64\")` or `array.astype(\"int32\")` converts them in NumPy",
            Some('V') => "; save bfloat16 as `array.astype(\"float32\")`",
            _ => "",
        };
        format!("its elements are `{}`, which no tensor has{instead}", descr.escape_debug())
    };
    let (Some(order), Some(wanted)) = (descr.get(..1), descr.get(1..)) else { return Err(unknown()) };
    let dtype = NAMED.into_iter().find(|dtype| name(*dtype) == Some(wanted)).ok_or_else(unknown)?;
    let is_byte = wanted.ends_with('1');
    match order {
        "<" => Ok((dtype, cfg!(target_endian = "big") && !is_byte)),
        ">" => Ok((dtype, cfg!(target_endian = "little") && !is_byte)),
        "=" => Ok((dtype, false)),
        "|" if is_byte => Ok((dtype, false)),
        _ => Err(unknown()),
    }
}

/// A parser of a Python dictionary.
struct Dictionary<'a> {
    /// The text that is not read yet.
    rest: &'a str,
}

impl<'a> Dictionary<'a> {
    fn header(mut self) -> Result<Header, String> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        self.wants('{')?;
        while !self.takes('}') {
            let key = self.string()?;
            self.wants(':')?;
            let is_new = match key {
                "descr" if self.is_at('[') => return Err("its elements are structures, which no tensor has".to_owned()),
                "descr" => descr.replace(self.string()?).is_none(),
                "fortran_order" => fortran.replace(self.truth()?).is_none(),
                "shape" => shape.replace(self.tuple()?).is_none(),
                _ => return Err(format!("its header has the unknown key `{key}`")),
            };
            if !is_new {
                return Err(format!("its header has the key `{key}` twice"));
            }
            if !self.takes(',') && !self.is_at('}') {
                return Err(self.unexpected("`,` or `}`"));
            }
        }
        if !self.rest.trim().is_empty() {
            return Err(self.unexpected("the end of the header"));
        }
        let lacks = |key: &str| format!("its header lacks the key `{key}`");
        let (dtype, swapped) = element(descr.ok_or_else(|| lacks("descr"))?)?;
        let (fortran, shape) = (fortran.ok_or_else(|| lacks("fortran_order"))?, shape.ok_or_else(|| lacks("shape"))?);
        Ok(Header { dtype, swapped, fortran, shape })
    }

    fn is_at(&mut self, wanted: char) -> bool {
        self.rest = self.rest.trim_start();
        self.rest.starts_with(wanted)
    }

    fn takes(&mut self, wanted: char) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn wants(&mut self, wanted: char) -> Result<(), String> {
        if self.takes(wanted) { Ok(()) } else { Err(self.unexpected(&format!("`{wanted}`"))) }
    }

    /// Reads a string. Names of keys and element types never have escapes.
    fn string(&mut self) -> Result<&'a str, String> {
        let Some(quote) = ['\'', '"'].into_iter().find(|quote| self.takes(*quote)) else {
            return Err(self.unexpected("a string"));
        };
        let Some((text, rest)) = self.rest.split_once(quote) else { return Err(self.unexpected("the end of a string")) };
        self.rest = rest;
        Ok(text)
    }

    fn truth(&mut self) -> Result<bool, String> {
        self.rest = self.rest.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.unexpected("`True` or `False`"))
    }

    fn tuple(&mut self) -> Result<Vec<usize>, String> {
        let mut extents = Vec::new();
        self.wants('(')?;
        while !self.takes(')') {
            self.rest = self.rest.trim_start();
            let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let (digits, rest) = self.rest.split_at(end);
            if digits.is_empty() {
                return Err(self.unexpected("an extent"));
            }
            extents.push(digits.parse().map_err(|_| format!("its extent {digits} does not fit a `usize`"))?);
            // Python 2 wrote long integers with this letter.
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            if !self.takes(',') && !self.is_at(')') {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
        Ok(extents)
    }

    fn unexpected(&self, wanted: &str) -> String {
        match self.rest.trim().chars().next() {
            Some(found) => format!("its header has {found:?} in the place of {wanted}"),
            None => format!("its header ends in the place of {wanted}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bytes of a file with this header.
    fn file(version: u8, text: &str) -> Vec<u8> {
        let length = match version {
            1 => u16::try_from(text.len()).expect("short").to_le_bytes().to_vec(),
            _ => u32::try_from(text.len()).expect("short").to_le_bytes().to_vec(),
        };
        [&MAGIC[..], &[version, 0], &length, text.as_bytes()].concat()
    }

    fn refused(bytes: &[u8]) -> String {
        match Header::read(&mut &bytes[..]).expect_err("it is refused") {
            Refusal::Content(reason) => reason,
            Refusal::Io(error) => panic!("{error}"),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for dtype in NAMED {
            for shape in [&[][..], &[7], &[0, 3], &[2, 3, 4], &[1; 64]] {
                let bytes = Header::bytes(dtype, shape).expect("it has a name");
                assert_eq!(bytes.len() % ALIGNMENT, 0);
                let header = Header::read(&mut &bytes[..]).expect("it is read");
                let swapped = cfg!(target_endian = "big") && name(dtype).is_some_and(|name| !name.ends_with('1'));
                assert_eq!(header, Header { dtype, swapped, fortran: false, shape: shape.to_vec() });
            }
        }
        assert_eq!(Header::bytes(DType::BF16, &[2]), None);
    }

    #[test]
    fn headers_are_numpys() {
        let bytes = Header::bytes(DType::F32, &[797, 10]).expect("it has a name");
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (797, 10), }";
        assert_eq!(bytes, file(1, &format!("{text:117}\n")));
        let bytes = Header::bytes(DType::U8, &[797]).expect("it has a name");
        assert!(String::from_utf8_lossy(&bytes).contains("{'descr': '|u1', 'fortran_order': False, 'shape': (797,), }"));
        let bytes = Header::bytes(DType::Bool, &[]).expect("it has a name");
        assert!(String::from_utf8_lossy(&bytes).contains("{'descr': '|b1', 'fortran_order': False, 'shape': (), }"));
    }

    #[test]
    fn other_ways_to_write_a_header_are_read() {
        let wanted = |swapped: bool, fortran: bool| Header { dtype: DType::I32, swapped, fortran, shape: vec![2, 3] };
        for (version, text, header) in [
            (1, "{\"shape\":(2,3),\"descr\":\"<i4\",\"fortran_order\":True}", wanted(cfg!(target_endian = "big"), true)),
            (
                2,
                " { 'shape' : ( 2L , 3L , ) , 'descr' : '>i4' , 'fortran_order' : False } \n",
                wanted(cfg!(target_endian = "little"), false),
            ),
            (3, "{'descr': '=i4', 'fortran_order': False, 'shape': (2, 3)}", wanted(false, false)),
        ] {
            assert_eq!(Header::read(&mut &file(version, text)[..]).expect("it is read"), header, "{text}");
        }
    }

    #[test]
    fn other_contents_are_refused() {
        let head = |descr: &str, shape: &str| format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}");
        for (text, reason) in [
            (
                head("'<f8'", "(2,)"),
                "its elements are `<f8`, which no tensor has; `array.astype(\"float32\")` converts them in NumPy",
            ),
            (
                head("'<u8'", "(2,)"),
                "its elements are `<u8`, which no tensor has; `array.astype(\"int64\")` or `array.astype(\"int32\")` converts them in NumPy",
            ),
            (head("'<V2'", "(2,)"), "its elements are `<V2`, which no tensor has; save bfloat16 as `array.astype(\"float32\")`"),
            (head("'|O'", "(2,)"), "its elements are `|O`, which no tensor has"),
            (
                head("'|f4'", "(2,)"),
                "its elements are `|f4`, which no tensor has; `array.astype(\"float32\")` converts them in NumPy",
            ),
            (head("''", "(2,)"), "its elements are ``, which no tensor has"),
            (head("'\u{e4}f4'", "(2,)"), "its elements are `\u{e4}f4`, which no tensor has"),
            (head("[('a', '<f4')]", "(2,)"), "its elements are structures, which no tensor has"),
            (head("'<f4'", "(2"), "its header has '}' in the place of `,` or `)`"),
            (head("'<f4'", "(-1,)"), "its header has '-' in the place of an extent"),
            (head("'<f4'", "(99999999999999999999,)"), "its extent 99999999999999999999 does not fit a `usize`"),
            (head("'<f4'", "[2]"), "its header has '[' in the place of `(`"),
            ("{'descr': '<f4', 'shape': (2,)}".to_owned(), "its header lacks the key `fortran_order`"),
            ("{'descr': '<f4', 'descr': '<f4'}".to_owned(), "its header has the key `descr` twice"),
            ("{'order': 'C'}".to_owned(), "its header has the unknown key `order`"),
            ("{'descr': '<f4".to_owned(), "its header has '<' in the place of the end of a string"),
            ("{'fortran_order': 0}".to_owned(), "its header has '0' in the place of `True` or `False`"),
            ("{'fortran_order': True 'descr': '<f4'}".to_owned(), "its header has '\\'' in the place of `,` or `}`"),
            (head("'<f4'", "(2,)") + "x", "its header has 'x' in the place of the end of the header"),
            (String::new(), "its header ends in the place of `{`"),
        ] {
            assert_eq!(refused(&file(1, &text)), reason, "{text}");
        }
        assert_eq!(refused(b"\x89PNG\r\n\x1a\n...."), "it does not begin with the magic number of the format");
        assert_eq!(refused(&file(4, "")), "its version is 4.0, and versions 1 to 3 are known");
        let long = [&MAGIC[..], &[2, 0], &u32::MAX.to_le_bytes()].concat();
        assert_eq!(refused(&long), "its header has 4294967295 bytes, and at most 65536 are read");
        let whole = file(1, &head("'<f4'", "(2,)"));
        for end in 0..whole.len() {
            assert_eq!(refused(&whole[..end]), "it ends within its header", "{end} bytes");
        }
        assert_eq!(refused(&file(1, &head("'\u{0}f8'", "()"))), "its elements are `\\0f8`, which no tensor has");
        assert_eq!(refused(&[&MAGIC[..], &[1, 0, 1, 0, 0xff]].concat()), "its header is not text");
    }
}
