//! What an agent reads, as something that can be closed from elsewhere.
//!
//! Owns that one end of the pipe. Whoever ends the agent closes it, also while a writer waits for the agent to read.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::AsyncWrite;
use tokio::process::ChildStdin;

/// The writer.
#[derive(Debug)]
pub struct AgentStdin(Arc<Mutex<StdinEnd>>);

/// Closes the writer.
#[derive(Debug)]
pub(super) struct Closer(Arc<Mutex<StdinEnd>>);

#[derive(Debug)]
struct StdinEnd {
    pipe: Option<ChildStdin>,
    waiting: Option<Waker>,
}

/// The two handles of one pipe.
pub(super) fn closable(pipe: ChildStdin) -> (AgentStdin, Closer) {
    let end = Arc::new(Mutex::new(StdinEnd { pipe: Some(pipe), waiting: None }));
    (AgentStdin(Arc::clone(&end)), Closer(end))
}

fn lock(end: &Mutex<StdinEnd>) -> MutexGuard<'_, StdinEnd> {
    end.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Closer {
    /// Closes it; who waits to write fails.
    pub(super) fn close(&self) {
        let waiting = {
            let mut end = lock(&self.0);
            end.pipe = None;
            end.waiting.take()
        };
        if let Some(waker) = waiting {
            waker.wake();
        }
    }
}

impl Drop for AgentStdin {
    fn drop(&mut self) {
        lock(&self.0).pipe = None;
    }
}

impl AgentStdin {
    fn poll<T>(
        &self,
        context: &mut Context<'_>,
        poll: impl FnOnce(Pin<&mut ChildStdin>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let mut end = lock(&self.0);
        let Some(pipe) = &mut end.pipe else { return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())) };
        let polled = poll(Pin::new(pipe), context);
        end.waiting = polled.is_pending().then(|| context.waker().clone());
        polled
    }
}

impl AsyncWrite for AgentStdin {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll(context, |pipe, context| pipe.poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(context, |pipe, context| pipe.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        lock(&self.0).pipe = None;
        Poll::Ready(Ok(()))
    }
}
