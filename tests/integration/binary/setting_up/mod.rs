//! From a token to a mirror that runs, what tells how it is, and what is asked: init, doctor, service, pause, approve, status
//! on a terminal.

mod approve;
mod doctor;
mod init;
mod pause;
mod pty;
mod terminal;
mod unit;
