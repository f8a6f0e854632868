//! Markdown of an answer as text for a terminal, block by block.
//!
//! Owns when a block is whole and how it looks. A block is drawn once, when nothing can change it any more: at the blank line
//! behind it, and within a fence at the end of each line. Lines stay where the answer has them, so the width of the terminal matters
//! to tables alone (`table`). Takes text that is safe to show, and gives such. Never erases anything.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::super::terminal::{marked, width};
use super::places::Places;
use super::table;

/// Bytes of a block that is waited for. One that is longer is shown as it is.
const LONGEST: usize = 64 << 10;

/// Spaces that stand between two words, which the next text may begin with.
const JOINING: [char; 3] = ['\u{a0}', '\u{202f}', '\u{3000}'];

const BOLD: &str = "1";
const DIM: &str = "2";
const ITALIC: &str = "3";
const UNDERLINED: &str = "4";
const CODE: &str = "36";

/// The answer so far.
#[derive(Debug, Default)]
pub(super) struct Markdown {
    /// What is not drawn yet: whole lines of a block, and the start of a line.
    pending: String,
    /// The fence that is open: its character and how many.
    fence: Option<(char, usize)>,
    /// Within a block that is too long to be waited for.
    too_long: bool,
    places: Places,
}

impl Markdown {
    /// An answer whose places in files are links.
    pub(super) fn with(places: Places) -> Self {
        Self { places, ..Self::default() }
    }

    /// Nothing waits to be drawn.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// More of the answer; what can be drawn now.
    pub(super) fn push(&mut self, text: &str) -> String {
        let mut drawn = String::new();
        for piece in text.split_inclusive('\n') {
            self.pending.push_str(piece);
            if piece.ends_with('\n') {
                self.line_ended(&mut drawn);
            }
        }
        self.places.linked(drawn)
    }

    /// The answer, or this part of it, is at its end.
    pub(super) fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.pending);
        let drawn = if self.fence.is_some() { in_fence(&rest) } else { block(&rest) };
        (self.fence, self.too_long) = (None, false);
        self.places.linked(drawn)
    }

    fn line_ended(&mut self, drawn: &mut String) {
        let before = self.pending.strip_suffix('\n').unwrap_or(&self.pending);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = self.pending.get(start..).unwrap_or_default().to_owned();
        if let Some(open) = self.fence {
            self.pending.clear();
            if closes(&line, open) {
                self.fence = None;
                drawn.push_str(&painted(DIM, &line));
            } else {
                drawn.push_str(&in_fence(&line));
            }
            return;
        }
        if let Some(fence) = opens(&line) {
            let before = self.pending.get(..start).unwrap_or_default();
            drawn.push_str(&block(before));
            drawn.push_str(&painted(DIM, &line));
            self.pending.clear();
            (self.fence, self.too_long) = (Some(fence), false);
            return;
        }
        if line.trim().is_empty() {
            let whole = std::mem::take(&mut self.pending);
            drawn.push_str(&if self.too_long { whole } else { block(&whole) });
            self.too_long = false;
        } else if self.too_long || self.pending.len() > LONGEST {
            self.too_long = true;
            drawn.push_str(&std::mem::take(&mut self.pending));
        }
    }
}

/// The fence that this line opens.
fn opens(line: &str) -> Option<(char, usize)> {
    let line = line.trim();
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let count = line.chars().take_while(|letter| *letter == mark).count();
    let info = line.get(count..).unwrap_or_default();
    (count >= 3 && !(mark == '`' && info.contains('`'))).then_some((mark, count))
}

fn closes(line: &str, (mark, count): (char, usize)) -> bool {
    let line = line.trim();
    line.len() >= count && line.chars().all(|letter| letter == mark)
}

/// Lines within a fence.
fn in_fence(lines: &str) -> String {
    painted(CODE, lines)
}

/// Whole lines in a colour; their ends stay outside of it.
fn painted(code: &str, lines: &str) -> String {
    let mut painted = String::new();
    for line in lines.split_inclusive('\n') {
        let text = line.trim_end_matches('\n');
        if text.is_empty() {
            painted.push_str(line);
        } else {
            painted.push_str(&format!("\x1b[{code}m{text}\x1b[0m"));
            painted.push_str(line.get(text.len()..).unwrap_or_default());
        }
    }
    painted
}

/// One block, with the line ends behind it as they are.
fn block(source: &str) -> String {
    let text = source.trim_end_matches(['\n', ' ']);
    let end = source.get(text.len()..).unwrap_or_default();
    // What would be code by its indentation belongs to an item of a list before it, most times; definitions draw nothing.
    let as_it_is = text.trim().is_empty()
        || text.starts_with("    ")
        || text.starts_with('\t')
        || text.lines().any(|line| line.trim_start().starts_with('[') && line.contains("]:"));
    if as_it_is {
        return source.to_owned();
    }
    if let Some(table) = table::aligned(text, width(), in_cell) {
        return format!("{table}{end}");
    }
    let drawn = drawn(text);
    let drawn = drawn.trim_end_matches('\n');
    if drawn.trim().is_empty() { source.to_owned() } else { format!("{drawn}{end}") }
}

fn drawn(text: &str) -> String {
    let mut draft = BlockDraft::default();
    for event in Parser::new_ext(text, Options::empty()) {
        draft.event(event);
    }
    draft.text
}

/// The text of a cell, in which nothing begins a block: so it stands behind a word.
fn in_cell(text: &str) -> String {
    let drawn = drawn(&format!("x {text}"));
    let drawn = drawn.trim_end_matches('\n').strip_prefix("x").unwrap_or(text).trim_start();
    drawn.replace('\n', " ")
}

/// A block as it is drawn.
#[derive(Default)]
struct BlockDraft {
    text: String,
    /// The styles that hold, outermost first.
    styles: Vec<&'static str>,
    /// The next number of each list that is open; `None` in one without.
    lists: Vec<Option<u64>>,
    quotes: usize,
    /// Where the links that are open lead, and where their text begins.
    links: Vec<(String, usize)>,
}

impl BlockDraft {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.words(&text),
            Event::Code(code) => {
                self.style(CODE);
                self.words(&code);
                self.unstyle();
            }
            Event::SoftBreak | Event::HardBreak => self.new_line(),
            Event::Rule => {
                self.begin_line();
                self.style(DIM);
                self.words("────────");
                self.unstyle();
                self.new_line();
            }
            // Not asked for of the parser.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.words(&text);
            }
            Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock | Tag::CodeBlock(_) => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                self.style(BOLD);
                if level == HeadingLevel::H1 {
                    self.style(UNDERLINED);
                }
            }
            Tag::BlockQuote(_) => {
                self.begin_line();
                self.quotes += 1;
            }
            Tag::List(first) => {
                self.lists.push(first);
            }
            Tag::Item => {
                self.begin_line();
                let depth = self.lists.len().saturating_sub(1);
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    Some(None) | None => "• ".to_owned(),
                };
                self.margin(depth);
                self.text.push_str(&mark);
            }
            Tag::Emphasis => self.style(ITALIC),
            Tag::Strong => self.style(BOLD),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((marked(&dest_url).into_owned(), self.text.len()));
                self.style(UNDERLINED);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::Item | TagEnd::HtmlBlock | TagEnd::CodeBlock => self.begin_line(),
            TagEnd::Heading(level) => {
                self.unstyle();
                if level == HeadingLevel::H1 {
                    self.unstyle();
                }
                self.begin_line();
            }
            TagEnd::BlockQuote(_) => {
                self.begin_line();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Emphasis | TagEnd::Strong => self.unstyle(),
            TagEnd::Link | TagEnd::Image => {
                self.unstyle();
                // An address that is its own text is said once.
                if let Some((address, from)) = self.links.pop()
                    && !self.text.get(from..).unwrap_or_default().contains(&address)
                {
                    self.text.push_str(&format!(" ({address})"));
                }
            }
            _ => {}
        }
    }

    /// Text of the answer, which was made safe. Entities may stand for what a terminal obeys, so that is written out once more; a
    /// space between this text and the next one is not.
    fn words(&mut self, text: &str) {
        let (before, inner) =
            text.split_at(text.strip_prefix(JOINING).map_or(0, |rest| text.len() - rest.len()));
        let (inner, behind) = inner.split_at(inner.strip_suffix(JOINING).map_or(inner.len(), str::len));
        let shown = format!("{before}{}{behind}", marked(inner));
        for (at, line) in shown.split('\n').enumerate() {
            if at > 0 {
                self.new_line();
            }
            if !line.is_empty() {
                self.margin_of_line();
                self.text.push_str(line);
            }
        }
    }

    fn style(&mut self, code: &'static str) {
        self.margin_of_line();
        self.styles.push(code);
        self.text.push_str(&format!("\x1b[{code}m"));
    }

    /// The innermost style ends; those around it hold on.
    fn unstyle(&mut self) {
        self.styles.pop();
        self.text.push_str("\x1b[0m");
        for code in &self.styles {
            self.text.push_str(&format!("\x1b[{code}m"));
        }
    }

    fn begin_block(&mut self) {
        // The first block of an item stands behind its mark.
        if !self.text.ends_with("• ") && !self.text.ends_with(". ") {
            self.begin_line();
        }
    }

    fn begin_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.new_line();
        }
    }

    fn new_line(&mut self) {
        self.text.push('\n');
    }

    /// What stands before the text of a line.
    fn margin_of_line(&mut self) {
        self.margin(self.lists.len());
    }

    /// The marks of quotes, and the indentation of this many lists.
    fn margin(&mut self, lists: usize) {
        if self.text.is_empty() || self.text.ends_with('\n') {
            self.text.push_str(&"│ ".repeat(self.quotes));
            self.text.push_str(&"  ".repeat(lists));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        let mut markdown = Markdown::default();
        let mut drawn = markdown.push(text);
        drawn.push_str(&markdown.finish());
        drawn
    }

    /// What stays without colours.
    fn plain(text: &str) -> String {
        let mut plain = String::new();
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            if letter == '\x1b' {
                letters.by_ref().find(|end| *end == 'm');
            } else {
                plain.push(letter);
            }
        }
        plain
    }

    #[test]
    fn each_kind_of_block_has_its_look() {
        for (source, wanted) in [
            ("plain\nlines\n", "plain\nlines\n"),
            ("# Title\ntext", "\x1b[1m\x1b[4mTitle\x1b[0m\x1b[1m\x1b[0m\ntext"),
            ("## Part\n\ntext\n", "\x1b[1mPart\x1b[0m\n\ntext\n"),
            ("a *b* **c** `d`", "a \x1b[3mb\x1b[0m \x1b[1mc\x1b[0m \x1b[36md\x1b[0m"),
            ("**a *b* c**", "\x1b[1ma \x1b[3mb\x1b[0m\x1b[1m c\x1b[0m"),
            ("- a\n  more\n- b\n  - c\n\n1. x\n2. y\n", "• a\n  more\n• b\n  • c\n\n1. x\n2. y\n"),
            ("> said\n> so\n", "│ said\n│ so\n"),
            (
                "```rust\nfn *a*() {}\n\n```\nafter",
                "\x1b[2m```rust\x1b[0m\n\x1b[36mfn *a*() {}\x1b[0m\n\n\x1b[2m```\x1b[0m\nafter",
            ),
            ("[a](http://h/p) <http://h>", "\x1b[4ma\x1b[0m (http://h/p) \x1b[4mhttp://h\x1b[0m"),
            ("a\n\n---\n\nb", "a\n\n\x1b[2m────────\x1b[0m\n\nb"),
            (
                "| a | b |\n|---|--:|\n| 1. | `x` |\n\nafter",
                "| a   |   b |\n|-----|----:|\n| 1.  |   \x1b[36mx\x1b[0m |\n\nafter",
            ),
            ("[a]: http://h\n", "[a]: http://h\n"),
            ("<b>x</b>\n", "<b>x</b>\n"),
            ("&#27;[2J", "⟨U+001B⟩[2J"),
            ("", ""),
        ] {
            assert_eq!(shown(source), wanted, "{source:?}");
        }
    }

    #[test]
    fn a_block_is_drawn_when_it_is_whole_and_code_line_by_line() {
        let mut markdown = Markdown::default();
        assert_eq!(markdown.push("some *te"), "");
        assert_eq!(markdown.push("xt*\n"), "");
        assert_eq!(markdown.push("\n`` "), "some \x1b[3mtext\x1b[0m\n\n");
        assert_eq!(markdown.finish(), "`` ");
        assert_eq!(markdown.push("```\nlet a"), "\x1b[2m```\x1b[0m\n");
        assert_eq!(markdown.push(";\n"), "\x1b[36mlet a;\x1b[0m\n");
        assert_eq!(markdown.finish(), "");
        assert!(markdown.is_empty());
    }

    #[test]
    fn a_block_without_end_is_shown_as_it_is() {
        let line = format!("{}\n", "word ".repeat(1_000));
        let mut markdown = Markdown::default();
        let drawn: String = (0..40).map(|_| markdown.push(&line)).collect();
        assert!(drawn.len() > LONGEST, "{}", drawn.len());
        assert_eq!(drawn + &markdown.finish(), line.repeat(40));
    }

    proptest! {
        #[test]
        fn no_word_is_lost_and_pieces_do_not_matter(
            text in "([a-z]{1,6}|[-*_`#>~ \n\\[\\]()!|]|\n\n|```\n|1\\. ){0,60}",
            cut in 0_usize..200,
        ) {
            let cut = cut.min(text.len());
            let mut markdown = Markdown::default();
            let mut pieces = markdown.push(&text[..cut]);
            pieces.push_str(&markdown.push(&text[cut..]));
            pieces.push_str(&markdown.finish());
            prop_assert_eq!(&pieces, &shown(&text));
            let words = |text: &str| -> Vec<String> {
                let letters = |letter: char| !letter.is_ascii_lowercase();
                let mut words: Vec<String> = text.split(letters).filter(|word| !word.is_empty()).map(str::to_owned).collect();
                words.sort();
                words
            };
            // Addresses that are their own text are said once, so a word may stand once less, but never not at all.
            let shown = plain(&pieces);
            for word in words(&text) {
                prop_assert!(shown.contains(&word), "{word} is missing in {shown:?}");
            }
        }
    }
}
