//! Exact arithmetic: floats as elements of a prime field, where two formulas that are equal have equal values, and two that differ
//! nearly always have different ones.
//!
//! The method comes from Wu et al., "Mirage: A Multi-Level Superoptimizer for Tensor Programs" (OSDI 2025), section 5: inputs are random
//! elements, sums, products and quotients are operations of the field, and an exponential is a power of a root of unity, whose exponent is
//! computed modulo a second prime. Two rational functions of degree at most `d` that differ have equal values with a probability of at
//! most `d / 2^59` (Schwartz and Zippel). `docs/exactness.md` states the claim and its limits.
//!
//! - Functions other than exponentials are random functions of their operand.
//! - `min`, `max` and comparisons follow a random order of the elements, which each [`Field`] draws anew.
//! - Constants are the rationals that they were written as.
//! - A law that the field lacks makes a value [`Element::Unknown`], with the [`Reason`].

mod element;
mod prime;

pub use element::{Element, Number, Reason};

use element::{Exponent, Sign};
use prime::{Exponents, Modulus, P, Q, Values};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use tilewright_launch::Dispatch;

/// A format of floats, for the names of inputs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Format {
    /// `f32`.
    F32,
    /// `f16`.
    F16,
    /// `bf16`.
    BF16,
}

/// The exact value of a constant whose bits are rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rational {
    /// The format of the constant.
    pub format: Format,
    /// Its bits.
    pub bits: u32,
    /// The numerator of its value.
    pub numerator: i64,
    /// The denominator of its value.
    pub denominator: i64,
}

/// A choice of the random elements, the root of unity, the random functions and the random order, and what runs over them found out.
#[derive(Debug)]
pub struct Field {
    seed: u64,
    /// The base of exponentials, and the base of powers of two.
    bases: [u64; 2],
    rationals: HashMap<(Format, u32), Number>,
    /// The bits of the scalars.
    scalars: BTreeSet<u32>,
    chose: AtomicBool,
    degree: AtomicU32,
    executed: AtomicU64,
    problems: Mutex<BTreeSet<Reason>>,
    covered: Mutex<BTreeMap<ModuleName, Vec<Covered>>>,
}

/// The name of a dispatch, and a hash of its module, because the versions of a program may have different modules for a dispatch.
pub type ModuleName = (String, u64);

/// Returns the name of a dispatch's module.
pub fn module_name(dispatch: &Dispatch) -> ModuleName {
    let mut hasher = DefaultHasher::new();
    dispatch.spirv.hash(&mut hasher);
    (dispatch.name.clone(), hasher.finish())
}

/// A block of a module, and whether an invocation ran it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Covered {
    /// The position of its last instruction in the module.
    pub word: u32,
    /// The place in the user's files that it comes from.
    pub place: Option<crate::SourcePosition>,
    /// True if an invocation ran it.
    pub ran: bool,
}

/// The functions that round to the nearest number of 16 bits. Elements of a field are not rounded.
const ROUND: [&str; 2] = ["nearest_half", "nearest_bfloat"];

/// The functions whose value at 0 is 0.
const KEEP_ZERO: [&str; 17] = [
    "sqrt",
    "floor",
    "ceil",
    "trunc",
    "round",
    "round_ties_even",
    "sin",
    "tan",
    "asin",
    "atan",
    "sinh",
    "tanh",
    "asinh",
    "atanh",
    "erf",
    "exp_m1",
    "ln_1p",
];

/// The random functions that need a name of their own, because their results are not elements.
#[derive(Clone, Copy)]
enum Drawn {
    Input,
    Value,
    Exponent,
    Order,
    Base,
}

impl Field {
    /// Draws everything by a seed. `rationals` are the constants of the kernel that are not the numbers that their bits mean. `scalars`
    /// are the scalars that a launch passes: their signs are known, because facts may state them.
    ///
    /// # Errors
    /// If a rational, rounded to the nearest number of its format, does not have the given bits.
    pub fn new(seed: u64, rationals: &[Rational], scalars: &[f32]) -> Result<Field, String> {
        let mut field = Field {
            // Mixed alone, so that no two fields share a function.
            seed: mixed(0, seed),
            bases: [0; 2],
            rationals: HashMap::new(),
            scalars: scalars.iter().map(|scalar| scalar.to_bits()).collect(),
            chose: AtomicBool::new(false),
            degree: AtomicU32::new(0),
            executed: AtomicU64::new(0),
            problems: Mutex::default(),
            covered: Mutex::default(),
        };
        // A square generates the subgroup of order Q, unless it is 1, because Q is prime.
        let square =
            |n: u64| (0u64..).map(|i| field.draw(Drawn::Base, [n + 2 * i]) % P).map(|x| Values::mul(x, x)).find(|x| *x > 1);
        field.bases = [0, 1].map(|n| square(n).unwrap_or(4));
        for rational in rationals {
            let Rational { format, bits, numerator, denominator } = *rational;
            let number = Number::ratio(numerator.into(), denominator.into());
            let number = number.filter(|_| is_nearest(rational));
            let wrong = || format!("{numerator}/{denominator} is not the number of the {format:?} constant {bits:#x}");
            field.rationals.insert((format, bits), number.ok_or_else(wrong)?);
        }
        Ok(field)
    }

    /// Returns the element of a float that the caller passes, by its bits, which are only its name. Zero is zero.
    pub fn input(&self, format: Format, bits: u32) -> Element {
        if bits == 0 {
            return Element::ZERO;
        }
        let is_scalar = format == Format::F32 && self.scalars.contains(&bits);
        let sign = Sign::of(f32::from_bits(bits).into()).filter(|_| is_scalar);
        let name = u64::from(bits) << 2 | format as u64;
        let [value, exponent] = [0u64, 1].map(|part| self.draw(Drawn::Input, [name << 1 | part]));
        Element::Number(Number { value: value % P, exponent: Some(Exponent::of(exponent % Q)), degree: [1, 0], sign })
    }

    /// Returns the element of a constant of a kernel.
    pub fn constant(&self, format: Format, bits: u32) -> Element {
        if let Some(number) = self.rationals.get(&(format, bits)) {
            return Element::Number(*number);
        }
        let value = value_of(format, bits);
        if value.is_nan() {
            return Element::Unknown(Reason::Nan);
        }
        if value.is_infinite() {
            return Element::Infinite { negative: value < 0.0 };
        }
        Element::Number(dyadic(value))
    }

    /// Returns `exp(x)`.
    pub fn exp(&self, x: Element) -> Element {
        self.exponential(0, x)
    }

    /// Returns 2 to the power `x`.
    pub fn exp2(&self, x: Element) -> Element {
        self.exponential(1, x)
    }

    fn exponential(&self, base: usize, x: Element) -> Element {
        match x {
            Element::Number(Number { exponent: Some(exponent), degree, .. }) => {
                let value = Values::power(self.bases[base], exponent.get());
                let degree = [degree[0].max(degree[1]).max(1), 0];
                Element::Number(Number { value, exponent: None, degree, sign: Some(Sign::Positive) })
            }
            Element::Number(Number { exponent: None, .. }) => Element::Unknown(Reason::ExpOfExp),
            Element::Infinite { negative: true } => Element::ZERO,
            Element::Infinite { negative: false } => x,
            Element::Unknown(reason) => Element::Unknown(reason),
        }
    }

    /// Returns the value of a function, as a random function of its operands. Functions differ by their names.
    pub fn function(&self, name: &str, operands: &[Element]) -> Element {
        if let [operand] = operands
            && ROUND.contains(&name)
        {
            return *operand;
        }
        let mut values = Vec::with_capacity(operands.len());
        let mut degree = 1u32;
        for operand in operands {
            match operand {
                Element::Number(n) => values.push(n.value),
                Element::Unknown(reason) => return Element::Unknown(*reason),
                _ => return Element::Unknown(Reason::InfinityInArithmetic),
            }
            degree = degree.saturating_add(operand.degree());
        }
        if KEEP_ZERO.contains(&name) && values == [0] {
            return Element::ZERO;
        }
        let of = || [name.len() as u64].into_iter().chain(name.bytes().map(u64::from)).chain(values.iter().copied());
        let (value, exponent) = (self.draw(Drawn::Value, of()), self.draw(Drawn::Exponent, of()));
        Element::Number(Number { value: value % P, exponent: Some(Exponent::of(exponent % Q)), degree: [degree, 0], sign: None })
    }

    /// Returns the square root.
    pub fn sqrt(&self, x: Element) -> Element {
        self.function("sqrt", &[x])
    }

    /// Returns `1 / sqrt(x)`.
    pub fn inverse_sqrt(&self, x: Element) -> Element {
        Element::of(1).over(self.sqrt(x))
    }

    /// Returns the absolute value: of a number and its opposite, the greater one in the order.
    pub fn abs(&self, x: Element) -> Element {
        self.max(x, x.negated())
    }

    /// Returns 1 with the sign of a number. The sign of 0 is positive.
    pub fn sign(&self, x: Element) -> Element {
        match (x, self.is_less(x, Element::ZERO)) {
            (Element::Unknown(reason), _) => Element::Unknown(reason),
            (_, Some(true)) => Element::of(-1),
            (_, _) => Element::of(1),
        }
    }

    /// True if a number is before another one in the order. `None` if one of them is not known. Numbers with few binary places have their own
    /// order, because a compiler may compare constants. All other numbers are at random places between them.
    pub fn is_less(&self, a: Element, b: Element) -> Option<bool> {
        let place = |x: Element| match x {
            Element::Infinite { negative: true } => Some((0, 0)),
            Element::Number(n) => Some((1, n.real().map_or_else(|| self.draw(Drawn::Order, [n.value]), place_of))),
            Element::Infinite { negative: false } => Some((2, 0)),
            Element::Unknown(_) => None,
        };
        self.choose(a, b);
        Some(place(a)? < place(b)?)
    }

    /// True if two numbers are equal. `None` if one of them is not known.
    pub fn are_equal(&self, a: Element, b: Element) -> Option<bool> {
        self.choose(a, b);
        let is_known = |x: Element| !matches!(x, Element::Unknown(_));
        (is_known(a) && is_known(b)).then_some(a == b)
    }

    /// Notes a decision by two numbers, unless both are constants.
    fn choose(&self, a: Element, b: Element) {
        if let (Element::Number(a), Element::Number(b)) = (a, b)
            && !(a.is_constant() && b.is_constant())
        {
            self.chose.store(true, Relaxed);
        }
    }

    /// Returns the lesser one of two numbers.
    pub fn min(&self, a: Element, b: Element) -> Element {
        self.extreme(a, b, true)
    }

    /// Returns the greater one of two numbers.
    pub fn max(&self, a: Element, b: Element) -> Element {
        self.extreme(a, b, false)
    }

    fn extreme(&self, a: Element, b: Element, least: bool) -> Element {
        match (a, b) {
            (Element::Unknown(reason), _) | (_, Element::Unknown(reason)) => Element::Unknown(reason),
            _ if a == b => a,
            _ if (self.is_less(a, b) == Some(true)) == least => a,
            _ => b,
        }
    }

    /// True if a decision depended on the order or the equality of two numbers.
    pub fn chose(&self) -> bool {
        self.chose.load(Relaxed)
    }

    /// Notes the degree of a result.
    pub fn note(&self, result: &Element) {
        self.degree.fetch_max(result.degree(), Relaxed);
    }

    /// Returns the largest degree of the results that were noted.
    pub fn degree(&self) -> u32 {
        self.degree.load(Relaxed)
    }

    /// Notes that a decision of a run, such as a branch or an index, depended on an unknown value.
    pub fn doubt(&self, reason: Reason) {
        lock(&self.problems).insert(reason);
    }

    /// Returns the reasons for which decisions of the runs are in doubt.
    pub fn problems(&self) -> BTreeSet<Reason> {
        lock(&self.problems).clone()
    }

    /// Returns the blocks of each dispatch's module.
    pub fn covered(&self) -> BTreeMap<ModuleName, Vec<Covered>> {
        lock(&self.covered).clone()
    }

    /// Returns the number of instructions that the runs executed, counted in each invocation.
    pub fn executed(&self) -> u64 {
        self.executed.load(Relaxed)
    }

    /// Adds the blocks that a run of a dispatch reached, and the number of its instructions.
    pub(crate) fn cover(&self, module: &ModuleName, blocks: &[Covered], executed: u64) {
        self.executed.fetch_add(executed, Relaxed);
        let mut covered = lock(&self.covered);
        let known = covered.entry(module.clone()).or_insert_with(|| blocks.to_vec());
        known.iter_mut().zip(blocks).for_each(|(known, block)| known.ran |= block.ran);
    }

    fn draw(&self, what: Drawn, of: impl IntoIterator<Item = u64>) -> u64 {
        of.into_iter().fold(mixed(self.seed, what as u64), mixed)
    }
}

/// Adds a word to a hash. Each bit of the result depends on all bits of both, by the last steps of SplitMix64 (Steele, Lea and Flood, "Fast
/// Splittable Pseudorandom Number Generators", OOPSLA 2014). The standard hash took a third of the time of exact runs.
#[inline]
fn mixed(hash: u64, word: u64) -> u64 {
    let x = (hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Returns the place of a number in the order. Its bits spread small numbers over all places.
fn place_of(number: f64) -> u64 {
    let bits = number.to_bits();
    if number < 0.0 { !bits } else { bits | 1 << 63 }
}

/// Locks a set. A thread that panicked has left it whole, because each change is one call.
fn lock<T>(set: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    set.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Returns the number that bits mean.
fn value_of(format: Format, bits: u32) -> f64 {
    match format {
        Format::F32 => f32::from_bits(bits).into(),
        Format::F16 => crate::half::float(bits & 0xffff).into(),
        Format::BF16 => f32::from_bits(bits << 16).into(),
    }
}

/// Returns the element of a finite number of a format, which is a whole number times a power of two.
fn dyadic(value: f64) -> Number {
    // A number of 32 bits or less is 0 or a normal f64.
    let (bits, exponent) = (value.to_bits(), (value.to_bits() >> 52 & 0x7ff) as i32 - 1075);
    let whole = i128::from(bits & ((1 << 52) - 1) | 1 << 52);
    if value == 0.0 {
        return Number::of(0);
    }
    let power = u64::from(exponent.unsigned_abs());
    let two = Number { value: Values::power(2, power), exponent: Some(Exponent::of(Exponents::power(2, power))), ..Number::of(1) };
    let whole = Number::of(if value < 0.0 { -whole } else { whole });
    // A power of two is never 0 in the field.
    if exponent < 0 { whole.over(two).unwrap_or(whole) } else { whole.times(two) }
}

/// True if the number of a constant's bits is the nearest one of its format to a rational: half a step away from it at most.
fn is_nearest(rational: &Rational) -> bool {
    let Rational { format, bits, numerator, denominator } = *rational;
    let (value, size) = (value_of(format, bits), bits & !sign_bit(format));
    if denominator == 0 || !value.is_finite() {
        return false;
    }
    let exact = numerator as f64 / denominator as f64;
    let above = value_of(format, size + 1) - value.abs();
    // A quotient of f64 has 29 bits more than an f32.
    (exact - value).abs() <= 0.5 * above * (1.0 + 1e-6)
}

fn sign_bit(format: Format) -> u32 {
    if format == Format::F32 { 1 << 31 } else { 1 << 15 }
}
