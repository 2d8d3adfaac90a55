//! Scripts that failed once. A seed means something else after any change to the draw; a script keeps its meaning.

use crate::play::play;
use crate::script::Script;

/// Each with the promise that it broke.
const SCRIPTS: &[(&str, &str)] = &[
    (
        "a block behind its line stays one when a person indents it into code",
        "\
seed=276 pages=2 budget=60 hints_lost=0 grain_us=0 births=1 reuse=0 grace_ms=10000 recreate=0 rest_ms=120000 pass=1
+5000 app insert-block 642 815
+5000 edit insert-paragraph/in-place 655 789
+500 tree new-file 816 542
+5000 edit insert-paragraph/in-place 422 899
",
    ),
    (
        "a file that could not be read while the root was gone is read again",
        "\
seed=416 pages=3 budget=30 hints_lost=100 grain_us=0 births=1 reuse=0 grace_ms=10000 recreate=1 rest_ms=30000 pass=1
+100712 tree rename-both 103 487
+16934 tree copy-file 727 493
+19473 tree copy-file 754 736
+500 tree new-file 815 979
+0 tree new-file 955 395
+252 tree copy-file 861 734
+53736 tree new-file 965 544
+19672 tree rename-both 970 778
+2591 tree rename-both 89 436
+71 tree new-file 35 733
+37808 tree delete-and-return-late 892 872
+138 tree delete-tree 118 311
+53506 tree new-file 626 373
+19021 fault slow 39 174
+0 tree new-file 315 435
+500 fault crash 459 129
+70160 fault root-gone 459 836
+5000 fault crash 356 704
",
    ),
    (
        "what comes back in the place of a page's file is that page's",
        "\
seed=616 pages=6 budget=60 hints_lost=0 grain_us=0 births=1 reuse=0 grace_ms=2000 recreate=0 rest_ms=120000 pass=1
+0 tree new-odd-file 847 85
+2403 tree swap 796 4
+13 tree delete-and-return 60 60
",
    ),
    (
        "two files that change places are told together",
        "\
seed=684 pages=9 budget=60 hints_lost=0 grain_us=0 births=1 reuse=0 grace_ms=2000 recreate=0 rest_ms=120000 pass=1
+0 tree rename-both 558 741
+38 tree copy-file 153 245
+206 edit insert-word/vim 170 346
+45550 edit move-paragraph/replace 569 543
+893 edit insert-word/sed 436 618
+331 tree new-odd-file 647 332
+88326 tree rename-both 483 845
+0 tree move-tree 837 592
+0 edit insert-paragraph/vim 91 597
+416 tree swap 396 174
",
    ),
    (
        "a file made anew elsewhere takes the blocks behind its lines along",
        "\
seed=637 pages=10 budget=20 hints_lost=0 grain_us=2000000 births=1 reuse=0 grace_ms=10000 recreate=1 rest_ms=120000 pass=1
+0 fault unreachable 907 859
+0 tree swap 45 744
+500 tree move-file 490 867
+0 tree new-file 380 94
+0 tree new-file 195 5
+0 tree new-file 449 826
+0 tree rename-both 419 780
+0 tree new-odd-file 618 181
+0 tree new-file 367 822
+0 tree swap 51 350
",
    ),
    (
        "a conflict copy that goes while the file still holds its text is made again",
        "\
seed=1411 pages=1 budget=60 hints_lost=0 grain_us=0 births=1 reuse=0 grace_ms=10000 recreate=0 rest_ms=120000 pass=1
+500 fault slow 634 169
+0 tree delete-and-return-late 885 618
+0 tree new-folder 801 762
+0 app insert-word 640 145
+41767 edit append-paragraph/sed 87 587
+0 fault unreachable 565 413
+5000 app insert-word 792 654
+2586 edit insert-paragraph/sed 47 181
+171852 tree settle-conflict 19 454
",
    ),
    (
        "a folder made into a page is not brought back by a write",
        "\
seed=475 pages=1 budget=60 hints_lost=60 grain_us=0 births=1 reuse=0 grace_ms=2000 recreate=0 rest_ms=120000 pass=1
+182 tree rename-both 798 638
+0 app new-subpage 866 118
+21941 app new-subpage 945 129
+0 tree new-file 10 90
+0 tree new-folder 170 512
+126 app new-page 961 249
+0 tree rename-both 692 414
+437 app new-subpage 569 432
+879 tree rename-both 534 246
",
    ),
    (
        "a file that moved twice between two looks is its page's",
        "\
seed=2116 pages=3 budget=20 hints_lost=60 grain_us=0 births=1 reuse=0 grace_ms=2000 recreate=0 rest_ms=30000 pass=1
+186744 tree delete-and-return 412 557
+120 tree new-folder 480 377
+29928 tree move-tree 360 481
+0 edit delete-paragraph/stale 411 545
+0 app style 171 181
+5000 app rename 236 844
+17002 tree swap 891 766
+0 tree new-folder 246 550
+3638 edit insert-word/stale 292 677
+0 edit resave/truncate 201 671
+47529 tree rename-file 108 138
+500 tree move-tree 803 714
+0 tree new-folder 618 135
+5000 tree delete-and-return 830 408
+20109 edit move-paragraph/sed 898 485
+0 tree rename-both 198 416
+0 tree rename-both 19 795
+160 tree new-folder 557 671
",
    ),
    (
        "a folder renamed while a new file is saved into it",
        "\
seed=769 pages=6 budget=60 hints_lost=0 grain_us=0 births=1 reuse=0 grace_ms=10000 recreate=0 rest_ms=120000 pass=1
+0 tree new-file 753 179
+0 tree rename-folder 364 169
",
    ),
    (
        "an emptied file is let through by a person",
        "\
seed=792 pages=1 budget=60 hints_lost=0 grain_us=0 births=1 reuse=0 grace_ms=10000 recreate=0 rest_ms=120000 pass=1
+0 fault root-gone 917 449
+0 edit insert-paragraph/truncate 826 112
",
    ),
];

#[test]
fn what_failed_once_does_not_fail_again() {
    for (promise, text) in SCRIPTS {
        let script: Script = text.parse().unwrap();
        if let Err(broken) = play(&script, false) {
            panic!("{promise}: {}\n{}\n{script}", broken.failure, broken.tail.join("\n"));
        }
    }
}
