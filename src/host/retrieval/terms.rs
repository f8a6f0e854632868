//! Words: splitting identifiers and light stemming.
//!
//! Never knows what a word means, nor a question or a file.

/// Calls `take` with every word of an identifier or text run and its byte offset: `RedDoor2`, `red_door` and
/// `HTTPServer` give `Red Door 2`, `red door`, `HTTP Server`.
pub(super) fn words(text: &str, mut take: impl FnMut(usize, &str)) {
    let bytes = text.as_bytes();
    let mut start = 0;
    while start < bytes.len() {
        let kind = kind_of(bytes[start]);
        if kind == TermKind::Other {
            start += 1;
            continue;
        }
        let mut end = start + 1;
        if kind == TermKind::Upper {
            while end < bytes.len() && kind_of(bytes[end]) == TermKind::Upper {
                end += 1;
            }
            // `HTTPServer`: the last upper-case letter begins the next word; a lone one goes on in lower case, and so do several ones
            // in the plural: `URLs`.
            if end < bytes.len() && kind_of(bytes[end]) == TermKind::Lower {
                let after = bytes.get(end + 1).map_or(TermKind::Other, |byte| kind_of(*byte));
                if end - start > 1 && bytes[end] == b's' && after != TermKind::Lower {
                    end += 1;
                } else if end - start > 1 {
                    end -= 1;
                } else {
                    end = run(bytes, end, TermKind::Lower);
                }
            }
        } else {
            end = run(bytes, end, kind);
        }
        if let Some(word) = text.get(start..end) {
            take(start, word);
        }
        start = end;
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TermKind {
    Upper,
    Lower,
    Digit,
    Other,
}

fn kind_of(byte: u8) -> TermKind {
    match byte {
        b'A'..=b'Z' => TermKind::Upper,
        // Bytes of other alphabets belong to their word.
        b'a'..=b'z' | 128.. => TermKind::Lower,
        b'0'..=b'9' => TermKind::Digit,
        _ => TermKind::Other,
    }
}

fn run(bytes: &[u8], from: usize, kind: TermKind) -> usize {
    let more = bytes[from..].iter().take_while(|byte| kind_of(**byte) == kind).count();
    from + more
}

/// The stem of a word in lower case, good enough to bring `refuses`, `refused`, `refusing` and `refusal` together.
pub(super) fn stem(word: &str) -> String {
    let mut out = String::new();
    stem_into(word, &mut out);
    out
}

/// The same into a buffer that is reused.
pub(super) fn stem_into(word: &str, out: &mut String) {
    out.clear();
    out.extend(word.chars().map(|c| c.to_ascii_lowercase()));
    if out.len() < 4 || !out.is_ascii() {
        return;
    }
    if out.ends_with("ies") && out.len() > 4 {
        out.truncate(out.len() - 3);
        out.push('y');
    } else if ["sses", "xes", "zes", "ches", "shes"].iter().any(|end| out.ends_with(end)) {
        out.truncate(out.len() - 2);
    } else if out.ends_with('s') && !["ss", "us", "is"].iter().any(|end| out.ends_with(end)) {
        out.truncate(out.len() - 1);
    }
    for (end, least) in
        [("ing", 3), ("ed", 3), ("ion", 4), ("ment", 4), ("er", 4), ("or", 4), ("al", 5), ("ly", 4)]
    {
        if let Some(rest) = out.strip_suffix(end)
            && rest.len() >= least
            && rest.bytes().any(|byte| b"aeiouy".contains(&byte))
            && (end != "ion" || rest.ends_with(['s', 't']))
            && (end != "ed" || !rest.ends_with('e'))
        {
            let keep = rest.len();
            out.truncate(keep);
            break;
        }
    }
    if out.len() >= 4 && out.ends_with('e') {
        out.pop();
    }
    let bytes = out.as_bytes();
    if bytes.len() >= 4 && bytes[bytes.len() - 1] == bytes[bytes.len() - 2] {
        out.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_split_into_words() {
        let split = |text: &str| {
            let mut found = Vec::new();
            words(text, |at, word| found.push(format!("{at}{word}")));
            found.join(" ")
        };
        assert_eq!(split("FrameGuard2 frame_guard"), "0Frame 5Guard 102 12frame 18guard");
        assert_eq!(split("HTTPServer getURL x"), "0HTTP 4Server 11get 14URL 18x");
        assert_eq!(split("URLs getPINs IDsOf"), "0URLs 5get 8PINs 13IDs 16Of");
        assert_eq!(split("größe-Maß"), "0größe 8Maß");
    }

    #[test]
    fn forms_of_a_word_share_a_stem() {
        for forms in [
            &["refuse", "refuses", "refused", "refusing", "refusal"][..],
            &["queue", "queued", "queues", "queuing"],
            &["stop", "stopped", "stopping", "stops"],
            &["extract", "extraction", "extracted", "extractor"],
            &["validate", "validation", "validates"],
            &["parse", "parser", "parsing"],
            &["directory", "directories"],
            &["path", "paths"],
            &["call", "called", "calls"],
        ] {
            let stems: std::collections::BTreeSet<String> = forms.iter().map(|form| stem(form)).collect();
            assert_eq!(stems.len(), 1, "{stems:?}");
        }
        assert_ne!(stem("status"), stem("state"));
        assert_eq!(stem("this"), "this");
    }
}
