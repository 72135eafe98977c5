"""Nouns that people use in each other's place when they ask for a tool, whatever the API is about.

Verbs are in `mcpgen.runtime.verbs`, since questions are read by them, too.
"""

from __future__ import annotations

from typing import Final

from mcpgen.runtime.words import words

NOUN_GROUPS: Final = tuple(
    frozenset(words(line))
    for line in """
user person people member account profile somebody colleague
company organization enterprise business
picture image photo avatar icon logo
cost price bill billing invoice charge fee spend pay money usage
email mail
phone telephone mobile
visit view traffic visitor popular
limit quota rate remaining left cap
permission access right role
error failure fail problem fault
log output trace
history timeline event activity past happen
status state progress result outcome
secret credential password token key
vulnerability weakness security advisory hole
dependency package library
website site page
folder directory tree
file document content
ticket issue bug
comment remark note reply
rule policy restriction protection
server machine host
build pipeline workflow ci
release version
statistic metric number count analytics
customer client contact
deal opportunity sale
setting configuration option preference
template boilerplate starter
license terms
group team
notification alert warning
finding alert result
keyword topic subject
address location place
owner admin administrator
bot chatbot assistant
contributor author committer
snippet gist
long duration time timing
member membership
collaborator contributor
container image docker
""".strip().splitlines()
)
"""Stems of nouns that stand for each other."""
