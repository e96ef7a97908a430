//! A node of a cluster that is down, which a server of its own makes up: it needs no Redis.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use index::{ErrorKind, Store};
use pigeonhole_store_redis::{RedisStore, RedisUri};

/// A node that refuses what asks for keys until the cluster is up.
#[derive(Default)]
struct Node {
    is_up: AtomicBool,
    n_connections: AtomicUsize,
    n_refused: AtomicUsize,
}

impl Node {
    fn start() -> (Arc<Self>, SocketAddr) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there are free ports");
        let (node, address) = (Arc::new(Self::default()), listener.local_addr().expect("it is bound"));
        let serving = Arc::clone(&node);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let node = Arc::clone(&serving);
                node.n_connections.fetch_add(1, Ordering::Relaxed);
                thread::spawn(move || node.serve(stream));
            }
        });
        (node, address)
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut commands = BufReader::new(stream.try_clone().expect("there are free handles"));
        while let Some(command) = read(&mut commands) {
            let answer = match command.as_str() {
                "INFO" => "$13\r\nrun_id:node\r\n\r\n",
                "GET" if self.is_up.load(Ordering::Acquire) => "$-1\r\n",
                "GET" => {
                    self.n_refused.fetch_add(1, Ordering::Release);
                    "-CLUSTERDOWN The cluster is down\r\n"
                }
                _ => "+OK\r\n",
            };
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }
}

/// The name of the next command, behind which its arguments are read.
fn read(commands: &mut impl BufRead) -> Option<String> {
    let number = |mark: char, commands: &mut dyn BufRead| {
        let mut line = String::new();
        commands.read_line(&mut line).ok()?;
        line.trim().strip_prefix(mark)?.parse::<usize>().ok()
    };
    let n_words = number('*', commands)?;
    let mut name = None;
    for _ in 0..n_words {
        let mut word = vec![0; number('$', commands)? + 2];
        commands.read_exact(&mut word).ok()?;
        name.get_or_insert(word);
    }
    Some(String::from_utf8_lossy(&name?).trim().to_uppercase())
}

fn uri(address: SocketAddr) -> RedisUri {
    format!("{address}/down").parse().expect("it is an address")
}

/// It is waited for, with new connections, and answers once the cluster is up.
#[test]
fn a_cluster_that_is_down_is_away() {
    let (node, address) = Node::start();
    let store = RedisStore::new(&uri(address)).unwrap();
    thread::scope(|scope| {
        let asked = scope.spawn(|| store.metadata());
        while node.n_refused.load(Ordering::Acquire) < 3 {
            assert!(!asked.is_finished());
            thread::yield_now();
        }
        assert!(node.n_connections.load(Ordering::Relaxed) >= 3);
        node.is_up.store(true, Ordering::Release);
        assert!(asked.join().unwrap().unwrap().is_none());
    });
}

#[test]
fn a_cluster_that_stays_down_is_told() {
    let (_node, address) = Node::start();
    let store = RedisStore::with_patience(&uri(address), Duration::from_millis(50)).unwrap();
    let error = store.metadata().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("a node of a cluster that is down"), "{error}");
}
