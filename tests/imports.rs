//! Imports between files: no circles, and no way from one engine's folder into another's.
//!
//! A file that imports another is never imported by it, however long the way round. The face of a folder (`mod.rs`, or the file beside a folder of its name) is left out on both sides: it exists to name what is
//! in the folder, and what is in there sees it. Tests are left out too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::Visit;
use syn::{Attribute, Item, ItemUse, Meta, UseTree};

/// Circles that stand, by one of their files, each with its reason. What is not in here fails; what is in here and no circle any
/// more fails as well.
const STANDING: &[(&str, &str)] = &[
    ("app::state", "handlers of one loop, written as `impl App` in the file of what they handle"),
    ("host::models::failure", "errors name their target, and targets refuse with errors"),
    ("simulate::breadboard::engine", "a test engine whose server, routes and runs share one state"),
    ("store::front", "the scan of a segment and the segment know each other's records"),
];

#[test]
fn no_file_imports_itself_on_a_way_round() {
    let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let imports = imports(&files);
    let mut breaches = Vec::new();
    let mut met = BTreeSet::new();
    for circle in circles(&imports) {
        match STANDING.iter().find(|(file, _)| circle.contains(*file)) {
            Some((file, _)) => drop(met.insert(*file)),
            None => breaches.push(format!("a circle of files: {}", Vec::from_iter(circle).join(", "))),
        }
    }
    for (file, _) in STANDING.iter().filter(|(file, _)| !met.contains(file)) {
        breaches.push(format!("`{file}` stands in no circle any more; take it off the list"));
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn no_engine_knows_another() {
    let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let engine =
        |file: &str| file.strip_prefix("engine::").and_then(|rest| Some(rest.split_once("::")?.0.to_owned()));
    let mut breaches = Vec::new();
    for (file, imports) in imports(&files) {
        for import in imports {
            if let (Some(own), Some(other)) = (engine(&file), engine(&import))
                && own != other
            {
                breaches.push(format!("`{file}` imports `{import}`; what both need belongs above them"));
            }
        }
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn the_check_itself_sees_circles() {
    let file = |text: &str| syn::parse_file(text).expect("is Rust");
    let files = BTreeMap::from([
        (
            "a::b".to_owned(),
            file("use super::c::{X, y::Z};\n#[cfg(test)]\nmod tests { use super::super::e::E; }"),
        ),
        ("a::c".to_owned(), file("fn f() { crate::a::d::g() }")),
        ("a::d".to_owned(), file("use crate::a::{b as other, e};")),
        ("a::e".to_owned(), file("use self::x::Y; use std::fmt;")),
    ]);
    let imports = imports(&files);
    assert_eq!(imports["a::b"], BTreeSet::from(["a::c".to_owned()]));
    let circle = ["a::b", "a::c", "a::d"].map(str::to_owned);
    assert_eq!(circles(&imports), [BTreeSet::from(circle)]);
}

/// Every file but the faces of folders, by the path of its module.
fn files(root: &Path) -> BTreeMap<String, syn::File> {
    let mut found = BTreeMap::new();
    let mut folders = vec![PathBuf::from(root)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("is a folder") {
            let path = entry.expect("is there").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let stem = path.with_extension("");
            let below =
                stem.strip_prefix(root).expect("is beneath").to_string_lossy().replace(['/', '\\'], "::");
            // The package of the pure rooms lies in a folder of its own, and its modules have the same paths in both.
            let name = below.strip_prefix("core::").unwrap_or(&below).to_owned();
            let is_rust = path.extension().is_some_and(|extension| extension == "rs");
            let is_face = name.ends_with("mod") || name == "lib" || name == "main" || stem.is_dir();
            if is_rust && !is_face && !name.ends_with("tests") && !name.contains("tests::") {
                let text = fs::read_to_string(&path).expect("is text");
                found.insert(name, syn::parse_file(&text).expect("is Rust"));
            }
        }
    }
    found
}

/// The files that each file names.
fn imports(files: &BTreeMap<String, syn::File>) -> BTreeMap<String, BTreeSet<String>> {
    files
        .iter()
        .map(|(name, file)| {
            let mut names =
                Names { module: name.split("::").map(str::to_owned).collect(), paths: Vec::new() };
            names.visit_file(file);
            // The longest beginning of a path that is a file.
            let to_file = |path: &Vec<String>| {
                (1..=path.len()).rev().map(|end| path[..end].join("::")).find(|path| files.contains_key(path))
            };
            let named = names.paths.iter().filter_map(to_file).filter(|file| file != name).collect();
            (name.clone(), named)
        })
        .collect()
}

/// Paths of this crate in a file, tests aside, each from the root.
struct Names {
    module: Vec<String>,
    paths: Vec<Vec<String>>,
}

impl Names {
    fn take(&mut self, path: &[String]) {
        let ups = path.iter().take_while(|part| *part == "super").count();
        let (base, rest): (&[String], &[String]) = match path.first().map(String::as_str) {
            Some("crate") => (&[], &path[1..]),
            Some("self") => (&self.module, &path[1..]),
            Some("super") => (&self.module[..self.module.len().saturating_sub(ups)], &path[ups..]),
            _ => return,
        };
        self.paths.push([base, rest].concat());
    }

    fn take_tree(&mut self, tree: &UseTree, before: &[String]) {
        let with = |ident: &syn::Ident| [before, &[ident.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.take_tree(&path.tree, &with(&path.ident)),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.take_tree(tree, before)),
            UseTree::Name(name) => self.take(&with(&name.ident)),
            UseTree::Rename(rename) => self.take(&with(&rename.ident)),
            UseTree::Glob(_) => self.take(before),
        }
    }
}

impl<'a> Visit<'a> for Names {
    fn visit_item(&mut self, item: &'a Item) {
        let attributes: &[Attribute] = match item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => &[],
        };
        if !attributes.iter().any(is_for_tests) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        self.take_tree(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let parts: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.take(&parts);
        syn::visit::visit_path(self, path);
    }
}

/// `#[cfg(test)]`, alone or with more.
fn is_for_tests(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else { return false };
    let said = list.tokens.to_string();
    list.path.is_ident("cfg") && (said == "test" || (said.starts_with("all") && said.contains("test")))
}

/// Sets of files that reach each other.
fn circles(imports: &BTreeMap<String, BTreeSet<String>>) -> Vec<BTreeSet<String>> {
    let reached = |from: &String| {
        let mut reached = BTreeSet::new();
        let mut next: Vec<&String> = imports[from].iter().collect();
        while let Some(file) = next.pop() {
            if reached.insert(file.clone()) {
                next.extend(&imports[file]);
            }
        }
        reached
    };
    let reach: BTreeMap<&String, BTreeSet<String>> =
        imports.keys().map(|file| (file, reached(file))).collect();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for (file, reached) in reach.iter().filter(|(file, reached)| reached.contains(**file)) {
        if found.iter().all(|circle| !circle.contains(*file)) {
            found.push(reached.iter().filter(|other| reach[other].contains(*file)).cloned().collect());
        }
    }
    found
}
