//! The cost of every dispatch, and the ledger.

use super::at;
use super::html::{Element, element, sentence, text};
use super::summary::named;
use crate::report::{ReportedDispatch, ReportedVersion};
use crate::text::{equals, factor, number, time};

/// The most dispatches whose figures are open at first.
const OPEN: usize = 4;

/// Returns the figures of every dispatch.
pub(super) fn dispatches(version: &ReportedVersion) -> Vec<Element> {
    let is_open = version.dispatches.len() <= OPEN;
    let part = |d: &ReportedDispatch| {
        let part = element("details").attribute("class", "figures");
        let part = if is_open { part.flag("open") } else { part };
        part.with(element("summary").with(text(&d.name))).with(dispatch(d))
    };
    version.dispatches.iter().map(part).collect()
}

/// Returns the ledger.
pub(super) fn ledger(version: &ReportedVersion) -> Element {
    const STATES: [(&str, &str, &str); 5] = [
        ("assumed", "bad", "assumed"),
        ("checked_at_launch", "fair", "checked at launch"),
        ("guarded", "fair", "guarded"),
        ("proved", "good", "proved"),
        ("stated", "plain", "stated"),
    ];
    let rows = STATES.iter().flat_map(|(state, class, shown)| {
        version.ledger.iter().filter(move |entry| entry.state == *state).map(move |entry| {
            let head = element("th").attribute("class", *class).with(text(shown));
            at(element("tr"), entry.place.as_deref()).with(head).with(element("td").all(sentence(&entry.what)))
        })
    });
    element("table").all(rows)
}

fn dispatch(d: &ReportedDispatch) -> Element {
    let count = |n: Option<i64>| number(n, "");
    let local = d.local.map(|n| n.to_string()).join(" x ");
    let tensors = d.tensors.iter().map(|t| {
        let moved = format!("{} read, {} written, of {}", number(t.read, "B"), number(t.written, "B"), number(t.whole, "B"));
        (format!("traffic of {}", t.name), moved)
    });
    let roofline = d.roofline.as_ref().map_or_else(
        || "unknown: the profile does not say how fast its device is, or dims are missing".to_owned(),
        |r| format!("{} at the least, bound by {}", time(r.nanoseconds), r.bound.replace('_', " ")),
    );
    let estimate = d.estimate.as_ref().map_or_else(
        || "unknown, like the roofline".to_owned(),
        |e| {
            let resource = |(name, nanoseconds): (&&str, &f64)| format!("{} of {}", time(*nanoseconds), named(name));
            let resources = e.resources.iter().map(resource).collect::<Vec<_>>().join(", ");
            let (all, bound, busy) = (time(e.nanoseconds), named(e.bound), e.busy * 100.0);
            format!("{all}, bound by {bound}: {resources} if all of the device is busy; {busy:.0} % is")
        },
    );
    let held = &d.registers;
    let occupancy = d
        .occupancy
        .as_ref()
        .map(|o| ("workgroups on a core".to_owned(), format!("{}, limited by {}", o.workgroups, o.limit.replace('_', " "))));
    let conflicts = d.accesses.iter().filter(|a| a.turns.is_some_and(|turns| turns > 1)).map(|a| {
        let verb = if a.write { "written" } else { "read" };
        ("bank conflicts".to_owned(), format!("{} is {verb} in {} turns", a.buffer, a.turns.unwrap_or(1)))
    });
    let rows = [
        (
            "workgroups".to_owned(),
            format!("{}{}, of {local} invocations", d.grid.clone().map(factor).join(" x "), equals(d.workgroups)),
        ),
        ("flops".to_owned(), format!("{}, and {} on matrix units", count(d.flops), count(d.matrix_flops))),
    ];
    let rows = rows.into_iter().chain(tensors).chain([
        ("each tensor once".to_owned(), number(d.compulsory, "B")),
        (
            "shared memory".to_owned(),
            format!("{} bytes a workgroup, {} moved in all", d.shared_bytes, number(d.shared_traffic, "B")),
        ),
        (
            "registers".to_owned(),
            format!("{} of variables, {} of accumulators, {} of operands", held.variables, held.accumulators, held.operands),
        ),
    ]);
    let rows = rows.chain(occupancy).chain(conflicts).chain([
        ("roofline".to_owned(), roofline),
        ("estimate".to_owned(), estimate),
        ("guards and barriers".to_owned(), format!("{} guarded leaves, {} barriers", d.guards, d.barriers)),
        (
            "SPIR-V".to_owned(),
            format!(
                "{} bytes, {} instructions, {} loops; accesses of memory {} wide, {} scalar; of shared {} wide, {} scalar",
                d.spirv_bytes,
                d.spirv.instructions,
                d.spirv.loops,
                d.spirv.wide,
                d.spirv.scalar,
                d.spirv.shared_wide,
                d.spirv.shared_scalar
            ),
        ),
    ]);
    let row =
        |(what, said): (String, String)| element("tr").with(element("th").with(text(&what))).with(element("td").with(text(&said)));
    element("table").all(rows.map(row))
}
