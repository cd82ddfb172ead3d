//! The body of `profile!`.
