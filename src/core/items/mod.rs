//! The table of items: what is known of each on both sides and of their last agreement. Observations, never intentions.
//! What was sent and is not known to be done stands in the [`journal`].

pub mod forbidden;
pub mod item;
pub mod journal;
pub mod rows;
pub mod table;
pub mod wait;

pub use forbidden::Verb;
pub use item::*;
pub use journal::{Act, ActState, Deed, Failing, Journal, Part};
pub use table::Items;
pub use wait::Wait;
