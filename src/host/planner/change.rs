//! "replace X with Y in Z": an exact replacement as a real patch.
//!
//! Owns what an occurrence is. The patch goes the same way as one of a model: proposed, asked, applied whole.

use serde_json::json;

use super::intent::Replacement;
use super::refused;
use crate::host::counted;
use crate::host::ports::WorkspaceView;
use crate::host::proposal::{
    AppliedFile, Outcome, Proposal, ProposalRefusal, ProposedChange, StuckChange, blocking, propose,
};
use crate::host::request::AnsweredAsk;
use crate::host::retrieval::RetrievalError;
use crate::host::turn::args;
use crate::host::turn_output::TurnOutput;
use crate::host::wished_file::{Base, read_base};

/// Lines that are named in a sentence.
const LINES_NAMED: usize = 20;

/// Proposes the replacement and says how it went.
pub(super) async fn replace(voice: &mut TurnOutput<'_>, wish: &Replacement) -> bool {
    let call = voice.tool_started("read_file", args(&[("path", json!(wish.path))])).await;
    let view = voice.port().workspace();
    let trusted = view.trusted;
    let base = match base_of(view, wish).await {
        Ok(base) => base,
        Err(refusal) => return refused(voice, &call, refusal).await,
    };
    let old = base.text.as_deref().unwrap_or_default();
    let found = occurrences(old, &wish.from, wish.whole_words);
    voice.tool_ended(&call, Ok(json!({ "summary": counted(found.len() as u64, "occurrence") }))).await;
    let (from, place) = (quoted(&wish.from), &base.shown);
    if found.is_empty() {
        let how = if wish.whole_words { " as a whole word" } else { "" };
        voice
            .lines(&format!("{from} does not occur{how} in `{place}`, so there is nothing to replace.\n"))
            .await;
        return false;
    }
    let times = if found.len() == 1 { "once".to_owned() } else { format!("{} times", found.len()) };
    voice.lines(&format!("{from} occurs {times} in `{place}` ({}).\n", lines_of(old, &found))).await;
    if !trusted {
        voice
            .lines("The workspace is not trusted, so no change is proposed; trust it (in a terminal: `ask --trust`) and ask \
                 again.\n")
            .await;
        return false;
    }
    let call = voice.tool_started("propose_patch", args(&[("file_path", json!(base.shown))])).await;
    propose_replacement(voice, wish, &base, &found, &call, None).await
}

/// Goes on with a replacement that was asked for in an earlier process and answered since.
pub(super) async fn go_on(
    voice: &mut TurnOutput<'_>,
    wish: &Replacement,
    call_id: &str,
    before: AnsweredAsk,
) -> bool {
    match base_of(voice.port().workspace(), wish).await {
        Ok(base) => {
            let found = occurrences(base.text.as_deref().unwrap_or_default(), &wish.from, wish.whole_words);
            propose_replacement(voice, wish, &base, &found, call_id, Some(before)).await
        }
        Err(refusal) => refused(voice, call_id, refusal).await,
    }
}

async fn base_of(view: WorkspaceView, wish: &Replacement) -> Result<Base, ProposalRefusal> {
    let path = wish.path.clone();
    blocking(move |cancel| {
        let base = read_base(&view, &path, cancel)?;
        match &base.text {
            Some(_) => Ok(base),
            None => Err(RetrievalError::NotFound(path).into()),
        }
    })
    .await
}

async fn propose_replacement(
    voice: &mut TurnOutput<'_>,
    wish: &Replacement,
    base: &Base,
    found: &[usize],
    call: &str,
    before: Option<AnsweredAsk>,
) -> bool {
    let (from, to, place) = (quoted(&wish.from), quoted(&wish.to), &base.shown);
    let change = ProposedChange::Rewritten {
        base_hash: base.hash.clone(),
        text: replaced(base.text.as_deref().unwrap_or_default(), found, wish.from.len(), &wish.to),
    };
    let proposal = Proposal {
        files: vec![(wish.path.clone(), change)],
        rationale: format!(
            "Replace {from} with {to}, as you asked: {}.",
            counted(found.len() as u64, "occurrence")
        ),
        acceptance_criteria: vec![format!("`{place}` has {to} wherever it had {from}.")],
    };
    match propose(voice, proposal, before).await {
        Ok(Outcome::Applied { files, .. }) => {
            let Some(AppliedFile { path, hash, saved, added, removed, .. }) = files.into_iter().next() else {
                return false;
            };
            let hash = hash.unwrap_or_default();
            let standing = if saved { "" } else { " It is changed in the editor, not saved." };
            voice.tool_ended(call, Ok(json!({ "summary": format!("applied, now {hash}") }))).await;
            voice.step_result("applied").await;
            voice
                .lines(&format!(
                    "Replaced with {to}: `{path}` was changed ({} added, {removed} removed).{standing}\n",
                    counted(added as u64, "line")
                ))
                .await;
            true
        }
        Ok(Outcome::InPart(note)) => {
            voice.step_result("applied").await;
            voice.tool_ended(call, Ok(json!({ "summary": note }))).await;
            voice.lines(&format!("The change was made in part: `{place}` has what was accepted.\n")).await;
            true
        }
        Ok(Outcome::Denied) => {
            voice.tool_ended(call, Err("The change was not allowed.".to_owned())).await;
            voice.step_result("denied").await;
            voice.lines("The change was not allowed, so nothing was written.\n").await;
            false
        }
        // Of one file nothing is left standing when it cannot be written.
        Ok(Outcome::Stuck(StuckChange { at: (_, refusal), .. })) | Err(refusal) => {
            let code = refusal.code.clone();
            let worked = refused(voice, call, refusal).await;
            voice.step_result(&code).await;
            worked
        }
    }
}

/// Byte offsets, without overlap, from the start.
fn occurrences(text: &str, wanted: &str, whole_words: bool) -> Vec<usize> {
    let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(wanted)
        .map(|(at, _)| at)
        .filter(|at| {
            !whole_words
                || !(word(text[..*at].chars().next_back()) || word(text[*at + wanted.len()..].chars().next()))
        })
        .collect()
}

fn replaced(text: &str, found: &[usize], length: usize, by: &str) -> String {
    let mut new = String::with_capacity(text.len());
    let mut done = 0;
    for at in found {
        new.push_str(&text[done..*at]);
        new.push_str(by);
        done = at + length;
    }
    new.push_str(&text[done..]);
    new
}

fn lines_of(text: &str, found: &[usize]) -> String {
    let mut lines: Vec<usize> = Vec::new();
    let (mut line, mut done) = (1usize, 0usize);
    for at in found {
        line += text[done..*at].matches('\n').count();
        done = *at;
        if lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    let named: Vec<String> = lines.iter().take(LINES_NAMED).map(usize::to_string).collect();
    let more = if lines.len() > LINES_NAMED { " and more" } else { "" };
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    format!("{noun} {}{more}", named.join(", "))
}

fn quoted(text: &str) -> String {
    if text.is_empty() { "nothing".to_owned() } else { format!("`{}`", text.replace('`', "'")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rename_leaves_longer_names_alone() {
        let text = "Foo FooBar my_Foo\nFoo.x\n";
        assert_eq!(occurrences(text, "Foo", true), vec![0, 18]);
        assert_eq!(occurrences(text, "Foo", false).len(), 4);
        assert_eq!(replaced(text, &[0, 18], 3, "Z"), "Z FooBar my_Foo\nZ.x\n");
        assert_eq!(lines_of(text, &[0, 18]), "lines 1, 2");
        assert_eq!(lines_of(text, &[0]), "line 1");
    }
}
