"""Faults of resources, prompts, completions and pages."""

import os

from tests.validate.servers.core import RpcError
from tests.validate.servers.features import PIXEL, SILENCE, Server, make_text


class EmptyContents(Server):
    """A resource that does not exist has no contents."""

    def refuse_resource(self, call, uri):
        return {"contents": []}


class ReadsAnyUri(Server):
    """Reads resources that do not exist."""

    def refuse_resource(self, call, uri):
        return {"contents": [{"uri": uri, "text": "hello"}]}


class NotFoundAsInternalError(Server):
    """A resource that does not exist is an internal error."""

    def refuse_resource(self, call, uri):
        raise RpcError(-32603, "resource not found")


class LegacyNotFoundCode(Server):
    """A resource that does not exist has the code of legacy revisions in all."""

    def refuse_resource(self, call, uri):
        raise RpcError(-32002, "resource not found", {"uri": uri})


class InvalidBlob(Server):
    """A blob is not base64."""

    def read_known(self, uri):
        found = super().read_known(uri)
        return {**found, "blob": "<binary data>"} if uri == "memo://pixel" else found


class ContentsWithoutUri(Server):
    """The contents of a resource lack `uri`."""

    def resources_read(self, call):
        result = super().resources_read(call)
        for each in result["contents"]:
            del each["uri"]
        return result


class InvalidUri(Server):
    """A resource has a name instead of a URI."""

    def get_resources(self, call):
        return [*super().get_resources(call), {"uri": "my notes", "name": "notes"}]

    def read_known(self, uri):
        return {"uri": uri, "text": "x"} if uri == "my notes" else super().read_known(uri)


class SubscribeUnknown(Server):
    """Declares `resources.subscribe`, and does not know `resources/subscribe`."""

    def resources_subscribe(self, call):
        raise RpcError(-32601, "unknown method")


class UnknownPromptAccepted(Server):
    """Answers any prompt and any arguments."""

    def refuse_prompt(self, call, reason):
        return {"messages": [{"role": "user", "content": make_text("Hello.")}]}


class MissingArgumentAccepted(Server):
    """Answers a prompt whose required argument is missing."""

    def refuse_prompt(self, call, reason):
        if reason.startswith("missing"):
            return {"messages": [{"role": "user", "content": make_text("Greet None.")}]}
        return super().refuse_prompt(call, reason)


class PromptCodeZero(Server):
    """Errors of prompts have the code 0."""

    def refuse_prompt(self, call, reason):
        raise RpcError(0, reason)


class UndefinedCode(Server):
    """Errors of prompts have a code of the range that the specification reserves."""

    def refuse_prompt(self, call, reason):
        raise RpcError(-32050, reason)


class UrlElicitationCode(Server):
    """Errors of prompts have a code that 2026-07-28 has removed."""

    def refuse_prompt(self, call, reason):
        raise RpcError(-32042, reason)


class ImplementationCode(Server):
    """Errors of prompts have a code that JSON-RPC reserves."""

    def refuse_prompt(self, call, reason):
        raise RpcError(-32500, reason)


class PromptBlock(Server):
    """Base of servers whose prompt `media` has one block, a wrong one."""

    def get_messages(self, call, name):
        if name != "media":
            return super().get_messages(call, name)
        return [{"role": "user", "content": self.make_block()}]

    def make_block(self):
        """Return the block."""
        raise NotImplementedError


class PromptImageNotBase64(PromptBlock):
    """The image of a prompt is not base64."""

    def make_block(self):
        return {"type": "image", "data": "<png>", "mimeType": "image/png"}


class PromptImageWithoutType(PromptBlock):
    """The image of a prompt lacks its media type."""

    def make_block(self):
        return {"type": "image", "data": PIXEL}


class PromptAudioNotBase64(PromptBlock):
    """The audio of a prompt is not base64."""

    def make_block(self):
        return {"type": "audio", "data": "<wav>", "mimeType": "audio/wav"}


class PromptAudioType(PromptBlock):
    """The audio of a prompt has an invalid media type."""

    def make_block(self):
        return {"type": "audio", "data": SILENCE, "mimeType": "sound"}


class PromptResourceWithoutUri(PromptBlock):
    """The embedded resource of a prompt lacks its URI."""

    def make_block(self):
        return {"type": "resource", "resource": {"mimeType": "text/plain", "text": "hello"}}


class PromptRole(Server):
    """A message of a prompt has the role system."""

    def get_messages(self, call, name):
        return [{"role": "system", "content": make_text("You are polite.")}]


class TooManyValues(Server):
    """Returns 101 values of a completion."""

    def find_values(self, reference, name):
        values = super().find_values(reference, name)
        return [f"a{number}" for number in range(101)] if values else values

    def completion_complete(self, call):
        call.params["argument"] = {**call.params.get("argument", {}), "value": ""}
        return super().completion_complete(call)


class UnknownReferenceAccepted(Server):
    """Completes arguments of prompts that do not exist."""

    def refuse_reference(self, call):
        return {"completion": {"values": []}}


class CompletionAsList(Server):
    """The result of a completion is a list of values without its envelope."""

    def completion_complete(self, call):
        return {"values": super().completion_complete(call)["completion"]["values"]}


class InvalidCursorAccepted(Server):
    """Begins again at the first page for any unknown cursor."""

    def read_cursor(self, cursor, items):
        try:
            return super().read_cursor(cursor, items)
        except RpcError:
            return 0


class InvalidCursorCode(Server):
    """An unknown cursor is an internal error."""

    def read_cursor(self, cursor, items):
        try:
            return super().read_cursor(cursor, items)
        except RpcError:
            raise RpcError(-32603, "no such page") from None


class EndlessPages(Server):
    """Every page of resources has the same cursor to a next one."""

    def resources_list(self, call):
        return {**super().resources_list(call), "nextCursor": self.make_cursor(self.page_size)}


class UnstablePages(Server):
    """A cursor leads to the next item each time that it is used."""

    def __init__(self):
        super().__init__()
        self.uses = {}

    def read_cursor(self, cursor, items):
        start = super().read_cursor(cursor, items)
        self.uses[start, len(items)] = self.uses.get((start, len(items)), -1) + 1
        return start + self.uses[start, len(items)]


class NullCursor(Server):
    """The last page has a cursor, null."""

    def paginate(self, call, items, key):
        return {"nextCursor": None, **super().paginate(call, items, key)}


class NumericCursor(Server):
    """Cursors are numbers."""

    def make_cursor(self, index):
        return index


class NullDescription(Server):
    """Resources have descriptions that are null."""

    def get_resources(self, call):
        return [{**each, "description": None} for each in super().get_resources(call)]


class InternalDetails(Server):
    """Answers a malformed `params` value with an internal error."""

    def completion_complete(self, call):
        if not isinstance(call.params.get("argument"), dict):
            raise RpcError(-32603, "KeyError: 'argument'")
        return super().completion_complete(call)

    def find_values(self, reference, name):
        values = super().find_values(reference, name)
        if values is None:
            raise RpcError(-32603, "KeyError: 'ref'")
        return values


class UnreadableResource(Server):
    """Lists resources, to read which is an unknown method."""

    def resources_read(self, call):
        if self.read_known(call.params.get("uri")) is None:
            return super().resources_read(call)
        raise RpcError(-32601, "unknown method")


class ResourcesOfConnection(Server):
    """Lists other resources for each connection."""

    def get_resources(self, call):
        own = {"uri": f"memo://process-{os.getpid()}", "name": "own"}
        return [*super().get_resources(call), own]

    def read_known(self, uri):
        if uri.startswith("memo://process-"):
            return {"uri": uri, "text": "own"}
        return super().read_known(uri)


class UnavailablePrompt(Server):
    """Lists a prompt, to get which is an unknown method."""

    def get_messages(self, call, name):
        if name == "media":
            raise RpcError(-32601, "unknown method")
        return super().get_messages(call, name)


class PromptsOfConnection(Server):
    """Lists other prompts for each connection."""

    def prompts_list(self, call):
        result = super().prompts_list(call)
        return {**result, "prompts": [{"name": f"own-{os.getpid()}"}, *result["prompts"]]}

    def refuse_prompt(self, call, reason):
        if str(call.params.get("name")).startswith("own-"):
            return {"messages": [{"role": "user", "content": make_text("Hello.")}]}
        return super().refuse_prompt(call, reason)


class PromptResourceType(PromptBlock):
    """The embedded resource of a prompt has an invalid media type."""

    def make_block(self):
        return {"type": "resource", "resource": {"uri": "a:b", "mimeType": "text", "text": "x"}}
