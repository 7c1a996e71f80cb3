"""CrowS-Pairs (Nangia, Vania, Bhalerao and Bowman, EMNLP 2020) and files with its columns.

https://github.com/nyu-mll/crows-pairs. The anonymised file has further columns, which are not
read; the revised one (Névéol et al., ACL 2022) is separated by tabs.
"""

from __future__ import annotations

from pathlib import Path

from caffe_pytest.knowledge.importers import sentence_pairs
from caffe_pytest.knowledge.importers.source import Source

NAME = "crows-pairs"
COLUMNS = {
    sentence_pairs.NUMBER: ("", "index", "id"),
    sentence_pairs.MORE: ("sent_more",),
    sentence_pairs.LESS: ("sent_less",),
    sentence_pairs.DIRECTION: ("stereo_antistereo",),
    sentence_pairs.BIAS_TYPE: ("bias_type",),
}
"""By what they mean; a column without a name is the number of the pair."""


def read(path: Path) -> Source:
    """The pairs of the data set.

    Raises:
        ProblemsFound: the file cannot be read, or lacks a column.
    """
    return sentence_pairs.read_pairs(path, COLUMNS, NAME, prefix="cp", language="en")
