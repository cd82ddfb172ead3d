//! A generated schedule as a tree, and its text.
//!
//! One grammar covers all directives: `name(arguments => produced, key: value) => level(slots)`. So a new directive does not need a
//! new tree.

use crate::kernel::text::commas;
use crate::kernel::tree::Expr;
use std::fmt::{self, Display, Formatter};

/// A schedule, without its profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// `T = f16`, `S = 2`.
    pub bindings: Vec<(String, String)>,
    /// The facts after `where`.
    pub facts: Vec<Fact>,
    /// The directives.
    pub blocks: Vec<Block>,
    /// The facts of each `specialize`.
    pub versions: Vec<Vec<Fact>>,
}

/// A fact.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A comparison of a size with a number.
    Size(Expr, &'static str, i64),
    /// `finite(x)`.
    Finite(String),
    /// A comparison of a scalar with a number.
    Bound(String, &'static str, &'static str),
}

/// Directives for stages.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The stages; empty for directives outside of blocks, which are for the output.
    pub stages: Vec<String>,
    /// The directives.
    pub directives: Vec<Directive>,
}

/// A directive.
#[derive(Clone, Debug, PartialEq)]
pub struct Directive {
    /// Its name.
    pub name: &'static str,
    /// The arguments that it consumes.
    pub arguments: Vec<Argument>,
    /// The names that it makes.
    pub produced: Vec<String>,
    /// `key: value`.
    pub keys: Vec<(&'static str, String)>,
    /// The level and the coordinates that axes are distributed to.
    pub target: Option<Target>,
}

/// An argument in a directive's parentheses.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// An axis, or another name.
    Name(String),
    /// A number.
    Number(i64),
    /// `i: 8 round_up => i_o`.
    Tile {
        /// The axis.
        axis: String,
        /// The factor.
        factor: Factor,
        /// The keyword after it.
        tail: Option<&'static str>,
        /// The name of the outer part.
        outer: Option<String>,
    },
    /// `[2, _, 4] guard`.
    Factors(Vec<Option<i64>>, Option<&'static str>),
    /// Anything else, as it is written.
    Text(String),
}

/// A number, and its text if that is not the plain number.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// The number.
    pub value: i64,
    /// A constant expression with that value.
    pub written: Option<String>,
}

/// `workgroup(z, y, x)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The level.
    pub level: &'static str,
    /// The coordinates.
    pub slots: Vec<&'static str>,
}

impl Schedule {
    /// Returns true if it has a directive of this name.
    pub fn has(&self, name: &str) -> bool {
        self.blocks.iter().flat_map(|block| &block.directives).any(|directive| directive.name == name)
    }

    /// Returns true if it has a directive of this name with this key.
    pub fn has_key(&self, name: &str, key: &str) -> bool {
        let has = |directive: &Directive| directive.name == name && directive.keys.iter().any(|(k, _)| *k == key);
        self.blocks.iter().flat_map(|block| &block.directives).any(has)
    }
}

impl Directive {
    /// Adds a key.
    pub fn with(mut self, key: &'static str, value: impl Into<String>) -> Directive {
        self.keys.push((key, value.into()));
        self
    }

    /// Returns a directive of names.
    pub fn new(name: &'static str, axes: impl IntoIterator<Item = String>) -> Directive {
        let arguments = axes.into_iter().map(Argument::Name).collect();
        Directive { name, arguments, produced: Vec::new(), keys: Vec::new(), target: None }
    }

    /// Returns true if it rewrites the algorithm, so that it precedes all other directives.
    pub fn rewrites(&self) -> bool {
        matches!(self.name, "clone" | "pack" | "precompute" | "decompose_im2col" | "decompose_winograd" | "decompose_online")
    }

    /// Returns its tail keywords.
    pub fn tails(&self) -> impl Iterator<Item = &'static str> {
        self.arguments.iter().filter_map(|a| match a {
            Argument::Tile { tail, .. } | Argument::Factors(_, tail) => *tail,
            _ => None,
        })
    }
}

impl From<i64> for Factor {
    fn from(value: i64) -> Factor {
        Factor { value, written: None }
    }
}

impl Display for Factor {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.written {
            Some(text) => f.write_str(text),
            None => write!(f, "{}", self.value),
        }
    }
}

impl Display for Argument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let word = |tail: &Option<&str>| tail.map_or(String::new(), |t| format!(" {t}"));
        match self {
            Argument::Name(text) | Argument::Text(text) => f.write_str(text),
            Argument::Number(n) => write!(f, "{n}"),
            Argument::Tile { axis, factor, tail, outer } => {
                write!(f, "{axis}: {factor}{}", word(tail))?;
                outer.as_ref().map_or(Ok(()), |outer| write!(f, " => {outer}"))
            }
            Argument::Factors(factors, tail) => {
                let factors = factors.iter().map(|n| n.map_or("_".to_owned(), |n| n.to_string()));
                write!(f, "[{}]{}", commas(factors), word(tail))
            }
        }
    }
}

impl Display for Directive {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        if let ("tune", [name, choices]) = (self.name, self.arguments.as_slice()) {
            return write!(f, " {name} in {choices};");
        }
        let mut inside = commas(&self.arguments);
        // The target of `distribute` is inside the parentheses.
        let within = self.name == "distribute";
        if !self.produced.is_empty() {
            inside += &format!(" => {}", self.produced.join(", "));
        }
        if let (Some(target), true) = (&self.target, within) {
            inside += &format!(" => {target}");
        }
        // The strategy for partial results follows the target.
        let after = |key: &str| key == "by" && !within && self.target.is_some();
        for (key, value) in self.keys.iter().filter(|(key, _)| !after(key)) {
            inside += &format!(", {key}: {value}");
        }
        if !inside.is_empty() {
            write!(f, "({inside})")?;
        }
        if let (Some(target), false) = (&self.target, within) {
            write!(f, " => {target}")?;
        }
        for (key, value) in self.keys.iter().filter(|(key, _)| after(key)) {
            write!(f, ", {key}: {value}")?;
        }
        f.write_str(";")
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.level, self.slots.join(", "))
    }
}

impl Display for Fact {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Fact::Size(left, op, right) => write!(f, "{left} {op} {right}"),
            Fact::Finite(tensor) => write!(f, "finite({tensor})"),
            Fact::Bound(scalar, op, number) => write!(f, "{scalar} {op} {number}"),
        }
    }
}

impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("V: k")?;
        if !self.bindings.is_empty() {
            write!(f, "<{}>", commas(self.bindings.iter().map(|(name, value)| format!("{name} = {value}"))))?;
        }
        f.write_str(" for p")?;
        if !self.facts.is_empty() {
            write!(f, " where {}", commas(&self.facts))?;
        }
        f.write_str(" {")?;
        for block in &self.blocks {
            let own = !block.stages.is_empty();
            if own {
                write!(f, "\n    {} {{", block.stages.join(", "))?;
            }
            let indent = if own { "        " } else { "    " };
            block.directives.iter().try_for_each(|d| write!(f, "\n{indent}{d}"))?;
            if own {
                f.write_str("\n    }")?;
            }
        }
        self.versions.iter().try_for_each(|facts| write!(f, "\n    specialize({});", commas(facts)))?;
        f.write_str("\n}")
    }
}
