//! Seeded chance: the same seed gives the same numbers on every machine.

use fastrand::Rng;

/// A stream of numbers that depends on every part of the seed.
pub(super) fn chance(seed: &[u64]) -> Rng {
    seed.iter().fold(Rng::with_seed(0), |mut chance, part| Rng::with_seed(chance.u64(..) ^ part))
}

#[cfg(test)]
mod tests {
    use super::chance;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_gives_others() {
        let drawn = |seed: &[u64]| chance(seed).u128(..);
        assert_eq!(drawn(&[7, 1]), drawn(&[7, 1]));
        assert_ne!(drawn(&[7, 1]), drawn(&[1, 7]));
    }
}
