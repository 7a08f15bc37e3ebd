"""The OpenAPI document, made from the table of endpoints."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from surest import __version__

if TYPE_CHECKING:
    from surest.server.endpoints import Endpoint

REFUSALS: dict[int, tuple[str, Callable[["Endpoint"], bool]]] = {
    400: ("The body, or a setting in it, cannot be used.", lambda one: one.body is not None),
    401: ("A token is needed, or this one is not known.", lambda one: one.role is not None),
    403: ("The token may not do that.", lambda one: one.role is not None),
    404: ("There is no such study.", lambda one: "{name" in one.path),
    409: (
        "A ticket was never handed out, was told otherwise before, or is with another worker; or there is a study of that name.",
        lambda one: one.role == "work" or one.status == 201,  # a ticket, or the name of a new study
    ),
    413: ("The body is too large.", lambda one: one.body is not None),
    415: ("The body is not JSON.", lambda one: one.body is not None),
    422: ("A reward outside of the bounds, or a body that does not fit.", lambda one: one.body is not None),
    429: ("Too many requests; Retry-After says when to go on.", lambda _: True),
    503: (
        "The database cannot be reached; Retry-After says when to try again. Nothing was acknowledged.",
        lambda _: True,
    ),
}
"""Statuses with what they mean, and which endpoints answer with them."""
ERROR = {
    "type": "object",
    "properties": {"kind": {"type": "string"}, "message": {"type": "string"}},
    "required": ["kind", "message"],
}
REFUSED = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}


def document(endpoints: "Sequence[Endpoint]") -> dict[str, Any]:
    """The document of these endpoints."""
    forms = [form for endpoint in endpoints for form in (endpoint.body, endpoint.gives) if form is not None]
    schemas, components = msgspec.json.schema_components(forms, ref_template="#/components/schemas/{name}")
    schema_of = dict(zip(map(id, forms), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        schema, gives = (schema_of.get(id(form)) for form in (endpoint.body, endpoint.gives))
        paths.setdefault(plain_path(endpoint.path), {})[endpoint.method.lower()] = _operation(endpoint, schema, gives)
    error = {"type": "object", "properties": {"error": ERROR}, "required": ["error"]}
    return {
        "openapi": "3.1.0",
        "info": {"title": "surest", "version": __version__, "description": "Studies over HTTP, for workers in any language."},
        "paths": paths,
        "components": {
            "schemas": {**components, "Error": error},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }  # fmt: skip


@cache
def plain_path(path: str) -> str:
    """A route's path as OpenAPI writes it.

    >>> plain_path("/api/studies/{name:name}/ask")
    '/api/studies/{name}/ask'
    """
    return re.sub(r"\{(\w+):\w+\}", r"{\1}", path)


def _operation(endpoint: "Endpoint", schema: dict[str, Any] | None, gives: dict[str, Any] | None) -> dict[str, Any]:
    names = re.findall(r"\{(\w+):", endpoint.path)
    within = [{"name": n, "in": "path", "required": True, "schema": {"type": "string"}} for n in names]
    query = [
        {"name": n, "in": "query", "description": said, "schema": {"type": "string"}} for n, said in endpoint.query
    ]
    answer = {"description": "Done.", "content": {endpoint.kind: {} if gives is None else {"schema": gives}}}
    refused = {
        str(code): {"description": said, "content": REFUSED} for code, (said, may) in REFUSALS.items() if may(endpoint)
    }
    found: dict[str, Any] = {
        "operationId": endpoint.answer.__name__,
        "summary": endpoint.summary,
        "parameters": [*within, *query],
        "responses": {str(endpoint.status): answer, **refused},
    }
    if endpoint.role is not None:
        found["security"] = [{"token": []}]
        found["description"] = f"Needs a token that may {endpoint.role}."
    if schema is not None:
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return found
