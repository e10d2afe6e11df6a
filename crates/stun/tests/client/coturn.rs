//! A real server: coturn, on the loopback interface.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use swb_stun::{Allocation, AllocationEvent, Binding, Credentials, RelayFamily, TurnError, is_channel_data};

/// How long anything may take: a busy machine may stop for seconds.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long a server that does not reply yet is waited for before it is asked again.
const PAUSE: Duration = Duration::from_millis(200);

struct Coturn {
    process: Child,
    address: SocketAddr,
    directory: PathBuf,
}

impl Coturn {
    /// Starts a server on a free port. Another process may take the port first: then it is tried again.
    fn start() -> Self {
        for attempt in 0..5 {
            let address = socket().local_addr().expect("an address");
            let directory = std::env::temp_dir().join(format!("swb-coturn-{}-{attempt}", std::process::id()));
            std::fs::create_dir_all(&directory).expect("a directory");
            let process = Command::new("turnserver")
                .args([
                    "-n",
                    "--lt-cred-mech",
                    "--user=u:p",
                    "--realm=swb",
                    "-L",
                    "127.0.0.1",
                    "-E",
                    "127.0.0.1",
                ])
                .args(["-p", &address.port().to_string(), "--allow-loopback-peers", "--no-tls", "--no-dtls"])
                .args(["--no-cli", "--no-tcp", "--no-multicast-peers", "--log-file=stdout"])
                .arg(format!("--pidfile={}", directory.join("pid").display()))
                .arg(format!("--userdb={}", directory.join("users").display()))
                .current_dir(&directory)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("this test needs coturn: `cargo xtask setup` installs it");
            let mut server = Self { process, address, directory };
            if server.is_ready() {
                return server;
            }
        }
        panic!("coturn does not start");
    }

    /// Waits until it replies.
    fn is_ready(&mut self) -> bool {
        let (socket, began) = (socket(), Instant::now());
        let mut buffer = [0; 2048];
        while began.elapsed() < TIMEOUT {
            if self.process.try_wait().expect("its state").is_some() {
                return false;
            }
            let mut binding = Binding::new(*b"is it there?", Instant::now());
            let request = binding.poll_transmit(Instant::now()).expect("a request");
            // An error is what a port without listener returns.
            let _sent = socket.send_to(&request, self.address);
            socket.set_read_timeout(Some(PAUSE)).expect("a timeout");
            if let Ok((length, _)) = socket.recv_from(&mut buffer) {
                let mapped = binding.handle(&buffer[..length]).expect("a reply").expect("an address");
                assert_eq!(mapped, socket.local_addr().expect("an address"));
                return true;
            }
        }
        false
    }
}

impl Drop for Coturn {
    fn drop(&mut self) {
        let _killed = self.process.kill();
        let _ended = self.process.wait();
        let _removed = std::fs::remove_dir_all(&self.directory);
    }
}

fn socket() -> UdpSocket {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket")
}

/// An allocation with the socket that it needs.
struct Client {
    socket: UdpSocket,
    server: SocketAddr,
    allocation: Allocation,
    received: Vec<(SocketAddr, Vec<u8>)>,
    events: Vec<AllocationEvent>,
    /// Whether the last datagram of a peer came through a channel.
    through_channel: bool,
}

impl Client {
    fn new(server: &Coturn, password: &str) -> Self {
        let socket = socket();
        let port = socket.local_addr().expect("an address").port().to_be_bytes();
        let secret: [u8; 32] = std::array::from_fn(|index| port[index % 2]);
        let credentials = Credentials::new("u", password);
        let allocation = Allocation::new(credentials, RelayFamily::V4, secret, Instant::now());
        let (server, received, events) = (server.address, Vec::new(), Vec::new());
        Self { socket, server, allocation, received, events, through_channel: false }
    }

    /// Sends what there is and takes one datagram, if one arrives soon.
    fn turn(&mut self) {
        self.allocation.handle_timeout(Instant::now());
        while let Some(datagram) = self.allocation.poll_transmit() {
            self.socket.send_to(&datagram, self.server).expect("loopback takes all");
        }
        let mut buffer = [0; 4096];
        self.socket.set_read_timeout(Some(Duration::from_millis(10))).expect("a timeout");
        if let Ok((length, from)) = self.socket.recv_from(&mut buffer) {
            assert_eq!(from, self.server);
            if let Some(received) = self.allocation.handle(&buffer[..length], Instant::now()) {
                self.received.push((received.from, buffer[received.payload].to_vec()));
                self.through_channel = is_channel_data(&buffer[..length]);
            }
        }
        self.events.extend(std::iter::from_fn(|| self.allocation.poll_event()));
    }

    fn relayed(&self) -> SocketAddr {
        self.allocation.relayed().expect("a relayed address")
    }
}

/// Drives clients until something is so.
fn until<const N: usize>(mut clients: [&mut Client; N], mut done: impl FnMut(&mut [&mut Client; N]) -> bool) {
    let began = Instant::now();
    while !done(&mut clients) {
        assert!(began.elapsed() < TIMEOUT, "timed out");
        clients.iter_mut().for_each(|client| client.turn());
    }
}

#[test]
#[ignore = "needs coturn: run by cargo xtask ci"]
fn two_clients_exchange_datagrams_through_a_real_server() {
    let server = Coturn::start();
    let (mut a, mut b) = (Client::new(&server, "p"), Client::new(&server, "p"));
    until([&mut a, &mut b], |clients| clients.iter().all(|client| client.allocation.relayed().is_some()));
    for client in [&a, &b] {
        assert_eq!(client.allocation.mapped(), client.socket.local_addr().ok());
        assert_eq!(client.relayed().ip(), Ipv4Addr::LOCALHOST);
        assert_eq!(client.events.len(), 1);
    }

    // What arrives before the other side's permission is dropped; so it is repeated until both know each other.
    let (at_a, at_b) = (a.relayed(), b.relayed());
    let mut round = 0u32;
    until([&mut a, &mut b], |[a, b]| {
        round += 1;
        a.allocation
            .send(at_b, format!("to b {round}").as_bytes(), Instant::now())
            .expect("b may be sent to");
        b.allocation
            .send(at_a, format!("to a {round}").as_bytes(), Instant::now())
            .expect("a may be sent to");
        a.through_channel && b.through_channel
    });
    for (client, from, text) in [(&a, at_b, "to a "), (&b, at_a, "to b ")] {
        let is_right = |(sender, payload): &(SocketAddr, Vec<u8>)| {
            *sender == from && payload.starts_with(text.as_bytes())
        };
        assert!(client.received.iter().all(is_right), "{:?}", client.received);
    }

    // Both have a channel by now, and large and empty datagrams pass.
    for length in [0, 1, 3, 1200] {
        let payload = vec![0x5a; length];
        b.received.clear();
        let mut next = Instant::now();
        until([&mut a, &mut b], |[a, b]| {
            if Instant::now() >= next {
                a.allocation.send(at_b, &payload, Instant::now()).expect("b may be sent to");
                next = Instant::now() + Duration::from_secs(1);
            }
            b.received.contains(&(at_a, payload.clone()))
        });
    }

    // The server gives the port free; a new allocation needs another local port for a while.
    assert!(UdpSocket::bind(at_a).is_err(), "the server has this port");
    for client in [&mut a, &mut b] {
        client.allocation.close(Instant::now());
        until([client], |[client]| client.allocation.is_over());
        assert_eq!(client.events.last(), Some(&AllocationEvent::Closed));
    }
    until([&mut a], |_| UdpSocket::bind(at_a).is_ok());
}

#[test]
#[ignore = "needs coturn: run by cargo xtask ci"]
fn a_real_server_rejects_a_wrong_password_and_a_second_allocation() {
    let server = Coturn::start();
    let mut client = Client::new(&server, "wrong");
    until([&mut client], |[client]| client.allocation.is_over());
    assert_eq!(client.events, [AllocationEvent::Failed(TurnError::Credentials)]);

    let mut client = Client::new(&server, "p");
    until([&mut client], |[client]| client.allocation.relayed().is_some());
    client.allocation = Allocation::new(Credentials::new("u", "p"), RelayFamily::V4, [9; 32], Instant::now());
    client.events.clear();
    until([&mut client], |[client]| client.allocation.is_over());
    assert_eq!(client.events, [AllocationEvent::Failed(TurnError::Mismatch)]);
}
