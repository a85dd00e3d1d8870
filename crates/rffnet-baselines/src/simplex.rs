//! Projection onto the simplex.

/// The nearest point with no negative number and this sum: all numbers lowered alike, and what falls below 0 set to 0.
pub(crate) fn project(point: &mut [f64], sum: f64) {
    let mut sorted = point.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut total, mut drop) = (0.0, 0.0);
    for (i, v) in sorted.iter().enumerate() {
        total += v;
        let next = (total - sum) / (i + 1) as f64;
        if *v <= next {
            break;
        }
        drop = next;
    }
    point.iter_mut().for_each(|v| *v = (*v - drop).max(0.0));
}

#[cfg(test)]
mod tests {
    use super::project;

    /// The best of all sets of numbers that may be above 0.
    fn brute_force(point: &[f64], sum: f64) -> Vec<f64> {
        let mut best = (f64::INFINITY, Vec::new());
        for set in 1u32..1 << point.len() {
            let inside = |i: usize| set >> i & 1 == 1;
            let total: f64 = (0..point.len()).filter(|&i| inside(i)).map(|i| point[i]).sum();
            let drop = (total - sum) / f64::from(set.count_ones());
            let candidate: Vec<f64> =
                point.iter().enumerate().map(|(i, v)| if inside(i) { v - drop } else { 0.0 }).collect();
            if candidate.iter().any(|&v| v < 0.0) {
                continue;
            }
            let distance: f64 = candidate.iter().zip(point).map(|(a, b)| (a - b).powi(2)).sum();
            if distance < best.0 {
                best = (distance, candidate);
            }
        }
        best.1
    }

    #[test]
    fn no_point_of_the_simplex_is_nearer() {
        for case in 0..200 {
            let d = 1 + case % 8;
            let point: Vec<f64> = (0..d).map(|i| 3.0 * ((case * 31 + i * 17) as f64).sin()).collect();
            let sum = 0.5 + (case % 5) as f64;
            let mut ours = point.clone();
            project(&mut ours, sum);
            let exact = brute_force(&point, sum);
            assert!(
                ours.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 1e-12),
                "{point:?}: {ours:?} {exact:?}"
            );
        }
    }

    #[test]
    fn what_is_there_already_stays() {
        let mut point = [0.5, 0.0, 1.5];
        project(&mut point, 2.0);
        assert_eq!(point, [0.5, 0.0, 1.5]);
    }
}
