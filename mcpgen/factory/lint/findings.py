"""The rules of lint, and their findings."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from mcpgen.diagnostics import Acceptance, Diagnostic, Location, Severity
from mcpgen.ir.clients import ClientLimit
from mcpgen.text.json_pointer import json_pointer


class Rule(Struct, frozen=True):
    """One rule: its requirement, the reason, and the remedy."""

    id: str
    number: str  # of the portable profile; "" for rules outside it
    title: str  # what a server must be like
    why: str
    help: str
    severity: Severity = Severity.WARNING
    depends_on_clients: bool = False  # limits of `--targets` replace those of the profile
    fix: str = ""  # what `--fix` writes into mcpgen.yaml


_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE
_OF_CLIENTS: Final = True

RULES: Final[dict[str, Rule]] = {
    rule.id: rule
    for rule in (
        Rule(
            "tool-name",
            "N1",
            "A name has 1 to 48 characters of `a-z`, `0-9` and `_`, begins with a letter, and fits"
            " beside the server's name.",
            "clients drop tools whose names they do not accept, or reject all tools",
            "rename the tool",
            depends_on_clients=_OF_CLIENTS,
            fix="`name`, with the old one as an alias",
        ),
        Rule(
            "duplicate-tool",
            "N2",
            "Names differ in more than their case.",
            "clients keep only one of the tools, or reject all",
            "rename one of the tools",
            _ERROR,
        ),
        Rule(
            "description-missing",
            "D1",
            "A tool has a description.",
            "a model chooses tools by their descriptions",
            "say what the tool does, to what, and when to use it",
            _ERROR,
        ),
        Rule(
            "description-short",
            "D1",
            "A description has 40 characters at least.",
            "a model learns too little to choose the tool",
            "say what the tool does, to what, and when to use it",
            _NOTE,
        ),
        Rule(
            "description-repeats-name",
            "D1",
            "A description says more than the name.",
            "it gives a model nothing to choose by",
            "say what the tool does, to what, and when to use it",
        ),
        Rule(
            "description-usage",
            "D1",
            "A description says when to use the tool.",
            "a model has to guess between similar tools",
            "add when to use the tool, and which other tool to use else",
            _NOTE,
        ),
        Rule(
            "description-length",
            "D1",
            "A description has 1,024 characters at most.",
            "some clients cut it, and some model APIs reject all tools",
            "shorten the description; the first sentence matters most",
            depends_on_clients=_OF_CLIENTS,
        ),
        Rule(
            "instructions-length",
            "D2",
            "The instructions have 2,048 characters at most.",
            "clients cut the rest",
            "shorten `server.instructions`",
            depends_on_clients=_OF_CLIENTS,
        ),
        Rule(
            "description-markup",
            "D3",
            "Texts have no HTML and no Markdown tables.",
            "a model pays tokens for markup, and people see it raw",
            "write plain sentences",
        ),
        Rule(
            "destructive-unstated",
            "D4",
            "The description of a tool that deletes says so.",
            "a model may call it without care",
            "state what is lost, and whether it can come back",
        ),
        Rule(
            "annotation-contradiction",
            "D4",
            "Annotations agree with the name of the tool.",
            "clients call read-only tools without asking the user",
            "correct the annotations, or rename the tool",
        ),
        Rule(
            "annotations",
            "D4",
            "`readOnlyHint`, `openWorldHint` and, of tools that write, `destructiveHint` are"
            " stated.",
            "clients treat the tool as destructive, ask each time, or refuse it in review",
            "state the annotations",
            depends_on_clients=False,
        ),
        Rule(
            "schema-invalid",
            "S1",
            "Schemas are JSON Schema 2020-12.",
            "clients and model APIs reject them, many with all tools of the request",
            "correct the schema",
            _ERROR,
        ),
        Rule(
            "schema-root",
            "S1",
            'The root of a schema is `"type": "object"` without `anyOf`, `oneOf`, `allOf`, `not`'
            " or `if`.",
            "some model APIs reject the whole request",
            "merge the variants to one object, or split the tool",
            _ERROR,
            depends_on_clients=_OF_CLIENTS,
        ),
        Rule(
            "schema-reference",
            "S2",
            "A `$ref` leads to a definition in the same schema.",
            "no client fetches or guesses what is missing",
            "add the definition, or write the schema in place",
            _ERROR,
            depends_on_clients=_OF_CLIENTS,
            fix="hides an optional argument",
        ),
        Rule(
            "array-items",
            "S3",
            "An array of an argument has `items`.",
            "some clients drop the tool, and some model APIs reject all tools",
            "add `items`",
            depends_on_clients=_OF_CLIENTS,
        ),
        Rule(
            "property-name",
            "S4",
            "A property of an argument has 1 to 64 characters of `A-Za-z0-9_`, and begins with no"
            " digit.",
            "some clients drop the tool",
            "rename the property; the handler can map it to the name of the API",
            depends_on_clients=_OF_CLIENTS,
        ),
        Rule(
            "type-union",
            "S5",
            "A schema of an argument has one `type`.",
            "some model APIs reject lists of types",
            "use one type; leave an optional argument out instead of null",
            depends_on_clients=_OF_CLIENTS,
        ),
        Rule(
            "schema-keyword",
            "S6",
            "A schema of an argument has no `$schema`, `$id`, `$anchor` or `$dynamicRef`.",
            "some model APIs reject keywords that they do not know",
            "leave the keyword out",
            depends_on_clients=_OF_CLIENTS,
            fix="hides an optional argument",
        ),
        Rule(
            "schema-format",
            "S6",
            "A `format` is one of JSON Schema's.",
            "readers ignore other formats, and strict model APIs reject them",
            "say in the description what the value looks like",
            _NOTE,
            depends_on_clients=_OF_CLIENTS,
        ),
        Rule(
            "schema-pattern",
            "S6",
            "A `pattern` has no look-around and no back reference, and at most 300 characters.",
            "engines without them reject the schema",
            "say in the description what the value looks like",
            depends_on_clients=_OF_CLIENTS,
        ),
        Rule(
            "bounds-in-words",
            "S7",
            "The description of an argument also states its bounds.",
            "two vendors drop the keywords before the model sees them",
            'add the bounds to the description: "1 to 100"',
            _NOTE,
        ),
        Rule(
            "schema-size",
            "S8",
            "Arguments nest 5 levels at most, and an `enum` has 100 values at most.",
            "models fill large schemas with mistakes, and some model APIs reject them",
            "describe the values in words, and check them when the tool is called",
            depends_on_clients=_OF_CLIENTS,
        ),
        Rule(
            "many-parameters",
            "S8",
            "A tool has 20 arguments at most.",
            "each costs tokens in every conversation, and models use few of them",
            "hide arguments that nobody needs",
            _NOTE,
            fix="hides deprecated optional arguments",
        ),
        Rule(
            "empty-schema",
            "S9",
            "No schema is empty or a boolean.",
            "some model APIs reject it, and a model does not know what to send",
            "state a type or a description",
            depends_on_clients=_OF_CLIENTS,
        ),
        Rule(
            "required-names",
            "S10",
            "`required` names each property once.",
            "some clients drop the tool",
            "correct `required`",
            depends_on_clients=_OF_CLIENTS,
        ),
        Rule(
            "open-arguments",
            "S11",
            "The arguments have `additionalProperties: false`.",
            "a misspelt argument is ignored without notice",
            "add it, and reject other arguments when the tool is called",
            _NOTE,
        ),
        Rule(
            "too-many-tools",
            "T1",
            "A server lists 40 tools at most.",
            "models choose worse, and clients cut the list or reject all tools",
            "leave tools out, or offer them by search",
            depends_on_clients=_OF_CLIENTS,
            fix="a lower `budget`, so that search tools replace the list",
        ),
        Rule(
            "token-budget",
            "T2",
            "The list costs 10,000 tokens at most, or `budget` of the manifest.",
            "every conversation pays for the list before it begins",
            "leave tools out, shorten schemas, or offer tools by search",
            fix="a lower `budget`, so that search tools replace the list",
        ),
        Rule(
            "hidden-text",
            "",
            "Texts contain nothing that a reader cannot see.",
            "a model reads what the user who approves the tool does not see",
            "remove the characters, or do not use this server",
            _ERROR,
        ),
        Rule(
            "steering-text",
            "",
            "Texts describe the tool, and do not tell the model what else to do.",
            "a model may follow them instead of the user",
            "describe what the tool does, or do not use this server",
            _ERROR,
        ),
        Rule(
            "secret-value",
            "",
            "No default, example or text contains a credential.",
            "every client and model provider receives it",
            "remove it, and revoke the credential",
            _ERROR,
        ),
        Rule(
            "unknown-tool",
            "",
            "Texts mention only tools of this server.",
            "a model searches for a tool that may be missing, or belong to another server",
            "name a tool that exists, or describe the step in words",
        ),
        Rule(
            "shadowed-tool",
            "",
            "No other server has a tool of the same name.",
            "a client or a model may call the one instead of the other",
            "rename one of the tools, or do not use the servers together",
        ),
        Rule(
            "definition-changed",
            "",
            "Definitions are as they were pinned.",
            "a server can change what a tool says after the user approved it",
            "review the change, then accept it with `--pin`",
            _ERROR,
        ),
        Rule(
            "definition-added",
            "",
            "Tools were pinned.",
            "nobody has reviewed the new tool",
            "review it, then accept it with `--pin`",
        ),
        Rule(
            "definition-removed",
            "",
            "Pinned tools still exist.",
            "users who relied on the tool have none",
            "review the change, then accept it with `--pin`",
            _NOTE,
        ),
        Rule(
            "unlisted-tools",
            "",
            "All tools are known from the files of a project.",
            "tools of `handlers/` are listed only by the running server",
            "examine the running server",
            _NOTE,
        ),
    )
}


class AffectedClient(Struct, frozen=True):
    """A client whose limit a finding is about."""

    client: str
    limit: ClientLimit


class Finding(Struct, frozen=True, kw_only=True):
    """One violation of a rule by a tool, or by the whole server (`tool` is "")."""

    rule: str
    message: str
    severity: Severity
    tool: str = ""
    tokens: tuple[str, ...] = ()  # JSON Pointer tokens inside of the tool
    detail: str = ""  # the fault, without names; equal findings are shown together
    clients: tuple[AffectedClient, ...] = ()
    at: Location | None = None
    help: str = ""  # instead of that of the rule
    waived: Acceptance | None = None

    @property
    def fails(self) -> bool:
        """Whether it fails the command: notes are only hints, and waived findings are accepted."""
        return self.severity is not Severity.NOTE and self.waived is None

    def as_diagnostic(self) -> Diagnostic:
        """Return the finding for output."""
        rule = RULES[self.rule]
        why = rule.why
        if self.clients:
            why = f"{why}: {describe_clients(self.clients)}"
        return Diagnostic(
            self.rule,
            self.severity,
            self.message,
            self._location(),
            why,
            self.help or rule.help,
            waived=self.waived,
        )

    def _location(self) -> Location | None:
        pointer = json_pointer(self.tokens)
        if self.at is None:
            return None
        return Location(self.at.file, self.at.line, self.at.column, self.at.pointer + pointer)


def flag(
    rule: str,
    message: str,
    *,
    tool: str = "",
    tokens: tuple[str, ...] = (),
    detail: str = "",
    clients: tuple[AffectedClient, ...] = (),
    severity: Severity | None = None,
    help: str = "",
) -> Finding:
    """Return a finding with the severity of its rule, unless another one is given."""
    return Finding(
        rule=rule,
        message=message,
        severity=severity or RULES[rule].severity,
        tool=tool,
        tokens=tokens,
        detail=detail,
        clients=clients,
        help=help,
    )


_DOES = {
    "ok": "accepts it",
    "degraded": "uses it with a loss",
    "dropped": "drops the tool",
    "breaks": "rejects all tools",
}
_MAX_NAMED = 4


def describe_clients(affected: tuple[AffectedClient, ...]) -> str:
    """Describe what clients do, with the sources: "`cursor` drops the tool (source)"."""
    parts = [
        f"`{each.client}` {_DOES[each.limit.effect]} ({each.limit.source})"
        for each in affected[:_MAX_NAMED]
    ]
    more = len(affected) - _MAX_NAMED
    return "; ".join(parts) + (f"; and {more} more" if more > 0 else "")
