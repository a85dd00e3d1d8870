//! What `auto` does: how much work ([`recipe`]), one model ([`member`]), and the ensemble of them ([`ensemble`]).

pub(crate) mod ensemble;
pub(crate) mod member;
pub(crate) mod recipe;
