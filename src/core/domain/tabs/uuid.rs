//! The ids that a client makes.
//!
//! Owns their form only. Never makes one.

/// Whether a text is a UUID of version 4, in either case (R001-36, R001-42).
pub(crate) fn is_uuid_v4(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            14 => byte == b'4',
            19 => matches!(byte.to_ascii_lowercase(), b'8' | b'9' | b'a' | b'b'),
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::is_uuid_v4;

    #[test]
    fn r001_36_42_only_a_uuid_of_version_4_is_one() {
        for good in ["6f1c2f4e-8f0a-4f3b-9c55-0123456789ab", "6F1C2F4E-8F0A-4F3B-BC55-0123456789AB"] {
            assert!(is_uuid_v4(good), "{good}");
        }
        for bad in [
            "",
            "tab-1",
            "6f1c2f4e-8f0a-1f3b-9c55-0123456789ab",
            "6f1c2f4e-8f0a-4f3b-cc55-0123456789ab",
            "6f1c2f4e8f0a4f3b9c550123456789ab",
            "{6f1c2f4e-8f0a-4f3b-9c55-0123456789a",
            "6f1c2f4e-8f0a-4f3b-9c55-0123456789ag",
            "6f1c2f4e-8f0a-4f3b-9c55-0123456789é",
        ] {
            assert!(!is_uuid_v4(bad), "{bad}");
        }
    }
}
