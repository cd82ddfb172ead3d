//! Prints the results of tuning.

use super::Outcome;
use super::race::Duel;
use crate::output::{self, coloured, heading};
use anstyle::AnsiColor::{Green, Red, Yellow};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tilewright_dsl::schedule::tune::Choice;

/// The most rows of a table.
const ROWS: usize = 12;

/// Returns a time with its unit.
pub(crate) fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.2} µs", ns / 1e3),
        ns if ns < 1e9 => format!("{:.3} ms", ns / 1e6),
        ns => format!("{:.3} s", ns / 1e9),
    }
}

impl Outcome {
    /// Returns the text for people.
    pub(super) fn shown(&self) -> String {
        let space = &self.space;
        let several = self.devices.len() > 1;
        let number = |n: usize| if several { format!("{}: ", n + 1) } else { String::new() };
        let devices = self.devices.iter().enumerate().map(|(n, [device, driver])| format!("{}{device} ({driver})", number(n)));
        let devices = devices.collect::<Vec<_>>().join(", ");
        let mut text = format!("{} on {devices}\n", heading(format_args!("{}: {}", self.schedule, self.kernel)));
        let places = (0..self.devices.len()).flat_map(|n| self.sizes.iter().map(move |sizes| format!("{}{sizes}", number(n))));
        let sizes: Vec<String> = places.collect();
        let refused = if space.refused.is_empty() { String::new() } else { format!(", {} refused", space.refused.len()) };
        text += &format!("{} choices, {} candidates{refused}\n\n", space.count, self.rows.len());
        let mut heads = vec!["", "choice"];
        heads.extend(sizes.iter().map(String::as_str));
        heads.extend(["of the best", ""]);
        let rows = self.rows.iter().take(ROWS).map(|row| {
            let mark = if row.is_best {
                "best"
            } else if row.is_default {
                "default"
            } else {
                ""
            };
            let mut cells = vec![mark.to_owned(), row.choices[0].to_string()];
            match &row.medians {
                Some(medians) => cells.extend(medians.iter().map(|ns| time(*ns))),
                None => cells.extend(sizes.iter().map(|_| "-".to_owned())),
            }
            cells.push(row.score.map_or("-".to_owned(), |score| format!("{score:.2}")));
            let same = if row.choices.len() > 1 { format!("the module of {} choices", row.choices.len()) } else { String::new() };
            let cached = if row.cached { "measured before".to_owned() } else { String::new() };
            let notes = [row.out.clone().unwrap_or_default(), cached, same];
            cells.push(notes.into_iter().filter(|note| !note.is_empty()).collect::<Vec<_>>().join("; "));
            cells
        });
        let right: Vec<usize> = (2..3 + sizes.len()).collect();
        if !self.rows.is_empty() {
            text += &output::table(&heads, rows.collect(), &right);
        }
        if self.rows.len() > ROWS {
            text += &format!("… and {} more (`--json` has all)\n", self.rows.len() - ROWS);
        }
        text + &self.refused() + &self.verdict()
    }

    /// Returns a table of the refused choices, by reason.
    fn refused(&self) -> String {
        let mut reasons: BTreeMap<(&str, &str), Vec<&Choice>> = BTreeMap::new();
        for refused in &self.space.refused {
            let first = refused.why.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            reasons.entry((refused.stage.name(), first.trim())).or_default().push(&refused.choice);
        }
        if reasons.is_empty() {
            return String::new();
        }
        let mut reasons: Vec<_> = reasons.into_iter().collect();
        reasons.sort_by_key(|(_, choices)| std::cmp::Reverse(choices.len()));
        let row = |((stage, why), choices): &((&str, &str), Vec<&Choice>)| {
            vec![choices.len().to_string(), (*stage).to_owned(), format!("{why}; first {}", choices[0])]
        };
        let mut text = format!("\n{}\n", heading("refused"));
        text += &output::table(&["count", "at", "why"], reasons.iter().take(ROWS).map(row).collect(), &[0]);
        if reasons.len() > ROWS {
            text += &format!("… and {} more reasons (`--json` has all)\n", reasons.len() - ROWS);
        }
        text
    }

    fn verdict(&self) -> String {
        let wrong = self.space.wrong();
        let mut text = String::from("\n");
        if wrong > 0 {
            text += &format!(
                "{}: {wrong} choices give wrong results: a defect of the compiler or the driver\n",
                coloured(Red, "wrong")
            );
        }
        let Some(chosen) = &self.chosen else {
            let is_measured = self.rows.iter().any(|row| row.score.is_some());
            let what = if is_measured { "no choice was made, because tuning did not finish" } else { "no choice was measured" };
            return text + &coloured(Red, what) + "\n";
        };
        let default = &self.space.default;
        text += &match self.duel {
            Some(duel) if *chosen == *default => {
                format!(
                    "{} stays the default: {} took {} of its time in alternating runs\n",
                    coloured(Yellow, default),
                    self.rival(),
                    duel.shown()
                )
            }
            Some(duel) => format!("{} takes {} of the time of {default}\n", coloured(Green, chosen), duel.shown()),
            None if *chosen == *default => format!("{} stays the default: it is the best\n", coloured(Green, chosen)),
            None => format!("{} is the best; the default {default} was not measured\n", coloured(Green, chosen)),
        };
        text
    }

    /// Returns the best choice, which was compared with the default.
    fn rival(&self) -> String {
        self.rows.iter().find(|row| row.is_best).map_or_else(String::new, |row| row.choices[0].to_string())
    }

    /// Returns the results for programs.
    pub(super) fn json(&self) -> Value {
        let values = |choice: &Choice| choice.0.iter().cloned().collect::<BTreeMap<String, i64>>();
        let candidates = self.rows.iter().map(|row| {
            json!({
                "choices": row.choices.iter().map(values).collect::<Vec<_>>(),
                "module": row.module,
                "default": row.is_default,
                "best": row.is_best,
                "median_ns": row.medians,
                "of_the_best": row.score,
                "measured_before": row.cached,
                "out": row.out,
            })
        });
        let refused = self.space.refused.iter().map(|r| json!({ "choice": values(&r.choice), "at": r.stage.name(), "why": r.why }));
        json!({
            "schedule": self.schedule,
            "kernel": self.kernel,
            "profile": self.profile,
            "devices": self.devices.iter().map(|[device, driver]| json!({ "device": device, "driver": driver })).collect::<Vec<_>>(),
            "sizes": self.sizes.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "choices": self.space.count,
            "default": values(&self.space.default),
            "chosen": self.chosen.as_ref().map(values),
            "against_default": self.duel.map(|d| json!({ "ratio": d.ratio, "won": d.won, "pairs": d.pairs })),
            "candidates": candidates.collect::<Vec<_>>(),
            "refused": refused.collect::<Vec<_>>(),
        })
    }
}

impl Duel {
    fn shown(self) -> String {
        format!("{:.1} % (faster in {} of {} pairs)", self.ratio * 100.0, self.won, self.pairs)
    }
}
