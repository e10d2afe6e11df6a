//! Confinement: a confined program reads what programs need to run and what it is granted, and writes only what it is
//! granted, besides a temporary directory of its own.
//!
//! Landlock does that for the contents of files. What it does not cover is closed by file systems that are read-only
//! outside the granted directories, and by a filter of system calls. A program for which that is impossible does not run,
//! unless the daemon has found, and warned its users, that this kernel does not allow it.

use crate::guard::Orders;
use crate::guard::read_only::{self, ReadOnlyFiles};
use crate::guard::repository::repository_of;
use crate::guard::syscalls::SyscallFilter;
use crate::workspace_fs::{open_unlinked, resolve};
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};
use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The newest access rights we use; an older kernel ignores those it does not support.
const KNOWN: ABI = ABI::V6;

/// Programs and what they need to run.
const SYSTEM: [&str; 16] = [
    "/bin",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix",
    "/opt",
    "/proc",
    "/run/current-system",
    "/run/nscd",
    "/run/systemd/resolve",
    "/sbin",
    "/snap",
    "/sys",
    "/usr",
];
/// Harmless devices without which few programs run. Terminals are excluded: the existing ones belong to other programs
/// of the user.
const DEVICES: [&str; 6] = ["/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero", "/dev/fd"];
/// What programs need from the home directory: git's configuration, without which git refuses to work, and compilers and
/// interpreters that users install for themselves. Passwords and keys are elsewhere.
const HOME: [&str; 24] = [
    ".asdf",
    ".bun",
    ".cargo/bin",
    ".cargo/env",
    ".cargo/git",
    ".cargo/registry",
    ".config/git/attributes",
    ".config/git/config",
    ".config/git/ignore",
    ".deno",
    ".gitconfig",
    ".local/lib",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv",
    ".nix-profile",
    ".npm-global",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".volta",
];

/// Why a confined program does not run.
const NO_NAMESPACE: &str = "cannot create a user namespace, which keeps the command from changing files outside its \
                            workspace, so the command was not run; if this kernel no longer allows user namespaces, \
                            run `swb upgrade`";

/// Whether this kernel can confine programs.
pub fn is_available() -> bool {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    ruleset.handle_access(AccessFs::from_all(ABI::V1)).is_ok_and(|ruleset| ruleset.create().is_ok())
}

/// Rules ready to be enforced.
pub(super) struct GuardRules {
    rules: RulesetCreated,
    /// `None` where the kernel never allows it.
    files: Option<ReadOnlyFiles>,
    syscalls: SyscallFilter,
}

impl GuardRules {
    pub(super) fn new(orders: &Orders, temporary: &Path) -> io::Result<Self> {
        let rules = Self::rules(orders, temporary).map_err(io::Error::other)?;
        let syscalls = SyscallFilter::new(orders.unix_sockets)?;
        let mut writable = orders.write.clone();
        if orders.git_writable {
            writable.extend(repositories(&orders.write));
        }
        // Although the daemon has found that the kernel allows it, other programs may have used up the namespaces.
        if !orders.without_namespaces && !read_only::is_available() {
            return Err(io::Error::other(NO_NAMESPACE));
        }
        let files = (!orders.without_namespaces).then(|| ReadOnlyFiles::new(orders, &writable, temporary));
        Ok(Self { rules, files, syscalls })
    }

    fn rules(orders: &Orders, temporary: &Path) -> Result<RulesetCreated, RulesetError> {
        let Orders { read, write, .. } = orders;
        let all = AccessFs::from_all(KNOWN);
        let device = AccessFs::from_file(KNOWN) & !AccessFs::Execute;
        let reading = AccessFs::from_read(KNOWN);
        let repositories = repositories(write);
        let agents: Vec<PathBuf> = orders.agents.iter().chain(write).cloned().collect();
        let (readable, writable) =
            if orders.git_writable { (None, Some(&repositories)) } else { (Some(&repositories), None) };
        let read = read.iter().chain(readable.into_iter().flatten());
        let written =
            write.iter().chain(writable.into_iter().flatten()).map(PathBuf::as_path).chain([temporary]);
        Ruleset::default()
            .handle_access(all)?
            .scope(Scope::Signal | Scope::AbstractUnixSocket)?
            .create()?
            .add_rules(path_beneath_rules(SYSTEM, reading))?
            .add_rules(path_beneath_rules(DEVICES, device | AccessFs::ReadDir))?
            .add_rules(unlinked(homely(&agents), reading))?
            .add_rules(unlinked(searched(&agents), reading))?
            .add_rules(unlinked(read, reading))?
            .add_rules(unlinked(written, all))
    }

    /// Enforces them for this process and everything it starts, permanently. The process must have one thread.
    pub(super) fn enter(self) -> io::Result<()> {
        // First, as the rules forbid to change mounts.
        self.files.map_or(Ok(()), |files| files.enter())?;
        drop_capabilities()?;
        self.rules.restrict_self().map_err(io::Error::other)?;
        self.syscalls.enter()
    }
}

/// Gives up everything that root may do in its namespaces, also for programs that are started: with it, root could make
/// mounts writable again.
fn drop_capabilities() -> io::Result<()> {
    for capability in CapabilitySet::all().iter() {
        match remove_capability_from_bounding_set(capability) {
            // Unknown to this kernel, or this process has none to give up.
            Ok(()) | Err(Errno::INVAL | Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let none = CapabilitySet::empty();
    Ok(set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}

/// The repositories of linked working trees among these directories.
fn repositories(write: &[PathBuf]) -> Vec<PathBuf> {
    write.iter().filter_map(|dir| repository_of(dir, write)).collect()
}

/// Rules for paths that were resolved before. One that contains a link by now is left out: a program that runs at the
/// same time may have put the link there.
fn unlinked(
    paths: impl IntoIterator<Item = impl AsRef<Path>>,
    access: BitFlags<AccessFs>,
) -> impl Iterator<Item = Result<PathBeneath<OwnedFd>, RulesetError>> {
    let opened = paths.into_iter().filter_map(|path| open_unlinked(path.as_ref()).ok());
    opened.map(move |file| {
        let is_dir = rustix::fs::fstat(&file)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
        let access = if is_dir { access } else { access & AccessFs::from_file(KNOWN) };
        Ok(PathBeneath::new(file, access))
    })
}

/// What is used of the home directory. A link that an agent may have made is not followed.
fn homely(agents: &[PathBuf]) -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let files = home.iter().flat_map(|home| HOME.iter().map(|file| home.join(file)));
    files.filter_map(|file| resolve(&file, agents)).collect()
}

/// The directories of `PATH`: a command can run what the user can run. A directory that contains the user's home is
/// excluded even if it is listed, and so is one that a link of an agent leads to.
fn searched(agents: &[PathBuf]) -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    // Either may be a link.
    let home = home.canonicalize().unwrap_or(home);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).filter(|dir| dir.is_absolute());
    dirs.filter_map(|dir| resolve(&dir, agents)).filter(|dir| !home.starts_with(dir)).collect()
}

/// A temporary directory that is removed with its guard.
#[derive(Debug)]
pub(super) struct TemporaryDir(PathBuf);

impl TemporaryDir {
    pub(super) fn new() -> io::Result<Self> {
        let random = RandomState::new().build_hasher().finish();
        let name = format!("{}{}-{random:016x}", swb_engine::CONFINED_DIR, std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        // The daemon's umask may have removed even the owner's rights.
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        Ok(Self(path.canonicalize()?))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryDir {
    fn drop(&mut self) {
        // What cannot be removed is left for the system to clean up.
        let _removed = std::fs::remove_dir_all(&self.0);
    }
}
