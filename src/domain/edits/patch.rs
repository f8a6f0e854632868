//! Reading a unified diff that a model or an engine wrote.
//!
//! Owns the repairs of ruling 20: counts that disagree with the body are recomputed, a missing leading space is put
//! back; each is a warning. Never decides whether the result fits a file: that is `apply`.

/// A diff, file by file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// Path before, without `a/`; `None` for a new file.
    pub old_path: Option<String>,
    /// Path after, without `b/`; `None` for a deleted file.
    pub new_path: Option<String>,
    /// Hunks in order.
    pub hunks: Vec<Hunk>,
    /// What had to be repaired, one sentence each.
    pub warnings: Vec<String>,
}

/// One hunk, its counts those of its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// First line before, from 1; 0 for an empty file.
    pub old_start: u64,
    /// First line after.
    pub new_start: u64,
    /// The body.
    pub lines: Vec<HunkLine>,
}

/// What a body line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Stays.
    Context,
    /// Goes.
    Removed,
    /// Comes.
    Added,
}

/// One body line; `text` has its line end, or none where the diff says that there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkLine {
    /// What it says.
    pub kind: LineKind,
    /// The line.
    pub text: String,
}

impl Hunk {
    /// The lines that must be there before.
    pub fn old_lines(&self) -> impl Iterator<Item = &HunkLine> {
        self.lines.iter().filter(|line| line.kind != LineKind::Added)
    }

    /// The hunk that a person made of this one, from its lines with their ` `, `-` or `+`. What must be there before stays:
    /// it says where the hunk belongs. An `Err` is one sentence.
    pub(crate) fn edited(&self, lines: &str) -> Result<Self, &'static str> {
        let old_lines = self.old_lines().count();
        let header = format!("@@ -{},{old_lines} +{},1 @@\n", self.old_start, self.new_start);
        let mut files = parse(&format!("{header}{lines}")).map_err(|_| NO_HUNK)?;
        let mut edited = match files.as_mut_slice() {
            [FilePatch { hunks, .. }] if hunks.len() == 1 => hunks.pop().ok_or(NO_HUNK)?,
            _ => return Err(NO_HUNK),
        };
        let crlf = self.lines.iter().all(|line| !line.text.ends_with('\n') || line.text.ends_with("\r\n"));
        let before: Vec<&str> = self.old_lines().map(|line| line.text.as_str()).collect();
        let mut at = 0;
        for line in &mut edited.lines {
            if line.kind != LineKind::Added {
                let was = before.get(at).ok_or(OTHER_PLACE)?;
                if bare(was) != bare(&line.text) {
                    return Err(OTHER_PLACE);
                }
                (*was).clone_into(&mut line.text);
                at += 1;
            } else if crlf && line.text.ends_with('\n') && !line.text.ends_with("\r\n") {
                line.text.insert(line.text.len() - 1, '\r');
            }
        }
        if at != before.len() {
            return Err(OTHER_PLACE);
        }
        if edited.lines.iter().all(|line| line.kind == LineKind::Context) {
            return Err(NOTHING_CHANGED);
        }
        Ok(edited)
    }

    /// The hunk that takes this one back.
    pub fn reversed(self) -> Self {
        let turned = |line: HunkLine| HunkLine {
            kind: match line.kind {
                LineKind::Context => LineKind::Context,
                LineKind::Removed => LineKind::Added,
                LineKind::Added => LineKind::Removed,
            },
            ..line
        };
        Self {
            old_start: self.new_start,
            new_start: self.old_start,
            lines: self.lines.into_iter().map(turned).collect(),
        }
    }
}

const NO_HUNK: &str =
    "It is no change any more: each line must begin with a space, `-` or `+`, without a second `@@` line.";
const OTHER_PLACE: &str = "The lines that begin with a space or `-` must stay as they were, since they say where the change belongs; make a `-` a space to keep its line.";
const NOTHING_CHANGED: &str = "It changes nothing any more; leave it out instead.";

/// Reads a unified diff. An `Err` is one sentence: there is no hunk in it, or a hunk header cannot be read.
pub fn parse(diff: &str) -> Result<Vec<FilePatch>, String> {
    let lines: Vec<&str> = diff.split_inclusive('\n').collect();
    let mut files: Vec<FilePatch> = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        if line.starts_with("--- ") && lines.get(at + 1).is_some_and(|next| next.starts_with("+++ ")) {
            files.push(FilePatch {
                old_path: header_path(line, "a/"),
                new_path: header_path(lines[at + 1], "b/"),
                hunks: Vec::new(),
                warnings: Vec::new(),
            });
            at += 2;
        } else if line.starts_with("@@") {
            let file = match files.last_mut() {
                Some(file) => file,
                None => {
                    files.push(FilePatch {
                        old_path: None,
                        new_path: None,
                        hunks: Vec::new(),
                        warnings: vec!["The diff has no file header.".to_owned()],
                    });
                    let last = files.len() - 1;
                    &mut files[last]
                }
            };
            at = read_hunk(&lines, at, file)?;
        } else {
            at += 1;
        }
    }
    if files.iter().all(|file| file.hunks.is_empty()) {
        return Err("This is no unified diff: it has no `@@` hunk.".to_owned());
    }
    Ok(files)
}

/// Reads the hunk that begins at `at`; gives the place after it.
fn read_hunk(lines: &[&str], at: usize, file: &mut FilePatch) -> Result<usize, String> {
    let number = file.hunks.len() + 1;
    let Some(header) = hunk_header(lines[at]) else {
        return Err(format!(
            "The header of hunk {number} cannot be read; it must be `@@ -start,lines +start,lines @@`."
        ));
    };
    let mut body = HunkBody::of(header);
    let mut next = at + 1;
    while let Some(line) = lines.get(next)
        && !body.ends_before(lines, next)
    {
        body.take(line);
        next += 1;
    }
    if body.lines.is_empty() {
        return Err(format!("Hunk {number} is empty."));
    }
    file.warnings.extend(body.warnings(number));
    file.hunks.push(Hunk { old_start: header.old_start, new_start: header.new_start, lines: body.lines });
    Ok(next)
}

/// What the header of a hunk says.
#[derive(Clone, Copy)]
struct HunkHeader {
    old_start: u64,
    old_lines: u64,
    new_start: u64,
    new_lines: u64,
}

/// The lines of a hunk so far.
struct HunkBody {
    header: HunkHeader,
    lines: Vec<HunkLine>,
    old_seen: u64,
    new_seen: u64,
    /// Context lines without their leading space.
    repaired: u64,
    /// Blank lines after a complete hunk are either its badly written context or only space before the next file.
    blanks: usize,
}

impl HunkBody {
    fn of(header: HunkHeader) -> Self {
        Self { header, lines: Vec::new(), old_seen: 0, new_seen: 0, repaired: 0, blanks: 0 }
    }

    fn is_complete(&self) -> bool {
        self.old_seen >= self.header.old_lines && self.new_seen >= self.header.new_lines
    }

    /// Whether the line at `next` belongs to the hunk no more.
    fn ends_before(&self, lines: &[&str], next: usize) -> bool {
        let line = lines[next];
        if line.starts_with("@@ ") || line.starts_with("diff --git ") {
            return true;
        }
        let HunkHeader { old_lines, new_lines, .. } = self.header;
        if is_file_header(lines, next) && !(self.old_seen + 1 == old_lines && self.new_seen + 1 == new_lines)
        {
            return true;
        }
        self.is_complete() && bare(line) == "```"
    }

    fn take(&mut self, line: &str) {
        if line.starts_with('\\') {
            if let Some(last) = self.lines.last_mut() {
                drop_line_end(&mut last.text);
            }
            return;
        }
        if bare(line).is_empty() && self.is_complete() {
            self.blanks += 1;
            return;
        }
        for _ in 0..std::mem::take(&mut self.blanks) {
            self.repaired += 1;
            self.put(LineKind::Context, "\n");
        }
        match line.as_bytes().first() {
            Some(b'+') => self.put(LineKind::Added, &line[1..]),
            Some(b'-') => self.put(LineKind::Removed, &line[1..]),
            Some(b' ') => self.put(LineKind::Context, &line[1..]),
            Some(_) | None => {
                self.repaired += 1;
                self.put(LineKind::Context, line);
            }
        }
    }

    fn put(&mut self, kind: LineKind, text: &str) {
        self.old_seen += u64::from(kind != LineKind::Added);
        self.new_seen += u64::from(kind != LineKind::Removed);
        let mut text = text.to_owned();
        if !text.ends_with('\n') {
            // Only the last line of the diff itself: the diff was cut at its end, not the file.
            text.push('\n');
        }
        self.lines.push(HunkLine { kind, text });
    }

    /// What had to be repaired, and where the header was wrong.
    fn warnings(&self, number: usize) -> Vec<String> {
        let Self { header, old_seen, new_seen, repaired, .. } = self;
        let HunkHeader { old_lines, new_lines, .. } = header;
        let mut warnings = Vec::new();
        if *repaired > 0 {
            warnings.push(format!("Hunk {number}: {repaired} context line(s) had no leading space."));
        }
        if (old_seen, new_seen) != (old_lines, new_lines) {
            warnings.push(format!(
                "Hunk {number}: the header says -{old_lines} +{new_lines} lines, the body has -{old_seen} +{new_seen}."
            ));
        }
        warnings
    }
}

fn bare(line: &str) -> &str {
    line.trim_end_matches(['\n', '\r'])
}

/// `--- x`, `+++ y`, `@@` in a row. The same could be a removed `-- x` and an added `++ y` before the next hunk; the
/// caller knows the counts.
fn is_file_header(lines: &[&str], at: usize) -> bool {
    let starts =
        |offset: usize, mark: &str| lines.get(at + offset).is_some_and(|line| line.starts_with(mark));
    starts(0, "--- ") && starts(1, "+++ ") && starts(2, "@@")
}

fn hunk_header(line: &str) -> Option<HunkHeader> {
    let rest = line.strip_prefix("@@")?.trim_start();
    let (ranges, _) = rest.split_once("@@")?;
    let mut parts = ranges.split_whitespace();
    let (old_start, old_lines) = range(parts.next()?.strip_prefix('-')?)?;
    let (new_start, new_lines) = range(parts.next()?.strip_prefix('+')?)?;
    Some(HunkHeader { old_start, old_lines, new_start, new_lines })
}

fn range(text: &str) -> Option<(u64, u64)> {
    match text.split_once(',') {
        Some((start, lines)) => Some((start.parse().ok()?, lines.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

fn header_path(line: &str, side: &str) -> Option<String> {
    let rest = line.get(4..)?.trim_end_matches(['\n', '\r']);
    let path = rest.split('\t').next().unwrap_or(rest).trim_matches('"');
    (path != "/dev/null").then(|| path.strip_prefix(side).unwrap_or(path).to_owned())
}

/// An empty line without an end would be no line, so there the marker is taken for none.
fn drop_line_end(text: &mut String) {
    if text.len() > 1 && text.ends_with('\n') {
        text.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: LineKind, text: &str) -> HunkLine {
        HunkLine { kind, text: text.to_owned() }
    }

    #[test]
    fn r002_84_wrong_counts_are_recomputed_and_said() {
        let files = parse("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\n-b\n+c\n").unwrap();
        assert_eq!(
            files,
            vec![FilePatch {
                old_path: Some("x".to_owned()),
                new_path: Some("x".to_owned()),
                hunks: vec![Hunk {
                    old_start: 1,
                    new_start: 1,
                    lines: vec![
                        line(LineKind::Context, "a\n"),
                        line(LineKind::Removed, "b\n"),
                        line(LineKind::Added, "c\n")
                    ]
                }],
                warnings: vec!["Hunk 1: the header says -9 +9 lines, the body has -2 +2.".to_owned()],
            }]
        );
    }

    #[test]
    fn r002_84_a_missing_leading_space_is_repaired_and_said() {
        let files = parse("--- a/x\n+++ b/x\n@@ -1,4 +1,4 @@\nfn a() {\n\n-b\n+c\n }\n").unwrap();
        let lines = &files[0].hunks[0].lines;
        assert_eq!(lines[..2], [line(LineKind::Context, "fn a() {\n"), line(LineKind::Context, "\n")]);
        assert_eq!(files[0].warnings, vec!["Hunk 1: 2 context line(s) had no leading space.".to_owned()]);
    }

    #[test]
    fn a_removed_line_that_looks_like_a_header_stays_a_removed_line() {
        let diff = "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n--- old\n+++ new\n@@ -9,1 +9,1 @@\n-p\n+q\n";
        let files = parse(diff).unwrap();
        assert_eq!((files.len(), files[0].hunks.len()), (1, 2));
        assert_eq!(
            files[0].hunks[0].lines,
            vec![line(LineKind::Removed, "-- old\n"), line(LineKind::Added, "++ new\n")]
        );
    }

    #[test]
    fn a_line_without_line_end_is_read_as_such() {
        let files = parse("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n").unwrap();
        assert_eq!(files[0].hunks[0].lines, vec![line(LineKind::Removed, "a"), line(LineKind::Added, "a\n")]);
        assert_eq!(files[0].warnings, Vec::<String>::new());
    }

    #[test]
    fn an_empty_line_keeps_its_line_end_whatever_is_said_of_it() {
        let files = parse("--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n\n\\ No newline at end of file\n").unwrap();
        assert_eq!(
            files[0].hunks[0].lines,
            vec![line(LineKind::Removed, "a\n"), line(LineKind::Context, "\n")]
        );
    }

    #[test]
    fn two_files_and_git_lines_between_them() {
        let diff = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\
                    diff --git a/y b/y\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+n\n";
        let files = parse(diff).unwrap();
        let paths: Vec<_> = files.iter().map(|f| (f.old_path.as_deref(), f.new_path.as_deref())).collect();
        assert_eq!(paths, vec![(Some("x"), Some("x")), (None, Some("y"))]);
    }

    #[test]
    fn what_is_no_diff_is_refused_with_a_sentence() {
        assert_eq!(parse("hello"), Err("This is no unified diff: it has no `@@` hunk.".to_owned()));
    }
}
