/** Bytes on a connection of its own, for what no client would send. */

/** Sends all of the text. */
export async function send(conn: Deno.Conn, text: string): Promise<void> {
  for (let rest = new TextEncoder().encode(text); rest.length > 0;) rest = rest.subarray(await conn.write(rest));
}

/** What comes until the other end closes, kindly or not. */
export async function readAll(conn: Deno.Conn): Promise<string> {
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(4096);
  let text = "";
  for (;;) {
    const count = await conn.read(buffer).catch(() => null);
    if (count === null) return text;
    text += decoder.decode(buffer.subarray(0, count));
  }
}
