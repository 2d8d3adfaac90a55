//! A world on a loopback port, over real HTTP. It adds nothing to the rules: it turns bytes into requests, reads the
//! clock, and carries out how an answer is to arrive.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::downloads::{self, DownloadRequest};
use super::http::{Delivery, HttpRequest, HttpResponse, Refusal};
use super::web::Ask;
use super::world::World;
use crate::model::Timestamp;

/// What tells the server the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The path that every request begins with.
const PREFIX: &str = "/api/v1";

/// The longest request that is read, in bytes.
const REQUEST_LIMIT: usize = 64 << 20;

/// How often a browser that listens is told of changes, at most. They are rare, and the state of a demo is small: it is
/// compared as a whole.
const CHANGES_EVERY: Duration = Duration::from_millis(150);

/// How long running answers may take when the server stops.
const STOP_GRACE: Duration = Duration::from_secs(1);

/// A running server. It serves in the runtime it was started in, and ends when it is dropped, if not before.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    world: Arc<Mutex<World>>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Server {
    /// Serves this world, with this token, on a free loopback port, by the system's clock.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start(world: World, token: &str) -> io::Result<Self> {
        Self::start_with_clock(world, token, Arc::new(system_time)).await
    }

    /// The same by another clock.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start_with_clock(mut world: World, token: &str, clock: Clock) -> io::Result<Self> {
        world.set_token(token);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        world.set_link_origin(&format!("http://{address}"));
        let world = Arc::new(Mutex::new(world));
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(accept(listener, Arc::clone(&world), clock, stopped));
        Ok(Self { address, world, stop, task })
    }

    /// The base URL for a client, without a slash at its end.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}{PREFIX}", self.address)
    }

    /// Lets browsers on this machine see and change the world, and says where.
    #[must_use]
    pub fn open_app(&self, key: &str) -> String {
        self.world().open_app(key);
        format!("http://{}{}{key}/", self.address, super::web::PREFIX)
    }

    /// The world, to look at and to act in. While it is held no request is answered, and a second call (also one in
    /// the same expression) waits for ever: hold it briefly, once, and never across an `await`.
    pub fn world(&self) -> MutexGuard<'_, World> {
        lock(&self.world)
    }

    /// The world, to share with other code that acts in it.
    #[must_use]
    pub fn shared(&self) -> Arc<Mutex<World>> {
        Arc::clone(&self.world)
    }

    /// Takes no more requests, lets the running ones end (for a second at most), and gives the world back.
    pub async fn stop(mut self) -> Arc<Mutex<World>> {
        self.stop.send_replace(true);
        // The task neither panics nor is aborted before, so there is nothing in the result.
        let _ended = (&mut self.task).await;
        self.shared()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A panic while the world is locked does not damage it: each rule leaves it whole.
fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::disallowed_methods, reason = "the server is a driver: it hands the time to the world")]
fn system_time() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

async fn accept(
    listener: TcpListener,
    world: Arc<Mutex<World>>,
    clock: Clock,
    mut stopped: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            // An error means that the server is gone, which is a stop as well.
            _ = stopped.changed() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(converse(stream, Arc::clone(&world), Arc::clone(&clock), stopped.clone()));
                }
                // No descriptors left, or a caller that hung up already: the next one may fare better.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    // What still runs then is cut off by dropping it.
    let _in_time = tokio::time::timeout(STOP_GRACE, drained).await;
}

async fn converse(
    stream: TcpStream,
    world: Arc<Mutex<World>>,
    clock: Clock,
    mut stopped: watch::Receiver<bool>,
) {
    let service = service_fn(move |request| respond(request, Arc::clone(&world), Arc::clone(&clock)));
    let connection =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    // A connection's error is the caller's to notice; half of them are made on purpose.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopped.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ended = connection.await;
}

async fn respond(
    request: Request<Incoming>,
    world: Arc<Mutex<World>>,
    clock: Clock,
) -> io::Result<Response<Answer>> {
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, REQUEST_LIMIT).collect().await else {
        return into_http(Refusal(413, "The body is too large".to_owned()).into_response());
    };
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    if head.method == hyper::Method::GET && head.uri.path().starts_with(downloads::PREFIX) {
        let request = DownloadRequest {
            path: head.uri.path().to_owned(),
            query: head.uri.query().unwrap_or("").to_owned(),
            authorization: header("authorization"),
            range: header("range"),
        };
        let response = lock(&world).download(&request, clock());
        return deliver(response).await;
    }
    let body = body.to_bytes();
    let host = header("host");
    let ask = lock(&world).app_ask(head.method.as_str(), head.uri.path(), host.as_deref(), &body);
    if let Some(ask) = ask {
        return show(ask, &world);
    }
    let path = head.uri.path().strip_prefix(PREFIX).filter(|path| path.starts_with('/'));
    let Some(path) = path else {
        return into_http(Refusal(404, "Not found".to_owned()).into_response());
    };
    let request = HttpRequest {
        method: head.method.as_str().to_owned(),
        path: path.to_owned(),
        query: head.uri.query().unwrap_or("").to_owned(),
        authorization: header("authorization"),
        body: body.to_vec(),
    };
    let response = lock(&world).answer(&request, clock());
    if let Delivery::Late(ms) = response.delivery {
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            lock(&world).answer(&request, clock());
        });
    }
    deliver(response).await
}

/// Answers a browser that shows the app.
fn show(ask: Ask<'_>, world: &Arc<Mutex<World>>) -> io::Result<Response<Answer>> {
    match ask {
        Ask::Page => into_http(World::app_page()),
        Ask::State => into_http(HttpResponse::json(200, &lock(world).app_state())),
        Ask::Act(body) => into_http(lock(world).app_act(body).unwrap_or_else(Refusal::into_response)),
        Ask::Events => {
            let (lines, listened) = mpsc::channel(1);
            tokio::spawn(tell_changes(Arc::downgrade(world), lines));
            let head = Response::builder().header("content-type", "text/event-stream");
            head.header("cache-control", "no-store").body(Answer::Lines(listened)).map_err(io::Error::other)
        }
    }
}

/// Sends a line whenever the world has changed, until the browser goes or the server ends.
async fn tell_changes(world: Weak<Mutex<World>>, lines: mpsc::Sender<Bytes>) {
    let mut last = None;
    loop {
        let Some(state) = world.upgrade().map(|world| lock(&world).app_state()) else { return };
        if last.as_ref() != Some(&state) {
            last = Some(state);
            if lines.send(Bytes::from_static(b"data: changed\n\n")).await.is_err() {
                return;
            }
        }
        tokio::select! {
            () = lines.closed() => return,
            () = tokio::time::sleep(CHANGES_EVERY) => {}
        }
    }
}

async fn deliver(response: HttpResponse) -> io::Result<Response<Answer>> {
    if let Delivery::After(ms) = response.delivery {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
    into_http(response)
}

/// An error makes `hyper` close the connection without an answer.
fn into_http(response: HttpResponse) -> io::Result<Response<Answer>> {
    let announced = response.body.len() as u64;
    let mut body = Bytes::from(response.body);
    let breaks = match response.delivery {
        Delivery::Whole | Delivery::After(_) => false,
        Delivery::Never | Delivery::Late(_) => {
            return Err(io::Error::other("the answer is lost, on command"));
        }
        Delivery::Cut(length) => {
            body.truncate(length);
            true
        }
    };
    let mut builder = Response::builder().status(response.status);
    for (name, value) in &response.headers {
        builder = builder.header(name, value);
    }
    let whole = Whole { body: Some(body), announced, breaks, paused: false };
    builder.body(Answer::Whole(whole)).map_err(io::Error::other)
}

/// The body of an answer.
enum Answer {
    Whole(Whole),
    /// Server-sent events, for as long as both sides are there.
    Lines(mpsc::Receiver<Bytes>),
}

/// A body that may break off short of its announced length.
struct Whole {
    body: Option<Bytes>,
    announced: u64,
    breaks: bool,
    paused: bool,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            Self::Whole(whole) => whole.poll(context),
            Self::Lines(lines) => lines.poll_recv(context).map(|line| line.map(|line| Ok(Frame::data(line)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(whole) => !whole.breaks && whole.body.as_ref().is_none_or(Bytes::is_empty),
            Self::Lines(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(whole) => SizeHint::with_exact(whole.announced),
            Self::Lines(_) => SizeHint::default(),
        }
    }
}

impl Whole {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(body) = self.body.take().filter(|body| !body.is_empty()) {
            return Poll::Ready(Some(Ok(Frame::data(body))));
        }
        if !self.breaks {
            return Poll::Ready(None);
        }
        if !self.paused {
            // One pause, so that what was written so far is flushed before the break.
            self.paused = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(io::Error::other("the answer breaks off, on command"))))
    }
}
