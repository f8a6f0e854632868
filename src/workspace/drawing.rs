//! What a form shows of a drawing that is too large to travel whole: a sheet that says what it is and how large.
//!
//! Drawings are not rendered: one that a stranger made can keep a renderer busy for ever. Never holds a byte of the file.

use crate::domain::spec::images::THUMBNAIL_PIXELS;

/// A drawing of our own for one of so many bytes.
pub(super) fn stand_in(bytes: usize) -> String {
    let tenths = bytes.div_ceil(104_858);
    let side = THUMBNAIL_PIXELS;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{side}\" height=\"{side}\" viewBox=\"0 0 {side} {side}\">\
         <path d=\"M112 48h200l88 88v328H112z\" fill=\"#fff\" stroke=\"#777\" stroke-width=\"8\"/>\
         <g font-family=\"sans-serif\" text-anchor=\"middle\" fill=\"#555\"><text x=\"256\" y=\"280\" font-size=\"72\">SVG</text>\
         <text x=\"256\" y=\"360\" font-size=\"48\">{}.{} MB</text></g></svg>",
        tenths / 10,
        tenths % 10,
    )
}
