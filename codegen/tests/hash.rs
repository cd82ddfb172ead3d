//! Tests the hash tables of code generation.

use tilewright_codegen::hash::{Map, Places};

#[test]
fn what_was_inserted_is_found_until_it_is_cleared() {
    let mut map: Map<(u64, bool), u64> = Map::default();
    for round in 0..3 {
        for n in 0..1000 {
            assert!(map.insert((n * 7, n % 3 == 0), n + round), "{n} is new");
        }
        assert!(!map.insert((21, true), 5), "it is there already");
        assert_eq!(*map.get_or_insert_with((21, true), || 6), 5);
        assert_eq!(*map.get_or_insert_with((21, false), || 6), 6);
        let found = (0..1000).filter(|n| *n != 3).all(|n| map.get(&(n * 7, n % 3 == 0)) == Some(&(n + round)));
        assert!(found);
        assert!(!map.contains_key(&(7, true)) && !map.contains_key(&(7000, true)));
        map.clear();
        assert!((0..1000).all(|n| map.get(&(n * 7, n % 3 == 0)).is_none()));
    }
}

#[test]
fn members_of_one_hash_are_told_apart() {
    let mut places = Places::default();
    (0..40).for_each(|_| places.push(15));
    assert_eq!(places.find(15, |n| n == 33), Some(33));
    assert_eq!(places.find(15, |_| false), None);
    assert_eq!(places.find(31, |_| true), None);
    places.clear();
    assert_eq!(places.find(15, |_| true), None);
    places.push(31);
    assert_eq!(places.find(31, |n| n == 0), Some(0));
}
