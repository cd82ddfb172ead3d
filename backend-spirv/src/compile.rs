//! Compiles a program's plan to a launch program.

use crate::Result;
use crate::module::{Entry, entry_name};
use crate::nest::Emit;
use crate::params::Block;
use crate::writer::Writer;
use std::collections::BTreeSet;
use tilewright_dsl::diag::{Error, Errors, SpanId};
use tilewright_dsl::launch::{self, Addressing, BufferUse, Feature, Limit, Requires};
use tilewright_dsl::lower::launch::{frame, grid};
use tilewright_dsl::nest::{Dispatch, Program};
use tilewright_dsl::profile::Profile;

/// Compiles a lowered program for a profile.
///
/// The plan is the last form of the nest: phases [`Init`](tilewright_dsl::nest::Phase::Init),
/// [`Update`](tilewright_dsl::nest::Phase::Update) and [`Finish`](tilewright_dsl::nest::Phase::Finish) for reductions.
/// `variant` is the schedule's name.
pub fn compile(program: &Program, profile: &Profile, variant: &str) -> std::result::Result<launch::Program, Errors> {
    let mut launched = frame(program, profile, variant)?;
    let mut errors = Errors::new();
    let mut requires = Requires { local: [1; 3], invocations: 1, ..Requires::default() };
    for dispatch in &program.plan {
        let mut dispatch = dispatch.clone();
        dispatch.body = tilewright_codegen::sink(program, dispatch.body);
        if let Some((made, needs, limits)) = errors.keep(emit(program, profile, variant, &dispatch)) {
            launched.dispatches.push(made);
            requires = join(requires, needs);
            let same = |l: &Limit| launched.limits.iter().any(|known| known.least == l.least && known.most == l.most);
            let new: Vec<Limit> = limits.into_iter().filter(|limit| !same(limit)).collect();
            launched.limits.extend(new);
        }
    }
    if program.plan.is_empty() {
        errors.push(Error::new(SpanId::NONE, format!("`{}` has no dispatches: it is not scheduled", program.name)));
    }
    errors.into_result()?;
    launched.requires = requires;
    Ok(launched)
}

/// A dispatch, its requirements on the device, and the limits of its indices that the launch checks.
type Emitted = (launch::Dispatch, Requires, Vec<Limit>);

/// Emits one dispatch.
fn emit(program: &Program, profile: &Profile, variant: &str, dispatch: &Dispatch) -> Result<Emitted> {
    let mut e = Emit::new(program, profile, dispatch)?;
    let local = e.ctx.resolver.grid.row.map_or(dispatch.local, |_| [dispatch.local.iter().product(), 1, 1]);
    e.ctx.check_local(local)?;
    let grid = grid(program, dispatch)?;
    e.ctx.resolver.launched_as(grid.clone());
    e.ctx.memory_model.declare(&mut e.ctx.writer.module);
    e.block(&dispatch.body)?;
    let matrices = e.matrices.types.needed_products(profile);
    let ctx = e.ctx;
    ctx.check_shared()?;
    let addresses = ctx.by_address && !ctx.resolver.uses.global.is_empty();
    let aligned = |(buffer, usage): &(_, BufferUse)| BufferUse { align: ctx.alignment(*buffer), ..*usage };
    let buffers: Vec<BufferUse> = ctx.resolver.uses.global.iter().map(aligned).collect();
    let Writer { mut module, mut function, params, by_address, mut features, shared_bytes, .. } = ctx.writer;
    let Block { mut code, params, bytes: param_bytes, constants, spilled } =
        params.prologue(&mut module, profile.push_bytes, addresses, buffers.len() as u32);
    if !by_address {
        ctx.buffers.decorate_aliases(&mut module, &ctx.resolver.uses.global);
    }
    if addresses {
        features.insert(Feature::Address);
        module.capability(spirv::Capability::PhysicalStorageBufferAddresses);
        module.extension("SPV_KHR_physical_storage_buffer");
    }
    if ctx.resolver.grid.subgroup.is_some() {
        features.insert(Feature::SubgroupSize);
    }
    code.append(function.here());
    let name = entry_name([&program.name, variant, &dispatch.name]);
    let entry = Entry { name: &name, local, addresses };
    let (spirv, lines) = module.finish(entry, &function.variables, &code, &program.report.places);
    let requires = Requires {
        features: features.into_iter().collect(),
        invocations: dispatch.local.iter().product(),
        local,
        shared_bytes,
        subgroup: ctx.resolver.grid.subgroup,
        matrices,
    };
    let made = launch::Dispatch {
        name: dispatch.name.clone(),
        spirv,
        lines,
        grid,
        local,
        buffers,
        addressing: if addresses { Addressing::Address } else { Addressing::Descriptor },
        params,
        param_bytes,
        constants,
        spilled,
    };
    Ok((made, requires, ctx.resolver.into_limits()))
}

/// Combines the requirements of two dispatches.
fn join(a: Requires, b: Requires) -> Requires {
    Requires {
        features: union(a.features, b.features),
        invocations: a.invocations.max(b.invocations),
        local: std::array::from_fn(|n| a.local[n].max(b.local[n])),
        shared_bytes: a.shared_bytes.max(b.shared_bytes),
        subgroup: a.subgroup.or(b.subgroup),
        matrices: union(a.matrices, b.matrices),
    }
}

fn union<T: Ord>(a: Vec<T>, b: Vec<T>) -> Vec<T> {
    a.into_iter().chain(b).collect::<BTreeSet<T>>().into_iter().collect()
}

impl Writer<'_> {
    /// Checks that a workgroup is within the profile's limits.
    fn check_local(&self, local: [u32; 3]) -> Result<()> {
        if local.contains(&0) {
            return Err(self.error("a workgroup needs at least one invocation"));
        }
        if let Some((what, guaranteed)) = self.profile.too_large(local) {
            return Err(self.error(what).note(guaranteed));
        }
        Ok(())
    }

    fn check_shared(&self) -> Result<()> {
        let (wanted, there, name) = (self.shared_bytes, self.profile.shared_bytes, &self.profile.name);
        if wanted <= there {
            return Ok(());
        }
        let message = format!("a workgroup needs {wanted} bytes of shared memory, but the profile `{name}` guarantees {there}");
        Err(self.error(message).help("make the tiles in shared memory smaller"))
    }
}
