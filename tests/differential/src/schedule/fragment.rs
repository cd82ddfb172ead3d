//! Schedules of stages that read a product on matrix units: the sums, and the values computed from them, stay in fragments.
//!
//! The host has the tiles and the subgroups, and its product's block has the same. Sometimes one of the two has others, or a
//! directive is left out.

use super::mma::{Plan, Product, tile, tiled};
use super::tree::{Argument, Block, Directive, Fact};
use crate::kernel::tree::{Kernel, Stage};
use fastrand::Rng;
use tilewright_dsl::profile::Profile;

/// Generates the blocks of a host and of the product that it reads, and the schedule's facts with those that the blocks need.
pub(super) fn schedule(
    kernel: &Kernel,
    host: &Stage,
    stage: &Stage,
    product: &Product,
    profile: &Profile,
    facts: Vec<Fact>,
    random: &mut Rng,
) -> Option<(Vec<Block>, Vec<Fact>)> {
    let mut plan = Plan::new(kernel, stage, product, profile, facts, random)?;
    plan.result = random.u8(..100) < 35;
    if let (false, Some(row)) = (plan.result, plan.row(&host.name)) {
        plan.aligned(&row);
    }
    let (workgroups, subgroups) = (plan.workgroups(random), plan.subgroups(random));
    let mut own = workgroups;
    if plan.result {
        own.push(plan.result_of(&host.name, random));
    }
    let memory = if random.u8(..100) < 85 { "fragment" } else { "shared" };
    let mut placed = Directive::new("compute_at", [stage.name.clone(), "workgroup".to_owned()]);
    placed.keys.push(("to", memory.to_owned()));
    if memory == "shared" || random.u8(..100) < 2 {
        placed.keys.push(("row_pad", random.choice([8, 8, 4])?.to_string()));
    }
    let at = own.len();
    own.extend(subgroups.clone());
    own.insert(random.usize(at..=own.len()), placed);
    own.push(fragment(&plan, random));
    let mut inner = plan.sums(random);
    let at = inner.iter().position(|d| d.name == "mma").unwrap_or(inner.len());
    inner.splice(at..at, if random.u8(..100) < 95 { subgroups } else { plan.subgroups(random) });
    for block in [&mut own, &mut inner] {
        if random.u8(..100) < 4 {
            block.remove(random.usize(..block.len()));
        }
    }
    let blocks = [(host, own), (stage, inner)];
    let blocks = blocks.into_iter().map(|(of, directives)| Block { stages: vec![of.name.clone()], directives }).collect();
    Some((blocks, plan.facts))
}

/// Chooses the host's matrices: usually the matrices of the sums.
fn fragment(plan: &Plan<'_>, random: &mut Rng) -> Directive {
    let [i, j, _] = plan.product.axes();
    let [mut rows, mut columns, _] = plan.sides;
    let mut axes = [i.clone(), j.clone()];
    match random.u8(..100) {
        0..2 => axes.reverse(),
        2..4 => std::mem::swap(&mut rows, &mut columns),
        4..6 => columns = random.choice([0, 1, 8, 16, 32]).unwrap_or(8),
        _ => {}
    }
    let mut directive = Directive::new("fragment", axes);
    directive.arguments.push(Argument::Text(format!("{rows} x {columns}")));
    directive
}

impl Plan<'_> {
    /// Distributes tiles of a host to workgroups, with one batch each.
    fn workgroups(&mut self, random: &mut Rng) -> Vec<Directive> {
        let [i, j, _] = self.product.axes().clone();
        let mut outer = self.product.parallel().to_vec();
        let mut tiles: Vec<Argument> = outer.pop().map(|axis| tile(&axis, 1, None, None)).into_iter().collect();
        for (at, axis) in [i, j].iter().enumerate() {
            let free = self.result && self.copied[at];
            tiles.push(tile(axis, self.tile[at], self.word(at, self.tile[at], free, random), None));
        }
        let slots = &["z", "y", "x"][3 - tiles.len()..];
        let tiles = tiled(tiles, Some(("workgroup", slots)));
        let serial = (!outer.is_empty()).then(|| Directive::new("serial", outer));
        [tiles].into_iter().chain(serial).collect()
    }

    /// Generates the block of the product, without its subgroups.
    pub(super) fn sums(&mut self, random: &mut Rng) -> Vec<Directive> {
        let [i, j, k] = self.product.axes().clone();
        let mut made = Vec::new();
        let mut order = self.product.reduced().to_vec();
        let place = if self.copied != [false, false] || random.bool() {
            let k_o = format!("{k}_o");
            let word = self.word(2, self.depth, self.copied == [true, true], random);
            made.push(tiled([tile(&k, self.depth, word, Some(&k_o))], None));
            order.push(k_o.clone());
            k_o
        } else {
            self.needs(2, self.sides[2]);
            k.clone()
        };
        order.extend([k.clone(), i, j]);
        made.push(Directive::new("reorder", order));
        made.extend(self.copies(&place, random));
        made.push(self.mma(random));
        if random.u8(..100) < if place == k { 3 } else { 50 } {
            made.push(Directive::new("unroll", [k]));
        }
        made
    }
}
