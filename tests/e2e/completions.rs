//! `breadboard-ls completions` and `breadboard-ls man` on the real binary, and in the shells that this machine has.

use std::process::Command;

fn script(shell: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_breadboard-ls"))
        .args(["completions", shell])
        .output()
        .expect("runs");
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn each_shell_gets_a_script_that_knows_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = script(shell);
        for word in ["acp", "doctor", "sessions", "agents", "logs", "completions", "engine-url", "continue"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
        assert!(!script.contains("guard"), "{shell} names what only the server starts");
    }
}

#[cfg(unix)]
#[test]
fn bash_completes_a_command_and_a_flag() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("completions");
    std::fs::write(&file, script("bash")).expect("a file");
    let completed = |words: &str, last: &str| {
        let given = format!(
            ". '{}'; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); \
             _breadboard__ls breadboard-ls '{last}' ''; printf '%s\n' \"${{COMPREPLY[@]}}\"",
            file.display()
        );
        let output = Command::new("bash").args(["--norc", "-c", &given]).output().expect("bash runs");
        String::from_utf8(output.stdout).expect("text")
    };
    assert_eq!(completed("breadboard-ls doc", "doc"), "doctor\n");
    assert_eq!(completed("breadboard-ls ask --eng", "--eng"), "--engine\n--engine-url\n");
}

#[test]
fn the_manual_has_a_page_for_the_program_and_each_command_that_people_type() {
    let page = |words: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_breadboard-ls")).arg("man").args(words).output().expect("runs");
        (output.status.code(), String::from_utf8(output.stdout).expect("text").replace("\\-", "-"))
    };
    let (code, whole) = page(&[]);
    assert_eq!(code, Some(0));
    assert!(
        whole.contains(".TH breadboard-ls 1") && whole.contains("The language server for coding agents.")
    );
    for command in ["ask", "acp", "undo", "doctor", "pair"] {
        assert!(whole.contains(&format!("breadboard-ls-{command}(1)")), "{command} has no page");
        let (code, text) = page(&[command]);
        assert!(code == Some(0) && text.contains(&format!(".TH breadboard-ls-{command} 1")), "{command}");
    }
    assert!(!whole.contains("guard"), "it names what only the server starts");
    assert_eq!(page(&["guard"]), (Some(2), String::new()));
}
