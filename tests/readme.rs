//! The pages for people: the example of an answer in README.md quotes what stands where it says, the picture shows the same, every
//! link of every page leads to a file, the book has every page, and the page of settings says what the schema says.
//!
//! The example is made by `python3 docs/picture.py <program>`; a complaint here means that it must be made anew. The page of settings
//! is written by `BREADBOARD_UPDATE=1 cargo test --test readme`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

const MADE_BY: &str =
    "make the example anew: cargo build && python3 docs/picture.py target/debug/breadboard-ls";

#[test]
fn every_place_of_the_example_holds_what_is_said_of_it() {
    let session = session(&read("README.md"));
    let places = places(&session);
    assert_eq!(places.len(), 5, "{session}");
    let faults: Vec<String> =
        places.iter().filter_map(|place| fault_of(place, source(&place.path).as_deref())).collect();
    assert!(faults.is_empty(), "{}\n{MADE_BY}", faults.join("\n"));
    assert!(places.iter().any(|place| !place.excerpt.is_empty()), "an excerpt is shown");
}

#[test]
fn the_picture_shows_the_lines_of_the_example() {
    let picture = read("docs/ask.svg");
    let missing: Vec<String> = session(&read("README.md"))
        .lines()
        .map(|line| line.trim().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
        .filter(|line| !picture.contains(&format!(">{line}<")) && !line.is_empty())
        .collect();
    assert!(missing.is_empty(), "{missing:#?}\n{MADE_BY}");
}

#[test]
fn every_link_of_a_page_leads_to_a_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = Vec::new();
    collect_pages(root, &mut pages);
    assert!(pages.len() > 20, "only {} pages were found", pages.len());
    let broken: Vec<String> = pages
        .iter()
        .flat_map(|page| {
            let text = fs::read_to_string(page).unwrap();
            let folder = page.parent().unwrap();
            let missing = targets(&text).filter(|target| !folder.join(target).exists());
            missing.map(|target| format!("{}: {target}", page.display())).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(broken, Vec::<String>::new());
}

#[test]
fn the_book_has_every_page_of_its_folder() {
    let summary = read("docs/SUMMARY.md");
    let listed: BTreeSet<String> = targets(&summary).map(str::to_owned).collect();
    let there: BTreeSet<String> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".md") && name != "SUMMARY.md")
        .chain(["decisions/README.md".to_owned()])
        .collect();
    assert_eq!(listed, there);
    assert!(read("book.toml").contains("src = \"docs\""));
}

#[test]
fn at_least_22_of_25_expectations_are_had_each_by_a_chapter_that_is_run() {
    let page = read("docs/expectations.md");
    let chapters = read("client-ts/vscode/e2e/run.mjs");
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| ") && line[2..].starts_with(|first: char| first.is_ascii_digit()))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), 25);
    let mut had = 0;
    for row in &rows {
        let [number, what, stands, chapter, seen] = row[..] else { panic!("{row:?}") };
        let named: Vec<&str> = chapter
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split_once(".mjs)"))
            .map(|(path, _)| path)
            .collect();
        for path in &named {
            let name = path.rsplit('/').next().unwrap();
            assert!(chapters.contains(&format!("\n  \"{name}\",\n")), "{name} is no chapter of the story");
        }
        if stands == "has" {
            had += 1;
            let picture = seen.split('`').nth(1).unwrap_or_else(|| panic!("{number} {what} has no picture"));
            let taken = named.iter().any(|path| {
                read(&format!("{}.mjs", path.replace("../", ""))).contains(&format!("picture(\"{picture}\")"))
            });
            assert!(taken, "no chapter of {number} {what} takes the picture {picture}");
        } else {
            assert!(
                ["partly", "not now"].contains(&stands) && seen.len() > 20,
                "{number} {what} has no reason"
            );
        }
    }
    assert!(had >= 22, "{had} of 25");
}

/// The five lines are cells of `docs/figures.md`, which the measurements write; `BREADBOARD_UPDATE=1` takes them from there anew.
#[test]
fn the_readme_shows_five_figures_as_they_were_measured() {
    let page = read("docs/figures.md");
    let measured: Vec<Vec<&str>> = page.lines().map(cells).filter(|cells| cells.len() == 8).collect();
    let readme = read("README.md");
    let (before, rest) = readme.split_once("<!-- figures -->\n").expect("the place of the figures");
    let (shown, after) = rest.split_once("\n\n").expect("what is behind them");
    let mut lines = shown.lines();
    let mut wanted: Vec<String> = lines.by_ref().take(2).map(str::to_owned).collect();
    for line in lines {
        let name = cells(line)[0];
        let row = measured.iter().find(|cells| cells[0] == name);
        let row = row.unwrap_or_else(|| panic!("docs/figures.md has no `{name}`"));
        wanted.push(format!("| {} |", row[..6].join(" | ")));
    }
    assert_eq!(wanted.len(), 2 + 5, "{shown}");
    if std::env::var_os("BREADBOARD_UPDATE").is_some() {
        let text = format!("{before}<!-- figures -->\n{}\n\n{after}", wanted.join("\n"));
        fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md"), text).unwrap();
        return;
    }
    assert_eq!(shown.lines().collect::<Vec<_>>(), wanted);
    let commit = page.lines().find(|line| line.starts_with("| ") && line.contains(" cores ")).map(cells);
    assert!(commit.is_some_and(|cells| cells.len() == 4 && cells[0].len() >= 12), "{page}");
}

/// The cells of a row of a table.
fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_matches('|').split(" | ").map(str::trim).collect()
}

#[test]
fn the_page_of_settings_says_what_the_schema_says() {
    let schema: Value = serde_json::from_str(&read("schemas/initializationOptions.json")).unwrap();
    let mut page = "# Settings\n\nWhat `initializationOptions` may hold, as the schema says it; in VS Code the same stands under `breadboard.`, \
                    and `engine` and `model` may stand in the file that `breadboard-ls setup` writes. This page is made from \
                    [the schema](https://github.com/breadboard-ls/breadboard-ls/blob/main/schemas/initializationOptions.json).\n"
        .to_owned();
    let properties = schema["properties"]["params"]["properties"].as_object().unwrap();
    for (name, setting) in properties {
        page.push_str(&format!("\n## `{name}`\n\n{}\n", described(setting)));
        let mut rows = String::new();
        list(&schema, name, setting, &mut rows);
        if !rows.is_empty() {
            page.push_str(&format!("\n| key | what |\n|---|---|\n{rows}"));
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/settings.md");
    if std::env::var_os("BREADBOARD_UPDATE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), page);
}

/// A row for each key below a setting.
fn list(schema: &Value, name: &str, setting: &Value, rows: &mut String) {
    let (shape, each) = shape_of(schema, setting);
    let name = if each { format!("{name}.<name>") } else { name.to_owned() };
    for (key, inner) in shape.get("properties").and_then(Value::as_object).unwrap_or(&Map::new()) {
        let words = words_of(schema, inner).map(|words| format!(" One of {words}.")).unwrap_or_default();
        rows.push_str(&format!("| `{name}.{key}` | {}{words} |\n", described(inner)));
        list(schema, &format!("{name}.{key}"), inner, rows);
    }
}

/// What a setting is made of, behind references, and whether it is one of many by name.
fn shape_of<'a>(schema: &'a Value, setting: &'a Value) -> (&'a Value, bool) {
    let named = setting.get("additionalProperties").filter(|shape| shape.is_object());
    let shape = named.unwrap_or(setting);
    let reference =
        shape.get("$ref").or_else(|| shape["anyOf"].as_array()?.iter().find_map(|one| one.get("$ref")));
    let target = reference.and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
    (target.map_or(shape, |target| &schema["$defs"][target]), named.is_some())
}

/// The words that a setting may be, where these are few.
fn words_of(schema: &Value, setting: &Value) -> Option<String> {
    let all = shape_of(schema, setting).0.get("oneOf")?.as_array()?;
    let words: Option<Vec<String>> =
        all.iter().map(|one| one["const"].as_str().map(|word| format!("`{word}`"))).collect();
    Some(words?.join(", "))
}

fn described(setting: &Value) -> String {
    setting["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|")
}

#[test]
fn links_within_the_checkout_are_told_from_others() {
    let text = "[a](b.md#c) ![d](e/f.png) [g](https://h) [i](#j) [k](mailto:l) `[m](n.md)`\n```\n[o](p.md)\n```\n<img src=\"q.png\">";
    assert_eq!(targets(text).collect::<Vec<_>>(), ["b.md", "e/f.png", "q.png"]);
}

#[test]
fn the_check_itself_sees_what_is_stale() {
    let file = "//! A head.\n\n/// It guards.\npub struct Guard {\n    cap: u64,\n}\n";
    let fault = |text: &str| places(text).iter().find_map(|place| fault_of(place, Some(file)));
    for well in [
        "1. `a.rs:4` — struct `Guard`\n…",
        "1. `a.rs:5` — in struct `Guard`\n…",
        "1. `a.rs:1`\n\n```rs\n//! A head.\n\n/// It guards.\n```\n",
        "1. `a.rs:4` — struct `Guard`\n\n```rs\n/// It guards.\npub struct Guard {\n```\n",
    ] {
        assert_eq!(fault(well), None, "{well}");
    }
    for stale in [
        "1. `a.rs:3` — struct `Guard`\n…",
        "1. `a.rs:4` — struct `Guar`\n…",
        "1. `a.rs:7`\n…",
        "1. `a.rs:5` — in struct `Warden`\n…",
        "1. `a.rs:2`\n\n```rs\n//! A head.\n```\n",
        "1. `a.rs:1`\n\n```rs\n//! Another head.\n```\n",
    ] {
        assert!(fault(stale).is_some(), "{stale}");
    }
    assert!(places("1. `gone.rs:1`\n…").iter().all(|place| fault_of(place, None).is_some()));
}

/// A place as the example quotes it.
struct Quoted {
    path: String,
    line: usize,
    /// What is declared there, or what the place is in.
    name: Option<String>,
    within: bool,
    /// The lines that are shown of it.
    excerpt: Vec<String>,
}

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The Markdown files of the checkout, without what was installed or built in it; those in `src` are pieces of PROTOCOL.md.
fn collect_pages(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        if path.is_dir() {
            if !name.starts_with('.') && !["node_modules", "target", "fixtures", "src"].contains(&&*name) {
                collect_pages(&path, pages);
            }
        } else if name.ends_with(".md") {
            pages.push(path);
        }
    }
}

/// The files that a page links to, as it names them; code is passed over.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("```").step_by(2).flat_map(|text| text.split('`').step_by(2));
    prose
        .flat_map(|text| {
            let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
            let pictures = text.split("src=\"").skip(1).filter_map(|rest| rest.split_once('"'));
            links.chain(pictures).map(|(target, _)| target)
        })
        .filter(|target| !target.starts_with('#') && !target.contains(':'))
        .map(|target| target.split_once('#').map_or(target, |(file, _)| file))
}

/// The question is asked in `src`.
fn source(path: &str) -> Option<String> {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(path)).ok()
}

/// The terminal session that the picture is drawn from.
fn session(readme: &str) -> String {
    let (_, behind) = readme.split_once("<!-- ask.svg -->").expect("the picture has its mark");
    let (_, fenced) = behind.split_once("\n````text\n").expect("the session is fenced");
    fenced.split_once("\n````").expect("the fence has an end").0.to_owned()
}

fn places(session: &str) -> Vec<Quoted> {
    let mut found: Vec<Quoted> = Vec::new();
    let mut in_excerpt = false;
    for line in session.lines() {
        if line.starts_with("```") {
            in_excerpt = !in_excerpt;
        } else if in_excerpt {
            found.last_mut().expect("an excerpt has its place").excerpt.push(line.to_owned());
        } else if let Some(place) = place(line) {
            found.push(place);
        }
    }
    found
}

/// `2. `path:line` — in method `name``, where what stands behind the place may be missing.
fn place(line: &str) -> Option<Quoted> {
    let (number, rest) = line.split_once(". `")?;
    number.parse::<u32>().ok()?;
    let (place, rest) = rest.split_once('`')?;
    let (path, line) = place.rsplit_once(':')?;
    Some(Quoted {
        path: path.to_owned(),
        line: line.parse().ok()?,
        name: rest.split('`').nth(1).map(str::to_owned),
        within: rest.starts_with(" — in "),
        excerpt: Vec::new(),
    })
}

fn fault_of(place: &Quoted, text: Option<&str>) -> Option<String> {
    let at = format!("`{}:{}`", place.path, place.line);
    let Some(text) = text else { return Some(format!("{at}: there is no such file")) };
    let lines: Vec<&str> = text.lines().collect();
    let Some(line) = place.line.checked_sub(1).and_then(|line| lines.get(line)) else {
        return Some(format!("{at}: the file has {} lines", lines.len()));
    };
    if let Some(name) = &place.name {
        let above = &lines[..place.line];
        let is_there =
            if place.within { above.iter().any(|line| has_word(line, name)) } else { has_word(line, name) };
        if !is_there {
            return Some(format!("{at}: `{name}` is not there, but: {line}"));
        }
    }
    let shown = &place.excerpt;
    let stands =
        |first: usize| lines[first..].iter().zip(shown).filter(|(line, shown)| line == shown).count();
    let nearby = place.line.saturating_sub(shown.len())..place.line;
    if !shown.is_empty() && !nearby.into_iter().any(|first| stands(first) == shown.len()) {
        return Some(format!("{at}: what is shown of it stands there no more"));
    }
    None
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|ch: char| !ch.is_alphanumeric() && ch != '_').any(|found| found == word)
}
