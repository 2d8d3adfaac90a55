//! The service of a workbench: the emulator on a port of its own.

use espejo::emulator::{Server, World};

use super::bench::TOKEN;

/// Puts a world on a port, on a thread of its own, until the sender goes.
pub(super) fn serve(world: World) -> (Server, tokio::sync::oneshot::Sender<()>) {
    let (ready, server) = std::sync::mpsc::channel();
    let (serving, ended) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            ready.send(Server::start(world, TOKEN).await.expect("a port")).expect("the bench waits for it");
            // An error is the bench's end.
            let _end = ended.await;
        });
    });
    (server.recv().expect("a server"), serving)
}
