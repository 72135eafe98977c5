"""Words that people use in each other's place when they ask an API for something.

General English and the vocabulary of software, whatever the API is about. A word may stand in
several groups: those that it shares a group with are alike, and no others.

A leaf that the generator uses too, so that an index and the questions to it agree.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from mcpgen.runtime.words import words


def stems(text: str) -> frozenset[str]:
    """The stems of all words of a text."""
    return frozenset(words(text))


def _groups(text: str) -> tuple[frozenset[str], ...]:
    return tuple(stems(line) for line in text.strip().splitlines())


_VERBS = _groups(
    """
get fetch read show see view retrieve display return give
list show enumerate
find search look query discover locate
check know verify test tell
delete remove drop erase destroy clear discard wipe purge scrap
remove take exclude kick evict detach unassign
revoke withdraw invalidate strip undo
unsubscribe unwatch mute ignore
create add new make open register start write generate draft compose file build provision
submit post report send file
add attach append include put insert join
update change edit modify patch adjust alter revise correct rename switch
raise lower increase decrease update
update refresh synchronize
set replace overwrite override swap change configure define
send deliver dispatch fire post push emit
tell notify inform alert
run trigger start execute launch dispatch
cancel stop abort end terminate quit halt kill interrupt
suspend pause
unsuspend resume continue reactivate
upload attach import submit publish
download export save
import migrate
request ask demand
invite ask
enable activate allow permit let
disable deactivate forbid deny prevent stop
accept approve confirm
reject decline refuse deny dismiss
restore recover undo undelete revert
transfer move
move reorder rank prioritize sort
copy fork clone duplicate
merge combine join integrate
compare diff
close resolve finish complete
dismiss ignore close
lock freeze
unlock unfreeze
block ban
subscribe watch follow
star favorite bookmark like
rerun retry repeat redo restart again
redeliver resend again
rerequest again rerun
render convert format transform
convert turn promote
assign give allocate hand
grant give allow assign
share publish
publish release ship
deploy ship roll
validate verify test check
ping test
link connect associate
unlink disconnect detach separate
label tag mark
restrict limit require cap
require enforce demand
hide minimize conceal
comment reply remark answer respond
react like
fix repair mend remediate
review approve inspect
bypass skip override circumvent exempt
depend need rely
leak expose
use apply
apply attach assign
login authenticate
throttle limit
rotate renew regenerate reset replace update
mint generate create
extend prolong renew
browse explore list
monitor track watch
appoint designate nominate assign
oust expel eject ban remove
boot start launch
install add
uninstall remove
inspect examine view check
clash conflict collide
mention refer reference
withhold hide block
shorten reduce lower
answer solve resolve
lift revoke remove
tick enforce enable
untick disable
exchange convert
populate fill
"""
)
_NOUNS = _groups(
    """
user person member account profile login username
user person member account somebody someone anybody anyone everybody everyone colleague
company organization enterprise business
picture image photo avatar icon logo
cost price bill billing invoice charge fee spend pay money usage
usage consumption use spend metered
budget spending limit
email mail
phone telephone mobile
visit view traffic visitor
popular top
limit quota rate remaining left cap ceiling maximum
permission access right role privilege scope
permission allowed
error failure fail problem fault
failed broken unsuccessful
successful green passed
log output trace
history timeline event activity past
event activity happen audit
status state progress result outcome
secret credential password token key
authorization grant consent
vulnerability weakness security advisory hole
dependency package library
website site page url
address url link endpoint uri
address location place path
region location
domain hostname dns
folder directory tree structure
file document content
ticket issue bug
comment remark note reply
thread conversation discussion comment
rule policy restriction protection ruleset
server machine host
machine size
runner worker agent
agent bot assistant chatbot
build pipeline workflow job
schedule cron
deployment rollout
version release revision history
commit revision sha change
change diff
branch head
fork copy
patch fix update
statistic metric number count analytics insight total
summary overview total aggregate
report export
backup export migration
archive zip tarball backup
customer client contact
deal opportunity sale
purchase subscription plan buy tier
seat license
license terms
setting configuration option preference
template boilerplate starter
default standard base
group team
notification alert warning
finding alert result issue problem
scan analysis check
health check
keyword topic subject
claim subject
owner administrator creator author
contributor author committer
reviewer approver
member membership belong
collaborator contributor outsider access share
external outside third
invitation invite pending
pending waiting queued outstanding
active open unresolved
fixed resolved closed done
stale outdated old
unread new
public visible visibility
private hidden internal visibility
selected chosen specific certain particular some
bulk batch multiple
snippet gist
duration time timing
timestamp date time when
deadline due
container image docker
repository project codebase
webhook hook callback
integration application plugin
attachment asset file binary upload
resource source attachment
value content
column field property attribute
item card entry
board project
layout view
order priority position rank
parent superior
child sub
type kind
reaction emoji
detail information metadata profile
inbox notification
reader viewer read
writer editor write
teammate coworker employee staff colleague member
maintainer administrator owner
retention keep lifetime expire expiry stored
deadline due expiry expiration
space size storage disk
origin source referrer provenance
slug handle alias username nickname
biography profile description
headline title heading
body text content
payload body data
feed stream timeline
ranking top popular
draft unpublished
blueprint template scaffold
bundle archive package
artifact output build
environment stage staging production
schema structure format
query filter condition criterion
threshold limit
tenant workspace organization
corporation company enterprise
department team group squad
guest outside external
anonymous public
confidential private secret
safety security
breach leak exposure compromise
abuse spam malicious
guideline policy rule conduct
certificate credential
fingerprint digest hash checksum sha
identifier id number
signature signed verified
vote reaction
follower fan subscriber
watcher subscriber listener
suggestion proposal recommendation
solution fix remedy
mistake error accident
crash failure outage incident
uptime health status
latency speed performance
daily day
documentation wiki manual guide readme
language locale
device computer laptop machine
instance machine server
instance occurrence
ip address
task todo job
sprint iteration cycle
roadmap plan
subtask child sub
lane column
automation workflow process
extension plugin
module package library
allowance quota
receipt invoice statement
spending cost budget
trend history statistic
measure metric
participation activity contribution
roster member
reach access
bigger larger size
offline online status
verdict result
contractor consultant outside
newest latest last recent lately
discount coupon promotion voucher
refund reimbursement
payout disbursement withdrawal
balance funds money
tag keyword label
mergeable conflict
"""
)
VERBS: Final = frozenset().union(*_VERBS)


@cache
def _alike() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for group in (*_VERBS, *_NOUNS):
        for stem in group:
            found[stem] = found.get(stem, frozenset()) | group
    return found


def alike(stem: str) -> frozenset[str]:
    """The stems that are used in place of a stem, itself among them."""
    return _alike().get(stem, frozenset((stem,)))
