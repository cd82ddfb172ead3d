//! Replaces headers of several members, `down[..]` and `down[2..5]`, by the members' names, which only the kernel tells.

use super::{member_name, parts};
use crate::diag::{Error, Errors, did_you_mean, list};
use crate::syntax::kernel::{Kernel, Statement};
use crate::syntax::schedule::{DirectiveKind, Item, Schedule, StatementKind, apart};
use crate::syntax::{Name, limits};
use std::collections::BTreeMap;

/// The numbers of each family's members.
struct Families<'k>(BTreeMap<&'k str, Vec<i64>>);

/// True if a name stands for several members.
pub(crate) fn is_selection(name: &Name) -> bool {
    name.text.contains("..")
}

impl Schedule {
    /// Returns a copy of the schedule with the names of a kernel's members in place of `down[..]` and `down[2..5]`.
    ///
    /// # Errors
    /// Reports unknown families, and numbers that no member has.
    pub fn of_members(&self, kernel: &Kernel) -> Result<Schedule, Errors> {
        let mut schedule = self.clone();
        let families = Families::of(kernel);
        let mut errors = Errors::new();
        for list in schedule.items.iter_mut().flat_map(lists) {
            *list = list.iter().flat_map(|name| errors.keep(families.members(name)).unwrap_or_default()).collect();
        }
        schedule.items = apart(schedule.items);
        errors.extend(limits::schedule(&schedule).map(Errors::from).unwrap_or_default());
        errors.into_result().map(|()| schedule)
    }
}

/// Returns the lists of stages in an item.
fn lists(item: &mut Item) -> Vec<&mut Vec<Name>> {
    fn of(kind: &mut DirectiveKind) -> Option<&mut Vec<Name>> {
        match kind {
            DirectiveKind::Inline(names) | DirectiveKind::Root(names) => Some(names),
            _ => None,
        }
    }
    match item {
        Item::Directive(directive) => of(&mut directive.kind).into_iter().collect(),
        Item::Statement(statement) => match &mut statement.kind {
            StatementKind::Precompute(names) => vec![names],
            _ => Vec::new(),
        },
        Item::Block { stages, directives } => {
            [stages].into_iter().chain(directives.iter_mut().filter_map(|directive| of(&mut directive.kind))).collect()
        }
    }
}

impl Families<'_> {
    fn of(kernel: &Kernel) -> Families<'_> {
        let mut found: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
        for statement in &kernel.statements {
            if let Statement::Define(define) = statement
                && let Some((family, number)) = parts(&define.name.text)
            {
                found.entry(family).or_default().push(number);
            }
        }
        Families(found)
    }

    /// Refuses the name of a family, and a number that none of its members has.
    fn one(&self, name: &Name) -> Option<Error> {
        let family = parts(&name.text).map_or(name.as_str(), |(family, _)| family);
        let numbers = self.0.get(family)?;
        match parts(&name.text) {
            None => {
                let error = Error::new(name.span, format!("`{name}` is a family of stages"));
                Some(
                    error
                        .help(format!("name a member, `{}`, or all of them, `{name}[..]`", member_name(family, *numbers.first()?))),
                )
            }
            Some((_, number)) if !numbers.contains(&number) => {
                let error = Error::new(name.span, format!("`{family}` does not have the member {number}"));
                Some(error.help(format!("its members are {}", list(numbers.iter().map(|n| member_name(family, *n))))))
            }
            Some(_) => None,
        }
    }

    /// Returns the members that a name stands for. A name of one stage stands for itself.
    fn members(&self, name: &Name) -> Result<Vec<Name>, Error> {
        let selected = name.text.strip_suffix(']').and_then(|text| text.split_once('['));
        let Some((family, (low, high))) = selected.and_then(|(family, numbers)| Some((family, numbers.split_once("..")?))) else {
            return self.one(name).map_or(Ok(vec![name.clone()]), Err);
        };
        let Some(numbers) = self.0.get(family) else {
            let known = || self.0.keys().copied();
            let error = Error::new(name.span, format!("`{family}` is not a family of stages"));
            let all = if self.0.is_empty() { "this kernel has none".into() } else { format!("the families are {}", list(known())) };
            return Err(error.help(did_you_mean(family, known()).unwrap_or(all)));
        };
        let (first, last) = (numbers.iter().min().copied().unwrap_or(0), numbers.iter().max().copied().unwrap_or(-1));
        let (low, high) = (low.parse().unwrap_or(first), high.parse().unwrap_or(last + 1));
        let chosen = numbers.iter().filter(|number| (low..high).contains(*number));
        let chosen: Vec<Name> = chosen.map(|n| Name { text: member_name(family, *n), span: name.span }).collect();
        if low < first || high > last + 1 || chosen.is_empty() {
            let error = Error::new(name.span, format!("`{family}` does not have all members from {low} to {}", high - 1));
            return Err(error.help(format!("it has the members {first} to {last}")));
        }
        Ok(chosen)
    }
}
