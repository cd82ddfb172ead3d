//! Finds directives in the schedule's tree, and writes changes of them: another factor, exchanged letters, an added argument. A change
//! replaces the text of nodes of the tree, so the unchanged parts keep the user's own text.

use super::{Advice, Look};
use tilewright_dsl::diag::SpanId;
use tilewright_dsl::nest::{AxisDef, AxisId, Fate, Level, Slot};
use tilewright_dsl::syntax::expr::{Expr, ExprKind};
use tilewright_dsl::syntax::schedule::{Directive, DirectiveKind, Item, Target, Tile};

/// Returns the value of a literal.
pub(super) fn literal(expr: &Expr) -> Option<i64> {
    match expr.kind {
        ExprKind::Int { value, .. } => value.try_into().ok(),
        _ => None,
    }
}

/// Returns the tiles of a directive.
fn tiles(directive: &Directive) -> &[Tile] {
    if let DirectiveKind::Tile { tiles, .. } = &directive.kind { tiles } else { &[] }
}

/// Returns the axes that a directive distributes to threads, and their target.
fn threads(directive: &Directive) -> Option<(Vec<&str>, &Target)> {
    let (axes, target) = match &directive.kind {
        DirectiveKind::Distribute { axes, target, .. } => (axes.iter().map(|axis| axis.as_str()).collect(), target),
        DirectiveKind::Tile { tiles, target: Some(target), .. } => (tiles.iter().map(|tile| tile.axis.as_str()).collect(), target),
        _ => return None,
    };
    (target.level == Level::Thread).then_some((axes, target))
}

impl Look<'_> {
    /// Returns the directives of the schedule, including the directives of its blocks.
    pub(super) fn directives(&self) -> impl Iterator<Item = &Directive> {
        self.subject.schedule.items.iter().flat_map(|item| match item {
            Item::Directive(directive) => std::slice::from_ref(directive),
            Item::Block { directives, .. } => directives,
            Item::Statement(_) => &[],
        })
    }

    /// Returns the directive at a place.
    pub(super) fn directive(&self, span: SpanId) -> Option<&Directive> {
        self.directives().find(|directive| directive.span == span)
    }

    /// Returns the text of a directive or a statement of the schedule. `None` if the place is neither.
    pub(super) fn text(&self, span: SpanId) -> Option<String> {
        let is = |item: &Item| matches!(item, Item::Statement(statement) if statement.span == span);
        let is_there = self.directive(span).is_some() || self.subject.schedule.items.iter().any(is);
        self.subject.spans.source(span).filter(|_| is_there)
    }

    /// Returns a directive's text with other texts for some of its nodes.
    fn replaced(&self, directive: &Directive, changes: &[(SpanId, String)]) -> Option<String> {
        let spans = &self.subject.spans;
        let bytes = |span| spans.get(span).map(|(first, last)| first.byte_range().start..last.byte_range().end);
        let (mut text, whole) = (spans.source(directive.span)?, bytes(directive.span)?);
        let mut places = changes.iter().map(|(span, new)| Some((bytes(*span)?, new))).collect::<Option<Vec<_>>>()?;
        // The last change comes first, so that the places of the others stay.
        places.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
        for (place, new) in places {
            let place = place.start.checked_sub(whole.start)?..place.end.checked_sub(whole.start)?;
            text.get(place.clone())?;
            text.replace_range(place, new);
        }
        Some(text)
    }

    /// Returns the factor by which the directive at a place tiles an axis, if it is a literal.
    pub(super) fn factor(&self, span: SpanId, axis: &str) -> Option<i64> {
        literal(&tiles(self.directive(span)?).iter().find(|tile| tile.axis.text == axis)?.factor)
    }

    /// Returns the directive at a place with another factor for an axis whose factor is a literal.
    pub(super) fn with_factor(&self, span: SpanId, axis: &str, number: i64) -> Option<String> {
        let directive = self.directive(span)?;
        let factor = &tiles(directive).iter().find(|tile| tile.axis.text == axis)?.factor;
        literal(factor)?;
        self.replaced(directive, &[(factor.span, number.to_string())])
    }

    /// Returns the directive at a place with half of its largest literal factor, if that is even.
    pub(super) fn halved(&self, span: SpanId) -> Option<String> {
        let directive = self.directive(span)?;
        let factors = tiles(directive).iter().filter_map(|tile| Some((literal(&tile.factor)?, tile.factor.span)));
        // The first of several equal factors is halved.
        let (largest, at) = factors.reduce(|a, b| if b.0 > a.0 { b } else { a })?;
        (largest > 1 && largest % 2 == 0).then(|| self.replaced(directive, &[(at, (largest / 2).to_string())]))?
    }

    /// Returns the `pipeline` at a place with one buffer for each copy.
    pub(super) fn with_one_buffer(&self, span: SpanId) -> Option<String> {
        let directive = self.directive(span)?;
        let DirectiveKind::Pipeline(pipeline) = &directive.kind else { return None };
        self.replaced(directive, &[(pipeline.buffers.span, "1".to_owned())])
    }

    /// Returns the copy at a place with another `row_pad` or `swizzle`.
    pub(super) fn with_argument(&self, span: SpanId, name: &str, number: i64) -> Option<String> {
        let directive = self.directive(span)?;
        let (DirectiveKind::Promote(copy) | DirectiveKind::ComputeAt(copy)) = &directive.kind else { return None };
        let given = if name == "swizzle" { &copy.swizzle } else { &copy.row_pad };
        if let Some(given) = given {
            return self.replaced(directive, &[(given.span, number.to_string())]);
        }
        let text = self.subject.spans.source(span)?;
        Some(format!("{}, {name}: {number})", text.strip_suffix(')')?.trim_end()))
    }

    /// Returns the directive at a place with two letters of `thread(y, x)` exchanged: `x`, and the letter of the axis that `is` holds of.
    pub(super) fn exchanged(&self, span: SpanId, is: impl Fn(&str) -> bool) -> Option<String> {
        let directive = self.directive(span)?;
        let (axes, target) = threads(directive)?;
        let (_, x) = target.slots.iter().find(|(slot, _)| *slot == Slot::X)?;
        let (_, other) = target.slots.get(axes.into_iter().position(is)?)?;
        let letter = |of| self.subject.spans.source(of);
        self.replaced(directive, &[(*x, letter(*other)?), (*other, letter(*x)?)])
    }

    /// Extends an advice by the replacement of a directive, if there is one.
    pub(super) fn written(&self, advice: Advice, span: SpanId, new: Option<String>) -> Advice {
        match new {
            Some(new) => advice.or(format!("write `{new};`"), self.edit(span, new)),
            None => advice,
        }
    }

    /// Returns an axis's name as the user wrote it.
    pub(super) fn user_name(&self, axis: AxisId) -> &str {
        self.nest.axes[axis].name.trim_end_matches('\'')
    }

    /// Returns the axis whose directive has the factor that determines an axis's extent. For the outermost part of a split of
    /// another split's part, this is the axis that was split.
    pub(super) fn factor_of(&self, axis: AxisId) -> AxisId {
        match &self.nest.axes[axis].def {
            AxisDef::Part { of, part: 0 } => match &self.nest.axes[*of].fate {
                Fate::Split(_) => self.factor_of(*of),
                _ => axis,
            },
            _ => axis,
        }
    }
}
