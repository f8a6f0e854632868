//! Images of a spec: how many, how large, which of those that were picked are taken.
//!
//! Owns the caps of seed 004 and its sentences about images. Never looks into a file.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Spec;
use crate::domain::policy::uri::spelling;

/// Images of one spec (R004-29).
pub const IMAGES: usize = 5;

/// Bytes of one image, inclusive: 10 MiB (R004-63).
pub const IMAGE_BYTES: u64 = 10 * 1_024 * 1_024;

/// Bytes of an image that travels whole; of a larger one a thumbnail does (ruling 27).
pub const WHOLE_BYTES: usize = 256 * 1_024;

/// Sides of a thumbnail, in pixels.
pub const THUMBNAIL_PIXELS: u32 = 512;

/// Images that are remembered as offered for one draft. A form shows five of them; so many more were picked and taken out
/// again only by a client gone wild, and then nothing more is offered.
const OFFERED: usize = 256;

/// An image that a client was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedImage {
    /// As the client named it.
    pub uri: String,
    /// Its id, the same whenever it is offered again.
    pub id: String,
}

/// Why no image is attached: the first file at fault names it for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFault {
    /// Its content is none of the six kinds.
    NotAnImage,
    /// It is larger than `IMAGE_BYTES`.
    TooLarge,
    /// There is no such regular file, or it cannot be read.
    Unreadable,
    /// Its name lies in the workspace and its file outside.
    LeadsOut,
    /// It would take too much memory to make a thumbnail of it.
    TooManyPixels,
    /// More were offered than are remembered.
    TooManyOffered,
    /// Too much waits already.
    Busy,
}

impl ImageFault {
    /// The error of `create-spec/attach-images:result`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotAnImage => "One or more files are not valid image files.",
            Self::TooLarge => "One or more files exceed the 10 MB size limit.",
            Self::Unreadable => "Failed to read one or more image files.",
            Self::LeadsOut => {
                "One or more files are links that lead out of the workspace; choose the files themselves."
            }
            Self::TooManyPixels => "One or more images have too many pixels; attach smaller ones.",
            Self::TooManyOffered => {
                "Too many images were picked for this draft; submit or discard it, then attach again."
            }
            Self::Busy => "Too many file requests are waiting; attach the images again in a moment.",
        }
    }
}

/// Whether content of this type is an image that a spec takes. Content decides, never a name (ruling 17).
pub fn is_taken(mime: &str) -> bool {
    matches!(mime, "image/png" | "image/jpeg" | "image/gif" | "image/webp" | "image/svg+xml")
}

/// Which of the picked images are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picked {
    /// These, in the order in which they were picked, each once.
    pub take: Vec<String>,
    /// Whether some were left out because of the cap; they are not even read.
    pub capped: bool,
    /// How many were picked that the form has already, or that were picked twice.
    pub duplicates: usize,
}

/// Chooses among picked images. `count` is what the client says that it has, a number above the cap being the cap;
/// `held` are those it names, where it names them: the larger of the two counts. `coming` are on their way to it.
pub fn pick(uris: &[String], count: u64, held: &[String], coming: usize) -> Picked {
    let mut seen: BTreeSet<Vec<u8>> = held.iter().map(|uri| spelling(uri)).collect();
    let count = usize::try_from(count).unwrap_or(IMAGES).max(seen.len());
    let room = IMAGES.saturating_sub(count).saturating_sub(coming);
    let mut picked = Picked { take: Vec::new(), capped: false, duplicates: 0 };
    for uri in uris {
        let spelled = spelling(uri);
        if seen.contains(&spelled) {
            picked.duplicates += 1;
        } else if picked.take.len() < room {
            seen.insert(spelled);
            picked.take.push(uri.clone());
        } else {
            // Not remembered: of a list without end only a yes or no is kept.
            picked.capped = true;
        }
    }
    picked
}

impl Spec {
    /// The image of this URI, where it was offered.
    pub fn offered(&self, uri: &str) -> Option<&OfferedImage> {
        let spelled = spelling(uri);
        self.offered.iter().find(|image| spelling(&image.uri) == spelled)
    }

    /// Remembers an image as offered and gives its id: the one it had, or a fresh one.
    pub fn offer(&mut self, uri: &str, fresh_id: impl FnOnce() -> String) -> Result<String, ImageFault> {
        if let Some(image) = self.offered(uri) {
            return Ok(image.id.clone());
        }
        if self.offered.len() >= OFFERED {
            return Err(ImageFault::TooManyOffered);
        }
        let id = fresh_id();
        self.offered.push(OfferedImage { uri: uri.to_owned(), id: id.clone() });
        Ok(id)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{IMAGES, ImageFault, OFFERED, Picked, is_taken, pick};
    use crate::domain::spec::Spec;

    fn uris(uris: &[&str]) -> Vec<String> {
        uris.iter().map(|uri| format!("file:///{uri}.png")).collect()
    }

    #[test]
    fn r004_29_what_is_beyond_five_is_left_out_and_said() {
        let all = uris(&["a", "b", "c"]);
        let first_two = Picked { take: uris(&["a", "b"]), capped: true, duplicates: 0 };
        assert_eq!(pick(&all, 3, &[], 0), first_two);
        assert_eq!(pick(&all, 2, &[], 0), Picked { take: all.clone(), capped: false, duplicates: 0 });
        assert_eq!(pick(&all, 0, &uris(&["x", "y", "z"]), 0), first_two, "what it names counts");
        assert_eq!(pick(&all, 2, &[], 1), first_two, "what is on its way counts");
    }

    #[test]
    fn r004_64_a_count_above_five_is_five_and_opens_nothing() {
        for count in [5, 6, 7, 1 << 40, u64::MAX] {
            let none = Picked { take: vec![], capped: true, duplicates: 0 };
            assert_eq!(pick(&uris(&["a", "b"]), count, &[], 0), none, "{count}");
        }
    }

    #[test]
    fn an_image_that_is_there_is_not_taken_twice_however_it_is_spelled() {
        let given = ["file:///a b.png", "file:///a%20b.png", "file:///c.png"].map(str::to_owned);
        let held = ["file:///c.png".to_owned()];
        let picked = Picked { take: vec![given[0].clone()], capped: false, duplicates: 2 };
        assert_eq!(pick(&given, 1, &held, 0), picked);
    }

    #[test]
    fn r004_47_an_id_stays_and_what_is_remembered_has_a_bound() {
        let mut spec = Spec::default();
        assert_eq!(spec.offer("file:///a%20b.png", || "1".to_owned()), Ok("1".to_owned()));
        assert_eq!(spec.offer("file:///a b.png", || "2".to_owned()), Ok("1".to_owned()));
        for at in 1..OFFERED {
            assert!(spec.offer(&format!("file:///{at}"), || at.to_string()).is_ok());
        }
        assert_eq!(spec.offer("file:///more", String::new), Err(ImageFault::TooManyOffered));
        assert_eq!(spec.offer("file:///a b.png", String::new), Ok("1".to_owned()));
    }

    #[test]
    fn r004_27_six_kinds_of_names_are_five_kinds_of_content() {
        for mime in ["image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"] {
            assert!(is_taken(mime), "{mime}");
        }
        for mime in ["text/plain", "application/pdf", "image/tiff", "application/octet-stream", ""] {
            assert!(!is_taken(mime), "{mime}");
        }
    }

    proptest! {
        /// However often, with whatever counts and lists a client asks, a form that appends what it is given and tells the
        /// truth never has more than five, and never one twice.
        #[test]
        fn r004_29_r004_57_a_truthful_form_never_has_more_than_five(
            rounds in prop::collection::vec((prop::collection::vec(0..12_u8, 0..9), 0..3_usize), 1..12)
        ) {
            let mut form: Vec<String> = Vec::new();
            for (names, removed) in rounds {
                let given: Vec<String> = names.iter().map(|name| format!("file:///{name}")).collect();
                let picked = pick(&given, form.len() as u64, &form, 0);
                let left_out = picked.take.len() + picked.duplicates < given.len();
                prop_assert_eq!(picked.capped, left_out, "whatever is left out is said");
                form.extend(picked.take);
                let mut once = form.clone();
                once.sort();
                once.dedup();
                prop_assert!(form.len() <= IMAGES && once.len() == form.len(), "{form:?}");
                form.truncate(form.len().saturating_sub(removed));
            }
        }

        /// No count, list or number on the way makes room that is not there.
        #[test]
        fn r004_64_no_word_of_a_client_widens_the_cap(
            names in prop::collection::vec("[a-f]{1}", 0..20), count in any::<u64>(),
            held in prop::collection::vec("[a-f]{1}", 0..9), coming in 0..20_usize
        ) {
            let picked = pick(&names, count, &held, coming);
            let room = (IMAGES as u64).saturating_sub(count).saturating_sub(coming as u64);
            prop_assert!(picked.take.len() as u64 <= room);
            prop_assert!(picked.take.iter().all(|uri| names.contains(uri) && !held.contains(uri)));
        }

        /// A submission never has more than five images, never one that was not offered, and never one twice.
        #[test]
        fn r004_10_r004_11_a_submission_holds_what_was_offered_and_no_more(
            offered in prop::collection::vec("[a-f]{1}", 0..6), sent in prop::collection::vec("[a-h]{1}", 0..9)
        ) {
            let mut spec = Spec::default();
            for uri in &offered {
                prop_assert!(spec.offer(uri, || uri.clone()).is_ok());
            }
            let fits = sent.len() <= IMAGES && sent.iter().all(|uri| offered.contains(uri));
            let taken = spec.submission("text", &sent);
            prop_assert_eq!(taken.is_ok(), fits);
            if let Ok(submission) = taken {
                let mut once = submission.images.clone();
                once.sort();
                once.dedup();
                prop_assert_eq!(once.len(), submission.images.len());
                prop_assert!(sent.iter().all(|uri| submission.images.contains(uri)));
            }
        }
    }
}
