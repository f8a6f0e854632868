//! What only Windows has of the server, from the server's own files, as a program that does one thing and says what came of it.
//!
//! `run PROGRAM ARGS…` says what it wrote and how it ended; `hold …` keeps it until somebody kills this process; `end …` ends it;
//! `watch PID` says when that process is gone.
#![allow(dead_code, unused_imports)]

#[cfg(windows)]
#[path = "."]
mod domain {
    #[path = "."]
    pub(crate) mod policy {
        #[path = "../../../../src/core/domain/policy/confinement.rs"]
        pub(crate) mod confinement;
        #[path = "../../../../src/core/domain/policy/environment.rs"]
        pub(crate) mod environment;
    }
}
#[cfg(windows)]
#[path = "../../../../src/editor/client_watch.rs"]
mod client_watch;
#[cfg(windows)]
#[path = "."]
mod process {
    #[path = "../../../../src/process/directory.rs"]
    mod directory;
    #[path = "../../../../src/process/job.rs"]
    mod job;
    #[path = "../../../../src/process/job_object.rs"]
    mod job_object;
    #[path = "../../../../src/process/program_file.rs"]
    mod program_file;
    pub(crate) use directory::Directory;
    pub(crate) use job::{Confined, Ending, Hold, Job, NotStarted, Stream, Streams};
    pub(crate) use job_object::Contained;
}

#[cfg(windows)]
fn main() {
    use std::sync::mpsc;

    let words: Vec<String> = std::env::args().skip(1).collect();
    let [what, first, rest @ ..] = words.as_slice() else { panic!("too few words") };
    if what == "watch" {
        let (told, hears) = mpsc::channel();
        client_watch::watch(first.parse().expect("a number"), move || told.send(()).expect("heard"));
        println!("watching");
        hears.recv().expect("told");
        println!("gone");
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(contained(what, first, rest));
}

#[cfg(windows)]
async fn contained(what: &str, program: &str, args: &[String]) {
    use std::io::Read;

    use process::{Contained, Directory, Hold, Job};

    let (stdin, ours_in) = std::io::pipe().expect("a pipe");
    let (mut ours_out, stdout) = std::io::pipe().expect("a pipe");
    let (_ours_err, stderr) = std::io::pipe().expect("a pipe");
    let here = std::env::current_dir().expect("a directory");
    let job = Job {
        program: program.to_owned(),
        args: args.to_vec(),
        inherited: std::env::vars_os().collect(),
        env: Vec::new(),
        cwd: Directory::open(&here).expect("opened"),
        guard: "none".into(),
        hold: Hold::Guardians,
        confinement: None,
    };
    let mut process = match Contained::spawn(&job, [stdin.into(), stdout.into(), stderr.into()]).await {
        Ok(process) => process,
        Err(why) => return println!("{}", why.sentence(program)),
    };
    drop(ours_in);
    println!("runs {}", process.pid());
    match what {
        "run" => {
            let ending = process.exited().await;
            let mut said = String::new();
            ours_out.read_to_string(&mut said).expect("text");
            println!("{}{ending:?}", said.replace('\r', ""));
        }
        "end" => {
            // Until the test has seen the tree.
            std::io::stdin().read_line(&mut String::new()).expect("a line");
            process.end().await;
            println!("ended");
            std::io::stdin().read_line(&mut String::new()).expect("a line");
        }
        _ => std::future::pending().await,
    }
}

#[cfg(not(windows))]
fn main() {}
