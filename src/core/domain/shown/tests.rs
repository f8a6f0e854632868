//! What is shown, that nothing hides in it, and that the text can be had back.

use proptest::prelude::*;

use super::*;

const KINDS: [Kind; 3] = [Kind::Code, Kind::Sentence, Kind::Lines];

/// Pieces that attacks are made of, beside any character at all.
const PIECES: [&str; 26] = [
    "./build.sh",
    "bu\u{1}ild",
    "a",
    "а",
    "p",
    "\u{200b}",
    "\u{202e}",
    "\u{1b}[2K",
    "\r",
    "\n",
    "\t",
    " ",
    "         ",
    "\u{ad}",
    "\u{e0041}",
    "❤\u{fe0f}",
    "\u{2215}",
    "⟨",
    "⟩",
    "⏎",
    "⟨U+200B⟩",
    "⟨9 spaces⟩",
    "e\u{301}",
    "é",
    "…",
    "\u{a0}",
];

const COLOURS: [&str; 5] = ["", "\u{1b}[m", "\u{1b}[1;31m", "\u{1b}[38;5;8;48;2;0;8;255m", "\u{1b}[4:3m"];

fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => prop::sample::select(PIECES.to_vec()).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => "[ -~]{0,12}",
        1 => (0_usize..200).prop_map(|count| " ".repeat(count)),
    ];
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

/// Stated apart from the code under test: what a reader cannot see, or what moves other text.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

proptest! {
    #[test]
    fn what_is_shown_can_be_turned_back_into_what_was_meant(text in texts()) {
        for kind in KINDS {
            prop_assert_eq!(reveal(&show(&text, kind)), Some(text.clone()), "{:?}", kind);
        }
    }

    #[test]
    fn two_different_texts_are_never_shown_as_the_same(one in texts(), other in texts()) {
        for kind in KINDS {
            prop_assert_eq!(show(&one, kind) == show(&other, kind), one == other);
        }
    }

    #[test]
    fn nothing_unseen_stands_in_code_that_is_shown(text in texts()) {
        let shown = show(&text, Kind::Code);
        prop_assert!(!shown.chars().any(is_unseen), "{shown:?}");
        prop_assert!(!shown.contains("         ") && shown.trim() == shown, "{shown:?}");
        let marked = show_marked(&shown);
        prop_assert_eq!(&marked, &shown, "what is safe stays as it is");
    }

    #[test]
    fn a_terminal_obeys_nothing_that_is_shown_as_lines(text in texts()) {
        for shown in [show(&text, Kind::Lines), show_marked(&text)] {
            let obeyed = |c: char| (c.is_control() && !matches!(c, '\n' | '\t'))
                || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            prop_assert!(!shown.chars().any(obeyed), "{shown:?}");
        }
    }

    #[test]
    fn colours_of_output_pass_and_hide_nothing(pieces in prop::collection::vec((texts(), prop::sample::select(COLOURS.to_vec())), 0..5)) {
        let text: String = pieces.iter().map(|(text, colour)| format!("{text}{colour}")).collect();
        let words: String = pieces.iter().map(|(text, _)| text.as_str()).collect();
        let shown = show_output(&text);
        // Two marks share their brackets only where no colour stands between them.
        let marks = |text: &str| text.replace("⟩⟨", " ");
        prop_assert_eq!(marks(&without_colours(&shown)), marks(&show(&words, Kind::Lines)), "what is marked without them is marked");
        let passed = COLOURS.iter().filter(|colour| !colour.is_empty()).fold(shown.into_owned(), |left, colour| left.replace(colour, ""));
        prop_assert!(!passed.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')), "{passed:?}");
    }

    #[test]
    fn usual_text_stays_as_it_is(text in "[!-~]([ -~]?[!-~]){0,80}") {
        for kind in KINDS {
            prop_assert!(matches!(show(&text, kind), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn a_plain_start_is_shown_as_it_is_read_one_by_one(start in "[a-z .,:{\"\n\t-]{0,60}", odd in texts(), again in "[a-z .,\n]{0,30}") {
        let text = format!("{start}{odd}{again}");
        for kind in [Kind::Code, Kind::Sentence, Kind::Lines] {
            let one_by_one = each_character(&text, kind, Marks::WrittenOut, WrittenText::default());
            prop_assert_eq!(written(&text, kind, Marks::WrittenOut), one_by_one);
        }
    }

    #[test]
    fn a_text_that_was_cut_is_told_from_every_other(start in "[a-z]{40}", one in texts(), other in texts()) {
        let [one, other] = [one, other].map(|end| format!("{start}{end}"));
        let cut = |text: &str| show_start(text, Kind::Code, 40).into_owned();
        prop_assert_eq!(cut(&one) == cut(&other), one == other);
    }
}

#[test]
fn usual_characters_end_before_a_word_that_goes_on_with_others() {
    for (text, at, usual) in [
        ("go to paypal", 0, 12),
        ("go to p\u{430}ypal", 0, 6),
        ("p\u{430}ypal", 0, 0),
        ("caf e\u{301}", 0, 4),
        ("one\ntwo", 0, 3),
        ("one\ntwo", 3, 0),
        ("a b  c", 0, 3),
        ("a b  c", 3, 0),
        (" a ", 0, 0),
        (" a ", 1, 1),
        ("- \u{2026}", 0, 2),
        ("", 0, 0),
    ] {
        let chars: Vec<char> = text.chars().collect();
        assert_eq!(usual_length(&chars, at), usual, "{text:?} from {at}");
    }
}

fn code(text: &str) -> String {
    show(text, Kind::Code).into_owned()
}

#[test]
fn what_hides_or_moves_text_is_written_out() {
    for (text, shown) in [
        ("./bu\u{1}ild.sh", "./bu⟨U+0001⟩ild.sh"),
        ("./bu\u{200b}ild.sh", "./bu⟨U+200B⟩ild.sh"),
        ("a\u{1b}[2Kb\rc\u{9b}1m", "a⟨U+001B⟩[2Kb␍c⟨U+009B⟩1m"),
        ("a\u{202e}hs.b\u{ad}\u{ad}\u{ad}\u{200d}", "a⟨U+202E⟩hs.b⟨3×U+00AD U+200D⟩"),
        ("x\u{e0041}\u{e007f}", "x⟨U+E0041 U+E007F⟩"),
        ("a\u{115f}b\u{3164}c\u{ffa0}d\u{2800}e\u{feff}", "a⟨U+115F⟩b⟨U+3164⟩c⟨U+FFA0⟩d⟨U+2800⟩e⟨U+FEFF⟩"),
        ("a\u{2028}b\u{2029}c\u{85}d", "a⟨U+2028⟩b⟨U+2029⟩c⟨U+0085⟩d"),
        ("a\u{a0}b\u{3000}c", "a⟨U+00A0⟩b⟨U+3000⟩c"),
        ("echo a\nrm\tb", "echo a⏎rm⇥b"),
        ("❤\u{fe0f}", "❤⟨U+FE0F⟩"),
        ("\u{fffd}", "\u{fffd}"),
        ("a\u{e000}b\u{ffff}", "a⟨U+E000⟩b⟨U+FFFF⟩"),
    ] {
        assert_eq!(code(text), shown);
    }
    assert_eq!(code(&format!("ls{}; touch x", " ".repeat(4_000))), "ls⟨4000 spaces⟩; touch x");
    assert_eq!(code(" ls  "), "⟨1 space⟩ls⟨2 spaces⟩");
    assert_eq!(code(&format!("a{}b", "\t".repeat(99))), "a⟨99×U+0009⟩b");
    assert_eq!(code(&"\u{200b}".repeat(5_000)), "⟨5000×U+200B⟩");
}

#[test]
fn our_own_marks_in_a_text_are_written_out_too() {
    assert_eq!(code("⟨U+200B⟩"), "⟨U+27E8⟩U+200B⟨U+27E9⟩");
    assert_eq!(code("a⏎b⇥c␍"), "a⟨U+23CE⟩b⟨U+21E5⟩c⟨U+240D⟩");
    assert_eq!(code("〈U+200B〉 \u{2329}x\u{276d}"), "〈U+200B〉 ⟨U+2329⟩x⟨U+276D⟩");
    assert_eq!(show_marked("⟨U+200B⟩ a\u{200b}"), "⟨U+200B⟩ a⟨U+200B⟩");
}

#[test]
fn what_imitates_ascii_is_marked_in_code() {
    for (text, shown) in [
        ("usr\u{2215}bin", "usr⟨U+2215⟩bin"),
        (
            "a\u{2044}b\u{29f8}c\u{ff0f}d\u{2024}e\u{a789}f\u{ff1b}",
            "a⟨U+2044⟩b⟨U+29F8⟩c⟨U+FF0F⟩d⟨U+2024⟩e⟨U+A789⟩f⟨U+FF1B⟩",
        ),
        ("pаypal", "p⟨U+0430⟩ypal"),
        // "copy", all of it Cyrillic.
        ("сору x", "⟨U+0441 U+043E U+0440 U+0443⟩ x"),
        ("ｌｓ", "⟨U+FF4C U+FF53⟩"),
        ("echo 𝐥𝐬", "echo ⟨U+1D425 U+1D42C⟩"),
        ("don’t –x", "don⟨U+2019⟩t ⟨U+2013⟩x"),
        ("cafe\u{301}", "cafe⟨U+0301⟩"),
        ("ca\u{212a}e \u{37e}", "ca⟨U+212A⟩e ⟨U+037E⟩"),
        (
            "café /home/иван/проект ls/über 東京/ノート λ.txt læs",
            "café /home/иван/проект ls/über 東京/ノート λ.txt læs",
        ),
    ] {
        assert_eq!(code(text), shown);
    }
}

#[test]
fn people_read_their_own_language() {
    for text in [
        "Исправить ошибку в сети, а затем проверить всё",
        "Διόρθωσε το σφάλμα",
        "Rustの実装：ノートを「追加」、10〜20件。全角　空白",
        "可以：修复 API 的错误（第一步）",
        "오류를 고치다",
        "C’est « prêt » — l’œuvre n’a pas changé…",
        "می\u{200c}خواهم ببینم",
        "हिन्दी में क्\u{200d}ष",
        "ผู้ใช้ ทดสอบ",
        "done ✅ ❤\u{fe0f} 👨\u{200d}👩\u{200d}👧 👍🏽",
        "Tiếng Việt, Türkçe: kapı, čeština",
    ] {
        assert_eq!(show(text, Kind::Sentence), text);
        assert_eq!(show(text, Kind::Lines), text);
    }
    // A word of two scripts is nobody's language.
    assert_eq!(show("Войти в pаypal", Kind::Sentence), "Войти в p⟨U+0430⟩ypal");
    assert_eq!(show("run usr\u{2215}bin", Kind::Sentence), "run usr⟨U+2215⟩bin");
    assert_eq!(
        show("a\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}", Kind::Sentence),
        "a\u{301}\u{301}\u{301}\u{301}⟨2×U+0301⟩"
    );
}

#[test]
fn lines_keep_their_ends_and_columns() {
    let table = "name          size\r\n\tsrc           4 KiB\n";
    assert_eq!(show(table, Kind::Lines), "name          size␍\n\tsrc           4 KiB\n");
    let far = format!("ok{}; rm x", " ".repeat(81));
    assert_eq!(show(&far, Kind::Lines), "ok⟨81 spaces⟩; rm x");
    assert_eq!(show(&"\n".repeat(21), Kind::Lines), "⟨21×U+000A⟩");
}

#[test]
fn output_keeps_its_colours_and_no_other_sequence() {
    for text in [
        "\u{1b}[32mok\u{1b}[0m",
        "\u{1b}[mx",
        "\u{1b}[1;;4mx",
        "a \u{1b}[38;5;8m \u{1b}[48;2;8;8;8m  b\n\u{1b}[107m",
    ] {
        assert_eq!(show_output(text), text, "{text:?}");
        assert_eq!(show(text, Kind::Lines), text.replace('\u{1b}', "⟨U+001B⟩"), "no other text has colours");
    }
    let long = format!("[{}m", "1;".repeat(40));
    for rest in [
        "",
        "[",
        "[31",
        "[8m",
        "[1;8m",
        "[38;5;1;8m",
        "[38;8m",
        "[38;5;300m",
        "[108m",
        "[>4m",
        "[?1m",
        "[1 m",
        "[2K",
        "[2J",
        "[1;1H",
        "]0;title",
        "c",
        "[12345678901m",
        "P1m",
        &long,
    ] {
        assert_eq!(show_output(&format!("a\u{1b}{rest}")), format!("a⟨U+001B⟩{rest}"), "{rest}");
    }
    assert_eq!(show_output("a\u{9b}31mb\u{1b}\u{1b}[31mc"), "a⟨U+009B⟩31mb⟨U+001B⟩\u{1b}[31mc");
    // They part neither a word nor a run of blanks.
    assert_eq!(show_output("p\u{1b}[31mаypal"), "p\u{1b}[31m⟨U+0430⟩ypal");
    let far = format!("{}\u{1b}[0m{}x", " ".repeat(41), " ".repeat(40));
    assert_eq!(show_output(&far), "⟨81 spaces⟩\u{1b}[0mx");
    assert_eq!(show_output("\u{1}\u{1b}[0m\u{2}"), "⟨U+0001⟩\u{1b}[0m⟨U+0002⟩");
}

#[test]
fn a_colour_that_has_no_end_yet_is_known() {
    for (text, kept) in [
        ("a\u{1b}", "a"),
        ("a\u{1b}[38;5", "a"),
        ("a\u{1b}[31mb", "a\u{1b}[31mb"),
        ("a\u{1b}[?2", "a\u{1b}[?2"),
        ("ab", "ab"),
    ] {
        assert_eq!(without_unfinished(text), kept);
    }
}

#[test]
fn marks_that_nobody_wrote_are_not_read() {
    for text in [
        "⟨U+⟩",
        "⟨200B⟩",
        "⟨",
        "⟨U+D800⟩",
        "⟨U+110000⟩",
        "⟨… 3 more characters, sha256 0⟩",
        "⟨99999999 spaces⟩",
    ] {
        assert_eq!(reveal(text), None, "{text}");
    }
    assert_eq!(reveal(&show_start("abcdef", Kind::Code, 3)), None);
}
