//! Versions of a variant. Each is the same variant compiled under additional facts, and a launch prefers it if they hold.

use crate::{Dispatch, Fact, Limit, Program, Requires, Role, Tensor};
use serde::{Deserialize, Serialize};

/// A variant under additional facts. It shares the variant's arguments, outputs, dims, and the way to solve them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// The facts that it adds, as the user wrote them.
    pub under: String,
    /// All facts that must hold before this version is taken, including the variant's.
    pub facts: Vec<Fact>,
    /// The temporaries, which follow the arguments and outputs in [`Program::tensors`].
    pub temporaries: Vec<Tensor>,
    /// As [`Program::limits`].
    pub limits: Vec<Limit>,
    /// The dispatches, in order.
    pub dispatches: Vec<VersionDispatch>,
    /// As [`Program::requires`].
    pub requires: Requires,
}

/// A dispatch of a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VersionDispatch {
    /// The variant's dispatch at this index, so that an unchanged dispatch is stored once.
    Same(u32),
    /// Its own.
    Own(Box<Dispatch>),
}

impl Version {
    /// Returns the parts of a specialized program that differ from the variant's.
    pub fn of(variant: &Program, specialized: Program, under: String) -> Version {
        let same = |d: &Dispatch| variant.dispatches.iter().position(|v| v == d);
        let dispatch = |d: Dispatch| match same(&d) {
            Some(at) => VersionDispatch::Same(at as u32),
            None => VersionDispatch::Own(d.into()),
        };
        Version {
            under,
            facts: specialized.facts,
            temporaries: specialized.tensors.into_iter().filter(|t| t.role == Role::Temporary).collect(),
            limits: specialized.limits,
            dispatches: specialized.dispatches.into_iter().map(dispatch).collect(),
            requires: specialized.requires,
        }
    }
}

impl Program {
    /// Returns the versions of a variant as separate programs, in order of preference. The last one is the variant without additional
    /// facts. A version is named `NAME where K % 4 == 0`.
    ///
    /// # Errors
    /// Returns an error if a version names a dispatch that does not exist, or names one twice.
    pub fn into_versions(mut self) -> Result<Vec<Program>, String> {
        let versions = std::mem::take(&mut self.specialized);
        let mut all: Vec<Program> = versions.into_iter().map(|version| self.version(version)).collect::<Result<_, _>>()?;
        all.push(self);
        Ok(all)
    }

    fn version(&self, version: Version) -> Result<Program, String> {
        let mut named = vec![false; self.dispatches.len()];
        let mut dispatch = |d: VersionDispatch| match d {
            VersionDispatch::Own(dispatch) => Ok(*dispatch),
            VersionDispatch::Same(at) => match (self.dispatches.get(at as usize), named.get_mut(at as usize)) {
                // A second reference copies the dispatch, so a few encoded bytes could fill all memory.
                (Some(_), Some(true)) => Err(format!("a version names dispatch {at} twice")),
                (Some(dispatch), Some(named)) => {
                    *named = true;
                    Ok(dispatch.clone())
                }
                _ => Err(format!("a version names dispatch {at}, which does not exist")),
            },
        };
        let shared = self.tensors.iter().filter(|t| t.role != Role::Temporary).cloned();
        Ok(Program {
            kernel: self.kernel.clone(),
            variant: format!("{} where {}", self.variant, version.under),
            profile: self.profile.clone(),
            arguments: self.arguments.clone(),
            tensors: shared.chain(version.temporaries).collect(),
            scalars: self.scalars.clone(),
            dims: self.dims.clone(),
            parameters: self.parameters.clone(),
            solve: self.solve.clone(),
            facts: version.facts,
            limits: version.limits,
            dispatches: version.dispatches.into_iter().map(&mut dispatch).collect::<Result<_, _>>()?,
            requires: version.requires,
            specialized: Vec::new(),
            conversions: Vec::new(),
            preparations: self.preparations.clone(),
        })
    }
}
