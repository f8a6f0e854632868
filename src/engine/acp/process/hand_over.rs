//! The three streams of a process, handed to a guardian through its control socket.
//!
//! Owns that one message. The guardian gives the streams to the program as they are, so nothing is copied on the way and no
//! process in between holds them open. Never reads or writes the streams.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// Stdin, stdout and stderr.
pub(super) type Streams = [OwnedFd; 3];

/// Sends the streams; the receiver gets ends of its own.
pub(super) fn send(socket: impl AsFd, streams: &Streams) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let borrowed: [BorrowedFd<'_>; 3] = std::array::from_fn(|at| streams[at].as_fd());
    if !control.push(SendAncillaryMessage::ScmRights(&borrowed)) {
        return Err(io::Error::other("the streams do not fit in a message"));
    }
    sendmsg(socket, &[IoSlice::new(b"s")], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Receives the streams; none of them is inherited by a program unless it is given to it.
pub(super) fn receive(socket: impl AsFd) -> io::Result<Streams> {
    #[cfg(target_os = "linux")]
    let flags = RecvFlags::CMSG_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = RecvFlags::empty();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, flags)?;
    let mut streams = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            streams.extend(received);
        }
    }
    #[cfg(not(target_os = "linux"))]
    for stream in &streams {
        rustix::io::fcntl_setfd(stream, rustix::io::FdFlags::CLOEXEC)?;
    }
    streams.try_into().map_err(|_| io::Error::other("the three streams did not come"))
}
