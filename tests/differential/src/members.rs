//! Makes the intermediates of a kernel members of a family, in the texts of a case: `s2` becomes `s[2]`, mostly defined by a loop.

/// Replaces the names of intermediates by names of members, and names that are derived from them: `s2_shared` becomes `s_2_shared`.
pub fn renamed(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut renamed = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let (before, word) = rest.split_at(start);
        let end = word.find(|c| !is_part(c)).unwrap_or(word.len());
        renamed += before;
        renamed += &member(&word[..end]);
        rest = &word[end..];
    }
    renamed + rest
}

/// Returns the name that a word has in a family. Words that are not derived from the name of an intermediate stay.
fn member(word: &str) -> String {
    let Some(rest) = word.strip_prefix('s') else { return word.to_owned() };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match rest.split_at(digits) {
        ("", _) => word.to_owned(),
        (number, "") => format!("s[{number}]"),
        (number, derived) if derived.starts_with('_') => format!("s_{number}{derived}"),
        _ => word.to_owned(),
    }
}

/// Defines two of three members of a kernel's text by loops. The numbers of other members are relative to the loop's variable.
pub fn looped(kernel: &str) -> String {
    let line = |line: &str| {
        let number = line.trim_start().strip_prefix("let s[").and_then(|rest| rest.split(']').next()?.parse::<usize>().ok());
        match number {
            Some(number) if !line.len().is_multiple_of(3) => {
                let relative = (0..number).fold(line.replace(&format!("s[{number}]"), "s[level]"), |line, other| {
                    line.replace(&format!("s[{other}]"), &format!("s[level - {}]", number - other))
                });
                format!("    for level in {number}..={number} {{ {} }}", relative.trim_start())
            }
            _ => line.to_owned(),
        }
    };
    kernel.lines().map(line).collect::<Vec<_>>().join("\n")
}
