//! Inputs as people have them, by what was reported of them.

mod pages;
