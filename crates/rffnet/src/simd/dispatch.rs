//! Which instructions to use, decided once per process, and the door into the code compiled for them.
#![allow(unsafe_code)]

use super::lanes::Simd;
use super::portable::Portable;
#[cfg(target_arch = "x86_64")]
use super::x86::{Avx2, Avx512};
use std::fmt;
use std::sync::OnceLock;

/// A set of instructions that the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// What every machine of the target architecture has.
    Portable,
    /// AVX2 and FMA: 256-bit vectors.
    Avx2,
    /// AVX-512F: 512-bit vectors.
    Avx512,
}

impl Path {
    /// From the simplest to the widest.
    const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// Whether this machine has the instructions.
    pub fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => is_x86_feature_detected!("avx512f"),
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        })
    }
}

/// The paths this machine can take, from the simplest to the widest.
pub fn available() -> Vec<Path> {
    Path::ALL.into_iter().filter(|path| path.is_available()).collect()
}

fn best() -> Path {
    Path::ALL.into_iter().rfind(|path| path.is_available()).unwrap_or(Path::Portable)
}

/// The path named by the environment variable `RFFNET_SIMD`, or the widest available if it is unset or empty.
///
/// # Errors
/// The variable names no path, or one this machine cannot take.
pub fn requested() -> Result<Path, String> {
    match std::env::var_os("RFFNET_SIMD") {
        Some(name) if !name.is_empty() => named(&name.to_string_lossy()),
        _ => Ok(best()),
    }
}

/// [`requested`], given what the variable holds.
pub(super) fn named(name: &str) -> Result<Path, String> {
    match Path::ALL.into_iter().find(|path| path.to_string() == name) {
        None => Err(format!("RFFNET_SIMD={name}: expected portable, avx2 or avx512")),
        Some(path) if !path.is_available() => Err(format!("RFFNET_SIMD={name}: this CPU has no {name}")),
        Some(path) => Ok(path),
    }
}

/// The path of this process: [`requested`], or the widest available where that is an error.
pub fn path() -> Path {
    static PATH: OnceLock<Path> = OnceLock::new();
    *PATH.get_or_init(|| requested().unwrap_or_else(|_| best()))
}

/// A computation that can be compiled for any vectors; `run` must be `#[inline(always)]`.
pub(super) trait Kernel {
    fn run<S: Simd>(self, s: S);
}

/// Runs the kernel with the instructions of `path`.
///
/// # Panics
/// If this machine does not have them.
pub(super) fn run<K: Kernel>(path: Path, kernel: K) {
    // The standard library caches the detection: this is a load and a test.
    assert!(path.is_available(), "this CPU has no {path}");
    match path {
        Path::Portable => kernel.run(Portable),
        // SAFETY: just asserted.
        #[cfg(target_arch = "x86_64")]
        Path::Avx2 => unsafe { avx2(kernel) },
        // SAFETY: just asserted.
        #[cfg(target_arch = "x86_64")]
        Path::Avx512 => unsafe { avx512(kernel) },
        #[cfg(not(target_arch = "x86_64"))]
        _ => unreachable!("not available, as asserted"),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<K: Kernel>(kernel: K) {
    // SAFETY: this function is only entered where AVX2 and FMA exist.
    kernel.run(unsafe { Avx2::new() });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn avx512<K: Kernel>(kernel: K) {
    // SAFETY: this function is only entered where AVX-512F exists.
    kernel.run(unsafe { Avx512::new() });
}
