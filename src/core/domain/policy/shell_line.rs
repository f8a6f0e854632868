//! A shell command line as simple commands, each with its words and redirections.
//!
//! Owns what counts as understood: plain words, quotes without expansions, pipes, and-or lists, sequences, redirections to
//! named files. Everything else is `UnreadLine`, with what it is. Parsed by a grammar and never by the start of a text; what the
//! grammar gives is taken only where every byte of the line belongs to a part that is known here. Never runs or expands anything.

use tree_sitter::{Node, Parser};

use super::rearranging::rearranges;

/// Bytes of a line that is read. What is longer is no line that a person wrote or would read.
const LONGEST: usize = 8 * 1024;

/// Depth of nodes that is read: pipes in lists in lists; a line that goes deeper is not understood.
const DEEPEST: usize = 64;

/// One program and what it is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommand {
    /// What stands between it and the command before.
    pub joined: Joined,
    /// Variables that are set for it alone.
    pub variables: Vec<(String, String)>,
    /// The program, then its arguments, without quotes.
    pub words: Vec<String>,
    /// Where it reads from or writes to instead.
    pub redirections: Vec<Redirection>,
}

/// What stands before a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    /// Nothing: it is the first.
    First,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `;` or a new line
    Then,
    /// `|`
    Pipe,
}

/// A redirection to or from a named file. Those between the outputs of the command itself (`2>&1`) are not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    /// The file as it is written.
    pub path: String,
    /// Whether it is written to.
    pub writes: bool,
}

/// Why a line is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnreadLine {
    /// There is nothing in it.
    Empty,
    /// It is longer than `LONGEST`.
    TooLong,
    /// The grammar does not know it.
    Malformed,
    /// A character that a shell expands, or that does not look like what it is.
    Character(char),
    /// A construct of this kind.
    Construct(&'static str),
}

impl UnreadLine {
    /// The rest of a sentence that begins with "it".
    pub fn reason(self) -> String {
        match self {
            Self::Empty => "is empty".to_owned(),
            Self::TooLong => "is longer than 8 KiB".to_owned(),
            Self::Malformed => "cannot be read as a shell command".to_owned(),
            Self::Character(c) => format!("has `{}`, which a shell may expand", c.escape_debug()),
            Self::Construct(what) => format!("has {what}"),
        }
    }
}

/// The simple commands of a line, in order.
pub fn read(line: &str) -> Result<Vec<ShellCommand>, UnreadLine> {
    if line.len() > LONGEST {
        return Err(UnreadLine::TooLong);
    }
    let line = line.trim_matches([' ', '\t', '\n']);
    if line.is_empty() {
        return Err(UnreadLine::Empty);
    }
    if let Some(odd) = line.chars().find(|c| is_odd(*c)) {
        return Err(UnreadLine::Character(odd));
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).map_err(|_| UnreadLine::Malformed)?;
    let tree = parser.parse(line, None).ok_or(UnreadLine::Malformed)?;
    let mut reader = TreeReader { line, commands: Vec::new(), joined: Joined::First, read_to: 0 };
    reader.node(tree.root_node(), 0)?;
    reader.take(line.len(), line.len())?;
    if tree.root_node().has_error() || reader.commands.is_empty() || !reader.ends_with_a_command() {
        return Err(UnreadLine::Malformed);
    }
    Ok(reader.commands)
}

/// Control characters but for the new line and the tab, and whatever shows a text otherwise than it is.
fn is_odd(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t')) || rearranges(c) || !(c.is_ascii() || is_plain_letter(c))
}

/// A letter beyond ASCII that no file system takes for one of ASCII, and that is seen.
fn is_plain_letter(c: char) -> bool {
    c.is_alphanumeric()
        && !matches!(u32::from(c), 0x2100..=0x24ff | 0xff00..=0xffef | 0x1d400..=0x1d7ff | 0xe0000..)
        && !c.to_lowercase().chain(c.to_uppercase()).any(|c| c.is_ascii())
}

/// Words that are no program, to one shell or another.
const RESERVED: [&str; 19] = [
    "if",
    "then",
    "else",
    "elif",
    "fi",
    "do",
    "done",
    "case",
    "esac",
    "while",
    "until",
    "for",
    "in",
    "function",
    "select",
    "time",
    "coproc",
    "repeat",
    "nocorrect",
];

struct TreeReader<'a> {
    line: &'a str,
    commands: Vec<ShellCommand>,
    joined: Joined,
    /// Up to here every byte belongs to a part that was taken.
    read_to: usize,
}

impl TreeReader<'_> {
    /// Takes the part from `from` to `to`; between it and the one before there may be blanks only.
    fn take(&mut self, from: usize, to: usize) -> Result<(), UnreadLine> {
        let between = self.line.get(self.read_to..from).ok_or(UnreadLine::Malformed)?;
        match between.chars().find(|c| !matches!(c, ' ' | '\t' | '\n')) {
            Some('\\') => Err(UnreadLine::Construct("a line that goes on in the next one")),
            Some(_) => Err(UnreadLine::Malformed),
            None => {
                // The end of a line ends its command, whatever the grammar makes of it; only an operator goes on behind it.
                if between.contains('\n') && self.joined == Joined::First {
                    return Err(UnreadLine::Malformed);
                }
                self.read_to = to;
                Ok(())
            }
        }
    }

    fn text(&self, node: Node<'_>) -> &str {
        self.line.get(node.byte_range()).unwrap_or_default()
    }

    fn ends_with_a_command(&self) -> bool {
        matches!(self.joined, Joined::First | Joined::Then)
    }

    fn node(&mut self, node: Node<'_>, depth: usize) -> Result<(), UnreadLine> {
        if depth > DEEPEST {
            return Err(UnreadLine::Malformed);
        }
        match node.kind() {
            "program" | "list" | "pipeline" => self.children(node, depth),
            "redirected_statement" => self.redirected(node, depth),
            "command" => self.command(node, depth),
            "&&" => self.join(node, Joined::And),
            "||" => self.join(node, Joined::Or),
            "|" => self.join(node, Joined::Pipe),
            ";" | "\n" => self.join(node, Joined::Then),
            other => Err(unread(other)),
        }
    }

    fn children(&mut self, node: Node<'_>, depth: usize) -> Result<(), UnreadLine> {
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        children.into_iter().try_for_each(|child| self.node(child, depth + 1))
    }

    fn join(&mut self, node: Node<'_>, joined: Joined) -> Result<(), UnreadLine> {
        // An empty line between two commands is nothing; after an operator it would be something else.
        if self.commands.is_empty() || !matches!(self.joined, Joined::First | Joined::Then) {
            return if joined == Joined::Then && self.text(node) == "\n" && self.commands.is_empty() {
                self.take(node.start_byte(), node.end_byte())
            } else {
                Err(UnreadLine::Malformed)
            };
        }
        self.joined = joined;
        self.take(node.start_byte(), node.end_byte())
    }

    /// A command with redirections behind it; behind a list they belong to its last command.
    fn redirected(&mut self, node: Node<'_>, depth: usize) -> Result<(), UnreadLine> {
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        for child in children {
            match child.kind() {
                "command" | "list" | "pipeline" => self.node(child, depth + 1)?,
                "file_redirect" => {
                    let redirection = self.redirection(child)?;
                    let command = self.commands.last_mut().ok_or(UnreadLine::Malformed)?;
                    command.redirections.extend(redirection);
                }
                other => return Err(unread(other)),
            }
        }
        Ok(())
    }

    fn command(&mut self, node: Node<'_>, depth: usize) -> Result<(), UnreadLine> {
        // The grammar gives no token for the end of a line.
        let between = self.line.get(self.read_to..node.start_byte()).ok_or(UnreadLine::Malformed)?;
        if !self.commands.is_empty() && self.joined == Joined::First && between.contains('\n') {
            self.joined = Joined::Then;
        }
        // Two commands with nothing between them would be one that was cut wrongly.
        if !self.commands.is_empty() && self.joined == Joined::First {
            return Err(UnreadLine::Malformed);
        }
        let joined = std::mem::replace(&mut self.joined, Joined::First);
        let mut command =
            ShellCommand { joined, variables: Vec::new(), words: Vec::new(), redirections: Vec::new() };
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        let mut is_first = true;
        for child in children {
            // What joins them stands before the first part; from there on the command is one line.
            self.joined = if is_first { joined } else { Joined::First };
            is_first = false;
            match child.kind() {
                "variable_assignment" if command.words.is_empty() => {
                    command.variables.push(self.variable(child)?)
                }
                "command_name" if command.words.is_empty() => {
                    let name =
                        child.child(0).filter(|_| child.child_count() == 1).ok_or(UnreadLine::Malformed)?;
                    command.words.push(self.word(name, depth + 1)?);
                }
                "file_redirect" => command.redirections.extend(self.redirection(child)?),
                _ if command.words.is_empty() => return Err(unread(child.kind())),
                _ => command.words.push(self.word(child, depth + 1)?),
            }
        }
        self.joined = Joined::First;
        if command.words.first().is_none_or(String::is_empty) {
            return Err(UnreadLine::Construct("a command without a program"));
        }
        if RESERVED.contains(&command.words[0].as_str()) {
            return Err(UnreadLine::Construct("a word that some shell keeps for itself"));
        }
        self.commands.push(command);
        Ok(())
    }

    /// `NAME=value`, as plain as a word.
    fn variable(&mut self, node: Node<'_>) -> Result<(String, String), UnreadLine> {
        let text = self.text(node).to_owned();
        let (name, value) = text.split_once('=').ok_or(UnreadLine::Malformed)?;
        if let Some(odd) =
            value.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')))
        {
            return Err(UnreadLine::Character(odd));
        }
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(UnreadLine::Construct("a variable that is changed"));
        }
        let pair = (name.to_owned(), value.to_owned());
        self.take(node.start_byte(), node.end_byte())?;
        Ok(pair)
    }

    /// `None`: between the command's own outputs.
    fn redirection(&mut self, node: Node<'_>) -> Result<Option<Redirection>, UnreadLine> {
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        let (mut operator, mut target) = (None, None);
        for child in children {
            match child.kind() {
                "file_descriptor" if operator.is_none() => {
                    self.take(child.start_byte(), child.end_byte())?;
                }
                "<" | ">" | ">>" | ">&" if operator.is_none() => {
                    operator = Some(child.kind());
                    self.take(child.start_byte(), child.end_byte())?;
                }
                other if operator.is_none() => return Err(unread(other)),
                _ if target.is_some() => return Err(UnreadLine::Malformed),
                _ => target = Some(self.word(child, 0)?),
            }
        }
        match (operator, target) {
            (Some(">&"), Some(to)) if matches!(to.as_str(), "1" | "2") => Ok(None),
            (Some(">" | ">>"), Some(path)) if path == "/dev/null" => Ok(None),
            (Some("<"), Some(path)) => Ok(Some(Redirection { path, writes: false })),
            (Some(">" | ">>"), Some(path)) => Ok(Some(Redirection { path, writes: true })),
            (_, _) => Err(UnreadLine::Construct("a redirection of a kind that is not judged")),
        }
    }

    /// A word without its quotes.
    fn word(&mut self, node: Node<'_>, depth: usize) -> Result<String, UnreadLine> {
        if depth > DEEPEST {
            return Err(UnreadLine::Malformed);
        }
        match node.kind() {
            "word" | "number" => {
                let text = self.text(node).to_owned();
                plain(&text)?;
                self.take(node.start_byte(), node.end_byte())?;
                Ok(text)
            }
            "raw_string" => {
                let text = self.text(node);
                let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
                let inner = inner.ok_or(UnreadLine::Malformed)?.to_owned();
                // Some shells read a backslash even here.
                refuse_any(&inner, &['\\', '\'', '\n'])?;
                self.take(node.start_byte(), node.end_byte())?;
                Ok(inner)
            }
            "string" => {
                let text = self.text(node);
                let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                let inner = inner.ok_or(UnreadLine::Malformed)?.to_owned();
                refuse_any(&inner, &['$', '`', '\\', '!', '"', '\n'])?;
                self.take(node.start_byte(), node.end_byte())?;
                Ok(inner)
            }
            "concatenation" => {
                let mut cursor = node.walk();
                let parts: Vec<Node<'_>> = node.children(&mut cursor).collect();
                let mut whole = String::new();
                for part in parts {
                    // A word has no gaps.
                    if part.start_byte() != node.start_byte() && part.start_byte() != self.read_to {
                        return Err(UnreadLine::Malformed);
                    }
                    whole.push_str(&self.word(part, depth + 1)?);
                }
                Ok(whole)
            }
            other => Err(unread(other)),
        }
    }
}

/// An unquoted word means itself: no character in it is one that some shell expands.
fn plain(text: &str) -> Result<(), UnreadLine> {
    let mut before = None;
    for c in text.chars() {
        let is_itself = match c {
            '_' | '-' | '.' | '/' | ':' | '+' | ',' => true,
            // At the start of a word these mean something to one shell or another.
            '=' | '@' | '%' => before.is_some(),
            '~' | '^' => before.is_some_and(char::is_alphanumeric),
            c => c.is_alphanumeric(),
        };
        if !is_itself {
            return Err(UnreadLine::Character(c));
        }
        before = Some(c);
    }
    Ok(())
}

fn refuse_any(text: &str, refused: &[char]) -> Result<(), UnreadLine> {
    match text.chars().find(|c| refused.contains(c)) {
        Some(c) => Err(UnreadLine::Character(c)),
        None => Ok(()),
    }
}

/// What a node of the grammar is, for a person.
fn unread(kind: &str) -> UnreadLine {
    UnreadLine::Construct(match kind {
        "command_substitution" | "process_substitution" => "a command inside of another",
        "simple_expansion"
        | "expansion"
        | "variable_assignment"
        | "variable_assignments"
        | "arithmetic_expansion" => "a variable",
        "brace_expression" => "braces that expand",
        "heredoc_redirect" | "herestring_redirect" => "a text for the command's input",
        "&" => "a command that is left running",
        "comment" => "a comment",
        "ansi_c_string" | "translated_string" => "a quoted text with escapes",
        "subshell" | "compound_statement" => "a group of commands",
        "negated_command" => "a negation",
        "if_statement" | "while_statement" | "for_statement" | "case_statement" | "c_style_for_statement" => {
            "a condition or a loop"
        }
        "function_definition" => "a function",
        "declaration_command" | "unset_command" => "a change of variables",
        "test_command" => "a test in brackets",
        "ERROR" => return UnreadLine::Malformed,
        _ => "something that is not judged",
    })
}

#[cfg(test)]
#[path = "shell_line_tests.rs"]
mod tests;
