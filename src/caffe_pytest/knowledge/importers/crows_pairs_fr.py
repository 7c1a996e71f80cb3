"""French CrowS-Pairs (Névéol, Dupont, Bezançon and Fort, ACL 2022).

https://gitlab.inria.fr/french-crows-pairs. Its files end in .csv and are separated by tabs. The
file with comments has both languages; its French sentences are read.
"""

from __future__ import annotations

from pathlib import Path

from caffe_pytest.knowledge.importers import sentence_pairs
from caffe_pytest.knowledge.importers.source import Source

NAME = "crows-pairs-fr"
COLUMNS = {
    sentence_pairs.NUMBER: ("", "index", "id"),
    sentence_pairs.MORE: ("sent_more_fr", "fr_sent_more", "sent_more"),
    sentence_pairs.LESS: ("sent_less_fr", "fr_sent_less", "sent_less"),
    sentence_pairs.DIRECTION: ("stereo_antistereo", "stu_antistereo"),
    sentence_pairs.BIAS_TYPE: ("bias_type",),
}
"""By what they mean; the first of the names that the file has is read."""


def read(path: Path) -> Source:
    """The pairs of the data set.

    Raises:
        ProblemsFound: the file cannot be read, or lacks a column.
    """
    return sentence_pairs.read_pairs(path, COLUMNS, NAME, prefix="cpf", language="fr")
