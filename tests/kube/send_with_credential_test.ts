/** What is sent after a 401, and what becomes of the answer that is not used. */
import { assertEquals, assertRejects } from "#assert";
import { sendWithCredential } from "../../lib/kube/transport.ts";
import type { Credential } from "../../lib/kube/config/credential.ts";

const toCredential = (token: string): Credential => ({
  authorization: { kind: "bearer", token },
  clientCertificate: null,
});

function start(tokens: readonly (string | Error)[], statuses: readonly number[]) {
  const rejected: (string | null)[] = [];
  const sent: string[] = [];
  let cancelled = 0;
  const toToken = ({ authorization }: Credential) => authorization?.kind === "bearer" ? authorization.token : "";
  return {
    rejected,
    sent,
    cancelled: () => cancelled,
    run: () =>
      sendWithCredential(
        (refused) => {
          const token = tokens[rejected.length] ?? "";
          rejected.push(refused === null ? null : toToken(refused));
          return token instanceof Error ? Promise.reject(token) : Promise.resolve(toCredential(token));
        },
        (credential) => {
          const status = statuses[sent.length] ?? 0;
          sent.push(toToken(credential));
          return Promise.resolve(new Response(new ReadableStream({ cancel: () => void cancelled++ }), { status }));
        },
      ),
  };
}

Deno.test("sendWithCredential() sends once where the answer is no 401", async () => {
  for (const status of [200, 403, 500]) {
    const call = start(["a", "b"], [status]);
    assertEquals((await call.run()).status, status);
    assertEquals([call.sent, call.rejected, call.cancelled()], [["a"], [null], 0]);
  }
});

Deno.test("sendWithCredential() sends once more with a newer credential, and no third time", async () => {
  const call = start(["a", "b", "c"], [401, 401, 200]);
  assertEquals((await call.run()).status, 401);
  assertEquals([call.sent, call.rejected, call.cancelled()], [["a", "b"], [null, "a"], 1]);
});

Deno.test("sendWithCredential() gives the 401 where there is no newer credential", async () => {
  const call = start(["a", "a"], [401, 200]);
  assertEquals((await call.run()).status, 401);
  assertEquals([call.sent, call.cancelled()], [["a"], 0]);
});

Deno.test("sendWithCredential() leaves no body open when no newer credential can be read", async () => {
  const call = start(["a", new Error("no program")], [401]);
  await assertRejects(call.run, Error, "no program");
  assertEquals([call.sent, call.cancelled()], [["a"], 1]);
});
