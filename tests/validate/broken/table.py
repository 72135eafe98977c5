# ruff: noqa: E501  (a row is a line)
"""The broken servers: what each violates, the finding that it must get, and its highest score.

A server with a fault that concerns different requirements in different revisions has several rows.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.validate.servers.core import LEGACY, MODERN

R24, R25, R06, R11 = LEGACY
R26 = MODERN
MUST, SHOULD = 59, 99  # the highest scores of a server that violates a requirement of this level


class Broken(NamedTuple):
    """A server and what the validator must find.

    `runs` are pairs of transport and revision; the first is part of `make test`. `rows` are those
    of requirements.tsv that it violates. All `findings` whose requirement is one of the revision
    and the transport must be reported; those of `also` may be, because they follow from the fault.
    """

    server: str
    runs: tuple[tuple[str, str], ...]
    rows: tuple[str, ...]
    findings: tuple[str, ...]
    max_score: int
    also: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The module of the server."""
        return f"tests.validate.broken.{self.server.partition('.')[0]}"

    @property
    def command(self) -> tuple[str, ...]:
        """The command of a server that is a script by itself."""
        return (sys.executable, "-I", str(Path(__file__).with_name(f"{self.server}.py")))

    @property
    def class_name(self) -> str:
        """The class of the server."""
        return self.server.partition(".")[2]

    def load(self) -> type[Any]:
        """Return the class of the server."""
        found: type[Any] = getattr(importlib.import_module(self.module), self.class_name)
        return found


def must(server: str, on: str, rows: str, findings: str, also: str = "") -> Broken:
    """Return a row of a server that violates a MUST.

    `on` names transports and revisions: "stdio http: 2025-11-25 2026-07-28".
    """
    return _make(server, on, rows, findings, also, MUST)


def should(server: str, on: str, rows: str, findings: str, also: str = "") -> Broken:
    """Return a row of a server that violates a SHOULD alone."""
    return _make(server, on, rows, findings, also, SHOULD)


def _make(server: str, on: str, rows: str, findings: str, also: str, max_score: int) -> Broken:
    transports, _, revisions = on.partition(": ")
    runs = [(each, revision) for revision in revisions.split() for each in transports.split()]
    return Broken(
        server,
        tuple(runs),
        tuple(rows.split()),
        tuple(findings.split()),
        max_score,
        tuple(also.split()),
    )


_ALL = "2025-11-25 2026-07-28 2025-06-18 2025-03-26 2024-11-05"
_LEGACY = "2025-11-25 2025-06-18 2025-03-26 2024-11-05"
_NEW = "2025-11-25 2026-07-28"
_STRUCTURED = "2025-06-18 2025-11-25 2026-07-28"

MESSAGES = (
    must("messages.NoJsonrpc", f"stdio: {_ALL}", "L001 N002", "jsonrpc-2.0", "frame-schema"),
    must("messages.ChangedTextIds", f"stdio: {_NEW} {R06}", "L002 N002", "id-echo", "response-ids"),
    must("messages.IdsAsText", f"stdio: {_ALL}", "L002 N002", "response-ids", "id-echo prompts-available"),
    must("messages.AllIdsAsText", f"stdio: {_NEW}", "L002 N002", "response-ids", "*"),
    must("messages.NullIdOfReadableRequests", f"stdio: {_NEW} {R06}", "L002 N002", "unknown-method-rejected", "no-null-id frame-schema response-ids id-echo"),
    should("messages.NullIdOfUnreadableRequests", f"stdio: {_NEW}", "L002 N002", "no-null-id", "frame-schema"),
    must("messages.ErrorBesideResult", f"stdio: {_NEW} {R24}", "L003 N003", "response-shape", "frame-schema"),
    must("messages.ErrorsWithoutMessage", f"stdio: {_NEW} {R24}", "L003 N003", "response-shape", "frame-schema"),
    must("messages.ErrorCodesAsText", f"stdio: {R11} {R26} {R24}", "L003 N003", "response-shape", "*"),
    must("messages.AnswersNotifications", f"stdio: {R11} {R26} {R24}", "L004 N006", "notifications-unanswered response-ids", "stray-cancellations-ignored response-ids cancelled-call-unanswered-modern frame-schema result-type server-info"),
    must("messages.RefusesUnknownNotifications", f"stdio: {R11} {R26} {R24}", "L004 N006", "notifications-unanswered", "frame-schema"),
    must("messages.ReusedRequestIds", f"stdio: {R11} {R24}", "L005", "server-request-ids"),
    must("messages.NullRequestId", f"stdio: {R11} {R24}", "L005", "server-request-ids", "frame-schema notifications-without-id"),
    must("messages.NoBatches", f"stdio: {R25}", "L006", "batch-accepted"),
    must("messages.SendsBatches", f"stdio: {R11} {R06} {R26}", "L008 N001", "no-batches-sent", "completions-capability completion-values completion-reference-code frame-schema jsonrpc-2.0"),
    must("messages.NotificationsWithId", f"stdio: {_ALL}", "L004 N006", "notifications-without-id", "*"),
    must("messages.UnknownMethodAccepted", f"stdio: {_NEW}", "L001 N001", "unknown-method-rejected", "*"),
    should("messages.UnknownMethodCode", f"stdio: {_NEW}", "", "unknown-method-code", "initialize-names-versions"),
    should("messages.ParseErrorCode", f"stdio: {_NEW}", "", "parse-error-code"),
    should("messages.DropsConcurrentRequests", f"stdio: {R26}", "N012", "concurrent-requests", "*"),
    must("messages.Latin1", f"stdio: {_NEW}", "L009 N002", "utf-8", "stdout-only-messages resources-readable resource-contents"),
    must("messages.InvalidMetaKeys", f"stdio: {R06} {R11} {R26}", "L010 N019", "meta-keys"),
)  # fmt: skip

LIFECYCLE = (
    must("lifecycle.EchoesVersion", f"stdio: {R11} {R24}", "L019", "version-fallback"),
    should("lifecycle.OffersOldestVersion", f"stdio: {R11}", "L020", "version-fallback-latest"),
    must("lifecycle.NoServerInfo", f"stdio: {R11} {R24}", "L017", "initialize-result", "frame-schema"),
    must("lifecycle.NoServerVersion", f"stdio: {R11} {R24}", "L017", "initialize-result", "frame-schema"),
    must("lifecycle.NoCapabilities", f"stdio: {R11} {R24}", "L017", "initialize-result", "*"),
    should("lifecycle.RequestBeforeInitialized", f"stdio: {R11} {R24}", "L021", "no-early-requests"),
    must("lifecycle.PingUnknown", f"stdio: {R11} {R24}", "L026", "ping-answered"),
    must("lifecycle.PingWithResult", f"stdio: {R11} {R24}", "L026", "ping-answered"),
    must("lifecycle.UndeclaredTools", f"stdio: {_NEW} {R24}", "L073 N088", "tools-capability"),
    must("lifecycle.UndeclaredResources", f"stdio: {_NEW} {R24}", "L088 N100", "resources-capability", "embedded-resources"),
    must("lifecycle.UndeclaredPrompts", f"stdio: {_NEW} {R24}", "L096 N108", "prompts-capability"),
    must("lifecycle.UndeclaredCompletions", f"stdio: {_NEW} {R25}", "L104 N114", "completions-capability"),
    must("lifecycle.DeclaredToolsMissing", f"stdio: {_NEW} {R24}", "L073 N088", "tools-capability", "*"),
    must("lifecycle.DeclaredResourcesMissing", f"stdio: {_NEW} {R24}", "L088 N100", "resources-capability", "*"),
    must("lifecycle.DeclaredPromptsMissing", f"stdio: {_NEW} {R24}", "L096 N108", "prompts-capability", "*"),
    must("lifecycle.UndeclaredListChanged", f"stdio: {R11} {R06}", "L023", "client-capabilities-respected"),
    must("lifecycle.DiscoverWithoutVersions", f"stdio: {R26}", "N021", "discover-result", "frame-schema"),
    must("lifecycle.DiscoverWithoutCapabilities", f"stdio: {R26}", "N021", "discover-result", "*"),
    should("lifecycle.NoHintInInitialize", f"stdio: {R26}", "N022", "initialize-names-versions"),
)  # fmt: skip

STDIO = (
    must("stdio.Banner", f"stdio: {_NEW} {R24}", "L041 N030", "stdout-only-messages"),
    must("stdio.PrintsInCalls", f"stdio: {_NEW} {R24}", "L041 N030", "stdout-only-messages"),
    must("stdio.PrettyPrinted", f"stdio: {_NEW} {R24}", "L040 N030", "stdout-only-messages", "prompts-available"),
    must("stdio.TwoMessagesInOneLine", f"stdio: {_NEW} {R24}", "L040 N030", "stdout-only-messages"),
    must("stdio.DiesOfUnknownCancellation", f"stdio: {_NEW} {R24}", "L030 N075", "cancellation-races", "stray-cancellations-ignored"),
    must("stdio.DiesOfUnknownMethod", f"stdio: {_NEW} {R24}", "L001 N001", "unknown-method-rejected", "unknown-method-code"),
    should("stdio.IgnoresEndOfInput", f"stdio: {R26}", "N033", "exit-at-end-of-input"),
)  # fmt: skip

DURING_CALLS = (
    should("during_calls.RespondsAfterCancellation", f"stdio: {_LEGACY}", "L029", "cancelled-call-unanswered"),
    must("during_calls.RespondsAfterCancellation", f"stdio: {R26}", "N032", "cancelled-call-unanswered-modern"),
    should("during_calls.ErrorAfterCancellation", f"stdio: {R11} {R24}", "L029", "cancelled-call-unanswered"),
    must("during_calls.ErrorAfterCancellation", f"stdio: {R26}", "N032", "cancelled-call-unanswered-modern"),
    must("during_calls.DecreasingProgress", f"stdio: {_ALL}", "L035 N077", "progress-increases"),
    must("during_calls.RepeatedProgress", f"stdio: {_NEW}", "L035 N077", "progress-increases"),
    must("during_calls.ProgressAfterResponse", f"stdio: {_ALL}", "L036 N077", "progress-stops"),
    must("during_calls.ChangedProgressToken", f"stdio: {_ALL}", "L034 N077", "progress-tokens"),
    must("during_calls.ChangedProgressToken", f"http: {R26}", "L034 N077", "progress-tokens"),
    must("during_calls.UnaskedProgress", f"stdio: {_NEW} {R24}", "L034 N077", "progress-tokens"),
    must("during_calls.UndeclaredLogging", f"stdio: {_ALL}", "L108 N080", "logging-declared"),
    must("during_calls.LogsBelowLevel", f"stdio: {R26}", "N079", "logs-requested"),
    must("during_calls.LogsUnasked", f"stdio: {R26}", "N079", "logs-requested"),
    should("during_calls.UnknownLevelAccepted", f"stdio: {_NEW} {R24}", "L109 N081", "log-level-code", "logs-requested"),
    should("during_calls.UndeclaredSampling", f"stdio: {R25} {R24}", "L022", "client-capabilities-respected-earlier"),
    must("during_calls.UndeclaredSampling", f"stdio: {R11} {R06}", "L023", "client-capabilities-respected"),
    must("during_calls.UndeclaredRoots", f"stdio: {R11} {R06}", "L023", "client-capabilities-respected"),
    must("during_calls.UndeclaredUrlElicitation", f"stdio: {R11}", "L123", "elicitation-modes"),
    must("during_calls.ElicitationWithoutMessage", f"stdio: {R11} {R06}", "L124", "elicitation-shape", "frame-schema"),
    must("during_calls.AsksForPassword", f"stdio: {_STRUCTURED}", "L120 N117", "elicitation-without-secrets"),
    must("during_calls.UndeclaredSamplingTools", f"stdio: {R11}", "L116", "sampling-tools"),
    must("during_calls.CancelsOwnWork", f"stdio: {_NEW} {R24}", "L028 N073", "own-cancellations"),
    must("during_calls.SetLevelUnknown", f"stdio: {R11} {R24}", "L108", "set-level", "log-level-code"),
    should("during_calls.ElicitsPlainHttp", f"stdio: {R11}", "L129", "elicitation-urls"),
    should("during_calls.SamplingWithContext", f"stdio: {R11}", "L118", "sampling-context"),
    must("during_calls.UrlElicitationErrorWithoutData", f"stdio: {R11}", "L126", "url-elicitation-errors", "frame-schema"),
)  # fmt: skip

TOOLS = (
    must("tools.NullInputSchema", f"stdio: {_ALL}", "L082 N091", "frame-schema", "tool-schemas-valid tool-schemas-valid-earlier"),
    must("tools.TextInputSchema", f"stdio: {_ALL}", "L082 N091", "frame-schema", "tool-schemas-valid tool-schemas-valid-earlier"),
    must("tools.UntypedInputSchema", f"stdio: {_ALL}", "L082 N091", "frame-schema", "tool-schemas-valid tool-schemas-valid-earlier"),
    must("tools.InvalidInputSchema", f"stdio: {_NEW}", "L014 N025", "tool-schemas-valid"),
    should("tools.InvalidInputSchema", f"stdio: {R06} {R24}", "", "tool-schemas-valid-earlier"),
    must("tools.InvalidRequired", f"stdio: {_NEW}", "L014 N025", "tool-schemas-valid", "frame-schema"),
    must("tools.InvalidOutputSchema", f"stdio: {_NEW}", "L014 N025", "tool-schemas-valid"),
    should("tools.IllegalName", f"stdio: {_NEW}", "L084 N092", "tool-names"),
    should("tools.LongName", f"stdio: {_NEW}", "L083 N092", "tool-names"),
    should("tools.DuplicateNames", f"stdio: {_NEW}", "L086 N092", "tool-names-unique"),
    must("tools.NoToolName", f"stdio: {_NEW} {R24}", "L001 N001", "frame-schema"),
    must("tools.ChangingTools", f"stdio: {R26}", "N088", "tools-same-everywhere"),
    should("tools.ShuffledTools", f"stdio: {R26}", "N089", "tools-order"),
    must("tools.WrongStructuredContent", f"stdio: {_STRUCTURED}", "L079 N095", "structured-content"),
    must("tools.NoStructuredContent", f"stdio: {_STRUCTURED}", "L079 N095", "structured-content"),
    must("tools.ListAsStructuredContent", f"stdio: {R11} {R06}", "L001", "frame-schema"),
    should("tools.NoTextMirror", f"stdio: {_STRUCTURED}", "L080 N096", "structured-content-text"),
    should("tools.UnknownToolAsResult", f"stdio: {_NEW} {R24}", "L087 N099", "unknown-tool-code"),
    should("tools.UnknownToolCode", f"stdio: {_NEW} {R24}", "L087 N099", "unknown-tool-code"),
    must("tools.ArgumentsUnchecked", f"stdio: {_ALL}", "L075 N098", "tool-arguments-validated"),
    should("tools.ArgumentErrorsAsErrors", f"stdio: {_NEW}", "L087 N099", "tool-argument-errors"),
    must("tools.NoContent", f"stdio: {R11} {R26} {R24}", "L001 N001", "frame-schema"),
    must("tools.IsErrorAsText", f"stdio: {_NEW} {R24}", "L001 N001", "frame-schema"),
    must("tools.AudioTooEarly", f"stdio: {R24}", "L001", "frame-schema"),
    must("tools.LinkTooEarly", f"stdio: {R25} {R24}", "L001", "frame-schema"),
    must("tools.ImageWithoutType", f"stdio: {_NEW} {R24}", "L001 N001", "frame-schema", "content-encoding"),
    should("tools.EmbeddedResourceWithoutResources", f"stdio: {_STRUCTURED}", "L081 N097", "embedded-resources"),
    must("tools.TaskWithoutCapability", f"stdio: {R11}", "L131", "task-ignored", "frame-schema"),
    must("tools.UnknownToolAccepted", f"stdio: {_NEW} {R24}", "L075 N098", "unknown-tool-rejected", "unknown-tool-code tool-names-case-sensitive"),
    must("tools.UncallableTool", f"stdio: {_NEW} {R25}", "L073 N088", "tools-callable", "*"),
    should("tools.ToolErrorsAsErrors", f"stdio: {_NEW} {R25}", "L087 N099", "tool-errors-in-results"),
    should("tools.NamesIgnoreCase", f"stdio: {_NEW}", "L085 N092", "tool-names-case-sensitive"),
    should("tools.SecretHeader", f"stdio: {R26}", "N094", "header-annotations-not-sensitive"),
    must("tools.HeaderOfNumber", f"stdio: {R26}", "N093", "header-annotations"),
    must("tools.HeaderWithSpace", f"stdio: {R26}", "N093", "header-annotations"),
    must("tools.HeaderTwice", f"stdio: {R26}", "N093", "header-annotations"),
)  # fmt: skip

OFFERS = (
    must("offers.EmptyContents", f"stdio: {R26}", "N103", "missing-resource-not-empty", "resource-not-found-code-modern"),
    should("offers.EmptyContents", f"stdio: {_LEGACY}", "L091", "resource-not-found-code"),
    must("offers.ReadsAnyUri", f"stdio: {_ALL}", "L092 N106", "resource-uris-validated", "resource-not-found-code resource-not-found-code-modern frame-schema"),
    must("offers.UnreadableResource", f"stdio: {_NEW} {R24}", "L088 N100", "resources-readable"),
    must("offers.ResourcesOfConnection", f"stdio: {R26}", "N100", "resources-same-everywhere"),
    must("offers.UnavailablePrompt", f"stdio: {_NEW} {R24}", "L096 N108", "prompts-available"),
    must("offers.PromptsOfConnection", f"stdio: {R26}", "N108", "prompts-same-everywhere"),
    must("offers.PromptResourceType", f"stdio: {_ALL}", "L100 N110", "prompt-resource-types"),
    should("offers.InternalDetails", f"stdio: {_NEW} {R25}", "L105 N115", "completion-reference-code"),
    should("offers.NotFoundAsInternalError", f"stdio: {R11} {R24}", "L091", "resource-not-found-code"),
    must("offers.LegacyNotFoundCode", f"stdio: {R26}", "N009 N102", "error-codes resource-not-found-code-modern", "error-codes resource-not-found-code-modern own-error-codes"),
    must("offers.InvalidBlob", f"stdio: {_ALL}", "L094 N106", "resource-contents", "content-encoding"),
    must("offers.ContentsWithoutUri", f"stdio: {_NEW} {R24}", "L001 N001", "frame-schema"),
    must("offers.InvalidUri", f"stdio: {_STRUCTURED}", "L095 N105", "resource-uris", "frame-schema"),
    must("offers.SubscribeUnknown", f"stdio: {R11} {R24}", "L088", "resource-subscriptions"),
    should("offers.UnknownPromptAccepted", f"stdio: {_NEW} {R24}", "L101 N111", "unknown-prompt-code", "prompt-arguments-required"),
    should("offers.MissingArgumentAccepted", f"stdio: {_NEW} {R24}", "L101 N111", "prompt-arguments-required"),
    should("offers.PromptCodeZero", f"stdio: {_NEW} {R24}", "L101 N111", "unknown-prompt-code", "prompt-arguments-required"),
    must("offers.UndefinedCode", f"stdio: {R26}", "N008", "error-codes", "unknown-prompt-code prompt-arguments-required"),
    must("offers.UrlElicitationCode", f"stdio: {R26}", "N009", "error-codes", "unknown-prompt-code prompt-arguments-required"),
    should("offers.ImplementationCode", f"stdio: {R26}", "N010", "own-error-codes", "unknown-prompt-code prompt-arguments-required"),
    must("offers.PromptImageNotBase64", f"stdio: {_ALL}", "L098 N110", "content-encoding"),
    must("offers.PromptImageWithoutType", f"stdio: {_NEW} {R24}", "L098 N110", "content-encoding frame-schema", "frame-schema"),
    must("offers.PromptAudioNotBase64", f"stdio: {_NEW} {R25}", "L099 N110", "content-encoding"),
    must("offers.PromptAudioType", f"stdio: {_NEW} {R25}", "L099 N110", "content-encoding"),
    must("offers.PromptResourceWithoutUri", f"stdio: {_ALL}", "L100 N110", "content-encoding frame-schema", "frame-schema"),
    must("offers.PromptRole", f"stdio: {_NEW} {R24}", "L001 N001", "frame-schema"),
    must("offers.TooManyValues", f"stdio: {_NEW} {R25}", "L107 N116", "completion-values", "frame-schema"),
    should("offers.UnknownReferenceAccepted", f"stdio: {_NEW} {R25}", "L105 N115", "completion-reference-code"),
    must("offers.CompletionAsList", f"stdio: {_NEW} {R25}", "L001 N001", "frame-schema", "completions-capability completion-values"),
    should("offers.InvalidCursorAccepted", f"stdio: {_NEW} {R24}", "L112 N087", "invalid-cursor-code"),
    should("offers.InvalidCursorCode", f"stdio: {_NEW} {R24}", "L112 N087", "invalid-cursor-code"),
    should("offers.EndlessPages", f"stdio: {_NEW} {R24}", "L112 N087", "cursors-stable"),
    should("offers.UnstablePages", f"stdio: {_NEW} {R24}", "L112 N087", "cursors-stable", "resources-same-everywhere tools-same-everywhere"),
    must("offers.NullCursor", f"stdio: {_NEW} {R24}", "L001 N001", "frame-schema"),
    must("offers.NumericCursor", f"stdio: {_NEW} {R24}", "L001 N001", "frame-schema"),
    must("offers.NullDescription", f"stdio: {_NEW} {R24}", "L001 N001", "frame-schema"),
)  # fmt: skip

MODERN_ONLY = (
    must("modern.NoResultType", f"stdio http: {R26}", "N004", "result-type", "frame-schema"),
    must("modern.UnknownResultType", f"stdio: {R26}", "N005", "result-type", "structured-content structured-content-text frame-schema tools-callable"),
    should("modern.NoServerInfoInMeta", f"stdio: {R26}", "N017", "server-info"),
    must("modern.NoCacheHints", f"stdio: {R26}", "N084", "cache-hints", "frame-schema"),
    must("modern.UnknownCacheScope", f"stdio: {R26}", "N084", "cache-hints", "frame-schema"),
    must("modern.NegativeTtl", f"stdio: {R26}", "N084", "cache-hints", "frame-schema"),
    must("modern.ScopeVariesByPage", f"stdio: {R26}", "N085", "cache-scope-of-pages"),
    must("modern.VersionNotRequired", f"stdio http: {R26}", "N014", "meta-version-required"),
    must("modern.CapabilitiesNotRequired", f"stdio http: {R26}", "N014", "meta-required"),
    must("modern.MetaRefusedAsUnknownMethod", f"stdio: {R26}", "N014", "meta-required", "meta-version-required"),
    must("modern.ClientInfoRequired", f"stdio: {R26}", "N015", "client-info-optional"),
    must("modern.ClientInfoInsteadOfCapabilities", f"stdio http: {R26}", "N014 N015", "meta-required client-info-optional", "meta-error-status"),
    must("modern.AnyVersionAccepted", f"stdio http: {R26}", "N020", "unsupported-version"),
    must("modern.UnsupportedVersionCode", f"stdio http: {R26}", "N020", "unsupported-version"),
    must("modern.UnsupportedVersionWithoutData", f"stdio http: {R26}", "N020", "unsupported-version"),
    must("modern.RemovedMethodsServed", f"http: {R26}", "N046", "removed-methods-refused"),
    must("modern.SendsRequests", f"stdio http: {R26}", "N007 N030", "no-server-requests"),
    must("modern.RemembersCapabilities", f"stdio: {R26}", "N011", "input-kinds-declared"),
    must("modern.InputWithoutCapability", f"stdio: {R26}", "N016 N061", "input-kinds-declared", "elicitation-modes"),
    must("modern.MissingCapabilityWithoutData", f"stdio: {R26}", "N016", "missing-capability-error"),
    must("modern.MissingCapabilityCode", f"stdio: {R26}", "N016", "missing-capability-error"),
    must("modern.InputForLists", f"stdio: {R26}", "N058", "input-methods"),
    must("modern.NothingRequired", f"stdio: {R26}", "N059", "input-shape"),
    must("modern.UnknownInputKind", f"stdio: {R26}", "N060", "input-shape", "frame-schema declined-input-handled"),
    should("modern.MalformedAnswerAccepted", f"stdio: {R26}", "N066", "malformed-answers-refused"),
    should("modern.MalformedAnswerAcceptedLate", f"stdio: {R26}", "N066", "malformed-answers-refused"),
    should("modern.MissingAnswerRefused", f"stdio: {R26}", "N068", "missing-answers-asked-again"),
    must("modern.NoAcknowledgement", f"stdio http: {R26}", "N069", "subscription-acknowledged", "subscription-ids subscription-only-requested"),
    must("modern.SubscriptionsRefused", f"stdio http: {R26}", "N069", "subscription-acknowledged"),
    must("modern.CallsNeedHandshake", f"stdio: {R26}", "N011 N088", "tools-callable"),
    must("modern.MessageBeforeAcknowledgement", f"stdio: {R26}", "N069", "subscription-acknowledged"),
    must("modern.UnrequestedNotifications", f"stdio: {R26}", "N070", "subscription-only-requested"),
    must("modern.HonoursTooMuch", f"stdio: {R26}", "N069", "subscription-acknowledged"),
    must("modern.ExtensionWithoutPrefix", f"stdio: {R26}", "N023", "extension-names"),
    must("modern.DeclineAsError", f"stdio: {R26}", "N122", "declined-input-handled"),
    should("modern.ClientInfoUsed", f"stdio: {R26}", "N018", "client-info-ignored"),
    must("modern.LostSubscriptionId", f"stdio: {R26}", "N071", "subscription-ids", "subscription-acknowledged"),
    must("modern.SubscriptionIdAsText", f"stdio: {R26}", "N071", "subscription-ids", "subscription-acknowledged"),
)  # fmt: skip

TASKS = (
    must("tasks.BeginsCompleted", f"stdio: {R11}", "L134", "task-created"),
    must("tasks.NoTaskId", f"stdio: {R11}", "L134", "task-created", "frame-schema"),
    must("tasks.TimesAsNumbers", f"stdio: {R11}", "L136", "task-times", "frame-schema"),
    must("tasks.WorksAgain", f"stdio: {R11}", "L135", "task-states", "task-cancel-ended task-result"),
    must("tasks.NoRelatedTask", f"stdio: {R11}", "L138", "task-result"),
    must("tasks.EmptyTaskList", f"stdio: {R11}", "L139", "task-list"),
    must("tasks.CancelsEndedTasks", f"stdio: {R11}", "L140", "task-cancel-ended"),
    must("tasks.UnknownTaskCode", f"stdio: {R11}", "L141", "task-unknown-code"),
    should("tasks.ForbiddenTaskAccepted", f"stdio: {R11}", "L132", "task-forbidden"),
    must("tasks.TaskNotRequired", f"stdio: {R11}", "L133", "task-required"),
)  # fmt: skip

HTTP = (
    must("http_legacy.OriginUnchecked", f"http: {R11} {R26} {R06} {R25}", "L044 L045 N035", "origin-validated"),
    must("http_legacy.OriginRefusedWith400", f"http: {_NEW}", "L045 N035", "origin-refused-with-403"),
    must("http_legacy.NotificationsWith200", f"http: {_NEW} {R25}", "L049 N038", "initialized-status notification-status"),
    must("http_legacy.NotificationsWithBody", f"http: {_NEW} {R25}", "L049 N038", "notification-status", "frame-schema jsonrpc-2.0 response-shape notifications-unanswered"),
    must("http_legacy.EventsForNotifications", f"http: {R11} {R25}", "L049", "notification-status"),
    must("http_legacy.RefusalsWith200", f"http: {R11} {R25}", "L050 L070 L068", "session-ended version-header-invalid", "*"),
    must("http_legacy.ResponsesAsText", f"http: {_NEW} {R25}", "L051 N039", "content-types", "*"),
    must("http_legacy.GetAsJson", f"http: {R11} {R25}", "L056", "get-answered"),
    must("http_legacy.GetNotFound", f"http: {R11} {R25}", "L056 L048", "get-answered"),
    must("http_legacy.ResponseOnGetStream", f"http: {R11} {R25}", "L057", "get-without-responses", "*"),
    must("http_legacy.Broadcast", f"http: {R11} {R25}", "L059", "message-on-one-stream", "*"),
    must("http_legacy.SessionConfusion", f"http: {R11}", "L059", "message-on-one-stream", "*"),
    must("http_legacy.SameEventIds", f"http: {R11} {R25}", "L060", "event-ids-unique", "*"),
    must("http_legacy.ReplaysEverything", f"http: {R11} {R25}", "L061", "replay-of-own-stream", "*"),
    must("http_legacy.SessionIdWithSpaces", f"http: {R11} {R25}", "L066", "session-id-characters", "*"),
    should("http_legacy.CountedSessionIds", f"http: {R11} {R25}", "L065", "session-id-random"),
    should("http_legacy.MissingSessionStatus", f"http: {R11} {R25}", "L067", "session-required"),
    must("http_legacy.UnknownSessionAccepted", f"http: {R11} {R25}", "L068", "session-ended"),
    must("http_legacy.UnknownSessionStatus", f"http: {R11} {R25}", "L068", "session-ended"),
    must("http_legacy.EndedSessionsLive", f"http: {R11} {R25}", "L068", "session-ended"),
    must("http_legacy.AnyVersionHeader", f"http: {R11} {R06}", "L070", "version-header-invalid"),
    should("http_legacy.VersionHeaderRequired", f"http: {R11} {R06}", "L069", "version-header-absent"),
    should("http_legacy.EndlessStreams", f"http: {R11} {R25}", "L054", "streams-end"),
    should("http_legacy.NoResponseOnStream", f"http: {R11} {R25}", "L052 L053", "streams-respond", "*"),
    should("http_legacy.ClosesStreamsOfCalls", f"http: {R06} {R25}", "L052 L053", "streams-respond"),
    must("http_legacy.EventsWithoutJson", f"http: {R11} {R26} {R25}", "L051 N039", "event-data", "*"),
    should("http_legacy.NoPrimingEvent", f"http: {R11}", "L063", "priming-event"),
    must("http_legacy.BatchesRefused", f"http: {R25}", "L006", "batch-accepted"),
    must("http_modern.VersionMismatchAccepted", f"http: {R26}", "N045", "version-header-matches"),
    must("http_modern.MissingVersionAccepted", f"http: {R26}", "N045 N047", "version-header-required"),
    must("http_modern.MissingMethodAccepted", f"http: {R26}", "N048", "method-header-required"),
    must("http_modern.MethodMismatchAccepted", f"http: {R26}", "N048", "method-header-matches", "header-values-exact"),
    must("http_modern.MissingNameAccepted", f"http: {R26}", "N048", "name-header-required"),
    must("http_modern.NameMismatchAccepted", f"http: {R26}", "N048", "name-header-matches", "header-values-exact"),
    must("http_modern.NameNotDecoded", f"http: {R26}", "N050", "name-header-decoded", "*"),
    must("http_modern.InvalidBase64Accepted", f"http: {R26}", "N050 N051 N048", "name-header-matches"),
    must("http_modern.CaseInsensitiveValues", f"http: {R26}", "N049", "header-values-exact"),
    must("http_modern.CaseSensitiveNames", f"http: {R26}", "N049", "header-names-any-case"),
    must("http_modern.MissingParameterAccepted", f"http: {R26}", "N052", "parameter-header-required"),
    must("http_modern.ParameterMismatchAccepted", f"http: {R26}", "N052", "parameter-header-matches", "parameter-header-characters"),
    must("http_modern.ParameterBase64Unchecked", f"http: {R26}", "N051", "parameter-header-characters"),
    must("http_modern.ParameterMismatchOfManyTools", f"http: {R26}", "N052", "parameter-header-matches", "parameter-header-characters"),
    must("http_modern.RefusalsWithoutId", f"http: {R26}", "N002", "response-ids"),
    must("http_modern.NullParameterExpected", f"http: {R26}", "N052", "parameter-header-absent", "*"),
    should("http_modern.NumbersAsText", f"http: {R26}", "N054", "parameter-header-numbers", "*"),
    must("http_modern.MismatchCode", f"http: {R26}", "N053 N045 N048", "header-refusal", "*"),
    must("http_modern.MismatchStatus", f"http: {R26}", "N053 N045 N048", "header-refusal", "*"),
    must("http_modern.UnknownMethodStatus", f"http: {R26}", "N046", "unknown-method-status", "removed-methods-refused"),
    must("http_modern.UnknownMethodCode", f"http: {R26}", "N046", "unknown-method-status", "unknown-method-code initialize-names-versions removed-methods-refused"),
    must("http_modern.MissingMetaStatus", f"http: {R26}", "N014", "meta-error-status"),
    must("http_modern.UnsupportedVersionStatus", f"http: {R26}", "N020", "version-error-status"),
    must("http_modern.MissingCapabilityStatus", f"http: {R26}", "N016", "capability-error-status"),
    must("http_modern.StopsAfterDisconnect", f"http: {R26}", "N043", "closed-stream-tolerated", "*"),
    should("http_modern.MintsSessions", f"http: {R26}", "N055", "no-sessions"),
    should("http_modern.GetServed", f"http: {R26}", "N055", "get-and-delete-refused"),
    must("http_modern.UnrelatedNotifications", f"http: {R26}", "N040", "stream-notifications-related", "subscription-ids subscription-only-requested"),
    should("http_modern.BufferedEvents", f"http: {R26}", "N042", "no-response-buffering"),
)  # fmt: skip

SSE = (
    must("sse.NoEndpointEvent", f"sse: {R24}", "L043", "sse-endpoint-event", "*"),
    must("sse.UnnamedEvents", f"sse: {R24}", "L043", "sse-message-events", "*"),
    must("sse.EndpointElsewhere", f"sse: {R24}", "L042 L043", "sse-post-accepted", "*"),
    must("sse.OriginUnchecked", f"sse: {R24}", "L044", "sse-origin-validated"),
)  # fmt: skip

AUTHORIZATION = (
    must("authorization.NoMetadataInChallenge", f"http: {R06}", "L150", "resource-metadata-in-challenge"),
    should("authorization.NoChallenge", f"http: {_STRUCTURED}", "L157 N136", "authorization-follows-mcp"),
    must("authorization.NoResourceMetadata", f"http: {_NEW}", "L151 N127", "resource-metadata-discoverable resource-metadata", "*"),
    must("authorization.NoAuthorizationServers", f"http: {_STRUCTURED}", "L149 N126", "resource-metadata"),
    must("authorization.MetadataNotFound", f"http: {_STRUCTURED}", "L149 L151 N126 N127", "resource-metadata"),
    must("authorization.MetadataOfAnotherServer", f"http: {_STRUCTURED}", "L149 N126", "resource-metadata-of-server"),
    must("authorization.AnyToken", f"http: {_STRUCTURED}", "L148 N129 N131", "invalid-token-refused"),
    must("authorization.TokenInQuery", f"http: {_STRUCTURED}", "L148 N129 L153 N130", "token-in-query-refused"),
    must("authorization.MissingTokenWith403", f"http: {_STRUCTURED}", "L148 N129 N131", "invalid-token-status token-required", "*"),
    must("authorization.InvalidTokenWith400", f"http: {_STRUCTURED}", "L148 N129 N131", "invalid-token-status", "*"),
    must("authorization.SessionAsCredential", f"http: {R11} {R06}", "L158", "session-is-no-credential", "token-required-everywhere"),
    should("authorization.NoScopeInChallenge", f"http: {_NEW}", "L155 N128", "challenge-scope"),
    should("authorization.OfflineAccess", f"http: {R26}", "N128", "no-offline-access"),
    must("authorization.TokenInLog", f"http: {_NEW}", "L111 N083", "no-token-in-logs"),
)  # fmt: skip

SHAM = Broken(
    "sham",
    tuple(("stdio", revision) for revision in reversed(LEGACY)),
    ("L014", "L082", "L019"),
    ("tool-schemas-valid", "tool-names", "tool-names-unique", "frame-schema", "version-fallback"),
    MUST,
    ("*",),
)
BROKEN = (
    SHAM, *MESSAGES, *LIFECYCLE, *STDIO, *DURING_CALLS, *TOOLS, *OFFERS, *MODERN_ONLY, *TASKS, *HTTP, *SSE,
    *AUTHORIZATION,
)  # fmt: skip

# Examining these takes long, since expected messages never arrive: `make validate-selftest` only.
SLOW = frozenset(
    {"messages.AllIdsAsText", "messages.DropsConcurrentRequests", "stdio.IgnoresEndOfInput"}
)

# Faults that the validator does not find yet: server and revision.
MISSED: frozenset[tuple[str, str]] = frozenset()

# Checked requirements with a MUST but without a broken server, and the reasons.
UNTRIED: dict[str, str] = {
    "version-echoed": "a server that answers with another version does not support the requested one",
    "request-state-protected": "whether a changed state matters cannot be seen, so it never fails",
}
