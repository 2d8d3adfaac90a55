//! A server that says exactly the bytes it is told to, for what no decent HTTP library would send.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What it does with the requests of one connection, one after the other; when they are used up it closes.
#[derive(Clone)]
pub(crate) enum Act {
    /// Sends these bytes.
    Say(Vec<u8>),
    /// Sends these bytes, and closes.
    SayAndClose(Vec<u8>),
    /// Closes without a byte.
    Close,
    /// Sends the first bytes, then the second ones again and again, this many milliseconds apart.
    Drip(Vec<u8>, Vec<u8>, u64),
}

/// The running server.
pub(crate) struct Raw {
    pub(crate) base_url: String,
    requests: Arc<Mutex<Vec<String>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Raw {
    /// Every connection goes through the acts from the first on.
    pub(crate) async fn start(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.expect("a connection");
                tokio::spawn(converse(stream, acts.clone(), Arc::clone(&seen)));
            }
        });
        Self { base_url: format!("http://127.0.0.1:{port}/api/v1"), requests, task }
    }

    /// The heads of all requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("no panic in there").clone()
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn converse(mut stream: TcpStream, acts: Vec<Act>, seen: Arc<Mutex<Vec<String>>>) {
    for act in acts {
        let Some(head) = read_request(&mut stream).await else { return };
        seen.lock().expect("no panic in there").push(head);
        match act {
            Act::Say(bytes) => drop(stream.write_all(&bytes).await),
            Act::SayAndClose(bytes) => return drop(stream.write_all(&bytes).await),
            Act::Close => return,
            Act::Drip(head, bytes, ms) => {
                drop(stream.write_all(&head).await);
                while stream.write_all(&bytes).await.is_ok() {
                    tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
                }
            }
        }
    }
}

/// Reads one request to the end of its body; gives its head.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    while bytes.len() < head_end + length.unwrap_or(0) {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(head)
}

/// An answer with a length.
pub(crate) fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes =
        format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// A gzip stream of `before`, then about `spaces` blanks, made by hand: 13 bits for every 258 blanks.
pub(crate) fn gzip_of_blanks(before: &[u8], spaces: usize) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    // A stored block for what comes first, ending in the blank that is repeated after it.
    let mut stored = before.to_vec();
    stored.push(b' ');
    let length = u16::try_from(stored.len()).expect("short");
    out.push(0);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&(!length).to_le_bytes());
    out.extend_from_slice(&stored);
    // A block of fixed codes: length 258 (11000101), distance 1 (00000), over and over; then its end.
    let mut bits = Bits { out, free: 0 };
    bits.push("110");
    for _ in 0..spaces / 258 {
        bits.push("1100010100000");
    }
    bits.push("0000000");
    let mut out = bits.out;
    let mut whole = stored;
    whole.resize(whole.len() + spaces / 258 * 258, b' ');
    out.extend_from_slice(&crc32(&whole).to_le_bytes());
    out.extend_from_slice(&u32::try_from(whole.len()).expect("under 4 GiB").to_le_bytes());
    out
}

struct Bits {
    out: Vec<u8>,
    free: u32,
}

impl Bits {
    fn push(&mut self, bits: &str) {
        for bit in bits.bytes() {
            if self.free == 0 {
                self.out.push(0);
                self.free = 8;
            }
            if bit == b'1' {
                *self.out.last_mut().expect("pushed above") |= 1 << (8 - self.free);
            }
            self.free -= 1;
        }
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    let table: Vec<u32> = (0..256u32)
        .map(|n| (0..8).fold(n, |crc, _| if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 }))
        .collect();
    !bytes.iter().fold(!0, |crc, byte| table[((crc ^ u32::from(*byte)) & 0xff) as usize] ^ (crc >> 8))
}
