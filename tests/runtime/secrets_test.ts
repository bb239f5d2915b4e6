import { assertEquals } from "#assert";
import { createLog, LOG_FORMATS } from "../../lib/runtime/log.ts";
import { keepSecret, redact } from "../../lib/runtime/secrets.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

Deno.test("redact() replaces every secret that was kept, wherever it stands", () => {
  keepSecret("first-s3cret");
  keepSecret("second-s3cret");
  assertEquals(redact("a first-s3cret, second-s3cret and first-s3cret!"), "a ***, *** and ***!");
  assertEquals(redact("nothing to hide"), "nothing to hide");
});

Deno.test("redact() leaves no part of a secret that begins or ends with another one, whichever was kept first", () => {
  for (const secret of ["passw0rd1", "passw0rd1-of-the-API", "t0ken-of-the-node", "node's t0ken-of-the-node"]) {
    keepSecret(secret);
  }
  assertEquals(redact("it is passw0rd1-of-the-API, was passw0rd1"), "it is ***, was ***");
  assertEquals(redact("node's t0ken-of-the-node or t0ken-of-the-node"), "*** or ***");
});

Deno.test("keepSecret() passes over what is too short to be one, as the words of a line would be lost with it", () => {
  keepSecret("");
  keepSecret("t");
  assertEquals(redact("the token"), "the token");
});

Deno.test("keepSecret() keeps the newest of very many, and one that is read again stays new", () => {
  keepSecret("read-again-and-again");
  for (let renewal = 0; renewal < 200; renewal++) {
    keepSecret(`renewed-token-${renewal}.`);
    keepSecret("read-again-and-again");
  }
  assertEquals(redact("renewed-token-0. renewed-token-199. read-again-and-again"), "renewed-token-0. *** ***");
});

for (const format of LOG_FORMATS) {
  Deno.test(`createLog() shows no secret in ${format} lines: not in a message, a field, an error or its causes`, () => {
    // As JSON has it, with a backslash more.
    const secret = 't0ken-with-"a-quote"';
    keepSecret(secret);
    const lines: string[] = [];
    const log = createLog({ level: "debug", format, clock: new VirtualClock(), write: (line) => lines.push(line) });
    const cause = new TypeError(`Invalid header value: Bearer ${secret}`);
    log.info(`Sent ${secret}`, { header: secret, deep: { list: [secret] } });
    log.with({ [secret]: 1 }).warn("Cannot send", { error: new Error(`Cannot send ${secret}`, { cause }) });
    assertEquals(lines.length, 2);
    assertEquals(lines.filter((line) => line.includes("t0ken-with") || line.includes("a-quote")), []);
    assertEquals(lines.every((line) => line.includes("***")), true);
  });
}
