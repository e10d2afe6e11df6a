//! Network namespaces with routers between them, made by the test and gone with it.

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use swb_testkit::wait_for;

/// Address of the STUN and TURN server.
pub(super) const SERVER: &str = "203.0.113.1";

/// How a router chooses the port outside.
#[derive(Debug, Clone, Copy)]
pub(super) enum Nat {
    /// The one inside, for every destination: the address that a STUN server sees is the one that a peer can use.
    Cone,
    /// Another one for each destination.
    Symmetric,
}

/// A process of the test; it ends with it.
struct Helper(Child);

impl Drop for Helper {
    fn drop(&mut self) {
        let _killed = self.0.kill();
        let _ended = self.0.wait();
    }
}

/// A network of its own: interfaces, addresses, rules.
pub(super) struct Space {
    /// Named by the process that keeps it.
    path: PathBuf,
    _keeper: Helper,
}

impl Space {
    pub(super) fn new() -> Self {
        // It ends when no process holds its input any more, however the test ends.
        let keeper = Command::new("unshare")
            .args(["--net", "cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("unshare");
        let path = PathBuf::from(format!("/proc/{}/ns/net", keeper.id()));
        let ours = fs::read_link("/proc/thread-self/ns/net").expect("our network");
        wait_for("a network namespace", || fs::read_link(&path).ok().filter(|theirs| *theirs != ours));
        let space = Self { path, _keeper: Helper(keeper) };
        space.ip("link set lo up");
        space
    }

    /// Does something in this network; processes that it starts stay there.
    pub(super) fn enter<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        let space = File::open(&self.path).expect("the namespace");
        let inside = || {
            move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network))
                .expect("root may enter");
            act()
        };
        // A thread has one network, so this one stays where it is.
        let done = std::thread::scope(|scope| scope.spawn(inside).join());
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn ip(&self, args: &str) {
        let run = || Command::new("ip").args(args.split(' ')).output().expect("this test needs iproute2");
        let output = self.enter(run);
        assert!(output.status.success(), "ip {args}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Connects an interface of this network with one of another.
    fn cable(&self, name: &str, other: &Space, other_name: &str) {
        let there = other.path.display();
        self.ip(&format!("link add {name} type veth peer name {other_name} netns {there}"));
        self.ip(&format!("link set {name} up"));
        other.ip(&format!("link set {other_name} up"));
    }

    fn address(&self, interface: &str, address: &str) {
        let nodad = if address.contains(':') { " nodad" } else { "" };
        self.ip(&format!("address add {address} dev {interface}{nodad}"));
    }
}

/// Two machines at one switch.
pub(super) fn lan(one: &str, other: &str) -> (Space, Space) {
    let (left, right) = (Space::new(), Space::new());
    left.cable("lan", &right, "lan");
    left.address("lan", one);
    right.address("lan", other);
    (left, right)
}

/// Two machines at a wire that loses, delays and reorders packets.
pub(super) fn bad_wire() -> (Space, Space, impl Drop) {
    let (left, right) = (Space::new(), Space::new());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tunnel/nat/bad_wire.py");
    let start = || Command::new("python3").args([script, "lan", "far"]).stdout(Stdio::piped()).spawn();
    let mut wire = left.enter(start).expect("python3");
    let mut line = String::new();
    BufReader::new(wire.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n", "this test needs /dev/net/tun");
    left.ip(&format!("link set far netns {} name lan", right.path.display()));
    for (space, address) in [(&left, "192.168.7.2/24"), (&right, "192.168.7.3/24")] {
        space.address("lan", address);
        space.ip("link set lan up");
    }
    (left, right, Helper(wire))
}

/// A network that all routers are connected with, and a server in it.
pub(super) struct Internet {
    space: Space,
    /// Routers and the like.
    others: Vec<Space>,
    server: Option<(Helper, tempfile::TempDir)>,
}

impl Internet {
    pub(super) fn new() -> Self {
        let space = Space::new();
        space.ip("link add bridge type bridge");
        space.ip("link set bridge up");
        space.address("bridge", &format!("{SERVER}/24"));
        // Packets for elsewhere are lost without an error, as on the way to the addresses of another home.
        let elsewhere = Space::new();
        space.cable("elsewhere", &elsewhere, "end");
        space.ip("link set elsewhere arp off");
        space.ip("route add default dev elsewhere");
        Self { space, others: vec![elsewhere], server: None }
    }

    /// Connects `space` directly, with this address.
    fn connect(&mut self, space: &Space, name: &str, last: u8) {
        let port = format!("port{last}");
        space.cable(name, &self.space, &port);
        self.space.ip(&format!("link set {port} master bridge"));
        space.address(name, &format!("203.0.113.{last}/24"));
    }

    /// A machine that everybody can reach.
    pub(super) fn open_machine(&mut self, last: u8) -> Space {
        let machine = Space::new();
        self.connect(&machine, "wan", last);
        machine
    }

    /// A machine in a home: its router has the address given by `last`, and lets in only what belongs to a connection from
    /// inside, as routers do.
    pub(super) fn machine_behind(&mut self, nat: Nat, last: u8) -> Space {
        let (router, machine) = (Space::new(), Space::new());
        self.connect(&router, "wan", last);
        router.cable("lan", &machine, "lan");
        router.address("lan", "192.168.1.1/24");
        // Homes have the same addresses inside; only these two differ.
        machine.address("lan", &format!("192.168.1.{last}/24"));
        machine.ip("route add default via 192.168.1.1");
        router.enter(|| fs::write("/proc/sys/net/ipv4/ip_forward", "1")).expect("a router");
        let port = match nat {
            Nat::Cone => "",
            Nat::Symmetric => " fully-random",
        };
        // Without the rules for `input`, the kernel would take a peer's packet that comes too early as one for the router
        // itself, and then choose another port for the way out.
        let rules = format!(
            "table ip home {{
                chain out {{ type nat hook postrouting priority srcnat; oifname wan masquerade{port}; }}
                chain in {{ type filter hook input priority filter; policy drop; iifname != wan accept; ct state established accept; }}
                chain through {{ type filter hook forward priority filter; policy drop; iifname lan accept; ct state established,related accept; }}
            }}"
        );
        let run = || Command::new("nft").arg(&rules).output().expect("this test needs nftables");
        let output = router.enter(run);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.others.push(router);
        machine
    }

    /// Starts a STUN and TURN server; its user is `u` with the password `p`.
    pub(super) fn start_server(&mut self) {
        let directory = tempfile::tempdir().expect("a directory");
        let start = || {
            Command::new("turnserver")
                .args(["-n", "--lt-cred-mech", "--user=u:p", "--realm=swb", "-L", SERVER, "-E", SERVER])
                .args(["-p", "3478", "--no-tls", "--no-dtls", "--no-cli", "--no-tcp", "--log-file=stdout"])
                .arg(format!("--pidfile={}", directory.path().join("pid").display()))
                .arg(format!("--userdb={}", directory.path().join("users").display()))
                .current_dir(directory.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
        };
        let process =
            self.space.enter(start).expect("this test needs coturn: `cargo xtask setup` installs it");
        self.server = Some((Helper(process), directory));
        let socket = self.space.enter(|| UdpSocket::bind((SERVER, 0))).expect("a socket");
        socket.set_read_timeout(Some(Duration::from_millis(200))).expect("a limit");
        // A binding request of STUN.
        let request = [&[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42][..], b"is it there?"].concat();
        wait_for("the STUN server", || {
            // An error is what a port without listener returns.
            let _sent = socket.send_to(&request, (SERVER, 3478));
            socket.recv(&mut [0; 512]).ok()
        });
    }
}
