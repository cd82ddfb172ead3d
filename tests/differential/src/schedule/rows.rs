//! Schedules of products on matrix units whose rows are reduced on them: softmax of a product, and flash attention.
//!
//! All stages but the last are usually placed in its nest and stay in fragments, and all have the same matrices and subgroups. Rows
//! are reduced by `fragment(…, by: …)`, or in two stages with a lane for each row. Sometimes one of these is different, or is left
//! out.

use super::facts::bounds;
use super::mma::{Plan, Product, laid, lcm, tile, tiled};
use super::tree::{Argument, Block, Directive, Fact, Target};
use crate::kernel::tree::{ArgumentKind, Expr, ExprKind, Kernel, Role, Stage};
use fastrand::Rng;
use tilewright_dsl::profile::Profile;
use tilewright_launch::{DType, Feature};

/// Generates the blocks of all stages, a statement in front of them, and the schedule's facts with those that the blocks need.
pub(super) fn schedule(
    kernel: &Kernel,
    generic: DType,
    profile: &Profile,
    facts: Vec<Fact>,
    random: &mut Rng,
) -> Option<(Vec<Block>, Vec<Fact>)> {
    let (host, inner) = kernel.stages.split_last()?;
    let (score, product) = inner.iter().find_map(|stage| Some((stage, Product::of(kernel, stage, generic)?)))?;
    let columns = &product.axes()[1];
    let reduces = |stage: &Stage| stage.reduction().is_some_and(|(_, ranges)| ranges.iter().any(|range| range.axis == *columns));
    let placed = inner.iter().all(|stage| stage.role == Role::Intermediate);
    if !placed || !inner.iter().any(reduces) {
        return None;
    }
    let values = match host.reduction() {
        Some(_) => Some(Product::of(kernel, host, generic)?),
        None => None,
    };
    // Fragments of matrices of one row are refused, so they are rare here.
    let mut plan = Plan::new(kernel, score, &product, profile, facts.clone(), random)?;
    for _ in 0..4 {
        if plan.sides[0] == 1 {
            plan = Plan::new(kernel, score, &product, profile, facts.clone(), random)?;
        }
    }
    let mut rows = Rows {
        plan,
        profile,
        host,
        values,
        place: "workgroup".to_owned(),
        held: false,
        slices: random.u8(..100) < 18,
        subgroups: None,
        made: Vec::new(),
    };
    rows.choose(random);
    let own = if rows.values.is_some() { rows.attention(inner, random)? } else { rows.chain(inner, random) };
    let mut blocks = std::mem::take(&mut rows.made);
    blocks.push(Block { stages: if random.bool() { vec![host.name.clone()] } else { Vec::new() }, directives: own });
    for block in &mut blocks {
        // One of a block's directives is left out.
        if random.u8(..) < 2 && block.directives.len() > 1 {
            block.directives.remove(random.usize(..block.directives.len()));
        }
    }
    blocks.splice(0..0, rows.online(inner, random));
    Some((blocks, rows.plan.facts))
}

struct Rows<'p> {
    plan: Plan<'p>,
    profile: &'p Profile,
    /// The last stage.
    host: &'p Stage,
    /// The product of the last stage.
    values: Option<Product>,
    /// The place where the other stages are computed.
    place: String,
    /// True if the first factor of attention is copied to fragments.
    held: bool,
    /// True if weights become a factor by copies of parts of them.
    slices: bool,
    /// The rows of each subgroup, in all blocks.
    subgroups: Option<Directive>,
    made: Vec<Block>,
}

impl Rows<'_> {
    /// Chooses sizes. All columns belong to one subgroup, because other subgroups cannot access its fragments.
    fn choose(&mut self, random: &mut Rng) {
        let plan = &mut self.plan;
        plan.counts[1] = 1;
        plan.own[0] = plan.sides[0] * random.choice([1, 1, 1, 2]).unwrap_or(1);
        // A single row does not have a loop, and its factor is not one of a product.
        plan.own[0] = plan.own[0].max(if random.u8(..100) < 95 { 2 } else { 1 });
        plan.tile[0] = plan.own[0] * plan.counts[0];
        plan.result = random.u8(..100) < 45;
        let side = match &self.values {
            // Columns of weights are the depth of the second product.
            Some(_) => lcm(plan.sides[1], plan.sides[2]),
            None => plan.sides[1],
        };
        // Whole rows lie at multiples of 16 bytes.
        let side = if random.u8(..100) < 95 { lcm(side, 8) } else { side };
        plan.own[1] = side * random.choice([1, 1, 1, 2, 2, 3]).unwrap_or(1);
        let extent = plan.product.extents()[1].clone();
        match (&self.values, plan.kernel.size(&extent, &[])) {
            (None, Some(n)) => plan.own[1] = n,
            (None, None) => {
                // Columns that are not whole matrices are refused.
                let n = plan.own[1] + if random.u8(..100) < 3 { random.i64(1..=8) } else { 0 };
                plan.fix(&extent, n);
            }
            (Some(_), _) if random.u8(..100) < 96 => plan.multiple(&extent, plan.own[1]),
            (Some(_), _) => {}
        }
        plan.tile[1] = plan.own[1];
        self.held = plan.copied[0] && !plan.result && random.bool();
        let axis = plan.product.axes()[0].clone();
        let split = plan.counts[0] > 1 || random.u8(..100) < 15;
        self.subgroups = split.then(|| tiled([tile(&axis, plan.own[0], None, None)], Some(("subgroup", &["x"]))));
    }

    /// Generates the host's directives for softmax and similar kernels.
    fn chain(&mut self, inner: &[Stage], random: &mut Rng) -> Vec<Directive> {
        let mut own = self.workgroups(random);
        if self.plan.result {
            own.push(self.plan.result_of(&self.host.name, random));
        } else if random.u8(..100) < 96
            && let Some(row) = self.plan.row(&self.host.name)
        {
            self.plan.aligned(&row);
        }
        let at = own.len();
        own.extend(inner.iter().rev().flat_map(|stage| self.stage(stage, &stage.name, random)));
        let mut score = self.plan.sums(random);
        own.iter_mut().chain(&mut score).for_each(|directive| lie_in_rows(directive, random));
        let held = |directive: &Directive| directive.name == "promote" && directive.keys.contains(&("to", "fragment".to_owned()));
        // A sum of arbitrary length does not fit in fragments as a whole.
        let whole = |directive: &Directive| held(directive) && directive.keys.contains(&("at", "workgroup".to_owned()));
        score.retain(|directive| !whole(directive) || random.u8(..100) < 10);
        // Copies to shared memory are for all subgroups.
        let first = score.iter().position(|directive| directive.name == "mma" || held(directive)).unwrap_or(0);
        score.splice(first..first, self.subgroups.clone());
        let name = inner.iter().find(|stage| self.is_score(stage)).map_or(String::new(), |stage| stage.name.clone());
        self.made.push(Block { stages: vec![name], directives: score });
        if let Some(tile) = self.subgroups.clone() {
            own.insert(random.usize(at..=own.len()), tile);
        }
        let [i, j, _] = self.plan.product.axes().clone();
        own.push(self.fragment([i, j], None, random));
        own
    }

    /// Generates the directives of the last sum's stage for flash attention.
    fn attention(&mut self, inner: &[Stage], random: &mut Rng) -> Option<Vec<Directive>> {
        let [i, e, j] = self.values.as_ref()?.axes().clone();
        let mut own = self.workgroups(random);
        let outer = format!("{j}_o");
        self.place.clone_from(&outer);
        let mut order = vec![Directive::new("reorder", [outer.clone(), i.clone(), e.clone()])];
        order.extend(self.subgroups.clone());
        // A loop over blocks that ends with the row precedes a subgroup's rows.
        let causal = self.is_causal();
        if random.u8(..100) < if causal { 2 } else { 50 } {
            order.reverse();
        }
        if let Some(values) = self.values.as_ref().filter(|_| causal && random.u8(..100) < 95) {
            // Weights beyond the row's end are 0, so their products with finite values are 0.
            let finite = Fact::Finite(values.factors()[1].to_owned());
            self.plan.facts.retain(|fact| *fact != finite);
            self.plan.facts.push(finite);
        }
        own.extend(order);
        own.push(Directive::new("serial", [outer.clone()]));
        self.widths(random);
        own.push(self.at(&format!("{}_b", self.host.name), "fragment"));
        for stage in inner.iter().rev() {
            let name = if self.is_row(stage) { format!("{}_b", stage.name) } else { stage.name.clone() };
            own.extend(self.stage(stage, &name, random));
        }
        own.extend(self.factors(&outer, random));
        self.products(inner, random)?;
        own.push(self.fragment([i, e], None, random));
        Some(own)
    }

    /// Generates `decompose_online`, with a block's length.
    fn online(&mut self, inner: &[Stage], random: &mut Rng) -> Option<Block> {
        self.values.as_ref()?;
        let members = inner.iter().filter(|stage| self.is_row(stage)).chain([self.host]).map(|stage| stage.name.clone());
        let mut directive = Directive::new("decompose_online", members);
        directive.produced = directive.arguments.iter().map(|name| format!("{name}_b")).collect();
        let length = if random.u8(..100) < 2 { random.choice([1, 8, 12, 16, 64]).unwrap_or(16) } else { self.plan.own[1] };
        directive = directive.with("block", length.to_string());
        if self.is_causal() && random.u8(..100) < 60 || random.u8(..) < 3 {
            let score = inner.iter().find(|stage| self.is_score(stage))?;
            directive = directive.with("mask", score.name.clone());
            self.state_bounds(random);
        }
        Some(Block { stages: Vec::new(), directives: vec![directive] })
    }

    /// Returns true if a row's range ends with the row.
    fn is_causal(&self) -> bool {
        let row = &self.plan.product.axes()[0];
        self.host.reduction().is_some_and(|(_, ranges)| ranges[0].high.names().contains(row.as_str()))
    }

    /// Adds the facts that a mask of the scores needs: that scores are finite, and their factor is above 0.
    fn state_bounds(&mut self, random: &mut Rng) {
        let mut needed: Vec<Fact> = self.plan.product.factors().map(|name| Fact::Finite(name.to_owned())).into();
        let inner = self.plan.product.extents()[2].clone();
        if self.plan.kernel.size(&inner, &[]).is_none() {
            needed.push(Fact::Size(inner, "<=", 64));
        }
        let scalars = self.plan.kernel.arguments.iter().filter(|a| a.kind == ArgumentKind::Scalar);
        needed.extend(scalars.flat_map(|scalar| bounds(&scalar.name)));
        for fact in needed {
            if !self.plan.facts.contains(&fact) && random.u8(..100) < 98 {
                self.plan.facts.push(fact);
            }
        }
    }

    /// Distributes tiles of the host, with one batch each; sometimes a workgroup loops over several tiles.
    fn workgroups(&mut self, random: &mut Rng) -> Vec<Directive> {
        let i = self.plan.product.axes()[0].clone();
        let mut outer = self.plan.product.parallel().to_vec();
        let mut tiles: Vec<Argument> = outer.pop().map(|axis| tile(&axis, 1, None, None)).into_iter().collect();
        let rows = self.plan.tile[0];
        let several = self.values.is_none() && !self.plan.result && random.u8(..100) < 20;
        let by = if several { rows * 2 } else { rows };
        // A result that is not a sum is written back without guards.
        let free = self.plan.result && (self.values.is_some() && self.plan.copied[0] || random.u8(..100) < 4);
        tiles.push(tile(&i, by, self.plan.word(0, by, free, random), None));
        let slots: &[&str] = match (tiles.len(), random.u8(..100)) {
            (1, 0..8) => &["x down"],
            (1, _) => &["x"],
            (_, 0..20) => &["y", "x down"],
            (_, _) => &["y", "x"],
        };
        let mut made = vec![tiled(tiles, Some(("workgroup", slots)))];
        made.extend((!outer.is_empty()).then(|| Directive::new("serial", outer)));
        if several {
            self.place = format!("{i}_o");
            made.push(tiled([tile(&i, rows, None, Some(&self.place))], None));
            made.push(Directive::new("serial", [self.place.clone()]));
        }
        made
    }

    /// Places a stage other than the host, and generates its block.
    fn stage(&mut self, stage: &Stage, name: &str, random: &mut Rng) -> Vec<Directive> {
        if self.is_score(stage) {
            return vec![self.at(name, "fragment")];
        }
        let [i, j, _] = self.plan.product.axes().clone();
        if self.is_row(stage) {
            return self.row(name, [i, j], random);
        }
        let matrices = self.fragment([i, j], None, random);
        self.block(name, vec![matrices], random);
        let factor = self.values.as_ref().is_some_and(|values| values.factors()[0] == stage.name);
        let share = match factor {
            true if self.slices => 3,
            true if self.converts() => 30,
            true => 96,
            false => 5,
        };
        if random.u8(..100) < share {
            return vec![self.at(name, "shared").with("row_pad", random.choice(["8", "8", "16"]).unwrap_or("8"))];
        }
        vec![self.at(name, "fragment")]
    }

    /// Generates a reduction of rows: on matrices, or of partial results by lanes.
    fn row(&mut self, name: &str, [i, j]: [String; 2], random: &mut Rng) -> Vec<Directive> {
        if random.u8(..100) >= 12 || self.plan.own[0] == 1 {
            let way = match (self.profile.has(Feature::MatrixReductions), random.u8(..)) {
                (true, 0..150) | (false, 0..4) => "matrix",
                (_, 255) => "tree",
                _ => "shared",
            };
            let matrices = self.fragment([i, j], Some(way), random);
            self.block(name, vec![matrices], random);
            return vec![self.at(name, if random.u8(..100) < 1 { "shared" } else { "fragment" })];
        }
        let (part, outer) = (format!("{name}_part"), format!("{j}_r"));
        let factors = Argument::Factors(vec![None, Some(self.plan.sides[1])], None);
        let arguments = vec![Argument::Name(j.clone()), factors];
        let split = Directive { arguments, produced: vec![outer.clone(), j.clone()], ..Directive::new("split", []) };
        let rfactor = Directive { produced: vec![part.clone()], ..Directive::new("rfactor", [j.clone()]) };
        let target = Some(Target { level: "lane", slots: vec!["x"] });
        let lanes = Directive { target, ..Directive::new("distribute", [i.clone()]) };
        let own = [split, rfactor].into_iter().chain(self.subgroups.clone());
        let own = own.chain([lanes, Directive::new("unroll", [j.clone()])]).collect();
        self.made.push(Block { stages: vec![name.to_owned()], directives: own });
        let order = Directive::new("reorder", [outer.clone(), i.clone(), j.clone()]);
        let matrices = self.fragment([i, j], None, random);
        self.block(&part, vec![order, matrices, Directive::new("unroll", [outer])], random);
        vec![self.at(name, "shared"), self.at(&part, "shared")]
    }

    /// Adds the facts about lengths that the second product and the copies need.
    fn widths(&mut self, random: &mut Rng) {
        let Some(values) = &self.values else { return };
        let [_, side, depth] = self.plan.sides;
        let (extent, product) = (values.extents()[1].clone(), self.plan.product);
        self.plan.fix(&extent, lcm(side, 8) * random.choice([1, 1, 2]).unwrap_or(1));
        let inner = product.extents()[2].clone();
        // A copy needs a known number of elements.
        match self.plan.copied != [false; 2] || random.bool() {
            true => self.plan.fix(&inner, lcm(depth, 8) * random.choice([1, 1, 2]).unwrap_or(1)),
            false => self.plan.multiple(&inner, lcm(depth, 8)),
        }
    }

    /// Generates copies of queries, keys, values and the result. Tensors that are not copied have rows that are suitable for matrix
    /// loads.
    fn factors(&mut self, outer: &str, random: &mut Rng) -> Vec<Directive> {
        let Some(values) = &self.values else { return Vec::new() };
        let [q, k] = self.plan.product.factors();
        let named =
            [(q, "workgroup", self.plan.copied[0]), (k, outer, self.plan.copied[1]), (values.factors()[1], outer, random.bool())];
        let mut made = Vec::new();
        for (n, (tensor, at, _)) in named.into_iter().enumerate().filter(|(_, (.., copied))| *copied) {
            let memory = if n == 0 && self.held { "fragment" } else { "shared" };
            let produced = vec![format!("{tensor}_m")];
            let mut copy = Directive { produced, ..Directive::new("promote", [tensor.to_owned()]) };
            copy = copy.with("at", at).with("to", memory);
            if memory == "shared" {
                // The copy is usually within the tensor.
                copy.keys.extend((random.u8(..100) < 3).then(|| ("fill", "0.0".to_owned())));
                copy.keys.extend(match random.u8(..100) {
                    0..40 => vec![("row_pad", "8".to_owned())],
                    40..70 => laid(random),
                    _ => Vec::new(),
                });
            }
            lie_in_rows(&mut copy, random);
            made.push(copy);
            if memory == "shared" && at == outer && random.u8(..100) < 15 {
                let pipeline = Directive::new("pipeline", [outer.to_owned(), format!("{tensor}_m")]);
                made.push(match random.u8(..3) {
                    0 => pipeline.with("buffers", "2"),
                    1 => pipeline.with("buffers", "1").with("prefetch", "register"),
                    _ => pipeline.with("buffers", "1").with("prefetch", "register").with("fetch", "start").with("store", "end"),
                });
            }
        }
        if self.plan.result {
            let copy = Directive {
                produced: vec![format!("{}_m", self.host.name)],
                ..Directive::new("promote", [self.host.name.clone()])
            };
            made.push(copy.with("at", "workgroup").with("to", "shared"));
        }
        for row in [self.plan.row(q), self.plan.row(k), self.plan.row(values.factors()[1]), self.plan.row(&self.host.name)] {
            // Copied tensors do not need it, but mostly have it.
            if let Some(row) = row.filter(|_| random.u8(..100) < 90) {
                self.plan.aligned(&row);
            }
        }
        made
    }

    /// Generates the blocks of both products of attention.
    fn products(&mut self, inner: &[Stage], random: &mut Rng) -> Option<()> {
        let [i, j, k] = self.plan.product.axes().clone();
        let score = inner.iter().find(|stage| self.is_score(stage))?.name.clone();
        let mut own = vec![Directive::new("reorder", [k.clone(), i.clone(), j.clone()]), self.plan.mma(random)];
        // Fragments cannot be indexed at run time.
        let share = if self.held { 98 } else { 25 };
        own.extend((random.u8(..100) < share).then(|| Directive::new("unroll", [k])));
        self.block(&score, own, random);
        let values = self.values.as_ref()?;
        let [i, e, j] = values.axes().clone();
        let (name, rounded) = (format!("{}_b", self.host.name), values.factors()[0].to_owned());
        let shape = Argument::Text(self.plan.sides.map(|side| side.to_string()).join(" x "));
        let mut mma = Directive::new("mma", [i.clone(), e.clone(), j.clone()]);
        mma.arguments.push(shape);
        let mut own = Vec::new();
        let (mut order, mut loops) = (vec![j.clone(), i.clone(), e], vec![j.clone()]);
        if self.slices {
            // Weights are copied through shared memory one slice at a time.
            let (outer, copy) = (format!("{j}_p"), format!("{rounded}_m"));
            let by = lcm(self.plan.sides[1], self.plan.sides[2]);
            own.push(tiled([tile(&j, by, None, Some(&outer))], None));
            order.insert(0, outer.clone());
            loops.insert(0, outer.clone());
            let promote = Directive { produced: vec![copy.clone()], ..Directive::new("promote", [rounded]) };
            let promote = promote.with("at", outer).with("to", "shared").with("row_pad", "8");
            let matrices = self.fragment([i, j], None, random);
            self.block(&copy, vec![matrices], random);
            own.extend([Directive::new("reorder", order), promote]);
        } else {
            own.push(Directive::new("reorder", order));
        }
        let unroll = self.slices || random.u8(..100) < 90;
        own.push(mma);
        own.extend(unroll.then(|| Directive::new("unroll", loops)));
        self.block(&name, own, random);
        Some(())
    }

    /// Adds a block that begins with the rows of each subgroup; sometimes with other rows.
    fn block(&mut self, name: &str, directives: Vec<Directive>, random: &mut Rng) {
        let tiles = if random.u8(..) > 0 { self.subgroups.clone() } else { self.plan.subgroups(random) };
        let directives = tiles.into_iter().chain(directives).collect();
        self.made.push(Block { stages: vec![name.to_owned()], directives });
    }

    /// Returns true if sums can become factors without a copy.
    fn converts(&self) -> bool {
        self.profile.has(Feature::MatrixConversions) && self.plan.sides[1] == self.plan.sides[2]
    }

    fn at(&self, name: &str, memory: &str) -> Directive {
        Directive::new("compute_at", [name.to_owned(), self.place.clone()]).with("to", memory)
    }

    /// Chooses a stage's matrices: usually the matrices of the sums.
    fn fragment(&self, mut axes: [String; 2], by: Option<&str>, random: &mut Rng) -> Directive {
        let [mut rows, mut columns, _] = self.plan.sides;
        match random.u16(..500) {
            0 => axes.reverse(),
            1 => std::mem::swap(&mut rows, &mut columns),
            2 => columns = random.choice([0, 1, 8, 16, 32]).unwrap_or(8),
            _ => {}
        }
        let mut directive = Directive::new("fragment", axes);
        directive.arguments.push(Argument::Text(format!("{rows} x {columns}")));
        directive.keys.extend(by.map(|way| ("by", way.to_owned())));
        directive
    }

    fn is_score(&self, stage: &Stage) -> bool {
        let summed = &self.plan.product.axes()[2];
        stage.reduction().is_some_and(|(_, ranges)| ranges.iter().any(|range| range.axis == *summed))
    }

    /// Returns true if a stage reduces the product's columns.
    fn is_row(&self, stage: &Stage) -> bool {
        stage.reduction().is_some() && !self.is_score(stage)
    }
}

/// Mostly makes the rows of a copy suitable for loading and storing matrices.
fn lie_in_rows(directive: &mut Directive, random: &mut Rng) {
    let odd = |(key, value): &&mut (&'static str, String)| *key == "row_pad" && !matches!(value.as_str(), "8" | "16");
    for (_, value) in directive.keys.iter_mut().filter(odd).filter(|_| random.u8(..100) < 85) {
        "8".clone_into(value);
    }
}

impl Plan<'_> {
    /// Adds the fact that a size is a number, because loops over matrices are unrolled.
    fn fix(&mut self, size: &Expr, value: i64) {
        let ExprKind::Name(name) = &size.kind else { return };
        if self.kernel.dims().any(|dim| dim == name) {
            self.facts.retain(|fact| !matches!(fact, Fact::Size(left, ..) if left.names().contains(name.as_str())));
            self.facts.push(Fact::Size(size.clone(), "==", value));
        }
    }
}
