//! What the columns of the table cannot say.

pub(crate) mod archives;
pub(crate) mod build;
pub(crate) mod cloud;
pub(crate) mod containers;
pub(crate) mod data;
pub(crate) mod disks;
pub(crate) mod files;
pub(crate) mod find;
pub(crate) mod git;
pub(crate) mod machines;
pub(crate) mod network;
pub(crate) mod packages;
pub(crate) mod remote;
pub(crate) mod sed;
pub(crate) mod system;
pub(crate) mod text;
pub(crate) mod verbs;
