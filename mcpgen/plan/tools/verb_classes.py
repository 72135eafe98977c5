"""Verbs of operations by what a call of them does: data for the rules of annotations."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType


class Deed(enum.IntEnum):
    """Effect of a call, in ascending order of danger."""

    LOOK = 0  # nothing changes
    ADD = 1  # something is created, sent or attached; existing things stay as they are
    CHANGE = 2  # something existing is overwritten, or is in another state afterwards
    END = 3  # something existing is gone


_VERBS = {
    Deed.LOOK: """
        browse calculate compare count describe download estimate explain fetch find get inspect
        introspect list lookup preview query render retrieve search validate view
        """,
    Deed.ADD: """
        add append attach bookmark buy clone comment copy create dial dispatch draft duplicate
        endorse enqueue favorite favourite fire follow fork generate grant import ingest initiate
        insert instantiate invite join launch like mention notify open pin post provision purchase
        react record reply request resend schedule send share sign star submit subscribe tag vote
        """,
    Deed.CHANGE: """
        accept acknowledge activate adjust apply approve archive assign authorize block call change
        close commit complete configure confirm connect deactivate decline demote deny
        deploy disable edit enable enter exchange execute extend finalize finish flag flush fulfill
        hide ignore increment invoke lock login mark merge migrate modify move mute override
        overwrite patch pause pay play process promote publish pull push reassign reboot rebuild
        redeem refresh refund regenerate register reindex reject release reload rename renew reopen
        reorder replace replay reschedule resize restart restore restrict resume retry revert rotate
        run save scale seek set skip snooze start stop store suspend swap switch sync synchronize
        toggle transfer trigger unarchive unban unblock unhide unlock unmute unpin unsuspend update
        upgrade upload upsert write
        """,
    Deed.END: """
        abort cancel clear delete deprovision deregister destroy detach disassociate discard
        disconnect dismiss drop end erase evict expel expire forget invalidate kick kill leave
        logout purge remove reset revoke shutdown signout terminate trash truncate unassign undeploy
        unfavorite unfollow uninstall unlike unlink unpublish unregister unshare unstar unsubscribe
        unwatch void wipe withdraw
        """,
}

DEEDS: Mapping[str, Deed] = MappingProxyType(
    {verb: deed for deed, verbs in sorted(_VERBS.items()) for verb in verbs.split()}
)
"""Effects of calls, by verb."""

NOUNS_TOO = frozenset(
    """
    archive block bookmark buy call change clone close comment commit complete copy count dispatch
    download draft drop duplicate end estimate exchange extend favorite favourite fire flag fork
    import invite leave like list lock merge notify open patch pay pin play post preview
    process promote pull purchase push query react record refund register release replay reply
    request run scale schedule search seek set share sign star store swap switch sync tag transfer
    trash trigger upload validate view vote
    """.split()
)
"""Verbs that are nouns or adjectives of APIs as well: another word decides whether they count."""

ASKING = frozenset("can check exists has is read show verify watch".split())
"""Words that begin identifiers of questions, whatever follows; by POST they may mean anything."""

ATTACHING = frozenset(
    """
    add append attach bookmark endorse favorite favourite follow grant invite join like mention pin
    share star subscribe tag vote
    """.split()
)
"""Verbs that only attach something, by whatever method: "create" by PUT may overwrite."""

EACH_TIME = frozenset(
    """
    append dial fire increment notify pay purchase refund regenerate resend restart rotate send
    toggle trigger
    """.split()
)
"""Verbs of calls that have an effect each time they are repeated, also by PUT."""
