//! The scripts of [`crate::regressions`] that are about whiteboards, presentations and slides.

use crate::regressions::keeps;

#[test]
fn a_canvas_edited_and_saved_under_another_name_is_that_canvas() {
    keeps("a_canvas_edited_and_saved_under_another_name_is_that_canvas");
}

#[test]
fn a_canvas_edited_twice_and_renamed_is_that_canvas() {
    keeps("a_canvas_edited_twice_and_renamed_is_that_canvas");
}

#[test]
fn a_canvas_file_moved_out_of_the_canvases_is_not_trashed_there() {
    keeps("a_canvas_file_moved_out_of_the_canvases_is_not_trashed_there");
}

#[test]
fn a_canvas_is_not_missing_while_a_file_that_says_none_is_new() {
    keeps("a_canvas_is_not_missing_while_a_file_that_says_none_is_new");
}

#[test]
fn a_canvas_is_not_missing_while_a_new_file_cannot_be_read() {
    keeps("a_canvas_is_not_missing_while_a_new_file_cannot_be_read");
}

#[test]
fn a_canvas_renamed_and_saved_anew_while_a_list_lacks_it_is_that_canvas() {
    keeps("a_canvas_renamed_and_saved_anew_while_a_list_lacks_it_is_that_canvas");
}

#[test]
fn a_canvas_that_comes_back_waits_for_no_request_of_before() {
    keeps("a_canvas_that_comes_back_waits_for_no_request_of_before");
}

#[test]
fn a_canvas_that_is_emptied_while_its_nodes_are_being_made_is_held() {
    keeps("a_canvas_that_is_emptied_while_its_nodes_are_being_made_is_held");
}

#[test]
fn a_canvas_written_at_a_kill_does_not_undo_a_later_change_in_the_app() {
    keeps("a_canvas_written_at_a_kill_does_not_undo_a_later_change_in_the_app");
}

#[test]
fn a_copied_whiteboard_renamed_while_its_original_is_missing_is_that_copy() {
    keeps("a_copied_whiteboard_renamed_while_its_original_is_missing_is_that_copy");
}

#[test]
fn a_copy_of_a_copy_that_keeps_only_what_cannot_be_made_is_in_step() {
    keeps("a_copy_of_a_copy_that_keeps_only_what_cannot_be_made_is_in_step");
}

#[test]
fn a_copy_of_a_slide_does_not_bring_back_a_removed_presentation() {
    keeps("a_copy_of_a_slide_does_not_bring_back_a_removed_presentation");
}

#[test]
fn a_copy_of_a_slide_that_is_there_is_not_one_that_is_missing() {
    keeps("a_copy_of_a_slide_that_is_there_is_not_one_that_is_missing");
}

#[test]
fn a_file_that_stood_beside_a_whiteboards_own_is_another_one() {
    keeps("a_file_that_stood_beside_a_whiteboards_own_is_another_one");
}

#[test]
fn a_missing_canvas_is_found_although_its_copy_is_missing_too() {
    keeps("a_missing_canvas_is_found_although_its_copy_is_missing_too");
}

#[test]
fn a_new_canvas_that_could_not_be_read_again_is_made_when_it_can_be() {
    keeps("a_new_canvas_that_could_not_be_read_again_is_made_when_it_can_be");
}

#[test]
fn a_new_canvas_with_the_number_of_a_deleted_one_is_not_that_one() {
    keeps("a_new_canvas_with_the_number_of_a_deleted_one_is_not_that_one");
}

#[test]
fn a_new_canvas_with_the_number_that_a_saved_one_gave_back_is_new() {
    keeps("a_new_canvas_with_the_number_that_a_saved_one_gave_back_is_new");
}

#[test]
fn a_new_canvas_written_in_the_moment_of_a_kill_is_no_second_one() {
    keeps("a_new_canvas_written_in_the_moment_of_a_kill_is_no_second_one");
}

#[test]
fn a_new_presentation_renamed_before_its_slides_are_made_is_that_presentation() {
    keeps("a_new_presentation_renamed_before_its_slides_are_made_is_that_presentation");
}

#[test]
fn a_new_presentation_with_a_blank_slide_is_not_one_whose_folder_cannot_be_read() {
    keeps("a_new_presentation_with_a_blank_slide_is_not_one_whose_folder_cannot_be_read");
}

#[test]
fn a_new_slide_is_not_one_whose_nodes_are_being_made() {
    keeps("a_new_slide_is_not_one_whose_nodes_are_being_made");
}

#[test]
fn a_node_made_anew_after_a_kill_is_made_once() {
    keeps("a_node_made_anew_after_a_kill_is_made_once");
}

#[test]
fn a_picture_does_not_make_the_old_folder_of_a_presentation_anew() {
    keeps("a_picture_does_not_make_the_old_folder_of_a_presentation_anew");
}

#[test]
fn a_presentation_deleted_before_the_clock_went_back_is_trashed() {
    keeps("a_presentation_deleted_before_the_clock_went_back_is_trashed");
}

#[test]
fn a_presentation_is_listed_last_before_it_is_trashed() {
    keeps("a_presentation_is_listed_last_before_it_is_trashed");
}

#[test]
fn a_presentation_renamed_before_any_scan_moves_with_its_whole_folder() {
    keeps("a_presentation_renamed_before_any_scan_moves_with_its_whole_folder");
}

#[test]
fn a_presentation_renamed_on_both_sides_gets_its_name_of_the_app() {
    keeps("a_presentation_renamed_on_both_sides_gets_its_name_of_the_app");
}

#[test]
fn a_presentation_that_a_list_shows_before_its_answer_is_lost_is_that_one() {
    keeps("a_presentation_that_a_list_shows_before_its_answer_is_lost_is_that_one");
}

#[test]
fn a_presentation_that_went_on_both_sides_is_forgotten() {
    keeps("a_presentation_that_went_on_both_sides_is_forgotten");
}

#[test]
fn a_presentation_whose_folder_is_renamed_after_its_slide_was_replaced_is_not_deleted() {
    keeps("a_presentation_whose_folder_is_renamed_after_its_slide_was_replaced_is_not_deleted");
}

#[test]
fn a_presentation_written_and_renamed_around_a_kill_is_one() {
    keeps("a_presentation_written_and_renamed_around_a_kill_is_one");
}

#[test]
fn a_presentations_folder_renamed_across_a_kill_is_that_presentations() {
    keeps("a_presentations_folder_renamed_across_a_kill_is_that_presentations");
}

#[test]
fn a_presentations_folder_renamed_on_both_sides_goes_back_whole() {
    keeps("a_presentations_folder_renamed_on_both_sides_goes_back_whole");
}

#[test]
fn a_renamed_presentations_folder_is_not_made_anew_for_its_page() {
    keeps("a_renamed_presentations_folder_is_not_made_anew_for_its_page");
}

#[test]
fn a_presentations_folder_goes_back_whole_wherever_one_of_its_slides_is() {
    keeps("a_presentations_folder_goes_back_whole_wherever_one_of_its_slides_is");
}

#[test]
fn a_slide_is_known_by_a_node_whose_creation_is_in_doubt() {
    keeps("a_slide_is_known_by_a_node_whose_creation_is_in_doubt");
}

#[test]
fn a_slide_is_not_written_into_a_presentations_folder_that_was_renamed() {
    keeps("a_slide_is_not_written_into_a_presentations_folder_that_was_renamed");
}

#[test]
fn a_slide_made_in_the_app_keeps_a_presentation_whose_folder_was_deleted() {
    keeps("a_slide_made_in_the_app_keeps_a_presentation_whose_folder_was_deleted");
}

#[test]
fn a_slide_saved_over_after_its_rename_was_cut_off_is_that_slide() {
    keeps("a_slide_saved_over_after_its_rename_was_cut_off_is_that_slide");
}

#[test]
fn a_slide_saved_under_another_name_with_half_its_nodes_is_that_slide() {
    keeps("a_slide_saved_under_another_name_with_half_its_nodes_is_that_slide");
}

#[test]
fn a_slide_that_a_list_shows_for_a_lost_creation_is_looked_at() {
    keeps("a_slide_that_a_list_shows_for_a_lost_creation_is_looked_at");
}

#[test]
fn a_slide_that_came_after_its_folder_went_is_not_written_there() {
    keeps("a_slide_that_came_after_its_folder_went_is_not_written_there");
}

#[test]
fn a_slide_made_while_its_folder_is_renamed_is_made_once() {
    keeps("a_slide_made_while_its_folder_is_renamed_is_made_once");
}

#[test]
fn a_slide_replaced_after_its_folder_was_renamed_back_at_a_kill_is_that_slide() {
    keeps("a_slide_replaced_after_its_folder_was_renamed_back_at_a_kill_is_that_slide");
}

#[test]
fn a_slide_saved_under_another_name_before_the_old_file_goes_is_one_slide() {
    keeps("a_slide_saved_under_another_name_before_the_old_file_goes_is_one_slide");
}

#[test]
fn a_slide_saved_under_another_name_with_one_of_its_nodes_is_that_slide() {
    keeps("a_slide_saved_under_another_name_with_one_of_its_nodes_is_that_slide");
}

#[test]
fn a_slide_that_comes_back_after_its_number_changed_is_that_slide() {
    keeps("a_slide_that_comes_back_after_its_number_changed_is_that_slide");
}

#[test]
fn a_slide_that_is_renamed_and_written_in_place_is_that_slide() {
    keeps("a_slide_that_is_renamed_and_written_in_place_is_that_slide");
}

#[test]
fn a_slide_whose_number_changed_is_not_the_file_at_its_new_place() {
    keeps("a_slide_whose_number_changed_is_not_the_file_at_its_new_place");
}

#[test]
fn a_slide_without_nodes_saved_under_another_name_is_that_slide() {
    keeps("a_slide_without_nodes_saved_under_another_name_is_that_slide");
}

#[test]
fn a_slides_file_comes_back_only_into_its_own_folder() {
    keeps("a_slides_file_comes_back_only_into_its_own_folder");
}

#[test]
fn a_slides_file_that_is_back_before_a_new_one_is_written_is_its_file() {
    keeps("a_slides_file_that_is_back_before_a_new_one_is_written_is_its_file");
}

#[test]
fn a_slides_page_in_a_folder_that_is_gone_waits_for_a_scan() {
    keeps("a_slides_page_in_a_folder_that_is_gone_waits_for_a_scan");
}

#[test]
fn a_whiteboard_in_doubt_is_found_after_the_clock_went_back() {
    keeps("a_whiteboard_in_doubt_is_found_after_the_clock_went_back");
}

#[test]
fn a_whiteboard_that_came_empty_waits_for_the_list_and_starves_nothing() {
    keeps("a_whiteboard_that_came_empty_waits_for_the_list_and_starves_nothing");
}

#[test]
fn a_whiteboard_written_and_renamed_in_the_app_around_a_kill_is_one() {
    keeps("a_whiteboard_written_and_renamed_in_the_app_around_a_kill_is_one");
}

#[test]
fn a_whiteboard_written_at_a_kill_and_renamed_in_the_app_is_that_whiteboard() {
    keeps("a_whiteboard_written_at_a_kill_and_renamed_in_the_app_is_that_whiteboard");
}

#[test]
fn a_whiteboard_written_at_a_kill_and_saved_anew_is_that_whiteboard() {
    keeps("a_whiteboard_written_at_a_kill_and_saved_anew_is_that_whiteboard");
}

#[test]
fn an_element_in_doubt_that_the_app_recoloured_keeps_that_colour() {
    keeps("an_element_in_doubt_that_the_app_recoloured_keeps_that_colour");
}

#[test]
fn an_empty_presentation_whose_folder_is_renamed_is_that_presentation() {
    keeps("an_empty_presentation_whose_folder_is_renamed_is_that_presentation");
}

#[test]
fn an_old_look_at_a_slide_is_made_again_before_its_presentation_goes() {
    keeps("an_old_look_at_a_slide_is_made_again_before_its_presentation_goes");
}

#[test]
fn an_old_save_at_the_place_of_an_empty_slide_waits_for_approval() {
    keeps("an_old_save_at_the_place_of_an_empty_slide_waits_for_approval");
}

#[test]
fn nothing_waits_for_a_slide_of_a_presentation_that_is_gone() {
    keeps("nothing_waits_for_a_slide_of_a_presentation_that_is_gone");
}

#[test]
fn of_two_equal_files_the_one_with_the_boards_name_is_its_own() {
    keeps("of_two_equal_files_the_one_with_the_boards_name_is_its_own");
}

#[test]
fn the_new_file_with_the_most_nodes_of_a_missing_whiteboard_is_its_file() {
    keeps("the_new_file_with_the_most_nodes_of_a_missing_whiteboard_is_its_file");
}

#[test]
fn a_blank_slide_that_got_a_node_after_a_kill_is_that_slide() {
    keeps("a_blank_slide_that_got_a_node_after_a_kill_is_that_slide");
}

#[test]
fn a_board_under_an_unreadable_name_that_is_new_since_the_last_run_is_not_removed() {
    keeps("a_board_under_an_unreadable_name_that_is_new_since_the_last_run_is_not_removed");
}

#[test]
fn a_copy_is_no_canvas_whose_file_has_an_unreadable_name_for_a_moment() {
    keeps("a_copy_is_no_canvas_whose_file_has_an_unreadable_name_for_a_moment");
}

#[test]
fn a_folder_of_a_presentation_that_is_renamed_twice_unread_is_that_presentation() {
    keeps("a_folder_of_a_presentation_that_is_renamed_twice_unread_is_that_presentation");
}

#[test]
fn a_presentation_renamed_again_in_the_app_around_a_kill_gets_its_last_name() {
    keeps("a_presentation_renamed_again_in_the_app_around_a_kill_gets_its_last_name");
}

#[test]
fn a_presentation_under_an_unreadable_name_is_approved_by_its_path_only() {
    keeps("a_presentation_under_an_unreadable_name_is_approved_by_its_path_only");
}

#[test]
fn a_slide_that_the_service_no_longer_shows_does_not_count_as_waiting() {
    keeps("a_slide_that_the_service_no_longer_shows_does_not_count_as_waiting");
}

#[test]
fn an_empty_canvas_that_stood_beside_a_missing_one_is_another() {
    keeps("an_empty_canvas_that_stood_beside_a_missing_one_is_another");
}

#[test]
fn a_presentation_renamed_while_its_folder_is_unreadable_stays_one() {
    keeps("a_presentation_renamed_while_its_folder_is_unreadable_stays_one");
}

#[test]
fn a_slide_saved_anew_whose_folder_is_renamed_before_the_other_is_read_stays_one() {
    keeps("a_slide_saved_anew_whose_folder_is_renamed_before_the_other_is_read_stays_one");
}

#[test]
fn a_new_node_with_the_earlier_id_of_another_leaves_that_ones_element() {
    keeps("a_new_node_with_the_earlier_id_of_another_leaves_that_ones_element");
}

#[test]
fn a_presentations_folder_renamed_before_it_becomes_unreadable_is_that_presentation() {
    keeps("a_presentations_folder_renamed_before_it_becomes_unreadable_is_that_presentation");
}

#[test]
fn a_canvas_file_read_just_before_a_kill_is_still_that_of_the_missing_one() {
    keeps("a_canvas_file_read_just_before_a_kill_is_still_that_of_the_missing_one");
}

#[test]
fn a_new_slide_saved_anew_and_moved_with_its_folder_is_one_slide() {
    keeps("a_new_slide_saved_anew_and_moved_with_its_folder_is_one_slide");
}

#[test]
fn a_slide_saved_under_another_name_while_something_is_unreadable_is_that_slide() {
    keeps("a_slide_saved_under_another_name_while_something_is_unreadable_is_that_slide");
}

#[test]
fn a_node_that_is_back_after_its_deletion_at_a_kill_is_made_anew() {
    keeps("a_node_that_is_back_after_its_deletion_at_a_kill_is_made_anew");
}

#[test]
fn an_element_that_was_rewritten_before_its_lost_post_is_looked_for_is_that_element() {
    keeps("an_element_that_was_rewritten_before_its_lost_post_is_looked_for_is_that_element");
}

#[test]
fn an_element_whose_node_gets_its_earlier_text_after_a_lost_patch_gets_it_too() {
    keeps("an_element_whose_node_gets_its_earlier_text_after_a_lost_patch_gets_it_too");
}

#[test]
fn a_canvas_conflict_copy_removed_before_its_file_is_merged_is_made_again() {
    keeps("a_canvas_conflict_copy_removed_before_its_file_is_merged_is_made_again");
}

#[test]
fn a_changed_copy_of_a_slide_is_not_another_missing_copy_of_it() {
    keeps("a_changed_copy_of_a_slide_is_not_another_missing_copy_of_it");
}

#[test]
fn a_copy_taken_for_a_slide_in_the_first_comparison_does_not_wait_for_its_place() {
    keeps("a_copy_taken_for_a_slide_in_the_first_comparison_does_not_wait_for_its_place");
}

#[test]
fn the_outcome_of_a_post_is_looked_for_although_its_node_left_the_file() {
    keeps("the_outcome_of_a_post_is_looked_for_although_its_node_left_the_file");
}

#[test]
fn no_slide_is_deleted_while_its_presentation_has_another_folder() {
    keeps("no_slide_is_deleted_while_its_presentation_has_another_folder");
}

#[test]
fn an_emptied_slide_is_no_missing_whiteboard() {
    keeps("an_emptied_slide_is_no_missing_whiteboard");
}

#[test]
fn a_whiteboard_that_a_list_showed_before_a_kill_is_found_by_the_name_it_had() {
    keeps("a_whiteboard_that_a_list_showed_before_a_kill_is_found_by_the_name_it_had");
}
