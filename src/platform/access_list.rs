//! Access lists of Windows: closing a file or a folder to everybody but this user, and reading who else may read.
//!
//! Owns the calls. A list that we write inherits nothing from above and names this user alone; what is made in a folder inherits it.
//! Administrators can take what they want anyway, as root can elsewhere.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::Path;

use windows::Win32::Foundation::{ERROR_SUCCESS, GENERIC_WRITE, HANDLE, HLOCAL, LocalFree, WIN32_ERROR};
use windows::Win32::Security::Authorization::{
    GetNamedSecurityInfoW, SE_FILE_OBJECT, SetNamedSecurityInfoW, SetSecurityInfo,
};
use windows::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACL, ACL_REVISION, AddAccessAllowedAceEx, CONTAINER_INHERIT_ACE,
    DACL_SECURITY_INFORMATION, EqualSid, GetAce, GetLengthSid, GetTokenInformation, InitializeAcl,
    IsWellKnownSid, OBJECT_INHERIT_ACE, PROTECTED_DACL_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, PSID,
    TOKEN_QUERY, TOKEN_USER, TokenUser, WinBuiltinAdministratorsSid, WinCreatorOwnerRightsSid,
    WinCreatorOwnerSid, WinLocalSystemSid,
};
use windows::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};
use windows::core::PCWSTR;

/// `FILE_ALL_ACCESS` (winnt.h).
const ALL: u32 = 0x001f_01ff;
/// `FILE_READ_DATA`, `GENERIC_READ` and `GENERIC_ALL` (winnt.h): any of them shows the content.
pub(super) const READ: u32 = 0x9000_0001;
/// `FILE_ADD_FILE`, `FILE_ADD_SUBDIRECTORY`, `FILE_DELETE_CHILD`, `GENERIC_WRITE` and `GENERIC_ALL` (winnt.h): any of them changes what
/// a folder holds.
pub(super) const CHANGE: u32 = 0x5000_0046;
/// `ACCESS_ALLOWED_ACE_TYPE` (winnt.h).
const ALLOWED: u8 = 0;
/// `INHERIT_ONLY_ACE` (winnt.h): it says nothing of the file itself.
const INHERIT_ONLY: u8 = 8;

/// How a file is opened that is written and closed to others: `GENERIC_WRITE` and `WRITE_DAC` (winnt.h).
pub(super) const TO_WRITE_AND_CLOSE: u32 = GENERIC_WRITE.0 | 0x0004_0000;

/// The same for one that is read as well: `GENERIC_READ` besides.
pub(super) const TO_READ_WRITE_AND_CLOSE: u32 = TO_WRITE_AND_CLOSE | 0x8000_0000;

/// Closes an open file to everybody but this user; it was opened with `TO_WRITE_AND_CLOSE`.
pub(super) fn close_file(file: &File) -> io::Result<()> {
    let list = ListOfUser::new()?;
    let what = DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION;
    // SAFETY: the handle is open, and the list lives until the call is over.
    done(unsafe {
        let handle = HANDLE(file.as_raw_handle());
        SetSecurityInfo(handle, SE_FILE_OBJECT, what, None, None, Some(list.acl()), None)
    })
}

/// Closes a folder, and what will be made in it.
pub(super) fn close_folder(folder: &Path) -> io::Result<()> {
    let list = ListOfUser::new()?;
    let what = DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION;
    let name = wide(folder);
    // SAFETY: name and list live until the call is over.
    done(unsafe {
        let name = PCWSTR(name.as_ptr());
        SetNamedSecurityInfoW(name, SE_FILE_OBJECT, what, None, None, Some(list.acl()), None)
    })
}

/// Whether anybody may do any of this to a file or folder but this user, the system and its administrators.
pub(super) fn is_open_to_others(file: &Path, rights: u32) -> io::Result<bool> {
    let (user, name) = (OwnUser::current()?, wide(file));
    let mut list: *mut ACL = std::ptr::null_mut();
    let mut descriptor = PSECURITY_DESCRIPTOR::default();
    // SAFETY: all that is written to lives until the call is over.
    done(unsafe {
        let (list, descriptor) = (Some(&raw mut list), &raw mut descriptor);
        GetNamedSecurityInfoW(
            PCWSTR(name.as_ptr()),
            SE_FILE_OBJECT,
            DACL_SECURITY_INFORMATION,
            None,
            None,
            list,
            None,
            descriptor,
        )
    })?;
    let _given = OwnedDescriptor(descriptor);
    // No list at all lets everybody do everything.
    if list.is_null() {
        return Ok(true);
    }
    // SAFETY: the list is whole until the descriptor is given back; its entries begin with a header that says what they are, and
    // those that allow end with the one whom they allow.
    unsafe {
        for at in 0..u32::from((*list).AceCount) {
            let mut entry = std::ptr::null_mut();
            GetAce(list, at, &raw mut entry)?;
            let entry = entry.cast::<ACCESS_ALLOWED_ACE>();
            let header = (*entry).Header;
            if header.AceType != ALLOWED || header.AceFlags & INHERIT_ONLY != 0 || (*entry).Mask & rights == 0
            {
                continue;
            }
            let whom = PSID((&raw mut (*entry).SidStart).cast());
            let trusted = [
                WinLocalSystemSid,
                WinBuiltinAdministratorsSid,
                WinCreatorOwnerSid,
                WinCreatorOwnerRightsSid,
            ];
            let is_trusted = trusted.into_iter().any(|kind| IsWellKnownSid(whom, kind).as_bool());
            if !is_trusted && EqualSid(whom, user.sid()).is_err() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// What the system says of the user of this process.
struct OwnUser(Vec<u64>);

impl OwnUser {
    fn current() -> io::Result<Self> {
        let mut token = HANDLE::default();
        // SAFETY: what is opened is ours alone, and the buffer is as long as the call is told.
        unsafe {
            OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token)?;
            let token = OwnedHandle::from_raw_handle(token.0);
            // Room for a `TOKEN_USER` and the longest name of a user (`SECURITY_MAX_SID_SIZE`, 68 bytes), aligned for both.
            let mut told = vec![0_u64; 16];
            let length = u32::try_from(size_of_val(told.as_slice())).unwrap_or(0);
            let mut used = 0;
            let handle = HANDLE(token.as_raw_handle());
            GetTokenInformation(handle, TokenUser, Some(told.as_mut_ptr().cast()), length, &raw mut used)?;
            Ok(Self(told))
        }
    }

    fn sid(&self) -> PSID {
        // SAFETY: the system wrote a `TOKEN_USER` here, which points into the same buffer.
        unsafe { (*self.0.as_ptr().cast::<TOKEN_USER>()).User.Sid }
    }
}

/// A list that lets this user do everything, and nobody else anything.
struct ListOfUser(Vec<u64>);

impl ListOfUser {
    fn new() -> io::Result<Self> {
        let user = OwnUser::current()?;
        // SAFETY: the buffer is as long as the calls are told, and the user lives until they are over.
        unsafe {
            let length =
                size_of::<ACL>() + size_of::<ACCESS_ALLOWED_ACE>() + GetLengthSid(user.sid()) as usize;
            let mut list = Self(vec![0; length.div_ceil(8)]);
            let acl = list.0.as_mut_ptr().cast::<ACL>();
            InitializeAcl(acl, u32::try_from(list.0.len() * 8).unwrap_or(0), ACL_REVISION)?;
            let inherited = OBJECT_INHERIT_ACE | CONTAINER_INHERIT_ACE;
            AddAccessAllowedAceEx(acl, ACL_REVISION, inherited, ALL, user.sid())?;
            Ok(list)
        }
    }

    fn acl(&self) -> *const ACL {
        self.0.as_ptr().cast()
    }
}

/// What the system gave and takes back.
struct OwnedDescriptor(PSECURITY_DESCRIPTOR);

impl Drop for OwnedDescriptor {
    fn drop(&mut self) {
        // SAFETY: the system gave it, to be given back in this way, and nobody else has it.
        unsafe { LocalFree(Some(HLOCAL(self.0.0))) };
    }
}

fn wide(path: &Path) -> Vec<u16> {
    path.as_os_str().encode_wide().chain([0]).collect()
}

fn done(code: WIN32_ERROR) -> io::Result<()> {
    if code == ERROR_SUCCESS { Ok(()) } else { Err(io::Error::from_raw_os_error(code.0.cast_signed())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_closed_to_others_and_its_owner_goes_on_reading_it() {
        use std::os::windows::fs::OpenOptionsExt;
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("a");
        std::fs::write(&file, "x").unwrap();
        let opened = std::fs::OpenOptions::new().access_mode(TO_READ_WRITE_AND_CLOSE).open(&file).unwrap();
        close_file(&opened).unwrap();
        assert!(!is_open_to_others(&file, READ).unwrap());
        assert_eq!(std::fs::read(&file).unwrap(), b"x");
    }

    /// Wine gives a new file what its own umask says, not what the folder hands down; this runs on Windows itself.
    #[test]
    #[ignore = "Wine hands down no access lists"]
    fn what_is_made_in_a_closed_folder_is_closed() {
        let place = tempfile::tempdir().unwrap();
        close_folder(place.path()).unwrap();
        let file = place.path().join("a");
        std::fs::write(&file, "x").unwrap();
        assert!(!is_open_to_others(&file, READ).unwrap());
    }
}
