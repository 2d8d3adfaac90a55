//! What the config calls workspaces, and their folders. A user may rename a folder: that name is the user's own, and the mirror
//! follows.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::on_core::core_files;
use crate::engine::state::{Context, Engine, Trees, Way};
use crate::model::{
    Code, EntryKind, FileObject, MirrorPath, Scan, Settings, Stamp, Workspace, WorkspaceId, WorkspaceNode,
};
use crate::plan::naming;

/// Follows renamed folders of workspaces, before anything of the scan is applied. Evidence: nothing is at the old place, and
/// most of the files that were there are the same objects at the same places in one other folder.
pub(crate) fn follow(engine: &mut Engine, scan: &Scan) {
    let tops: BTreeSet<&str> =
        scan.entries.iter().filter_map(|entry| entry.path.components().next()).collect();
    let spaces = || engine.pages.trees.workspaces.values();
    let gone: Vec<WorkspaceNode> =
        spaces().filter(|node| !tops.contains(node.folder.as_str())).cloned().collect();
    if gone.is_empty() {
        return;
    }
    let taken: BTreeSet<String> = spaces().map(|node| node.folder.clone()).collect();
    let may_be_one = |top: &str| !taken.contains(top) && !naming::RESERVED.contains(&top);
    let files = scan.entries.iter().filter(|entry| entry.kind == EntryKind::File);
    let places: BTreeMap<FileObject, &MirrorPath> =
        files.map(|entry| (entry.stamp.object(), &entry.path)).collect();
    for node in gone {
        let mut known = 0_usize;
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        for (path, stamp) in files_of(engine, &node.folder) {
            known += 1;
            let place = places.get(&stamp.object()).and_then(|place| place.as_str().split_once('/'));
            if let Some((top, below)) = place.filter(|(top, _)| may_be_one(top))
                && path.as_str().split_once('/').is_some_and(|(_, was)| was == below)
            {
                *found.entry(top).or_default() += 1;
            }
        }
        let most = found.into_iter().max_by_key(|(_, count)| *count);
        let Some((name, _)) = most.filter(|(_, count)| 2 * count > known) else { continue };
        if let Ok(path) = MirrorPath::new(name) {
            engine.cx.log_activity(
                Way::Aside,
                &path,
                format!("the folder was named {}: its name is followed", node.folder),
            );
        }
        engine.pages.trees.save_workspace(WorkspaceNode { folder: name.to_owned(), ..node }, &mut engine.cx);
        engine.pages.mark_all_dirty();
    }
}

/// The files of pages and canvases in a folder at the top.
fn files_of(engine: &Engine, folder: &str) -> Vec<(MirrorPath, Stamp)> {
    let pages = engine.pages.trees.files.values().map(|file| (file.path.clone(), file.stamp));
    let canvases = core_files(engine).map(|(path, stamp, _)| (path, stamp));
    pages.chain(canvases).filter(|(path, _)| path.components().next() == Some(folder)).collect()
}

/// Keeps what the config calls workspaces whose names or slugs are others now: it goes on meaning them. Told once.
pub(crate) fn keep_names(engine: &mut Engine, list: &[Workspace]) {
    let settings = &engine.cx.settings;
    let named: Vec<String> = settings.workspaces.iter().chain(settings.modes.keys()).cloned().collect();
    for seen in list {
        let Some(mut node) = engine.pages.trees.workspaces.get(&seen.id).cloned() else { continue };
        let is_former = |name: &&String| node.seen.is_called(name) && !seen.is_called(name);
        for name in named.iter().filter(is_former).cloned().collect::<Vec<_>>() {
            let (folder, slug) = (node.folder.clone(), &seen.slug);
            let why = format!(
                "the workspace that the config calls {name:?} is {slug:?} at the service now, and goes on"
            );
            engine.cx.notice(
                Code::RenamedWorkspace,
                &folder,
                why,
                "nothing to do; you can write its new name into the config",
            );
            node.known_as.push(name);
        }
        engine.pages.trees.save_workspace(node, &mut engine.cx);
    }
}

/// The workspaces that the config names, as far as they are known, and those that it names by their ids. They are mirrored
/// while the list of workspaces is forbidden.
pub(crate) fn named_by_id(settings: &Settings, trees: &Trees) -> Vec<Workspace> {
    let is_id = |name: &&String| name.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    let of_name = |name: &String| {
        let known = trees.workspaces.values().find(|node| node.is_called(name));
        let anew = || WorkspaceId::new(Some(name).filter(is_id)?).ok().map(Workspace::unnamed);
        known.map(|node| node.seen.clone()).or_else(anew)
    };
    settings.workspaces.iter().filter_map(of_name).collect()
}

impl Context {
    pub(crate) fn is_chosen(&self, workspace: &WorkspaceNode) -> bool {
        self.settings.chooses(|name| workspace.is_called(name))
    }
}

impl Trees {
    /// Marks workspaces that the config does not name any more as absent from the start. Their files stay as they are.
    pub(crate) fn drop_unchosen(&mut self, cx: &Context) {
        let unchosen: Vec<WorkspaceId> = self
            .workspaces
            .values()
            .filter(|node| !cx.is_chosen(node))
            .map(|node| node.seen.id.clone())
            .collect();
        for id in unchosen {
            if let Some(node) = self.workspaces.get_mut(&id) {
                node.present = false;
            }
        }
    }
}
