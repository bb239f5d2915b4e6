/**
 * The exact messages of every event about sizes, and the text of a change.
 * Clauses: C45, C50.
 */
import { assertEquals } from "#assert";
import { describeChange, listChangedFields } from "../../lib/model/resize_request.ts";
import * as words from "../../lib/vertical/notices/texts.ts";
import type { Notice } from "../../lib/model/reasons.ts";
import { MI, request, resources, SECOND, SIZE } from "../support/builders.ts";
import { Story } from "../support/story.ts";

const SUBJECT: words.NoticeSubject = { autoscaler: "uid-of-web", container: "main", pod: "web-1" };
const BIG = { ...SIZE, "cpu.requests": 180, "memory.limits": 300 * MI };
const SEVERAL = { to: BIG, changes: ["cpu.requests", "memory.limits"] } as const;

const KILLED = 'container "main" of pod "web-1" was OOM-killed';
const KILLS: readonly [words.OomKillDetails["why"], number | null, number, string][] = [
  [
    "unmanaged",
    256 * MI,
    1,
    `${KILLED} at a memory limit of 256Mi: the limit is not managed; raise it in the pod template, or add ` +
    "policy.memory.limits",
  ],
  [
    "atMax",
    256 * MI,
    3,
    `${KILLED} 3 times at a memory limit of 256Mi: the limit is at its bound; raise ` +
    "bounds.memory.limits.max",
  ],
  [
    "ignored",
    256 * MI,
    1,
    `${KILLED} at a memory limit of 256Mi: policy.memory.oom is ignore; raise the limit in the ` +
    "pod template, or set it to raise",
  ],
  [
    "unlimited",
    null,
    1,
    `${KILLED}: it has no memory limit of its own; the node, or a limit of the whole pod, had no ` +
    "more to give: raise memory.requests, or the pod's limit",
  ],
  [
    "node",
    256 * MI,
    1,
    `${KILLED} at a memory limit of 256Mi: the node ran out of memory, while the container was well ` +
    "below its limit; raise memory.requests, so that the pod gets a node with more room",
  ],
  [
    "unreached",
    64 * MI,
    2,
    `${KILLED} 2 times at a memory limit of 64Mi: its larger limit does not reach the pod's ` +
    "cgroup (https://github.com/kubernetes/kubernetes/issues/138760); delete the pod, and raise the limit in the pod " +
    "template",
  ],
];

const NOTICES: readonly [keyof typeof words, Notice, Notice["name"], string][] = [
  [
    "metricsUnavailable",
    words.metricsUnavailable(SUBJECT, 60 * SECOND),
    "MetricsUnavailable",
    'no new usage of container "main" of pod "web-1" for 60s: the container is not resized until there is',
  ],
  [
    "metricsUnavailable",
    words.metricsUnavailable(SUBJECT, 60_499),
    "MetricsUnavailable",
    'no new usage of container "main" of pod "web-1" for 60s: the container is not resized until there is',
  ],
  [
    "metricsRecovered",
    words.metricsRecovered(SUBJECT),
    "MetricsRecovered",
    'usage of container "main" of pod "web-1" is read again',
  ],
  [
    "baselineUnavailable",
    words.baselineUnavailable(SUBJECT, "cpu.requests"),
    "BaselineUnavailable",
    'cpu.requests of container "main" of pod "web-1" is missing or zero: there is nothing to compare usage with, so the field is ' +
    "skipped; set it in the pod template or remove policy.cpu.requests",
  ],
  [
    "baselineAvailable",
    words.baselineAvailable(SUBJECT, "memory.limits"),
    "BaselineAvailable",
    'memory.limits of container "main" of pod "web-1" is set again',
  ],
  [
    "resizeStuck",
    words.resizeStuck(SUBJECT, { reason: "ResizeInfeasible", why: "no room" }),
    "ResizePending",
    'Resize of pod "web-1" is stuck (ResizeInfeasible): no room',
  ],
  [
    "blocked",
    words.blocked(SUBJECT, { name: "ScaleFailed", action: "scaleUp", reason: "Quota", why: "exceeded quota" }),
    "ScaleFailed",
    'scaleUp of container "main" of pod "web-1" is blocked (Quota): exceeded quota',
  ],
  [
    "resizeMayRestart",
    words.resizeMayRestart(request(SEVERAL), "web-1", ["memory.limits"]),
    "ResizeMayRestart",
    'Resizing container "main" of pod "web-1" may restart it (resizePolicy RestartContainer): ' +
    "memory.limits 256Mi -> 300Mi",
  ],
  ...KILLS.map(([why, limitBytes, count, message]): typeof NOTICES[number] => {
    return ["oomKilled", words.oomKilled(SUBJECT, { why, limitBytes, count }), "OOMKilled", message];
  }),
  [
    "resized",
    words.resized(request(), "web-1"),
    "ScaleUp",
    'Scaled up container "main" of pod "web-1": cpu.requests 100m -> 150m (cpu.requests at 90 %)',
  ],
  [
    "resized",
    words.resized(request({ ...SEVERAL, action: "scaleDown", from: BIG, to: SIZE, why: "it idles" }), "web-1"),
    "ScaleDown",
    'Scaled down container "main" of pod "web-1": cpu.requests 180m -> 100m, memory.limits 300Mi -> 256Mi (it idles)',
  ],
  [
    "resized",
    words.resized(request({ ...SEVERAL, action: "revert", from: BIG, to: SIZE, why: "no room" }), "web-1"),
    "ResizePending",
    'Gave up a stuck resize of container "main" of pod "web-1": cpu.requests 180m -> 100m, ' +
    "memory.limits 300Mi -> 256Mi (no room)",
  ],
  [
    "resizeRefused",
    words.resizeRefused(request(SEVERAL), "web-1", {
      kind: "refused",
      reason: "Quota",
      message: "the server says Quota",
      resources: [],
      waitMs: null,
    }),
    "ScaleFailed",
    'Resize of container "main" of pod "web-1" was refused (Quota): the server says Quota; wanted ' +
    "cpu.requests 100m -> 180m, memory.limits 256Mi -> 300Mi",
  ],
];
for (const [name, notice, event, message] of NOTICES) {
  Deno.test(`${name}() says ${message.slice(0, 60)}${name === "oomKilled" ? message.slice(60) : ""} (C50${name === "oomKilled" ? ", L13" : ""})`, () => {
    assertEquals(notice, { autoscaler: "uid-of-web", name: event, message });
  });
}

Deno.test("every event of the core has its words checked (C50)", () => {
  assertEquals(
    new Set(NOTICES.map(([name]) => name)),
    new Set(Object.keys(words).filter((name) => !/^[A-Z]/.test(name))),
  );
});

Deno.test("describeChange() names each side with before and after, in units that people read", () => {
  const to = resources({ "cpu.requests": 1500, "memory.requests": 2048 * MI });
  assertEquals(
    describeChange(SIZE, to, listChangedFields(SIZE, to)),
    "cpu.requests 100m -> 1500m, cpu.limits 200m -> none, memory.requests 128Mi -> 2Gi, memory.limits 256Mi -> none",
  );
});

Deno.test("decideSize() says of an action what changed, and publishes a refusal in the server's words (C44, C45)", () => {
  const story = new Story({ load: { cpu: 90 } });
  story.answer = {
    kind: "refused",
    reason: "Quota",
    message: "exceeded quota: small",
    resources: [],
    waitMs: 20 * SECOND,
  };
  story.pollToRequest();
  story.answer = "enact";
  story.pollToRequest();
  assertEquals(story.scaled.map(({ change }) => change), ["cpu.requests 100m -> 150m"]);
  assertEquals(story.notices.map(({ message }) => message), [
    'Resize of container "main" of pod "web-1" was refused (Quota): exceeded quota: small; wanted ' +
    "cpu.requests 100m -> 150m",
    'Scaled up container "main" of pod "web-1": cpu.requests 100m -> 150m (cpu.requests at 90 %)',
  ]);
});
