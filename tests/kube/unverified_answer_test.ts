/** An answer of node:http or node:https that is not read to its end must not keep its connection. */
import { assertEquals, assertRejects } from "#assert";
import { BodyTooLarge, discard, readErrorText, readText } from "../../lib/kube/body.ts";
import { sendUnverifiedOnce, type StatusAnswer } from "../../lib/kube/https.ts";

const MIB = 2 ** 20;

/** Answers each request with a body of 8 MiB, more than the buffers of a connection hold, and counts open connections. */
async function withServer(
  run: (send: () => Promise<StatusAnswer>, countOpen: () => Promise<number>) => Promise<void>,
): Promise<void> {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let open = 0;
  const serving: Promise<void>[] = [];
  const serve = async (connection: Deno.Conn) => {
    open++;
    const writer = connection.writable.getWriter();
    try {
      await connection.read(new Uint8Array(4096));
      await writer.write(new TextEncoder().encode(`HTTP/1.1 500 No\r\ncontent-length: ${8 * MIB}\r\n\r\n`));
      for (let sent = 0; sent < 8; sent++) await writer.write(new Uint8Array(MIB).fill(120));
      // Waits until the other side closes.
      while (await connection.read(new Uint8Array(4096)) !== null);
    } catch {
      // The other side has closed.
    } finally {
      open--;
      await writer.close().catch(() => {});
    }
  };
  const accepting = (async () => {
    for await (const connection of listener) serving.push(serve(connection));
  })().catch(() => {});
  const controller = new AbortController();
  const send = () => {
    const { port } = listener.addr;
    const url = new URL(`http://127.0.0.1:${port}/`);
    return sendUnverifiedOnce(url, { address: "127.0.0.1", headers: {}, signal: controller.signal });
  };
  const countOpen = async () => {
    for (let round = 0; open > 0 && round < 100; round++) await new Promise((resolve) => setTimeout(resolve, 20));
    return open;
  };
  try {
    await run(send, countOpen);
  } finally {
    controller.abort();
    listener.close();
    await accepting;
    await Promise.all(serving);
  }
}

const ENDINGS: readonly (readonly [string, (answer: StatusAnswer) => Promise<unknown>])[] = [
  ["discarded before its first byte", (answer) => discard(answer)],
  ["declared too large", (answer) => assertRejects(() => readText(answer, options(MIB)), BodyTooLarge)],
  ["read as an error of which the beginning is enough", (answer) => readErrorText(answer, options(0).signal)],
  ["read to its end", (answer) => readText(answer, options(16 * MIB))],
];

function options(limitBytes: number) {
  return { limitBytes, signal: new AbortController().signal };
}

for (const [how, end] of ENDINGS) {
  Deno.test(`an answer that is ${how} ends its connection`, async () => {
    await withServer(async (send, countOpen) => {
      for (let round = 0; round < 5; round++) await end(await send());
      assertEquals(await countOpen(), 0);
    });
  });
}
