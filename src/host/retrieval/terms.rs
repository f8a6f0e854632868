//! Words: splitting identifiers, light stemming, stop words and a few generic synonyms of programming.
//!
//! Never knows a question or a file.

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
            // `HTTPServer`: the last upper-case letter begins the next word; a lone one goes on in lower case.
            if end < bytes.len() && kind_of(bytes[end]) == TermKind::Lower {
                if end - start > 1 {
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

/// Words that say that something is asked, not what.
const STOP: &[&str] = &[
    "a",
    "about",
    "above",
    "actually",
    "after",
    "all",
    "an",
    "and",
    "any",
    "anything",
    "are",
    "as",
    "at",
    "be",
    "been",
    "before",
    "being",
    "between",
    "but",
    "by",
    "can",
    "code",
    "could",
    "defined",
    "describe",
    "did",
    "do",
    "does",
    "doing",
    "done",
    "each",
    "every",
    "exactly",
    "explain",
    "file",
    "files",
    "find",
    "for",
    "from",
    "function",
    "get",
    "gets",
    "give",
    "given",
    "goes",
    "handled",
    "handles",
    "happen",
    "happens",
    "has",
    "have",
    "here",
    "how",
    "i",
    "if",
    "implementation",
    "implemented",
    "in",
    "into",
    "is",
    "it",
    "its",
    "just",
    "let",
    "like",
    "line",
    "located",
    "logic",
    "made",
    "makes",
    "may",
    "me",
    "method",
    "my",
    "no",
    "not",
    "of",
    "on",
    "once",
    "one",
    "only",
    "or",
    "our",
    "out",
    "over",
    "part",
    "place",
    "please",
    "project",
    "repo",
    "repository",
    "responsible",
    "same",
    "see",
    "should",
    "show",
    "so",
    "some",
    "something",
    "source",
    "such",
    "take",
    "takes",
    "tell",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "thing",
    "this",
    "those",
    "to",
    "up",
    "us",
    "use",
    "used",
    "uses",
    "using",
    "was",
    "way",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "while",
    "who",
    "why",
    "will",
    "with",
    "work",
    "works",
    "would",
    "you",
    "your",
];

/// True for a word that carries no meaning of its own in a question; lower case.
pub(super) fn is_stop(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}

/// Words that programmers use for one another, whatever the project. A synonym counts less than the word itself.
const SYNONYMS: &[&[&str]] = &[
    &["refuse", "reject", "deny", "decline", "forbid", "disallow"],
    &["damage", "corrupt", "broken", "malformed", "invalid"],
    &["oversized", "large", "big", "huge", "max", "limit", "exceed"],
    &["limit", "bound", "max", "cap", "maximum", "threshold"],
    &["delete", "remove", "drop", "discard", "prune", "evict", "unlink", "clear"],
    &["leave", "outside", "escape", "beyond"],
    &["queue", "pending", "wait", "enqueue", "backlog"],
    &["setting", "option", "config", "preference"],
    &["start", "launch", "spawn", "boot", "begin"],
    &["stop", "cancel", "abort", "interrupt", "shutdown", "kill", "terminate"],
    &["auth", "login", "credential"],
    &["parse", "decode", "deserialize"],
    &["serialize", "encode", "format"],
    &["error", "failure", "fail", "exception"],
    &["create", "make", "new", "build", "construct"],
    &["send", "emit", "publish", "post", "dispatch"],
    &["database", "db", "sqlite", "journal"],
    &["retry", "reconnect", "backoff"],
    &["permission", "approval", "consent"],
    &["redact", "mask", "hide", "secret"],
    &["decide", "decision", "choose", "select", "pick"],
    &["split", "chunk", "divide"],
    &["merge", "combine", "join", "concat"],
    &["hash", "digest", "checksum", "fingerprint"],
    &["show", "display", "render", "print"],
    &["listen", "bind", "accept"],
    &["async", "await", "future"],
    &["thread", "worker", "pool"],
    &["timeout", "deadline", "elapsed"],
    &["compress", "decompress", "gzip", "deflate"],
    &["ignore", "skip", "exclude", "filter"],
    &["find", "search", "lookup"],
    &["grow", "expand", "resize", "capacity"],
    &["convert", "transform", "translate"],
    &["compute", "calculate"],
    &["check", "validate", "verify"],
    &["duplicate", "dupe", "seen", "unique"],
    &["endless", "loop", "cycle", "infinite"],
    &["compare", "diff", "equal"],
    &["replace", "substitute"],
    &["download", "fetch"],
    &["write", "save", "store", "dump"],
    &["notify", "trigger", "signal"],
    &["cache", "memoize"],
    &["order", "sort", "priority"],
    &["fresh", "stale", "expire", "outdated"],
];

/// Spellings of one word: what is shortened in code stands whole in a question.
const SHORTENED: &[&[&str]] = &[
    &["argument", "arg"],
    &["attribute", "attr"],
    &["authentication", "auth"],
    &["buffer", "buf"],
    &["command", "cmd"],
    &["configuration", "config", "conf", "cfg"],
    &["connection", "conn"],
    &["context", "ctx"],
    &["database", "db"],
    &["declaration", "decl"],
    &["dependency", "dep"],
    &["destination", "dest", "dst"],
    &["directory", "dir", "folder"],
    &["document", "doc"],
    &["element", "el", "elem"],
    &["environment", "env"],
    &["error", "err"],
    &["event", "evt"],
    &["expression", "expr"],
    &["identifier", "id", "ident"],
    &["implementation", "impl"],
    &["index", "idx"],
    &["initialize", "init"],
    &["iterator", "iter"],
    &["length", "len"],
    &["maximum", "max"],
    &["memory", "mem"],
    &["message", "msg"],
    &["middleware", "mw"],
    &["minimum", "min"],
    &["number", "num"],
    &["parameter", "param"],
    &["position", "pos"],
    &["previous", "prev"],
    &["process", "proc"],
    &["property", "prop"],
    &["reference", "ref"],
    &["request", "req"],
    &["response", "resp", "res"],
    &["specification", "spec"],
    &["statistic", "stat"],
    &["string", "str"],
    &["synchronize", "sync"],
    &["temporary", "temp", "tmp"],
    &["utility", "util"],
    &["value", "val"],
    &["version", "ver"],
];

/// What stands as two words in a question and as one in code.
const TWO_WORDS: &[(&str, &str, &str)] = &[
    ("command", "line", "cli"),
    ("environment", "variable", "env"),
    ("memory", "map", "mmap"),
    ("regular", "expression", "regex"),
    ("standard", "error", "stderr"),
    ("standard", "input", "stdin"),
    ("standard", "output", "stdout"),
    ("symbolic", "link", "symlink"),
];

/// The stem of what code calls two words that stand side by side, given in lower case.
pub(super) fn as_one_word(first: &str, second: &str) -> Option<String> {
    let (first, second) = (stem(first), stem(second));
    let one = TWO_WORDS.iter().find(|(one, other, _)| stem(one) == first && stem(other) == second)?;
    Some(stem(one.2))
}

/// Stems of the other spellings of a word, given in lower case.
pub(super) fn spellings(word: &str) -> Vec<String> {
    alike(word, SHORTENED)
}

/// Stems of the synonyms of a word, given in lower case.
pub(super) fn synonyms(word: &str) -> Vec<String> {
    alike(word, SYNONYMS)
}

fn alike(word: &str, groups: &[&[&str]]) -> Vec<String> {
    let wanted = stem(word);
    let groups = groups.iter().filter(|group| group.iter().any(|other| stem(other) == wanted));
    let mut found: Vec<String> = groups.flat_map(|group| group.iter().map(|other| stem(other))).collect();
    found.sort();
    found.dedup();
    found.retain(|other| *other != wanted);
    found
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

    #[test]
    fn stop_words_are_sorted_for_the_search_and_synonyms_leave_the_word_out() {
        assert!(STOP.is_sorted());
        assert!(is_stop("where") && is_stop("your") && !is_stop("queue"));
        assert_eq!(synonyms("merging"), ["combin", "concat", "join"]);
    }
}
