//! Scripts that failed once, in `scripts`, each named for what it holds, with the promise that it broke on its first line. A seed
//! means something else after any change to the draw; a script keeps its meaning.

use std::path::{Path, PathBuf};

use crate::play::play;
use crate::script::Script;

/// A test for each script, of its name.
macro_rules! scripts {
    ($($name:ident;)*) => {
        $(
            #[test]
            fn $name() {
                $crate::regressions::keeps(stringify!($name));
            }
        )*
    };
}
pub(crate) use scripts;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/simulation/scripts")
}

/// The promise and the script of this name.
fn read(name: &str) -> (String, Script) {
    let text = std::fs::read_to_string(folder().join(format!("{name}.script"))).unwrap();
    let (promise, script) = text.split_once('\n').unwrap();
    (promise.strip_prefix("# ").unwrap().to_owned(), script.parse().unwrap())
}

/// The names of all scripts.
fn names() -> Vec<String> {
    let scripts = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    scripts.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// The name of a script that this check finds, for bugs that too few seeds come across.
#[cfg(feature = "planted")]
pub(crate) fn find(check: impl Fn(&Script) -> bool) -> Option<String> {
    let mut names = names();
    names.sort();
    names.into_iter().find(|name| check(&read(name).1))
}

/// Plays the script of this name.
pub(crate) fn keeps(name: &str) {
    let (promise, script) = read(name);
    if let Err(broken) = play(&script, false) {
        let tail = broken.tail.join("\n");
        panic!("{promise}: {}\n{tail}\n{script}", broken.failure);
    }
}

#[test]
fn every_script_has_a_test_of_its_name() {
    let own = [
        include_str!("regressions.rs"),
        include_str!("canvas/regressions.rs"),
        include_str!("stored/regressions.rs"),
    ];
    let names = names();
    let without: Vec<&String> = names
        .iter()
        .filter(|name| !own.iter().any(|own| own.contains(&format!("\n    {name};\n"))))
        .collect();
    assert!(without.is_empty(), "no test plays {without:?}");
    assert!(names.len() > 70, "scripts are missing: {}", names.len());
}

scripts! {
    a_block_behind_a_copied_line_is_kept;
    a_block_behind_its_line_stays_one_when_it_is_indented_into_code;
    a_block_moved_and_edited_stays_itself;
    a_block_moved_past_one_like_it_while_the_app_edits_it_stays_itself;
    a_block_that_was_mostly_rewritten_is_one_block;
    a_change_within_a_coarse_clock_step_is_seen_after_the_clock_went_back;
    a_conflict_copy_that_is_still_needed_is_made_again;
    a_conflict_whose_text_the_page_has_ends_with_its_copy;
    a_copy_of_an_unnoted_file_is_a_copy;
    a_copy_that_has_become_its_pages_file_is_no_copy;
    a_copy_that_loses_a_node_before_it_has_ids_is_sent;
    a_creation_in_doubt_finds_its_page_after_the_clock_went_back;
    a_deletion_under_way_at_a_kill_counts_for_the_guard;
    a_deletion_whose_answer_was_lost_counts_for_the_guard;
    a_divider_at_the_top_is_no_front_matter_for_other_programs;
    a_download_placed_in_the_moment_of_a_kill_is_no_new_file;
    a_file_emptied_while_its_first_words_are_sent_keeps_its_page;
    a_file_is_followed_into_a_folder_whose_page_is_being_made;
    a_file_made_anew_elsewhere_keeps_the_blocks_behind_its_lines;
    a_file_of_a_folder_that_was_renamed_in_the_moment_of_a_kill_moves_on;
    a_file_out_of_an_unreadable_folder_keeps_its_page_after_a_restart;
    a_file_renamed_beneath_a_folder_in_doubt_keeps_its_page;
    a_file_replaced_out_of_sight_has_its_whole_grace_time;
    a_file_that_becomes_a_page_of_its_own_is_not_the_page_it_names;
    a_file_that_came_and_went_between_scans_has_its_whole_grace_time;
    a_file_that_comes_back_to_its_folder_gets_no_second_page;
    a_file_that_could_not_be_read_while_the_root_was_gone_is_read_again;
    a_file_that_moved_twice_between_scans_keeps_its_page;
    a_file_that_moves_on_before_it_is_read_keeps_its_page;
    a_file_that_names_a_page_in_a_closed_folder_waits;
    a_file_that_was_away_while_the_process_was_down_counts_as_away;
    a_file_under_the_name_of_one_being_made_gets_its_own_page;
    a_folder_made_into_a_page_is_not_brought_back_by_a_write;
    a_folder_moves_only_when_what_was_seen_in_it_is_identified;
    a_folder_renamed_during_a_save_in_it_loses_nothing;
    a_folder_renamed_during_the_first_matching_becomes_a_page;
    a_folder_that_stays_unreadable_beneath_another_hides_its_pages;
    a_folder_whose_file_is_on_the_way_gets_no_second_page;
    a_full_pass_does_not_repeat_a_list_that_has_just_failed;
    a_half_done_swap_gives_no_page_another_pages_file;
    a_hidden_page_goes_with_its_parent_uncounted;
    a_hint_while_a_scan_leaves_asks_for_another_scan;
    a_late_answer_to_a_creation_takes_nothing_back;
    a_line_saved_over_what_came_into_an_empty_page_takes_nothing_away;
    a_list_that_failed_rests_whatever_makes_it_due;
    a_lost_creation_is_recognised_after_two_restarts_and_a_clock_set_back;
    a_node_that_fails_each_time_is_spaced_although_others_are_taken;
    a_page_beneath_its_own_subpage_moves_nothing_for_ever;
    a_page_file_moved_out_of_an_unreadable_folder_is_that_page;
    a_page_is_deleted_only_on_a_fresh_list;
    a_page_is_not_trashed_before_the_file_made_from_it_has_a_page;
    a_page_made_anew_elsewhere_is_trashed_once_the_new_one_has_its_words;
    a_page_put_back_in_a_folder_whose_name_cannot_be_read_is_not_deleted;
    a_page_saved_anew_and_given_a_name_that_cannot_be_read_is_not_deleted;
    a_page_saved_anew_in_a_folder_with_an_unreadable_name_within_another_waits;
    a_page_saved_in_a_folder_whose_name_cannot_be_read_is_not_deleted;
    a_page_whose_file_became_another_pages_takes_no_other_file;
    a_picture_cut_out_and_pasted_elsewhere_keeps_its_size;
    a_probe_that_failed_after_a_sleep_is_not_repeated_at_once;
    a_recreated_page_trashed_in_the_app_takes_its_file_along;
    a_save_put_off_by_a_missing_root_is_older_by_that_time;
    a_swap_and_a_rename_before_a_push_send_nothing_to_the_wrong_page;
    a_swap_before_a_push_sends_nothing_to_the_wrong_page;
    a_text_pasted_back_at_a_kill_outlives_a_read_that_was_older;
    a_text_put_back_after_an_unheard_write_is_an_edit_of_it;
    a_text_written_before_a_kill_and_edited_since_is_that_text;
    a_title_that_a_read_confirmed_after_a_kill_is_not_taken_back_by_an_older_list;
    a_trashed_page_does_not_return_with_an_unnoted_file;
    a_write_at_a_kill_is_known_although_its_file_cannot_be_read_at_first;
    an_approval_deletes_nothing_that_is_back_since_the_last_scan;
    an_edit_of_an_unreadable_file_is_sent_when_it_can_be_read;
    an_edit_that_could_not_be_sent_at_a_kill_is_sent_later;
    an_edit_that_no_time_shows_is_read_after_the_clock_went_back;
    an_edit_whose_write_was_not_noted_is_not_deleted_by_old_text;
    an_edit_with_the_old_time_is_read;
    an_editor_at_an_old_path_takes_no_colleagues_word_back;
    an_editor_at_an_old_path_takes_no_grown_paragraph_back;
    an_editor_open_while_its_text_is_put_aside_removes_no_word;
    an_element_in_doubt_that_the_app_moved_is_made_once;
    an_emptied_file_is_sent_when_it_is_approved;
    an_old_text_saved_over_a_replaced_paragraph_takes_no_word_of_the_new_one;
    an_open_files_inode_goes_to_no_new_file;
    deletions_before_a_restart_count_for_the_guard;
    dividers_that_come_to_the_top_of_a_file_are_no_front_matter;
    nothing_is_made_for_a_file_that_cannot_be_read;
    nothing_is_written_or_deleted_on_an_answer_from_before_a_sleep;
    nothing_rests_on_a_write_that_failed;
    of_two_pages_at_one_place_the_living_one_gets_the_file;
    of_two_programs_the_later_save_wins_at_an_old_path_too;
    old_text_is_told_after_its_page_was_in_the_trash;
    the_file_that_comes_back_beside_a_folder_is_the_folders_page;
    two_files_of_one_title_are_two_pages;
    two_files_swapped_and_replaced_by_edits_keep_their_pages;
    two_files_swapped_and_rewritten_by_git_keep_their_pages;
    two_files_swapped_by_git_and_edited_keep_their_pages;
    two_files_swapped_while_one_page_is_hidden_keep_their_pages;
    two_files_that_change_places_are_identified_together;
    two_files_that_change_places_by_way_of_a_third_name_keep_their_pages;
    two_files_without_births_are_swapped_during_a_save;
    two_files_without_births_are_swapped_while_one_page_is_in_the_trash;
    what_another_program_took_out_of_a_text_in_hand_may_stay_out;
    what_comes_back_in_a_files_place_is_that_page;
    what_failed_in_an_outage_is_due_when_it_is_over;
    what_is_deleted_from_a_recreated_page_stays_deleted;
    what_was_joined_here_and_changed_in_the_app_stays_in_both;
    which_of_two_dividers_was_pasted_nothing_tells;
    words_across_two_cells_are_not_taken_for_a_new_block;
}
