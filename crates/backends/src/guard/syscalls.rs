//! System calls that a confined program may not make: those that lead around Landlock, which covers files.
//!
//! - `socket` for Unix sockets. Behind them are this daemon, the user's service manager, container engines and terminal
//!   multiplexers, all of which start programs that are not confined. Pairs of connected sockets are allowed: they
//!   connect only processes that share them. Pairs of any other type are not: each end of one for datagrams can send to
//!   any socket, and Linux makes datagrams of other types, too.
//! - `prlimit` for other processes, which is not subject to the rules for signals: a guard that may open no files cannot
//!   find its descendants.
//! - Changes of mounts and of the root directory. Landlock denies most of them, but not that of a mount's attributes; a
//!   process with another root directory would hide the mounts by which we recognise it.
//! - `open_by_handle_at`: a file's handle leads to it through any of its mounts, also a writable one.
//! - `io_uring_setup`: what is submitted to a ring is not subject to this filter.
//! - The kernel's key storage, which holds secrets of the user's session.
//!
//! They fail with `EPERM`. Programs of another architecture, for example 32-bit ones on a 64-bit system, are killed:
//! their system calls have other numbers.

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::io;

/// Set in the number of a system call by programs for the x32 variant of x86-64.
const X32: i64 = 0x4000_0000;

/// The bits of a socket's type that are not flags.
const SOCKET_TYPE: u64 = 0xf;
/// Types of sockets of which each end of a pair can send only to the other end.
const CONNECTED: [u64; 2] = [libc::SOCK_STREAM as u64, libc::SOCK_SEQPACKET as u64];
/// `open_tree_attr`, which the C library's headers do not have yet. New system calls have the same number everywhere.
const OPEN_TREE_ATTR: i64 = 467;
/// System calls that are denied with any arguments.
const DENIED: [i64; 18] = [
    libc::SYS_add_key,
    libc::SYS_chroot,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_io_uring_setup,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_pivot_root,
    libc::SYS_request_key,
    libc::SYS_setns,
    libc::SYS_umount2,
];

/// A filter ready to be installed.
pub(super) struct SyscallFilter(BpfProgram);

impl SyscallFilter {
    pub(super) fn new(unix_sockets: bool) -> io::Result<Self> {
        filter(unix_sockets).map(Self).map_err(io::Error::other)
    }

    /// Installs it for this thread and everything it starts, permanently.
    pub(super) fn enter(&self) -> io::Result<()> {
        seccompiler::apply_filter(&self.0).map_err(io::Error::other)
    }
}

fn filter(unix_sockets: bool) -> Result<BpfProgram, BackendError> {
    let mut rules: Vec<(i64, Vec<SeccompRule>)> = DENIED.map(|number| (number, Vec::new())).into();
    let condition =
        |argument, operator, value| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value);
    let other = condition(0, SeccompCmpOp::Ne, 0)?;
    rules.push((libc::SYS_prlimit64, vec![SeccompRule::new(vec![other])?]));
    if !unix_sockets {
        let unix = || condition(0, SeccompCmpOp::Eq, libc::AF_UNIX as u64);
        // No operator means "none of these", so each denied type has a rule.
        let unconnected = (0..=SOCKET_TYPE).filter(|kind| !CONNECTED.contains(kind)).map(|kind| {
            let kind = condition(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), kind)?;
            SeccompRule::new(vec![unix()?, kind])
        });
        let unconnected = unconnected.collect::<Result<_, _>>()?;
        rules.push((libc::SYS_socket, vec![SeccompRule::new(vec![unix()?])?]));
        rules.push((libc::SYS_socketpair, unconnected));
    }
    if cfg!(target_arch = "x86_64") {
        let x32: Vec<_> = rules.iter().map(|(number, rules)| (number | X32, rules.clone())).collect();
        rules.extend(x32);
    }
    let denied = SeccompAction::Errno(libc::EPERM as u32);
    let arch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules.into_iter().collect(), SeccompAction::Allow, denied, arch)?.try_into()
}
