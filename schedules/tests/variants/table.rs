//! The rows of `tilewright bench table`.

use std::collections::BTreeSet;
use tilewright_schedules::catalog::ALL;
use tilewright_schedules::table::ROWS;

#[test]
fn rows_of_the_table_name_an_entry_and_all_its_dims() {
    let (mut names, mut sized) = (BTreeSet::new(), BTreeSet::new());
    for row in ROWS {
        assert!(names.insert(row.name), "two rows are called {}", row.name);
        assert!(sized.insert((row.entry, row.dims)), "{} has the sizes of another row", row.name);
        let entry =
            ALL.iter().find(|entry| entry.name == row.entry).unwrap_or_else(|| panic!("{}: no entry {}", row.name, row.entry));
        let dims = |of: &[(&'static str, i64)]| of.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>();
        assert_eq!(dims(row.dims), dims(entry.dims), "{}", row.name);
        assert_eq!(row.dims.len(), entry.dims.len(), "{}", row.name);
    }
}
