//! Addresses in attributes: a family, a port and an address, plain or combined with the cookie and the transaction, which
//! protects them from NATs that rewrite addresses wherever they find them.

use crate::message::{COOKIE, TransactionId};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const IPV4: u8 = 1;
const IPV6: u8 = 2;

/// Reads MAPPED-ADDRESS and its like.
pub fn read(value: &[u8]) -> Option<SocketAddr> {
    let (&[_, family, high, low], address) = value.split_first_chunk()?;
    let ip = match family {
        IPV4 => IpAddr::from(<[u8; 4]>::try_from(address).ok()?),
        IPV6 => IpAddr::from(<[u8; 16]>::try_from(address).ok()?),
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_be_bytes([high, low])))
}

/// Writes the value of MAPPED-ADDRESS and its like.
pub fn write(address: SocketAddr) -> Vec<u8> {
    let mut value = vec![0, if address.is_ipv4() { IPV4 } else { IPV6 }];
    value.extend(address.port().to_be_bytes());
    match address.ip() {
        IpAddr::V4(ip) => value.extend(ip.octets()),
        IpAddr::V6(ip) => value.extend(ip.octets()),
    }
    value
}

/// Reads XOR-MAPPED-ADDRESS and its like.
pub fn read_xor(value: &[u8], transaction: &TransactionId) -> Option<SocketAddr> {
    read(value).map(|address| xor(address, transaction))
}

/// Writes the value of XOR-MAPPED-ADDRESS and its like.
pub fn write_xor(address: SocketAddr, transaction: &TransactionId) -> Vec<u8> {
    write(xor(address, transaction))
}

/// Combines both ways: twice is the address again.
fn xor(address: SocketAddr, transaction: &TransactionId) -> SocketAddr {
    let cookie = u128::from(COOKIE);
    let [transaction_bits, port_bits] = [transaction.bits(), cookie >> 16];
    let ip = match address.ip() {
        IpAddr::V4(ip) => IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits() ^ COOKIE)),
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() ^ (cookie << 96 | transaction_bits))),
    };
    SocketAddr::new(ip, address.port() ^ port_bits as u16)
}

/// Whether a server may have meant this address: it is one that datagrams can be sent to.
pub(crate) fn is_usable(address: &SocketAddr) -> bool {
    address.port() != 0 && !address.ip().is_unspecified() && !address.ip().is_multicast()
}
