//! Reading a unified diff that a model or an engine wrote.
//!
//! Owns the repairs of ruling 20: counts that disagree with the body are recomputed, a missing leading space is put
//! back; each is a warning. Never decides whether the result fits a file: that is `apply`. What git says above the hunks is
//! `git_header`.

use super::git_header::{GitHeader, HeaderChange, Told, paths_of, unquoted};

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
    /// What git says of it beside the hunks.
    pub header: GitHeader,
}

impl FilePatch {
    fn named(old_path: Option<String>, new_path: Option<String>) -> Self {
        Self { old_path, new_path, hunks: Vec::new(), warnings: Vec::new(), header: GitHeader::default() }
    }

    /// Whether it changes anything.
    pub fn says_something(&self) -> bool {
        !self.hunks.is_empty() || self.header.says_something()
    }

    /// Takes what a line above the hunks says.
    fn hear(&mut self, line: &str) {
        match self.header.read(line) {
            Told::OldPath(path) => self.old_path = Some(path),
            Told::NewPath(path) => self.new_path = Some(path),
            Told::Header | Told::Nothing => {}
        }
        match self.header.change {
            HeaderChange::New => self.old_path = None,
            HeaderChange::Deleted => self.new_path = None,
            HeaderChange::Unsaid | HeaderChange::Renamed | HeaderChange::Copied => {}
        }
    }
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
    pub fn edited(&self, lines: &str) -> Result<Self, &'static str> {
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

/// Reads a unified diff. An `Err` is one sentence: there is no change in it, or a hunk header cannot be read.
pub fn parse(diff: &str) -> Result<Vec<FilePatch>, String> {
    let lines: Vec<&str> = diff.split_inclusive('\n').collect();
    let mut files: Vec<FilePatch> = Vec::new();
    // The last file was begun by git, and the lines that name its sides have not come.
    let mut begun = false;
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        if line.starts_with("diff --git ") {
            let (old, new) = paths_of(line).unzip();
            files.push(FilePatch::named(old, new));
            (begun, at) = (true, at + 1);
        } else if line.starts_with("--- ") && lines.get(at + 1).is_some_and(|next| next.starts_with("+++ ")) {
            let (old, new) = (header_path(line, "a/"), header_path(lines[at + 1], "b/"));
            match files.last_mut().filter(|_| begun) {
                Some(file) if file.header.change == HeaderChange::Renamed => {}
                Some(file) => (file.old_path, file.new_path) = (old, new),
                None => files.push(FilePatch::named(old, new)),
            }
            (begun, at) = (false, at + 2);
        } else if line.starts_with("@@") {
            begun = false;
            if files.is_empty() {
                let warnings = vec!["The diff has no file header.".to_owned()];
                files.push(FilePatch { warnings, ..FilePatch::named(None, None) });
            }
            let last = files.len() - 1;
            at = read_hunk(&lines, at, &mut files[last])?;
        } else {
            if let Some(file) = files.last_mut().filter(|_| begun) {
                file.hear(line);
            }
            at += 1;
        }
    }
    if !files.iter().any(FilePatch::says_something) {
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
    let path = unquoted(rest.split('\t').next().unwrap_or(rest));
    let path = path.trim_matches('"');
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
                header: GitHeader::default(),
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
    fn r002_78_what_git_says_without_hunks_is_read_file_by_file() {
        let diff = "diff --git a/old name b/new name\nsimilarity index 100%\nrename from old name\nrename to new name\n\
                    diff --git a/tool.sh b/tool.sh\nold mode 100644\nnew mode 100755\n\
                    diff --git a/empty b/empty\nnew file mode 100644\nindex 0000000..e69de29\n\
                    diff --git a/logo.png b/logo.png\nindex 1..2 100644\nBinary files a/logo.png and b/logo.png differ\n\
                    diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
                    diff --git a/m b/n\nsimilarity index 90%\nrename from m\nrename to n\n--- a/m\n+++ b/n\n@@ -1 +1 @@\n-x\n+y\n";
        let files = parse(diff).unwrap();
        let seen: Vec<_> = files
            .iter()
            .map(|file| {
                let names = (file.old_path.as_deref(), file.new_path.as_deref());
                (
                    names,
                    file.header.change,
                    file.header.new_mode.as_deref(),
                    file.header.is_binary,
                    file.hunks.len(),
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                ((Some("old name"), Some("new name")), HeaderChange::Renamed, None, false, 0),
                ((Some("tool.sh"), Some("tool.sh")), HeaderChange::Unsaid, Some("100755"), false, 0),
                ((None, Some("empty")), HeaderChange::New, Some("100644"), false, 0),
                ((Some("logo.png"), Some("logo.png")), HeaderChange::Unsaid, None, true, 0),
                ((Some("gone"), None), HeaderChange::Deleted, None, false, 1),
                ((Some("m"), Some("n")), HeaderChange::Renamed, None, false, 1),
            ]
        );
    }

    /// The example of seed 002, malformed twice: it is read by ruling 20, and what was repaired is said.
    #[test]
    fn r002_84_the_seeds_own_example_is_read_and_both_repairs_are_said() {
        let diff = "--- a/src/validation.ts\n+++ b/src/validation.ts\n@@ -10,5 +10,8 @@\n export function v(x) {\n+  if (!x) {\n\
                    +    throw new Error('x');\n+  }\n}\n";
        let files = parse(diff).unwrap();
        let kinds: Vec<LineKind> = files[0].hunks[0].lines.iter().map(|line| line.kind).collect();
        use LineKind::{Added, Context};
        assert_eq!(kinds, [Context, Added, Added, Added, Context]);
        assert_eq!(
            files[0].warnings,
            [
                "Hunk 1: 1 context line(s) had no leading space.",
                "Hunk 1: the header says -5 +8 lines, the body has -2 +5."
            ]
        );
    }

    #[test]
    fn what_is_no_diff_is_refused_with_a_sentence() {
        assert_eq!(parse("hello"), Err("This is no unified diff: it has no `@@` hunk.".to_owned()));
    }
}
