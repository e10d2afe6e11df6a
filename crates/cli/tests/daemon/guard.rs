//! The guard of agents' programs: its exit status, the processes it ends, and what a confined program can do.

use crate::support::needs;
use rustix::process::Signal;
use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use swb_testkit::{is_alive, signal, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// A guard with these options and a shell script under it.
fn guard(options: &[&str], script: &str) -> Command {
    let mut command = Command::new(EXE);
    command.arg("guard").args(options).args(["--", "/bin/sh", "-c", script]).stdin(Stdio::null());
    command
}

fn run(options: &[&str], script: &str) -> Output {
    guard(options, script).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn pid_in(file: &Path) -> i64 {
    wait_for("a process id", || fs::read_to_string(file).ok()?.strip_suffix('\n')?.parse().ok())
}

fn ends(pid: i64) {
    wait_for(&format!("the end of {pid}"), || (!is_alive(pid)).then_some(()));
}

/// A script that starts a child, a child of another session, and one that has left everything behind; all print their
/// process ids. `$D` is the directory for that.
const FAMILY: &str = "
    sleep 100 & echo $! > $D/child
    setsid sleep 100 & echo $! > $D/other
    sh -c '(setsid sh -c \"echo \\$\\$ > $D/daemon; trap \\\"\\\" TERM HUP INT; exec sleep 100\" </dev/null >/dev/null 2>&1 &)'
    while [ ! -s $D/daemon ]; do :; done
    echo $$ > $D/main";

const MEMBERS: [&str; 4] = ["child", "other", "daemon", "main"];

fn family(dir: &Path) -> [i64; 4] {
    MEMBERS.map(|member| pid_in(&dir.join(member)))
}

#[test]
fn the_guard_exits_with_its_programs_status() {
    for (script, code) in [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143)] {
        assert_eq!(run(&[], script).status.code(), Some(code), "{script}");
    }
    let code = |args: &[&str]| Command::new(EXE).arg("guard").args(args).output().unwrap().status.code();
    assert_eq!(code(&["--", "/nonexistent/program"]), Some(127));
    assert_eq!(code(&["--", "/etc/passwd"]), Some(126));
    for nonsense in [&[][..], &["--"], &["--what", "--", "true"], &["--umask", "x", "--", "true"]] {
        assert_eq!(code(nonsense), Some(125), "{nonsense:?}");
    }
}

#[test]
fn the_program_gets_the_umask_and_default_signals() {
    assert_eq!(said(&run(&["--umask", "027"], "umask")), "0027\n");
    let masks = said(&run(&[], "grep -E 'SigBlk|SigIgn' /proc/self/status"));
    // The signals from 32 on belong to the C library.
    let classic =
        |line: &str| u64::from_str_radix(line.rsplit('\t').next().unwrap(), 16).unwrap() & 0x7fff_ffff;
    assert!(masks.lines().count() == 2 && masks.lines().all(|line| classic(line) == 0), "{masks}");
}

#[test]
fn variables_for_the_program_do_not_reach_the_guard() {
    let mut command = guard(&[], "echo $WORD $LD_PRELOAD; echo \"$PATH\"; env | grep -c SWB_GUARDED_");
    command.env("SWB_GUARDED_WORD", "one").env("SWB_GUARDED_PATH", "/usr/bin:/bin:/other");
    let output =
        command.env("WORD", "two").env("SWB_GUARDED_LD_PRELOAD", "/nonexistent.so").output().unwrap();
    assert_eq!(said(&output), "one /nonexistent.so\n/usr/bin:/bin:/other\n0\n");
}

#[test]
fn descendants_end_with_the_program() {
    let dir = tempfile::tempdir().unwrap();
    let output = guard(&[], &format!("{FAMILY}; exit 5")).env("D", dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    for pid in family(dir.path()) {
        assert!(!is_alive(pid), "nothing is left when the guard is gone");
    }
}

#[test]
fn a_signal_to_the_guard_ends_all_descendants() {
    let dir = tempfile::tempdir().unwrap();
    let mut child =
        guard(&[], &format!("trap '' TERM; {FAMILY}; wait")).env("D", dir.path()).spawn().unwrap();
    let members = family(dir.path());
    assert!(members.iter().all(|pid| is_alive(*pid)));
    signal(child.id().into(), Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    for pid in members {
        assert!(!is_alive(pid), "nothing is left when the guard is gone");
    }
}

/// A process in the daemon's place that starts a guard.
fn parent(dir: &Path, script: &str) -> Child {
    let start = "$SWB guard --parent $$ -- /bin/sh -c \"$SCRIPT\" & echo $! > $D/guard; wait";
    let mut parent = Command::new("/bin/sh");
    parent.args(["-c", start]).env("SWB", EXE).env("SCRIPT", script).env("D", dir).stdin(Stdio::null());
    parent.spawn().unwrap()
}

#[test]
fn killing_the_guards_parent_ends_all_descendants() {
    let dir = tempfile::tempdir().unwrap();
    let mut parent = parent(dir.path(), &format!("{FAMILY}; wait"));
    let (guard, members) = (pid_in(&dir.path().join("guard")), family(dir.path()));
    assert!(members.iter().all(|pid| is_alive(*pid)) && is_alive(guard));
    signal(parent.id().into(), Signal::KILL);
    parent.wait().unwrap();
    ends(guard);
    members.into_iter().for_each(ends);
}

#[test]
fn a_guard_that_its_program_has_stopped_ends_with_its_parent() {
    let dir = tempfile::tempdir().unwrap();
    // As the daemon does: in a group of its own, in the same session.
    let start = "import os, subprocess, sys\n\
        p = subprocess.Popen([sys.argv[1], 'guard', '--parent', str(os.getpid()), '--', '/bin/sh', '-c', sys.argv[2]],\
            preexec_fn=lambda: os.setpgid(0, 0))\n\
        p.wait()";
    let script =
        "trap '' TERM HUP; kill -STOP $PPID; echo $PPID > $D/guard; echo $$ > $D/main; exec sleep 100";
    let mut parent = Command::new("python3");
    parent.args(["-c", start, EXE, script]).env("D", dir.path()).stdin(Stdio::null());
    let mut parent = parent.spawn().unwrap();
    let [guard, main] = ["guard", "main"].map(|file| pid_in(&dir.path().join(file)));
    wait_for("the guard to stop", || {
        fs::read_to_string(format!("/proc/{guard}/stat")).ok()?.contains(") T ").then_some(())
    });
    signal(parent.id().into(), Signal::KILL);
    parent.wait().unwrap();
    ends(guard);
    ends(main);
}

#[test]
fn a_fork_bomb_is_ended() {
    let dir = tempfile::tempdir().unwrap();
    // Not for ever, should this test fail.
    let script = "
        trap '' TERM HUP; i=0
        while [ $i -lt 500 ]; do
            i=$((i + 1)); (setsid sh -c 'echo $$ >> $D/all; exec sleep 100' &)
        done
        sleep 100";
    let mut child = guard(&[], script).env("D", dir.path()).spawn().unwrap();
    wait_for("some of them", || (fs::read_to_string(dir.path().join("all")).ok()?.len() > 200).then_some(()));
    signal(child.id().into(), Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    for pid in fs::read_to_string(dir.path().join("all")).unwrap().lines() {
        assert!(!is_alive(pid.parse().unwrap()), "nothing is left when the guard is gone");
    }
}

#[test]
fn the_program_runs_in_a_session_of_its_own() {
    let output = run(&[], "echo $$; cut -d ' ' -f 5,6,7 /proc/$$/stat");
    let text = said(&output);
    let (pid, rest) = text.split_once('\n').unwrap();
    assert_eq!(rest.trim(), format!("{pid} {pid} 0"), "group, session and no terminal");
}

#[test]
fn a_guard_whose_parent_is_gone_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let output = guard(&["--parent", "1"], "touch $D/started").env("D", dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(!dir.path().join("started").exists());
}

#[test]
fn a_killed_guard_ends_its_program() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = guard(&[], "echo $$ > $D/main; exec sleep 100").env("D", dir.path()).spawn().unwrap();
    let pid = pid_in(&dir.path().join("main"));
    child.kill().unwrap();
    child.wait().unwrap();
    ends(pid);
}

#[test]
#[ignore = "needs Landlock: run by cargo xtask ci"]
fn a_confined_program_writes_only_where_it_may() {
    needs::landlock();
    let dir = tempfile::tempdir().unwrap();
    for name in ["ws", "ctx", "out", "home"] {
        fs::create_dir(dir.path().join(name)).unwrap();
        fs::write(dir.path().join(name).join("file"), name).unwrap();
    }
    std::os::unix::fs::symlink("../out", dir.path().join("ws/link")).unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let script = "
        cd $D/ws
        echo x > new && mkdir d && mv new d/ && rm -r d && echo 'writes the workspace'
        cat $D/ctx/file && echo; echo x 2>/dev/null > $D/ctx/new || echo 'not the context'
        cat $D/out/file 2>/dev/null || echo 'reads nothing else'
        echo x 2>/dev/null > $D/out/new || echo 'writes nothing else'
        echo x 2>/dev/null > link/new || echo 'not by a link'
        echo x 2>/dev/null > /tmp/swb-guard-test || echo 'not in /tmp'
        cat $HOME/file 2>/dev/null || echo 'not the home'
        echo x > $TMPDIR/x && cat $TMPDIR/x && echo $TMPDIR
        echo x > /dev/null && ls /usr/bin > /dev/null && sort /etc/passwd | head -c 0 && echo 'lives'
        ls /dev/pts >/dev/null 2>&1 || echo 'sees no terminals'";
    let output =
        guard(&["--confine", "--write", &at("ws"), "--read", &at("ctx"), "--write", "/nonexistent"], script)
            .env("D", dir.path())
            .env("HOME", at("home"))
            .output()
            .unwrap();
    let text = said(&output);
    let lines: Vec<&str> = text.lines().collect();
    let expected = [
        "writes the workspace",
        "ctx",
        "not the context",
        "reads nothing else",
        "writes nothing else",
        "not by a link",
        "not in /tmp",
        "not the home",
        "x",
    ];
    assert_eq!(lines[..9], expected, "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(lines[10..], ["lives", "sees no terminals"], "{text}");
    assert!(
        Path::new(lines[9]).starts_with(std::env::temp_dir()) && !Path::new(lines[9]).exists(),
        "its own, and gone: {}",
        lines[9]
    );
    for untouched in ["ctx", "out", "home"] {
        assert_eq!(fs::read_dir(dir.path().join(untouched)).unwrap().count(), 1, "{untouched}");
    }
}

#[test]
#[ignore = "needs Landlock: run by cargo xtask ci"]
fn a_confined_program_does_not_reach_abstract_sockets() {
    needs::landlock_scopes();
    let name = format!("swb-guard-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    let script = format!(
        "python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('\\0{name}')\" 2>/dev/null && echo in"
    );
    assert_eq!(said(&run(&[], &script)), "in\n");
    assert_eq!(said(&run(&["--confine", "--unix-sockets"], &script)), "");
}

#[test]
#[ignore = "needs Landlock: run by cargo xtask ci"]
fn a_confined_program_cannot_shake_off_its_guard() {
    needs::landlock_scopes();
    let output = run(&["--confine"], "kill -9 $PPID 2>/dev/null; echo still there; exit 4");
    assert_eq!((said(&output).as_str(), output.status.code()), ("still there\n", Some(4)));
}

#[test]
fn an_unconfined_program_is_not_restricted() {
    let dir = tempfile::tempdir().unwrap();
    let output = guard(&[], "echo x > $D/new; chmod 700 $D/new").env("D", dir.path()).output().unwrap();
    assert!(output.status.success());
    assert_eq!(fs::metadata(dir.path().join("new")).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
#[ignore = "needs Landlock: run by cargo xtask ci"]
fn a_confined_program_makes_no_unix_sockets() {
    needs::landlock();
    let script = "python3 - <<'END'
import ctypes, errno, os, resource, socket
def tried(name, do):
    try:
        do()
        print(name, 'works')
    except OSError as error:
        print(name, errno.errorcode[error.errno])
def call(number, *args):
    if ctypes.CDLL(None, use_errno=True).syscall(number, *args) < 0:
        raise OSError(ctypes.get_errno(), '')
tried('unix', lambda: socket.socket(socket.AF_UNIX))
tried('unix datagrams', lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
tried('pair', socket.socketpair)
tried('datagram pair', lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC))
tried('raw pair', lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW))
tried('raw pair with flags', lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW | socket.SOCK_NONBLOCK))
tried('packet pair', lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC))
tried('own limits', lambda: resource.prlimit(0, resource.RLIMIT_NOFILE))
tried('limits of others', lambda: resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (0, 0)))
tried('mount attributes', lambda: call(442, -100, b'/', 0x8000, ctypes.create_string_buffer(32), 32))
tried('inet', lambda: socket.socket(socket.AF_INET))
tried('io_uring', lambda: call(425, 1, ctypes.create_string_buffer(120)))
END";
    let confined = said(&run(&["--confine"], script));
    let lines: Vec<&str> = confined.lines().collect();
    assert_eq!(
        lines,
        [
            "unix EPERM",
            "unix datagrams EPERM",
            "pair works",
            "datagram pair EPERM",
            "raw pair EPERM",
            "raw pair with flags EPERM",
            "packet pair works",
            "own limits works",
            "limits of others EPERM",
            "mount attributes EPERM",
            "inet works",
            "io_uring EPERM"
        ]
    );
    let open = said(&run(&["--confine", "--unix-sockets"], script));
    assert!(open.starts_with("unix works\nunix datagrams works\n"), "{open}");
}

#[test]
#[ignore = "needs Landlock: run by cargo xtask ci"]
fn a_confined_program_changes_nothing_outside_its_directories() {
    needs::landlock();
    needs::user_namespaces();
    let dir = tempfile::tempdir().unwrap();
    for name in ["ws/.git/hooks", "out"] {
        fs::create_dir_all(dir.path().join(name)).unwrap();
    }
    fs::write(dir.path().join("out/file"), "").unwrap();
    fs::set_permissions(dir.path().join("out/file"), PermissionsExt::from_mode(0o644)).unwrap();
    let workspace = dir.path().join("ws").to_str().unwrap().to_owned();
    let script = "
        cd $D/ws
        chmod 777 $D/out/file 2>/dev/null || echo 'no modes'
        touch -d 2001-01-01 $D/out/file 2>/dev/null || echo 'no times'
        echo x > new && chmod 700 new && touch -d 2001-01-01 new && echo 'its own'
        echo x 2>/dev/null > .git/hooks/pre-commit || echo 'no hooks'
        chmod 777 .git 2>/dev/null || echo 'no modes of it'
        mv .git other 2>/dev/null || echo 'no other repository'";
    let output = |options: &[&str]| {
        let options: Vec<&str> =
            ["--confine", "--write", &workspace].into_iter().chain(options.iter().copied()).collect();
        said(&guard(&options, script).env("D", dir.path()).output().unwrap())
    };
    assert_eq!(output(&[]), "no modes\nno times\nits own\nno hooks\nno modes of it\nno other repository\n");
    assert_eq!(output(&["--git-writable"]), "no modes\nno times\nits own\n");
    let mode = fs::metadata(dir.path().join("out/file")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
}

// Root keeps its user in the namespace, where it could make mounts writable again.
#[test]
#[ignore = "needs Landlock: run by cargo xtask ci"]
fn a_confined_program_has_no_capabilities() {
    needs::landlock();
    needs::user_namespaces();
    let dir = tempfile::tempdir().unwrap();
    let script = r"
        grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | tr -d '\t0\n'; echo
        python3 - <<'END'
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
for name, number in [('open_tree_attr', 467), ('fspick', 433), ('open_by_handle_at', 304), ('chroot', 161)]:
    libc.syscall(number, -100, b'.', 0, 0, 0)
    print(name, errno.errorcode[ctypes.get_errno()])
END";
    let options = ["--confine", "--write", dir.path().to_str().unwrap()];
    let expected = "CapInh:CapPrm:CapEff:CapBnd:CapAmb:\nopen_tree_attr EPERM\nfspick EPERM\nopen_by_handle_at EPERM\nchroot EPERM\n";
    if cfg!(target_arch = "x86_64") {
        assert_eq!(said(&guard(&options, script).output().unwrap()), expected);
    }
}

#[test]
#[ignore = "needs Landlock: run by cargo xtask ci"]
fn a_command_without_a_namespace_is_not_run_unless_the_daemon_allows_it() {
    needs::landlock();
    needs::user_namespaces();
    let dir = tempfile::tempdir().unwrap();
    // In a namespace where no others can be created, as if other programs had used them up.
    let confined = |options: &str| {
        let guard = format!(
            "echo 0 > /proc/sys/user/max_user_namespaces && exec {EXE} guard --confine {options} -- echo ran"
        );
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "sh", "-c", &guard]).current_dir(dir.path());
        command.stdin(Stdio::null()).output().unwrap()
    };
    let refused = confined("");
    let error = String::from_utf8_lossy(&refused.stderr);
    assert_eq!((said(&refused).as_str(), refused.status.code()), ("", Some(126)), "{error}");
    assert!(error.contains("cannot create a user namespace"), "{error}");
    let allowed = confined("--without-namespaces");
    assert_eq!(said(&allowed), "ran\n", "{}", String::from_utf8_lossy(&allowed.stderr));
}
