//! Test support for Tollgate.
