//! The smaller kernels: sine and cosine, standardisation, updates, the Gram matrix, the choice of instructions.

use super::super::dispatch::named;
use super::super::sincos::LIMIT;
use super::*;
use std::ops::Range;

/// Largest error of sine and cosine over `x`.
fn wave_error(path: Path, x: &[f32]) -> f64 {
    let (mut sin, mut cos) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    sincos(path, x, &mut sin, &mut cos);
    let errors = x.iter().zip(sin.iter().zip(&cos)).map(|(&x, (&sin, &cos))| {
        let want = f64::from(x).sin_cos();
        (f64::from(sin) - want.0).abs().max((f64::from(cos) - want.1).abs())
    });
    errors.fold(0.0, f64::max)
}

#[test]
fn sine_and_cosine_are_accurate() {
    // Without a fused multiply-add one more rounding is in the polynomials.
    let bound = |path| if path == Path::Portable { 2e-7 } else { 1.5e-7 };
    for path in available() {
        for (seed, scale) in [1e-3, 1.0, 10.0, 1e3, LIMIT, 1e6, 1e30].into_iter().enumerate() {
            let error = wave_error(path, &draw(seed as u64, 30_001, scale));
            assert!(error <= bound(path), "{path} up to {scale}: {error:e}");
        }
        let near_zeros: Vec<f32> =
            (0..6400).map(|n| (f64::from(n) * std::f64::consts::FRAC_PI_2) as f32).collect();
        assert!(wave_error(path, &near_zeros) <= bound(path));
        let special = [0.0, -0.0, f32::MIN_POSITIVE, 1e-45, -1e-40, LIMIT, -LIMIT, LIMIT.next_up(), f32::MAX];
        for n in 0..special.len() {
            assert!(wave_error(path, &special[..n]) <= bound(path));
        }
    }
}

#[test]
fn sine_and_cosine_of_what_is_not_finite_are_nan() {
    for path in available() {
        for at in 0..20 {
            for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let mut x = vec![1.0; 20];
                x[at] = odd;
                let (mut sin, mut cos) = (vec![0.0; 20], vec![0.0; 20]);
                sincos(path, &x, &mut sin, &mut cos);
                for i in 0..20 {
                    assert_eq!((sin[i].is_nan(), cos[i].is_nan()), (i == at, i == at), "{path}");
                }
            }
        }
    }
}

#[test]
fn gather_standardises() {
    for d in [1, 3, 4, 8, 15, 16, 17, 40] {
        let mut x = draw(1, 10 * d, 5.0);
        x[3 * d] = f32::NAN;
        x[4 * d + d - 1] = f32::INFINITY;
        let (mean, theta) = (draw(2, d, 1.0), draw(3, d, 1.0));
        let mut inv_std: Vec<f32> = draw(4, d, 1.0).iter().map(|x| x + 2.0).collect();
        inv_std[d - 1] = 0.0; // infinity times zero
        let rows = [4, 3, 9, 0, 0, 7];
        for path in available() {
            let (mut out, mut scaled) = (vec![9.0; rows.len() * d], vec![9.0; rows.len() * d]);
            gather(path, &x, d, &rows, &mean, &inv_std, &theta, &mut out, &mut scaled);
            for (i, &row) in rows.iter().enumerate() {
                for j in 0..d {
                    let want = (x[row * d + j] - mean[j]) * inv_std[j];
                    let want = if want.is_nan() { 0.0 } else { want };
                    assert_eq!(out[i * d + j], want, "{path} d={d}");
                    assert_eq!(scaled[i * d + j], want * theta[j], "{path} d={d}");
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "row out of range")]
fn gather_refuses_a_row_that_is_not_there() {
    let one = [1.0; 2];
    gather(path(), &[0.0; 6], 2, &[0, 3], &one, &one, &one, &mut [0.0; 4], &mut [0.0; 4]);
}

fn soft(w: f64, prox: Prox) -> f64 {
    w.signum() * (w.abs() - f64::from(prox.l1)).max(0.0) * f64::from(prox.shrink)
}

#[test]
fn updates_follow_their_formulas() {
    let proxes = [
        Prox::NONE,
        Prox { l1: 0.3, shrink: 1.0 },
        Prox { l1: 0.0, shrink: 0.9 },
        Prox { l1: 0.1, shrink: 0.5 },
    ];
    for (n, prox) in [0, 1, 4, 7, 16, 31, 100].into_iter().flat_map(|n| proxes.map(|prox| (n, prox))) {
        for path in available() {
            let start = draw(1, n, 1.0);
            let (mut w, mut m, mut v) = (start.clone(), vec![0.0; n], vec![0.0; n]);
            let mut plain: Vec<[f64; 3]> = start.iter().map(|&w| [f64::from(w), 0.0, 0.0]).collect();
            for t in 1..=5 {
                let g = draw(10 + t, n, if t == 3 { 0.0 } else { 1.0 });
                let (bias1, bias2) = (1.0 - 0.9f64.powi(t as i32), 1.0 - 0.999f64.powi(t as i32));
                adam(path, &mut w, &g, &mut m, &mut v, 0.05, bias1 as f32, bias2 as f32, prox);
                for ([w, m, v], &g) in plain.iter_mut().zip(&g) {
                    let g = f64::from(g);
                    *m = 0.9 * *m + 0.1 * g;
                    *v = 0.999 * *v + 0.001 * g * g;
                    *w = soft(*w - 0.05 / bias1 * *m / ((*v / bias2).sqrt() + 1e-8), prox);
                }
            }
            for (i, [pw, pm, pv]) in plain.iter().enumerate() {
                for (got, want) in [(w[i], pw), (m[i], pm), (v[i], pv)] {
                    assert!((f64::from(got) - want).abs() < 2e-6, "{path} n={n} {prox:?}: {got} {want}");
                }
            }

            let g = draw(3, n, 1.0);
            let mut w = start.clone();
            sgd(path, &mut w, &g, 0.5, prox);
            for i in 0..n {
                let want = soft(f64::from(start[i]) - 0.5 * f64::from(g[i]), prox);
                assert!((f64::from(w[i]) - want).abs() < 2e-7, "{path} n={n}");
            }
        }
    }
}

#[test]
fn adam_leaves_untouched_weights_alone() {
    for path in available() {
        let (mut w, mut m, mut v) = (vec![0.0; 20], vec![0.0; 20], vec![0.0; 20]);
        adam(path, &mut w, &[0.0; 20], &mut m, &mut v, 0.1, 0.1, 0.001, Prox { l1: 0.1, shrink: 0.5 });
        assert!([w, m, v].iter().flatten().all(|&x| x == 0.0));
    }
}

#[test]
fn gram_matches_the_reference() {
    for (rows, m, ld) in [(1, 1, 1), (5, 17, 32), (300, 60, 64), (257, 101, 112), (3, 49, 49), (0, 4, 4)] {
        let z = draw(rows as u64, rows * ld, 1.0);
        for path in available() {
            for parts in [1, 2, 5] {
                let mut full = vec![0.25; m * m];
                let padded = m.next_multiple_of(LINE);
                let mut panels = vec![f32::NAN; rows * padded];
                for (panels, z) in panels.chunks_mut(GRAM_BLOCK * padded).zip(z.chunks(GRAM_BLOCK * ld)) {
                    gram_panels(z, ld, m, panels);
                }
                let ranges = gram_ranges(m, parts);
                assert_eq!(ranges.iter().map(|range| range.len()).sum::<usize>(), m);
                for range in ranges {
                    let part = &mut full[range.start * m..range.end * m];
                    gram(path, &panels, m, range, part);
                }
                for a in 0..m {
                    for b in 0..m {
                        let term = |i: usize| f64::from(z[i * ld + a]) * f64::from(z[i * ld + b]);
                        let (mut want, mut size) = (0.0, 1.0);
                        for i in (0..rows).filter(|_| b <= a) {
                            want += term(i);
                            size += term(i).abs();
                        }
                        let got = full[a * m + b] - 0.25;
                        let error = (got - want).abs() / size;
                        assert!(error < 1e-6, "{path} rows={rows} m={m} ({a}, {b}): {got} {want}");
                    }
                }
            }
        }
    }
}

#[test]
fn gram_ranges_are_balanced() {
    let area = |range: &Range<usize>| (range.start..range.end).map(|a| a + 1).sum::<usize>() as f64;
    for (m, parts) in [(1000, 2), (1000, 4), (4000, 8)] {
        let ranges = gram_ranges(m, parts);
        assert_eq!(ranges.len(), parts);
        let mean = ranges.iter().map(area).sum::<f64>() / parts as f64;
        assert!(ranges.iter().all(|range| (area(range) / mean - 1.0).abs() < 0.2), "{ranges:?}");
    }
    assert_eq!(gram_ranges(3, 8), vec![Range { start: 0, end: 3 }]);
}

#[test]
fn paths_have_names() {
    for path in available() {
        assert_eq!(named(&path.to_string()), Ok(path));
    }
    assert!(available().contains(&path()));
    let unknown = named("sse9").expect_err("no such path");
    assert!(unknown.contains("sse9") && unknown.contains("portable"), "{unknown}");
}

#[test]
fn buffers_are_aligned() {
    for n in [0, 1, 16, 17, 1000] {
        let mut buffer = Aligned::zeros(n);
        assert_eq!((buffer.len(), buffer.as_ptr() as usize % 64), (n, 0));
        buffer.resize(2 * n);
        assert_eq!(buffer.len(), 2 * n);
    }
}

/// Outputs and gradients of heads on rows in memory, for widths with and without a rest, against sums in double precision.
#[test]
fn products_with_rows_in_memory() {
    for path in available() {
        for (rows, m, k) in
            [(1, 1, 1), (3, 15, 2), (8, 16, 1), (5, 64, 3), (7, 130, 1), (64, 77, 2), (9, 100, 4), (3, 70, 7)]
        {
            let (z, heads, r) = (draw(1, rows * m, 1.0), draw(2, k * m, 1.0), draw(3, rows * k, 1.0));
            let short: Vec<i16> = z.iter().map(|z| (10_000.0 * z) as i16).collect();
            let wide: Vec<f32> = short.iter().map(|&z| f32::from(z)).collect();
            let (mut f, mut gradient) = (vec![0.25; rows * k], vec![0.5; k * m]);
            dense_outputs(path, &z, m, &heads, &mut f);
            dense_gradient(path, &z, m, &r, &mut gradient);
            let product = |a: f32, b: f32| f64::from(a) * f64::from(b);
            for i in 0..rows {
                for c in 0..k {
                    let want = 0.25 + (0..m).map(|j| product(z[i * m + j], heads[c * m + j])).sum::<f64>();
                    assert!((f64::from(f[i * k + c]) - want).abs() < 1e-4, "{path} {rows} {m} {k}");
                }
            }
            for c in 0..k {
                for j in 0..m {
                    let want = 0.5 + (0..rows).map(|i| product(r[i * k + c], z[i * m + j])).sum::<f64>();
                    assert!((f64::from(gradient[c * m + j]) - want).abs() < 1e-4, "{path} {rows} {m} {k}");
                }
            }
            // Whole numbers: to the last bit what they are as floats.
            let (mut of_short, mut of_wide) = (vec![0.0; rows * k], vec![0.0; rows * k]);
            short_outputs(path, &short, m, &heads, &mut of_short);
            dense_outputs(path, &wide, m, &heads, &mut of_wide);
            assert_eq!(of_short, of_wide, "{path} {rows} {m} {k}");
            let (mut of_short, mut of_wide) = (vec![0.0; k * m], vec![0.0; k * m]);
            short_gradient(path, &short, m, &r, &mut of_short);
            dense_gradient(path, &wide, m, &r, &mut of_wide);
            assert_eq!(of_short, of_wide, "{path} {rows} {m} {k}");
        }
    }
}
