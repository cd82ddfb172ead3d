//! Schedules of products on matrix units, as people write them: tiles to workgroups, the sum in tiles, copies of factors whose rows
//! are not suitable for matrix loads, a copy of a result whose ends cut matrices, subgroups, and `mma`.
//!
//! The random choices are probably legal together: facts are stated for factors that are not copied. Sometimes one part is left
//! out.

use super::tree::{Argument, Block, Directive, Fact, Target};
use crate::kernel::tree::{ArgumentKind, Expr, ExprKind, Kernel, Stage};
use fastrand::Rng;
use tilewright_dsl::profile::Profile;
use tilewright_launch::{DType, DotSigns, Matrices};

/// A stage that sums products of two reads, and the roles of its axes.
pub(crate) struct Product {
    /// The axes of rows, of columns and of the sum.
    axes: [String; 3],
    /// Other parallel axes, and other axes of the sum.
    others: [Vec<String>; 2],
    /// The tensors that are read, with rows first, and the lengths of their rows in memory.
    factors: [(String, Expr); 2],
    /// The extents of the axes of rows, of columns and of the sum.
    extents: [Expr; 3],
    dtypes: [DType; 2],
    sum: DType,
}

impl Product {
    /// Returns the product of a stage, if matrix units can compute it.
    pub(crate) fn of(kernel: &Kernel, stage: &Stage, generic: DType) -> Option<Product> {
        let (mut found, sum) = (None, stage.reduction().filter(|(op, _)| *op == "sum")?);
        stage.value.visit(&mut |e| {
            if let ExprKind::Reduce { only: None, body, .. } = &e.kind
                && let ExprKind::Infix("*", a, b) = &body.kind
            {
                found = Some((body.ty.dtype(generic), [&**a, &**b]));
            }
        });
        let (ty, factors) = found?;
        let mut read = factors.map(|factor| match &factor.kind {
            ExprKind::Cast(inner) => inner,
            _ => factor,
        });
        let uses = |e: &Expr, axis: &str| e.names().contains(axis);
        let only = |one: &Expr, other: &Expr| stage.axes.iter().position(|axis| uses(one, axis) && !uses(other, axis));
        let (first, second) = (only(read[0], read[1])?, only(read[1], read[0])?);
        let (mut i, mut j) = (first, second);
        if i > j {
            (i, j) = (j, i);
            read.reverse();
        }
        // Prefers channels to taps.
        let shared = |at: &usize| read.iter().all(|e| uses(e, &sum.1[*at].axis));
        let k = (0..sum.1.len()).filter(shared).max_by_key(|at| sum.1[*at].high.as_int().is_none())?;
        let rows = |e: &Expr| match &e.kind {
            ExprKind::Read { tensor, .. } => Some((tensor.clone(), last(kernel, tensor)?)),
            _ => None,
        };
        let parallel = stage.axes.iter().enumerate().filter(|(at, _)| ![i, j].contains(at)).map(|(_, axis)| axis.clone());
        let reduced = sum.1.iter().enumerate().filter(|(at, _)| *at != k).map(|(_, range)| range.axis.clone());
        let dtypes = [read[0].ty.dtype(generic), read[1].ty.dtype(generic)];
        Some(Product {
            axes: [stage.axes[i].clone(), stage.axes[j].clone(), sum.1[k].axis.clone()],
            others: [parallel.collect(), reduced.collect()],
            factors: [rows(read[0])?, rows(read[1])?],
            extents: [stage.shape[i].clone(), stage.shape[j].clone(), sum.1[k].high.clone()],
            dtypes,
            sum: ty,
        })
        .filter(Product::is_of_units)
    }

    /// Returns true if devices multiply matrices of its types.
    fn is_of_units(&self) -> bool {
        match self.dtypes {
            [DType::F16, DType::F16] => self.sum.is_float(),
            [DType::BF16, DType::BF16] => self.sum == DType::F32,
            _ => self.is_of_words(),
        }
    }

    /// Returns true if its factors are bytes, which dot products multiply.
    pub(super) fn is_of_words(&self) -> bool {
        DotSigns::of(self.dtypes).is_some() && matches!(self.sum, DType::I32 | DType::U32)
    }

    /// Returns, for each factor, true if the axis of the sum is the last one of its index.
    pub(super) fn is_last(&self, kernel: &Kernel, stage: &Stage) -> [bool; 2] {
        let mut last = [false; 2];
        stage.value.visit(&mut |e| {
            if let ExprKind::Read { tensor, index, .. } = &e.kind
                && let Some(at) = self.factors.iter().position(|(factor, _)| factor == tensor)
                && kernel.arguments.iter().any(|argument| argument.name == *tensor)
            {
                last[at] |= index.last().is_some_and(|last| last.names().contains(self.axes[2].as_str()));
            }
        });
        last
    }

    /// The axes of rows, of columns and of the sum.
    pub(super) fn axes(&self) -> &[String; 3] {
        &self.axes
    }

    /// The other parallel axes.
    pub(super) fn parallel(&self) -> &[String] {
        &self.others[0]
    }

    /// Returns the tensors that are read, with rows first.
    pub(super) fn factors(&self) -> [&str; 2] {
        self.factors.each_ref().map(|(tensor, _)| tensor.as_str())
    }

    /// Returns the extents of the axes of rows, of columns and of the sum.
    pub(super) fn extents(&self) -> &[Expr; 3] {
        &self.extents
    }

    /// The other axes of the sum.
    pub(super) fn reduced(&self) -> &[String] {
        &self.others[1]
    }
}

/// Adds the fact that a size is a multiple.
pub(super) fn needs(kernel: &Kernel, facts: &mut Vec<Fact>, size: &Expr, by: i64) {
    // No facts are stated for sizes such as `M + 2`.
    let ExprKind::Name(name) = &size.kind else { return };
    let is_told = |fact: &Fact| matches!(fact, Fact::Size(left, "==", n) if left == size && n % by == 0);
    if !kernel.dims().any(|dim| dim == name) || facts.iter().any(is_told) {
        return;
    }
    // The facts of a size are combined to one.
    let (said, others): (Vec<Fact>, Vec<Fact>) =
        facts.drain(..).partition(|fact| matches!(fact, Fact::Size(left, ..) if left.names().contains(name.as_str())));
    let stated = said.iter().filter_map(|fact| match fact {
        Fact::Size(Expr { kind: ExprKind::Infix("%", stated, by), .. }, "==", 0) if **stated == *size => by.as_int(),
        _ => None,
    });
    // All divisors are powers of 2, except the divisors for tiles of three matrices.
    let by = stated.filter(|n| *n > 3).fold(by, lcm);
    *facts = others;
    facts.push(Fact::Size(size.clone().infix("%", Expr::int(by)), "==", 0));
}

/// Returns the length of a tensor's rows.
fn last(kernel: &Kernel, tensor: &str) -> Option<Expr> {
    let argument = kernel.arguments.iter().find(|a| a.name == tensor).and_then(|a| match &a.kind {
        ArgumentKind::Input(shape) | ArgumentKind::Update(shape) => shape.last(),
        ArgumentKind::Scalar | ArgumentKind::Size => None,
    });
    let stage = || kernel.stages.iter().find(|s| s.name == tensor).and_then(|s| s.shape.last());
    argument.or_else(stage).cloned()
}

/// Generates the blocks of a stage, and the schedule's facts with those that the blocks need.
pub(super) fn schedule(
    kernel: &Kernel,
    stage: &Stage,
    product: &Product,
    profile: &Profile,
    facts: Vec<Fact>,
    random: &mut Rng,
) -> Option<(Vec<Block>, Vec<Fact>)> {
    let mut plan = Plan::new(kernel, stage, product, profile, facts, random)?;
    let mut made = plan.directives(random);
    if random.u8(..100) < 8 {
        made.remove(random.usize(..made.len()));
    }
    let part = format!("{}_part", plan.stage);
    let whole = made.iter().position(|d| d.name == "rfactor");
    let blocks = match whole {
        Some(at) => {
            let rest = made.split_off(at + 1);
            let axes = stage.axes.clone();
            let finish = if random.bool() { vec![Directive::new("serial", axes)] } else { Vec::new() };
            let own = [made, finish].concat();
            vec![Block { stages: vec![plan.stage.clone()], directives: own }, Block { stages: vec![part], directives: rest }]
        }
        None => vec![Block { stages: vec![plan.stage.clone()], directives: made }],
    };
    Some((blocks, plan.facts))
}

/// The choices for a schedule.
pub(super) struct Plan<'p> {
    pub(super) kernel: &'p Kernel,
    stage: String,
    pub(super) product: &'p Product,
    /// The sides of matrices: M, N, K.
    pub(super) sides: [i64; 3],
    /// Rows and columns of a subgroup, and of a workgroup.
    pub(super) own: [i64; 2],
    pub(super) tile: [i64; 2],
    /// The elements of the sum that are copied at a time.
    pub(super) depth: i64,
    /// Subgroups.
    pub(super) counts: [i64; 2],
    /// True for each factor that is copied.
    pub(super) copied: [bool; 2],
    /// True if the result is copied.
    pub(super) result: bool,
    pub(super) facts: Vec<Fact>,
}

impl<'p> Plan<'p> {
    pub(super) fn new(
        kernel: &'p Kernel,
        stage: &Stage,
        product: &'p Product,
        profile: &Profile,
        facts: Vec<Fact>,
        random: &mut Rng,
    ) -> Option<Plan<'p>> {
        let fits = |row: &&Matrices| row.factors == product.dtypes && row.sum == product.sum;
        let row = random.choice(profile.matrices.iter().filter(fits).collect::<Vec<_>>())?;
        let sides = row.shape.map(i64::from);
        let mut counts = [random.choice([1, 1, 2])?, random.choice([1, 1, 2])?];
        let invocations = i64::from(profile.invocations) / i64::from(profile.subgroup.unwrap_or(1)).max(1);
        if counts[0] * counts[1] > invocations {
            counts = [1, 1];
        }
        // Matrices of a subgroup.
        let several = [1, 1, 1, 2, 3];
        let mut own = [sides[0] * random.choice(several)?, sides[1] * random.choice(several)?];
        for at in 0..2 {
            if kernel.size(&product.extents[at], &[]).is_some_and(|n| n < own[at] * counts[at]) {
                (own[at], counts[at]) = (sides[at], 1);
            }
        }
        let copied = match random.u8(..100) {
            0..25 => [false, false],
            25..40 => [true, false],
            40..50 => [false, true],
            _ => [true, true],
        };
        let result = random.u8(..100) < 55;
        let small = |fact: &Fact| matches!(fact, Fact::Size(left, "==" | "<=", _) if product.extents.contains(left));
        let kept = random.u8(..100) < 15;
        let facts = facts.into_iter().filter(|fact| kept || !small(fact)).collect();
        Some(Plan {
            kernel,
            stage: stage.name.clone(),
            product,
            sides,
            own,
            tile: [own[0] * counts[0], own[1] * counts[1]],
            depth: sides[2] * random.choice([1, 1, 2])?,
            counts,
            copied,
            result,
            facts,
        })
    }
}

impl Plan<'_> {
    fn directives(&mut self, random: &mut Rng) -> Vec<Directive> {
        let product = self.product;
        let [i, j, k] = product.axes.each_ref();
        let [parallel, reduced] = &product.others;
        let mut made = Vec::new();
        let copies = self.copied != [false, false];
        let k_o = format!("{k}_o");
        let parts = random.u8(..100) < 7 && reduced.is_empty();
        if parts {
            // Two partial sums, which another stage adds.
            let by = self.depth * random.choice([1, 2]).unwrap_or(1);
            made.push(tiled([tile(k, by, self.word(2, by, copies, random), Some("k_part"))], None));
            let into = vec![format!("{}_part", self.stage)];
            made.push(Directive { produced: into, ..Directive::new("rfactor", ["k_part".to_owned()]) });
        }
        let mut outer: Vec<String> = parallel.clone();
        let mut tiles: Vec<Argument> = outer.pop().map(|axis| tile(&axis, 1, None, None)).into_iter().collect();
        for (at, axis) in [i, j].into_iter().enumerate() {
            let alone = self.result && self.copied[at];
            tiles.push(tile(axis, self.tile[at], self.word(at, self.tile[at], alone, random), None));
        }
        let slots = &["z", "y", "x"][3 - tiles.len()..];
        made.push(tiled(tiles, Some(("workgroup", slots))));
        if parts {
            outer.push("k_part".to_owned());
        }
        if !outer.is_empty() {
            made.push(Directive::new("serial", outer.clone()));
        }
        let place = if copies || random.bool() {
            let word = if parts { None } else { self.word(2, self.depth, self.copied == [true, true], random) };
            made.push(tiled([tile(k, self.depth, word, Some(&k_o))], None));
            k_o.clone()
        } else {
            self.needs(2, self.sides[2]);
            k.clone()
        };
        let mut order: Vec<&String> = reduced.iter().collect();
        if random.bool() {
            random.shuffle(&mut order);
        }
        order.extend((place != *k).then_some(&place));
        match random.u8(..100) {
            0..70 => order.extend([k, i, j]),
            70..80 => order.extend([k, j, i]),
            80..90 if self.copied == [false, false] => order = [vec![i, j], order, vec![k]].concat(),
            _ => order.extend([i, k, j]),
        }
        made.push(Directive::new("reorder", order.into_iter().cloned()));
        made.extend(self.copies(&place, random));
        if self.result {
            made.push(self.result_of(&self.stage, random));
        } else if random.u8(..100) < 95
            && let Some(row) = last(self.kernel, &self.stage)
        {
            self.aligned(&row);
        }
        made.extend(self.subgroups(random));
        made.push(self.mma(random));
        if random.u8(..100) < if place == *k { 3 } else { 30 } {
            made.push(Directive::new("unroll", [k.clone()]));
        }
        made
    }

    /// Generates the copies of the factors. Factors that are not copied have rows that are suitable for matrix loads.
    pub(super) fn copies(&mut self, place: &str, random: &mut Rng) -> Vec<Directive> {
        let mut made = Vec::new();
        for at in 0..2 {
            if self.copied[at] {
                made.push(self.copy(at, place, random));
                if random.u8(..100) < 8 {
                    made.push(self.held(at, place, random));
                }
            } else {
                self.aligned(&self.product.factors[at].1.clone());
                if random.u8(..100) < 12 {
                    made.push(self.held(at, place, random));
                }
            }
        }
        made
    }

    /// Copies a factor to fragments.
    fn held(&self, at: usize, place: &str, random: &mut Rng) -> Directive {
        let name = if self.copied[at] { format!("{}_m{at}", self.stage) } else { self.product.factors[at].0.clone() };
        let place = if random.u8(..100) < 20 { "workgroup" } else { place };
        let mut keys = vec![("at", place.to_owned()), ("to", "fragment".to_owned())];
        if random.u8(..100) < 4 {
            keys.extend(laid(random));
        }
        Directive { produced: vec![format!("{}_f{at}", self.stage)], keys, ..Directive::new("promote", [name]) }
    }

    /// Returns the length of a tensor's rows.
    pub(super) fn row(&self, tensor: &str) -> Option<Expr> {
        last(self.kernel, tensor)
    }

    /// Chooses the keyword of a tile, or adds the fact that the tile needs without one.
    pub(super) fn word(&mut self, at: usize, by: i64, free: bool, random: &mut Rng) -> Option<&'static str> {
        if !free || random.u8(..100) < 25 {
            self.needs(at, by);
            return random.choice([None, None, None, Some("exact"), Some("round_up"), Some("guard")]).flatten();
        }
        match random.u8(..100) {
            0..92 => Some("round_up"),
            _ => random.choice([None, Some("guard"), Some("peel"), Some("shift")]).flatten(),
        }
    }

    /// Adds the fact that an axis's extent is a multiple.
    pub(super) fn needs(&mut self, at: usize, by: i64) {
        let extent = self.product.extents[at].clone();
        self.multiple(&extent, by);
    }

    /// Adds the fact that rows in memory begin at multiples of 16 bytes.
    pub(super) fn aligned(&mut self, row: &Expr) {
        self.multiple(row, 8);
    }

    pub(super) fn multiple(&mut self, size: &Expr, by: i64) {
        needs(self.kernel, &mut self.facts, size, by);
    }

    /// Generates a copy of a factor.
    fn copy(&self, at: usize, place: &str, random: &mut Rng) -> Directive {
        let product = self.product;
        let [own, k] = [&product.axes[at], &product.axes[2]];
        let mut list = [own.as_str(), k.as_str()];
        if random.bool() {
            list.reverse();
        }
        let name = format!("{}_m{at}", self.stage);
        let produced = match random.u8(..100) {
            0..50 => format!("{name}[{}]", list.join(", ")),
            50..52 => format!("{name}[{}, *]", list[0]),
            _ => name,
        };
        let mut keys = vec![("at", place.to_owned()), ("to", "shared".to_owned())];
        if random.u8(..100) < 90 {
            let (zero, other) = if product.sum.is_float() { ("0.0", "1.5") } else { ("0", "3") };
            keys.push(("fill", if random.u8(..100) < 3 { other } else { zero }.to_owned()));
        }
        keys.extend(laid(random));
        Directive { produced: vec![produced], keys, ..Directive::new("promote", [product.factors[at].0.clone()]) }
    }

    /// Generates a copy of the result of a stage.
    pub(super) fn result_of(&self, stage: &str, random: &mut Rng) -> Directive {
        let [i, j, _] = &self.product.axes;
        let name = format!("{stage}_m");
        let produced = match random.u8(..100) {
            0..70 => name,
            70..85 => format!("{name}[{i}, {j}]"),
            _ => format!("{name}[{j}, {i}]"),
        };
        let memory = match random.u8(..100) {
            0..2 => "register",
            2..3 => "fragment",
            _ => "shared",
        };
        let mut keys = vec![("at", "workgroup".to_owned()), ("to", memory.to_owned())];
        keys.extend(laid(random));
        Directive { produced: vec![produced], keys, ..Directive::new("promote", [stage.to_owned()]) }
    }

    /// Distributes the result across subgroups.
    pub(super) fn subgroups(&self, random: &mut Rng) -> Option<Directive> {
        let axes: Vec<usize> = (0..2).filter(|at| self.counts[*at] > 1 || random.u8(..100) < 15).collect();
        let slots = &["y", "x"][2 - axes.len()..];
        let tiles: Vec<Argument> = axes.iter().map(|at| tile(&self.product.axes[*at], self.own[*at], None, None)).collect();
        (!tiles.is_empty()).then(|| tiled(tiles, Some(("subgroup", slots))))
    }

    pub(super) fn mma(&self, random: &mut Rng) -> Directive {
        let mut sides = self.sides;
        if random.u8(..100) < 3 {
            let at = random.usize(..3);
            sides[at] = random.choice([0, 1, 3, 8, 16, 64]).unwrap_or(1);
        }
        let mut axes = self.product.axes.clone();
        if random.u8(..100) < 3 {
            axes.reverse();
        }
        let shape = sides.map(|side| side.to_string()).join(" x ");
        let mut directive = Directive::new("mma", axes);
        directive.arguments.push(Argument::Text(shape));
        directive
    }
}

/// Chooses the layout of a copy in shared memory, and how it is copied.
pub(super) fn laid(random: &mut Rng) -> Vec<(&'static str, String)> {
    let mut keys = Vec::new();
    match random.u8(..100) {
        0..35 => keys.push(("row_pad", random.choice([8, 8, 8, 16, 4, 1]).unwrap_or(8).to_string())),
        35..38 => keys.push(("swizzle", random.choice([1, 2, 4]).unwrap_or(1).to_string())),
        _ => {}
    }
    if random.u8(..100) < 12 {
        keys.push(("vector", random.choice([1, 2, 4, 8]).unwrap_or(2).to_string()));
    }
    keys
}

pub(super) fn tile(axis: &str, by: i64, tail: Option<&'static str>, outer: Option<&str>) -> Argument {
    Argument::Tile { axis: axis.to_owned(), factor: by.into(), tail, outer: outer.map(str::to_owned) }
}

pub(super) fn tiled(tiles: impl IntoIterator<Item = Argument>, to: Option<(&'static str, &[&'static str])>) -> Directive {
    let target = to.map(|(level, slots)| Target { level, slots: slots.to_vec() });
    Directive { arguments: tiles.into_iter().collect(), target, ..Directive::new("tile", []) }
}

pub(super) fn lcm(a: i64, b: i64) -> i64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x.max(1) * b
}
