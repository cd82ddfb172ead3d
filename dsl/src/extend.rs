//! Makes a profile from the tree of `profile!`: it extends another profile, and its fields are checked.

use crate::diag::{Error, Errors, SpanId, did_you_mean, list};
use crate::profile::Profile;
use crate::syntax::Name;
use crate::syntax::profile::{self as tree, Field, Row, Value};
use std::collections::BTreeSet;
use tilewright_launch::{DType, DotSigns, Feature, Matrices};

/// The fields of `profile!`.
const FIELDS: [&str; 20] = [
    "invocations",
    "local",
    "shared_bytes",
    "subgroup",
    "subgroups",
    "push_bytes",
    "features",
    "matrices",
    "fast_dots",
    "gflops",
    "matrix_gflops",
    "bandwidth",
    "registers",
    "core_registers",
    "core_shared_bytes",
    "core_invocations",
    "cores",
    "l2_bytes",
    "banks",
    "cpu",
];

impl Profile {
    /// Returns the profile of a chain. Each tree extends the next one, and the last one extends a bundled profile.
    pub fn resolve(chain: &[tree::Profile]) -> Result<Profile, Errors> {
        let Some(last) = chain.last() else { return Ok(Profile::vulkan_1_1()) };
        let base = last.base.last();
        let names = Profile::all_bundled().map(|p| p.name);
        let mut profile = base.and_then(|b| Profile::bundled(&b.text)).ok_or_else(|| {
            let (name, span) = base.map_or(("", last.name.span), |b| (b.as_str(), b.span));
            let error = Error::new(span, format!("unknown bundled profile `{name}`"));
            let known = format!("there are {}", list(&names));
            error.help(known).maybe_help(did_you_mean(name, names.iter().map(String::as_str)))
        })?;
        for tree in chain.iter().rev() {
            profile = profile.extend(tree)?;
        }
        Ok(profile)
    }

    /// Returns this profile with the fields of `tree`.
    pub fn extend(&self, tree: &tree::Profile) -> Result<Profile, Errors> {
        let mut profile = Profile { name: tree.name.text.clone(), ..self.clone() };
        let mut errors = Errors::new();
        for (n, field) in tree.fields.iter().enumerate() {
            if let Some(first) = tree.fields[..n].iter().find(|f| f.name.text == field.name.text) {
                let error = Error::new(field.name.span, format!("`{}` is given twice", field.name));
                errors.push(error.note_at(first.name.span, "first here"));
                continue;
            }
            errors.keep(profile.set(field));
        }
        if errors.is_empty() {
            errors.keep(profile.consistent(tree));
        }
        errors.into_result().map(|()| profile)
    }

    /// Sets a field.
    fn set(&mut self, field: &Field) -> Result<(), Errors> {
        match field.name.as_str() {
            "invocations" => self.invocations = number(field, 1, 1 << 16)?,
            "shared_bytes" => self.shared_bytes = number(field, 0, 1 << 20)?,
            "push_bytes" => {
                self.push_bytes = number(field, 8, 1 << 16)?;
                if !self.push_bytes.is_multiple_of(4) {
                    return Err(Error::new(field.span, "`push_bytes` is a multiple of 4").into());
                }
            }
            "gflops" => self.gflops = Some(number(field, 1, 100_000_000)?),
            "matrix_gflops" => self.matrix_gflops = Some(number(field, 1, 100_000_000)?),
            "registers" => self.registers = Some(number(field, 1, 1 << 16)?),
            "core_registers" => self.core_registers = Some(number(field, 1, 1 << 24)?),
            "core_shared_bytes" => self.core_shared_bytes = Some(number(field, 1, 1 << 24)?),
            "core_invocations" => self.core_invocations = Some(number(field, 1, 1 << 16)?),
            "cores" => self.cores = Some(number(field, 1, 1 << 16)?),
            "l2_bytes" => self.l2_bytes = Some(number(field, 1, u32::MAX)?),
            "banks" => self.banks = Some(banks(field)?),
            "cpu" => self.cpu = answer(field)?,
            "bandwidth" => self.bandwidth = Some(number(field, 1, 1_000_000)?),
            "subgroup" => self.subgroup = subgroup(field)?,
            "subgroups" => self.subgroups = number(field, 1, 1 << 16)?,
            "local" => self.local = local(field)?,
            "features" => self.features = features(field, &self.features)?,
            "matrices" => self.matrices = matrices(field)?,
            "fast_dots" => self.fast_dots = fast_dots(field)?,
            other => {
                let error = Error::new(field.name.span, format!("`{other}` is not a field of a profile"));
                let known = format!("there are {}", list(FIELDS));
                return Err(error.note(known).maybe_help(did_you_mean(other, FIELDS)).into());
            }
        }
        Ok(())
    }

    /// Checks that no field contradicts another one.
    fn consistent(&self, tree: &tree::Profile) -> Result<(), Error> {
        let blame = |name: &str| tree.fields.iter().find(|f| f.name.text == name).map_or(tree.name.span, |f| f.span);
        if self.has(Feature::CooperativeMatrix) && !self.has(Feature::MemoryModel) {
            let error = Error::new(blame("features"), "`cooperative_matrix` without `memory_model`");
            return Err(error.note("cooperative matrices need the Vulkan memory model").help("add `memory_model`"));
        }
        let more = [Feature::MatrixReductions, Feature::MatrixConversions].into_iter().find(|f| self.has(*f));
        if let (Some(more), false) = (more, self.has(Feature::CooperativeMatrix)) {
            let error = Error::new(blame("features"), format!("`{}` without `cooperative_matrix`", more.name()));
            return Err(error.help("add `cooperative_matrix` and `memory_model`"));
        }
        let field = |name: &str| tree.fields.iter().find(|f| f.name.text == name);
        if let Some(field) = field("matrices")
            && !self.matrices.is_empty()
            && !self.has(Feature::CooperativeMatrix)
        {
            let error = Error::new(field.span, "`matrices` without `cooperative_matrix`");
            return Err(error.help("add `cooperative_matrix` and `memory_model` to `features`"));
        }
        if let Some(field) = field("fast_dots")
            && !self.fast_dots.is_empty()
            && !self.has(Feature::IntegerDotProduct)
        {
            let error = Error::new(field.span, "`fast_dots` without `integer_dot_product`");
            return Err(error.help("add `integer_dot_product` to `features`"));
        }
        if let Some(size) = self.subgroup
            && size > self.invocations
        {
            let message = format!("a subgroup of {size} does not fit in a workgroup of {}", self.invocations);
            return Err(Error::new(blame("subgroup"), message).help("raise `invocations`, or write a smaller `subgroup`"));
        }
        Ok(())
    }
}

/// Returns the number of a field, if it is in the range.
fn number(field: &Field, low: u32, high: u32) -> Result<u32, Error> {
    match field.value {
        Value::Number(value) => in_range(field, value, field.span, low, high),
        _ => Err(Error::new(field.span, format!("`{}` is a whole number", field.name))),
    }
}

fn in_range(field: &Field, value: u64, span: SpanId, low: u32, high: u32) -> Result<u32, Error> {
    let number = u32::try_from(value).ok().filter(|v| (low..=high).contains(v));
    number.ok_or_else(|| Error::new(span, format!("`{}` is from {low} to {high}, not {value}", field.name)))
}

fn subgroup(field: &Field) -> Result<Option<u32>, Error> {
    match &field.value {
        Value::Word(word) if word.text == "none" => Ok(None),
        Value::Number(n @ 1..=128) if n.is_power_of_two() => Ok(Some(*n as u32)),
        _ => {
            let error = Error::new(field.span, "`subgroup` is a power of two from 1 to 128, or `none`");
            Err(error.note("`none` means that the size is unknown or varies"))
        }
    }
}

fn answer(field: &Field) -> Result<bool, Error> {
    match &field.value {
        Value::Word(word) if word.text == "yes" => Ok(true),
        Value::Word(word) if word.text == "no" => Ok(false),
        _ => Err(Error::new(field.span, format!("`{}` is `yes` or `no`", field.name))),
    }
}

fn banks(field: &Field) -> Result<u32, Error> {
    let banks = number(field, 4, 256)?;
    if banks.is_power_of_two() { Ok(banks) } else { Err(Error::new(field.span, "`banks` is a power of two from 4 to 256")) }
}

fn local(field: &Field) -> Result<[u32; 3], Error> {
    let Value::Numbers(numbers) = &field.value else {
        return Err(Error::new(field.span, "`local` is three whole numbers: `[512, 512, 64]`"));
    };
    let checked: Result<Vec<u32>, Error> = numbers.iter().map(|(value, span)| in_range(field, *value, *span, 1, 1 << 16)).collect();
    let found = numbers.len();
    checked?.try_into().map_err(|_| Error::new(field.span, format!("`local` is three numbers (x, y, z), not {found}")))
}

/// Returns the rows of shapes and types: `[16 x 16 x 16 f16 f16 f32]`.
fn matrices(field: &Field) -> Result<Vec<Matrices>, Errors> {
    let rows = match &field.value {
        Value::Matrices(rows) => rows,
        Value::Names(names) if names.is_empty() => return Ok(Vec::new()),
        _ => {
            let error = Error::new(field.span, "`matrices` is a list of shapes and types: `[16 x 16 x 16 f16 f16 f32]`");
            return Err(error.note("M x N x K, and the element types of the factors and of the sum").into());
        }
    };
    let mut errors = Errors::new();
    let mut known: Vec<Matrices> = Vec::new();
    for row in rows {
        match matrices_of(row) {
            Ok(matrices) if known.contains(&matrices) => {
                errors.push(Error::new(row.span, format!("`{matrices}` is given twice")).help("remove one of them"));
            }
            Ok(matrices) => known.push(matrices),
            Err(error) => errors.push(error),
        }
    }
    errors.into_result().map(|()| known)
}

fn matrices_of(row: &Row) -> Result<Matrices, Error> {
    let mut shape = [0; 3];
    for (side, (value, span)) in shape.iter_mut().zip(row.shape) {
        let fits = u32::try_from(value).ok().filter(|value| (1..=256).contains(value));
        *side = fits.ok_or_else(|| Error::new(span, format!("a side of matrices is from 1 to 256, not {value}")))?;
    }
    let known = |name: &Name| {
        let dtype = DType::from_name(&name.text).filter(|dtype| *dtype != DType::Bool);
        let error = || Error::new(name.span, format!("`{name}` is not an element type of matrices"));
        dtype.ok_or_else(|| error().help("the dtypes are `f32`, `f16`, `bf16`, `i32`, `u32`, `i8` and `u8`"))
    };
    match &row.dtypes[..] {
        [a, b, sum] => Ok(Matrices { shape, factors: [known(a)?, known(b)?], sum: known(sum)? }),
        _ => {
            let error = Error::new(row.span, format!("a row of `matrices` has three types, but this row has {}", row.dtypes.len()));
            Err(error.help("write the factors' types and the sum's: `16 x 16 x 16 f16 f16 f32`"))
        }
    }
}

/// Returns the signs of dot products: `[signed, unsigned]`.
fn fast_dots(field: &Field) -> Result<BTreeSet<DotSigns>, Errors> {
    let names = DotSigns::ALL.map(|(_, name)| name);
    let Value::Names(words) = &field.value else {
        let error = Error::new(field.span, "`fast_dots` is a list of the signs of factors: `[signed, unsigned]`");
        return Err(error.note(format!("there are {}", list(names))).into());
    };
    let (mut errors, mut dots) = (Errors::new(), BTreeSet::new());
    for word in words {
        match DotSigns::ALL.iter().find(|(_, name)| *name == word.text) {
            Some((signs, _)) if dots.insert(*signs) => {}
            Some(_) => errors.push(Error::new(word.span, format!("`{word}` is named twice"))),
            None => {
                let error = Error::new(word.span, format!("`{word}` does not name the signs of a dot product's factors"));
                let known = format!("there are {}", list(names));
                errors.push(error.note(known).maybe_help(did_you_mean(&word.text, names)));
            }
        }
    }
    errors.into_result().map(|()| dots)
}

fn features(field: &Field, inherited: &BTreeSet<Feature>) -> Result<BTreeSet<Feature>, Errors> {
    let names = Feature::ALL.map(|(_, name)| name);
    let (words, kept) = match &field.value {
        Value::Names(words) => (words, None),
        Value::More(words) => (words, Some(inherited)),
        _ => {
            let error = Error::new(field.span, "`features` is a list of names: `[address, f16]`");
            return Err(error.note("`[.., int64]` adds `int64` to the inherited features").into());
        }
    };
    let mut errors = Errors::new();
    let mut features = BTreeSet::new();
    for word in words {
        match Feature::ALL.iter().find(|(_, name)| *name == word.text) {
            Some((feature, _)) if features.insert(*feature) => {}
            Some(_) => errors.push(Error::new(word.span, format!("the feature `{word}` is named twice"))),
            None => {
                let error = Error::new(word.span, format!("unknown feature `{word}`"));
                let known = format!("there are {}", list(names));
                errors.push(error.note(known).maybe_help(did_you_mean(&word.text, names)));
            }
        }
    }
    errors.into_result()?;
    features.extend(kept.into_iter().flatten());
    Ok(features)
}
