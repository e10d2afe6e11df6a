//! The few statistics the tables need.

/// The value a share `at` (0 to 1) of the samples does not exceed; the middle of two where it falls between.
pub(crate) fn quantile(samples: &[f64], at: f64) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = at * (sorted.len().checked_sub(1)?) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(low + (high - low) * place.fract())
}

/// The median.
pub(crate) fn median(samples: &[f64]) -> Option<f64> {
    quantile(samples, 0.5)
}

/// The median of `f` over samples taken in the same round.
///
/// Pairing by round takes out what changes slowly on the machine, which a ratio of two medians would keep.
pub(crate) fn paired(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) -> Option<f64> {
    let pairs: Vec<f64> = a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect();
    median(&pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate_and_nothing_has_none() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 1.0), Some(3.0));
    }

    #[test]
    fn pairs_are_compared_within_a_round() {
        // The machine became twice as slow in the second round; the ratio did not change.
        assert_eq!(paired(&[10.0, 20.0], &[5.0, 10.0], |a, b| a / b), Some(2.0));
    }
}
