//! Where the control socket is: `control` in the state folder. An address of a socket holds 107 bytes, and a folder's path may be
//! longer; then the folder is opened, and named by its descriptor.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use tokio::net::{UnixListener, UnixStream};

const FILE: &str = "control";
/// The bytes that an address of a socket holds, without the one at its end, on the systems where they are fewest.
const ADDRESS_MAX: usize = 103;

/// An address, and what keeps it valid.
struct Address {
    path: PathBuf,
    _folder: Option<OwnedFd>,
}

impl Address {
    fn of(state_dir: &Path) -> io::Result<Self> {
        let path = file(state_dir);
        if path.as_os_str().len() <= ADDRESS_MAX {
            return Ok(Self { path, _folder: None });
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(state_dir, flags, Mode::empty())?;
        let named = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        if !named.exists() {
            let why =
                format!("{} is longer than the {ADDRESS_MAX} bytes of a socket's address", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Ok(Self { path: named.join(FILE), _folder: Some(folder) })
    }
}

/// The socket's file.
pub(super) fn file(state_dir: &Path) -> PathBuf {
    state_dir.join(FILE)
}

/// Makes the socket, for the user alone.
pub(super) fn bind(state_dir: &Path) -> io::Result<UnixListener> {
    let address = Address::of(state_dir)?;
    let listener = UnixListener::bind(&address.path)?;
    let closed = std::fs::set_permissions(file(state_dir), std::fs::Permissions::from_mode(0o600));
    // Some disks refuse every change of permissions; a closed folder keeps others out as well.
    let is_private = || std::fs::metadata(state_dir).is_ok_and(|meta| meta.permissions().mode() & 0o077 == 0);
    match closed {
        Err(error) if !is_private() => Err(error),
        _ => Ok(listener),
    }
}

pub(super) async fn connect(state_dir: &Path) -> io::Result<UnixStream> {
    let address = Address::of(state_dir)?;
    UnixStream::connect(&address.path).await
}

pub(super) fn connect_and_wait(state_dir: &Path) -> io::Result<std::os::unix::net::UnixStream> {
    let address = Address::of(state_dir)?;
    std::os::unix::net::UnixStream::connect(&address.path)
}
