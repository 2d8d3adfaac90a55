//! Names the version that `espejo --version` tells. A build for users has the commit and its day in it; others do not, because
//! each commit would compile the program anew.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=packaging/build.rs");
    println!("cargo::rerun-if-env-changed=ESPEJO_COMMIT");
    let mut version = var("CARGO_PKG_VERSION");
    if var("PROFILE") == "release" {
        for file in [".git/HEAD", ".git/logs/HEAD"] {
            if std::path::Path::new(file).exists() {
                println!("cargo::rerun-if-changed={file}");
            }
        }
        let told = Command::new("git").args(["log", "-1", "--format=%h %cs"]).output().ok();
        let told = told.filter(|told| told.status.success()).map(|told| told.stdout);
        let told = told.map(|told| String::from_utf8_lossy(&told).trim().to_owned());
        let named = Some(var("ESPEJO_COMMIT")).filter(|named| !named.is_empty());
        if let Some(commit) = named.or(told).filter(|commit| !commit.is_empty()) {
            version = format!("{version} ({commit})");
        }
    }
    println!("cargo::rustc-env=ESPEJO_VERSION={version}");
}

fn var(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}
