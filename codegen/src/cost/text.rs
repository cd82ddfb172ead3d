//! The cost of a variant in the documentation of its constant.

use super::{Cost, Work, brief, cost};
use std::fmt::Write;
use tilewright_dsl::expand::CostText;
use tilewright_dsl::launch::{Program as Launched, Size};
use tilewright_dsl::nest::Program;
use tilewright_dsl::profile::Profile;

/// Returns the cost of a compiled variant as text, for its documentation.
pub fn text(program: &Program, launched: &Launched, profile: &Profile) -> CostText {
    let costs = cost(program, profile);
    CostText { summary: brief(&costs, launched, profile), figures: figures(&costs, launched) }
}

fn figures(costs: &[Cost], launched: &Launched) -> String {
    let mut text = String::new();
    let name = |dim: u32| launched.dims.get(dim as usize).map_or_else(|| "?".into(), |d| d.name.clone());
    let shown = |size: &Size| factor(size.display(&name).to_string());
    let _ = writeln!(text, "\ncost:");
    for (cost, dispatch) in costs.iter().zip(&launched.dispatches) {
        let (grid, local) = (cost.grid.each_ref().map(&shown).join(" x "), cost.local.map(|n| n.to_string()).join(" x "));
        let _ = writeln!(text, "  {}: {grid} workgroups of {local} invocations", cost.name);
        let _ = writeln!(text, "    {} bytes of SPIR-V, {} of parameters", dispatch.spirv.len(), dispatch.param_bytes);
        let at_most = if cost.at_most { ", at most" } else { "" };
        let _ = writeln!(text, "    a workgroup{at_most}: {}", work(&cost.each, &shown));
        for tensor in &cost.tensors {
            let moved = [(&tensor.read, "reads"), (&tensor.written, "writes")];
            let moved = moved.iter().filter(|(size, _)| **size != Size::Const(0));
            let moved: Vec<String> = moved.map(|(size, word)| format!("{word} {} bytes", shown(size))).collect();
            let _ = writeln!(text, "      {}: {} (of {})", tensor.name, moved.join(", "), shown(&tensor.whole));
        }
    }
    let requires = &launched.requires;
    let _ = writeln!(text, "  {} bytes of shared memory at most", requires.shared_bytes);
    let features: Vec<&str> = requires.features.iter().map(|f| f.name()).collect();
    let features = if features.is_empty() { "no features".into() } else { features.join(", ") };
    let _ = writeln!(text, "  requires {features}");
    text
}

/// Returns the arithmetic and the shared-memory traffic of a workgroup.
fn work(work: &Work, shown: &dyn Fn(&Size) -> String) -> String {
    let mut text = format!("{} flops", shown(&work.flops));
    let rest = [
        (&work.matrix_flops, "on matrix units"),
        (&work.functions, "functions"),
        (&work.shared_read, "bytes read from shared memory"),
        (&work.shared_written, "bytes written to it"),
    ];
    for (size, what) in rest.into_iter().filter(|(size, _)| **size != Size::Const(0)) {
        let _ = write!(text, ", {} {what}", shown(size));
    }
    text
}

/// Adds parentheses to text of more than one word.
fn factor(text: String) -> String {
    if text.contains(' ') { format!("({text})") } else { text }
}
