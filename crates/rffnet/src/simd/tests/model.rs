//! Predictions, gradients, slopes and features of chunks.

use super::super::sincos::LIMIT;
use super::*;

#[test]
fn predictions_and_gradients_match_the_reference() {
    for case in Case::shapes() {
        let (pred, gradients) = (case.pred(), case.gradients());
        for path in available() {
            let mut tape = Tape::default();
            close(path, &case, "pred", &case.forward(path, &mut tape), &pred);
            let g = case.backward(path, &mut tape, true);
            close(path, &case, "grad theta", &g.theta, &gradients.theta);
            close(path, &case, "grad beta", &g.beta, &gradients.beta);
            close(path, &case, "grad omega", &g.omega, &gradients.omega);
            close(path, &case, "grad phase", &g.phase, &gradients.phase);
            let plain = case.backward(path, &mut tape, false);
            assert_eq!((&plain.theta, &plain.beta), (&g.theta, &g.beta), "the spectrum changes nothing else");
        }
    }
}

/// The reference itself, against differences of its own predictions.
#[test]
fn the_reference_gradients_are_derivatives() {
    let loss = |case: &Case| -> f64 {
        case.pred().iter().zip(&case.r).map(|(pred, &r)| pred.value * f64::from(r)).sum()
    };
    let case = || Case::new(3, 5, 2, 4);
    let (gradients, padded) = (case().gradients(), case().padded());
    // A power of two: the shifted parameters are then exact, and so is the distance between them.
    let h = 1.0 / 1024.0;
    let difference = |shift: &dyn Fn(&mut Case, f32)| {
        let [mut up, mut down] = [case(), case()];
        shift(&mut up, h);
        shift(&mut down, -h);
        (loss(&up) - loss(&down)) / f64::from(2.0 * h)
    };
    let check = |what: &str, got: f64, want: f64| {
        assert!((got - want).abs() < 1e-4 * (1.0 + want.abs()), "{what}: {got} {want}");
    };
    for j in 0..3 {
        let by_theta = difference(&|case, h| {
            for i in 0..4 {
                case.scaled[i * 3 + j] += h * case.x[i * 3 + j];
            }
        });
        check("theta", gradients.theta[j].value, by_theta);
        for f in 0..5 {
            let by_omega = difference(&|case, h| case.omega[j * 5 + f] += h);
            // `scaled` rather than `x`: the factor theta_j is the caller's.
            let theta = f64::from(case().theta[j]);
            check("omega", gradients.omega[j * padded + f].value * theta, by_omega);
        }
    }
    for f in 0..5 {
        check("phase", gradients.phase[f].value, difference(&|case, h| case.phase[f] += h));
        for c in 0..2 {
            let by_beta = difference(&|case, h| case.beta[c * padded + f] += h);
            check("beta", gradients.beta[c * padded + f].value, by_beta);
        }
    }
}

#[test]
fn a_row_does_not_depend_on_its_chunk() {
    for (d, s, k) in [(1, 1, 1), (18, 300, 1), (7, 49, 3), (300, 80, 10), (28, 47, 2)] {
        let case = Case::new(d, s, k, CHUNK);
        for path in available() {
            let whole = case.forward(path, &mut Tape::default());
            for (from, to) in [(0, 1), (63, 64), (3, 8), (5, 64), (1, 12), (17, 40), (0, 64)] {
                let (rows, scaled) = (to - from, &case.scaled[from * d..to * d]);
                let mut pred = vec![0.0; rows * k];
                predict(path, &case.frequencies, scaled, rows, &case.beta, k, &mut pred);
                assert_eq!(pred, whole[from * k..to * k], "{path} d={d} s={s} k={k} rows {from}..{to}");
            }
        }
    }
}

#[test]
fn a_reused_tape_changes_nothing() {
    for path in available() {
        let mut tape = Tape::default();
        for (d, s, k, rows) in [(40, 300, 3, 64), (3, 17, 1, 5), (18, 100, 2, 33)] {
            let case = Case::new(d, s, k, rows);
            let mut fresh = Tape::default();
            assert_eq!(case.forward(path, &mut tape), case.forward(path, &mut fresh));
            assert_eq!(case.backward(path, &mut tape, true), case.backward(path, &mut fresh, true));
        }
    }
}

#[test]
fn padding_never_leaks() {
    for case in [Case::new(5, 17, 1, 9), Case::new(5, 17, 3, 9), Case::new(2, 300, 2, 64)] {
        let (s, padded) = (case.s, case.padded());
        for path in available() {
            let mut tape = Tape::default();
            case.forward(path, &mut tape);
            let g = case.backward(path, &mut tape, true);
            for row in [&g.beta, &g.omega, &g.phase].into_iter().flat_map(|g| g.chunks_exact(padded)) {
                assert!(row[s..].iter().all(|&x| x == 0.0), "{path}");
            }
            let mut z = vec![f32::NAN; case.rows * padded];
            features(path, &case.frequencies, &case.scaled, case.rows, &mut z);
            assert!(z.chunks_exact(padded).all(|row| row[s..].iter().all(|&x| x == 0.0)), "{path}");
        }
    }
}

#[test]
fn features_and_slopes_match_the_reference() {
    for (d, s, k, rows) in [(1, 1, 1, 1), (5, 49, 1, 64), (18, 300, 3, 63), (140, 47, 2, 5), (9, 1000, 10, 8)]
    {
        let case = Case::new(d, s, k, rows);
        let (p, padded) = (case.arguments(), case.padded());
        let slope = |c: usize, i: usize, j: usize| -> f64 {
            (0..s).map(|f| f64::from(case.omega[j * s + f]) * case.beta(c, f) * p[i * s + f].sin()).sum()
        };
        for path in available() {
            let mut z = vec![0.0; rows * padded];
            features(path, &case.frequencies, &case.scaled, rows, &mut z);
            for (z, p) in z.chunks_exact(padded).zip(p.chunks_exact(s)) {
                for (&z, p) in z.iter().zip(p) {
                    assert!((f64::from(z) - p.cos()).abs() < 5e-6, "{path} {z} {p}");
                }
            }
            let mut tape = Tape::default();
            case.forward(path, &mut tape);
            let mut out = vec![f32::NAN; rows * d];
            for c in 0..k {
                slopes(path, &case.frequencies, rows, &case.beta[c * padded..][..padded], &tape, &mut out);
                for (at, &out) in out.iter().enumerate() {
                    let slope = slope(c, at / d, at % d);
                    assert!(
                        (f64::from(out) - slope).abs() < 1e-4 * (slope.abs() + 1.0),
                        "{path} {out} {slope}"
                    );
                }
            }
        }
    }
}

#[test]
fn wild_inputs_stay_in_their_row() {
    for path in available() {
        let mut case = Case::new(4, 50, 2, 8);
        let calm = case.forward(path, &mut Tape::default());
        let wild = [f32::NAN, f32::INFINITY, 1e30, 3.0 * LIMIT, f32::MIN_POSITIVE / 4.0];
        for (row, wild) in wild.into_iter().enumerate() {
            case.scaled[row * 4 + 1] = wild;
        }
        let pred = case.forward(path, &mut Tape::default());
        assert!(pred[..4].iter().all(|pred| pred.is_nan()));
        assert!(pred[4..].iter().all(|pred| pred.is_finite()));
        assert_eq!(pred[10..], calm[10..], "the other rows");
        // The reference for 1e30 would need the rounding of `f32` sums; bounds are all one can ask for.
        let most: f64 = (0..50).map(|f| case.beta(0, f).abs()).sum();
        assert!(f64::from(pred[4].abs()) <= most);
        let want = case.pred();
        for at in 8..16 {
            assert!((f64::from(pred[at]) - want[at].value).abs() < 1e-4, "{path} {at}");
        }
    }
}

#[test]
#[should_panic(expected = "tape")]
fn a_tape_of_another_chunk_is_refused() {
    let (case, other) = (Case::new(3, 20, 1, 8), Case::new(3, 20, 1, 7));
    let mut tape = Tape::default();
    other.forward(Path::Portable, &mut tape);
    case.backward(Path::Portable, &mut tape, false);
}

#[test]
#[should_panic]
fn a_short_slice_is_refused() {
    let case = Case::new(3, 20, 1, 8);
    let scaled = &case.scaled[1..];
    predict(path(), &case.frequencies, scaled, 8, &case.beta, 1, &mut [0.0; 8]);
}
