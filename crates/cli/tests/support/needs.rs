//! Requirements of tests that not every machine meets. Such a test is ignored unless `cargo xtask ci` runs it, and then
//! fails where the requirement is not met, instead of passing without having tested anything.

/// Fails without root, which a test needs to act as another user.
#[track_caller]
pub(crate) fn root() {
    assert!(rustix::process::geteuid().is_root(), "this test must run as root, to act as another user");
}

/// Fails without FUSE, which a test needs for a mount that does not respond.
#[track_caller]
pub(crate) fn fuse() {
    assert!(std::path::Path::new("/dev/fuse").exists(), "this test needs /dev/fuse");
}

/// Fails on a kernel without Landlock.
#[track_caller]
pub(crate) fn landlock() {
    assert!(swb_daemon::guard::can_confine(), "this test needs a kernel with Landlock");
}

/// Fails on a kernel whose Landlock does not confine signals and abstract sockets.
#[track_caller]
pub(crate) fn landlock_scopes() {
    landlock();
    let version = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("the kernel's version");
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    let has_scopes = (numbers.next(), numbers.next()) >= (Some(6), Some(12));
    assert!(has_scopes, "this test needs Linux 6.12 for the scopes of Landlock, and this is {version}");
}

/// Fails where a process cannot have mount namespaces of its own.
#[track_caller]
pub(crate) fn user_namespaces() {
    let probe = std::process::Command::new(env!("CARGO_BIN_EXE_swb")).args(["guard", "--probe"]).status();
    assert!(
        probe.is_ok_and(|status| status.success()),
        "this test needs a kernel that allows user namespaces"
    );
}
