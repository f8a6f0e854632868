//! `FileJob::Spec`: the files of a spec's form, read for it.
//!
//! Owns the order in which a picked file is looked at; which faults there are and what they say is `domain::spec`'s. Never
//! answers for more than the files: what is offered and sent is the loop's.

use std::path::Path;

use super::attachment::{Offer, store};
use super::charset::guess;
use super::chosen::{Unchosen, name_of, read_chosen};
use super::drawing::stand_in;
use super::media::mime_of;
use super::root::Roots;
use super::thumbnail::thumbnail;
use crate::app::ports::{Attachment, Preview};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::spec::images::{IMAGE_BYTES, ImageFault, WHOLE_BYTES, is_taken};
use crate::domain::spec::markdown::{Imported, MARKDOWN_BYTES, MarkdownFault, import, is_markdown};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The text of a Markdown file that was picked.
pub(super) fn markdown(roots: &Roots, uri: &str) -> Result<Imported, MarkdownFault> {
    let name = name_of(uri).ok_or(MarkdownFault::Unreadable)?;
    if !is_markdown(&name) {
        return Err(MarkdownFault::NotMarkdown);
    }
    let bytes = read_chosen(roots, uri, MARKDOWN_BYTES).map_err(|why| match why {
        Unchosen::LeadsOut => MarkdownFault::LeadsOut,
        Unchosen::TooLarge(_) => MarkdownFault::TooLarge,
        Unchosen::NotLocal | Unchosen::Unreadable(_) | Unchosen::NotRegular => MarkdownFault::Unreadable,
    })?;
    import(&bytes, |bytes| guess([bytes]))
}

/// What the form shows of images that were picked; the first fault stops them all.
pub(super) fn previews(roots: &Roots, uris: &[String]) -> Result<Vec<Preview>, ImageFault> {
    uris.iter().map(|uri| preview(roots, uri)).collect()
}

fn preview(roots: &Roots, uri: &str) -> Result<Preview, ImageFault> {
    let (bytes, mime) = image(roots, uri)?;
    let data_url = if bytes.len() <= WHOLE_BYTES {
        data_url(&mime, &bytes)
    } else if mime == "image/svg+xml" {
        data_url(&mime, stand_in(bytes.len()).as_bytes())
    } else {
        let (small, mime) = thumbnail(&bytes, &mime)?;
        data_url(mime, &small)
    };
    Ok(Preview { uri: uri.to_owned(), name: name_of(uri).unwrap_or_default(), data_url })
}

fn data_url(mime: &str, bytes: &[u8]) -> String {
    format!("data:{mime};base64,{}", STANDARD.encode(bytes))
}

/// The bytes of an image and their type, by content.
fn image(roots: &Roots, uri: &str) -> Result<(Vec<u8>, String), ImageFault> {
    let bytes = read_chosen(roots, uri, IMAGE_BYTES).map_err(|why| match why {
        Unchosen::LeadsOut => ImageFault::LeadsOut,
        Unchosen::TooLarge(_) => ImageFault::TooLarge,
        Unchosen::NotLocal | Unchosen::Unreadable(_) | Unchosen::NotRegular => ImageFault::Unreadable,
    })?;
    let mime = mime_of(&bytes, None);
    if is_taken(&mime) { Ok((bytes, mime)) } else { Err(ImageFault::NotAnImage) }
}

/// Keeps the images of a spec that is sent, whole and as they are now: they may have changed since they were offered.
pub(super) fn keep_images(
    roots: &Roots,
    state_dir: Option<&Path>,
    uris: &[String],
) -> Result<Vec<Attachment>, CodedError> {
    let keep = |uri: &String| {
        let name = name_of(uri).unwrap_or_default();
        let offer = Offer { name, mime: None, uri: Some(uri.clone()), base64: None };
        let kept = store(roots, state_dir, offer)?;
        if is_taken(&kept.mime) {
            return Ok(kept);
        }
        Err(CodedError::new(
            ErrorCode::Conflict,
            format!("`{}` is no image any more; remove it, then submit again.", kept.name),
        ))
    };
    uris.iter().map(keep).collect()
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use std::path::Path;

    use image::{GenericImageView, ImageFormat};

    use super::{keep_images, markdown, previews};
    use crate::app::ports::Preview;
    use crate::domain::coded_error::ErrorCode;
    use crate::domain::spec::images::{IMAGE_BYTES, ImageFault};
    use crate::domain::spec::markdown::{Imported, MarkdownFault};
    use crate::workspace::media::mime_of;
    use crate::workspace::root::Roots;
    use crate::workspace::root::tests::folder;
    use crate::workspace::thumbnail::tests::noise;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

    fn uri(path: &Path) -> String {
        url::Url::from_file_path(path).unwrap().to_string()
    }

    fn file(dir: &Path, name: &str, bytes: &[u8]) -> String {
        std::fs::write(dir.join(name), bytes).unwrap();
        uri(&dir.join(name))
    }

    fn nowhere() -> Roots {
        Roots::open(&[])
    }

    #[test]
    fn r004_20_r004_22_r004_41_r004_59_a_markdown_file_of_anywhere_is_read_up_to_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let read = |name: &str, bytes: &[u8]| markdown(&nowhere(), &file(dir.path(), name, bytes));
        let text = |content: &str| Ok(Imported { content: content.to_owned(), warning: None });
        assert_eq!(read("a b.MD", b"\xef\xbb\xbf# T\n"), text("# T\n"));
        assert_eq!(read("w.md", b"Le caf\xe9 est tr\xe8s agr\xe9able"), text("Le café est très agréable"));
        assert_eq!(read("fits.md", &vec![b'a'; 524_288]), text(&"a".repeat(524_288)));
        assert_eq!(read("large.md", &vec![b'a'; 524_289]), Err(MarkdownFault::TooLarge));
        assert_eq!(read("a.txt", b"x"), Err(MarkdownFault::NotMarkdown));
        assert_eq!(read("b.md", b"\0\x01\x02"), Err(MarkdownFault::NotText));
    }

    #[test]
    fn what_is_no_regular_file_is_neither_imported_nor_attached() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("folder.md")).unwrap();
        let mut named = vec![
            uri(&dir.path().join("missing.md")),
            uri(&dir.path().join("folder.md")),
            "https://example.com/a.md".to_owned(),
            "a.md".to_owned(),
            String::new(),
        ];
        #[cfg(unix)]
        {
            let pipe = dir.path().join("pipe.md");
            let mode = rustix::fs::Mode::RUSR;
            rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
            let device = dir.path().join("zero.md");
            std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
            named.extend([uri(&pipe), uri(&device)]);
        }
        for uri in named {
            assert_eq!(markdown(&nowhere(), &uri), Err(MarkdownFault::Unreadable), "{uri}");
            assert_eq!(
                previews(&nowhere(), std::slice::from_ref(&uri)),
                Err(ImageFault::Unreadable),
                "{uri}"
            );
        }
    }

    #[test]
    fn r004_28_r004_48_r004_49_a_small_image_travels_whole_and_its_type_is_what_it_holds() {
        let dir = tempfile::tempdir().unwrap();
        let shown = |name: &str, bytes: &[u8], mime: &str| {
            let uri = file(dir.path(), name, bytes);
            let data_url = format!("data:{mime};base64,{}", STANDARD.encode(bytes));
            let preview = Preview { uri: uri.clone(), name: name.to_owned(), data_url };
            assert_eq!(previews(&nowhere(), &[uri]), Ok(vec![preview]), "{name}");
        };
        shown("ü 1.jpg", PNG, "image/png");
        shown("two", b"\xff\xd8\xff\xe0", "image/jpeg");
        shown("three.GIF", b"GIF89a", "image/gif");
        shown("four.webp", b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp");
        shown("five.svg", b"<svg xmlns='x'/>", "image/svg+xml");
        let mut edge = PNG.to_vec();
        edge.resize(262_144, 0);
        shown("six.png", &edge, "image/png");
    }

    #[test]
    fn r004_28_r004_58_a_large_image_comes_as_a_thumbnail_and_a_large_drawing_as_a_sheet_that_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let large = noise(700, 350, ImageFormat::Png);
        assert!(large.len() > 262_144);
        let shown = previews(&nowhere(), &[file(dir.path(), "a.png", &large)]).unwrap().remove(0).data_url;
        let small = STANDARD.decode(shown.strip_prefix("data:image/png;base64,").unwrap()).unwrap();
        assert_eq!(image::load_from_memory(&small).unwrap().dimensions(), (512, 256));
        let limit = usize::try_from(IMAGE_BYTES).unwrap();
        for (bytes, says) in [(262_145, ">0.3 MB<"), (limit, ">10.0 MB<")] {
            let drawing = format!("<svg>{}</svg>", " ".repeat(bytes - "<svg></svg>".len()));
            let shown = previews(&nowhere(), &[file(dir.path(), "a.svg", drawing.as_bytes())]);
            let shown = shown.unwrap().remove(0).data_url;
            let sheet = STANDARD.decode(shown.strip_prefix("data:image/svg+xml;base64,").unwrap()).unwrap();
            let sheet = String::from_utf8(sheet).unwrap();
            assert!(sheet.len() < 1_024 && sheet.contains(">SVG<") && sheet.contains(says), "{sheet}");
            assert_eq!(mime_of(sheet.as_bytes(), None), "image/svg+xml");
        }
        // What is sent is the drawing itself.
        let state = tempfile::tempdir().unwrap();
        let kept = keep_images(&nowhere(), Some(state.path()), &[uri(&dir.path().join("a.svg"))]).unwrap();
        assert_eq!((kept[0].mime.as_str(), kept[0].bytes), ("image/svg+xml", IMAGE_BYTES));
    }

    #[test]
    fn r004_27_r004_50_r004_58_r004_63_the_first_bad_file_stops_them_all() {
        let dir = tempfile::tempdir().unwrap();
        let good = file(dir.path(), "good.png", PNG);
        let text = file(dir.path(), "text.png", b"text");
        let large = file(dir.path(), "large.png", b"");
        let sparse = std::fs::OpenOptions::new().write(true).open(dir.path().join("large.png")).unwrap();
        sparse.set_len(IMAGE_BYTES + 1).unwrap();
        let stopped = |uris: &[&String]| {
            let uris: Vec<String> = uris.iter().map(|uri| (*uri).clone()).collect();
            previews(&nowhere(), &uris).map_err(ImageFault::reason)
        };
        assert_eq!(stopped(&[&good, &text, &large]), Err("One or more files are not valid image files."));
        assert_eq!(stopped(&[&good, &large, &text]), Err("One or more files exceed the 10 MB size limit."));
        // 10 MiB itself is read, and is no image.
        sparse.set_len(IMAGE_BYTES).unwrap();
        assert_eq!(IMAGE_BYTES, 10_485_760);
        assert_eq!(stopped(&[&good, &large]), Err("One or more files are not valid image files."));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_of_the_workspace_that_leads_out_is_not_followed_and_one_of_the_users_is() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let roots = Roots::open(&[folder("ws", root.path())]);
        for (name, bytes) in [("a.md", &b"secret"[..]), ("a.png", PNG)] {
            file(outside.path(), name, bytes);
            std::os::unix::fs::symlink(outside.path().join(name), root.path().join(name)).unwrap();
        }
        let (text, image) = (uri(&root.path().join("a.md")), uri(&root.path().join("a.png")));
        assert_eq!(markdown(&roots, &text), Err(MarkdownFault::LeadsOut));
        assert_eq!(previews(&roots, std::slice::from_ref(&image)), Err(ImageFault::LeadsOut));
        let state = tempfile::tempdir().unwrap();
        let refused = keep_images(&roots, Some(state.path()), std::slice::from_ref(&image)).unwrap_err();
        assert_eq!(refused.code, ErrorCode::PathOutsideWorkspace);
        let elsewhere = Roots::open(&[folder("ws", state.path())]);
        assert!(markdown(&elsewhere, &text).is_ok() && previews(&elsewhere, &[image]).is_ok());
    }

    #[test]
    fn images_are_kept_as_they_are_when_the_spec_is_sent() {
        let (dir, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let uris = [file(dir.path(), "a.png", PNG), file(dir.path(), "b.gif", b"GIF89a")];
        let kept = keep_images(&nowhere(), Some(state.path()), &uris).unwrap();
        let seen: Vec<_> = kept.iter().map(|one| (one.name.as_str(), one.mime.as_str(), one.bytes)).collect();
        assert_eq!(seen, [("a.png", "image/png", 12), ("b.gif", "image/gif", 6)]);
        assert_eq!(std::fs::read(&kept[0].path).unwrap(), PNG);
        std::fs::write(dir.path().join("b.gif"), "text").unwrap();
        let refused = keep_images(&nowhere(), Some(state.path()), &uris).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Conflict);
        assert_eq!(refused.message, "`b.gif` is no image any more; remove it, then submit again.");
    }
}
