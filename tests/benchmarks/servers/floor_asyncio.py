"""Lower bound with asyncio: each line is answered with the same bytes, without parsing."""

import asyncio
import os

ANSWER = (
    b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"ababab"}],'
    b'"resultType":"complete"}}\n'
)


async def main() -> None:
    """Answer every line until the end of the input."""
    loop = asyncio.get_running_loop()
    is_at_end = asyncio.Event()

    def read() -> None:
        data = os.read(0, 65_536)
        if data:
            os.write(1, ANSWER * data.count(b"\n"))
        else:
            is_at_end.set()

    loop.add_reader(0, read)
    await is_at_end.wait()


asyncio.run(main())
