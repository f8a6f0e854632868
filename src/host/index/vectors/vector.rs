//! A vector, packed into a byte a number.
//!
//! Owns how near two of them are. A byte a number orders as well as the numbers themselves, in a quarter of the memory.

/// A direction: its length is that of one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PackedVector {
    scale: f32,
    numbers: Box<[i8]>,
}

impl PackedVector {
    /// Of numbers as a model gives them, not all of which are zero.
    pub(crate) fn of(numbers: &[f32]) -> Self {
        let length = numbers
            .iter()
            .map(|number| f64::from(*number).powi(2))
            .sum::<f64>()
            .sqrt()
            .max(f64::MIN_POSITIVE);
        let largest = numbers.iter().fold(0.0f64, |most, number| most.max(f64::from(number.abs())));
        let step = (largest / 127.0).max(f64::MIN_POSITIVE);
        // Between -127 and 127, since nothing is larger than the largest.
        let packed = numbers.iter().map(|number| (f64::from(*number) / step).round() as i8).collect();
        Self { scale: (step / length) as f32, numbers: packed }
    }

    /// The cosine of the angle between two: 1 for the same direction; 0 where they have not as many numbers.
    pub(crate) fn near(&self, other: &Self) -> f32 {
        if self.numbers.len() != other.numbers.len() {
            return 0.0;
        }
        let products = self.numbers.iter().zip(&*other.numbers);
        let sum: i32 = products.map(|(one, two)| i32::from(*one) * i32::from(*two)).sum();
        sum as f32 * self.scale * other.scale
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.numbers.len() + size_of::<Self>()
    }

    /// How many numbers it has.
    pub(super) fn length(&self) -> usize {
        self.numbers.len()
    }

    /// Appends it to packed bytes, without its length.
    pub(super) fn put(&self, packed: &mut Vec<u8>) {
        packed.extend_from_slice(&self.scale.to_le_bytes());
        packed.extend(self.numbers.iter().map(|number| *number as u8));
    }

    /// The same back, of so many numbers; `None` where there is less.
    pub(super) fn take(rest: &mut &[u8], length: usize) -> Option<Self> {
        let (scale, after) = rest.split_first_chunk::<4>()?;
        let (numbers, after) = after.split_at_checked(length)?;
        *rest = after;
        let scale = f32::from_le_bytes(*scale);
        let numbers = numbers.iter().map(|number| *number as i8).collect();
        scale.is_finite().then_some(Self { scale, numbers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_vector_is_as_near_as_its_numbers() {
        let one = PackedVector::of(&[3.0, 4.0, 0.0]);
        for (numbers, cosine) in [
            ([3.0, 4.0, 0.0], 1.0),
            ([-3.0, -4.0, 0.0], -1.0),
            ([0.0, 0.0, 9.0], 0.0),
            ([4.0, 3.0, 0.0], 0.96),
            ([1e-20, 0.0, 0.0], 0.6),
        ] {
            let near = one.near(&PackedVector::of(&numbers));
            assert!((near - cosine).abs() < 0.02, "{numbers:?}: {near}");
        }
        assert_eq!(one.near(&PackedVector::of(&[1.0])), 0.0);
    }

    #[test]
    fn bytes_give_it_back_and_too_few_give_none() {
        let one = PackedVector::of(&[0.5, -0.25, 0.125]);
        let mut packed = Vec::new();
        one.put(&mut packed);
        assert_eq!(PackedVector::take(&mut packed.as_slice(), 3), Some(one));
        assert_eq!(PackedVector::take(&mut packed.as_slice(), 4), None);
        assert_eq!(PackedVector::take(&mut [0u8, 0, 128, 127, 1].as_slice(), 1), None);
    }
}
