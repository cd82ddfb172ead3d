//! The planner: it writes directives for the stages that a schedule does not mention.
//!
//! It runs between the rewrites of the algebra and the first nest. It decides from the form of a stage (`form.rs`), the facts and
//! the profile, never from names. A plan is text in the language of schedules. The parser of schedules reads it and the same code
//! applies it, so a plan can be printed, pasted and edited, and every proof is the one that a user's directive needs.
//!
//! Sizes are not known when a kernel is compiled. So a plan has several versions: `regimes` lists facts under which another plan
//! is better, and the planner runs again under these facts. A launch takes the first version whose facts hold.

mod attention;
mod draft;
mod form;
mod idle;
mod machine;
mod number;
mod pointwise;
mod product;
mod reductions;
mod roots;
mod rows;
mod scattered;
mod sparse;
mod stencils;
mod tiles;
mod vectors;
mod windows;

pub use draft::{Block, Line, Plan};
pub use number::Constant;

use crate::algorithm::inline::inline_those;
use crate::diag::Errors;
use crate::nest::{Program, StageId, build};
use crate::profile::Profile;
use crate::schedule::algebra::pack::Rewritten;
use crate::schedule::default::is_default;
use crate::schedule::resolve::ResolvedSchedule;
use crate::syntax::schedule::{Item, Schedule, planned_facts};
use draft::Draft;
use form::Nest;
use machine::Machine;
use stencils::{Choice, Chosen, Stages};

/// The drafts for the stages of a program that a schedule does not mention.
#[derive(Debug, Default)]
pub(crate) struct Drafts {
    /// Intermediates that are stored although they are pointwise.
    roots: Vec<Line>,
    /// For each stage its name, or `None` for the only result, and its plans, the best first.
    stages: Vec<(Option<String>, Vec<Draft>)>,
    /// True if a plan is for several stages: statistics of rows, windows or sparse reductions, and the stage that uses them.
    grouped: bool,
}

impl Drafts {
    /// True if the schedule mentions all stages, or no rule plans the others.
    pub(crate) fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }

    /// True if a choice leaves a stage without a plan, and the stages of a group can be planned one by one.
    pub(crate) fn lacks(&self, chosen: &[Option<usize>]) -> bool {
        self.grouped && chosen.contains(&None)
    }

    /// Returns the choice of the best draft of each stage.
    pub(crate) fn first(&self) -> Vec<Option<usize>> {
        vec![Some(0); self.stages.len()]
    }

    /// Returns the choice of the best draft of each stage that `compiles` if no other stage is planned.
    pub(crate) fn chosen(&self, compiles: &dyn Fn(&[Option<usize>]) -> bool) -> Vec<Option<usize>> {
        let alone = |stage: usize, n: usize| {
            let mut only = vec![None; self.stages.len()];
            only[stage] = Some(n);
            compiles(&only)
        };
        let best = |(stage, (_, drafts)): (usize, &(_, Vec<Draft>))| (0..drafts.len()).find(|n| alone(stage, *n));
        self.stages.iter().enumerate().map(best).collect()
    }

    /// Returns the plan with the chosen draft of each stage.
    pub(crate) fn plan(&self, chosen: &[Option<usize>]) -> Plan {
        let roots = Block { stage: None, lines: self.roots.clone() };
        let mut plan = Plan { blocks: if roots.lines.is_empty() { Vec::new() } else { vec![roots] }, ..Plan::default() };
        for ((stage, drafts), chosen) in self.stages.iter().zip(chosen) {
            if let Some(draft) = chosen.and_then(|n| drafts.get(n)) {
                draft.clone().add_to(&mut plan, stage.clone());
            }
        }
        plan
    }
}

/// Adds a plan's directives to a schedule. They replace a stage's `default`, if it has one.
///
/// # Errors
/// The plan is not valid, which is a defect of the planner.
pub(crate) fn added(schedule: &Schedule, plan: &Plan) -> Result<Schedule, Errors> {
    let mut schedule = schedule.clone();
    let mut rest = Vec::new();
    for block in &plan.blocks {
        let items = block.items(schedule.name.span)?;
        let places = |item: &Item| matches!(item, Item::Directive(directive) if directive.kind.is_placement());
        match items.iter().all(places) {
            true => rest.extend(items),
            false => rest.extend(placed_at_default(&mut schedule.items, block.stage.as_deref(), items)),
        }
    }
    // Statements come first, and `show` shows a planned nest.
    let at = schedule.items.iter().rposition(|item| matches!(item, Item::Statement(_))).map_or(0, |last| last + 1);
    schedule.items.splice(at..at, rest);
    Ok(schedule)
}

/// Replaces the `default` of a stage by directives. Returns the directives if the stage has none.
fn placed_at_default(items: &mut Vec<Item>, stage: Option<&str>, planned: Vec<Item>) -> Vec<Item> {
    let Some(at) = items.iter().position(|item| has_default(item, stage)) else { return planned };
    let Item::Block { stages, directives } = &items[at] else {
        items.splice(at..=at, planned);
        return Vec::new();
    };
    // The stages of a block have plans of their own.
    let (own, others): (Vec<_>, Vec<_>) = stages.iter().cloned().partition(|name| Some(name.as_str()) == stage);
    let lines = planned.into_iter().flat_map(|item| match item {
        Item::Block { directives, .. } => directives,
        _ => Vec::new(),
    });
    let mut all = directives.clone();
    if let Some(place) = all.iter().position(is_default) {
        all.splice(place..=place, lines);
    }
    let others = (!others.is_empty()).then(|| Item::Block { stages: others, directives: directives.clone() });
    items.splice(at..=at, [Item::Block { stages: own, directives: all }].into_iter().chain(others));
    Vec::new()
}

/// True if an item is, or contains, the `default` of a stage. `None` is the kernel's only result, outside of blocks.
fn has_default(item: &Item, stage: Option<&str>) -> bool {
    match item {
        Item::Directive(directive) => stage.is_none() && is_default(directive),
        Item::Block { stages, directives } => {
            stages.iter().any(|name| Some(name.as_str()) == stage) && directives.iter().any(is_default)
        }
        Item::Statement(_) => false,
    }
}

/// Returns a schedule under more facts, which are written as after `where`.
///
/// # Errors
/// The facts are not valid, which is a defect of the planner.
pub(crate) fn under(schedule: &Schedule, facts: &str) -> Result<Schedule, Errors> {
    let mut schedule = schedule.clone();
    schedule.facts.extend(planned_facts(facts, schedule.name.span)?);
    Ok(schedule)
}

/// Plans the stages that a schedule does not mention. `program` has stages and no nests. If `grouped`, one plan can be for several stages.
pub(crate) fn drafts(
    program: &Program,
    rewritten: &Rewritten,
    resolved: &ResolvedSchedule,
    profile: &Profile,
    grouped: bool,
) -> Drafts {
    let Prepared { program, roots, chosen } = prepared(program, rewritten, resolved, grouped.then_some((profile, false)));
    let nests = nests(&program, resolved);
    let machine = Machine { profile, program: &program, several: nests.iter().filter(|nest| nest.open).count() > 1 };
    let mut drafts = Drafts::default();
    for (nest, form) in forms(&nests, &chosen, &machine, grouped) {
        drafts.grouped |= !form.members().is_empty();
        let plans = form.plans(nest, &machine);
        if !plans.is_empty() {
            let is_named = program.only_result() != Some(nest.stage) || resolved.has_default_in_block(nest.stage);
            let name = is_named.then(|| nest.name.clone());
            drafts.stages.push((name, plans));
        }
    }
    drafts.roots = roots;
    drafts
}

/// Returns the names of the stages that have a nest and that a schedule does not mention.
pub(crate) fn unmentioned(program: &Program, rewritten: &Rewritten, resolved: &ResolvedSchedule) -> Vec<String> {
    let Prepared { program, .. } = prepared(program, rewritten, resolved, None);
    nests(&program, resolved).into_iter().filter(|nest| nest.open).map(|nest| nest.name).collect()
}

/// Plans a whole program at once, with the statements that rewrite its algebra, the best plan first. `program` is as the header of the
/// schedule leaves it.
pub(crate) fn rewrites(program: &Program, schedule: &Schedule, profile: &Profile) -> Vec<Plan> {
    let open = is_open(schedule).then(|| attention::find(program)).flatten();
    open.map_or_else(Vec::new, |open| open.plans(&Machine { profile, program, several: false }))
}

/// Returns facts, as they are written after `where`, under which another plan is better. The best ones come first.
pub(crate) fn regimes(
    given: &Program,
    rewritten: &Rewritten,
    (schedule, resolved): (&Schedule, &ResolvedSchedule),
    profile: &Profile,
) -> Vec<String> {
    let Prepared { program, chosen, .. } = prepared(given, rewritten, resolved, Some((profile, true)));
    let nests = nests(&program, resolved);
    let machine = Machine { profile, program: &program, several: nests.iter().filter(|nest| nest.open).count() > 1 };
    let forms = forms(&nests, &chosen, &machine, true);
    let Some((nest, form)) = forms.iter().rev().find(|(_, form)| matches!(form.rule, Rule::Product(_))).or(forms.last()) else {
        return Vec::new();
    };
    let mut regimes = match is_open(schedule).then(|| attention::find(given)).flatten() {
        Some(attention) => attention.regimes(&machine),
        None => Vec::new(),
    };
    let whole = regimes.len();
    // The last set has only the wishes of the other stages, so that it does not hide more specific sets. Stencils have their best plan at
    // all long rows, so their other sets stay as general as they are.
    let is_stencil = matches!(form.rule, Rule::Stencil(_));
    let rest = (!is_stencil).then(Vec::new);
    regimes.extend(form.regimes(nest, &machine).into_iter().filter(|facts| !facts.is_empty()).chain(rest));
    // The other stages share the versions of this one, so their own wishes are added.
    let wishes = forms.iter().filter(|(other, _)| other.stage != nest.stage).flat_map(|(nest, form)| form.wishes(nest, &machine));
    for wish in wishes {
        let is_new = |facts: &&mut Vec<String>| !facts.iter().any(|fact| implies(fact, &wish) || excludes(fact, &wish));
        let fits = |facts: &&mut Vec<String>| {
            !is_stencil || multiple(&wish).is_none() || facts.iter().any(|fact| multiple(fact).is_some())
        };
        regimes.iter_mut().skip(whole).filter(is_new).filter(fits).for_each(|facts| facts.push(wish.clone()));
    }
    let mut known: Vec<Vec<String>> = Vec::new();
    regimes.retain(|facts| {
        let mut sorted = facts.clone();
        sorted.sort();
        let is_new = !facts.is_empty() && !known.contains(&sorted);
        known.push(sorted);
        is_new
    });
    regimes.truncate(if profile.subgroup.is_some() { MOST } else { MOST_ANYWHERE });
    regimes.into_iter().map(|facts| facts.join(", ")).collect()
}

/// True if a fact of the planner implies another one of the same form: `C % 8 == 0` implies `C % 4 == 0`.
fn implies(fact: &str, other: &str) -> bool {
    let least = |fact: &str| fact.split_once(" >= ").and_then(|(size, n)| Some((size.to_owned(), n.parse::<i64>().ok()?)));
    let multiples = multiple(fact).zip(multiple(other)).is_some_and(|((a, n), (b, m))| a == b && n % m == 0);
    let larger = least(fact).zip(least(other)).is_some_and(|((a, n), (b, m))| a == b && n >= m);
    fact == other || multiples || larger
}

/// True if two facts of the planner cannot hold at once: `(W + 2) % 4 == 0` excludes `W % 4 == 0`.
fn excludes(fact: &str, other: &str) -> bool {
    let sum = |(size, n): (String, i64)| match size.trim_matches(['(', ')']).split_once(" + ") {
        Some((dim, more)) => Some((dim.to_owned(), more.parse::<i64>().ok()?, n)),
        None => Some((size, 0, n)),
    };
    let sums = multiple(fact).and_then(sum).zip(multiple(other).and_then(sum));
    sums.is_some_and(|((a, more, n), (b, less, m))| a == b && (more - less) % n.min(m) != 0)
}

/// Returns the size and the number of a fact like `C % 8 == 0`.
fn multiple(fact: &str) -> Option<(String, i64)> {
    let (size, by) = fact.split_once(" % ")?;
    Some((size.to_owned(), by.strip_suffix(" == 0")?.parse::<i64>().ok()?))
}

/// The most versions besides the general one for a profile of known devices.
const MOST: usize = 4;

/// The same for a profile of any device, which `DEFAULT` has: every kernel is compiled for it.
const MOST_ANYWHERE: usize = 1;

/// A program as it is planned.
struct Prepared {
    /// The program with naive nests, as the placements of the schedule and of the plan leave it.
    program: Program,
    /// The plan's placements of intermediates that are stored.
    roots: Vec<Line>,
    /// The intermediates that are computed with their readers.
    chosen: Chosen,
}

/// Decides which pointwise intermediates a plan stores. `stencils` has the profile for which others are computed with their readers, and
/// is true if rows of unknown length are assumed to be long.
fn prepared(program: &Program, rewritten: &Rewritten, resolved: &ResolvedSchedule, stencils: Option<(&Profile, bool)>) -> Prepared {
    let inlined = |kept: &[StageId]| {
        let mut program = program.clone();
        let keeps = |stage: StageId| resolved.keeps(stage) || rewritten.stored.contains(&stage) || kept.contains(&stage);
        inline_those(&mut program, &|_, stage| !keeps(stage));
        program
    };
    let chosen = stencils.map_or_else(Chosen::default, |(profile, any_length)| {
        let stages = Stages {
            is_open: &|stage| !resolved.shapes(program, stage),
            is_placed: &|stage| resolved.places(stage) || rewritten.stored.contains(&stage),
            with: &inlined,
        };
        Choice { program, stages, profile, any_length }.chosen()
    });
    let with = |roots: &[(StageId, &'static str)]| {
        let kept: Vec<StageId> = roots.iter().map(|(root, _)| *root).chain(chosen.placed()).collect();
        let mut program = inlined(&kept);
        build::naive(&mut program);
        program
    };
    let mut roots = roots::of(program, resolved, &chosen);
    let mut program = with(&roots);
    // The planner does not change what a stage with directives inlines. If an intermediate is not stored for this reason, that stage reads
    // the intermediates before it, so they are judged again.
    loop {
        let count = roots.len();
        roots.retain(|(stage, _)| !roots::is_read_by(&program, *stage, &|reader| resolved.shapes(&program, reader)));
        if roots.len() == count {
            break;
        }
        program = with(&roots);
    }
    let line = |(stage, why): &(StageId, &'static str)| roots::line(&program.stages[*stage].name, why);
    let roots = roots.iter().filter(|(stage, _)| program.is_planned(*stage)).map(line).collect();
    Prepared { program, roots, chosen }
}

/// Returns the stages that have a nest, producers first. The schedule does not mention the open ones.
fn nests(program: &Program, resolved: &ResolvedSchedule) -> Vec<Nest> {
    let stages = program.plan.iter().filter_map(|dispatch| program.stage_named(&dispatch.name));
    let is_open = |stage: StageId| {
        let is_transform = program.stages[stage].axes.iter().any(|axis| program.notes.rows.contains(axis));
        !is_transform && !resolved.shapes(program, stage)
    };
    stages.map(|stage| Nest { open: is_open(stage), rooted: resolved.places(stage), ..Nest::of(program, stage) }).collect()
}

/// True if a schedule leaves everything to the planner.
fn is_open(schedule: &Schedule) -> bool {
    schedule.items.iter().all(|item| has_default(item, None))
}

/// The rule that plans a stage, and the reductions that the stage computes itself because it reads few of their elements.
struct Form<'n> {
    rule: Rule<'n>,
    sparse: Vec<&'n Nest>,
}

/// A rule with the other stages that its plan is for.
enum Rule<'n> {
    Scattered(scattered::Scattered<'n>),
    Product(product::Product<'n>),
    Rows(rows::Group<'n>),
    Total,
    Columns,
    Points(Vec<windows::Member<'n>>),
    Stencil(&'n stencils::Group),
    Idle(Vec<usize>),
}

/// Assigns a rule to each stage. If `grouped`, statistics of rows, windows and sparse reductions are part of the stage that uses them.
fn forms<'n>(nests: &'n [Nest], chosen: &'n Chosen, machine: &Machine<'_>, grouped: bool) -> Vec<(&'n Nest, Form<'n>)> {
    let mut forms: Vec<(&Nest, Form<'_>)> = Vec::new();
    let mut hosted: Vec<StageId> = Vec::new();
    for nest in nests.iter().rev() {
        if !nest.open || hosted.contains(&nest.stage) {
            continue;
        }
        let form = match chosen.of(nest.stage) {
            Some(group) => Form { rule: Rule::Stencil(group), sparse: Vec::new() },
            None => Form::of(nest, if grouped { nests } else { std::slice::from_ref(nest) }, machine),
        };
        hosted.extend(form.members());
        forms.push((nest, form));
    }
    forms.reverse();
    forms
}

/// Returns the rule for a stage.
fn rule<'n>(nest: &'n Nest, nests: &'n [Nest], machine: &Machine<'_>) -> Rule<'n> {
    let program = machine.program;
    if let Some(scattered) = scattered::of(nest, machine) {
        return Rule::Scattered(scattered);
    }
    if let Some(product) = product::of(nest, program).filter(|_| !rows::is_window(nest)) {
        return Rule::Product(product);
    }
    if let Some(idle) = idle::of(nest) {
        return Rule::Idle(idle);
    }
    if let Some(group) = rows::group(nest, nests).filter(|_| !nest.parallel.is_empty()) {
        return Rule::Rows(group);
    }
    match nest.monoid {
        Some(_) if rows::is_window(nest) || rows::is_sliding(nest) => Rule::Points(windows::members(nest, nests)),
        Some(_) if nest.parallel.is_empty() => Rule::Total,
        Some(_) => Rule::Columns,
        None => Rule::Points(windows::members(nest, nests)),
    }
}

impl<'n> Form<'n> {
    fn of(nest: &'n Nest, nests: &'n [Nest], machine: &Machine<'_>) -> Form<'n> {
        let rule = rule(nest, nests, machine);
        let mut form = Form { rule, sparse: Vec::new() };
        if form.place(machine).is_some() {
            let taken = form.members();
            form.sparse = sparse::members(nest, nests, machine);
            form.sparse.retain(|member| !taken.contains(&member.stage));
        }
        form
    }

    /// Returns the place of sparse reductions: a loop over one element of the stage. `None` if the plan has no such loop.
    fn place(&self, machine: &Machine<'_>) -> Option<&'n str> {
        match &self.rule {
            Rule::Rows(group) => group.host.monoid.is_some().then(|| rows::place(group, machine)),
            Rule::Total => Some("workgroup"),
            Rule::Columns | Rule::Points(_) => Some("thread"),
            Rule::Product(_) | Rule::Scattered(_) | Rule::Stencil(_) | Rule::Idle(_) => None,
        }
    }

    /// Returns the stages that are computed in the dispatch of this one.
    fn members(&self) -> Vec<StageId> {
        let sparse = self.sparse.iter().map(|member| member.stage);
        match &self.rule {
            Rule::Rows(group) => group.members.iter().map(|member| member.stage).chain(sparse).collect(),
            Rule::Points(members) => members.iter().map(|member| member.nest.stage).chain(sparse).collect(),
            Rule::Stencil(group) => group.members.clone(),
            Rule::Product(_) | Rule::Scattered(_) | Rule::Total | Rule::Columns | Rule::Idle(_) => sparse.collect(),
        }
    }

    /// Writes the plans of a stage, the best first.
    fn plans(&self, nest: &Nest, machine: &Machine<'_>) -> Vec<Draft> {
        let mut own: Vec<Draft> = match &self.rule {
            Rule::Scattered(scattered) => scattered.plans(machine),
            Rule::Product(_) => {
                product::of(nest, machine.program).map_or_else(Vec::new, |product| product::plans(product, machine))
            }
            Rule::Rows(group) => rows::plan(group, machine).into_iter().collect(),
            Rule::Total => reductions::total(nest, machine).into_iter().collect(),
            Rule::Columns => reductions::columns(nest, machine).into_iter().collect(),
            Rule::Stencil(group) => group.plans(nest, machine),
            Rule::Idle(idle) => vec![idle::plan(nest, idle, machine)],
            Rule::Points(_) => Vec::new(),
        };
        if let Some(place) = self.place(machine) {
            own.iter_mut().for_each(|draft| sparse::place(&self.sparse, place, draft));
        }
        // Independent elements are possible for every form but statistics of rows and the stage that uses them.
        let windows: &[windows::Member<'_>] = match &self.rule {
            Rule::Rows(group) if !group.members.is_empty() => return own,
            Rule::Stencil(group) if !group.members.is_empty() => return own,
            Rule::Points(members) => members,
            _ => &[],
        };
        if self.sparse.is_empty() {
            own.extend(pointwise::plans(nest, windows, machine));
        } else if let Some(mut draft) = pointwise::single(nest, windows, machine) {
            sparse::place(&self.sparse, "thread", &mut draft);
            own.push(draft);
        }
        own
    }

    /// Returns sets of facts under which the stage has another plan, the best first.
    fn regimes(&self, nest: &Nest, machine: &Machine<'_>) -> Vec<Vec<String>> {
        match &self.rule {
            Rule::Scattered(scattered) => scattered.regimes(machine),
            Rule::Product(product) => product.regimes(machine),
            Rule::Rows(group) => rows::regimes(group, machine),
            Rule::Points(members) if self.sparse.is_empty() => {
                vec![self.wishes(nest, machine), pointwise::whole(nest, machine), pointwise::long(nest, members, machine)]
            }
            Rule::Stencil(_) => stencils::regimes(nest, machine),
            _ => vec![self.wishes(nest, machine)],
        }
    }

    /// Returns the facts that most sizes meet, and under which the stage has its best plan.
    fn wishes(&self, nest: &Nest, machine: &Machine<'_>) -> Vec<String> {
        match &self.rule {
            Rule::Scattered(scattered) => scattered.wishes(machine),
            Rule::Product(product) => product.wishes(machine),
            Rule::Rows(group) => rows::wishes(group, machine),
            Rule::Total => reductions::short(nest, machine::PIECE),
            Rule::Columns => reductions::short_columns(nest, machine),
            Rule::Points(members) if self.sparse.is_empty() => pointwise::aligned(nest, members, machine),
            Rule::Stencil(_) => stencils::wishes(nest, machine),
            Rule::Points(_) | Rule::Idle(_) => Vec::new(),
        }
    }
}
