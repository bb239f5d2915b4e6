/** With what does podfit authenticate itself to kubelets, and what does a kubelet's refusal lead to? */
import { assertEquals } from "#assert";
import type { Credential, GetCredential } from "../../lib/kube/config/credential.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { openDirectSource } from "../../lib/usage/kubelet/fetch_summary.ts";
import type { KubeletRequest } from "../../lib/usage/kubelet/client.ts";
import { apiServer, assertFailed, bearer, nodeAt, readSummaryText } from "../support/kubelet_source.ts";

const HINT = ": 401 Unauthorized; the kubelet doesn't know podfit's credential: turn on authentication.webhook";

Deno.test("openDirectSource() has a refused credential read again, and sends the question once more (C54)", async () => {
  const kubelet = start(["new"], (rejected) => Promise.resolve(bearer(rejected === null ? "old" : "new")));
  assertEquals(readSummaryText(await kubelet.poll()), "{}");
  assertEquals(kubelet.sent, ["Bearer old", "Bearer new"]);
  assertEquals(kubelet.rejected, ["Bearer old"]);
});

Deno.test("openDirectSource() tells a refusal where there is no other credential", async () => {
  const kubelet = start([], () => Promise.resolve(bearer("old")));
  assertFailed(await kubelet.poll(), "unauthorized", HINT);
  assertEquals(kubelet.sent, ["Bearer old"]);
});

Deno.test("openDirectSource() tells a refusal of the newer credential too, and asks no third time", async () => {
  const kubelet = start([], (rejected) => Promise.resolve(bearer(rejected === null ? "old" : "new")));
  assertFailed(await kubelet.poll(), "unauthorized", HINT);
  assertEquals(kubelet.sent, ["Bearer old", "Bearer new"]);
});

Deno.test("openDirectSource() tells why a credential could not be read again", async () => {
  const kubelet = start(
    [],
    (rejected) => rejected === null ? Promise.resolve(bearer("old")) : Promise.reject(new Error("Cannot run plugin")),
  );
  assertFailed(await kubelet.poll(), "unauthorized", ": Cannot run plugin");
});

Deno.test("openDirectSource() has credentials read again once a minute at most, for a kubelet that refuses them all", async () => {
  let loaded = 0;
  const kubelet = start([], (rejected) => Promise.resolve(bearer(`t${rejected === null ? loaded : ++loaded}`)));
  for (let second = 0; second < 120; second++) {
    assertFailed(await kubelet.poll(), "unauthorized", HINT);
    await kubelet.clock.advance(1000);
  }
  assertEquals(kubelet.rejected, ["Bearer t0", "Bearer t1"]);
});

Deno.test("openDirectSource() shares one reading among the kubelets that refuse at the same time", async () => {
  const newer = Promise.withResolvers<Credential>();
  const kubelet = start(["new"], (rejected) => rejected === null ? Promise.resolve(bearer("old")) : newer.promise);
  const polls = [kubelet.poll(), kubelet.poll(), kubelet.poll()];
  await kubelet.clock.advance(0);
  newer.resolve(bearer("new"));
  assertEquals((await Promise.all(polls)).map(readSummaryText), ["{}", "{}", "{}"]);
  assertEquals(kubelet.rejected, ["Bearer old"]);
});

Deno.test("openDirectSource() shows kubelets a certificate, and no password", async () => {
  const certificate = { cert: "C", key: "K" };
  const basic = { kind: "basic", username: "u", password: "p" } as const;
  const kubelet = start([null], () => Promise.resolve({ authorization: basic, clientCertificate: certificate }));
  assertEquals(readSummaryText(await kubelet.poll()), "{}");
  assertEquals([kubelet.sent, kubelet.certificates], [[null], [certificate]]);
});

Deno.test("openDirectSource() asks once a second for the credential of all polls, and a newer one is in use then", async () => {
  let asked = 0;
  const kubelet = start(["t1", "t2"], () => Promise.resolve(bearer(++asked === 1 ? "t1" : "t2")));
  const poll = async () => assertEquals(readSummaryText(await kubelet.poll()), "{}");
  await poll();
  await kubelet.clock.advance(999);
  await poll();
  assertEquals([asked, kubelet.sent], [1, ["Bearer t1", "Bearer t1"]]);
  await kubelet.clock.advance(1);
  await Promise.all([poll(), poll()]);
  assertEquals(kubelet.sent.slice(2), ["Bearer t2", "Bearer t2"]);
  await poll();
  assertEquals(asked, 3);
});

Deno.test("openDirectSource() sends kubelets the credential that it is given, and not that of the API server", async () => {
  const kubelet = start(["own"], () => Promise.resolve(bearer("own")));
  assertEquals(readSummaryText(await kubelet.poll()), "{}");
  assertEquals(kubelet.sent, ["Bearer own"]);
});

/** A kubelet that accepts these tokens; `null`: none. */
function start(accepted: readonly (string | null)[], readCredential: GetCredential) {
  const clock = new VirtualClock();
  const sent: (string | null)[] = [];
  const rejected: (string | null)[] = [];
  const certificates: unknown[] = [];
  const client = {
    send(_url: string, { headers, certificate }: KubeletRequest): Promise<Response> {
      const authorization = headers["authorization"] ?? null;
      sent.push(authorization);
      certificates.push(certificate);
      const isAccepted = accepted.some((token) => authorization === (token === null ? null : `Bearer ${token}`));
      return Promise.resolve(isAccepted ? new Response("{}") : new Response("Unauthorized", { status: 401 }));
    },
    [Symbol.dispose]() {},
  };
  const source = openDirectSource(apiServer(), {
    clock,
    client,
    getCredential(refused) {
      if (refused?.authorization?.kind === "bearer") rejected.push(`Bearer ${refused.authorization.token}`);
      return readCredential(refused);
    },
  });
  const poll = () => source.fetchSummary(nodeAt("10.0.0.1", 10250), new AbortController().signal);
  return { clock, sent, rejected, certificates, poll };
}
