//! Inputs as people have reported them, made here, with the right value of each.

pub(crate) mod archives;
mod matrix;
mod pages;
mod tables;
