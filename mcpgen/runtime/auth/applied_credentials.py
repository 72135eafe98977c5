"""Credentials that security schemes add to a request."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from mcpgen.runtime.upstream.http.messages import ClientCertificate

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class AppliedCredentials:
    """Credentials of one request: names and values, not yet encoded."""

    headers: Pairs = field(default=(), repr=False)
    query: Pairs = field(default=(), repr=False)
    cookies: Pairs = field(default=(), repr=False)
    client_certificate: ClientCertificate | None = field(default=None, repr=False)

    def join(self, other: AppliedCredentials) -> AppliedCredentials:
        """Combine the credentials of two schemes of one requirement (AND).

        Schemes that share a header are mostly flows of one authorization server: only the first
        one's credential is sent, since two fields of one name would invalidate both.
        """
        taken = {name.lower() for name, _ in self.headers}
        others = tuple(pair for pair in other.headers if pair[0].lower() not in taken)
        return replace(
            self,
            headers=self.headers + others,
            query=self.query + other.query,
            cookies=self.cookies + other.cookies,
            client_certificate=self.client_certificate or other.client_certificate,
        )
