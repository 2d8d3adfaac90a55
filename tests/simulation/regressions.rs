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
    (
        "a POST in doubt finds its page although the clock was set back meanwhile",
        "\
seed=3447 pages=3 budget=60 hints_lost=0 grain_us=0 births=1 reuse=0 grace_ms=10000 recreate=0 rest_ms=120000 pass=1
+0 fault lost-after 83 228
+0 fault failing-after 46 599
+0 fault crash 628 311
+0 tree new-file 918 877
+0 fault clock-step 170 165
+0 fault lost-after 809 590
+60000 tree new-file 359 419
+500 tree new-file 847 393
+500 tree new-file 865 216
",
    ),
    (
        "a file that moves on before it is read where it was seen keeps its page",
        "\
seed=9198 pages=4 budget=60 hints_lost=0 grain_us=0 births=1 reuse=0 grace_ms=10000 recreate=0 rest_ms=0 pass=1
+500 app insert-word 105 739
+4564 tree rename-file 60 817
+1841 app trash 838 351
+308 app new-page 814 160
+116 tree move-file 163 847
+500 tree delete-file 425 580
+0 tree new-odd-file 12 957
+1678 tree move-file 505 855
+297 app insert-word 254 207
+1018 tree rename-file 615 889
+151 tree stray 126 998
+121 tree delete-file 35 756
+1842 tree rename-both 460 353
+544 tree stray 229 204
+374 tree rename-both 348 202
",
    ),
    (
        "of two pages that lost their files at one place the living one gets what comes back",
        "\
seed=18951 pages=3 budget=60 hints_lost=60 grain_us=0 births=1 reuse=0 grace_ms=10000 recreate=0 rest_ms=120000 pass=1
+267363 tree new-odd-file 458 26
+29445 tree delete-and-return-late 850 626
+5000 edit insert-item/sed 258 597
+0 edit insert-word/vim 435 798
+0 edit delete-paragraph/sed 590 975
+370 tree move-tree 173 833
+9425 edit insert-word/emacs 914 648
+31449 fault slow 631 537
+0 edit append-paragraph/replace 899 544
+5000 edit append-paragraph/vim 363 996
",
    ),
    (
        "a change within one step of a coarse clock is seen although the clock was set back",
        "\
seed=27396 pages=9 budget=60 hints_lost=60 grain_us=2000000 births=1 reuse=0 grace_ms=2000 recreate=0 rest_ms=120000 pass=1
+13260 fault forbidden 37 583
+14558 edit insert-word/truncate 420 119
+67125 edit insert-word/vim 649 537
+146 tree delete-tree 843 508
+57944 fault lost-after 938 159
+0 fault clock-step 194 311
+29935 fault failing-after 268 102
+0 edit move-paragraph/vim 452 184
+174 fault full-pass 272 705
+0 fault garbled 770 662
+29198 edit insert-word/truncate 208 500
+0 edit insert-word/vim 543 432
+19413 edit insert-word/truncate 137 335
+196006 tree copy-tree 479 866
+8456 edit insert-word/stale 404 225
+19018 edit insert-word/truncate 39 85
+13714 edit insert-word/vim 539 234
+0 edit insert-word/stale 984 7
+2948 tree format-all 302 479
",
    ),
    (
        "a probe that failed after a long sleep is not asked again at once",
        "\
seed=5262 pages=2 budget=60 hints_lost=100 grain_us=0 births=1 reuse=0 grace_ms=2000 recreate=0 rest_ms=30000 pass=1
+0 fault unauthorized 529 607
+0 fault suspend 330 567
+500 fault failing 85 109
+0 fault suspend 731 743
+500 fault suspend 986 339
+76 fault suspend 300 527
",
    ),
    (
        "a full pass does not ask again for a list that has just failed",
        "\
seed=16489 pages=2 budget=60 hints_lost=100 grain_us=0 births=1 reuse=0 grace_ms=10000 recreate=0 rest_ms=120000 pass=1
+885 app trash 229 304
+2264 tree new-file 817 14
+2643 tree copy-file 49 596
+2607 app trash 395 175
+144 tree rename-file 994 65
+0 tree copy-file 697 753
+169 tree delete-and-return 703 813
+2423 edit insert-word/old-time 552 116
+50940 tree rename-file 534 369
+89041 tree new-file 968 848
+643 tree copy-file 451 311
+2204 tree new-file 969 37
+1755 tree other-tool 525 934
+66313 edit insert-word/vim 135 179
+139 fault failing-after 254 736
+654 fault full-pass 949 987
",
    ),
    (
        "the file that comes back beside a folder is the page that was made for the folder",
        "\
seed=38409 pages=14 budget=60 hints_lost=100 grain_us=0 births=1 reuse=0 grace_ms=2000 recreate=0 rest_ms=120000 pass=1
+0 app new-subpage 674 513
+158 app new-subpage 324 940
+242 edit insert-paragraph/stale 941 66
+448 tree rename-both 293 395
+0 tree stray 344 19
+5000 app new-subpage 858 114
+0 app new-subpage 201 926
+0 fault crash 214 42
+15150 edit delete-paragraph/emacs 574 686
+0 edit insert-item/in-place 247 827
+0 app trash 713 830
+0 app trash 520 256
+29532 app trash 974 896
+0 tree new-folder 878 829
+0 app trash 556 374
+96 app trash 258 48
+395 fault full-pass 805 607
+93157 tree new-folder 881 201
+0 app trash 236 378
+0 tree delete-and-return 777 457
+0 fault full-pass 570 745
",
    ),
    (
        "a file that is renamed beneath a folder in doubt is its page's",
        "\
seed=12643 pages=4 budget=20 hints_lost=10 grain_us=0 births=0 reuse=0 grace_ms=2000 recreate=0 rest_ms=120000 pass=1
+0 tree move-tree 14 774
+233 fault lost-after 555 574
+320 fault garbled 646 754
+500 tree new-file 155 595
+500 fault clock-step 282 193
+59912 fault crash 188 983
+0 app new-subpage 804 193
+0 fault limited 681 278
+30966 app new-odd-page 638 248
+66460 tree rename-file 598 889
+310 tree new-file 723 788
+0 fault overflow 749 27
+0 app insert-word 848 757
+0 fault lost-after 629 530
+32339 fault lost-after 97 983
+0 app new-subpage 56 682
+86168 tree new-folder 436 904
+86202 fault failing 494 273
+0 tree new-file 70 475
+0 tree new-file 399 39
+0 app style 455 714
+0 tree rename-file 664 645
",
    ),
    (
        "a page that is seen to be beneath its own subpage moves nothing for ever",
        "\
seed=9 pages=3 budget=60 hints_lost=0 grain_us=0 births=1 reuse=0 grace_ms=10000 recreate=0 rest_ms=120000 pass=1
+5000 edit append-paragraph/in-place 0 1
+16800 app move 1 2
+0 app move 0 1
",
    ),
    (
        "a block behind a line that was copied with its page is kept before any look shows it",
        "\
seed=52650 pages=3 budget=60 hints_lost=0 grain_us=2000000 births=1 reuse=0 grace_ms=2000 recreate=1 rest_ms=0 pass=1
+78644 app change-word 807 767
+0 edit resave/stale 499 96
+0 app new-subpage 151 567
+0 tree new-folder 178 512
+191 app insert-block 545 849
+0 tree swap 506 47
+242 edit move-paragraph/vim 911 652
+0 tree new-file 310 759
+60000 app insert-word 754 427
+0 app put-back 327 980
",
    ),
    (
        "a page is not trashed before the file that is made from it has a page",
        "\
seed=50538 pages=4 budget=20 hints_lost=0 grain_us=0 births=1 reuse=0 grace_ms=10000 recreate=1 rest_ms=120000 pass=1
+9351 edit insert-item/replace 565 851
+39 tree copy-file 194 549
+60000 tree swap 869 812
+456 edit insert-word/sed 495 362
+5762 fault forbidden 32 683
+46067 edit insert-item/in-place 725 368
+0 edit change-word/sed 707 611
+0 tree move-tree 632 124
+0 tree new-folder 263 840
+5000 tree rename-file 548 700
",
    ),
    (
        "a file that comes to light out of a folder that could not be read is its page's, also after a restart",
        "\
seed=50681 pages=9 budget=60 hints_lost=30 grain_us=0 births=1 reuse=0 grace_ms=2000 recreate=0 rest_ms=120000 pass=1
+60000 tree new-file 800 667
+500 tree rename-folder 51 507
+0 tree new-file 693 40
+0 fault sealed 655 994
+5000 app insert-block 636 552
+0 fault crash 404 64
+51024 app new-page 213 624
",
    ),
    (
        "a file that came and went between two scans has its whole grace time",
        "\
seed=51099 pages=2 budget=60 hints_lost=0 grain_us=0 births=1 reuse=0 grace_ms=2000 recreate=0 rest_ms=120000 pass=1
+2288 edit resave/sed 403 867
+218 edit resave/truncate 632 107
+0 edit reformat/truncate 801 37
+20870 edit reformat/truncate 249 640
+145 tree new-file 181 571
+500 edit change-word/replace 136 146
+122 edit change-word/in-place 48 332
+60000 tree rename-file 555 659
+1947 edit reformat/in-place 458 587
+495 fault suspend 387 842
+0 tree new-file 143 552
+57 edit tick-box/truncate 876 389
+142 edit resave/replace 968 147
+0 edit reformat/replace 961 260
+61743 fault root-gone 335 647
+0 tree delete-file 575 795
+167 edit change-word/emacs 320 528
+597 edit change-word/replace 422 837
+0 tree delete-and-return 34 929
+500 edit tick-box/in-place 800 624
+132 edit change-word/replace 645 419
+464 edit change-word/replace 911 525
+0 tree delete-tree 245 149
+225 fault root-gone 76 25
+418 tree new-file 219 931
+454 tree delete-and-return 485 322
+293 tree delete-file 610 22
+322 edit change-word/sed 288 39
+292 edit change-word/sed 101 966
",
    ),
    (
        "nothing is made for a file that cannot be looked at",
        "\
seed=51340 pages=2 budget=60 hints_lost=0 grain_us=0 births=1 reuse=0 grace_ms=10000 recreate=0 rest_ms=500 pass=1
+31349 tree new-folder 131 27
+0 edit change-word/in-place 576 474
+0 app insert-block 676 687
+0 edit change-word/in-place 843 826
+0 fault crash 746 770
+0 tree stray 123 131
+0 fault lost-after 515 464
+874 tree swap 442 325
+0 edit insert-word/emacs 728 750
+0 tree stray 941 918
+118 tree delete-file 536 116
+0 edit insert-word/replace 450 347
+0 fault sealed 179 273
+60000 fault lost-after 512 557
",
    ),
    (
        "an edit that puts the old time back, within the grain of the clock, is read",
        "\
seed=53806 pages=1 budget=60 hints_lost=0 grain_us=2000000 births=1 reuse=0 grace_ms=10000 recreate=0 rest_ms=500 pass=1
+5000 app new-subpage 993 506
+0 app new-odd-page 221 937
+60000 tree swap 74 843
+27027 app new-subpage 432 335
+35800 tree rename-file 388 476
+431 edit move-paragraph/old-time 836 637
",
    ),
    (
        "a file that is emptied while its first words are on their way keeps its page",
        "\
seed=56425 pages=2 budget=60 hints_lost=0 grain_us=0 births=1 reuse=0 grace_ms=10000 recreate=0 rest_ms=500 pass=1
+407 edit resave/sed 268 652
+344 fault suspend 169 367
+89699 tree new-file 681 944
+365 edit resave/sed 36 101
+129 tree delete-tree 628 17
+638 edit append-paragraph/in-place 463 451
+197 tree rename-both 176 166
+492 edit resave/in-place 594 447
+0 edit resave/truncate 570 649
",
    ),
    (
        "the one block that went and the one that came, with a third of the words, are one",
        "\
seed=56879 pages=1 budget=60 hints_lost=0 grain_us=0 births=1 reuse=0 grace_ms=10000 recreate=1 rest_ms=120000 pass=1
+0 edit delete-paragraph/in-place 24 180
+0 app tick 957 968
+0 edit insert-word/in-place 200 486
+0 edit insert-word/in-place 251 504
+0 edit change-word/in-place 245 589
+0 edit change-word/in-place 760 781
+0 edit move-paragraph/in-place 377 858
",
    ),
    (
        "a file that names a page in a closed folder waits, however often it is looked at",
        "\
seed=14182 pages=4 budget=60 hints_lost=0 grain_us=0 births=1 reuse=0 grace_ms=10000 recreate=0 rest_ms=120000 pass=1
+0 app new-page 78 991
+5000 tree delete-file 957 248
+0 tree stray 417 495
+58080 fault sealed 634 418
+0 tree move-file 761 444
+0 fault full-pass 596 822
+500 app insert-word 702 547
",
    ),
    (
        "which page answers a lost POST is known after two restarts with a clock set back",
        "\
seed=30035 pages=1 budget=60 hints_lost=0 grain_us=0 births=1 reuse=0 grace_ms=10000 recreate=0 rest_ms=120000 pass=1
+76061 app new-odd-page 40 990
+5000 fault slow 138 448
+25687 tree new-file 540 107
+0 fault crash 650 274
+0 tree new-file 435 287
+0 app new-subpage 252 599
+491 fault clock-step 489 953
+5000 fault crash 428 659
+0 app new-subpage 633 860
+0 tree new-file 110 487
+60000 app delete-block 598 535
",
    ),
    (
        "a page that was trashed does not come back with a file whose writing was never noted",
        "\
seed=9065 pages=1 budget=60 hints_lost=100 grain_us=0 births=1 reuse=0 grace_ms=2000 recreate=0 rest_ms=30000 pass=1
+0 app new-subpage 378 120
+5000 fault crash 45 512
+7677 app trash 360 325
",
    ),
    (
        "a folder that was renamed during the first comparison becomes a page",
        "\
seed=9917 pages=14 budget=60 hints_lost=0 grain_us=0 births=1 reuse=0 grace_ms=10000 recreate=1 rest_ms=0 pass=1
+34 fault no-marker 791 576
+397 fault garbled 325 506
+296 fault lost-after 531 30
+0 fault failing-after 502 367
+0 fault lost-after 835 63
+60000 tree rename-folder 799 21
",
    ),
    (
        "a copy of a page whose file was written and not noted is a copy",
        "\
seed=16042 pages=2 budget=40 hints_lost=10 grain_us=0 births=1 reuse=0 grace_ms=10000 recreate=0 rest_ms=120000 pass=1
+20062 tree delete-tree 422 120
+500 tree new-file 147 190
+0 tree stray 639 920
+5000 app stale-editor 426 698
+0 app insert-word 224 825
+107209 tree copy-file 297 792
+0 tree new-file 71 417
+0 tree copy-file 883 635
+5000 app insert-word 770 149
+15502 app change-word 241 840
+47077 tree new-file 119 973
+26106 tree new-folder 485 347
+0 tree delete-tree 926 816
+0 app stale-editor 490 209
+0 tree new-file 737 337
+500 app new-subpage 179 936
+34680 tree new-file 773 46
+0 tree new-file 261 612
+500 tree new-file 910 540
+70 tree new-file 400 267
+41236 fault crash 100 490
+0 tree new-folder 953 83
+5000 tree copy-file 447 867
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
