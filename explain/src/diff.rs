//! Finds the lines of a text that a previous text lacks, by the longest common subsequence. Indentation is ignored, because a new
//! loop moves everything inside it to the right.

/// Returns for every line of `new` whether it is new.
pub(crate) fn added(old: &[String], new: &[String]) -> Vec<bool> {
    let same = |i: usize, j: usize| old[i].trim() == new[j].trim();
    // `common[i][j]`: the number of lines that the texts from line i and from line j on have in common.
    let mut common = vec![vec![0u32; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = match same(i, j) {
                true => common[i + 1][j + 1] + 1,
                false => common[i + 1][j].max(common[i][j + 1]),
            };
        }
    }
    let (mut marks, mut i) = (vec![true; new.len()], 0);
    for (j, mark) in marks.iter_mut().enumerate() {
        while i < old.len() && !same(i, j) && common[i + 1][j] > common[i][j + 1] {
            i += 1;
        }
        if i < old.len() && same(i, j) && common[i][j] == common[i + 1][j + 1] + 1 {
            *mark = false;
            i += 1;
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::added;

    fn marks(old: &str, new: &str) -> String {
        let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        added(&lines(old), &lines(new)).iter().map(|new| if *new { '+' } else { '.' }).collect()
    }

    #[test]
    fn only_what_is_new_is_marked() {
        assert_eq!(marks("a b c", "a b c"), "...");
        assert_eq!(marks("a b c", "a x b c"), ".+..");
        assert_eq!(marks("a b c", "b a c"), "+..");
        assert_eq!(marks("a b c", "x y"), "++");
        assert_eq!(marks("a x b y c", "a b c"), "...");
        assert_eq!(marks("a b c d", "c d a b"), "++..");
    }
}
