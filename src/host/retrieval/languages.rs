//! Which grammar reads which file, and which of its nodes are definitions.
//!
//! Owns the knowledge of the grammars' node names; never walks a tree.

use tree_sitter::{Language, Node};

use super::SymbolKind;

/// A language whose definitions we know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tongue {
    Rust,
    TypeScript,
    Tsx,
    JavaScript,
    Python,
    Go,
}

impl Tongue {
    /// By file name.
    pub(super) fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (_, extension) = name.rsplit_once('.')?;
        Some(match extension.to_ascii_lowercase().as_str() {
            "rs" => Self::Rust,
            "ts" | "mts" | "cts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            "js" | "mjs" | "cjs" | "jsx" => Self::JavaScript,
            "py" | "pyi" => Self::Python,
            "go" => Self::Go,
            _ => return None,
        })
    }

    /// Its grammar.
    pub(super) fn grammar(self) -> Language {
        match self {
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
        }
    }

    /// What a node defines: its kind and the node of its name.
    pub(super) fn definition<'t>(self, node: Node<'t>, inside_type: bool) -> Option<(SymbolKind, Node<'t>)> {
        let name = || node.child_by_field_name("name");
        let function = if inside_type { SymbolKind::Method } else { SymbolKind::Function };
        let kind = match self {
            Self::Rust => match node.kind() {
                "function_item" | "function_signature_item" => function,
                "struct_item" | "union_item" => SymbolKind::Struct,
                "enum_item" => SymbolKind::Enum,
                "trait_item" => SymbolKind::Trait,
                "mod_item" => SymbolKind::Module,
                "const_item" | "static_item" => SymbolKind::Constant,
                "type_item" | "associated_type" => SymbolKind::Type,
                "macro_definition" => SymbolKind::Function,
                _ => return None,
            },
            Self::Python => match node.kind() {
                "function_definition" => function,
                "class_definition" => SymbolKind::Class,
                "assignment" => return python_assignment(node),
                _ => return None,
            },
            Self::Go => match node.kind() {
                "function_declaration" => SymbolKind::Function,
                "method_declaration" => SymbolKind::Method,
                "type_spec" => match node.child_by_field_name("type").map(|node| node.kind()) {
                    Some("struct_type") => SymbolKind::Struct,
                    Some("interface_type") => SymbolKind::Interface,
                    _ => SymbolKind::Type,
                },
                "type_alias" => SymbolKind::Type,
                "const_spec" => SymbolKind::Constant,
                "var_spec" if has_ancestors(node, &["var_declaration", "source_file"]) => {
                    SymbolKind::Variable
                }
                "var_spec" if has_ancestors(node, &["var_spec_list", "var_declaration", "source_file"]) => {
                    SymbolKind::Variable
                }
                _ => return None,
            },
            Self::TypeScript | Self::Tsx | Self::JavaScript => match node.kind() {
                "function_declaration" | "generator_function_declaration" | "function_signature" => {
                    SymbolKind::Function
                }
                "method_definition" | "method_signature" | "abstract_method_signature" => SymbolKind::Method,
                "class_declaration" | "abstract_class_declaration" => SymbolKind::Class,
                "interface_declaration" => SymbolKind::Interface,
                "enum_declaration" => SymbolKind::Enum,
                "type_alias_declaration" => SymbolKind::Type,
                "internal_module" | "module" => SymbolKind::Module,
                "public_field_definition" | "field_definition" if holds_function(node) => {
                    let name = name().or_else(|| node.child_by_field_name("property"));
                    return name.map(|name| (SymbolKind::Method, name));
                }
                "variable_declarator" => return declarator(node),
                "assignment_expression" => return assigned_function(node),
                _ => return None,
            },
        };
        name().map(|name| (kind, name))
    }

    /// The type that a node's children belong to, when the node is a container without being a definition itself
    /// (`impl`), or a definition outside of its container (a Go method).
    pub(super) fn owner<'t>(self, node: Node<'t>) -> Option<Node<'t>> {
        let typed = match (self, node.kind()) {
            (Self::Rust, "impl_item") => node.child_by_field_name("type")?,
            (Self::Go, "method_declaration") => {
                let receiver = node.child_by_field_name("receiver")?;
                receiver.named_child(0)?.child_by_field_name("type")?
            }
            _ => return None,
        };
        Some(innermost_type(typed))
    }
}

/// `Vec<T>` is `Vec`, `*Server[T]` is `Server`, `a::B` is `B`.
fn innermost_type(mut node: Node<'_>) -> Node<'_> {
    for _ in 0..8 {
        let inner = match node.kind() {
            "generic_type" | "reference_type" => node.child_by_field_name("type"),
            "scoped_type_identifier" => node.child_by_field_name("name"),
            "pointer_type" | "parenthesized_type" => node.named_child(0),
            _ => None,
        };
        match inner {
            Some(inner) => node = inner,
            None => break,
        }
    }
    node
}

fn has_ancestors(node: Node<'_>, kinds: &[&str]) -> bool {
    let mut at = node;
    kinds.iter().all(|kind| {
        at.parent().is_some_and(|parent| {
            at = parent;
            parent.kind() == *kind
        })
    })
}

fn python_assignment(node: Node<'_>) -> Option<(SymbolKind, Node<'_>)> {
    let name = node.child_by_field_name("left").filter(|left| left.kind() == "identifier")?;
    has_ancestors(node, &["expression_statement", "module"]).then_some((SymbolKind::Variable, name))
}

fn is_function(node: Node<'_>) -> bool {
    matches!(node.kind(), "arrow_function" | "function_expression" | "generator_function")
}

fn holds_function(node: Node<'_>) -> bool {
    node.child_by_field_name("value").is_some_and(is_function)
}

fn declarator(node: Node<'_>) -> Option<(SymbolKind, Node<'_>)> {
    let name = node.child_by_field_name("name").filter(|name| name.kind() == "identifier")?;
    let value = node.child_by_field_name("value");
    if holds_function(node) {
        return Some((SymbolKind::Function, name));
    }
    if value.is_some_and(|value| value.kind() == "class") {
        return Some((SymbolKind::Class, name));
    }
    let declaration = node.parent()?;
    let outer = declaration.parent()?;
    if !matches!(outer.kind(), "program" | "export_statement") {
        return None;
    }
    let constant = declaration.child(0).is_some_and(|word| word.kind() == "const");
    Some((if constant { SymbolKind::Constant } else { SymbolKind::Variable }, name))
}

/// `exports.load = function () {}` and `Server.prototype.close = () => {}`.
fn assigned_function(node: Node<'_>) -> Option<(SymbolKind, Node<'_>)> {
    node.child_by_field_name("right").filter(|right| is_function(*right))?;
    let left = node.child_by_field_name("left").filter(|left| left.kind() == "member_expression")?;
    left.child_by_field_name("property").map(|name| (SymbolKind::Function, name))
}
