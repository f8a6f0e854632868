//! Strict standard base64 (RFC 4648, section 4): padded, no white space, no second spelling of the same bytes.

/// The text is no such base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotBase64;

/// The text of bytes.
pub fn encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            // One byte makes two digits, two make three; the rest is padding.
            let index = (bits >> (18 - 6 * digit)) & 0b11_1111;
            text.push(if digit as usize <= group.len() { char::from(DIGITS[index as usize]) } else { '=' });
        }
    }
    text
}

/// The bytes of a text.
pub fn decode(text: &str) -> Result<Vec<u8>, NotBase64> {
    let text = text.as_bytes();
    if !text.len().is_multiple_of(4) {
        return Err(NotBase64);
    }
    let padding = text.iter().rev().take(2).take_while(|byte| **byte == b'=').count();
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let digits = &text[..text.len() - padding];
    for group in digits.chunks(4) {
        let mut bits: u32 = 0;
        for byte in group {
            bits = bits << 6 | value(*byte).ok_or(NotBase64)?;
        }
        match group.len() {
            4 => bytes.extend_from_slice(&bits.to_be_bytes()[1..]),
            3 if bits & 0b11 == 0 => bytes.extend_from_slice(&(bits >> 2).to_be_bytes()[2..]),
            2 if bits & 0b1111 == 0 => bytes.extend_from_slice(&(bits >> 4).to_be_bytes()[3..]),
            _ => return Err(NotBase64),
        }
    }
    Ok(bytes)
}

fn value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::{NotBase64, decode, encode};

    #[test]
    fn the_vectors_of_the_rfc_are_read() {
        for (given, then) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(decode(given), Ok(then.as_bytes().to_vec()), "{given}");
            assert_eq!(encode(then.as_bytes()), given);
        }
        assert_eq!(decode("+/8A"), Ok(vec![0xfb, 0xff, 0x00]));
        assert_eq!(encode(&[0xfb, 0xff, 0x00]), "+/8A");
    }

    #[test]
    fn anything_else_is_refused() {
        for given in
            ["Z", "Zg", "Zg=", "Zh==", "Zm9=", "====", "Z===", "Zg==Zg==", "Zm 9", "Zm9v\n", "-_8A", "Zm9é"]
        {
            assert_eq!(decode(given), Err(NotBase64), "{given:?}");
        }
    }
}
