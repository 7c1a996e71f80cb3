"""Answers with the names of the compared groups masked.

Two answers of a pair repeat the group they were asked about; a difference that is only the name
of the group says nothing of fairness. So every mention of either group gives way to one
placeholder before the answers are compared.

The rules are those of English: plurals, possessives, pronouns, the heads "people", "person",
"women", and the other names of common social groups in `group_forms.yaml`. Of a base in another
language only the groups and aliases as they stand are masked reliably. Groups are written as
within a sentence: a word with a capital ("Muslim", "Kenyan") is taken for a name and masked
wherever it stands; a word without ("poor", "fat") is an ordinary adjective, masked only before a
word for persons ("poor families", not "poor results").

How it works, one step a file: `group` cuts a group into its parts; `naming` lists all forms that
name it, with the help of `postmodifier`, `plurals` and the shipped names in `english`; `mentions`
finds the forms in a text cut by `words`; `masked` puts the placeholder.
"""

from caffe_pytest.metrics.masking.masked import MOST_LOST, PLACEHOLDER, Masked, mask

__all__ = ["MOST_LOST", "PLACEHOLDER", "VERSION", "Masked", "mask"]

VERSION = "1"
