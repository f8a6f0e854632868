//! What a guardian needs beside its words, handed to it through its control socket: handles, which no path can be swapped for.
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

use super::{LOOPS, Streams};
use crate::domain::policy::confinement::Confinement;

/// Three streams, the directory, the heartbeat, the cgroup and the locks.
const MOST: usize = 6 + LOOPS;

/// Bytes of the lists of files, which follow: some hundred paths. They wait in the socket until the guardian has started.
const LISTS: u32 = 64 * 1_024;

/// In the one byte that goes along: whether a cgroup comes, and above that bit how many locks.
const CGROUP: u8 = 1;
const LOCK: u8 = 2;
const _: () = assert!(LOOPS <= (u8::MAX / LOCK) as usize, "the number of locks fits in the byte");

/// What is handed over; borrowed by who sends it.
#[derive(Debug)]
pub(super) struct Handles<S, H> {
    pub(super) streams: S,
    /// The directory that the program starts in.
    pub(super) directory: H,
    /// Where guardians say that they live.
    pub(super) heartbeat: H,
    /// The cgroup for the program, where there is one.
    pub(super) cgroup: Option<H>,
    /// The locks of the server that must not be free before the last guardian has ended.
    pub(super) locks: Vec<H>,
    /// The files that the program may see and change; `None`: all.
    pub(super) confinement: Option<Confinement>,
}

/// Sends the handles; the receiver gets ends of its own.
pub(super) fn send(socket: impl AsFd, handles: &Handles<&Streams, BorrowedFd<'_>>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let streams = handles.streams.iter().map(AsFd::as_fd);
    let all: Vec<BorrowedFd<'_>> = streams
        .chain([handles.directory, handles.heartbeat])
        .chain(handles.cgroup)
        .chain(handles.locks.iter().take(LOOPS).copied())
        .collect();
    let cgroup = if handles.cgroup.is_some() { CGROUP } else { 0 };
    let locks = u8::try_from(handles.locks.len().min(LOOPS)).unwrap_or(0) * LOCK;
    if !control.push(SendAncillaryMessage::ScmRights(&all)) {
        return Err(io::Error::other("the handles do not fit in a message"));
    }
    let lists = handles.confinement.as_ref().map(serde_json::to_vec).transpose().map_err(io::Error::other)?;
    let lists = lists.unwrap_or_default();
    let length = u32::try_from(lists.len()).ok().filter(|length| *length <= LISTS);
    let length = length.ok_or_else(|| io::Error::other("there are too many places on the lists"))?;
    sendmsg(&socket, &[IoSlice::new(&[cgroup | locks])], &mut control, SendFlags::empty())?;
    write_all(&socket, &length.to_le_bytes())?;
    write_all(&socket, &lists)
}

fn write_all(socket: &impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = rustix::io::write(socket, bytes)?;
        bytes = bytes.get(written..).unwrap_or_default();
    }
    Ok(())
}

fn read_exact(socket: &impl AsFd, bytes: &mut [u8]) -> io::Result<()> {
    let mut read = 0;
    while read < bytes.len() {
        match rustix::io::read(socket, &mut bytes[read..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => read += more,
        }
    }
    Ok(())
}

/// Receives the handles; none of them is inherited by a program unless it is given to it.
pub(super) fn receive(socket: impl AsFd) -> io::Result<Handles<Streams, OwnedFd>> {
    #[cfg(target_os = "linux")]
    let flags = RecvFlags::CMSG_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    let flags = RecvFlags::empty();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(&socket, &mut [IoSliceMut::new(&mut byte)], &mut control, flags)?;
    let mut received = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(handles) = message {
            received.extend(handles);
        }
    }
    #[cfg(not(target_os = "linux"))]
    for handle in &received {
        rustix::io::fcntl_setfd(handle, rustix::io::FdFlags::CLOEXEC)?;
    }
    let mut length = [0; 4];
    read_exact(&socket, &mut length)?;
    let length = u32::from_le_bytes(length).min(LISTS);
    let mut lists = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    read_exact(&socket, &mut lists)?;
    let confinement = match lists.is_empty() {
        true => None,
        false => Some(serde_json::from_slice(&lists)?),
    };
    let mut received = received.into_iter();
    let mut next = || received.next().ok_or_else(|| io::Error::other("a handle did not come"));
    Ok(Handles {
        streams: [next()?, next()?, next()?],
        directory: next()?,
        heartbeat: next()?,
        cgroup: if byte[0] & CGROUP == 0 { None } else { Some(next()?) },
        locks: (0..byte[0] / LOCK).map(|_| next()).collect::<io::Result<_>>()?,
        confinement,
    })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_locks_of_every_loop_arrive_and_not_those_of_the_first_few() {
        let files: Vec<File> = (0..LOOPS).map(|_| tempfile::tempfile().unwrap()).collect();
        let (ours, theirs) = UnixStream::pair().unwrap();
        let streams: Streams = [(); 3].map(|()| OwnedFd::from(tempfile::tempfile().unwrap()));
        let (directory, heartbeat) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let handles = Handles {
            streams: &streams,
            directory: directory.as_fd(),
            heartbeat: heartbeat.as_fd(),
            cgroup: None,
            locks: files.iter().map(AsFd::as_fd).collect(),
            confinement: None,
        };
        send(&ours, &handles).unwrap();
        let received = receive(&theirs).unwrap();
        let identity = |file: &File| {
            use std::os::unix::fs::MetadataExt;
            let metadata = file.metadata().unwrap();
            (metadata.dev(), metadata.ino())
        };
        let theirs: Vec<File> = received.locks.into_iter().map(File::from).collect();
        let arrived: Vec<_> = theirs.iter().map(identity).collect();
        assert_eq!(arrived, files.iter().map(identity).collect::<Vec<_>>());
    }
}
