//! Checks, once at load, that a launch program is consistent, so that launches can rely on it.

use super::solve::{dims_of, is_known};
use super::strides;
use tilewright_launch::{Addressing, Argument, Condition, Dispatch, ParamValue, Program, Role, Size};

/// Returns the first contradiction in a program as an error.
pub(crate) fn validate(program: &Program) -> Result<(), String> {
    arguments(program)?;
    dims(program)?;
    sizes(program)?;
    program.dispatches.iter().try_for_each(|d| dispatch(program, d).map_err(|e| format!("dispatch `{}`: {e}", d.name)))
}

/// Returns the error `what` unless `holds`.
fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// Checks that the arguments name all inputs, updates and scalars, each once and in order, and dims at most once; and that inputs
/// and updates are followed by outputs, and these by temporaries.
fn arguments(program: &Program) -> Result<(), String> {
    let (mut tensors, mut scalars, mut sizes) = (0, 0, vec![false; program.dims.len()]);
    for argument in &program.arguments {
        let (next, got) = match argument {
            Argument::Dim(d) => {
                let symbolic = program.dims.get(*d as usize).is_some_and(|d| d.derived.is_none());
                let first = sizes.get_mut(*d as usize).is_some_and(|seen| !std::mem::replace(seen, true));
                ensure(symbolic && first, || format!("dim {d} cannot be an argument: it is derived, given twice, or missing"))?;
                continue;
            }
            Argument::Tensor(t) => (&mut tensors, *t),
            Argument::Scalar(s) => (&mut scalars, *s),
        };
        ensure(got == *next, || format!("{argument:?} is out of order"))?;
        *next += 1;
    }
    ensure(scalars as usize == program.scalars.len(), || "the arguments do not name all scalars".to_owned())?;
    let rank = |role| match role {
        Role::Input | Role::Update => 0,
        Role::Output => 1,
        Role::Prepared => 2,
        Role::Temporary => 3,
    };
    let digit = |t: &tilewright_launch::Tensor, d: &tilewright_launch::Digit| {
        (d.axis as usize) < t.shape.len() && d.divide > 0 && d.modulo != Some(0)
    };
    let askew = program.tensors.iter().find(|t| t.layout.as_ref().is_some_and(|l| !l.0.iter().all(|d| digit(t, d))));
    ensure(askew.is_none(), || format!("the layout of `{}` does not fit its shape", askew.map_or("?", |t| &t.name)))?;
    let given = program.tensors.iter().take_while(|t| rank(t.role) == 0).count();
    ensure(tensors as usize == given, || "the arguments do not name all inputs and updates".to_owned())?;
    ensure(program.tensors.is_sorted_by_key(|t| rank(t.role)), || "the tensors are out of order".to_owned())
}

/// Checks that every dim is determined by values that are known before it.
fn dims(program: &Program) -> Result<(), String> {
    let mut known = vec![false; program.dims.len()];
    for argument in &program.arguments {
        if let Argument::Dim(d) = argument
            && let Some(k) = known.get_mut(*d as usize)
        {
            *k = true;
        }
    }
    for tensor in program.tensors.iter().filter(|t| t.strides.is_some()) {
        let outer = !matches!(tensor.role, Role::Temporary | Role::Prepared) && tensor.layout.is_none();
        let axes = tensor.strides.as_ref().map_or(0, Vec::len);
        ensure(outer && axes == tensor.shape.len(), || format!("the strides of `{}` do not fit its shape", tensor.name))?;
        for dim in (0..axes).filter_map(|axis| strides::free(program, tensor, axis)) {
            let first = known.get_mut(dim).is_some_and(|k| !std::mem::replace(k, true));
            ensure(first, || format!("dim {dim} is a stride of `{}`, but is also determined elsewhere", tensor.name))?;
        }
    }
    derive(program, &mut known);
    for s in &program.solve {
        let i = s.dim as usize;
        let symbolic = program.dims.get(i).is_some_and(|d| d.derived.is_none());
        ensure(symbolic && !known.get(i).is_some_and(|k| *k), || {
            format!("dim {i} cannot be solved: it is derived, known already, or missing")
        })?;
        let tensor = program.tensors.get(s.tensor as usize);
        let tensor = tensor.filter(|t| matches!(t.role, Role::Input | Role::Update) && (s.axis as usize) < t.shape.len());
        ensure(tensor.is_some(), || format!("dim {i} is solved from a shape that is not given"))?;
        ensure(is_known(&s.minus, &known) && is_known(&s.divide, &known), || {
            format!("dim {i} is solved before the dims that it needs")
        })?;
        if let Some(k) = known.get_mut(i) {
            *k = true;
        }
        derive(program, &mut known);
    }
    match known.iter().position(|k| !k) {
        None => Ok(()),
        Some(i) => Err(format!("dim {i} is never determined")),
    }
}

/// Marks the derived dims whose operands are known.
fn derive(program: &Program, known: &mut [bool]) {
    for (i, dim) in program.dims.iter().enumerate() {
        let derivable = dim.derived.as_ref().is_some_and(|s| is_known(s, known));
        if let Some(k) = known.get_mut(i).filter(|_| derivable) {
            *k = true;
        }
    }
}

/// Checks that sizes name existing dims, and facts existing scalars.
fn sizes(program: &Program) -> Result<(), String> {
    let shapes = program.tensors.iter().flat_map(|t| t.shape.iter().chain(t.strides.iter().flatten()));
    let limits = program.limits.iter().flat_map(|l| [&l.least, &l.most]);
    shapes.chain(limits).try_for_each(|s| size(program, s))?;
    program.facts.iter().try_for_each(|fact| match &fact.condition {
        Condition::Sizes { left, right, .. } => size(program, left).and_then(|()| size(program, right)),
        Condition::Scalar { scalar, .. } => {
            ensure((*scalar as usize) < program.scalars.len(), || format!("scalar {scalar} does not exist"))
        }
    })
}

fn size(program: &Program, size: &Size) -> Result<(), String> {
    let mut bad = None;
    dims_of(size, &mut |d| bad = bad.or((d as usize >= program.dims.len()).then_some(d)));
    bad.map_or(Ok(()), |d| Err(format!("dim {d} does not exist")))
}

fn dispatch(program: &Program, d: &Dispatch) -> Result<(), String> {
    d.grid.iter().chain(&d.constants).try_for_each(|s| size(program, s))?;
    let magic = d.spirv.first_chunk::<4>().is_some_and(|w| u32::from_le_bytes(*w) == 0x0723_0203);
    ensure(magic && d.spirv.len().is_multiple_of(4) && d.spirv.len() >= 20, || "it is not a SPIR-V module".to_owned())?;
    ensure(d.entry().is_some(), || "its SPIR-V module does not have an entry point".to_owned())?;
    ensure(!d.local.contains(&0), || format!("its local size is {:?}", d.local))?;
    ensure(d.param_bytes.is_multiple_of(4) && d.param_bytes <= 1 << 16, || format!("{} bytes of parameters", d.param_bytes))?;
    for u in &d.buffers {
        ensure((u.tensor as usize) < program.tensors.len(), || format!("tensor {} does not exist", u.tensor))?;
        ensure(u.align.is_power_of_two(), || {
            format!("tensor {} has an alignment of {} bytes, which is not a power of two", u.tensor, u.align)
        })?;
    }
    d.params.iter().try_for_each(|p| {
        let end = u64::from(p.offset) + u64::from(p.value.bytes());
        let aligned = p.offset.is_multiple_of(p.value.bytes());
        ensure(aligned && end <= u64::from(d.param_bytes), || {
            format!("the parameter at offset {} is misaligned or out of bounds", p.offset)
        })?;
        match &p.value {
            ParamValue::Size(s) => size(program, s),
            ParamValue::Scalar(s) => ensure((*s as usize) < program.scalars.len(), || format!("scalar {s} does not exist")),
            ParamValue::GroupBase(axis) => ensure(*axis < 3, || format!("workgroup axis {axis} does not exist")),
            ParamValue::Address(t) => {
                let used = d.addressing == Addressing::Address && d.buffers.iter().any(|b| b.tensor == *t);
                ensure(used, || format!("it takes the address of tensor {t}, but does not use it by address"))
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{conv, dim};
    use super::*;
    use tilewright_launch::Dim;

    #[track_caller]
    fn refused(reason: &str, change: impl FnOnce(&mut Program)) {
        let mut program = conv();
        change(&mut program);
        assert_eq!(validate(&program), Err(reason.to_owned()));
    }

    #[test]
    fn a_good_program_passes() {
        assert_eq!(validate(&conv()), Ok(()));
    }

    #[test]
    fn contradictions_are_found() {
        refused("the tensors are out of order", |p| {
            let temporary = tilewright_launch::Tensor { role: Role::Temporary, ..p.tensors[2].clone() };
            p.tensors.insert(2, temporary);
        });
        refused("the arguments do not name all inputs and updates", |p| {
            p.arguments.pop();
        });
        refused("Tensor(1) is out of order", |p| p.arguments.swap(0, 1));
        refused("dim 3 is never determined", |p| {
            p.solve.remove(3);
        });
        refused("dim 0 cannot be solved: it is derived, known already, or missing", |p| p.solve[1].dim = 0);
        refused("dim 0 is solved before the dims that it needs", |p| p.solve[0].minus = dim(1));
        refused("dim 5 is solved from a shape that is not given", |p| p.solve[4].tensor = 2);
        refused("dim 9 cannot be an argument: it is derived, given twice, or missing", |p| p.arguments.push(Argument::Dim(9)));
        refused("dim 4 cannot be an argument: it is derived, given twice, or missing", |p| p.arguments.push(Argument::Dim(4)));
        refused("dim 3 cannot be an argument: it is derived, given twice, or missing", |p| {
            p.arguments.extend([Argument::Dim(3), Argument::Dim(3)]);
        });
        refused("dim 3 cannot be solved: it is derived, known already, or missing", |p| p.arguments.push(Argument::Dim(3)));
        refused("dim 9 does not exist", |p| p.limits[0].most = dim(9));
        refused("the strides of `input` do not fit its shape", |p| p.tensors[0].strides = Some(vec![dim(0)]));
        refused("dim 6 is a stride of `filter`, but is also determined elsewhere", |p| {
            p.dims.push(Dim { name: "input.stride(0)".into(), derived: None });
            p.tensors[0].strides = Some(vec![dim(6), dim(6), dim(2), dim(3)]);
            p.tensors[1].strides = Some(vec![dim(6), dim(2), dim(2), dim(3)]);
        });
    }
}
