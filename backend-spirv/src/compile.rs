//! Compiles a program's plan to a launch program.

use crate::Result;
use crate::emit::Emit;
use crate::module::{Entry, entry_name};
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

/// Emits one dispatch. Returns it with its requirements on the device, and the limits of its indices that the launch checks.
fn emit(
    program: &Program,
    profile: &Profile,
    variant: &str,
    dispatch: &Dispatch,
) -> Result<(launch::Dispatch, Requires, Vec<Limit>)> {
    let mut e = Emit::new(program, profile, dispatch)?;
    let local = e.resolver.grid.row.map_or(dispatch.local, |_| [dispatch.local.iter().product(), 1, 1]);
    e.check_local(local)?;
    let grid = grid(program, dispatch)?;
    e.resolver.launched_as(grid.clone());
    e.declare_memory_model();
    e.block(&dispatch.body)?;
    e.check_shared()?;
    let addresses = e.by_address() && !e.resolver.uses.global.is_empty();
    let aligned = |(buffer, usage): &(_, BufferUse)| BufferUse { align: e.alignment(*buffer), ..*usage };
    let buffers: Vec<BufferUse> = e.resolver.uses.global.iter().map(aligned).collect();
    let block = e.prologue(addresses, buffers.len() as u32);
    e.decorate_aliases();
    if addresses {
        e.features.insert(Feature::Address);
        e.module.capability(rspirv::spirv::Capability::PhysicalStorageBufferAddresses);
        e.module.extension("SPV_KHR_physical_storage_buffer");
    }
    if e.resolver.grid.subgroup.is_some() {
        e.features.insert(Feature::SubgroupSize);
    }
    let mut code = block.code;
    code.append(e.function.here());
    let name = entry_name([&program.name, variant, &dispatch.name]);
    let entry = Entry { name: &name, local, addresses };
    let matrices = e.needed_products();
    let (spirv, lines) = e.module.finish(entry, &e.function.variables, &code, &program.report.places);
    let requires = Requires {
        features: e.features.iter().copied().collect(),
        invocations: dispatch.local.iter().product(),
        local,
        shared_bytes: e.buffers.shared_bytes,
        subgroup: e.resolver.grid.subgroup,
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
        params: block.params,
        param_bytes: block.bytes,
        constants: block.constants,
        spilled: block.spilled,
    };
    Ok((made, requires, e.resolver.into_limits()))
}

/// Combines the requirements of two dispatches.
fn join(a: Requires, b: Requires) -> Requires {
    let mut features = a.features;
    features.extend(b.features);
    features.sort_unstable();
    features.dedup();
    let mut matrices = a.matrices;
    matrices.extend(b.matrices);
    matrices.sort_unstable();
    matrices.dedup();
    Requires {
        features,
        invocations: a.invocations.max(b.invocations),
        local: std::array::from_fn(|n| a.local[n].max(b.local[n])),
        shared_bytes: a.shared_bytes.max(b.shared_bytes),
        subgroup: a.subgroup.or(b.subgroup),
        matrices,
    }
}

impl Emit<'_> {
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
        if self.buffers.shared_bytes > self.profile.shared_bytes {
            let (wanted, there) = (self.buffers.shared_bytes, self.profile.shared_bytes);
            let message = format!(
                "a workgroup needs {wanted} bytes of shared memory, but the profile `{}` guarantees {there}",
                self.profile.name
            );
            return Err(self.error(message).help("make the tiles in shared memory smaller"));
        }
        Ok(())
    }
}
