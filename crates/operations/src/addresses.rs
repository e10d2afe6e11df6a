//! The addresses at which other machines may reach this one.

use std::io;
use std::net::IpAddr;

/// The addresses of the network interfaces, IPv4 first, without those of this machine alone and those that need the name of an
/// interface beside them.
pub fn reachable_addresses() -> io::Result<Vec<IpAddr>> {
    let mut found: Vec<IpAddr> =
        if_addrs::get_if_addrs()?.into_iter().map(|interface| interface.ip()).collect();
    found.retain(is_reachable);
    found.sort_by_key(IpAddr::is_ipv6);
    found.dedup();
    Ok(found)
}

fn is_reachable(address: &IpAddr) -> bool {
    let local = match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    !local && !address.is_loopback() && !address.is_unspecified()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_for_other_machines_are_listed() {
        assert!(reachable_addresses().unwrap().iter().all(is_reachable));
        for (address, listed) in [
            ("10.0.0.2", true),
            ("fd00::2", true),
            ("2001:db8::1", true),
            ("127.0.0.1", false),
            ("::1", false),
            ("fe80::1", false),
            ("169.254.1.1", false),
        ] {
            assert_eq!(is_reachable(&address.parse().unwrap()), listed, "{address}");
        }
    }
}
