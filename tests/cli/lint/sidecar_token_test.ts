/** Which containers get the token of a sidecar, as lint sees it? */
import { assertEquals, assertStringIncludes } from "#assert";
import { lintManifests } from "../../../lib/cli/lint/lint_files.ts";
import type { Json } from "../../support/api_objects.ts";

const FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";
const MOUNT = { name: "token", mountPath: FOLDER };
const VOLUME = { name: "token", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } };

interface Case {
  readonly automounts?: boolean;
  /** Mounts of the containers podfit, app and other. */
  readonly podfit?: readonly Json[];
  readonly app?: readonly Json[];
  readonly volumes?: readonly Json[];
  readonly labels?: Json;
  readonly expected: readonly string[];
}

const CASES: Readonly<Record<string, Case>> = {
  "of a pod that mounts it into all": { automounts: true, expected: ["app", "other"] },
  "of a pod that says nothing": { expected: ["app", "other"] },
  "of a pod that says nothing, and gives podfit a volume": { podfit: [MOUNT], volumes: [VOLUME], expected: [] },
  "of a pod that mounts it into all, and gives podfit a volume": {
    automounts: true,
    podfit: [MOUNT],
    volumes: [VOLUME],
    expected: ["app", "other"],
  },
  "of the example's form": { automounts: false, podfit: [MOUNT], volumes: [VOLUME], expected: [] },
  "of a volume that the app mounts too, at a place of its own": {
    automounts: false,
    podfit: [MOUNT],
    app: [{ ...MOUNT, mountPath: "/token" }],
    volumes: [VOLUME],
    expected: ["app"],
  },
  "of a pod that mounts it into all but the app, which has another volume there": {
    automounts: true,
    app: [{ name: "empty", mountPath: FOLDER }],
    volumes: [{ name: "empty", emptyDir: {} }],
    expected: ["other"],
  },
  "of a pod without a sidecar": { automounts: true, labels: { app: "web" }, expected: [] },
};

for (const [what, { expected, ...given }] of Object.entries(CASES)) {
  Deno.test(`lint finds the containers that share the token ${what}`, () => {
    const text = [toWorkload(given), AUTOSCALER].map((one) => JSON.stringify(one)).join("\n---\n");
    const found = lintManifests([{ name: "web.yaml", text }]).findings.filter(({ rule }) => rule === "sidecar-token");
    assertEquals(
      found.map(({ level, path }) => `${level} ${path}`),
      expected.length === 0 ? [] : ["warning spec.target"],
    );
    const names = expected.map((name) => `"${name}"`).join(", ");
    if (expected.length > 0) assertStringIncludes(found[0]?.message ?? "", `token of its sidecar into ${names} too`);
  });
}

function toWorkload({ automounts, podfit = [], app = [], volumes = [], labels }: Omit<Case, "expected">): Json {
  const own = labels ?? { app: "web", "podfit.dev/mode": "sidecar" };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: own },
        spec: {
          ...(automounts !== undefined && { automountServiceAccountToken: automounts }),
          initContainers: [{ name: "podfit", restartPolicy: "Always", volumeMounts: podfit }],
          containers: [{ name: "app", volumeMounts: app }, { name: "other" }],
          volumes,
        },
      },
    },
  };
}

const AUTOSCALER = {
  apiVersion: "keda.kedify.io/v1alpha1",
  kind: "PodResourceAutoscaler",
  metadata: { name: "web" },
  spec: { target: { kind: "deployment", name: "web" }, profile: "balanced" },
};
