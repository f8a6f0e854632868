//! Changes of an input, decided by a seed.
//!
//! Owns what a mutation is: bits, pieces, numbers and words at which parsers stumble. Never looks at what an input means.

/// Longest result, in bytes; longer ones only cost time.
const LONGEST: usize = 16 << 10;

/// Words that mean something to one of the readers.
const WORDS: &[&[u8]] = &[
    b"\r\n\r\n",
    b"\n\n",
    b"\r",
    b"\0",
    b"\xEF\xBB\xBF",
    b"\xFF\xFE",
    b"\xED\xA0\x80",
    b"\xF0\x9F\x98\x80",
    b"\\ud83d",
    b"\\u0000",
    b"\\",
    b"\"",
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"-0",
    b"null",
    b"{}",
    b"[]",
    b"[[[[[[[[[[[[[[[[",
    b"{\"a\":{\"a\":{\"a\":",
    b",\"type\":\"tool_call\"",
    b",\"payload\":{}",
    b",\"id\":1",
    b"data: ",
    b"data:\n",
    b"id: 7\n",
    b"event: x\n",
    b"retry: 5\n",
    b":",
    b"Content-Length: 5\r\n\r\n",
    b"Content-Length: 99999\r\n\r\n",
    b"@@ -1,3 +1,4 @@\n",
    b"@@ -0,0 +1 @@\n",
    b"--- a/x\n+++ b/x\n",
    b"\\ No newline at end of file\n",
    b"+\n",
    b"-\n",
    b" \n",
    b"../",
    b"//",
    b"%2F",
    b"~",
    b"bb-diff:///s/~/disk/a",
    b"git:HEAD",
    b"bbfront1",
];

/// Numbers at the edges of types.
const NUMBERS: &[u64] = &[
    0,
    1,
    2,
    7,
    8,
    16,
    127,
    128,
    255,
    256,
    4_095,
    4_096,
    32_767,
    65_535,
    65_536,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    1 << 53,
    i64::MAX as u64,
    u64::MAX,
];

/// Chance that repeats itself (xorshift64*).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        // Seeds that differ in one bit begin far apart.
        let mut dice = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        dice.draw();
        dice
    }

    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Below `bound`; 0 for 0.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.draw() >> 11) as usize % bound }
    }

    fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    fn range(&mut self, length: usize) -> (usize, usize) {
        let from = self.below(length + 1);
        let most = if self.below(4) == 0 { length } else { 32 };
        (from, (from + self.below(most + 1)).min(length))
    }
}

/// One of the inputs, with one to six changes.
pub fn mutated(inputs: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = dice.of(inputs).clone();
    for _ in 0..1 + dice.below(6) {
        change(&mut bytes, inputs, dice);
        bytes.truncate(LONGEST);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, inputs: &[Vec<u8>], dice: &mut Dice) {
    let (from, to) = dice.range(bytes.len());
    let at = dice.below(bytes.len() + 1);
    match dice.below(11) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << dice.below(8);
            }
        }
        1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = dice.draw() as u8;
            }
        }
        2 => drop(bytes.drain(from..to)),
        3 => bytes.truncate(at),
        // The same piece again, once or often.
        4 => {
            let piece = bytes[from..to].repeat(1 + dice.below(8));
            bytes.splice(at..at, piece);
        }
        // A piece of another input.
        5 => {
            let other = dice.of(inputs);
            let (from, to) = dice.range(other.len());
            bytes.splice(at..at, other[from..to].iter().copied());
        }
        // The head of this one and the tail of another.
        6 => {
            let other = dice.of(inputs);
            let tail = dice.below(other.len() + 1);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[tail..]);
        }
        7 => drop(bytes.splice(at..at, dice.of(WORDS).iter().copied())),
        8 => {
            let number = dice.of(NUMBERS).wrapping_add(dice.below(3) as u64).wrapping_sub(1);
            match number_at(bytes, at) {
                // A number in digits becomes another one, or else eight bytes do.
                Some((from, to)) => drop(bytes.splice(from..to, number.to_string().into_bytes())),
                None => {
                    for (byte, new) in bytes.iter_mut().skip(at).zip(number.to_le_bytes()) {
                        *byte = new;
                    }
                }
            }
        }
        9 => bytes[from..to].reverse(),
        // Two neighbouring lines change places.
        _ => {
            let mut lines: Vec<Vec<u8>> =
                bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            let at = dice.below(lines.len());
            if at + 1 < lines.len() {
                lines.swap(at, at + 1);
                *bytes = lines.concat();
            }
        }
    }
}

/// The digits at or behind a place.
fn number_at(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let from = at + bytes.get(at..)?.iter().position(u8::is_ascii_digit)?;
    let digits = bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    Some((from, from + digits))
}

#[test]
fn the_same_seed_gives_the_same_mutations_and_another_one_others() {
    let inputs = [b"one\ntwo 12\n".to_vec(), b"{\"a\":1}".to_vec()];
    let some = |seed| {
        let mut dice = Dice::new(seed);
        (0..200).map(|_| mutated(&inputs, &mut dice)).collect::<Vec<_>>()
    };
    assert_eq!(some(7), some(7));
    assert_ne!(some(7), some(8));
    assert!(some(7).iter().all(|bytes| bytes.len() <= LONGEST));
}
