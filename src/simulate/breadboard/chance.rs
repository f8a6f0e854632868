//! Small seeded numbers (splitmix64): the same seed gives the same numbers on every machine.

/// A stream of numbers.
#[derive(Debug, Clone)]
pub(super) struct Chance(u64);

impl Chance {
    /// A stream that depends on every part of the seed.
    pub(super) fn new(parts: &[u64]) -> Self {
        let mut chance = Self(0x9e37_79b9_7f4a_7c15);
        for part in parts {
            chance.0 ^= part.wrapping_mul(0xff51_afd7_ed55_8ccd);
            chance.0 = chance.draw();
        }
        chance
    }

    /// The next number, all of its 64 bits.
    pub(super) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 when that is 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.draw().checked_rem(bound).unwrap_or(0)
    }

    /// True with this probability.
    pub(super) fn happens(&mut self, probability: f64) -> bool {
        // 53 bits are what a double holds.
        let drawn = (self.draw() >> 11) as f64 / (1_u64 << 53) as f64;
        drawn < probability
    }

    /// Sixteen bytes, for a UUID.
    pub(super) fn bytes(&mut self) -> [u8; 16] {
        ((u128::from(self.draw()) << 64) | u128::from(self.draw())).to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_gives_others() {
        let drawn = |parts: &[u64]| {
            let mut chance = Chance::new(parts);
            [chance.draw(), chance.draw(), chance.below(10)]
        };
        assert_eq!(drawn(&[7, 1]), drawn(&[7, 1]));
        assert_ne!(drawn(&[7, 1]), drawn(&[1, 7]));
        let mut chance = Chance::new(&[3]);
        let hits = (0..10_000).filter(|_| chance.happens(0.2)).count();
        assert!((1_800..2_200).contains(&hits), "{hits} of 10000 at 0.2");
        assert!(!chance.happens(0.0) && chance.happens(1.0) && chance.below(0) == 0);
    }
}
