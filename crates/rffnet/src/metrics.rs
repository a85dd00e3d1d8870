//! Scores of predictions, weighted.

/// Weighted mean squared error.
pub fn mse(y: &[f64], f: &[f64], weight: Option<&[f32]>) -> f64 {
    let (sum, mass) = weighted(y, f, weight, |y, f| (y - f).powi(2));
    sum / mass
}

/// Coefficient of determination; 0 for a constant prediction of the mean, `None` for a constant target.
pub fn r2(y: &[f64], f: &[f64], weight: Option<&[f32]>) -> Option<f64> {
    let (sum, mass) = weighted(y, f, weight, |y, _| y);
    let mean = sum / mass;
    let (spread, _) = weighted(y, f, weight, |y, _| (y - mean).powi(2));
    let varies = y.iter().any(|v| *v != y[0]);
    (varies && spread > 0.0).then(|| 1.0 - mse(y, f, weight) * mass / spread)
}

/// Weighted mean absolute error.
pub fn mae(y: &[f64], f: &[f64], weight: Option<&[f32]>) -> f64 {
    let (sum, mass) = weighted(y, f, weight, |y, f| (y - f).abs());
    sum / mass
}

/// Weighted median of the absolute errors: half of the weight is on either side. Where it can be any number between two errors, it is
/// halfway between them.
pub fn median_absolute_error(y: &[f64], f: &[f64], weight: Option<&[f32]>) -> f64 {
    let rows = y.iter().zip(f).enumerate();
    let mut errors: Vec<(f64, f64)> = rows
        .map(|(i, (y, f))| ((y - f).abs(), weight.map_or(1.0, |w| w[i] as f64)))
        .filter(|(_, w)| *w > 0.0)
        .collect();
    errors.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = 0.5 * errors.iter().map(|(_, w)| w).sum::<f64>();
    let (mut seen, mut lower) = (0.0, None);
    for (error, w) in errors {
        if let Some(lower) = lower {
            return 0.5 * (lower + error);
        }
        seen += w;
        if seen == half {
            lower = Some(error);
        } else if seen > half {
            return error;
        }
    }
    f64::NAN
}

/// Weighted mean pinball loss of predictions of the quantile `tau`: an error costs `tau` times its size where the prediction is too
/// low, `1 - tau` times where it is too high.
pub fn pinball(y: &[f64], f: &[f64], tau: f64, weight: Option<&[f32]>) -> f64 {
    let (sum, mass) = weighted(y, f, weight, |y, f| (y - f) * if y >= f { tau } else { tau - 1.0 });
    sum / mass
}

/// Share of the targets at or below their prediction, weighted: near `tau` for good predictions of the quantile `tau`.
pub fn coverage(y: &[f64], f: &[f64], weight: Option<&[f32]>) -> f64 {
    let (sum, mass) = weighted(y, f, weight, |y, f| f64::from(y <= f));
    sum / mass
}

fn weighted(y: &[f64], f: &[f64], weight: Option<&[f32]>, term: impl Fn(f64, f64) -> f64) -> (f64, f64) {
    let mut sums = (0.0, 0.0);
    for (i, (&y, &f)) in y.iter().zip(f).enumerate() {
        let w = weight.map_or(1.0, |w| w[i] as f64);
        sums.0 += w * term(y, f);
        sums.1 += w;
    }
    sums
}

/// Scores of a classifier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassificationScores {
    /// Area under the ROC curve; for several classes the mean of one against the rest over those that occur. `None` if
    /// only one class does.
    pub auc: Option<f64>,
    /// Share of rows whose most probable class is right.
    pub accuracy: f64,
    /// Mean of minus the log-probability of the label, probabilities kept above 1e-15.
    pub log_loss: f64,
    /// Average precision (macro for several classes).
    pub average_precision: Option<f64>,
}

/// Scores `probabilities` (`rows x classes`) against class indices.
pub fn classification(
    codes: &[u32],
    probabilities: &[f64],
    classes: usize,
    weight: Option<&[f32]>,
) -> ClassificationScores {
    let w = |i: usize| weight.map_or(1.0, |w| w[i] as f64);
    let (mut right, mut log_loss, mut mass) = (0.0, 0.0, 0.0);
    for (i, (&code, p)) in codes.iter().zip(probabilities.chunks_exact(classes)).enumerate() {
        right += w(i) * f64::from(argmax(p) == code as usize);
        log_loss -= w(i) * p[code as usize].max(1e-15).ln();
        mass += w(i);
    }
    // Binary: the second class against the first; otherwise each class against the rest.
    let columns = if classes == 2 { 1..2 } else { 0..classes };
    let mut curves = columns.map(|c| {
        let rows = codes.iter().zip(probabilities.chunks_exact(classes)).enumerate();
        Curve::new(rows.map(|(i, (&code, p))| (p[c], code as usize == c, w(i))).collect())
    });
    let macro_average = |values: Vec<Option<f64>>| {
        let present: Vec<f64> = values.into_iter().flatten().collect();
        (!present.is_empty()).then(|| present.iter().sum::<f64>() / present.len() as f64)
    };
    let (auc, precision) = curves.by_ref().map(|c| (c.auc(), c.average_precision())).unzip();
    ClassificationScores {
        auc: macro_average(auc),
        accuracy: right / mass,
        log_loss: log_loss / mass,
        average_precision: macro_average(precision),
    }
}

pub(crate) fn argmax(values: &[f64]) -> usize {
    let mut best = 0;
    for (i, v) in values.iter().enumerate() {
        if *v > values[best] {
            best = i;
        }
    }
    best
}

/// Weighted area under the ROC curve of scores against yes/no labels; ties count half. `None` without both labels.
pub fn auc(scores: &[f64], positive: &[bool], weight: Option<&[f32]>) -> Option<f64> {
    let rows = scores.iter().zip(positive).enumerate();
    Curve::new(rows.map(|(i, (&s, &p))| (s, p, weight.map_or(1.0, |w| w[i] as f64))).collect()).auc()
}

/// How much each row moves the [`auc`], to first order: what its standard error is made of (DeLong).
pub(crate) fn auc_influence(scores: &[f64], positive: &[bool], weight: Option<&[f32]>) -> Option<Vec<f64>> {
    let auc = auc(scores, positive, weight)?;
    let w = |i: usize| weight.map_or(1.0, |w| w[i] as f64);
    let mass = |label: bool| (0..scores.len()).filter(|&i| positive[i] == label).map(w).sum::<f64>();
    let (positives, negatives) = (mass(true), mass(false));
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let mut influence = vec![0.0; scores.len()];
    let (mut positives_below, mut negatives_below) = (0.0, 0.0);
    for tie in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        let of = |label: bool| tie.iter().filter(|&&i| positive[i] == label).map(|&i| w(i)).sum::<f64>();
        let (tied_positives, tied_negatives) = (of(true), of(false));
        for &i in tie {
            influence[i] = if positive[i] {
                let beaten = negatives_below + 0.5 * tied_negatives;
                w(i) / positives * (beaten / negatives - auc)
            } else {
                let beaten_by = positives - positives_below - 0.5 * tied_positives;
                w(i) / negatives * (beaten_by / positives - auc)
            };
        }
        positives_below += tied_positives;
        negatives_below += tied_negatives;
    }
    Some(influence)
}

/// Positive and negative mass at each distinct score, highest score first.
struct Curve {
    steps: Vec<(f64, f64)>,
    positive: f64,
    negative: f64,
}

impl Curve {
    fn new(mut rows: Vec<(f64, bool, f64)>) -> Self {
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut curve = Self { steps: Vec::new(), positive: 0.0, negative: 0.0 };
        let mut last = f64::NAN;
        for (score, positive, weight) in rows {
            if score != last {
                curve.steps.push((0.0, 0.0));
                last = score;
            }
            if let Some(step) = curve.steps.last_mut() {
                let (part, total) = if positive {
                    (&mut step.0, &mut curve.positive)
                } else {
                    (&mut step.1, &mut curve.negative)
                };
                *part += weight;
                *total += weight;
            }
        }
        curve
    }

    fn auc(&self) -> Option<f64> {
        let mut above = 0.0;
        let mut area = 0.0;
        for &(positive, negative) in &self.steps {
            area += negative * (above + 0.5 * positive);
            above += positive;
        }
        let pairs = self.positive * self.negative;
        (pairs > 0.0).then(|| area / pairs)
    }

    /// Sum over thresholds of precision times the gain in recall.
    fn average_precision(&self) -> Option<f64> {
        let (mut hits, mut seen, mut sum) = (0.0, 0.0, 0.0);
        for &(positive, negative) in &self.steps {
            hits += positive;
            seen += positive + negative;
            if seen > 0.0 {
                sum += positive / self.positive * hits / seen;
            }
        }
        (self.positive > 0.0).then_some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regression_scores() {
        let (y, f) = ([1.0, 2.0, 4.0], [1.0, 3.0, 2.0]);
        assert!((mse(&y, &f, None) - 5.0 / 3.0).abs() < 1e-12);
        assert!((mse(&y, &f, Some(&[1.0, 2.0, 0.0])) - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(r2(&y, &[7.0 / 3.0; 3], None).map(|v| v.abs() < 1e-12), Some(true));
        assert_eq!(r2(&[0.1; 3], &f, None), None);
    }

    #[test]
    fn absolute_errors_and_quantiles() {
        let (y, f) = ([1.0, 2.0, 4.0, 9.0], [1.0, 3.0, 2.0, 5.0]);
        assert_eq!(mae(&y, &f, None), 7.0 / 4.0);
        // Errors 0, 1, 2, 4.
        assert_eq!(median_absolute_error(&y, &f, None), 1.5);
        assert_eq!(median_absolute_error(&y[..3], &f[..3], None), 1.0);
        assert_eq!(median_absolute_error(&y, &f, Some(&[1.0, 0.0, 1.0, 3.0])), 4.0);
        assert_eq!(median_absolute_error(&y, &f, Some(&[0.0, 2.0, 0.0, 2.0])), 2.5);
        assert!(median_absolute_error(&y, &f, Some(&[0.0; 4])).is_nan());
        assert!((pinball(&y, &f, 0.9, None) - (0.1 + 0.9 * 2.0 + 0.9 * 4.0) / 4.0).abs() < 1e-12);
        assert_eq!(pinball(&y, &f, 0.5, None), 0.5 * mae(&y, &f, None));
        assert_eq!(coverage(&y, &f, None), 0.5);
        assert_eq!(coverage(&y, &f, Some(&[3.0, 3.0, 1.0, 1.0])), 0.75);
    }

    /// The definition: the share of (positive, negative) pairs in the right order, ties half.
    /// A row's influence is what a little more weight of it does to the AUC.
    #[test]
    fn the_influence_on_the_auc_is_its_derivative() {
        let scores = [0.1, 0.4, 0.4, 0.35, 0.8, 0.8, 0.2];
        let positive = [false, false, true, true, true, false, true];
        let weight = [1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 0.0];
        let influence = auc_influence(&scores, &positive, Some(&weight)).expect("both labels");
        assert!(influence.iter().sum::<f64>().abs() < 1e-12);
        for i in 0..scores.len() {
            let at = |step: f32| {
                let mut weight = weight;
                weight[i] += step;
                auc(&scores, &positive, Some(&weight)).expect("both labels")
            };
            let slope = (at(1e-2) - at(0.0)) / 1e-2 * weight[i] as f64;
            assert!((influence[i] - slope).abs() < 2e-3, "{i}: {} {slope}", influence[i]);
        }
        assert_eq!(auc_influence(&[1.0], &[true], None), None);
    }

    #[test]
    fn auc_counts_pairs() {
        let scores = [0.1, 0.4, 0.35, 0.8, 0.4, 0.4];
        let positive = [false, false, true, true, true, false];
        let weight = [1.0f32, 2.0, 0.5, 1.0, 3.0, 1.5];
        let (mut good, mut all) = (0.0, 0.0);
        for i in 0..6 {
            for j in 0..6 {
                if positive[i] && !positive[j] {
                    let w = (weight[i] * weight[j]) as f64;
                    all += w;
                    good +=
                        w * if scores[i] > scores[j] { 1.0 } else { 0.5 * f64::from(scores[i] == scores[j]) };
                }
            }
        }
        let got = auc(&scores, &positive, Some(&weight)).expect("both labels");
        assert!((got - good / all).abs() < 1e-12);
        assert_eq!(auc(&[0.5], &[true], None), None);
    }

    #[test]
    fn classification_scores_of_a_small_table() {
        // Labels 0 0 1 1 with P(1) = .1 .4 .35 .8: the textbook example, AUC 3/4, AP 5/6.
        let p = [0.9, 0.1, 0.6, 0.4, 0.65, 0.35, 0.2, 0.8];
        let s = classification(&[0, 0, 1, 1], &p, 2, None);
        assert!((s.auc.expect("both") - 0.75).abs() < 1e-12);
        assert!((s.average_precision.expect("both") - 5.0 / 6.0).abs() < 1e-12);
        assert_eq!(s.accuracy, 0.75);
        let expected = -(0.9f64.ln() + 0.6f64.ln() + 0.35f64.ln() + 0.8f64.ln()) / 4.0;
        assert!((s.log_loss - expected).abs() < 1e-12);
    }

    #[test]
    fn several_classes_are_averaged_one_against_the_rest() {
        let p = [0.8, 0.1, 0.1, 0.1, 0.7, 0.2, 0.3, 0.3, 0.4, 0.5, 0.3, 0.2];
        let s = classification(&[0, 1, 2, 2], &p, 3, None);
        let one = |c: usize| {
            let scores: Vec<f64> = p.chunks_exact(3).map(|p| p[c]).collect();
            auc(&scores, &[0, 1, 2, 2].map(|l| l == c), None).expect("both")
        };
        assert!((s.auc.expect("all") - (one(0) + one(1) + one(2)) / 3.0).abs() < 1e-12);
    }
}
