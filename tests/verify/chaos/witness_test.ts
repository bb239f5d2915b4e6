/** The witness sees what it is there for: nothing of a run's "0" means anything otherwise. */
import { assertEquals } from "#assert";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { type Json, podObject } from "../../support/api_objects.ts";
import { PlainCluster } from "./plain_cluster.ts";
import { Stage } from "./stage.ts";
import { Wire } from "./wire.ts";
import { Witness } from "./witness.ts";

const RESIZE = { method: "PATCH", path: "/api/v1/namespaces/shop/pods/web-1/resize", isWatch: false, text: "" };

async function openCourt() {
  const clock = new VirtualClock();
  const stage = new Stage("court", { seed: "a" });
  const cluster = await PlainCluster.open({ clock, random: () => 0.5, load: () => 60 });
  const witness = new Witness({ stage, clock, bounds: { min: 50, max: 900 }, cooldownMs: 20_000 });
  witness.watch(cluster.api);
  cluster.put("pods", podObject());
  const resize = (cpu: string) => {
    const pod: Json = structuredClone(cluster.find("pods", "web-1"));
    pod.spec.containers[0].resources.requests.cpu = cpu;
    cluster.put("pods", pod);
  };
  return { clock, stage, cluster, witness, resize };
}

function listRules({ breaches }: Stage): readonly string[] {
  return breaches.map(({ rule }) => rule);
}

Deno.test("Witness tells a size outside of its bounds, and no other", async () => {
  const { clock, stage, witness, resize } = await openCourt();
  for (const [cpu, rules] of [["50m", []], ["900m", []], ["49m", ["wrong size"]], ["901m", ["wrong size"]]] as const) {
    stage.breaches.length = 0;
    await clock.advance(60_000);
    resize(cpu);
    assertEquals(listRules(stage), rules, cpu);
  }
  assertEquals(witness.resizes, 4);
});

Deno.test("Witness tells a second resize within a cooldown, also in the other direction, and not of another pod", async () => {
  const { clock, stage, cluster, resize } = await openCourt();
  resize("200m");
  await clock.advance(10_000);
  cluster.remove("pods", "web-1");
  const again = podObject();
  again.metadata.uid = "uid-of-another";
  cluster.put("pods", again);
  resize("300m");
  assertEquals(listRules(stage), []);
  await clock.advance(10_000);
  resize("250m");
  assertEquals(listRules(stage), ["double resize"]);
  await clock.advance(20_000);
  resize("300m");
  assertEquals(listRules(stage), ["double resize"]);
});

Deno.test("Witness tells a resize that is decided on old usage, or on a list that nobody tells of any more", async () => {
  const { clock, stage, cluster, witness } = await openCourt();
  const wire = new Wire(cluster.api.handle, { clock });
  const list = async () => {
    const response = await wire.send(new Request("http://api.test/api/v1/pods"));
    await response.text();
  };
  const judge = (sampledAt: number) =>
    witness.judge(RESIZE, { name: "podfit", wire, sampledAt: () => sampledAt }, "uid-web-1");
  await list();
  await clock.advance(300_000);
  judge(clock.now() - 60_000);
  assertEquals(listRules(stage), []);
  judge(clock.now() - 90_000);
  assertEquals(listRules(stage), ["stale resize"]);
  await clock.advance(60_000);
  judge(clock.now());
  assertEquals(listRules(stage), ["stale resize", "stale resize"]);
  await list();
  judge(clock.now());
  assertEquals(stage.breaches.length, 2);
});

Deno.test("Wire: a list that dribbles is no contact until it is whole, and its fault ends with it", async () => {
  const { clock, cluster } = await openCourt();
  const wire = new Wire(cluster.api.handle, { clock });
  const fault = wire.add({ effect: { kind: "dribble", everyMs: 1000 } });
  const text = wire.send(new Request("http://api.test/api/v1/pods")).then((response) => response.text());
  await clock.advance(60_000);
  assertEquals(wire.contactMs("/api/v1/pods"), null);
  fault[Symbol.dispose]();
  await clock.advance(1000);
  assertEquals(JSON.parse(await text).items.length, 1);
  assertEquals([wire.contactMs("/api/v1/pods"), clock.pending], [61_000, 0]);
});

Deno.test("Wire: what is cut off neither arrives nor is answered", async () => {
  const { clock, cluster } = await openCourt();
  const seen: string[] = [];
  const wire = new Wire((request) => {
    seen.push(request.url);
    return cluster.api.handle(request);
  }, { clock });
  wire.cut();
  const ending = new AbortController();
  const sent = wire.send(new Request("http://api.test/api/v1/pods", { signal: ending.signal }));
  sent.catch(() => {});
  await clock.advance(60_000);
  ending.abort(new Error("it was ended"));
  assertEquals(await sent.catch((error) => error.message), "it was ended");
  assertEquals(seen, []);
});
