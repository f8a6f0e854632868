//! The draft of a spec that a user writes and sends as one prompt (seed 004): what is kept, what is dirty, what may go along.
//!
//! Owns every number and every sentence of seed 004. Never reads a file and never sends anything: bytes, names and the time
//! come in as values.

pub mod images;
pub mod markdown;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use images::{IMAGES, OfferedImage};

/// Why a spec is not sent when there is nothing to send.
pub(crate) const BLANK: &str =
    "The description is blank; describe what is to be specified, then submit again.";

/// A draft as it is kept and as a client is given it (R004-31).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Draft {
    /// What stands in the form.
    pub form_data: FormData,
    /// When it was last changed, in milliseconds since the Unix epoch.
    pub last_updated: i64,
}

/// The fields of the form that are worth keeping.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormData {
    /// The description, as typed.
    pub description: String,
}

/// The spec of one workspace: its draft, what the draft is compared with, and the images that were offered for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// What the user wrote and has neither submitted nor discarded.
    #[serde(default)]
    pub draft: Option<Draft>,
    /// The text that was last submitted or opened; a draft that differs from it is dirty (ruling 15).
    #[serde(default)]
    settled: String,
    /// Images that were given to the client, which alone may come back with a submission.
    #[serde(default)]
    pub offered: Vec<OfferedImage>,
}

/// What is sent: checked, trimmed, each image once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The prompt.
    pub text: String,
    /// URIs of its images, as they were offered.
    pub images: Vec<String>,
}

/// Why a submission is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// There is no text (R004-55).
    Blank,
    /// It names more images than a spec may have (R004-10).
    TooManyImages,
    /// It names an image that the client was never given (R004-11).
    NotOffered,
}

impl Unfit {
    /// One sentence for the user.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Blank => BLANK,
            Self::TooManyImages => "A spec takes at most 5 images; remove some, then submit again.",
            Self::NotOffered => {
                "One of the images was not attached through breadboard-ls; attach it again, then submit."
            }
        }
    }
}

impl Spec {
    /// The form is opened: from now on the draft as it stands is what counts as clean.
    pub fn open(&mut self) {
        self.settled = self.text().to_owned();
    }

    /// Keeps what stands in the form; gives the time of the draft, `None` when there is nothing to keep.
    ///
    /// What was just submitted, or the empty form that was just opened, makes no draft: a save that was on its way must not
    /// bring back what was settled.
    pub fn save(&mut self, description: &str, now: i64) -> Option<i64> {
        match &mut self.draft {
            Some(draft) if draft.form_data.description == description => Some(draft.last_updated),
            None if description.trim() == self.settled.trim() => None,
            draft => {
                let form_data = FormData { description: description.to_owned() };
                *draft = Some(Draft { form_data, last_updated: now });
                Some(now)
            }
        }
    }

    /// Whether the draft differs from what was last submitted or opened. That it was saved does not make it clean.
    pub fn is_dirty(&self) -> bool {
        self.draft.is_some() && self.text() != self.settled
    }

    /// Checks a submission: the client is not believed.
    pub fn submission(&self, description: &str, uris: &[String]) -> Result<Submission, Unfit> {
        let text = description.trim();
        if text.is_empty() {
            return Err(Unfit::Blank);
        }
        if uris.len() > IMAGES {
            return Err(Unfit::TooManyImages);
        }
        let mut images: Vec<String> = Vec::new();
        for uri in uris {
            let offered = self.offered(uri).ok_or(Unfit::NotOffered)?;
            if !images.contains(&offered.uri) {
                images.push(offered.uri.clone());
            }
        }
        Ok(Submission { text: text.to_owned(), images })
    }

    /// A submission was taken: its draft goes. What was typed since is another draft, and stays.
    pub fn submitted(&mut self, text: &str) {
        self.settled = text.to_owned();
        if self.text().trim() == text {
            self.draft = None;
            self.offered.clear();
        }
    }

    /// The user said that the draft may go; nothing else deletes one (ruling 15).
    pub fn discard(&mut self) {
        *self = Self::default();
    }

    fn text(&self) -> &str {
        self.draft.as_ref().map_or("", |draft| draft.form_data.description.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::images::OfferedImage;
    use super::{Draft, FormData, Spec, Submission, Unfit};

    fn draft(description: &str, last_updated: i64) -> Option<Draft> {
        Some(Draft { form_data: FormData { description: description.to_owned() }, last_updated })
    }

    fn offering(uris: &[&str]) -> Spec {
        let offered = uris.iter().map(|uri| OfferedImage { uri: (*uri).to_owned(), id: format!("id {uri}") });
        Spec { offered: offered.collect(), ..Spec::default() }
    }

    fn uris(uris: &[&str]) -> Vec<String> {
        uris.iter().map(|uri| (*uri).to_owned()).collect()
    }

    #[test]
    fn a_saved_draft_is_dirty_until_it_is_opened_submitted_or_discarded() {
        let mut spec = Spec::default();
        spec.open();
        assert!(!spec.is_dirty());
        assert_eq!(spec.save("text", 7), Some(7));
        assert!(spec.is_dirty(), "that it was saved does not make it clean");
        spec.open();
        assert!(!spec.is_dirty());
        assert_eq!(spec.save("text", 8), Some(7), "nothing changed");
        assert_eq!(spec.save("text!", 9), Some(9));
        assert!(spec.is_dirty());
        assert_eq!(spec.draft, draft("text!", 9));
        spec.discard();
        assert_eq!(spec, Spec::default());
    }

    #[test]
    fn emptying_the_form_keeps_an_empty_draft_and_an_empty_form_makes_none() {
        let mut spec = Spec::default();
        assert_eq!((spec.save("", 1), spec.save(" \n", 2)), (None, None));
        assert_eq!(spec.draft, None);
        spec.save("text", 3);
        spec.open();
        assert_eq!(spec.save("", 4), Some(4));
        assert_eq!((spec.draft.clone(), spec.is_dirty()), (draft("", 4), true));
    }

    #[test]
    fn a_submission_clears_its_draft_a_late_save_does_not_bring_it_back_and_newer_text_stays() {
        let mut spec = offering(&["file:///a.png"]);
        spec.save(" text\n", 1);
        spec.submitted("text");
        assert_eq!((spec.draft.clone(), spec.offered.clone(), spec.is_dirty()), (None, vec![], false));
        assert_eq!(spec.save(" text\n", 2), None);
        assert_eq!((spec.draft.clone(), spec.is_dirty()), (None, false));
        spec.save("text and more", 3);
        spec.submitted("text");
        assert_eq!((spec.draft.clone(), spec.is_dirty()), (draft("text and more", 3), true));
    }

    #[test]
    fn a_submission_is_checked_whatever_the_client_checked() {
        let spec = offering(&["file:///a%20b.png", "file:///c.png"]);
        assert_eq!(spec.submission(" \t\n", &[]), Err(Unfit::Blank));
        let six = vec!["file:///c.png".to_owned(); 6];
        assert_eq!(spec.submission("x", &six), Err(Unfit::TooManyImages));
        assert_eq!(spec.submission("x", &uris(&["file:///d.png"])), Err(Unfit::NotOffered));
        // Another spelling of the same file is the same image.
        let given = uris(&["file:///c.png", "file:///a b.png", "file:///c.png"]);
        let images = uris(&["file:///c.png", "file:///a%20b.png"]);
        assert_eq!(spec.submission(" x\n", &given), Ok(Submission { text: "x".to_owned(), images }));
    }

    #[test]
    fn a_record_of_another_version_is_read() {
        let read: Spec = serde_json::from_str(r#"{"later":1}"#).unwrap();
        assert_eq!(read, Spec::default());
    }
}
