//! What is understood of a line, and what is not.

use super::{Joined, Redirection, ShellCommand, UnreadLine, read};

fn command(joined: Joined, words: &[&str]) -> ShellCommand {
    ShellCommand {
        joined,
        variables: Vec::new(),
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        redirections: Vec::new(),
    }
}

#[test]
fn plain_words_quotes_lists_and_pipes_are_commands() {
    use Joined::{And, First, Or, Pipe, Then};
    for (line, wanted) in [
        ("ls", vec![command(First, &["ls"])]),
        ("  ls\t-la  ", vec![command(First, &["ls", "-la"])]),
        ("grep 'a b' \"c d\" e\"f\"'g'", vec![command(First, &["grep", "a b", "c d", "efg"])]),
        (
            "a && b || c; d | e",
            vec![
                command(First, &["a"]),
                command(And, &["b"]),
                command(Or, &["c"]),
                command(Then, &["d"]),
                command(Pipe, &["e"]),
            ],
        ),
        ("a &&\nb", vec![command(First, &["a"]), command(And, &["b"])]),
        ("a\n\nb\n", vec![command(First, &["a"]), command(Then, &["b"])]),
        ("a;", vec![command(First, &["a"])]),
        ("echo ''", vec![command(First, &["echo", ""])]),
        (
            "l's' -n5 --x=y HEAD~1 a@b 50% ü",
            vec![command(First, &["ls", "-n5", "--x=y", "HEAD~1", "a@b", "50%", "ü"])],
        ),
        ("ls 2>&1 2>/dev/null | wc", vec![command(First, &["ls"]), command(Pipe, &["wc"])]),
    ] {
        assert_eq!(read(line), Ok(wanted), "{line:?}");
    }
}

#[test]
fn redirections_to_files_are_kept_with_their_command() {
    let path = |path: &str, writes| Redirection { path: path.to_owned(), writes };
    let with = |words: &[&str], redirections| ShellCommand { redirections, ..command(Joined::First, words) };
    assert_eq!(read("cat < a > b"), Ok(vec![with(&["cat"], vec![path("a", false), path("b", true)])]));
    assert_eq!(read("> b echo x"), Ok(vec![with(&["echo", "x"], vec![path("b", true)])]));
    let last = ShellCommand { redirections: vec![path("c", true)], ..command(Joined::And, &["b"]) };
    assert_eq!(read("a && b >> 'c'"), Ok(vec![command(Joined::First, &["a"]), last]));
}

#[test]
fn variables_of_one_command_are_told_apart_from_its_words() {
    let read = read("CI=1 RUST_BACKTRACE=full cargo test").unwrap();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(read[0].variables, [pair("CI", "1"), pair("RUST_BACKTRACE", "full")]);
    assert_eq!(read[0].words, ["cargo", "test"]);
}

#[test]
fn whatever_a_shell_expands_or_groups_is_not_read() {
    for line in [
        "",
        " \n ",
        "$HOME",
        "ls $x",
        "ls ${x}",
        "ls $(id)",
        "ls `id`",
        "ls \"$(id)\"",
        "ls \"`id`\"",
        "ls <(id)",
        "ls *",
        "ls a?b",
        "ls [a]",
        "ls {a,b}",
        "ls ~",
        "ls ~root",
        "ls a=~",
        "ls \\a",
        "ls a\\\nb",
        "ls 'a\\'",
        "ls $'a'",
        "ls $\"a\"",
        "ls # x",
        "ls &",
        "ls & id",
        "a &> b",
        "a >& b",
        "a >| b",
        "a <> b",
        "cat <<x\na\nx",
        "cat <<< a",
        "(id)",
        "{ id; }",
        "! id",
        "if a; then b; fi",
        "for a in b; do c; done",
        "while a; do b; done",
        "case a in b) c;; esac",
        "f() { id; }",
        "[[ a ]]",
        "[ a ]",
        "((1))",
        "a=1",
        "a=$b c",
        "A+=b c",
        "a[0]=1 c",
        "export A=b",
        "unset a",
        "declare a",
        "local a",
        "a |& b",
        "a ;; b",
        "a && ",
        "&& a",
        "| a",
        "a |",
        "a && && b",
        "a ||| b",
        "ls 'a",
        "ls \"a",
        "'' a",
        "\"\" a",
        "=ls",
        "ls =x",
        "ls @x",
        "ls %x",
        "ls ^a",
        "ls a\u{202e}b",
        "ls a\u{200b}b",
        "ls a\rb",
        "ls a\0b",
        "ls \u{1b}[0m",
        "ls ’a’",
        "ls ｅ",
        "ls a\u{2028}b",
        "ls .gıt",
        "ls .ſsh",
        "ls \u{212a}",
        "echo a\u{a0}b",
        "time ls && { x",
        "coproc ls",
        "function f { id; }",
        "select a in b; do c; done",
        "until a; do b; done",
        "ls \"a!b\"",
        "ls \"a\\$b\"",
        "echo \"a\nb\"",
        "echo 'a\nb'",
        "ls 2>&-",
        "ls 3<&0",
        "a; ; b",
        "ls !$",
        "echo $((1+1))",
        "echo $[1+1]",
        "ls ?(a)",
        "ls +(a)",
    ] {
        assert!(read(line).is_err(), "{line:?} is {:?}", read(line));
    }
    assert_eq!(read(&"a ".repeat(4_097)), Err(UnreadLine::TooLong));
    assert_eq!(read("ls $(id)").unwrap_err().reason(), "has a command inside of another");
}
