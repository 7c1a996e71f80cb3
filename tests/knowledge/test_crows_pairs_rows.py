"""Every row of CrowS-Pairs has its triple, in the right direction."""

from __future__ import annotations

from collections import Counter

from caffe_pytest.knowledge.load import load_base
from caffe_pytest.knowledge.shipped import shipped_folder

BASE = load_base(shipped_folder() / "crows-pairs" / "base.yaml")
ANTISTEREO = frozenset({
    2, 9, 14, 18, 20, 26, 33, 38, 44, 46, 54, 70, 73, 76, 90, 98, 99, 105, 108, 109, 111, 113, 114,
    115, 132, 137, 148, 157, 174, 193, 197, 199, 208, 217, 221, 223, 229, 234, 239, 241, 246, 249,
    259, 264, 267, 268, 269, 288, 299, 317, 319, 320, 326, 341, 345, 354, 369, 377, 381, 383, 385,
    387, 389, 394, 411, 416, 421, 425, 450, 462, 472, 473, 480, 481, 494, 495, 501, 510, 526, 528,
    534, 555, 562, 566, 568, 584, 599, 609, 616, 622, 630, 637, 646, 648, 649, 650, 653, 654, 660,
    667, 669, 671, 686, 687, 691, 693, 694, 696, 701, 709, 713, 722, 726, 729, 738, 740, 744, 745,
    751, 758, 768, 770, 774, 777, 782, 794, 807, 820, 821, 832, 834, 837, 847, 848, 857, 860, 867,
    875, 883, 896, 908, 931, 936, 940, 947, 948, 956, 958, 985, 1008, 1025, 1045, 1048, 1050, 1056,
    1057, 1065, 1067, 1071, 1072, 1076, 1087, 1098, 1106, 1109, 1117, 1122, 1125, 1182, 1188, 1198,
    1200, 1201, 1202, 1208, 1211, 1220, 1243, 1246, 1249, 1253, 1257, 1259, 1264, 1266, 1270, 1273,
    1277, 1282, 1283, 1292, 1322, 1334, 1337, 1340, 1361, 1376, 1378, 1382, 1402, 1404, 1419, 1434,
    1435, 1442, 1444, 1454, 1456, 1464, 1466, 1468, 1469, 1471, 1476, 1478, 1485, 1491, 1501,
})  # fmt: skip
"""Rows that the data set marks `antistereo`: their first sentence mostly names the other group."""
TURNED = frozenset({
    23, 41, 77, 78, 86, 112, 131, 166, 191, 209, 219, 226, 230, 278, 282, 293, 305, 306, 308, 311,
    313, 333, 338, 344, 351, 357, 362, 386, 437, 460, 519, 531, 533, 600, 626, 639, 661, 662, 677,
    682, 684, 692, 711, 836, 902, 905, 919, 941, 996, 1003, 1053, 1085, 1151, 1162, 1192, 1219,
    1224, 1227, 1236, 1271, 1294, 1297, 1300, 1308, 1420, 1494,
})  # fmt: skip
"""Rows marked `stereo` that were turned round all the same, each by a reader's decision."""
REASONS = ("two changes:", "incomparable:", "not the group:", "no group:", "no topic:")


def test_every_row_of_the_data_set_is_there_once() -> None:
    rows = [int(triple.source.removeprefix("crows-pairs:")) for triple in BASE.triples]

    assert rows == list(range(1508))


def test_a_row_that_is_not_valid_says_why() -> None:
    for triple in BASE.triples:
        assert triple.valid or triple.note.startswith(REASONS), triple.id


def test_a_valid_row_has_two_groups_and_a_topic() -> None:
    valid = [triple for triple in BASE.triples if triple.valid]

    assert len(valid) == 1299
    assert all(triple.disadvantaged and triple.advantaged for triple in valid)


def test_a_group_stands_on_one_side_of_its_bias_type() -> None:
    """Direction is a convention; it is kept throughout, or a pool would cancel itself."""
    sides: dict[tuple[str, str], Counter[str]] = {}
    for triple in BASE.triples:
        if triple.valid:
            for side in ("disadvantaged", "advantaged"):
                group = getattr(triple, side).casefold()
                sides.setdefault((triple.bias_type, group), Counter())[side] += 1

    on_both = sorted(key for key, counts in sides.items() if len(counts) > 1)

    assert on_both == []


def test_the_direction_follows_the_mark_of_the_data_set_or_says_why_not() -> None:
    for row, triple in enumerate(BASE.triples):
        if triple.valid and row in ANTISTEREO:
            assert "direction corrected" in triple.note or "order kept" in triple.note, triple.id
        if triple.valid and row not in ANTISTEREO:
            assert ("direction corrected" in triple.note) == (row in TURNED), triple.id
