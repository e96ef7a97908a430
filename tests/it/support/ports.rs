//! Ports for servers that are told which to take, and that stop and start again on them.

use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below those that Linux gives to whoever asks for any or connects to somebody (`ip_local_port_range`): the many connections
/// of other tests cannot take a port while its server is down.
const FIRST: u16 = 12_000;
const N_PORTS: u16 = 20_000;

/// Ports of loopback that nobody listens on, each with a free one after it, and none that this process was given before.
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
