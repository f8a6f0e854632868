//! Images on their way to a model that sees.
//!
//! Owns which bytes are an image that models take, and how large one may be. Tells it by its bytes, never by its name.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::models::Image;

/// Bytes of an image: the smallest bound of the providers, in base64 5 MiB.
pub(crate) const LIMIT: usize = 3_900_000;

/// What the user is told once when a tool gave an image to a model that sees none.
pub(crate) const UNSEEN: &str = "A tool gave an image, and the model of this session sees none as far as is known, so it only hears that there \
    is one; choose a model that sees, or say in the settings of the model that it does.";

/// What such a model is told.
pub(crate) const ASK_THE_USER: &str =
    "You see no images; ask the user what is to be seen in it where that matters, or go on without it.";

/// The image in this base64 text, on the same conditions.
pub(crate) fn of_base64(text: &str) -> Option<Image> {
    // Longer than a third more cannot be one of that size.
    if text.len() > LIMIT / 2 * 3 {
        return None;
    }
    image(&STANDARD.decode(text.as_bytes()).ok()?)
}

/// The image that these bytes are; `None`: none that models take, or one that is too large.
pub(crate) fn image(bytes: &[u8]) -> Option<Image> {
    if bytes.len() > LIMIT {
        return None;
    }
    let mime = match bytes {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        _ => return None,
    };
    Some(Image { mime, data: STANDARD.encode(bytes).into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_told_by_its_bytes() {
        assert_eq!(image(b"\x89PNG\r\n").unwrap(), Image { mime: "image/png", data: "iVBORw0K".into() });
        assert_eq!(image(b"RIFF\0\0\0\0WEBPVP8 ").unwrap().mime, "image/webp");
        assert_eq!(image(b"<svg/>"), None);
        assert_eq!(of_base64("iVBORw0K"), image(b"\x89PNG\r\n"));
        assert_eq!((of_base64("no base64"), of_base64("Zm9v")), (None, None));
        let mut large = vec![0u8; LIMIT + 1];
        large[..4].copy_from_slice(b"\x89PNG");
        assert_eq!(image(&large), None);
    }
}
