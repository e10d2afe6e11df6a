//! What to run: arguments, environment, directory and umask, as the bytes of a memfd.
//!
//! The daemon writes it, the keeper stores and passes it on unread, and the forked child reads it.
//! Format: fields ended by NUL: directory, umask (octal), number of arguments, the arguments, then
//! `KEY=VALUE` entries to the end.

use crate::limits;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags};
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// A program to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Program and arguments; a program without `/` is looked up in the environment's `PATH`.
    pub argv: Vec<OsString>,
    /// The complete environment.
    pub env: Vec<(OsString, OsString)>,
    /// Working directory.
    pub dir: PathBuf,
    /// File mode creation mask.
    pub umask: u32,
}

impl Spec {
    /// Writes the description into a sealed memfd.
    pub fn to_memfd(&self) -> io::Result<OwnedFd> {
        let mut bytes = Vec::new();
        let mut field = |parts: &[&[u8]]| -> io::Result<()> {
            for part in parts {
                if part.contains(&0) {
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, "a NUL byte in the command"));
                }
                bytes.extend_from_slice(part);
            }
            bytes.push(0);
            Ok(())
        };
        field(&[self.dir.as_os_str().as_bytes()])?;
        field(&[format!("{:o}", self.umask).as_bytes()])?;
        field(&[self.argv.len().to_string().as_bytes()])?;
        for arg in &self.argv {
            field(&[arg.as_bytes()])?;
        }
        for (key, value) in &self.env {
            field(&[key.as_bytes(), b"=", value.as_bytes()])?;
        }
        if bytes.len() > limits::SPEC {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "command and environment are too long"));
        }
        sealed_memfd("swb-spec", &bytes)
    }

    /// Reads a description back.
    pub fn from_memfd(fd: impl AsFd) -> io::Result<Self> {
        let bytes = read_memfd(fd, limits::SPEC)?;
        Self::parse(&bytes)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a command description"))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut fields = bytes.strip_suffix(&[0])?.split(|b| *b == 0);
        let os = |field: &[u8]| OsString::from_vec(field.to_vec());
        let dir = os(fields.next()?).into();
        let umask = u32::from_str_radix(std::str::from_utf8(fields.next()?).ok()?, 8).ok()?;
        let count: usize = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let argv: Vec<_> = fields.by_ref().take(count).map(os).collect();
        let env = fields
            .map(|entry| {
                let mut sides = entry.splitn(2, |b| *b == b'=');
                Some((os(sides.next()?), os(sides.next()?)))
            })
            .collect::<Option<_>>()?;
        (argv.len() == count && count > 0).then_some(Self { argv, env, dir, umask })
    }

    /// The paths to try for the program, in order.
    pub(crate) fn candidates(&self) -> Vec<PathBuf> {
        let Some(program) = self.argv.first() else {
            return Vec::new();
        };
        if program.as_bytes().contains(&b'/') {
            return vec![program.into()];
        }
        let path = self.env.iter().find(|(key, _)| key == "PATH").map(|(_, value)| value.as_os_str());
        let path = path.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
        std::env::split_paths(path).map(|dir| dir.join(program)).collect()
    }

    pub(crate) fn argv_strings(&self) -> io::Result<Vec<CString>> {
        self.argv.iter().map(|arg| Ok(CString::new(arg.as_bytes())?)).collect()
    }

    pub(crate) fn env_strings(&self) -> io::Result<Vec<CString>> {
        let entry = |(key, value): &(OsString, OsString)| {
            Ok(CString::new([key.as_bytes(), b"=", value.as_bytes()].concat())?)
        };
        self.env.iter().map(entry).collect()
    }
}

/// Puts bytes into a sealed memfd, for the keeper to hold.
pub fn sealed_memfd(name: &str, bytes: &[u8]) -> io::Result<OwnedFd> {
    let fd = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        rest = rest.get(rustix::io::write(&fd, rest)?..).unwrap_or_default();
    }
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&fd, seals)?;
    Ok(fd)
}

/// Reads all bytes of a memfd from its beginning, independent of its file position, unless there are more than `max`.
pub fn read_memfd(fd: impl AsFd, max: usize) -> io::Result<Vec<u8>> {
    let fd = fd.as_fd();
    let len = usize::try_from(rustix::fs::fstat(fd)?.st_size).unwrap_or(usize::MAX);
    if len > max {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "stored data is too long"));
    }
    let mut bytes = vec![0; len];
    let mut at = 0u64;
    let mut rest = bytes.as_mut_slice();
    while !rest.is_empty() {
        let n = rustix::io::pread(fd, &mut *rest, at)?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        at = at.saturating_add(n as u64);
        rest = rest.get_mut(n..).unwrap_or_default();
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trip(args in prop::collection::vec("[^\0]*", 1..5),
                      env in prop::collection::vec(("[^\0=]+", "[^\0]*"), 0..5), umask in 0..0o777u32) {
            let spec = Spec {
                argv: args.into_iter().map(Into::into).collect(),
                env: env.into_iter().map(|(k, v)| (k.into(), v.into())).collect(),
                dir: "/a b".into(),
                umask,
            };
            prop_assert_eq!(Spec::from_memfd(spec.to_memfd().unwrap()).unwrap(), spec);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _parsed = Spec::parse(&bytes);
        }
    }

    #[test]
    fn nul_bytes_are_refused() {
        let spec = Spec { argv: vec!["a\0b".into()], env: vec![], dir: "/".into(), umask: 0 };
        assert!(spec.to_memfd().is_err());
    }
}
