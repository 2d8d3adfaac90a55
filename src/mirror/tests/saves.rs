//! How real programs save, seen by scan and read: each way ends in a new stamp at the old path, and in the new text.

use std::io::Write;
use std::process::Command;

use super::*;

fn shell(bed: &Bed, script: &str) -> bool {
    let done =
        Command::new("sh").arg("-c").arg(script).current_dir(bed.root()).env("HOME", bed.outside()).output();
    done.is_ok_and(|output| output.status.success())
}

#[test]
fn every_way_of_saving_is_one_changed_entry() {
    for (program, script) in [
        ("sh", "printf 'one\\ntwo\\n' > Plan.md"),
        ("sh", "printf 'two\\n' >> Plan.md"),
        ("sed", "sed -i '$ a two' Plan.md"),
        ("cp", "printf 'one\\ntwo\\n' > /tmp/x.$$ && cp /tmp/x.$$ Plan.md && rm /tmp/x.$$"),
        ("mv", "printf 'one\\ntwo\\n' > .Plan.tmp && mv .Plan.tmp Plan.md"),
        ("mv", "mv Plan.md Plan.md~ && printf 'one\\ntwo\\n' > Plan.md && rm Plan.md~"),
        ("perl", "perl -pi -e '$_ .= \"two\\n\"' Plan.md"),
        ("ed", "printf 'a\\ntwo\\n.\\nw\\n' | ed -s Plan.md"),
        // /tmp is in vim's backupskip, which would hide the dance.
        (
            "vim",
            "vim -u NONE -i NONE -es -N -c 'set backupskip= writebackup' -c 'normal Gotwo' -c 'wq' Plan.md",
        ),
        (
            "vim",
            "vim -u NONE -i NONE -es -N -c 'set backupskip= backupcopy=yes' -c 'normal Gotwo' -c 'wq' Plan.md",
        ),
        ("nvim", "nvim -u NONE -i NONE -es -c 'set backupskip=' -c 'normal Gotwo' -c 'wq' Plan.md"),
        (
            "emacs",
            "emacs -Q --batch Plan.md --eval '(progn (goto-char (point-max)) (insert \"two\\n\") (save-buffer))'; rm -f Plan.md~",
        ),
        (
            "git",
            "git init -q . && git add Plan.md && git -c user.name=a -c user.email=a@b commit -qm a && \
            printf 'one\\ntwo\\n' > Plan.md && git add Plan.md && git -c user.name=a -c user.email=a@b commit -qm b && \
            git checkout -q HEAD~1 && git checkout -q - && rm -rf .git",
        ),
    ] {
        let bed = bed();
        if !shell(&bed, &format!("command -v {program}")) {
            assert!(
                std::env::var_os("ESPEJO_EVERY_PROGRAM").is_none(),
                "{program} is not installed; .ci/run installs it"
            );
            // Past the capture of the output, which is shown only where the test fails.
            drop(writeln!(std::io::stderr(), "not tried: {program} is not installed"));
            continue;
        }
        bed.write("Plan.md", "one\n", Expect::Absent).unwrap();
        let before = bed.scan();
        assert!(shell(&bed, script), "{script}");
        let after = bed.scan();
        assert_eq!(after.entries.len(), 1, "{script}: {after:?}");
        assert_ne!(after.entries[0].stamp, before.entries[0].stamp, "{script}");
        let look = bed.read("Plan.md").unwrap();
        assert_eq!(look.bytes, b"one\ntwo\n", "{script}");
        assert_eq!(look.stamp, after.entries[0].stamp, "{script}");
        // And the file can be written to again.
        bed.replace("Plan.md", "one\ntwo\n", "three\n").unwrap();
    }
}
