//! Bytes at any place of a file, for several threads at once.

use std::fs::File;
use std::io;

use super::damage::{Damage, damaged};

/// A file, or what stands for one in memory.
pub(super) enum Source {
    File(File),
    Memory(Vec<u8>),
}

impl Source {
    /// Replaces `out` with the `n` bytes from `at` on, which the caller has checked against the length.
    pub(super) fn read(&self, at: u64, n: usize, out: &mut Vec<u8>) -> Result<(), Damage> {
        match self {
            Source::File(file) => {
                out.try_reserve(n.saturating_sub(out.len()))
                    .map_err(|_| damaged("a page does not fit into memory"))?;
                out.resize(n, 0);
                read_exact_at(file, out, at).map_err(|e| damaged(format!("it could not be read: {e}")))
            }
            Source::Memory(bytes) => {
                let part =
                    usize::try_from(at).ok().and_then(|at| bytes.get(at..)?.get(..n)).ok_or(Damage::CUT)?;
                out.clear();
                out.extend_from_slice(part);
                Ok(())
            }
        }
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, out: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, at)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut out: &mut [u8], mut at: u64) -> io::Result<()> {
    while !out.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, out, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => {
                out = &mut out[n..];
                at += n as u64;
            }
        }
    }
    Ok(())
}
