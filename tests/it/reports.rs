//! Inputs as people have reported them, made here, with the right value of each.

mod pages;
mod tables;
