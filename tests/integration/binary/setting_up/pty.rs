//! A terminal of 80 by 24 with a program in it: what it shows, and keys typed into it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::super::bench::{DEADLINE, within};

pub(super) struct Terminal {
    master: File,
    /// Held open, so that the terminal stays when the program has ended.
    slave: OwnedFd,
    child: Child,
    shown: Arc<Mutex<Vec<u8>>>,
    read: usize,
}

impl Terminal {
    pub(super) fn new(mut command: Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave =
            rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        tcsetwinsize(&slave, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        let child = command.env("TERM", "xterm").stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let master = File::from(master);
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut reading, seen) = (master.try_clone().unwrap(), Arc::clone(&shown));
        std::thread::spawn(move || {
            let mut buffer = [0; 4_096];
            while let Ok(length @ 1..) = reading.read(&mut buffer) {
                seen.lock().unwrap().extend_from_slice(&buffer[..length]);
            }
        });
        Self { master, slave, child, shown, read: 0 }
    }

    /// Everything that was shown so far.
    pub(super) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    /// Waits until something is shown that was not when the last of these returned.
    #[track_caller]
    pub(super) fn until(&mut self, words: &str) {
        let found =
            within(DEADLINE, &mut || self.shown().get(self.read..).is_some_and(|new| new.contains(words)));
        assert!(found, "never shown: {words}\n{}", self.shown());
        let at = self.shown()[self.read..].find(words).unwrap();
        self.read += at + words.len();
    }

    pub(super) fn type_in(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the program's end; its exit code, or -1 when a signal ended it.
    #[track_caller]
    pub(super) fn ended(&mut self) -> i32 {
        let mut status = None;
        let ended = within(DEADLINE, &mut || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        assert!(ended, "it does not end\n{}", self.shown());
        status.unwrap().code().unwrap_or(-1)
    }

    pub(super) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
    }

    /// Whether keys are echoed, lines edited and Ctrl-C is a signal, as a shell has it.
    pub(super) fn is_sane(&self) -> bool {
        let modes = tcgetattr(&self.slave).unwrap().local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already; nothing is left to do then.
        let _killed = self.child.kill();
        let _waited = self.child.wait();
    }
}
