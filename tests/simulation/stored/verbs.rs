//! What people and bad luck do to stored files, as scripts call it.

use std::fmt;
use std::str::FromStr;

use crate::script::verbs;

verbs! {
    /// A person in the storage folder.
    Stored {
        NewFile = "new-file", 10;
        Overwrite = "overwrite", 8;
        /// Another file renamed over it.
        Replace = "replace", 5;
        /// Empty first, the rest a while later.
        Truncate = "truncate", 3;
        /// The same bytes again.
        Resave = "resave", 2;
        Copy = "copy", 3;
        Rename = "rename", 6;
        MoveFile = "move-file", 4;
        RenameFolder = "rename-folder", 2;
        NewFolder = "new-folder", 2;
        Delete = "delete", 6;
        /// Gone for a few seconds.
        DeleteAndReturn = "delete-and-return", 3;
        DeleteFolder = "delete-folder", 1;
        /// Many, a few at a time.
        DeleteMany = "delete-many", 1;
        /// Written once more in the middle of its upload.
        WriteTwice = "write-twice", 3;
        Huge = "huge", 2;
        RefusedType = "refused-type", 2;
        Empty = "empty", 2;
        /// A program's own name for what it has not fetched to its end yet, and its right one later.
        Arriving = "arriving", 2;
    }
}

verbs! {
    /// A person in the app, among their stored files.
    AppStored {
        Put = "put", 10;
        ReplaceContent = "replace-content", 7;
        Rename = "rename", 5;
        Move = "move", 5;
        Trash = "trash", 6;
        Restore = "restore", 3;
        Huge = "huge", 2;
        Empty = "empty", 1;
        SameName = "same-name", 2;
        NewFolder = "new-folder", 3;
        RenameFolder = "rename-folder", 3;
        MoveFolder = "move-folder", 2;
        TrashFolder = "trash-folder", 2;
        RestoreFolder = "restore-folder", 2;
        /// The plan takes no more for a while.
        PlanFull = "plan-full", 2;
    }
}

verbs! {
    /// Bad luck that only stored files have.
    StoredFault {
        /// The next lists of storage folders are empty.
        EmptyListing = "empty-listing", 3;
        /// The next lists of storage folders lack some.
        ShortListing = "short-listing", 3;
        /// The next uploads end with 413.
        TooLarge = "too-large", 2;
        /// The next requests for links end with 403.
        LinkForbidden = "link-forbidden", 2;
        /// An older copy of the storage folder is put back.
        OldFolder = "old-folder", 0;
        /// The next downloads go wrong, each in a way of its own.
        BadDownload = "bad-download", 8;
    }
}
