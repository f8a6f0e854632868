//! A small picture of a large image, for a form that shows it.
//!
//! Owns decoding what a stranger may have made: bounded in pixels and memory, one at a time, and a decoder that panics is a
//! file that is no image. Never keeps anything.

use std::io::Cursor;
use std::panic::catch_unwind;
use std::sync::{Mutex, PoisonError};

use image::codecs::jpeg::JpegEncoder;
use image::error::LimitErrorKind;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits};

use crate::domain::spec::images::{ImageFault, THUMBNAIL_PIXELS};

/// Pixels of a side: what the formats that we read can have at most, short of nonsense.
const SIDE: u32 = 32_768;

/// Bytes of a decoded image: some thirty million pixels. One is decoded at a time, so this is what thumbnails cost at most, and
/// about half of what the whole server may take.
const DECODED: u64 = 96 << 20;

/// Quality of a thumbnail without transparency, of 100: artefacts are not seen at this size.
const QUALITY: u8 = 80;

static ONE: Mutex<()> = Mutex::new(());

/// A thumbnail and its type. One with transparency is a PNG, any other a JPEG.
pub(super) fn thumbnail(bytes: &[u8], mime: &str) -> Result<(Vec<u8>, &'static str), ImageFault> {
    let format = ImageFormat::from_mime_type(mime).ok_or(ImageFault::NotAnImage)?;
    let _turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    catch_unwind(|| make(bytes, format)).unwrap_or(Err(ImageFault::NotAnImage))
}

fn make(bytes: &[u8], format: ImageFormat) -> Result<(Vec<u8>, &'static str), ImageFault> {
    let mut limits = Limits::no_limits();
    limits.max_image_width = Some(SIDE);
    limits.max_image_height = Some(SIDE);
    limits.max_alloc = Some(DECODED);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(fault)?;
    if decoder.total_bytes() > DECODED {
        return Err(ImageFault::TooManyPixels);
    }
    // A photograph may lie on its side and say so; a picture that cannot say it stands upright.
    let orientation = decoder.orientation().ok();
    let mut picture = DynamicImage::from_decoder(decoder).map_err(fault)?;
    if picture.width() > THUMBNAIL_PIXELS || picture.height() > THUMBNAIL_PIXELS {
        picture = picture.thumbnail(THUMBNAIL_PIXELS, THUMBNAIL_PIXELS);
    }
    if let Some(orientation) = orientation {
        picture.apply_orientation(orientation);
    }
    let mut out = Cursor::new(Vec::new());
    if picture.color().has_alpha() {
        DynamicImage::ImageRgba8(picture.to_rgba8()).write_to(&mut out, ImageFormat::Png).map_err(fault)?;
        Ok((out.into_inner(), "image/png"))
    } else {
        let encoder = JpegEncoder::new_with_quality(&mut out, QUALITY);
        DynamicImage::ImageRgb8(picture.to_rgb8()).write_with_encoder(encoder).map_err(fault)?;
        Ok((out.into_inner(), "image/jpeg"))
    }
}

fn fault(error: ImageError) -> ImageFault {
    match error {
        ImageError::Limits(error)
            if matches!(
                error.kind(),
                LimitErrorKind::DimensionError | LimitErrorKind::InsufficientMemory
            ) =>
        {
            ImageFault::TooManyPixels
        }
        ImageError::IoError(_)
        | ImageError::Limits(_)
        | ImageError::Decoding(_)
        | ImageError::Encoding(_)
        | ImageError::Parameter(_)
        | ImageError::Unsupported(_) => ImageFault::NotAnImage,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Cursor;

    use image::{DynamicImage, GenericImageView, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};

    use super::thumbnail;
    use crate::domain::spec::images::ImageFault;

    /// A picture of noise, so that it stays large.
    pub(crate) fn noise(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        let mut state = 7_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()
        };
        let picture = match format {
            ImageFormat::Jpeg => DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |_, _| {
                let [red, green, blue, _] = next();
                Rgb([red, green, blue])
            })),
            _ => DynamicImage::ImageRgba8(RgbaImage::from_fn(width, height, |_, _| Rgba(next()))),
        };
        let mut out = Cursor::new(Vec::new());
        picture.write_to(&mut out, format).unwrap();
        out.into_inner()
    }

    #[test]
    fn r004_49_a_thumbnail_is_an_image_of_at_most_512_pixels_in_the_same_shape() {
        for (format, mime, then) in [
            (ImageFormat::Png, "image/png", "image/png"),
            (ImageFormat::Jpeg, "image/jpeg", "image/jpeg"),
            (ImageFormat::Gif, "image/gif", "image/png"),
            (ImageFormat::WebP, "image/webp", "image/png"),
        ] {
            let (small, kind) = thumbnail(&noise(600, 300, format), mime).unwrap();
            assert_eq!(kind, then, "{mime}");
            assert_eq!(image::load_from_memory(&small).unwrap().dimensions(), (512, 256), "{mime}");
        }
        let (same, _) = thumbnail(&noise(9, 7, ImageFormat::Png), "image/png").unwrap();
        assert_eq!(image::load_from_memory(&same).unwrap().dimensions(), (9, 7));
    }

    #[test]
    fn what_is_broken_or_would_take_too_much_memory_is_refused() {
        let whole = noise(64, 64, ImageFormat::Png);
        assert_eq!(thumbnail(&whole[..whole.len() / 2], "image/png"), Err(ImageFault::NotAnImage));
        assert_eq!(thumbnail(b"text", "text/plain"), Err(ImageFault::NotAnImage));
        // A header that promises 30,000 by 30,000 pixels, 2.7 gigabytes of them.
        let mut bomb = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x75\x30\0\0\x75\x30\x08\x02\0\0\0".to_vec();
        let sum = crc(&bomb[12..]);
        bomb.extend(sum.to_be_bytes());
        bomb.extend(&whole[33..]);
        assert_eq!(thumbnail(&bomb, "image/png"), Err(ImageFault::TooManyPixels));
    }

    /// The check sum of a PNG's chunk (ISO 3309).
    fn crc(bytes: &[u8]) -> u32 {
        let fold = |sum: u32, byte: &u8| {
            (0..8).fold(sum ^ u32::from(*byte), |sum, _| match sum & 1 {
                0 => sum >> 1,
                _ => sum >> 1 ^ 0xedb8_8320,
            })
        };
        !bytes.iter().fold(u32::MAX, fold)
    }
}
