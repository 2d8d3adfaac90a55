//! The whole program as its users have it: the real binary on a real folder, and the service in a box behind real HTTP.
//! One file per part of the contract; `bench` is the workbench that they share.

mod agreement;
mod answers;
mod app;
mod bench;
mod boards;
mod both;
mod desktop;
mod down;
mod edits;
mod export;
mod guards;
mod kills;
mod lasting;
mod long;
mod machines;
mod passes;
mod past;
mod putting_back;
mod refusals;
mod returns;
mod search;
mod serve;
mod setting_up;
mod sick;
mod state;
mod storage;
mod storage_doubt;
mod storage_kills;
mod storage_old;
mod storage_send;
mod systemd;
mod tree;
mod trouble;
mod unread;
mod why;
