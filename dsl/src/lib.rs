//! Placeholder root until its modules land.
