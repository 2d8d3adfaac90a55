//! Laws over generated pages and edits.
