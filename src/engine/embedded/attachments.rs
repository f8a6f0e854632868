//! Attachments of a prompt as text or as images.
//!
//! Owns how much of them is read. Never guesses an encoding: what is no UTF-8 text is only named.

use std::fs::File;
use std::io::Read;

use crate::app::ports::Attachment;
use crate::host::models::Image;
use crate::host::pictures;
use crate::host::request::{ATTACHMENT_LIMIT, Attached};

/// Attachments that are read; the others are only named.
const READ: usize = 8;

/// Reads what can be read. Blocking.
pub(super) fn read(attachments: &[Attachment]) -> Vec<Attached> {
    attachments
        .iter()
        .enumerate()
        .map(|(index, attachment)| Attached {
            name: attachment.name.clone(),
            mime: attachment.mime.clone(),
            text: if index < READ { text(attachment) } else { None },
            image: if index < READ { picture(attachment) } else { None },
        })
        .collect()
}

/// The attachment as an image that models take.
fn picture(attachment: &Attachment) -> Option<Image> {
    if !attachment.mime.starts_with("image/") || attachment.bytes > pictures::LIMIT as u64 {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(&attachment.path).ok()?.take(pictures::LIMIT as u64 + 1).read_to_end(&mut bytes).ok()?;
    pictures::image(&bytes)
}

fn text(attachment: &Attachment) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(&attachment.path).ok()?.take(ATTACHMENT_LIMIT as u64).read_to_end(&mut bytes).ok()?;
    let valid = match std::str::from_utf8(&bytes) {
        Ok(_) => bytes.len(),
        // A character that the limit cut in two is no sign of another encoding.
        Err(error) if error.error_len().is_none() && bytes.len() == ATTACHMENT_LIMIT => error.valid_up_to(),
        Err(_) => return None,
    };
    bytes.truncate(valid);
    let mut text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?;
    if attachment.bytes > text.len() as u64 {
        text.push_str(&format!("\n[… {} more bytes]", attachment.bytes - text.len() as u64));
    }
    Some(text)
}
