//! The results of a run of many cases: counts of executed features, refusals by rule, and the findings.

use crate::board;
use crate::case::Case;
use crate::judge::{Find, Ran, Verdict};
use crate::kernel::tree::{ArgumentKind, Expr, ExprKind, GenericKind, Kernel, Outside, Role};
use crate::schedule::tree::{Argument, Directive};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter, Write};
use tilewright_check::Fill;

/// Counts of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Pairs that were judged.
    pub pairs: u64,
    /// Pairs that compile.
    pub accepted: u64,
    /// Pairs with at least one launch that ran on the reference device.
    pub executed: u64,
    /// Pairs with at least one launch that ran on Vulkan.
    pub on_vulkan: u64,
    /// Launches with many elements without a bound.
    pub vague: u64,
    /// Launches whose results were equal in exact arithmetic.
    pub exact: u64,
    /// Launches about which exact arithmetic shows nothing, by reason.
    pub not_shown: BTreeMap<String, u64>,
    /// Pairs that do not compile, by rule, each with a case.
    pub refused: BTreeMap<String, (u64, u64)>,
    /// Launches that were refused, by rule.
    pub refused_launches: BTreeMap<String, u64>,
    /// Executed pairs that contain a feature, by its kind and name.
    pub holding: BTreeMap<(&'static str, String), u64>,
    /// Pairs with a finding, by its key.
    pub finds: BTreeMap<String, u64>,
}

impl Report {
    /// Counts a case.
    pub fn add(&mut self, number: u64, case: &Case, verdict: &Verdict) {
        self.pairs += 1;
        match verdict {
            Verdict::Refused(refusal) => self.refused.entry(refusal.rule.clone()).or_insert((0, number)).0 += 1,
            Verdict::Found(find) => *self.finds.entry(find.key()).or_default() += 1,
            Verdict::Right(ran) => self.ran(case, ran),
        }
    }

    fn ran(&mut self, case: &Case, ran: &Ran) {
        self.accepted += 1;
        self.executed += u64::from(ran.launches > 0);
        self.on_vulkan += u64::from(ran.on_vulkan > 0);
        self.vague += u64::from(ran.vague);
        self.exact += u64::from(ran.exact);
        for reason in &ran.not_shown {
            *self.not_shown.entry(reason.clone()).or_default() += 1;
        }
        for rule in &ran.refused {
            *self.refused_launches.entry(rule.clone()).or_default() += 1;
        }
        if ran.launches > 0 {
            for thing in things(case) {
                *self.holding.entry(thing).or_default() += 1;
            }
        }
    }
}

/// Returns the features of a case, each once.
fn things(case: &Case) -> Vec<(&'static str, String)> {
    let mut all: Vec<(&'static str, String)> = Vec::new();
    for directive in case.schedule.blocks.iter().flat_map(|b| &b.directives) {
        all.push(("directive", directive.name.to_owned()));
        all.extend(directive.tails().map(|tail| ("tail", tail.to_owned())));
        all.extend(directive.target.iter().map(|t| ("level", t.level.to_owned())));
        all.extend(directive.keys.iter().map(|(key, value)| ("key", keyed(key, value))));
        all.extend(copied(case, directive).map(|what| ("copy", what)));
    }
    if !case.schedule.versions.is_empty() {
        all.push(("directive", "specialize".to_owned()));
    }
    let kernel = &case.kernel;
    let types = kernel.arguments.iter().map(|a| a.ty).chain(kernel.stages.iter().map(|s| s.ty));
    all.extend(types.map(|ty| ("dtype", ty.dtype(case.generic).to_string())));
    all.extend(kernel.stages.iter().filter_map(|s| Some(("reduction", s.reduction()?.0.to_owned()))));
    let kinds = [
        ("several stages", kernel.stages.len() > 1),
        ("defined together", kernel.stages.iter().any(|s| s.joined)),
        ("several outputs", kernel.stages.iter().filter(|s| s.role == Role::Output).count() > 1),
        ("update in place", kernel.stages.iter().any(|s| s.role == Role::Update)),
        ("scalar", kernel.arguments.iter().any(|a| a.kind == ArgumentKind::Scalar)),
        ("dim argument", kernel.arguments.iter().any(|a| a.kind == ArgumentKind::Size)),
        ("kernel facts", !kernel.facts.is_empty()),
        ("table", !kernel.tables.is_empty()),
        ("derived dim", kernel.generics.iter().any(|g| matches!(g.kind, GenericKind::Derived(_)))),
        (
            "size of two dims",
            kernel
                .stages
                .iter()
                .any(|s| s.shape.iter().any(|size| kernel.dims().filter(|dim| size.names().contains(dim)).count() > 1)),
        ),
        ("parameter", kernel.generics.iter().any(|g| matches!(g.kind, GenericKind::Parameter { .. }))),
        ("dtype generic", kernel.is_generic()),
        ("facts", !case.schedule.facts.is_empty()),
        ("gather", case.fills.iter().any(|(_, f)| matches!(f, Fill::Below(_)))),
        (
            "read under a condition on data",
            reads(kernel, &|e| matches!(&e.kind, ExprKind::If(c, a, _) if is_plain(a) && holds_read(c))),
        ),
        ("read where argmax is", reads(kernel, &|e| is_plain(e) && e.children().iter().any(|index| is_position(kernel, index)))),
        ("wild inputs", case.fills.iter().any(|(_, f)| *f == Fill::Wild)),
        ("several reductions", kernel.stages.iter().any(|s| s.reductions().len() > 1)),
        ("family of stages", case.is_family() && kernel.stages.iter().any(|s| s.role == Role::Intermediate)),
        ("ranges of indices", case.has_ranges() && kernel.stages.iter().any(|s| s.role == Role::Intermediate)),
        ("several ranges", kernel.stages.iter().any(|s| s.reduction().is_some_and(|(_, r)| r.len() > 1))),
        (
            "bound by an axis",
            kernel.stages.iter().any(|s| {
                s.reduction().is_some_and(|(_, r)| {
                    r.iter().any(|r| !r.high.names().is_disjoint(&s.axes.iter().map(String::as_str).collect()))
                })
            }),
        ),
        ("address", case.profile.has(tilewright_launch::Feature::Address)),
        ("descriptor", !case.profile.has(tilewright_launch::Feature::Address)),
    ];
    all.extend(kinds.into_iter().filter(|(_, holds)| *holds).map(|(name, _)| ("with", name.to_owned())));
    all.sort();
    all.dedup();
    all
}

/// Returns true if an expression of the kernel satisfies a predicate.
fn reads(kernel: &Kernel, like: &dyn Fn(&Expr) -> bool) -> bool {
    let mut found = false;
    kernel.stages.iter().for_each(|stage| stage.value.visit(&mut |e| found |= like(e)));
    found
}

/// Returns true for a read without `pad` and `clamp`.
fn is_plain(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Read { outside: Outside::Never, .. })
}

fn holds_read(e: &Expr) -> bool {
    let mut found = false;
    e.visit(&mut |e| found |= matches!(e.kind, ExprKind::Read { .. }));
    found
}

/// Returns true for a read of an argmin's or argmax's result.
fn is_position(kernel: &Kernel, e: &Expr) -> bool {
    let ExprKind::Read { tensor, .. } = &e.kind else { return false };
    let of = kernel.stages.iter().find(|stage| stage.name == *tensor);
    of.is_some_and(|stage| matches!(stage.reduction(), Some(("argmin" | "argmax", _))))
}

/// Returns a key and its value, if the value is a keyword.
fn keyed(key: &str, value: &str) -> String {
    match key {
        "at" if !["workgroup", "subgroup", "thread"].contains(&value) => "at: axis".into(),
        _ => format!("{key}: {value}"),
    }
}

/// Describes a copy: its source, its place and its options.
fn copied(case: &Case, directive: &Directive) -> Option<String> {
    let kinds = ["promote", "compute_at"];
    let kind = kinds.into_iter().find(|kind| *kind == directive.name)?;
    let (Some(Argument::Name(what)), Some((_, to))) = (directive.arguments.first(), directive.keys.iter().find(|k| k.0 == "to"))
    else {
        return None;
    };
    let stage = case.kernel.stages.iter().find(|s| s.name == *what);
    let what = match stage.map(|s| (s.role, s.reduction().is_some())) {
        None if case.kernel.arguments.iter().any(|a| a.name == *what) => "input",
        None => "copy",
        Some((Role::Intermediate, true)) => "reduced intermediate",
        Some((Role::Intermediate, false)) => "pointwise intermediate",
        Some(_) => "result",
    };
    let listed = directive.produced.iter().any(|name| name.contains('['));
    Some(format!("{kind} {what} to {to}{}", if listed { " by list" } else { "" }))
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let percent = |n: u64| n as f64 * 100.0 / self.pairs.max(1) as f64;
        writeln!(f, "{} pairs: {} accepted ({:.1} %)", self.pairs, self.accepted, percent(self.accepted))?;
        writeln!(f, "executed: {} on the reference device, {} on Vulkan too", self.executed, self.on_vulkan)?;
        writeln!(f, "launches whose results have hardly a bound: {}", self.vague)?;
        writeln!(f, "launches with equal results in exact arithmetic: {}", self.exact)?;
        for (reason, count) in &self.not_shown {
            writeln!(f, "launches that exact arithmetic does not show: {count} because of {reason}")?;
        }
        let mut last = "";
        for ((kind, name), count) in &self.holding {
            if *kind != last {
                write!(f, "\nexecuted, by {kind}:")?;
                last = kind;
            }
            write!(f, "  {name} {count}")?;
        }
        writeln!(f, "\n\nrefused, by rule (and a case):")?;
        let mut rules: Vec<_> = self.refused.iter().collect();
        rules.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        rules.into_iter().try_for_each(|(rule, (count, case))| writeln!(f, "{count:8}  {rule}  ({case})"))?;
        writeln!(f, "\nlaunches refused:")?;
        self.refused_launches.iter().try_for_each(|(rule, count)| writeln!(f, "{count:8}  {rule}"))?;
        if !self.finds.is_empty() {
            writeln!(f, "\nFINDS:")?;
        }
        self.finds.iter().try_for_each(|(key, count)| writeln!(f, "{count:8}  {key}"))
    }
}

/// Prints a case as a test for `tests/kernels`.
pub fn rust_test(case: &Case, seed: u64, number: u64, find: &Find) -> String {
    let pair = case.pair();
    let mut text = String::new();
    let indented = |text: &str| text.replace('\n', "\n    ");
    let _ = writeln!(text, "/// Case {number} of seed {seed}: {:?}.", find.kind);
    for line in find.text.lines().take(6) {
        let _ = writeln!(text, "/// {line}");
    }
    let _ = writeln!(text, "#[test]\nfn case_{number}_of_seed_{seed}() {{");
    let _ = writeln!(text, "    let kernel = r\"{}\";", indented(&pair.kernel));
    let _ = writeln!(text, "    let schedule = r\"{}\";", indented(&pair.schedule));
    let _ = writeln!(text, "    let profile = {};", board::rust(&pair.profile));
    let _ = writeln!(text, "    let variant = variant(kernel, schedule, &profile);");
    for dims in &pair.dims {
        let dims: Vec<String> = dims.iter().map(|(name, n)| format!("(\"{name}\", {n})")).collect();
        let arms: Vec<String> = pair.fills.iter().map(|(name, fill)| format!("\"{name}\" => Fill::{fill:?}, ")).collect();
        let fill = if arms.is_empty() {
            "&|_| Fill::Small".to_owned()
        } else {
            format!("&|x| match x {{ {}_ => Fill::Small }}", arms.concat())
        };
        let _ = writeln!(text, "    variant.check_filled(&[{}], &{:?}, {fill});", dims.join(", "), pair.scalars);
    }
    text += "}\n";
    text
}
