/** What tenants and operators write: autoscalers as objects and as files, kubeconfigs, and records of evaluations. */
import * as fc from "fast-check";
import type { Autoscaler } from "../../../../lib/model/autoscaler.ts";
import { toEffectivePolicy } from "../../../../lib/resources/pod_resource_autoscaler/profiles.ts";
import { parseAutoscaler } from "../../../../lib/resources/pod_resource_autoscaler/parse.ts";
import { lintManifests } from "../../../../lib/cli/lint/lint_files.ts";
import { parseAutoscalerFacts } from "../../../../lib/daemon/cluster/parse_objects.ts";
import type { PodResourceAutoscaler } from "../../../../lib/api/autoscaler.ts";
import { parseKubeconfig } from "../../../../lib/kube/config/parse_kubeconfig.ts";
import { parseRecord, parseState } from "../../../../lib/record/parse.ts";
import { NEW_POD_STATE } from "../../../../lib/model/state.ts";
import { stringify } from "../../../../lib/runtime/yaml.ts";
import { anyManifest } from "../../../support/manifest_arbitraries.ts";
import { autoscalerObject } from "../../../support/api_objects.ts";
import { edited, editedText } from "../hostile.ts";
import { must, mustBeFinite, mustBeOneLine, target } from "../target.ts";

/** Whatever was written, an autoscaler's numbers are within what the resource allows. */
function mustBeSane({ sides, pollIntervalMs, cooldownMs, delayMs, priority }: Autoscaler): void {
  mustBeFinite([pollIntervalMs, cooldownMs, delayMs], "times", { min: 0 });
  mustBeFinite(priority, "priority");
  for (const { key, bounds, scaleUpThresholdPercent, scaleDownThresholdPercent, up, down } of sides) {
    mustBeFinite([bounds, up, down], key, { min: 0 });
    must(scaleUpThresholdPercent >= 1 && scaleUpThresholdPercent <= 200, `${key} up at ${scaleUpThresholdPercent} %`);
    must(
      scaleDownThresholdPercent >= 0 && scaleDownThresholdPercent <= 200,
      `${key} down at ${scaleDownThresholdPercent} %`,
    );
    must((bounds.min ?? 0) <= (bounds.max ?? Infinity), `${key} from ${bounds.min} to ${bounds.max}`);
  }
}

function checkAutoscaler(object: unknown): void {
  const parsed = parseAutoscaler(object);
  if (!parsed.ok) {
    must(parsed.problems.length > 0 && parsed.problems.length <= 100, `${parsed.problems.length} problems`);
    for (const { path, message } of parsed.problems) mustBeOneLine(`${path}: ${message}`, "a problem");
    return;
  }
  mustBeSane(parsed.autoscaler);
  toEffectivePolicy(parsed.autoscaler);
}

const manifests = target({
  name: "manifests",
  weight: 20,
  arbitrary: anyManifest(),
  check: (text) => checkAutoscaler(JSON.parse(text)),
});

const PROFILE = {
  apiVersion: "keda.kedify.io/v1alpha1",
  kind: "PodResourceAutoscaler",
  metadata: { name: "web", namespace: "shop", uid: "uid", generation: 1 },
  spec: {
    target: { kind: "deployment", name: "web" },
    profile: "balanced",
    bounds: { cpu: { requests: { max: "2" } } },
  },
};

const shaped = target({
  name: "autoscalers-of-any-shape",
  weight: 20,
  arbitrary: edited([autoscalerObject(), PROFILE]),
  check(object) {
    checkAutoscaler(object);
    // What is no object at all is left out before.
    if (typeof object === "object" && object !== null) parseAutoscalerFacts(object as PodResourceAutoscaler);
  },
});

const FILES = [
  stringify(autoscalerObject()),
  `${stringify(PROFILE)}---\n${stringify({ kind: "List", items: [PROFILE] })}`,
];

/** A file with a few pieces of YAML put anywhere. */
function yamlText(files: readonly string[]): fc.Arbitrary<string> {
  const piece = fc.oneof(
    fc.constantFrom(
      "&a ",
      "*a",
      "<<: *a\n",
      "---\n",
      "? ",
      "- ",
      ": ",
      "|\n",
      ">-\n",
      "!!binary ",
      "!x ",
      "{",
      "}",
      "[",
      "]",
      "\t",
      "\n",
      "#",
      "%YAML 1.1\n",
      '"',
      "'",
      "\u0000",
      "\u2028",
    ),
    fc.string({ maxLength: 20 }),
  );
  const put = fc.record({ at: fc.nat(3000), remove: fc.nat(20), text: piece });
  return fc.tuple(fc.constantFrom(...files), fc.array(put, { maxLength: 4 })).map(([file, puts]) =>
    puts.reduce((text, { at, remove, text: inserted }) => {
      const from = at % (text.length + 1);
      return text.slice(0, from) + inserted + text.slice(from + remove);
    }, file)
  );
}

const files = target({
  name: "files",
  weight: 3,
  arbitrary: yamlText(FILES),
  check(text) {
    for (const { path, message, place } of lintManifests([{ name: "a.yaml", text }]).findings) {
      must(place.line >= 1 && place.column >= 1, `a finding at ${place.line}:${place.column}`);
      must(path.length + message.length < 5000, "a finding without an end");
    }
  },
});

const SECRET = "SECRETSECRET";
const KUBECONFIG = {
  apiVersion: "v1",
  kind: "Config",
  "current-context": "a",
  clusters: [{ name: "a", cluster: { server: "https://127.0.0.1:6443", "certificate-authority-data": "QQ==" } }],
  users: [
    { name: "a", user: { token: SECRET } },
    {
      name: "b",
      user: { exec: { apiVersion: "v1", command: "./x", args: [SECRET], env: [{ name: "A", value: SECRET }] } },
    },
  ],
  contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
};

const kubeconfigs = target({
  name: "kubeconfigs",
  weight: 6,
  arbitrary: fc.oneof(editedText([KUBECONFIG]), yamlText([stringify(KUBECONFIG)])),
  check(text) {
    try {
      parseKubeconfig({ path: "/config", text });
    } catch (error) {
      must(error instanceof Error && error.message.startsWith("Cannot parse kubeconfig"), `it throws ${error}`);
      must(!error.message.includes(SECRET), `it tells a secret: ${error.message}`);
    }
  },
});

const records = target({
  name: "records",
  weight: 6,
  arbitrary: edited([NEW_POD_STATE, { version: 1, before: NEW_POD_STATE, input: {}, outcome: {} }]),
  check(value) {
    for (const parsed of [parseState(value), parseRecord(value)]) {
      if (!parsed.ok) must(parsed.problems.length > 0, "it is refused without a reason");
    }
  },
});

export const MANIFEST_TARGETS = [manifests, shaped, files, kubeconfigs, records];
