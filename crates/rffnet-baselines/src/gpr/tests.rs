use rffnet::{Data, Matrix, Target};

use super::*;
use crate::{Options, fit};

fn likelihood(n: usize, d: usize, outputs: usize) -> MarginalLikelihood {
    let wave = |i: usize, by: f64| (i as f64 * by).sin() * 1.7;
    MarginalLikelihood {
        n,
        d,
        x: (0..n * d).map(|i| wave(i, 1.37)).collect(),
        y: (0..n * outputs).map(|i| wave(i, 0.71)).collect(),
        spread: (0..n).map(|i| 1.0 / (1.0 + (i % 3) as f64)).collect(),
    }
}

fn hyper(d: usize, outputs: usize) -> Hyper {
    Hyper {
        lengthscale: (0..d).map(|j| 0.9 + 0.4 * j as f64).collect(),
        scale: 1.3,
        noise: 0.2,
        mean: (0..outputs).map(|c| 0.1 * c as f64 - 0.05).collect(),
    }
}

/// K by its definition, eliminated by Gauss: log density of each output.
fn density(likelihood: &MarginalLikelihood, hyper: &Hyper) -> f64 {
    let (n, d) = (likelihood.n, likelihood.d);
    let mut total = 0.0;
    for (y, mean) in likelihood.y.chunks(n).zip(&hyper.mean) {
        let mut a: Vec<Vec<f64>> = (0..n)
            .map(|i| {
                let entry = |j: usize| {
                    let square = |c: usize| {
                        ((likelihood.x[i * d + c] - likelihood.x[j * d + c]) / hyper.lengthscale[c]).powi(2)
                    };
                    let noise = if i == j { hyper.noise * likelihood.spread[i] } else { 0.0 };
                    hyper.scale * (-0.5 * (0..d).map(square).sum::<f64>()).exp() + noise
                };
                (0..n).map(entry).chain([y[i] - mean]).collect()
            })
            .collect();
        let (mut log_determinant, mut fit) = (0.0, 0.0);
        for i in 0..n {
            let pivot = a[i].clone();
            log_determinant += pivot[i].ln();
            fit += pivot[n].powi(2) / pivot[i];
            for row in &mut a[i + 1..] {
                let share = row[i] / pivot[i];
                row.iter_mut().zip(&pivot).for_each(|(r, p)| *r -= share * p);
            }
        }
        total -= 0.5 * (fit + log_determinant + n as f64 * (2.0 * std::f64::consts::PI).ln());
    }
    total
}

#[test]
fn the_likelihood_is_the_density_of_the_targets() {
    for (n, d, outputs) in [(1, 1, 1), (20, 3, 1), (150, 2, 2)] {
        let (likelihood, hyper) = (likelihood(n, d, outputs), hyper(d, outputs));
        let ours = likelihood.evaluate(&hyper).expect("positive definite").value;
        let exact = density(&likelihood, &hyper);
        assert!((ours - exact).abs() < 1e-9 * exact.abs().max(1.0), "{ours} {exact}");
    }
}

#[test]
fn the_gradient_is_that_of_finite_differences() {
    // 150 rows: more than one block of columns.
    for (n, d, outputs) in [(12, 2, 1), (150, 4, 1), (140, 3, 2)] {
        let (likelihood, hyper) = (likelihood(n, d, outputs), hyper(d, outputs));
        for link in [Link::Softplus, Link::Exp] {
            let raw = link.pack(&hyper);
            let value = |raw: &[f64]| likelihood.evaluate(&link.unpack(raw, d)).expect("defined").value;
            let at = likelihood.evaluate(&link.unpack(&raw, d)).expect("defined");
            let gradient = link.pull_back(&at.gradient, &raw);
            assert_eq!(gradient.len(), d + 2 + outputs);
            for i in 0..raw.len() {
                let (mut up, mut down) = (raw.clone(), raw.clone());
                up[i] += 1e-5;
                down[i] -= 1e-5;
                let slope = (value(&up) - value(&down)) / 2e-5;
                let gap = (slope - gradient[i]).abs();
                assert!(gap < 1e-6 * gradient[i].abs().max(1.0), "{n} {i}: {slope} {}", gradient[i]);
            }
        }
    }
}

/// Numbers of scikit-learn's process; `tests/fixtures/gpr.py` wrote them.
fn fixture(name: &str) -> Vec<f64> {
    let text = include_str!("../../tests/fixtures/gpr.txt");
    let line = text.lines().find_map(|l| l.strip_prefix(&format!("{name} "))).expect("a line of that name");
    line.split(' ').map(|v| v.parse().expect("a number")).collect()
}

#[test]
fn agrees_with_scikit_learn() {
    let (x, y) = (fixture("x"), fixture("y"));
    let likelihood = MarginalLikelihood { n: y.len(), d: 3, x, spread: vec![1.0; y.len()], y };
    let hyper = Hyper {
        lengthscale: fixture("lengthscale"),
        scale: fixture("scale")[0],
        noise: fixture("noise")[0],
        mean: vec![0.0],
    };
    let close = |ours: &[f64], theirs: &[f64]| {
        assert_eq!(ours.len(), theirs.len());
        ours.iter().zip(theirs).for_each(|(a, b)| assert!((a - b).abs() < 1e-9, "{a} {b}"));
    };
    let at = likelihood.evaluate(&hyper).expect("positive definite");
    close(&[at.value], &fixture("likelihood"));
    let by_log = |g: &f64, v: &f64| g * v;
    let mut gradient = vec![by_log(&at.gradient.scale, &hyper.scale)];
    gradient.extend(at.gradient.lengthscale.iter().zip(&hyper.lengthscale).map(|(g, l)| by_log(g, l)));
    gradient.push(by_log(&at.gradient.noise, &hyper.noise));
    close(&gradient, &fixture("gradient"));

    let points = likelihood.points(&hyper.lengthscale);
    let posterior = likelihood.posterior(&points, &hyper).expect("positive definite");
    let units = vec![Unit { offset: 0.0, factor: 1.0 }];
    let process = Process { points, hyper, posterior, units, constant: vec![false; 3] };
    let new = Rows { values: fixture("new").iter().map(|&v| v as f32).collect(), columns: 3 };
    close(&process.decision(&new), &fixture("mean"));
    close(&process.variance(&new).expect("known"), &fixture("variance"));
}

/// A wave along the first of two columns.
fn wave(n: usize) -> (Vec<f32>, Vec<f64>) {
    let x: Vec<f32> = (0..n).flat_map(|i| [(i as f32 * 0.37) % 4.0, (i as f32 * 0.61) % 3.0]).collect();
    let y = x.chunks(2).map(|r| 50.0 + 10.0 * f64::from(r[0] * 1.5).sin()).collect();
    (x, y)
}

#[test]
fn finds_the_wave_and_the_column_it_is_in() {
    let (x, y) = wave(160);
    let matrix = Matrix::new(&x, 160, 2).expect("shape");
    let data = Data::new(matrix, Target::Values { values: &y, outputs: 1 });
    let model = fit(&Gpr::default(), &data, &Options::default()).expect("fits");
    let error = |a: &[f64]| a.iter().zip(&y).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / 160.0;
    let squared = error(&model.predict(matrix).expect("predicts"));
    assert!(squared < 1e-3, "{squared}");
    let relevances = model.relevances().expect("known");
    assert!(relevances[0] > 10.0 * relevances[1], "{relevances:?}");
    // Far away nothing is known: the variance is that of the prior.
    let variance = model.variance(Matrix::new(&[1e3, 1e3, 1.0, 1.0], 2, 2).expect("shape"));
    let variance = variance.expect("computes").expect("known");
    assert!(variance[0] > 100.0 * variance[1] && variance[1] > 0.0, "{variance:?}");
}

#[test]
fn weights_say_how_often_a_row_was_seen() {
    let (x, y) = wave(40);
    let y: Vec<f64> = y.iter().enumerate().map(|(i, y)| y + (i % 5) as f64).collect();
    let fixed = Gpr { optimiser: Optimiser::Adam { steps: 0, rate: 0.0 }, ..Gpr::paper(1e-3) };
    let values = |y| Target::Values { values: y, outputs: 1 };
    // A row of weight 0 is as good as absent; standardise alike by giving both the same rows that count.
    let mut weight = vec![1.0; 40];
    weight[7] = 0.0;
    let mut odd = y.clone();
    odd[7] = 1e6;
    let whole =
        Data { weight: Some(&weight), ..Data::new(Matrix::new(&x, 40, 2).expect("shape"), values(&odd)) };
    let fewer: Vec<f32> = x[..14].iter().chain(&x[16..]).copied().collect();
    let short: Vec<f64> = y[..7].iter().chain(&y[8..]).copied().collect();
    let part = Data::new(Matrix::new(&fewer, 39, 2).expect("shape"), values(&short));
    let predict =
        |data| fit(&fixed, data, &Options::default()).expect("fits").predict(part.x).expect("predicts");
    let (a, b) = (predict(&whole), predict(&part));
    // Weights have mean 1, so 39 rows of 40 weigh 40/39: the noise is a little smaller.
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 0.05 * b.abs()), "{a:?} {b:?}");
}

#[test]
fn odd_data_have_a_defined_outcome() {
    let finite = |x: &[f32], n: usize, y: &[f64], method: &Gpr| {
        let matrix = Matrix::new(x, n, x.len() / n).expect("shape");
        let data = Data::new(matrix, Target::Values { values: y, outputs: 1 });
        let model = fit(method, &data, &Options::default()).expect("fits");
        let predictions = model.predict(matrix).expect("predicts");
        let variance = model.variance(matrix).expect("computes").expect("known");
        assert!(predictions.iter().chain(&variance).all(|v| v.is_finite()), "{predictions:?} {variance:?}");
        (predictions, model.relevances().expect("known"))
    };
    for method in [Gpr::paper(1e-3), Gpr::converged()] {
        finite(&[1.0, 2.0], 1, &[3.0], &method);
        let (predictions, relevances) = finite(&[5.0; 6], 6, &[4.0; 6], &method);
        assert_eq!(relevances, [0.0]);
        assert!(predictions.iter().all(|p| (p - predictions[0]).abs() < 1e-12));
        let wide: Vec<f32> = (0..150).map(|i| (i as f32).sin()).collect();
        finite(&wide, 3, &[1.0, -1.0, 2.0], &method);
        let twice = [1.0, 1.0, 2.0, 2.0, 3.0, 3.0];
        finite(&twice, 6, &[1.0, 1.5, 0.0, 0.5, 1.0, 1.5], &method);
    }
    let constant = finite(&[1.0, 2.0, 3.0], 3, &[7.0; 3], &Gpr::converged()).0;
    assert!(constant.iter().all(|p| (p - 7.0).abs() < 1e-9), "{constant:?}");
}

#[test]
fn refuses_with_a_sentence() {
    let (x, y) = wave(50);
    let matrix = Matrix::new(&x, 50, 2).expect("shape");
    let data = Data::new(matrix, Target::Values { values: &y, outputs: 1 });
    let small = Options { memory_limit: 19_999, ..Options::default() };
    let refusal = fit(&Gpr::default(), &data, &small).err().expect("refused").to_string();
    assert!(refusal.contains("the 50 x 50 kernel matrix"), "{refusal}");
    let classes = ["a".to_string(), "b".to_string()];
    let codes: Vec<u32> = (0..50).map(|i| i % 2).collect();
    let labels = Data::new(matrix, Target::Labels { codes: &codes, classes: &classes });
    let refusal = fit(&Gpr::default(), &labels, &Options::default()).err().expect("refused").to_string();
    assert!(refusal.contains("choose another method"), "{refusal}");
    let wrong = Gpr { noise: 0.0, ..Gpr::default() };
    assert!(matches!(fit(&wrong, &data, &Options::default()), Err(Error::Unsupported(_))));
}

#[test]
fn equal_bits_for_any_number_of_threads() {
    let (likelihood, hyper) = (likelihood(300, 3, 1), hyper(3, 1));
    let work = || {
        let at = likelihood.evaluate(&hyper).expect("positive definite");
        (at.value.to_bits(), at.gradient)
    };
    let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("a pool");
    assert_eq!(pool(1).install(work), pool(2).install(work));
}
