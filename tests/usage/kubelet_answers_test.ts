/** Whatever a kubelet answers is a failure with words, at the latest when the signal aborts, and never ends the process. */
import { assert, assertEquals, assertRejects } from "#assert";
import { timeoutError } from "../../lib/runtime/clock.ts";
import { settleEventLoop } from "../support/virtual_clock.ts";
import { assertFailed, fetchFrom, KUBELET_MODES, readSummaryText } from "../support/kubelet_source.ts";
import { serveRawTls } from "../support/tls.ts";

/** Status lines and headers that no Response can be made of, or that begin something else. */
const ANSWERS: readonly (readonly [line: string, reason: string, words: string | RegExp])[] = [
  ["101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n", "http", ": 101"],
  ["101 Switching Protocols\r\n", "http", ": 101"],
  ["204 No Content\r\n", "http", ": 204"],
  ["205 Reset Content\r\nContent-Length: 0\r\n", "http", ": 205"],
  ["304 Not Modified\r\n", "http", ": 304"],
  ["600 Whatever\r\nContent-Length: 0\r\n", "http", ": 600"],
  ["999 Whatever\r\nContent-Length: 0\r\n", "http", ": 999"],
  // No mode has to take it for an answer.
  ["099 Low\r\nContent-Length: 0\r\n", "(http|unreachable)", /./],
  ["000 Low\r\nContent-Length: 0\r\n", "(http|unreachable)", /./],
  ["1000 High\r\nContent-Length: 0\r\n", "unreachable", /./],
  ["500 caf\u00e9\u0001\r\nContent-Length: 0\r\n", "(http|unreachable)", /./],
  ["200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n", "unreachable", /./],
  ["200 OK\r\nx-a: a\u0001b\r\nContent-Length: 0\r\n", "unreachable", /./],
  ["200 OK\r\nx\0y: 1\r\n", "unreachable", /./],
  ["200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\nhello\r\n", "unreachable", /./],
  ["500 No\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\nhello\r\n", "http", ": 500"],
];

for (const { how, options: mode } of KUBELET_MODES) {
  for (const [line, reason, words] of ANSWERS) {
    const name = JSON.stringify(line.split("\r\n", 2).join(" "));
    Deno.test(`openDirectSource() fails in words at ${name} ${how}`, async () => {
      await using server = serveRawTls(`HTTP/1.1 ${line}\r\n`);
      const answer = await fetchFrom(server, mode);
      assert(answer.kind === "failed" && new RegExp(`^${reason}$`).test(answer.reason), readSummaryText(answer));
      assertFailed(answer, answer.reason, words);
      await settleEventLoop();
    });
  }

  Deno.test(`openDirectSource() takes what is no HTTP for unreachable ${how}`, async () => {
    for (const answer of ["SSH-2.0-OpenSSH_9.2\r\n", "{}\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]) {
      await using server = serveRawTls(answer);
      assertFailed(await fetchFrom(server, mode), "unreachable", /./);
    }
  });

  Deno.test(`openDirectSource() reads a summary behind hints, and beside bytes of headers that are no ASCII, ${how}`, async () => {
    const hints = "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n";
    await using server = serveRawTls(`${hints}HTTP/1.1 200 OK\r\nx-a: \u00ff\u00fe\r\nContent-Length: 2\r\n\r\n{}`);
    assertEquals(readSummaryText(await fetchFrom(server, mode)), "{}");
  });

  for (const silent of ["102 Processing\r\n", "200 OK\r\nContent-Length: 9\r\n", "500 No\r\nContent-Length: 9\r\n"]) {
    const name = JSON.stringify(silent.split("\r\n", 1)[0]);
    Deno.test(`openDirectSource() ends with its signal when nothing follows ${name} ${how}`, async () => {
      await using server = serveRawTls(`HTTP/1.1 ${silent}\r\n`);
      for (const reason of [timeoutError(4500), new Error("shutting down")]) {
        const controller = new AbortController();
        const answer = fetchFrom(server, { ...mode, signal: controller.signal });
        const before = server.seen.length;
        while (server.seen.length === before) await settleEventLoop();
        controller.abort(reason);
        if (reason instanceof DOMException) assertFailed(await answer, "timeout", "timed out after 4500 ms");
        else await assertRejects(() => answer, Error, "shutting down");
      }
    });
  }
}
