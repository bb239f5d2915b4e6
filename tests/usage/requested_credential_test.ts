/** Which tokens do kubelets get, how long, and what when there are none? */
import { assert, assertEquals, assertRejects } from "#assert";
import type { Credential } from "../../lib/kube/config/credential.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { createKubeletCredential } from "../../lib/usage/kubelet/credential.ts";
import { apiServer, bearer } from "../support/kubelet_source.ts";

const HOUR_MS = 3_600_000;

Deno.test("createKubeletCredential() asks for a token of the second account, in podfit's own namespace, and keeps it", async () => {
  const run = start();
  assertEquals([await run.read(), await run.read()], ["t1", "t1"]);
  const spec = { expirationSeconds: 3600 };
  assertEquals(run.asked, [
    ["POST", "/api/v1/namespaces/pods-of-podfit/serviceaccounts/podfit-kubelet/token", {
      kind: "TokenRequest",
      apiVersion: "authentication.k8s.io/v1",
      spec,
    }],
  ]);
});

Deno.test("createKubeletCredential() renews a token after 80 % of its life, and nobody waits for that", async () => {
  const run = start();
  await run.read();
  await run.clock.advance(0.8 * HOUR_MS - 1);
  assertEquals([await run.read(), run.asked.length], ["t1", 1]);
  await run.clock.advance(1);
  assertEquals(await run.read(), "t1");
  await run.clock.advance(0);
  assertEquals([await run.read(), run.asked.length], ["t2", 2]);
});

Deno.test("createKubeletCredential() goes by the life that the server gave the token", async () => {
  const run = start((count) => token(count, 600));
  await run.read();
  await run.clock.advance(480_000);
  await run.read();
  await run.clock.advance(0);
  assertEquals(await run.read(), "t2");
});

Deno.test("createKubeletCredential() gives a token as long as it is good while it cannot be renewed, and then none", async () => {
  const run = start((count) => count === 1 ? token(count) : new Response("", { status: 500 }));
  await run.read();
  await run.clock.advance(HOUR_MS - 1);
  assertEquals(await run.read(), "t1");
  await run.clock.advance(0);
  assertEquals(await run.read(), "t1");
  await run.clock.advance(10_000);
  const message = 'Cannot get a token of service account "pods-of-podfit/podfit-kubelet": 500';
  await assertRejects(() => run.read(), Error, message);
});

Deno.test("createKubeletCredential() asks again no sooner than 10 s after a failure", async () => {
  const run = start((count) => count <= 2 ? new Response("", { status: 503 }) : token(count));
  for (let second = 0; second < 20; second++) {
    await assertRejects(() => run.read(), Error, "503");
    await run.clock.advance(1000);
  }
  assertEquals([await run.read(), run.asked.length], ["t3", 3]);
});

Deno.test("createKubeletCredential() waits no longer than 5 s for an answer", async () => {
  const run = start((_, signal) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
  );
  const reading = assertRejects(() => run.read(), DOMException, "Timed out after 5000 ms");
  await run.clock.advance(5000);
  await reading;
  assertEquals(run.clock.pending, 0);
});

for (const status of [403, 404]) {
  Deno.test(`createKubeletCredential() gives none where the right or the account is missing (${status}), and says what to apply (C54)`, async () => {
    const run = start((count) => count === 1 ? refusal(status) : token(count));
    const why =
      `Cannot get a token of service account "pods-of-podfit/podfit-kubelet": ${status} no such thing; apply ` +
      "deploy/install.yaml, which has that account and the right to its tokens, or set --kubelet-own-credential";
    assertEquals((await assertRejects(() => run.read(), Error)).message, why);
    await run.clock.advance(10_000);
    assertEquals([await run.read(), run.asked.length], ["t2", 2]);
  });
}

Deno.test("createKubeletCredential() never gives podfit's own credential because of an API server that fails (C54)", async () => {
  const answers: readonly (() => Response)[] = [
    () => new Response("", { status: 401 }),
    () => new Response("", { status: 429 }),
    () => new Response("", { status: 500 }),
    () => new Response(""),
    () => Response.json({ status: {} }),
    () => Response.json({ status: { token: "" } }),
    () => Response.json({ status: { token: 7 } }),
    () => Response.error(),
  ];
  for (const answer of answers) {
    const run = start(answer);
    const error = await assertRejects(() => run.read(), Error);
    assert(error.message.startsWith("Cannot get a token"), error.message);
  }
});

Deno.test("createKubeletCredential() refuses a token that no header may hold, and never prints it", async () => {
  for (const wrong of ["secret\n", "sec\0ret", "secr\u00e9t", "sec ret"]) {
    const run = start(() => Response.json({ status: { token: wrong } }));
    const error = await assertRejects(() => run.read(), Error);
    assertEquals(error.message, "Cannot get a token for kubelets: the API server answered without one");
  }
});

Deno.test("createKubeletCredential() asks for another token when a kubelet refuses the present one", async () => {
  const run = start();
  const first = await run.read();
  assertEquals(await run.read(bearer("of another time")), "t1");
  assertEquals(await run.read(bearer(first)), "t2");
});

Deno.test("createKubeletCredential() asks once for all who wait", async () => {
  const run = start();
  assertEquals(await Promise.all([run.read(), run.read(), run.read()]), ["t1", "t1", "t1"]);
  assertEquals(run.asked.length, 1);
});

function start(answer: (count: number, signal: AbortSignal) => Response | Promise<Response> = (count) => token(count)) {
  const clock = new VirtualClock();
  const asked: (readonly [string, string, unknown])[] = [];
  const server = {
    ...apiServer(async (request) => {
      asked.push([request.method, new URL(request.url).pathname, await request.json()]);
      return await answer(asked.length, request.signal);
    }),
    namespace: "pods-of-podfit",
    getCredential: () => Promise.resolve(bearer("own")),
  };
  const readCredential = createKubeletCredential(server, clock);
  async function read(rejected: Credential | null = null): Promise<string> {
    const { authorization, clientCertificate } = await readCredential(rejected);
    assert(authorization?.kind === "bearer" && clientCertificate === null);
    return authorization.token;
  }
  return { clock, asked, read };
}

function token(count: number, expirationSeconds = 3600): Response {
  return Response.json({ spec: { expirationSeconds }, status: { token: `t${count}` } }, { status: 201 });
}

function refusal(status: number): Response {
  return Response.json({ kind: "Status", message: "no such thing" }, { status });
}
