//! The default algorithm: how much work it does ([`recipe`]), one member ([`member`]), and the ensemble ([`ensemble`]).

pub(crate) mod ensemble;
pub(crate) mod member;
pub(crate) mod recipe;
