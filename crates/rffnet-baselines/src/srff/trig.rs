//! Sines and cosines in a form that compiles to vectors.

use pulp::Arch;

/// The cosine of each angle.
pub(super) fn cosines(angles: &[f64]) -> Vec<f64> {
    if wide(angles) {
        return angles.iter().map(|a| a.cos()).collect();
    }
    let mut out = vec![0.0; angles.len()];
    Arch::new().dispatch(
        #[inline(always)]
        || out.iter_mut().zip(angles).for_each(|(out, &a)| *out = sin_cos(a).1),
    );
    out
}

/// The cosine of each angle; its sine takes its place.
pub(super) fn cosines_and_sines(angles: &mut [f64]) -> Vec<f64> {
    if wide(angles) {
        let cosines = angles.iter().map(|a| a.cos()).collect();
        angles.iter_mut().for_each(|a| *a = a.sin());
        return cosines;
    }
    let mut out = vec![0.0; angles.len()];
    Arch::new().dispatch(
        #[inline(always)]
        || out.iter_mut().zip(&mut *angles).for_each(|(out, a)| (*a, *out) = sin_cos(*a)),
    );
    out
}

/// Whether an angle is beyond what `sin_cos` can reduce, as that of a row far from all others may be.
fn wide(angles: &[f64]) -> bool {
    angles.iter().any(|a| a.abs() > 1e6)
}

/// Within 3e-16 up to a million, where the reduction to a quarter turn loses no digits.
#[inline(always)]
fn sin_cos(x: f64) -> (f64, f64) {
    // Adding this rounds to whole numbers, which then stand in the lowest bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    /// A quarter turn: 33 bits of it, whose product with a whole number is exact, and the rest.
    const QUARTER: (f64, f64) =
        (f64::from_bits(0x3FF9_21FB_5440_0000), f64::from_bits(0x3DD0_B461_1A62_6331));
    /// -1/15!, 1/13!, ... 1/1! and 1/16!, -1/14!, ... 1/0!.
    const SINE: [f64; 8] = [
        -1.0 / 1_307_674_368_000.0,
        1.0 / 6_227_020_800.0,
        -1.0 / 39_916_800.0,
        1.0 / 362_880.0,
        -1.0 / 5_040.0,
        1.0 / 120.0,
        -1.0 / 6.0,
        1.0,
    ];
    const COSINE: [f64; 9] = [
        1.0 / 20_922_789_888_000.0,
        -1.0 / 87_178_291_200.0,
        1.0 / 479_001_600.0,
        -1.0 / 3_628_800.0,
        1.0 / 40_320.0,
        -1.0 / 720.0,
        1.0 / 24.0,
        -0.5,
        1.0,
    ];
    let shifted = x * std::f64::consts::FRAC_2_PI + ROUND;
    let (turns, quarters) = (shifted.to_bits(), shifted - ROUND);
    let r = (x - quarters * QUARTER.0) - quarters * QUARTER.1;
    let square = r * r;
    let sine = r * SINE[1..].iter().fold(SINE[0], |sum, c| sum * square + c);
    let cosine = COSINE[1..].iter().fold(COSINE[0], |sum, c| sum * square + c);
    let (s, c) = if turns & 1 == 0 { (sine, cosine) } else { (cosine, sine) };
    let sign = |bit: u64| (bit & 2) << 62;
    (f64::from_bits(s.to_bits() ^ sign(turns)), f64::from_bits(c.to_bits() ^ sign(turns.wrapping_add(1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_angles_are_right_too() {
        let angles = [1e300, -7.5e17, 0.3];
        let mut sines = angles;
        assert_eq!(cosines_and_sines(&mut sines), angles.map(f64::cos));
        assert_eq!(sines, angles.map(f64::sin));
        assert_eq!(cosines(&angles), angles.map(f64::cos));
    }

    #[test]
    fn right_to_the_last_digits() {
        let angles: Vec<f64> =
            (-200_000..200_000).map(|i| f64::from(i) * 0.0137).chain([1e6, -1e6]).collect();
        let mut sines = angles.clone();
        let cosines = cosines_and_sines(&mut sines);
        assert_eq!(cosines, super::cosines(&angles));
        for ((a, s), c) in angles.iter().zip(&sines).zip(&cosines) {
            assert!((s - a.sin()).abs() < 4e-16 && (c - a.cos()).abs() < 4e-16, "{a}: {s} {c}");
        }
    }
}
