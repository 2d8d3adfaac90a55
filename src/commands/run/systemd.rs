//! What systemd is told: ready, alive, reading its config again, stopping. Without a request, nothing is sent.

use std::io;

use sd_notify::NotifyState;

/// Tells systemd, or who stands in for it. That it cannot be told stops nothing.
pub(super) fn tell(state: &[NotifyState<'_>]) {
    let told = match abstract_name() {
        Some(name) => tell_abstract(&name, state),
        None => sd_notify::notify(state),
    };
    if let Err(error) = told {
        tracing::debug!(%error, "systemd cannot be notified");
    }
}

/// The name of an abstract socket, as sd_notify(3) has it; `sd_notify` knows sockets with a path only.
fn abstract_name() -> Option<Vec<u8>> {
    let place = std::env::var_os("NOTIFY_SOCKET")?.into_encoded_bytes();
    place.strip_prefix(b"@").map(<[u8]>::to_vec)
}

fn tell_abstract(name: &[u8], state: &[NotifyState<'_>]) -> io::Result<()> {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    let lines: String = state.iter().map(|state| format!("{state}\n")).collect();
    let place = SocketAddr::from_abstract_name(name)?;
    UnixDatagram::unbound()?.send_to_addr(lines.as_bytes(), &place).map(drop)
}
