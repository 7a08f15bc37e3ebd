"""The OpenAPI document, made from the table of endpoints."""

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from surest import __version__

if TYPE_CHECKING:
    from surest.server.endpoints import Endpoint

REFUSALS = {
    400: "The body, or a setting in it, cannot be used.",
    401: "A token is needed, or this one is not known.",
    403: "The token may not do that.",
    404: "There is no such study.",
    409: "A ticket was never handed out, was told otherwise before, or is with another worker; "
    "or there is a study of that name.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "A reward outside of the bounds, or a body that does not fit.",
    429: "Too many requests; Retry-After says when to go on.",
    503: "The database cannot be reached; Retry-After says when to try again. Nothing was acknowledged.",
}
"""Statuses, with what they mean."""
TEXT = {"type": "string"}
ERROR = {"type": "object", "properties": {"kind": TEXT, "message": TEXT}, "required": ["kind", "message"]}
REFUSED = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}


@cache
def plain_path(path: str) -> str:
    """A route's path as OpenAPI writes it."""
    return re.sub(r"\{(\w+):\w+\}", r"{\1}", path)


@cache
def document(endpoints: "tuple[Endpoint, ...]") -> dict[str, Any]:
    """The document of these endpoints, made once: anybody may ask for it."""
    error = {"type": "object", "properties": {"error": ERROR}, "required": ["error"]}
    schemas: dict[str, Any] = {}
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(plain_path(endpoint.path), {})[endpoint.method.lower()] = _operation(endpoint, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "surest", "version": __version__, "description": "Studies over HTTP, for workers in any language."},
        "paths": paths,
        "components": {
            "schemas": {**schemas, "Error": error},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }  # fmt: skip


def _operation(endpoint: "Endpoint", schemas: dict[str, Any]) -> dict[str, Any]:
    """An endpoint, whose forms are put among the schemas."""

    def content(kind: str, form: Any) -> dict[str, Any]:
        if form is None:
            return {kind: {}}
        (schema,), more = msgspec.json.schema_components([form], ref_template="#/components/schemas/{name}")
        schemas.update(more)
        return {kind: {"schema": schema}}

    names = re.findall(r"\{(\w+):", endpoint.path)
    within = [{"name": name, "in": "path", "required": True, "schema": TEXT} for name in names]
    query = [{"name": name, "in": "query", "description": said, "schema": TEXT} for name, said in endpoint.query]
    body = content("application/json", endpoint.body)
    answer = {"description": "Done.", "content": content(endpoint.kind, endpoint.gives)}
    statuses = [429, 503]
    statuses += [] if endpoint.body is None else [400, 413, 415, 422]
    statuses += [] if endpoint.role is None else [401, 403]
    statuses += [404] if names else []
    told_or_taken = endpoint.role == "work" or endpoint.status == 201  # a ticket, or the name of a new study
    statuses += [409] if told_or_taken else []
    refused = {str(code): {"description": REFUSALS[code], "content": REFUSED} for code in sorted(statuses)}
    found: dict[str, Any] = {
        "operationId": endpoint.answer.__name__,
        "summary": endpoint.summary,
        "parameters": [*within, *query],
        "responses": {str(endpoint.status): answer, **refused},
    }
    if endpoint.role is not None:
        found["security"] = [{"token": []}]
        found["description"] = f"Needs a token that may {endpoint.role}."
    if endpoint.body is not None:
        found["requestBody"] = {"required": True, "content": body}
    return found
