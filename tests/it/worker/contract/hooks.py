"""JSON Lines, which Schemathesis does not know."""

import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def write(_context, value):
    """Strings are lines as they are; what is made to be refused may be anything."""
    if isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value)).encode()


@schemathesis.deserializer("application/x-ndjson")
def read(_context, response):
    return response.content.decode()
