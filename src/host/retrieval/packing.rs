//! Numbers and texts as bytes, small ones short.
//!
//! Never fails on bytes that are not ours: what cannot be read is the end.

use super::{Symbol, SymbolKind};

/// Appends a number.
pub(super) fn put(packed: &mut Vec<u8>, mut number: u32) {
    while number > 127 {
        packed.push((number & 127) as u8 | 128);
        number >>= 7;
    }
    packed.push(number as u8);
}

/// Takes a number off the front.
pub(super) fn take(rest: &mut &[u8]) -> Option<u32> {
    let mut number: u32 = 0;
    for shift in [0, 7, 14, 21, 28] {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u32::from(byte & 127) << shift;
        if byte & 128 == 0 {
            return Some(number);
        }
    }
    None
}

const KINDS: [SymbolKind; 11] = [
    SymbolKind::Function,
    SymbolKind::Method,
    SymbolKind::Struct,
    SymbolKind::Class,
    SymbolKind::Enum,
    SymbolKind::Trait,
    SymbolKind::Interface,
    SymbolKind::Module,
    SymbolKind::Constant,
    SymbolKind::Type,
    SymbolKind::Variable,
];

/// The definitions of a file.
pub(super) fn pack_symbols(symbols: &[Symbol]) -> Vec<u8> {
    let mut packed = Vec::new();
    put(&mut packed, symbols.len() as u32);
    for Symbol { name, kind, start_line, end_line, container, signature } in symbols {
        put(&mut packed, KINDS.iter().position(|one| one == kind).unwrap_or_default() as u32);
        put(&mut packed, *start_line as u32);
        put(&mut packed, end_line.saturating_sub(*start_line) as u32);
        put(&mut packed, u32::from(container.is_some()));
        for text in [Some(name), Some(signature), container.as_ref()].into_iter().flatten() {
            put(&mut packed, text.len() as u32);
            packed.extend_from_slice(text.as_bytes());
        }
    }
    packed
}

/// The same back; `None` when the bytes are no definitions.
pub(super) fn unpack_symbols(mut packed: &[u8]) -> Option<Vec<Symbol>> {
    let rest = &mut packed;
    let count = take(rest)?;
    let mut symbols = Vec::new();
    for _ in 0..count {
        let kind = *KINDS.get(take(rest)? as usize)?;
        let start_line = u64::from(take(rest)?);
        let end_line = start_line + u64::from(take(rest)?);
        let is_contained = take(rest)? == 1;
        let name = take_text(rest)?;
        let signature = take_text(rest)?;
        let container = if is_contained { Some(take_text(rest)?) } else { None };
        symbols.push(Symbol { name, kind, start_line, end_line, container, signature });
    }
    rest.is_empty().then_some(symbols)
}

fn take_text(rest: &mut &[u8]) -> Option<String> {
    let length = take(rest)? as usize;
    let (text, after) = rest.split_at_checked(length)?;
    *rest = after;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::host::retrieval::symbols::symbols_of;

    #[test]
    fn definitions_come_back_as_they_were_and_damage_is_seen() {
        let text = "/// Doc.\npub struct Guard<T> {\n    a: T,\n}\nimpl<T> Guard<T> {\n    fn größe() {}\n}\ntrait P { type X; }\n";
        let symbols = symbols_of("a.rs", text, &AtomicBool::new(false)).unwrap();
        let packed = pack_symbols(&symbols);
        assert!(symbols.len() > 3);
        assert_eq!(unpack_symbols(&packed), Some(symbols));
        assert_eq!(unpack_symbols(&packed[..packed.len() - 1]), None);
        assert_eq!(unpack_symbols(&[255, 255, 255, 255, 255]), None);
    }
}
