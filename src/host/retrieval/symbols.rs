//! Definitions of one text, by tree-sitter.
//!
//! Owns the walk over a syntax tree. Takes malformed source: what parses is found, the rest is skipped. Never recurses,
//! so deeply nested source cannot overflow the stack.

use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use tree_sitter::{Node, ParseOptions, Parser, Point};

use super::languages::Tongue;
use super::lines::shown;
use super::{RetrievalError, Symbol, SymbolKind};

/// Most definitions of one file: generated code may have more, and an answer shows none of those.
const MOST_SYMBOLS: usize = 5_000;

/// Definitions in order of their start; empty for a language without grammar.
pub(super) fn symbols_of(path: &str, text: &str, cancel: &AtomicBool) -> Result<Vec<Symbol>, RetrievalError> {
    let Some(tongue) = Tongue::of(path) else { return Ok(Vec::new()) };
    let mut parser = Parser::new();
    if parser.set_language(&tongue.grammar()).is_err() {
        return Ok(Vec::new());
    }
    let mut go_on = |_: &tree_sitter::ParseState| match cancel.load(Ordering::Relaxed) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let bytes = text.as_bytes();
    let mut piece = |at: usize, _: Point| bytes.get(at..).unwrap_or_default();
    let options = ParseOptions::new().progress_callback(&mut go_on);
    let tree = parser.parse_with_options(&mut piece, None, Some(options));
    if cancel.load(Ordering::Relaxed) {
        return Err(RetrievalError::Cancelled);
    }
    Ok(tree.map_or_else(Vec::new, |tree| definitions(tongue, tree.root_node(), text)))
}

fn definitions(tongue: Tongue, root: Node<'_>, text: &str) -> Vec<Symbol> {
    let mut found = Vec::new();
    let lines: Vec<&str> = text.split('\n').collect();
    // (node, name of its container, whether that is a type)
    let mut open: Vec<(Node<'_>, Option<Rc<str>>, bool)> = vec![(root, None, false)];
    while let Some((node, container, inside_type)) = open.pop() {
        if found.len() >= MOST_SYMBOLS {
            break;
        }
        let owner: Option<Rc<str>> = tongue.owner(node).map(|owner| text_of(owner, text).into());
        let mut within = (owner.clone().or_else(|| container.clone()), owner.is_some() || inside_type);
        if let Some((kind, name)) = tongue.definition(node, inside_type) {
            let name = text_of(name, text);
            if !name.is_empty() {
                let (start_line, end_line) = extent(node);
                let signature =
                    lines.get(start_line as usize - 1).map_or_else(String::new, |line| shown(line.trim()));
                let container = owner.or(container);
                let kind = if tongue == Tongue::Python && kind == SymbolKind::Variable && is_shouted(&name) {
                    SymbolKind::Constant
                } else {
                    kind
                };
                within = match kind {
                    SymbolKind::Function | SymbolKind::Method => (Some(name.as_str().into()), false),
                    SymbolKind::Constant | SymbolKind::Variable => (container.clone(), inside_type),
                    SymbolKind::Module => (Some(name.as_str().into()), false),
                    _ => (Some(name.as_str().into()), true),
                };
                let container = container.as_deref().map(str::to_owned);
                found.push(Symbol { name, kind, start_line, end_line, container, signature });
            }
        }
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
        open.extend(children.into_iter().rev().map(|child| (child, within.0.clone(), within.1)));
    }
    found.sort_by(|a, b| (a.start_line, b.end_line, &a.name).cmp(&(b.start_line, a.end_line, &b.name)));
    found
}

/// First and last line of a node, from 1.
fn extent(node: Node<'_>) -> (u64, u64) {
    let last = node.end_position();
    let start = node.start_position().row;
    // A node that ends with a line end does not reach into the next line.
    let end = if last.column == 0 && last.row > start { last.row - 1 } else { last.row };
    (start as u64 + 1, end as u64 + 1)
}

fn text_of(node: Node<'_>, text: &str) -> String {
    shown(
        text.get(node.byte_range())
            .unwrap_or_default()
            .lines()
            .next()
            .unwrap_or_default()
            .trim_matches(['"', '\'']),
    )
}

fn is_shouted(name: &str) -> bool {
    name.chars().any(char::is_uppercase) && !name.chars().any(char::is_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brief(path: &str, text: &str) -> Vec<String> {
        let found = symbols_of(path, text, &AtomicBool::new(false)).unwrap();
        let one = |symbol: Symbol| {
            let container = symbol.container.map(|name| format!(" in {name}")).unwrap_or_default();
            format!(
                "{} {}{container} {}-{}",
                symbol.kind.as_str(),
                symbol.name,
                symbol.start_line,
                symbol.end_line
            )
        };
        found.into_iter().map(one).collect()
    }

    #[test]
    fn rust() {
        let text = "/// Doc.\npub struct Guard<T> {\n    a: T,\n}\nimpl<T> Guard<T> {\n    fn new() {}\n}\n\
                    trait Port { type X; fn go(&self); }\nenum E { A }\nmod inner {\n    const N: u8 = 1;\n    fn f() {}\n}\n\
                    type A = u8;\nmacro_rules! m { () => {} }\nimpl fmt::Display for a::B { fn fmt() {} }\n";
        assert_eq!(
            brief("a.rs", text),
            [
                "struct Guard 2-4",
                "method new in Guard 6-6",
                "trait Port 8-8",
                "type X in Port 8-8",
                "method go in Port 8-8",
                "enum E 9-9",
                "module inner 10-13",
                "constant N in inner 11-11",
                "function f in inner 12-12",
                "type A 14-14",
                "function m 15-15",
                "method fmt in B 16-16",
            ]
        );
    }

    #[test]
    fn typescript_and_tsx() {
        let text = "export interface Shape {\n  area(): number;\n}\nexport class Box implements Shape {\n  area() { return 1; }\n  \
                    grow = () => 2;\n}\nexport const make = (n: number) => new Box();\nexport const LIMIT = 3;\ntype Id = string;\n\
                    enum Colour { Red }\nnamespace Deep { export function f() {} }\nfunction g() { const local = 1; }\n";
        let mut expected = vec![
            "interface Shape 1-3",
            "method area in Shape 2-2",
            "class Box 4-7",
            "method area in Box 5-5",
            "method grow in Box 6-6",
            "function make 8-8",
            "constant LIMIT 9-9",
            "type Id 10-10",
            "enum Colour 11-11",
            "module Deep 12-12",
            "function f in Deep 12-12",
            "function g 13-13",
        ];
        assert_eq!(brief("a.ts", text), expected);
        expected.push("function View 14-14");
        assert_eq!(brief("a.tsx", &format!("{text}const View = () => <div>x</div>;\n")), expected);
    }

    #[test]
    fn javascript() {
        let text = "class A {\n  run() {}\n  stop = () => {}\n}\nasync function load() {}\nexports.save = function () {};\nvar count = 1;\n";
        assert_eq!(
            brief("a.mjs", text),
            [
                "class A 1-4",
                "method run in A 2-2",
                "method stop in A 3-3",
                "function load 5-5",
                "function save 6-6",
                "variable count 7-7",
            ]
        );
    }

    #[test]
    fn python() {
        let text = "LIMIT = 3\nname = 'x'\nclass Queue:\n    \"\"\"Doc.\"\"\"\n    def push(self, x):\n        pass\n\n@cached\ndef top():\n    def inner(): pass\n";
        assert_eq!(
            brief("a.py", text),
            [
                "constant LIMIT 1-1",
                "variable name 2-2",
                "class Queue 3-6",
                "method push in Queue 5-6",
                "function top 9-10",
                "function inner in top 10-10",
            ]
        );
    }

    #[test]
    fn go() {
        let text = "package a\n\ntype Server struct {\n\tn int\n}\n\ntype Doer interface{ Do() }\n\nfunc (s *Server) Run() {\n}\n\nfunc New() *Server { var x = 1; _ = x; return nil }\n\nconst Max = 3\n\nvar Top = 1\n";
        assert_eq!(
            brief("a.go", text),
            [
                "struct Server 3-5",
                "interface Doer 7-7",
                "method Run in Server 9-10",
                "function New 12-12",
                "constant Max 14-14",
                "variable Top 16-16",
            ]
        );
    }

    #[test]
    fn malformed_and_deeply_nested_source_gives_what_there_is() {
        assert_eq!(brief("a.rs", "fn whole() {}\n\nstruct {{{ impl ((\n")[0], "function whole 1-1");
        let deep = format!("fn a() {{ {} }}", "{".repeat(20_000));
        assert!(brief("a.rs", &deep).len() <= 1);
        assert_eq!(brief("a.xyz", "fn a() {}"), Vec::<String>::new());
    }

    #[test]
    fn a_cancelled_parse_says_so() {
        assert_eq!(symbols_of("a.rs", "fn a() {}", &AtomicBool::new(true)), Err(RetrievalError::Cancelled));
    }
}
