//! From a token to a mirror that runs, and what tells how it is: init, doctor, service, pause, status on a terminal.

mod doctor;
mod init;
mod pause;
mod pty;
mod terminal;
mod unit;
