//! The nest as text.
