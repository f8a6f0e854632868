//! The sign of life of guardians: one byte a second each, into a pipe that the server empties when it looks.
//!
//! Owns the pipe and the two bytes. A pipe of its own instead of the control socket, because whoever waits on that one would be
//! woken by every beat; so the server and each guardian wake once a second, and the server only while something runs. A full pipe
//! loses beats, which nobody misses. Never judges a silence.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// From one beat to the next.
pub(super) const PERIOD: Duration = Duration::from_secs(1);

/// Which of the two guardians of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Post {
    /// Holds the inner one.
    Outer,
    /// Holds the program.
    Inner,
}

/// The end that guardians write to.
#[derive(Debug)]
pub(super) struct Heart(OwnedFd);

impl Heart {
    /// From the end that was handed over.
    pub(super) fn new(pipe: OwnedFd) -> Self {
        Self(pipe)
    }

    /// Says that this guardian lives.
    pub(super) fn beat(&self, post: Post) {
        // The server may be gone, which the control socket says; or stopped, and then the pipe may be full.
        let _ = rustix::io::write(&self.0, &[byte(post)]);
    }

    /// The end, to be handed on.
    pub(super) fn pipe(&self) -> &OwnedFd {
        &self.0
    }
}

/// The end that the server reads.
#[derive(Debug)]
pub(super) struct Beats(io::PipeReader);

/// Who was heard since the last look. Elsewhere than on Linux nobody listens.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct HeardBeat {
    pub(super) outer: bool,
    pub(super) inner: bool,
}

/// Both ends; neither waits.
pub(super) fn pair() -> io::Result<(Beats, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    let writer = OwnedFd::from(writer);
    for end in [reader.as_fd(), writer.as_fd()] {
        let flags = rustix::fs::fcntl_getfl(end)?;
        rustix::fs::fcntl_setfl(end, flags | rustix::fs::OFlags::NONBLOCK)?;
    }
    Ok((Beats(reader), writer))
}

impl Beats {
    /// Takes what came since the last look.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    pub(super) fn take(&mut self) -> HeardBeat {
        let mut heard = HeardBeat::default();
        let mut bytes = [0; 4_096];
        while let Ok(read @ 1..) = self.0.read(&mut bytes) {
            heard.outer |= bytes[..read].contains(&byte(Post::Outer));
            heard.inner |= bytes[..read].contains(&byte(Post::Inner));
        }
        heard
    }
}

fn byte(post: Post) -> u8 {
    match post {
        Post::Outer => b'o',
        Post::Inner => b'i',
    }
}

#[cfg(test)]
mod tests {
    use super::{HeardBeat, Heart, Post, pair};

    #[test]
    fn each_guardian_is_heard_for_itself_and_a_full_pipe_keeps_nobody() {
        let (mut beats, pipe) = pair().unwrap();
        let heart = Heart::new(pipe);
        assert_eq!(beats.take(), HeardBeat::default());
        heart.beat(Post::Inner);
        assert_eq!(beats.take(), HeardBeat { outer: false, inner: true });
        for _ in 0..100_000 {
            heart.beat(Post::Outer);
        }
        assert_eq!(beats.take(), HeardBeat { outer: true, inner: false });
    }
}
