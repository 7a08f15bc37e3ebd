"""Waiting for something, and no longer than so many seconds."""

import asyncio


async def within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, and no longer than this; whether it came."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
