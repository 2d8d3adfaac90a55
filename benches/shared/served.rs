//! An emulator on a thread of its own, and the real binary beside it. For the benches that run both.

use std::fs;
use std::io::Write;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Child;

use espejo::emulator::{Server, World};

pub(crate) const TOKEN: &str = "bench-token";

/// A process that does not outlive its bench.
pub(crate) struct Running(pub(crate) Child);

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Ends a daemon with manners, and waits for the end.
pub(crate) fn stop(mut running: Running) {
    let pid = rustix::process::Pid::from_child(&running);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    running.wait().unwrap();
}

/// Serves `world` until the sender is dropped.
pub(crate) fn serve(world: World) -> (Server, tokio::sync::oneshot::Sender<()>) {
    let (ready, server) = std::sync::mpsc::channel();
    let (serving, ended) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            ready.send(Server::start(world, TOKEN).await.unwrap()).unwrap();
            drop(ended.await);
        });
    });
    (server.recv().unwrap(), serving)
}

/// Writes a file that nobody else may read.
pub(crate) fn private(path: &Path, text: &str) {
    let mut open = fs::OpenOptions::new();
    let mut file = open.write(true).create(true).truncate(true).mode(0o600).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}
