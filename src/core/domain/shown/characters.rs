//! Which characters cannot be shown as they are, and where.
//!
//! Owns the classes: what hides, what moves other text, what looks like ASCII and is not. Never writes a text.

use super::Kind;
use super::confusable::imitates_ascii;

/// Combining marks in a row that a letter of a living language may have; more of them cover the lines around.
const MARKS: usize = 4;

/// What is known of the run of letters and digits that a character stands in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// It has a letter of the Latin script.
    latin: bool,
    /// It has letters or digits beyond ASCII, and each of them can be taken for ASCII.
    imitates: bool,
}

impl Word {
    /// Looks at a word: a run of letters, digits and the marks on them.
    pub(super) fn of(chars: &[char]) -> Self {
        let mut foreign = chars.iter().filter(|c| !c.is_ascii() && c.is_alphanumeric()).peekable();
        Self {
            latin: chars.iter().copied().any(is_latin),
            imitates: foreign.peek().is_some() && foreign.all(|c| imitates_ascii(*c)),
        }
    }
}

/// Whether a word goes on with this character.
pub(super) fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || (!c.is_ascii() && is_mark(c))
}

/// Whether the character at `at` must be written as its code point.
pub(super) fn is_marked(chars: &[char], at: usize, word: Word, kind: Kind) -> bool {
    let Some(&c) = chars.get(at) else { return false };
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    let before = at.checked_sub(1).and_then(|at| chars.get(at)).copied();
    let after = chars.get(at + 1).copied();
    let strict = kind == Kind::Code;
    if hides(c) {
        return strict || !is_joined(c, before, after);
    }
    if is_private(c) {
        return kind != Kind::Lines;
    }
    if c.is_whitespace() {
        // Languages put such spaces between words; beside another one they push text away.
        let alone = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace());
        let known = matches!(c, '\u{a0}' | '\u{202f}' | '\u{3000}');
        return strict || !(known && alone(before) && alone(after));
    }
    if is_mark(c) {
        return strict || marks_before(chars, at) >= MARKS || before.is_none_or(char::is_whitespace);
    }
    if strict && is_another_spelling(c) {
        return true;
    }
    if matches!(c, '\u{2329}' | '\u{232a}' | '\u{276c}' | '\u{276d}') {
        // They look like the brackets of our own marks.
        return true;
    }
    if c == '…' && after.is_none() {
        // The mark of a title that was cut.
        return false;
    }
    if c.is_alphanumeric() {
        imitates_ascii(c) && misleads_in(c, word, kind)
    } else {
        let imitates = imitates_ascii(c) || is_wide_ascii(c);
        let between = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        if strict { imitates } else { separates(c) && between(before) && between(after) }
    }
}

/// Whether a letter or digit that can be taken for ASCII is taken for it here.
fn misleads_in(c: char, word: Word, kind: Kind) -> bool {
    match kind {
        // Two letters that people write as one.
        Kind::Code if matches!(c, 'æ' | 'œ' | 'Æ' | 'Œ') => false,
        Kind::Code => is_latin(c) || word.latin || word.imitates,
        // Some languages mix these scripts with Latin in one word, and Latin letters are nobody's disguise in a sentence.
        Kind::Sentence | Kind::Lines => word.latin && !is_latin(c) && !is_east_asian(c),
    }
}

/// Not seen, or moves what stands around it: controls, directions, joiners, fillers, variation selectors, tags, and code
/// points that are no characters. Default_Ignorable_Code_Point of Unicode, the format characters beside it, and letters that
/// are drawn as nothing.
fn hides(c: char) -> bool {
    let u = u32::from(c);
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}'
                | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffc}'
                | '\u{13430}'..='\u{1343f}' | '\u{16fe4}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}'
                | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
        || u & 0xfffe == 0xfffe
}

/// Whether it may join what stands around it, so that what comes next decides how it is shown.
pub(super) fn joins(c: char) -> bool {
    !c.is_ascii() && (hides(c) || c.is_whitespace())
}

/// Whether an unseen character does what it is for: it makes one picture of two, chooses a picture over a sign, or joins
/// letters of a script that needs it.
fn is_joined(c: char, before: Option<char>, after: Option<char>) -> bool {
    let picture = |c: Option<char>| c.is_some_and(is_picture);
    let letter = |c: Option<char>| c.is_some_and(|c| matches!(c, '\u{600}'..='\u{dff}'));
    match c {
        '\u{fe0f}' => picture(before),
        '\u{200d}' => {
            (before == Some('\u{fe0f}') || picture(before)) && picture(after)
                || letter(before) && letter(after)
        }
        '\u{200c}' => letter(before) && letter(after),
        _ => false,
    }
}

fn is_picture(c: char) -> bool {
    matches!(
        c,
        '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2194}'..='\u{21aa}' | '\u{231a}'..='\u{23ff}' | '\u{24c2}'
            | '\u{25aa}'..='\u{25fe}' | '\u{2600}'..='\u{27bf}' | '\u{2934}' | '\u{2935}' | '\u{2b05}'..='\u{2b55}'
            | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}'
    )
}

/// What it shows depends on the font.
fn is_private(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

/// Marks that are drawn on the letter before them. With them one word has two spellings that look the same.
fn is_mark(c: char) -> bool {
    matches!(
        c,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
            | '\u{20d0}'..='\u{20ff}' | '\u{3099}' | '\u{309a}' | '\u{fe20}'..='\u{fe2f}'
    )
}

fn marks_before(chars: &[char], at: usize) -> usize {
    chars.get(..at).unwrap_or_default().iter().rev().take(MARKS).take_while(|c| is_mark(**c)).count()
}

/// Another code point for a character that has a usual one, drawn the same: canonical equivalents and parts of Hangul.
fn is_another_spelling(c: char) -> bool {
    matches!(
        c,
        '\u{374}' | '\u{37e}' | '\u{387}' | '\u{1100}'..='\u{11ff}' | '\u{1f71}' | '\u{1f73}' | '\u{1f75}' | '\u{1f77}'
            | '\u{1f79}' | '\u{1f7b}' | '\u{1f7d}' | '\u{1fbb}' | '\u{1fbe}' | '\u{1fc9}' | '\u{1fcb}' | '\u{1fd3}'
            | '\u{1fdb}' | '\u{1fe3}' | '\u{1feb}' | '\u{1fee}' | '\u{1fef}' | '\u{1ff9}' | '\u{1ffb}' | '\u{1ffd}'
            | '\u{2126}' | '\u{212a}' | '\u{212b}' | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}'
    )
}

fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic()
        || (matches!(
            c,
            '\u{aa}' | '\u{ba}' | '\u{c0}'..='\u{2af}' | '\u{1e00}'..='\u{1eff}' | '\u{2c60}'..='\u{2c7f}'
                | '\u{a720}'..='\u{a7ff}' | '\u{ab30}'..='\u{ab6f}'
        ) && !matches!(c, '×' | '÷'))
}

fn is_east_asian(c: char) -> bool {
    matches!(
        c,
        '\u{1100}'..='\u{11ff}' | '\u{3005}'..='\u{3007}' | '\u{3031}'..='\u{9fff}' | '\u{ac00}'..='\u{d7ff}'
            | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'
    )
}

/// ASCII as East Asian typography draws it.
fn is_wide_ascii(c: char) -> bool {
    matches!(c, '\u{fe50}'..='\u{fe6b}' | '\u{ff01}'..='\u{ff5e}')
}

/// Looks like what separates the parts of a path, a name or a command.
fn separates(c: char) -> bool {
    matches!(
        c,
        '\u{2d0}'
            | '\u{2f8}'
            | '\u{37e}'
            | '\u{589}'
            | '\u{5c3}'
            | '\u{2024}'
            | '\u{2041}'
            | '\u{2044}'
            | '\u{205a}'
            | '\u{2215}'
            | '\u{2216}'
            | '\u{2236}'
            | '\u{2571}'
            | '\u{2572}'
            | '\u{27cb}'
            | '\u{27cd}'
            | '\u{29f5}'
            | '\u{29f8}'
            | '\u{29f9}'
            | '\u{2f03}'
            | '\u{a4f8}'
            | '\u{a789}'
            | '\u{fe30}'
            | '\u{fe52}'
            | '\u{fe54}'
            | '\u{fe55}'
            | '\u{fe68}'
            | '\u{ff06}'
            | '\u{ff0e}'
            | '\u{ff0f}'
            | '\u{ff1a}'
            | '\u{ff1b}'
            | '\u{ff3c}'
            | '\u{ff5c}'
    )
}
