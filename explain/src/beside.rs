//! A comparison as plain data, for other programs.

use crate::compare::{Comparison, Sized};
use crate::report::{Launch, SCHEMA, launch};
use serde::Serialize;
use std::collections::BTreeMap;

/// Schedules of one kernel, compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct ComparisonReport {
    pub schema: u32,
    pub kernel: String,
    pub sizes: Vec<SizedReport>,
}

/// The costs of the schedules at some sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct SizedReport {
    pub dims: BTreeMap<String, i64>,
    pub schedules: Vec<TakenReport>,
}

/// A schedule at some sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "docs/explain.md documents the fields")]
pub struct TakenReport {
    pub schedule: String,
    pub profile: String,
    pub facts: Option<String>,
    pub launch: Option<Launch>,
    pub nanoseconds: BTreeMap<String, Option<f64>>,
    pub refused: Option<String>,
}

impl ComparisonReport {
    /// Returns a comparison as plain data.
    pub fn new(comparison: &Comparison) -> ComparisonReport {
        let sizes = comparison.at.iter().map(|sized| at(comparison, sized)).collect();
        ComparisonReport { schema: SCHEMA, kernel: comparison.kernel.clone(), sizes }
    }
}

fn at(comparison: &Comparison, sized: &Sized) -> SizedReport {
    let schedules = comparison.schedules.iter().zip(&sized.costs).map(|(schedule, cost)| {
        let (taken, refused) = match cost {
            Ok(taken) => (Some(taken), None),
            Err(why) => (None, Some(why.clone())),
        };
        let own = taken.map(|taken| (schedule.profile.name.clone(), taken.totals.nanoseconds));
        let judged =
            taken.into_iter().flat_map(|t| comparison.profiles.iter().map(|p| p.name.clone()).zip(t.judged.iter().copied()));
        TakenReport {
            schedule: schedule.name.clone(),
            profile: schedule.profile.name.clone(),
            facts: taken.and_then(|taken| taken.under.clone()),
            launch: taken.map(|taken| launch(&taken.totals)),
            nanoseconds: own.into_iter().chain(judged).collect(),
            refused,
        }
    });
    SizedReport { dims: sized.dims.iter().cloned().collect(), schedules: schedules.collect() }
}
