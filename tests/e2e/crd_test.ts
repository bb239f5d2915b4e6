/**
 * The custom resource definition against a real API server: every good manifest is accepted, every bad one refused
 * with its field named (C7). Needs kubectl on PATH and KUBECONFIG; leaves the definition and an empty namespace.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { BAD_MANIFESTS } from "../support/bad_manifests.ts";
import { GOOD_MANIFESTS } from "../support/good_manifests.ts";
import { type Manifest, toManifest } from "../support/manifests.ts";

const NAMESPACE = "crd-table";
const CRD = new URL("../../crds/podresourceautoscaler.yaml", import.meta.url).pathname;
const PARALLEL = 4;

interface Answer {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

Deno.test("C1 C7 the API server agrees with every row of the table", async (t) => {
  await install();
  await t.step("accepts the good manifests", async () => {
    const failures = await eachManifest(GOOD_MANIFESTS, async ({ sentence, manifest }) => {
      const answer = await create(manifest);
      return answer.ok ? null : `${sentence}: ${answer.stderr}`;
    });
    assertEquals(failures, []);
  });
  await t.step("refuses the bad manifests and names the field", async () => {
    const failures = await eachManifest(BAD_MANIFESTS, async ({ sentence, manifest, serverPath }) => {
      const answer = await create(manifest);
      if (answer.ok) return `${sentence}: accepted`;
      return isNamed(answer.stderr, serverPath) ? null : `${sentence}: ${serverPath} is not named in ${answer.stderr}`;
    });
    assertEquals(failures, []);
  });
});

Deno.test("C2 C3 the API server fills in the defaults", async () => {
  await install();
  const answer = await create(toManifest({ "spec.paused": null }), ["-o", "json"]);
  const { spec } = JSON.parse(answer.stdout);
  const { paused, priority, policy: { after, delay } } = spec;
  assertEquals({ paused, priority, after, delay }, {
    paused: false,
    priority: 0,
    after: "containerReady",
    delay: "15s",
  });
});

Deno.test("C7 bounds for another resource are refused even when unknown fields are dropped", async () => {
  await install();
  const answer = await create(toManifest({ "spec.bounds": { storage: {} } }), ["--validate=ignore"]);
  assert(!answer.ok);
  assertStringIncludes(answer.stderr, "spec.bounds: Required value: bounds must have cpu and/or memory");
});

Deno.test("C7 a refusal says what to write instead", async () => {
  await install();
  const cases = {
    "spec.policy.cooldown": ["1d", "cooldown must be a duration such as 500ms, 30s, 2m30s or 1.5h"],
    "spec.containerName": ["my.app", "containerName must be the name of a container, such as my-app"],
    "spec.bounds.cpu.requests.max": ["2Q", `max must be a quantity such as 100m or "2"`],
    "spec.bounds.cpu.requests.step": [0, "step must be greater than 0"],
    "spec.selector": [{ matchLabels: { app: "web" } }, "selector must not be set together with target: keep one"],
    "spec.policy.cpu.requests.scaleUpThreshold": [40, "scaleUpThreshold must be greater than scaleDownThreshold"],
  };
  for (const [path, [value, words]] of Object.entries(cases)) {
    const { stderr } = await create(toManifest({ [path]: value }));
    assertStringIncludes(stderr, `${path}: `);
    assertStringIncludes(stderr, String(words));
  }
});

Deno.test("C5 C6 kubectl prints the columns of a status that podfit writes", async () => {
  await install();
  const name = `columns-${crypto.randomUUID().slice(0, 8)}`;
  const created = await kubectl(
    ["create", "-n", NAMESPACE, "-f", "-"],
    JSON.stringify(toManifest({ metadata: { name } })),
  );
  assert(created.ok, created.stderr);
  try {
    const options = ["--subresource=status", "--type=merge", "-p"];
    const patch = (status: unknown) =>
      kubectl(["patch", "pra", name, "-n", NAMESPACE, ...options, JSON.stringify({ status })]);
    const patched = await patch(STATUS);
    assert(patched.ok, patched.stderr);
    assertStringIncludes((await patch({ lastScaleAction: "up" })).stderr, "status.lastScaleAction: Unsupported value");
    const { stdout } = await kubectl(["get", "pra", name, "-n", NAMESPACE, "-o", "wide"]);
    const [header = "", row = ""] = stdout.trim().split("\n");
    assertEquals(header.split(/ {2,}/), [
      "NAME",
      "READY",
      "ACTIVE",
      "SCALING",
      "PAUSED",
      "LAST SCALE",
      "LAST CHANGE",
    ]);
    const [, ...cells] = row.split(/ {2,}/);
    assertEquals(cells.toSpliced(4, 1), ["True", "False", "true", "false", STATUS.lastScaleResourceChange]);
    assertMatch(cells[4] ?? "", /^[0-9]+[a-z]/);
  } finally {
    await kubectl(["delete", "pra", name, "-n", NAMESPACE, "--wait=false"]);
  }
});

Deno.test("kubectl explains a field", async () => {
  await install();
  const { stdout } = await kubectl(["explain", "podresourceautoscaler.spec.policy.cpu.requests.targetUtilization"]);
  assertMatch(stdout, /The utilization in percent that a resize\s+aims at/);
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
  conditions: [READY, { ...READY, type: "Active", status: "False", reason: "NoPods" }],
  observedGeneration: 1,
  effectiveSelector: {
    matchLabels: { app: "web" },
    matchExpressions: [{ key: "tier", operator: "In", values: ["front"] }],
  },
  lastScaleTime: "2026-01-02T03:04:05Z",
  lastScaleAction: "scaleUp",
  lastScaleResourceChange: "cpu.requests 100m -> 200m",
  scaling: true,
};

async function install(): Promise<void> {
  const applied = await kubectl(["apply", "-f", CRD]);
  assert(applied.ok, applied.stderr);
  const ready = await kubectl(["wait", "--for=condition=Established", "--timeout=30s", "-f", CRD]);
  assert(ready.ok, ready.stderr);
  const namespace = await kubectl(["create", "namespace", NAMESPACE]);
  assert(namespace.ok || namespace.stderr.includes("AlreadyExists"), namespace.stderr);
}

function create(manifest: Manifest, options: readonly string[] = []): Promise<Answer> {
  const args = ["create", "-n", NAMESPACE, "--validate=strict", "--dry-run=server", ...options, "-f", "-"];
  return kubectl(args, JSON.stringify(manifest));
}

async function kubectl(args: readonly string[], stdin = ""): Promise<Answer> {
  const command = new Deno.Command("kubectl", {
    args: [...args],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  });
  await using process = command.spawn();
  const writer = process.stdin.getWriter();
  await writer.write(new TextEncoder().encode(stdin));
  await writer.close();
  const { success, stdout, stderr } = await process.output();
  const decoder = new TextDecoder();
  return { ok: success, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

/** A few at a time; gives what went wrong. */
async function eachManifest<Row>(rows: readonly Row[], check: (row: Row) => Promise<string | null>): Promise<string[]> {
  const failures: string[] = [];
  const queue = rows.values();
  const work = async () => {
    for (const row of queue) {
      const failure = await check(row);
      if (failure !== null) failures.push(failure);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return failures;
}

/** As a whole path: `spec.target` is not named by `spec.target.name`, nor `specs` by a word that ends so. */
function isNamed(message: string, path: string): boolean {
  const literal = path.replace(/[.[\]]/g, "\\$&");
  return new RegExp(`(^|[^\\w.])${literal}($|[^\\w.[])`).test(message) || message.includes(`"${path}.`);
}
