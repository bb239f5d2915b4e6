/** What `podfit explain` says of a pod, word by word, on records of podfit beside an embedded cluster. */
import { assertEquals } from "#assert";
import { readPage } from "../../support/pages.ts";
import { ExplainRun, POLICY, SIDE, taker } from "../../support/explain_run.ts";

const IN_BAND = [
  "web has the size of its template, as podfit has not resized it in the 30s of its records; it stays (InBand): inside the",
  "thresholds.",
  "",
  "pod default/web, Burstable, on node-1; as of 4s ago (11:00:36Z)",
  "",
  "Container main, resized by PodResourceAutoscaler default/web",
  "  Usage, 9s ago (11:00:31Z): cpu 53m (over 12s), memory 21.9Mi",
  "                    SIZE  USED  DOWN BELOW  UP ABOVE  TARGET  BOUNDS       STREAK",
  "  cpu.requests      100m  53 %        10 %      80 %    60 %  -            -",
  "  cpu.limits           2                                      not managed",
  "  memory.requests   64Mi                                      not managed",
  "  memory.limits    256Mi                                      not managed",
  "  Decision: hold, InBand: inside the thresholds (so for 24s, 5 evaluations)",
  "  Headroom: its node has 3900m cpu and 15.9Gi memory left to request",
  "  If it wanted up now: every one of 23 gates would let it pass",
  "  If it wanted down now: every one of 23 gates would let it pass",
  "  Resizes: none in the 30s of records",
  "  What the next one waits for",
  "    - cpu.requests goes up once more than 80m (80 %) is used in 2 samples in a row",
  "    - cpu.requests goes down once less than 10m (10 %) is used in 2 samples in a row",
  "    At the earliest: 11:00:46Z, in 5s",
];

const RESIZED = [
  "web has this size because podfit changed cpu.requests 100m -> 485m 4s ago (11:01:01Z), seeing cpu.requests at 291 %; it",
  "stays (Warmup): waiting for a sample of the new size.",
  "",
  "pod default/web, Burstable, on node-1; as of 4s ago (11:01:01Z)",
  "",
  "Container main, resized by PodResourceAutoscaler default/web",
  "  Usage, 4s ago (11:01:01Z): cpu 291m (over 12s), memory 21.9Mi",
  "                    SIZE  USED  DOWN BELOW  UP ABOVE  TARGET  BOUNDS       STREAK",
  "  cpu.requests      485m  60 %        10 %      80 %    60 %  -            -",
  "  cpu.limits           2                                      not managed",
  "  memory.requests   64Mi                                      not managed",
  "  memory.limits    256Mi                                      not managed",
  "  Decision: hold, Warmup: waiting for a sample of the new size",
  "  Headroom: its node has 3515m cpu and 15.9Gi memory left to request",
  "  If it wanted up now: cooledDown would hold it (Cooldown, until 11:03:01Z)",
  "  If it wanted down now: cooledDown would hold it (Cooldown, until 11:03:01Z)",
  "  Resizes, newest first",
  "    4s ago (11:01:01Z)  cpu.requests 100m -> 485m  because cpu.requests at 291 %; in force after 0.0s",
  "  What the next one waits for",
  "    - cpu.requests goes up once more than 388m (80 %) is used in 2 samples in a row",
  "    - cpu.requests goes down once less than 49m (10 %) is used in 2 samples in a row",
  "    At the earliest: 11:03:01Z, in 1m56s",
];

const AT_BOUND = [
  "web has this size because podfit changed cpu.requests 485m -> 1500m 3m20s ago (11:03:01Z), seeing cpu.requests at 394 %,",
  "capped by max; it stays (AtBound): cpu.requests stays at 1500m: max leaves no room.",
  "",
  "pod default/web, Burstable, on node-1; as of 0s ago (11:06:21Z)",
  "",
  "Container main, resized by PodResourceAutoscaler default/web",
  "  Usage, 10s ago (11:06:11Z): cpu 1979m (over 18s), memory 21.9Mi",
  "                    SIZE   USED  DOWN BELOW  UP ABOVE  TARGET  BOUNDS       STREAK",
  "  cpu.requests     1500m  132 %        10 %      80 %    60 %  ..1500m      up: 16 of 2 samples",
  "  cpu.limits           2                                       not managed",
  "  memory.requests   64Mi                                       not managed",
  "  memory.limits    256Mi                                       not managed",
  "  Decision: hold, AtBound: cpu.requests stays at 1500m: max leaves no room (so for 2m55s, 36 evaluations)",
  "  Limited: AtBound has blocked its scale-ups for some samples, and does not end without a change",
  "  Headroom: its node has 2500m cpu and 15.9Gi memory left to request",
  "  Wanted: up",
  "    cpu.requests 1500m: cpu.requests at 132 %, which asks for 3298m; bounds (bounds min and max) makes it 1500m",
  "  Gates: the first that fails decides",
  "    FAIL  withRoom         AtBound: cpu.requests stays at 1500m: max leaves no room",
  "  Resizes, newest first",
  "    3m20s ago (11:03:01Z)  cpu.requests 485m -> 1500m  because cpu.requests at 394 %, capped by max; in force after 0.1s",
  "    5m20s ago (11:01:01Z)  cpu.requests 100m -> 485m  because cpu.requests at 291 %; in force after 0.0s",
  "  What the next one waits for",
  "    - cpu.requests stays at 1500m: max leaves no room; change bounds in its autoscaler to let it",
  "    At the earliest: not known, because time alone does not end what blocks it",
];

const QOS = [
  "web has the size of its template, as podfit has not resized it in the 1m of its records; it would go down (cpu.requests",
  "100m -> 11m), but QoSInvariantBlocked: the pod would turn from Guaranteed into Burstable, which a resize may not do;",
  "cpu.requests would part from cpu.limits: manage cpu.limits too, so that they move together, or give the pod a request",
  "below its limit.",
  "",
  "pod default/web, Guaranteed, on node-1; as of 4s ago (11:01:06Z)",
  "",
  "Container main, resized by PodResourceAutoscaler default/web",
  "  Usage, 9s ago (11:01:01Z): cpu 6m (over 12s), memory 21.9Mi",
  "                   SIZE  USED  DOWN BELOW  UP ABOVE  TARGET  BOUNDS       STREAK",
  "  cpu.requests     100m   6 %        10 %      80 %    60 %  -            down: 4 of 2 samples",
  "  cpu.limits       100m                                      not managed",
  "  memory.requests  64Mi                                      not managed",
  "  memory.limits    64Mi                                      not managed",
  "  Decision: blocked, QoSInvariantBlocked: the pod would turn from Guaranteed into Burstable, which a resize may not do;",
  "    cpu.requests would part from cpu.limits: manage cpu.limits too, so that they move together, or give the pod a",
  "    request below its limit (so for 39s, 8 evaluations)",
  "  Headroom: its node has 3900m cpu and 15.9Gi memory left to request",
  "  Wanted: down",
  "    cpu.requests 100m -> 11m: cpu.requests at 6 %, which asks for 11m",
  "  Gates: the first that fails decides",
  "    FAIL  qosUnchanged     QoSInvariantBlocked: the pod would turn from Guaranteed into Burstable, which a resize may",
  "          not do; cpu.requests would part from cpu.limits: manage cpu.limits too, so that they move together, or give",
  "          the pod a request below its limit",
  "  Resizes: none in the 1m of records",
  "  What the next one waits for",
  "    - the pod would turn from Guaranteed into Burstable, which a resize may not do; cpu.requests would part from",
  "      cpu.limits: manage cpu.limits too, so that they move together, or give the pod a request below its limit",
  "    At the earliest: not known, because time alone does not end what blocks it",
];

const DEFERRED = [
  "web has the size from before: podfit asked for cpu.requests 100m -> 860m 1m19s ago (11:00:21Z), seeing cpu.requests at",
  "515 %, and that is deferred: Node didn't have enough resource: cpu, requested: 860, used: 800, capacity: 1000; it would",
  "go up (cpu.requests 100m -> 831m), but Cooldown: cpu.requests would scale up; 45s of the cooldown are left.",
  "",
  "pod default/web, Burstable, on node-1; as of 4s ago (11:01:36Z)",
  "A resize is deferred for 1m19s: Node didn't have enough resource: cpu, requested: 860, used: 800, capacity: 1000",
  "",
  "Container main, resized by PodResourceAutoscaler default/web",
  "  Usage, 14s ago (11:01:26Z): cpu 498m (over 18s), memory 21.9Mi",
  "                    SIZE   USED  DOWN BELOW  UP ABOVE  TARGET  BOUNDS       STREAK",
  "  cpu.requests      100m  498 %        10 %      80 %    60 %  -            up: 6 of 2 samples",
  "  cpu.limits           2                                       not managed",
  "  memory.requests   64Mi                                       not managed",
  "  memory.limits    256Mi                                       not managed",
  "  Decision: blocked, Cooldown: cpu.requests would scale up; 45s of the cooldown are left (so for 1m4s, 13 evaluations)",
  "  Wanted: up",
  "    cpu.requests 100m -> 831m: cpu.requests at 498 %, which asks for 830m",
  "  Gates: the first that fails decides",
  "    FAIL  cooledDown       Cooldown: cpu.requests would scale up; 45s of the cooldown are left; until 11:02:21Z",
  "    FAIL  resizeIdle       ResizeDeferred: a resize of the pod is deferred: Node didn't have enough resource: cpu,",
  "          requested: 860, used: 800, capacity: 1000",
  "  Resizes, newest first",
  "    1m19s ago (11:00:21Z)  cpu.requests 100m -> 860m  because cpu.requests at 515 %; not seen in force yet",
  "  What the next one waits for",
  "    - cpu.requests would scale up; 45s of the cooldown are left",
  "    - a resize of the pod is deferred: Node didn't have enough resource: cpu, requested: 860, used: 800, capacity: 1000;",
  "      the kubelet tries again once its node has headroom",
  "    At the earliest: not known, because time alone does not end what blocks it",
];

/** Gates that pass have the same words everywhere. */
function withoutPassed(lines: readonly string[]): readonly string[] {
  return lines.filter((line) => !line.startsWith("    pass"));
}

Deno.test("explain says why a pod stays as its template has it, and what would move it", async () => {
  await using run = await ExplainRun.start();
  await run.advance(30);
  assertEquals(run.text(), IN_BAND);
});

Deno.test("explain says of a pod just resized what was changed, why, and how long it took", async () => {
  await using run = await ExplainRun.start();
  await run.advance(30);
  run.use(300);
  await run.resized(1);
  await run.advance(4);
  assertEquals(run.text(), RESIZED);
});

Deno.test("explain names every gate of a pod in cooldown, and when it ends", async () => {
  await using run = await ExplainRun.start({ spec: { bounds: { cpu: { requests: { max: "1500m" } } } } });
  await run.advance(30);
  run.use(300);
  await run.resized(1);
  run.use(1900);
  await run.advance(60);
  assertEquals(run.text(), await readPage("explain"));
  const [container] = run.explain().containers;
  const ends = (container?.resizedAt ?? 0) + 120_000;
  assertEquals([container?.decision.reason, container?.next.earliest], ["Cooldown", ends]);
  await run.resized(2);
  assertEquals((run.explain().containers[0]?.resizedAt ?? 0) - ends < 5_000, true);
});

Deno.test("explain says of a pod at its bound which one it is, and that it does not pass by itself", async () => {
  await using run = await ExplainRun.start({ spec: { bounds: { cpu: { requests: { max: "1500m" } } } } });
  await run.advance(30);
  run.use(300);
  await run.resized(1);
  run.use(1900);
  await run.advance(60);
  await run.resized(2);
  await run.advance(200);
  assertEquals(withoutPassed(run.text()), AT_BOUND);
});

Deno.test("explain says of a Guaranteed pod managed on one side what its class forbids, and what to do", async () => {
  const size = { cpu: "100m", memory: "64Mi" };
  const requests = { ...SIDE, scaleDown: { window: "0s" } };
  await using run = await ExplainRun.start({
    container: { requests: size, limits: size, cpuMillicores: 5 },
    spec: { policy: { ...POLICY, cpu: { requests } } },
  });
  await run.advance(60);
  assertEquals(withoutPassed(run.text()), QOS);
});

Deno.test("explain says of a pod whose resize is Deferred that it is not in force, in the kubelet's words", async () => {
  await using run = await ExplainRun.start({
    nodes: [{ name: "node-1", cpuMillicores: 1000 }],
    objects: [taker("800m")],
    scope: { namespaces: ["default"], node: null, pod: null },
  });
  run.use(500);
  await run.advance(90);
  assertEquals(withoutPassed(run.text()), DEFERRED);
});

Deno.test("explain says of a pod whose autoscaler only recommends what it has and what it would have", async () => {
  await using run = await ExplainRun.start({ spec: { mode: "recommend" } });
  run.use(300);
  await run.advance(60);
  const text = run.text();
  assertEquals(text.slice(0, 2), [
    "web has the size that it was given, as its autoscaler only recommends: cpu.requests 100m -> 522m; it stays (InBand):",
    "inside the thresholds.",
  ]);
  assertEquals(text.filter((line) => /RECOMMENDED|Resizes/.test(line)), [
    "                   RECOMMENDED  USED  DOWN BELOW  UP ABOVE  TARGET  BOUNDS       STREAK",
    "  Resizes: none by this autoscaler, which only recommends",
  ]);
});
