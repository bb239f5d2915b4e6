/** Slips in profiles and what people write (L50, L54). */
import type { Mutations } from "../../tools/mutation.ts";

export const PROFILES: Mutations = {
  L50: [
    {
      breaks: "takes the sides that a profile fills in for named ones",
      in: "parseSpec",
      find: "listNamedFields(spec)",
      replace: 'listNamedFields(fillFromProfile(spec, "balanced"))',
      test: "profile latency and a target are a whole manifest: every container, all four sides (L50)",
    },
    {
      breaks: "gives a down the target of an up",
      in: "toFieldPolicy",
      find: "...toDirectionPolicy(down, hasOwnCooldowns)",
      replace: "...toDirectionPolicy(up, hasOwnCooldowns)",
      test:
        "the effective policy, written as the policy of a manifest without a profile, means the same but for least sizes (L50)",
    },
    {
      breaks: "keeps what a profile came to that is gone",
      in: "nextStatus",
      find: "effectivePolicy === null ? {} : { effectivePolicy }",
      replace: "effectivePolicy === null ? before : { effectivePolicy }",
      test: "nextStatus() writes the effective policy where there is a profile (L50)",
    },
    {
      breaks: "leaves no container out",
      in: "listContainers",
      find: "!excludeContainers.includes(name)",
      replace: "excludeContainers !== null",
      test: "Inventory makes * one contender per container and sidecar, none for init containers and excluded (L50)",
    },
    {
      breaks: "makes each contender anew",
      in: "ContainerAutoscalers.find",
      find: "known !== undefined",
      replace: "known === autoscaler",
      test: "Inventory tells of no change while the contenders of * are the same, and of a container more (L50)",
    },
    {
      breaks: "misses a baseline that nobody asked for",
      in: "reportUsage",
      find: "if (isOptional)",
      replace: "if (isOptional && draft.findReported(viewKey) !== NOTHING_REPORTED)",
      test: "decideSize() says nothing of a baseline that a profile manages only where there is one (L50)",
    },
    {
      breaks: "looks at one container of all",
      in: "UsageHealth.#explain",
      find: "if (now - view.sampling.newAt < limitMs) continue",
      replace: "if (now - view.sampling.newAt < limitMs) return null",
      test: "UsageHealth.unread() looks at each container that * stands for (L50)",
    },
    {
      breaks: "takes the first container of an autoscaler for every one",
      in: "findAutoscaler",
      find: "if (contender.containerName === container) return contender",
      replace: "if (container === undefined) return contender",
      test: "findAutoscaler() gives the contender of the container, of several of one autoscaler (L50)",
    },
    {
      breaks: "requires a policy beside a profile",
      file: "crds/podresourceautoscaler.yaml",
      find: "has(self.profile) || has(self.policy)\n",
      replace: "has(self.policy)\n",
      test: "C1 C7 L50 L54 the API server agrees with every row of the table",
    },
  ],
  L56: [
    {
      breaks: "resizes in namespaces whose names only contain an excluded one",
      in: "findExclusion",
      find: "!excludedNamespaces.includes(namespace)",
      replace: "!excludedNamespaces.some((one) => namespace.includes(one))",
      test: "findExclusion() compares whole names (L56)",
    },
    {
      breaks: "resizes in excluded namespaces",
      in: "parseAutoscalerFacts",
      find: "exclusion === null",
      replace: "true",
      test: "createDaemon() resizes no pod of an excluded namespace, and the autoscaler says why and what to do (L56)",
    },
    {
      breaks: "restores replicas in excluded namespaces",
      in: "limitScaledObject",
      find: "restoring: null, ",
      replace: "",
      test:
        "limitScaledObject() leaves nothing to scale, to restore or to pause of an excluded object, valid or not (L56)",
    },
    {
      breaks: "scales in excluded namespaces",
      in: "limitScaledObject",
      find: "exclusion !== null",
      replace: "false",
      test: "createDaemon() scales nothing in an excluded namespace, and lets go of a deleted ScaledObject (L56)",
    },
  ],
  L57: [
    {
      breaks: "counts the youngest objects",
      in: "compareAge",
      find: "a.createdAt - b.createdAt",
      replace: "b.createdAt - a.createdAt",
      test: "ObjectLimits counts the oldest objects of a namespace, of the same second by name (L57)",
    },
    {
      breaks: "leaves a free place empty",
      in: "NamespaceObjects.remove",
      find: "[...this.#promote(entry.kind), ...this.#weigh()]",
      replace: "[...this.#weigh()]",
      test:
        "createDaemon() counts the oldest autoscalers, also after a restart, and the next one when one is deleted (L57)",
    },
    {
      breaks: "counts an object that was made again twice until the end of the list",
      in: "createLimitedSource",
      find: "counted?.remove(before);",
      replace: "",
      test: "createDaemon() counts no autoscaler twice that was made again while no watch showed it (L57)",
    },
    {
      breaks: "keeps all bytes of a namespace",
      in: "NamespaceObjects.#weigh",
      find: "if (bytes > max) heavy.set",
      replace: "if (bytes < 0) heavy.set",
      test: "ObjectLimits keeps the bytes of the oldest objects that fit, and of other namespaces all (L57)",
    },
    {
      breaks: "uses objects of any size",
      in: "findTooLarge",
      find: "bytes <= MAX_OBJECT_BYTES",
      replace: "bytes >= 0",
      test: "createDaemon() uses no object of more than 64 KiB, says so in its condition, and uses the others (L57)",
    },
  ],
  L54: [
    {
      breaks: "takes a percentile of a memory side",
      in: "SCALE_DOWN_KEYS",
      find: 'memory: [...SCALE_UP_KEYS, "window"]',
      replace: 'memory: [...SCALE_UP_KEYS, "window", "percentile", "halfLife"]',
      test:
        "parseAutoscaler() names spec.policy.memory.limits.scaleDown.percentile when there is L54: a percentile of a memory side",
    },
    {
      breaks: "takes a percentile of memory",
      in: "parseMemory",
      find: '"limits", "restartToShrink"',
      replace: '"limits", "scaleDown", "restartToShrink"',
      test: "parseAutoscaler() names spec.policy.memory.scaleDown when there is L54: a percentile of memory",
    },
    {
      breaks: "takes a window of scale-ups for nothing",
      in: "SCALE_UP_KEYS",
      find: '"cooldown"]',
      replace: '"cooldown", "window"]',
      test:
        "parseAutoscaler() names spec.policy.cpu.requests.scaleUp.window when there is L54: both directions' windows of a side",
    },
    {
      breaks: "leaves out containers of an autoscaler of one",
      in: "parseContainers",
      find: "excludeContainers.length > 0 && !isWildcard",
      replace: 'excludeContainers.length > 0 && spec.has("profile")',
      test: "parseAutoscaler() names spec.excludeContainers when there is L54: containers left out beside one",
    },
    {
      breaks: "takes any word for a profile",
      in: "parseSpec",
      find: 'spec.word("profile", PROFILE_NAMES)',
      replace: 'spec.get("profile") === null ? null : "balanced"',
      test: "parseAutoscaler() names spec.profile when there is L54: an unknown profile",
    },
    {
      breaks: "takes two days for a window",
      file: "crds/podresourceautoscaler.yaml",
      find: "duration(self) <= duration('24h'))\n                              message: window must",
      replace: "duration(self) <= duration('48h'))\n                              message: window must",
      test: "C1 C7 L50 L54 the API server agrees with every row of the table",
    },
    {
      breaks: "leaves out containers of one by the definition",
      file: "crds/podresourceautoscaler.yaml",
      find: "self.containerName == '*' : has(self.profile))",
      replace: "self.containerName != '' : has(self.profile))",
      test: "C1 C7 L50 L54 the API server agrees with every row of the table",
    },
  ],
};
