//! Encodes a program as flat bytes, so that decoding needs the same stack for all of them.
//!
//! A tree in a program is a list in its bytes. Sizes are in postfix order, and nest at most [`DEEPEST`] deep, because the functions that
//! evaluate, print and drop them are recursive. A program within a program (one that prepares an input, or converts a tensor) has neither
//! versions nor nested programs.
//!
//! Lengths are not trusted. A list grows as its items are decoded, and each item takes at least one byte.

use crate::{Argument, Dim, Dispatch, Fact, Limit, Program, Requires, Scalar, Size, Solve, Tensor};
use crate::{Conversion, Preparation, Version};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The greatest nesting depth of a [`Size`], counting the literal or dim at the bottom.
pub const DEEPEST: usize = 512;

/// The reason why a program cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a size nests more than {DEEPEST} deep, or a nested program has programs of its own")]
pub struct EncodeError;

/// The reason why bytes are not a launch program.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DecodeError {
    /// They end early, or hold an invalid value.
    #[error("the embedded launch program cannot be decoded: {0}")]
    Bytes(postcard::Error),
    /// A value in them has an unknown kind.
    #[error(
        "the embedded launch program cannot be decoded: a value has an unknown kind, or a size is not an expression or nests \
         more than {DEEPEST} deep"
    )]
    Meaning,
    /// Bytes follow the program.
    #[error("the embedded launch program cannot be decoded: {0} bytes are left over at its end")]
    Rest(usize),
}

impl Program {
    /// Returns the bytes that the macros embed.
    ///
    /// # Errors
    /// Returns an error if the program nests too deep.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        // This is the only possible error, because encoding into a `Vec` does not run out of space.
        postcard::to_stdvec(self).map_err(|_| EncodeError)
    }

    /// Decodes the bytes of [`Program::encode`].
    ///
    /// # Errors
    /// Returns an error if the bytes are not a program. The program's consistency is not checked here.
    pub fn decode(bytes: &[u8]) -> Result<Program, DecodeError> {
        let (program, rest) = postcard::take_from_bytes(bytes).map_err(|error| match error {
            postcard::Error::SerdeDeCustom => DecodeError::Meaning,
            other => DecodeError::Bytes(other),
        })?;
        if rest.is_empty() { Ok(program) } else { Err(DecodeError::Rest(rest.len())) }
    }
}

/// A term of a size in postfix order. An operation takes the two values before it.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum Term {
    Const(i64),
    Dim(u32),
    Add,
    Sub,
    Mul,
    FloorDiv,
    FloorMod,
    Min,
    Max,
}

/// Appends a size's terms. Returns true if it nests at most `deepest` deep.
fn flatten(size: &Size, deepest: usize, terms: &mut Vec<Term>) -> bool {
    let Some(deepest) = deepest.checked_sub(1) else { return false };
    let (a, b, term) = match size {
        Size::Const(value) => {
            terms.push(Term::Const(*value));
            return true;
        }
        Size::Dim(dim) => {
            terms.push(Term::Dim(*dim));
            return true;
        }
        Size::Add(a, b) => (a, b, Term::Add),
        Size::Sub(a, b) => (a, b, Term::Sub),
        Size::Mul(a, b) => (a, b, Term::Mul),
        Size::FloorDiv(a, b) => (a, b, Term::FloorDiv),
        Size::FloorMod(a, b) => (a, b, Term::FloorMod),
        Size::Min(a, b) => (a, b, Term::Min),
        Size::Max(a, b) => (a, b, Term::Max),
    };
    let whole = flatten(a, deepest, terms) && flatten(b, deepest, terms);
    terms.push(term);
    whole
}

/// Returns the size of these terms. `None` if they are not a size, or nest too deep.
fn build(terms: Vec<Term>) -> Option<Size> {
    let mut stack: Vec<(Size, usize)> = Vec::new();
    for term in terms {
        let operation = match term {
            Term::Const(value) => {
                stack.push((Size::Const(value), 1));
                continue;
            }
            Term::Dim(dim) => {
                stack.push((Size::Dim(dim), 1));
                continue;
            }
            Term::Add => Size::Add,
            Term::Sub => Size::Sub,
            Term::Mul => Size::Mul,
            Term::FloorDiv => Size::FloorDiv,
            Term::FloorMod => Size::FloorMod,
            Term::Min => Size::Min,
            Term::Max => Size::Max,
        };
        let ((b, below), (a, beside)) = (stack.pop()?, stack.pop()?);
        let depth = below.max(beside) + 1;
        if depth > DEEPEST {
            return None;
        }
        stack.push((operation(a.into(), b.into()), depth));
    }
    let (size, _) = stack.pop()?;
    stack.is_empty().then_some(size)
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut terms = Vec::new();
        match flatten(self, DEEPEST, &mut terms) {
            true => terms.serialize(serializer),
            false => Err(S::Error::custom(EncodeError)),
        }
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        build(Vec::deserialize(deserializer)?).ok_or_else(|| D::Error::custom(DecodeError::Meaning))
    }
}

/// A program within a program.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Program")]
struct Part {
    kernel: String,
    variant: String,
    profile: String,
    arguments: Vec<Argument>,
    tensors: Vec<Tensor>,
    scalars: Vec<Scalar>,
    dims: Vec<Dim>,
    parameters: Vec<(String, i64)>,
    solve: Vec<Solve>,
    facts: Vec<Fact>,
    limits: Vec<Limit>,
    dispatches: Vec<Dispatch>,
    requires: Requires,
    #[serde(skip)]
    specialized: Vec<Version>,
    #[serde(skip)]
    conversions: Vec<Conversion>,
    #[serde(skip)]
    preparations: Vec<Preparation>,
}

/// The functions for `#[serde(with)]`.
pub(crate) mod part {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(program: &Program, serializer: S) -> Result<S::Ok, S::Error> {
        let Program { specialized, conversions, preparations, .. } = program;
        if specialized.is_empty() && conversions.is_empty() && preparations.is_empty() {
            Part::serialize(program, serializer)
        } else {
            Err(S::Error::custom(EncodeError))
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Program, D::Error> {
        Part::deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Feature, Matrices};

    fn program(size: Size) -> Program {
        let (f16, i8) = ([DType::F16; 2], [DType::I8, DType::U8]);
        let matrices = vec![
            Matrices { shape: [16, 8, 32], factors: f16, sum: DType::F32 },
            Matrices { shape: [1, 2, 300], factors: i8, sum: DType::I32 },
        ];
        let part = Program {
            kernel: "k".into(),
            variant: "V".into(),
            profile: "p".into(),
            arguments: vec![],
            tensors: vec![],
            scalars: vec![],
            dims: vec![Dim { name: "N".into(), derived: Some(size) }],
            parameters: vec![("S".into(), -2)],
            solve: vec![],
            facts: vec![],
            limits: vec![],
            dispatches: vec![],
            requires: Requires { features: vec![Feature::CooperativeMatrix], matrices, ..Requires::default() },
            specialized: vec![],
            conversions: vec![],
            preparations: vec![],
        };
        let preparations = vec![Preparation { input: 0, tensors: vec![1, 2], program: part.clone() }];
        Program { conversions: vec![Conversion { tensor: 3, program: part.clone() }], preparations, ..part }
    }

    fn nested(deep: usize, left: bool) -> Size {
        let mut size = Size::Dim(0);
        for _ in 1..deep {
            let leaf = Box::new(Size::Const(1));
            size = if left { Size::Sub(size.into(), leaf) } else { Size::FloorDiv(leaf, size.into()) };
        }
        size
    }

    #[test]
    fn what_is_encoded_comes_back() {
        let leaf = || Box::new(Size::Dim(7));
        let two = [Size::Add, Size::Sub, Size::Mul, Size::FloorDiv, Size::FloorMod, Size::Min, Size::Max];
        for size in two.map(|two| two(leaf(), two(Size::Const(i64::MIN).into(), leaf()).into())) {
            let program = program(size);
            assert_eq!(Program::decode(&program.encode().expect("it is flat")).expect("a program"), program);
        }
    }

    #[test]
    fn sizes_nest_so_deep_and_no_deeper() {
        for left in [true, false] {
            let deep = program(nested(DEEPEST, left));
            assert_eq!(Program::decode(&deep.encode().expect("it is not too deep")).expect("a program"), deep);
            assert_eq!(program(nested(DEEPEST + 1, left)).encode(), Err(EncodeError));
        }
    }

    /// The encoding of a program whose only size has these terms.
    fn with_terms(terms: &[Term]) -> Vec<u8> {
        let marked = program(Size::Const(0x5a5a_5a5a)).encode().expect("it is flat");
        let mark = postcard::to_stdvec(&vec![Term::Const(0x5a5a_5a5a)]).expect("it is encoded");
        let at = marked.windows(mark.len()).position(|w| w == mark).expect("the size is there");
        [&marked[..at], &postcard::to_stdvec(terms).expect("it is encoded"), &marked[at + mark.len()..]].concat()
    }

    #[test]
    fn deeper_ones_are_refused_without_much_stack() {
        use Term::{Add, Const, Sub};
        assert!(Program::decode(&with_terms(&[Const(1), Const(2), Add])).is_ok());
        let million = 1_000_000;
        let left = [vec![Const(1)], [Const(1), Add].repeat(million)].concat();
        let right = [vec![Const(1); million + 1], vec![Sub; million]].concat();
        let wrong: [&[Term]; 5] = [&left, &right, &[], &[Add], &[Const(1), Const(2)]];
        std::thread::scope(|scope| {
            let small = std::thread::Builder::new().stack_size(128 << 10);
            let decode = move || {
                for terms in wrong {
                    let error = Program::decode(&with_terms(terms)).expect_err("it is not a size");
                    assert!(matches!(error, DecodeError::Meaning), "{error}");
                }
            };
            small.spawn_scoped(scope, decode).expect("a thread").join().expect("it ends");
        });
    }

    #[test]
    fn programs_within_programs_have_none() {
        let whole = program(Size::Const(1));
        let mut nested = whole.clone();
        nested.preparations[0].program = whole;
        assert_eq!(nested.encode(), Err(EncodeError));
    }

    #[test]
    fn bytes_that_are_cut_off_or_too_many_are_no_program() {
        let whole = program(nested(9, true)).encode().expect("it is flat");
        for end in 0..whole.len() {
            assert!(Program::decode(&whole[..end]).is_err(), "{end} of {} bytes", whole.len());
        }
        let error = Program::decode(&[&whole[..], &[0; 3]].concat()).expect_err("too many");
        assert_eq!(error.to_string(), "the embedded launch program cannot be decoded: 3 bytes are left over at its end");
        // The kernel's name, as long as memory.
        let endless = [&[0xff; 9][..], &[0x01], &whole].concat();
        assert!(matches!(Program::decode(&endless), Err(DecodeError::Bytes(_))));
    }
}
