//! A prompt of the client: its blocks as a text and what goes with it.
//!
//! Owns which block becomes what. A block that we do not take refuses the prompt: what is left out in silence is missed later.

use serde_json::Value;

use super::super::blocks::base64;

/// A prompt, read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpokenPrompt {
    /// Its words, with the files that it links by their names.
    pub text: String,
    /// What goes with it.
    pub attached: Vec<SpokenAttachment>,
    /// Absolute paths of the files of the workspace that it links.
    pub linked: Vec<String>,
}

/// Something that goes with a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpokenAttachment {
    /// Its name.
    pub name: String,
    /// Its type, where it is told.
    pub mime: Option<String>,
    /// Its bytes in base64.
    pub base64: String,
}

/// Where a prompt is read.
pub struct PromptPlace<'a> {
    /// Absolute path of the session's folder.
    pub root: &'a str,
    /// Whether the engine looks at pictures.
    pub pictures: bool,
    /// The path of a `file:` address.
    pub path_of: &'a dyn Fn(&str) -> Option<String>,
}

/// Reads the blocks.
///
/// # Errors
/// One sentence for the first block that is not taken, or where there is nothing in them.
pub fn read(blocks: &[Value], place: &PromptPlace<'_>) -> Result<SpokenPrompt, String> {
    let mut prompt = SpokenPrompt::default();
    for block in blocks {
        let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
        let field = |name: &str| block.get(name).and_then(Value::as_str);
        match kind {
            "text" => prompt.text.push_str(field("text").ok_or_else(|| without("text", "text"))?),
            "resource_link" => {
                let uri = field("uri").ok_or_else(|| without("resource_link", "uri"))?;
                prompt.link(uri, field("name"), place);
            }
            "resource" => {
                let resource = block.get("resource").ok_or_else(|| without("resource", "resource"))?;
                prompt.attached.push(embedded(resource)?);
            }
            "image" if place.pictures => {
                let data = field("data").ok_or_else(|| without("image", "data"))?;
                let mime = field("mimeType").map(str::to_owned);
                let name = format!("picture-{}", prompt.attached.len() + 1);
                prompt.attached.push(SpokenAttachment { name, mime, base64: data.to_owned() });
            }
            "image" => return Err("This engine looks at no pictures; send the prompt without it.".to_owned()),
            "audio" => return Err("This agent hears no sound; send the prompt as text.".to_owned()),
            _ => return Err("The prompt has a part of a kind that this agent does not know.".to_owned()),
        }
    }
    match (prompt.text.trim().is_empty(), prompt.attached.is_empty()) {
        (true, true) => Err("The prompt is empty; say what is to be done.".to_owned()),
        (true, false) => {
            prompt.text = "See what is attached.".to_owned();
            Ok(prompt)
        }
        (false, _) => Ok(prompt),
    }
}

impl SpokenPrompt {
    /// A file of the workspace is named as our own clients name one, so that it is found; anything else as Markdown does.
    fn link(&mut self, uri: &str, name: Option<&str>, place: &PromptPlace<'_>) {
        let path = (place.path_of)(uri);
        let inside = path.as_deref().and_then(|path| {
            let rest = path.strip_prefix(place.root.trim_end_matches('/'))?.strip_prefix('/')?;
            (!rest.is_empty()).then_some(rest)
        });
        if !self.text.is_empty() && !self.text.ends_with(char::is_whitespace) {
            self.text.push(' ');
        }
        match (inside, &path) {
            (Some(inside), Some(whole)) => {
                let plain = !inside.contains(char::is_whitespace);
                self.text.push_str(&if plain { format!("@{inside}") } else { format!("`{inside}`") });
                self.linked.push(whole.clone());
            }
            _ => self.text.push_str(&format!("[{}]({uri})", name.unwrap_or(uri))),
        }
        self.text.push(' ');
    }
}

fn embedded(resource: &Value) -> Result<SpokenAttachment, String> {
    let field = |name: &str| resource.get(name).and_then(Value::as_str);
    let uri = field("uri").ok_or_else(|| without("resource", "uri"))?;
    let last = uri.trim_end_matches('/').rsplit('/').next().filter(|last| !last.is_empty());
    let name = last.unwrap_or("resource").to_owned();
    let mime = field("mimeType").map(str::to_owned);
    match (field("text"), field("blob")) {
        (Some(text), _) => {
            let mime = mime.or_else(|| Some("text/plain".to_owned()));
            Ok(SpokenAttachment { name, mime, base64: base64(text.as_bytes()) })
        }
        (None, Some(blob)) => Ok(SpokenAttachment { name, mime, base64: blob.to_owned() }),
        (None, None) => Err(without("resource", "text")),
    }
}

fn without(kind: &str, field: &str) -> String {
    format!("A part of the prompt of the kind `{kind}` has no `{field}`.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read_at_w(blocks: Value, pictures: bool) -> Result<SpokenPrompt, String> {
        let path_of = |uri: &str| uri.strip_prefix("file://").map(str::to_owned);
        let place = PromptPlace { root: "/w", pictures, path_of: &path_of };
        read(blocks.as_array().map(Vec::as_slice).unwrap_or_default(), &place)
    }

    #[test]
    fn i14_6_links_become_names_and_resources_go_along() {
        let prompt = read_at_w(
            json!([
                {"type": "text", "text": "Look at"},
                {"type": "resource_link", "name": "x.rs", "uri": "file:///w/src/x.rs"},
                {"type": "text", "text": "and"},
                {"type": "resource_link", "name": "home", "uri": "https://example.org/"},
                {"type": "resource", "resource": {"uri": "file:///w/notes.md", "text": "hello"}},
            ]),
            false,
        );
        let attached = SpokenAttachment {
            name: "notes.md".to_owned(),
            mime: Some("text/plain".to_owned()),
            base64: "aGVsbG8=".to_owned(),
        };
        let wanted = SpokenPrompt {
            text: "Look at @src/x.rs and [home](https://example.org/) ".to_owned(),
            attached: vec![attached],
            linked: vec!["/w/src/x.rs".to_owned()],
        };
        assert_eq!(prompt, Ok(wanted));
    }

    #[test]
    fn what_is_not_taken_refuses_the_prompt_in_one_sentence() {
        let picture = json!([{"type": "image", "mimeType": "image/png", "data": "AA=="}]);
        assert!(read_at_w(picture.clone(), true).is_ok());
        for wrong in [
            picture,
            json!([{"type": "audio"}]),
            json!([{"type": "verse"}]),
            json!([]),
            json!([{"type": "text"}]),
        ] {
            let sentence = read_at_w(wrong.clone(), false).expect_err("is refused");
            assert!(sentence.ends_with('.'), "{wrong}: {sentence}");
        }
    }
}
