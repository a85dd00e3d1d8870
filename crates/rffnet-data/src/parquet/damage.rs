//! What is wrong with the bytes of a Parquet file, before it is known where they stand.

use std::borrow::Cow;

/// Why bytes are not what they should be: a clause for the sentence that names the file and the column.
#[derive(Debug)]
pub(super) struct Damage(pub(super) Cow<'static, str>);

impl Damage {
    /// There are fewer bytes than there should be.
    pub(super) const CUT: Damage = Damage(Cow::Borrowed("it ends too early"));

    pub(super) fn is_cut(&self) -> bool {
        self.0 == Self::CUT.0
    }
}

pub(super) fn damaged(what: impl Into<Cow<'static, str>>) -> Damage {
    Damage(what.into())
}
