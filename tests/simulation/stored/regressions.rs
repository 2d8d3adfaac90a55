//! The scripts of [`crate::regressions`] that are about stored files.

use crate::regressions::keeps;

#[test]
fn a_list_of_stored_files_that_failed_rests() {
    keeps("a_list_of_stored_files_that_failed_rests");
}

#[test]
fn a_moved_stored_file_that_is_saved_anew_is_followed() {
    keeps("a_moved_stored_file_that_is_saved_anew_is_followed");
}

#[test]
fn a_new_stored_folder_waits_for_the_renamed_one_whose_name_it_has() {
    keeps("a_new_stored_folder_waits_for_the_renamed_one_whose_name_it_has");
}

#[test]
fn a_renamed_stored_file_waits_for_its_upload_although_its_folder_moves() {
    keeps("a_renamed_stored_file_waits_for_its_upload_although_its_folder_moves");
}

#[test]
fn a_renamed_stored_file_whose_place_is_taken_in_the_same_moment_stays() {
    keeps("a_renamed_stored_file_whose_place_is_taken_in_the_same_moment_stays");
}

#[test]
fn a_stored_edit_within_a_coarse_clock_step_is_seen_after_a_restart() {
    keeps("a_stored_edit_within_a_coarse_clock_step_is_seen_after_a_restart");
}

#[test]
fn a_stored_file_deleted_here_goes_though_another_comes_to_its_place() {
    keeps("a_stored_file_deleted_here_goes_though_another_comes_to_its_place");
}

#[test]
fn a_stored_file_edited_before_the_clock_went_back_is_sent() {
    keeps("a_stored_file_edited_before_the_clock_went_back_is_sent");
}

#[test]
fn a_stored_file_in_a_folder_that_goes_before_any_list_shows_it_goes_too() {
    keeps("a_stored_file_in_a_folder_that_goes_before_any_list_shows_it_goes_too");
}

#[test]
fn a_stored_file_in_no_list_is_asked_for_in_each_pass() {
    keeps("a_stored_file_in_no_list_is_asked_for_in_each_pass");
}

#[test]
fn a_stored_file_overwritten_within_a_step_of_the_clock_is_sent() {
    keeps("a_stored_file_overwritten_within_a_step_of_the_clock_is_sent");
}

#[test]
fn a_stored_file_replaced_before_the_clock_went_back_is_kept_beside() {
    keeps("a_stored_file_replaced_before_the_clock_went_back_is_kept_beside");
}

#[test]
fn a_stored_file_saved_anew_in_a_renamed_folder_is_no_deletion() {
    keeps("a_stored_file_saved_anew_in_a_renamed_folder_is_no_deletion");
}

#[test]
fn a_stored_file_that_an_unreadable_name_hid_follows_its_renamed_folder() {
    keeps("a_stored_file_that_an_unreadable_name_hid_follows_its_renamed_folder");
}

#[test]
fn a_stored_file_that_espejo_renamed_in_the_moment_of_a_kill_is_no_new_one() {
    keeps("a_stored_file_that_espejo_renamed_in_the_moment_of_a_kill_is_no_new_one");
}

#[test]
fn a_stored_file_that_got_other_content_before_it_went_is_taken_away() {
    keeps("a_stored_file_that_got_other_content_before_it_went_is_taken_away");
}

#[test]
fn a_stored_file_that_is_not_listed_is_not_told_to_have_no_content() {
    keeps("a_stored_file_that_is_not_listed_is_not_told_to_have_no_content");
}

#[test]
fn a_stored_file_that_is_shown_again_is_told_no_more() {
    keeps("a_stored_file_that_is_shown_again_is_told_no_more");
}

#[test]
fn a_stored_file_that_moves_into_the_old_place_of_a_renamed_one_is_not_its_new_version() {
    keeps("a_stored_file_that_moves_into_the_old_place_of_a_renamed_one_is_not_its_new_version");
}

#[test]
fn a_stored_file_that_moves_on_before_its_old_name_is_trashed_stands_once() {
    keeps("a_stored_file_that_moves_on_before_its_old_name_is_trashed_stands_once");
}

#[test]
fn a_stored_file_whose_place_is_taken_stays_until_it_is_there_under_its_new_name() {
    keeps("a_stored_file_whose_place_is_taken_stays_until_it_is_there_under_its_new_name");
}

#[test]
fn a_stored_file_whose_upload_is_in_doubt_is_not_kept_beside() {
    keeps("a_stored_file_whose_upload_is_in_doubt_is_not_kept_beside");
}

#[test]
fn an_older_folder_that_appears_after_the_start_deletes_no_stored_file() {
    keeps("an_older_folder_that_appears_after_the_start_deletes_no_stored_file");
}

#[test]
fn an_upload_in_doubt_follows_its_renamed_folder() {
    keeps("an_upload_in_doubt_follows_its_renamed_folder");
}

#[test]
fn an_upload_in_doubt_is_not_given_up_on_a_list_that_lacks_more() {
    keeps("an_upload_in_doubt_is_not_given_up_on_a_list_that_lacks_more");
}

#[test]
fn an_upload_in_doubt_is_sought_for_longer_than_a_list_is_short() {
    keeps("an_upload_in_doubt_is_sought_for_longer_than_a_list_is_short");
}

#[test]
fn renamed_stored_files_are_no_deletions() {
    keeps("renamed_stored_files_are_no_deletions");
}

#[test]
fn what_the_app_puts_into_a_replaced_stored_file_stays() {
    keeps("what_the_app_puts_into_a_replaced_stored_file_stays");
}

#[test]
fn a_folder_trashed_after_a_short_list_takes_its_files_along() {
    keeps("a_folder_trashed_after_a_short_list_takes_its_files_along");
}

#[test]
fn a_stored_file_renamed_by_espejo_at_a_kill_is_known_before_any_list() {
    keeps("a_stored_file_renamed_by_espejo_at_a_kill_is_known_before_any_list");
}

#[test]
fn a_deleted_stored_file_is_not_one_that_got_its_number() {
    keeps("a_deleted_stored_file_is_not_one_that_got_its_number");
}

#[test]
fn a_move_that_the_disk_refused_is_told_no_longer_than_it_is_needed() {
    keeps("a_move_that_the_disk_refused_is_told_no_longer_than_it_is_needed");
}

#[test]
fn a_moved_stored_file_leaves_its_old_place_once_a_list_shows_it() {
    keeps("a_moved_stored_file_leaves_its_old_place_once_a_list_shows_it");
}

#[test]
fn a_stored_file_changed_twice_within_a_coarse_clock_step_is_seen_after_the_clock_went_back() {
    keeps("a_stored_file_changed_twice_within_a_coarse_clock_step_is_seen_after_the_clock_went_back");
}

#[test]
fn a_stored_file_made_anew_under_another_name_stays_until_that_is_sent() {
    keeps("a_stored_file_made_anew_under_another_name_stays_until_that_is_sent");
}

#[test]
fn a_stored_file_made_anew_whose_upload_the_service_refuses_stays_under_its_old_name() {
    keeps("a_stored_file_made_anew_whose_upload_the_service_refuses_stays_under_its_old_name");
}

#[test]
fn a_stored_file_moved_on_both_sides_around_a_kill_has_a_path_of_its_own() {
    keeps("a_stored_file_moved_on_both_sides_around_a_kill_has_a_path_of_its_own");
}

#[test]
fn an_upload_in_doubt_whose_file_is_moved_in_the_app_is_that_file() {
    keeps("an_upload_in_doubt_whose_file_is_moved_in_the_app_is_that_file");
}

#[test]
fn a_copy_that_the_disk_refused_is_told_no_longer_than_it_is_needed() {
    keeps("a_copy_that_the_disk_refused_is_told_no_longer_than_it_is_needed");
}

#[test]
fn a_file_discarded_at_a_kill_and_put_back_in_the_app_comes_back() {
    keeps("a_file_discarded_at_a_kill_and_put_back_in_the_app_comes_back");
}

#[test]
fn a_stored_file_saved_anew_where_nothing_is_sent_and_renamed_stays_at_the_service() {
    keeps("a_stored_file_saved_anew_where_nothing_is_sent_and_renamed_stays_at_the_service");
}

#[test]
fn an_upload_in_doubt_that_an_older_copy_of_the_folder_lacks_is_not_trashed() {
    keeps("an_upload_in_doubt_that_an_older_copy_of_the_folder_lacks_is_not_trashed");
}

#[test]
fn an_upload_in_doubt_that_moved_in_the_app_is_known_after_two_kills() {
    keeps("an_upload_in_doubt_that_moved_in_the_app_is_known_after_two_kills");
}

#[test]
fn a_stored_file_changed_within_a_step_of_the_clock_is_not_replaced() {
    keeps("a_stored_file_changed_within_a_step_of_the_clock_is_not_replaced");
}

#[test]
fn a_renamed_stored_file_waits_for_no_equal_file_elsewhere() {
    keeps("a_renamed_stored_file_waits_for_no_equal_file_elsewhere");
}

#[test]
fn a_stored_file_that_a_guard_no_longer_holds_is_asked_for() {
    keeps("a_stored_file_that_a_guard_no_longer_holds_is_asked_for");
}

#[test]
fn a_refused_upload_is_not_repeated_when_its_folder_is_renamed() {
    keeps("a_refused_upload_is_not_repeated_when_its_folder_is_renamed");
}

#[test]
fn a_stored_file_moved_and_saved_anew_is_trashed_once_a_list_shows_the_new_one() {
    keeps("a_stored_file_moved_and_saved_anew_is_trashed_once_a_list_shows_the_new_one");
}

#[test]
fn a_stored_file_saved_anew_at_the_path_of_two_is_that_of_the_last_one() {
    keeps("a_stored_file_saved_anew_at_the_path_of_two_is_that_of_the_last_one");
}

#[test]
fn a_folder_that_could_not_be_renamed_is_renamed_with_the_next_pass() {
    keeps("a_folder_that_could_not_be_renamed_is_renamed_with_the_next_pass");
}

#[test]
fn an_older_version_is_trashed_only_after_a_fresh_list() {
    keeps("an_older_version_is_trashed_only_after_a_fresh_list");
}

#[test]
fn an_overwrite_right_after_the_reading_for_an_upload_is_sent() {
    keeps("an_overwrite_right_after_the_reading_for_an_upload_is_sent");
}

#[test]
fn a_stored_file_hidden_by_a_name_stays_hidden_after_a_restart() {
    keeps("a_stored_file_hidden_by_a_name_stays_hidden_after_a_restart");
}

#[test]
fn a_stored_file_saved_anew_elsewhere_and_removed_has_its_whole_grace_time() {
    keeps("a_stored_file_saved_anew_elsewhere_and_removed_has_its_whole_grace_time");
}

#[test]
fn a_renamed_stored_file_stays_until_it_has_replaced_the_one_at_its_new_place() {
    keeps("a_renamed_stored_file_stays_until_it_has_replaced_the_one_at_its_new_place");
}

#[test]
fn an_overwrite_right_after_a_download_is_seen_although_the_clock_was_set() {
    keeps("an_overwrite_right_after_a_download_is_seen_although_the_clock_was_set");
}

#[test]
fn a_lost_upload_moved_in_the_app_is_found_before_it_is_sent_again() {
    keeps("a_lost_upload_moved_in_the_app_is_found_before_it_is_sent_again");
}

#[test]
fn a_stored_file_that_is_ignored_before_it_is_placed_stays_away() {
    keeps("a_stored_file_that_is_ignored_before_it_is_placed_stays_away");
}

#[test]
fn a_stored_file_that_comes_back_is_the_one_whose_bytes_it_has() {
    keeps("a_stored_file_that_comes_back_is_the_one_whose_bytes_it_has");
}

#[test]
fn a_file_whose_folder_left_the_service_is_told_to_need_its_folder() {
    keeps("a_file_whose_folder_left_the_service_is_told_to_need_its_folder");
}

#[test]
fn a_moved_and_uploaded_file_waits_for_no_copy_that_stays_here() {
    keeps("a_moved_and_uploaded_file_waits_for_no_copy_that_stays_here");
}

#[test]
fn an_upload_found_at_a_kill_is_the_one_of_its_name() {
    keeps("an_upload_found_at_a_kill_is_the_one_of_its_name");
}
