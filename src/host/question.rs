//! A prompt of the user as its model reads it: what was typed, what is attached, what goes with it, what is seen.
//!
//! Owns its form, which is the same each time, so that a provider that kept it need not read it again.

use super::models::Image;
use super::request::Attached;
use crate::domain::context::item::PromptContext;

/// Images of one prompt; providers take some more.
const IMAGES: usize = 16;

/// The words of a prompt, with what is attached.
pub(crate) fn words(text: &str, attachments: &[Attached], context: &PromptContext, sees: bool) -> String {
    let mut words = text.to_owned();
    for attached in attachments {
        let Attached { name, mime, text, image } = attached;
        match (text, image) {
            (Some(content), _) => {
                let fence = fence(content);
                words.push_str(&format!("\n\nAttached file `{name}`:\n{fence}\n{content}\n{fence}"));
            }
            (None, Some(_)) if sees => words.push_str(&format!("\n\nAttached image: `{name}`.")),
            (None, Some(_) | None) => words.push_str(&format!(
                "\n\nAttached file `{name}` ({mime}) is no text and cannot be shown to you."
            )),
        }
    }
    context.with_words(&words)
}

/// What is seen of a prompt.
pub(crate) fn images(attachments: &[Attached], sees: bool) -> Vec<Image> {
    if !sees {
        return Vec::new();
    }
    attachments.iter().filter_map(|attached| attached.image.clone()).take(IMAGES).collect()
}

/// What the user is told, before a prompt goes out, of images that the model does not see; `None`: there is none.
pub(crate) fn unseen(attachments: &[Attached], model: &str, sees: bool) -> Option<String> {
    let names: Vec<String> = attachments
        .iter()
        .filter(|attached| attached.image.is_some() && !sees)
        .map(|attached| format!("`{}`", attached.name))
        .collect();
    if names.is_empty() {
        return None;
    }
    let (are, they) = if names.len() == 1 { ("is", "it goes") } else { ("are", "they go") };
    Some(format!(
        "{} {are} not shown to `{model}`, which sees no images as far as is known, so {they} by name only; choose a model that \
         sees, or say in the settings of the model that it does.",
        names.join(", ")
    ))
}

/// A code fence longer than any in the text, so that the text cannot end it.
pub(crate) fn fence(text: &str) -> String {
    let longest = text
        .lines()
        .map(|line| line.trim_start().chars().take_while(|c| *c == '`').count())
        .max()
        .unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> Attached {
        Attached {
            name: "shot.png".to_owned(),
            mime: "image/png".to_owned(),
            text: None,
            image: Some(Image { mime: "image/png", data: "iVBO".into() }),
        }
    }

    #[test]
    fn a_picture_is_seen_or_only_named_and_then_the_user_hears_of_it() {
        let one = [picture()];
        let told = |sees| words("see", &one, &PromptContext::default(), sees);
        assert_eq!(told(true), "see\n\nAttached image: `shot.png`.");
        assert!(told(false).contains("cannot be shown to you"));
        assert_eq!((images(&one, true).len(), images(&one, false).len()), (1, 0));
        assert_eq!(unseen(&one, "m", true), None);
        assert!(unseen(&one, "m", false).unwrap().starts_with("`shot.png` is not shown to `m`"));
        assert_eq!(unseen(&[], "m", false), None);
    }
}
