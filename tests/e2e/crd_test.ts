/**
 * The custom resource definition in force: every good manifest is accepted, every bad one refused
 * with its field named (C7). The traps in crd_traps_test.ts are many more; these are the ones with a sentence each.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "#assert";
import { BAD_MANIFESTS } from "../support/bad_manifests.ts";
import { parseAutoscaler } from "../../lib/resources/pod_resource_autoscaler/parse.ts";
import { GOOD_MANIFESTS } from "../support/good_manifests.ts";
import { SIDE, toManifest } from "../support/manifests.ts";
import { isNamed } from "./support/agreement.ts";
import { eachRow, openDryRun } from "./support/dry_run.ts";
import { kubectl, tryKubectl } from "./support/kubectl.ts";
import { scenario } from "./support/needs.ts";

const MEMORY_PERCENTILE = "spec.policy.memory.limits.scaleDown.percentile";

scenario("C1 C7 L50 L54 the API server agrees with every row of the table", {
  async run({ namespace }) {
    await using server = await openDryRun(namespace);
    const refused = await eachRow(GOOD_MANIFESTS, async ({ sentence, manifest }) => {
      const { isAccepted, message } = await server.ask(JSON.stringify(manifest));
      return isAccepted ? null : `${sentence}: ${message}`;
    });
    assertEquals(refused, []);
    const missed = await eachRow(BAD_MANIFESTS, async ({ sentence, manifest, path }) => {
      const { isAccepted, message } = await server.ask(JSON.stringify(manifest));
      if (isAccepted) return `${sentence}: accepted`;
      return isNamed(message, path) ? null : `${sentence}: ${path} is not named in ${message}`;
    });
    assertEquals(missed, []);
  },
});

scenario("C7 bounds for another resource are refused even when unknown fields are dropped", {
  async run({ namespace }) {
    await using server = await openDryRun(namespace, { fieldValidation: "Ignore" });
    const answer = await server.ask(JSON.stringify(toManifest({ "spec.bounds": { storage: {} } })));
    assert(!answer.isAccepted);
    assertStringIncludes(answer.message, "spec.bounds: Required value: bounds must have cpu and/or memory");
  },
});

/** Fields that exist elsewhere in a policy, and have no meaning here. */
const DROPPED: Readonly<Record<string, readonly [value: unknown, unknown: string]>> = {
  "spec.policy.scaleUp": [{ window: "15m" }, "spec.policy.scaleUp.window"],
  "spec.policy.memory": [{ limits: { ...SIDE, scaleDown: { percentile: 95 } } }, MEMORY_PERCENTILE],
};

scenario("L54 kubectl refuses a window of scale-ups and a percentile of memory, other clients drop them", {
  async run({ namespace }) {
    await using strict = await openDryRun(namespace);
    await using lax = await openDryRun(namespace, { fieldValidation: "Warn" });
    for (const [path, [value, unknown]] of Object.entries(DROPPED)) {
      const text = JSON.stringify(toManifest({ [path]: value }));
      assertStringIncludes((await strict.ask(text)).message, `strict decoding error: unknown field "${unknown}"`);
      const { isAccepted, object } = await lax.ask(text);
      assert(isAccepted);
      const parsed = parseAutoscaler(object);
      assert(parsed.ok, "what is stored is valid");
      const spec = JSON.stringify((object as { readonly spec: unknown }).spec);
      assert(!spec.includes(unknown.slice(unknown.lastIndexOf(".") + 1)), spec);
    }
  },
});

scenario("C7 a refusal says what to write instead", {
  async run({ namespace }) {
    await using server = await openDryRun(namespace);
    const cases = {
      "spec.policy.cooldown": ["1d", "cooldown must be a duration such as 500ms, 30s, 2m30s or 1.5h"],
      "spec.containerName": ["my.app", "containerName must be the name of a container, such as my-app"],
      "spec.bounds.cpu.requests.max": ["2Q", `max must be a quantity such as 100m or "2"`],
      "spec.bounds.cpu.requests.step": [0, "step must be greater than 0"],
      "spec.selector": [{ matchLabels: { app: "web" } }, "selector must not be set together with target: keep one"],
      "spec.policy.cpu.requests.scaleUpThreshold": [40, "scaleUpThreshold must be greater than scaleDownThreshold"],
    };
    for (const [path, [value, words]] of Object.entries(cases)) {
      const { message } = await server.ask(JSON.stringify(toManifest({ [path]: value })));
      assertStringIncludes(message, `${path}: `);
      assertStringIncludes(message, String(words));
    }
  },
});

scenario("C1 C5 C6 kubectl prints the columns of a status that podfit writes", {
  realOnly: "kubectl reaches no API server that is in process",
  async run({ namespace }) {
    await kubectl(["create", "-n", namespace, "-f", "-"], {
      input: JSON.stringify(toManifest({ "spec.mode": "apply", "spec.profile": "balanced" })),
    });
    const options = ["--subresource=status", "--type=merge", "-p"];
    const patch = (status: unknown) =>
      tryKubectl(["patch", "pra", "web", "-n", namespace, ...options, JSON.stringify({ status })]);
    const patched = await patch(STATUS);
    assertEquals(patched.code, 0, patched.stderr);
    assertStringIncludes((await patch({ lastScaleAction: "up" })).stderr, "status.lastScaleAction: Unsupported value");
    const [header = "", row = ""] = (await kubectl(["get", "pra", "web", "-n", namespace, "-o", "wide"])).trim().split(
      "\n",
    );
    assertEquals(header.split(/ {2,}/), [
      "NAME",
      "TARGET",
      "PODS",
      "CPU",
      "MEMORY",
      "LIMITED",
      "READY",
      "AGE",
      "MODE",
      "PROFILE",
      "WAITING",
      "LAST CHANGE",
      "LAST SCALE",
    ]);
    const [, ...cells] = row.split(/ {2,}/);
    const [age = "", lastScale = ""] = [cells[6], cells[11]];
    assertEquals(cells.filter((_, index) => index !== 6 && index !== 11), [
      "web",
      "3",
      "250m",
      "96Mi",
      "False",
      "True",
      "apply",
      "balanced",
      "Quota",
      STATUS.lastScaleResourceChange,
    ]);
    for (const time of [age, lastScale]) assertMatch(time, /^[0-9]+[a-z]/);
  },
});

scenario("kubectl explains a field", {
  realOnly: "the embedded API server serves no OpenAPI",
  async run() {
    const text = await kubectl(["explain", "podresourceautoscaler.spec.policy.cpu.requests.targetUtilization"]);
    assertMatch(text, /The utilization in percent after a resize \(1 to 100\)/);
    const conditions = await kubectl(["explain", "podresourceautoscaler.status.conditions"]);
    assertMatch(conditions.replaceAll(/\s+/g, " "), / Limited: a pod needs more than it can be given/);
    // kubectl shows no default of a field, so its words have it.
    assertMatch(await kubectl(["explain", "podresourceautoscaler.spec.mode"]), /apply \(the default\)/);
  },
});

const READY = {
  type: "Ready",
  status: "True",
  reason: "Valid",
  message: "",
  lastTransitionTime: "2026-01-02T03:04:05Z",
  observedGeneration: 1,
};

const STATUS = {
  conditions: [READY, { ...READY, type: "Active", status: "False", reason: "NoPods" }, {
    ...READY,
    type: "Limited",
    status: "False",
    reason: "NotLimited",
  }],
  observedGeneration: 1,
  effectiveSelector: {
    matchLabels: { app: "web" },
    matchExpressions: [{ key: "tier", operator: "In", values: ["front"] }],
  },
  lastScaleTime: "2026-01-02T03:04:05Z",
  lastScaleAction: "scaleUp",
  lastScaleResourceChange: "cpu.requests 100m -> 200m",
  scaling: true,
  pods: 3,
  requests: { cpu: "250m", memory: "96Mi" },
  waiting: "Quota",
  containers: [
    { name: "app", pods: 3, current: { requests: { cpu: "200m", memory: "64Mi" } } },
    { name: "proxy", pods: 3, wanted: { requests: { cpu: "70m" } }, waiting: "Quota" },
  ],
};
