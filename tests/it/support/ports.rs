//! Ports for servers that are told their port, and that stop and start again on it.

use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU16, Ordering};

/// The lowest port. The range lies below the ephemeral ports of Linux (`ip_local_port_range`), so
/// the many connections of other tests cannot take a port while its server is down.
const FIRST: u16 = 12_000;
const N_PORTS: u16 = 20_000;

/// Returns unused ports of loopback, each with a free one after it, and none returned before.
pub(crate) fn free_ports<const N: usize>() -> [u16; N] {
    static N_GIVEN: AtomicU16 = AtomicU16::new(0);
    // Two runs at once begin in different places.
    let begin = process::id().wrapping_mul(97);
    [(); N].map(|()| {
        (0..N_PORTS / 2)
            .map(|_| {
                let i = (begin + 2 * u32::from(N_GIVEN.fetch_add(1, Ordering::Relaxed))) % u32::from(N_PORTS);
                FIRST + u16::try_from(i).expect("it is below a number of this type")
            })
            .find(|&port| {
                [port, port + 1].iter().all(|&port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
            })
            .expect("loopback has free ports")
    })
}
