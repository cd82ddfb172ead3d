//! Gives the intermediates of a kernel's text ranges of indices that do not begin at 0: `let s1[i]: f32[N] = x[i];` becomes
//! `let s1[i]: f32[-2..N - 2] = x[(i + 2)];`, and `s1[j]` becomes `s1[(j) - 2]`.

/// An intermediate, with the first index of each dimension.
struct Intermediate {
    name: String,
    starts: Vec<i64>,
}

/// Returns the kernel with other indices of its intermediates. An intermediate whose index depends on data stays, because a sum with data
/// can wrap.
pub fn shifted(kernel: &str) -> String {
    let intermediates: Vec<Intermediate> = kernel.lines().filter_map(|line| intermediate(kernel, line)).collect();
    let shifted_line = |line: &str| {
        let own = defined(line).and_then(|name| intermediates.iter().find(|s| s.name == name));
        let Some((own, (left, value))) = own.zip(line.split_once(" = ")) else { return reads(line, &intermediates) };
        let (axes, shape) = lists(left);
        let value = axes.iter().zip(&own.starts).fold(reads(value, &intermediates), |value, (axis, start)| {
            replaced(&value, axis, &format!("({axis} - {start})").replace("- -", "+ "))
        });
        let shape = shape.iter().zip(&own.starts).map(|(size, start)| format!("{start}..{size} + {start}").replace("+ -", "- "));
        let head = &left[..left.rfind('[').unwrap_or_default()];
        format!("{head}[{}] = {value}", shape.collect::<Vec<_>>().join(", "))
    };
    kernel.lines().map(shifted_line).collect::<Vec<_>>().join("\n")
}

/// Returns the intermediate that a line defines alone, if none of its reads has an index that depends on data.
fn intermediate(kernel: &str, line: &str) -> Option<Intermediate> {
    let name = defined(line)?;
    let (_, shape) = lists(line.split_once(" = ")?.0);
    let starts = (0..shape.len()).map(|d| [-3, 2, 0, -1, 5][(name.len() + line.len() + d) % 5]).collect();
    let intermediate = Intermediate { name: name.to_owned(), starts };
    let mut plain = true;
    each_read(kernel, name, &mut |index| plain &= !index.iter().any(|index| index.contains(['[', '{'])));
    plain &= !shape.iter().any(|size| size.is_empty());
    (plain && kernel.matches(&format!("let {name}[")).count() == 1).then_some(intermediate)
}

/// Returns the name of the intermediate that a line defines.
fn defined(line: &str) -> Option<&str> {
    let (name, _) = line.trim_start().strip_prefix("let ")?.split_once('[')?;
    name.starts_with('s').then_some(name)
}

/// Returns the items of the first and the last list of a left side, `s[i, j]: f32[N, M]`.
fn lists(left: &str) -> (Vec<&str>, Vec<&str>) {
    let open = left.rfind('[').unwrap_or_default();
    let first = left.find('[').map_or(Vec::new(), |at| items(&left[at..]).0);
    (first, items(&left[open..]).0)
}

/// Returns the items of a list in brackets, and the length of the list.
fn items(text: &str) -> (Vec<&str>, usize) {
    let (mut depth, mut start, mut items) = (0, 1, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 || depth == 1 && c == ',' {
            items.push(text[start..at].trim());
            start = at + 1;
        }
        if depth == 0 {
            return (items, at + 1);
        }
    }
    (items, text.len())
}

/// True for characters of names.
fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns the places at which a text has a name.
fn places(text: &str, name: &str) -> Vec<usize> {
    let is_whole = |(at, _): &(usize, &str)| !text[..*at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part);
    text.match_indices(name).filter(is_whole).map(|(at, _)| at).collect()
}

/// Returns a text with another text in the place of a name.
fn replaced(text: &str, name: &str, by: &str) -> String {
    places(text, name).into_iter().rev().fold(text.to_owned(), |mut text, at| {
        text.replace_range(at..at + name.len(), by);
        text
    })
}

/// Returns the place of the indices of the read whose tensor's name ends at `at`.
fn indices(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    if rest.starts_with('[') {
        return Some(at);
    }
    let call = rest.find('(').filter(|_| rest.starts_with(".pad(") || rest.starts_with(".clamp("))?;
    let end = call + items(&rest[call..]).1;
    rest[end..].starts_with('[').then_some(at + end)
}

/// Calls a function with the indices of each read of a tensor.
fn each_read(text: &str, name: &str, f: &mut dyn FnMut(Vec<&str>)) {
    for at in places(text, name).into_iter().filter(|at| !text[..*at].ends_with("let ")) {
        if let Some(open) = indices(text, at + name.len()) {
            f(items(&text[open..]).0);
        }
    }
}

/// Returns a text in which the indices of intermediates begin at their starts. The last reads are changed first, so that the places of the others
/// stay, and those in indices are changed before the ones around them.
fn reads(text: &str, intermediates: &[Intermediate]) -> String {
    let mut found: Vec<(usize, &Intermediate)> =
        intermediates.iter().flat_map(|s| places(text, &s.name).into_iter().map(move |at| (at, s))).collect();
    found.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    found.into_iter().fold(text.to_owned(), |mut text, (at, s)| {
        let Some(open) = indices(&text, at + s.name.len()) else { return text };
        let (index, length) = items(&text[open..]);
        let moved = index.iter().zip(&s.starts).map(|(index, start)| format!("({index}) + {start}").replace("+ -", "- "));
        let moved = format!("[{}]", moved.collect::<Vec<_>>().join(", "));
        text.replace_range(open..open + length, &moved);
        text
    })
}
