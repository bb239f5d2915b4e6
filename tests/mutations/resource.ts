/** Slips in the resource itself: its definition, and how podfit reads a spec (C1 to C8). */
import type { Mutations } from "../../tools/mutation.ts";

export const RESOURCE: Mutations = {
  C1: [
    {
      breaks: "has another short name",
      file: "crds/podresourceautoscaler.yaml",
      find: "shortNames: [pra]",
      replace: "shortNames: [pras]",
      test: "C1 the definition has the public names and the status subresource",
    },
    {
      breaks: "has no status subresource",
      file: "crds/podresourceautoscaler.yaml",
      find: "        status: {}",
      replace: "        scale: null",
      test: "C1 C5 C6 kubectl prints the columns of a status that podfit writes",
    },
    {
      breaks: "takes any apiVersion",
      in: "parseAutoscaler",
      find: 'root.word("apiVersion", ["keda.kedify.io/v1alpha1"])',
      replace: 'root.require(["apiVersion"])',
      test: "C1 parseAutoscaler() refuses another kind, another version and metadata that no API server would store",
    },
    {
      breaks: "matches pods of every namespace",
      in: "SelectorIndex.move",
      find: "this.#namespaces.get(namespace)",
      replace: "[...this.#namespaces.values()][0]",
      test: "Inventory keeps namespaces apart (C1)",
    },
  ],
  C2: [
    {
      breaks: "fills in another priority",
      file: "crds/podresourceautoscaler.yaml",
      find: "                  default: 0",
      replace: "                  default: 1",
      test: "C2 C3 the API server takes null for absent and fills in the defaults",
    },
  ],
  C3: [
    {
      breaks: "waits for the pod where the container would do",
      in: "parsePolicy",
      find: '?? "containerReady"',
      replace: '?? "podReady"',
      test: "C3 C36 parseAutoscaler() applies defaults and resolves what a side overrides",
    },
  ],
  C4: [
    {
      breaks: "knows no stepPercent",
      in: "parseBounds",
      find: ', "stepPercent"',
      replace: "",
      test: "C2 C3 C4 the parser knows the same fields as the definition, in every object of spec",
    },
    {
      breaks: "takes bounds of another resource",
      in: "parseBounds",
      find: ', ["cpu", "memory"]',
      replace: ', ["cpu", "memory", "storage"]',
      test: "C2 C3 C4 the parser knows the same fields as the definition, in every object of spec",
    },
    {
      breaks: "has another stepPercent for memory",
      file: "crds/podresourceautoscaler.yaml",
      find:
        "                            stepPercent:\n                              description: >-\n                                The most that one resize changes the memory limit",
      replace:
        "                            percent:\n                              description: >-\n                                The most that one resize changes the memory limit",
      test: "C3 C4 all resource fields have the same schema but for their words, and a percentile for CPU alone (L54)",
    },
  ],
  C5: [
    {
      breaks: "has another name for the last change",
      file: "crds/podresourceautoscaler.yaml",
      find: "                lastScaleResourceChange:",
      replace: "                lastScaleChange:",
      test: "C5 the definition has the fields of the status",
    },
    {
      breaks: "refuses the actions that are written",
      file: "crds/podresourceautoscaler.yaml",
      find: "enum: [scaleUp, scaleDown]",
      replace: "enum: [ScaleUp, ScaleDown]",
      test: "C1 C5 C6 kubectl prints the columns of a status that podfit writes",
    },
    {
      breaks: "keeps the generation that it saw to itself",
      in: "nextStatus",
      find: "observedGeneration:",
      replace: "observedGeneration: before.observedGeneration ??",
      test: "nextStatus() observes the generation that it judges, and tells the last resize (C5)",
    },
  ],
  C6: [
    {
      breaks: "shows the requests of the first container alone",
      file: "crds/podresourceautoscaler.yaml",
      find: "jsonPath: .status.requests.cpu",
      replace: "jsonPath: .status.containers[*].current.requests.cpu",
      test: "C6 the definition has the printer columns",
    },
    {
      breaks: "shows another field as the reason",
      file: "crds/podresourceautoscaler.yaml",
      find: "jsonPath: .status.waiting",
      replace: "jsonPath: .status.reason",
      test: "C1 C5 C6 kubectl prints the columns of a status that podfit writes",
    },
  ],
  C7: [
    {
      breaks: "takes an empty selector of empty parts",
      in: "parsePodSelector",
      find: "isEmptySelector(parsed.selector)",
      replace: "parsed.selector.source.matchLabels === undefined",
      test: "parseAutoscaler() names spec.selector when there is C7: a selector of empty parts",
    },
    {
      breaks: "takes both target and selector",
      in: "parseSpec",
      find: 'spec.has("target") && spec.has("selector")',
      replace: "target !== null && selector === null",
      test: "parseAutoscaler() names spec.selector when there is C7: both target and selector",
    },
    {
      breaks: "takes a pollInterval of 0",
      in: "parsePolicy",
      find: "pollIntervalMs ===",
      replace: "pollIntervalMs !== null && pollIntervalMs <",
      test: "parseAutoscaler() names spec.policy.pollInterval when there is C7: pollInterval 0s",
    },
    {
      breaks: "takes a negative max",
      in: "parseFieldBounds",
      find: "max < 0",
      replace: "max < 0 && min !== null",
      test: "parseAutoscaler() names spec.bounds.cpu.requests.max when there is C7: a negative max",
    },
    {
      breaks: "reads hours as minutes",
      in: "UNIT_NS",
      under: "lib/units",
      find: "3_600_000_000_000n",
      replace: "60_000_000_000n",
      test: "parseDuration() reads what Go reads, in ms rounded up (C7)",
    },
    {
      breaks: "takes a policy without a side",
      file: "crds/podresourceautoscaler.yaml",
      find: "has(self.profile) || !has(self.policy) || has(self.policy.cpu) || has(self.policy.memory)\n",
      replace: "has(self.policy) || has(self.profile)\n",
      test: "C1 C7 L50 L54 the API server agrees with every row of the table",
    },
  ],
  C8: [
    {
      breaks: "stops at the first problem of a resource",
      in: "parseFieldPolicies",
      find: "requireRequestsOrLimits(fields, resource)",
      replace: 'if (!fields.has("requests") && !fields.has("limits")) return []',
      test: "C8 parseAutoscaler() finds every problem, each once",
    },
    {
      breaks: "tells an invalid spec once for ever",
      in: "StatusEvents.#publishSpecNotice",
      find: "before.generation === generation",
      replace: "before.generation > 0",
      test: "an invalid spec is told once for each change of it, and stops no other autoscaler (C8)",
    },
  ],
};
