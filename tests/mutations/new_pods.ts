/** Slips in new pods, recommendations and the condition Limited (L40, L51, L53). */
import type { Mutations } from "../../tools/mutation.ts";

export const NEW_PODS: Mutations = {
  L40: [
    {
      breaks: "takes each restart of a container for a new pod",
      in: "isInheritanceDue",
      find: "if (isOfOldPod(pod, container, now + wallAheadMs - newMs)) return false;",
      replace: "",
      test: "decideSize() lets no old pod inherit when its container restarts (L40)",
    },
    {
      breaks: "asks for siblings of an old pod",
      in: "wantsSiblings",
      find: " || isOfOldPod(pod, container, wallNow - newMs)",
      replace: "",
      test: "decideSize() lets no old pod inherit when its container restarts (L40)",
    },
    {
      breaks: "takes a pod for old whose images were pulled for long",
      in: "isOfOldPod",
      find: "terminations.length > 0 && ",
      replace: "terminations.length >= 0 && ",
      test: "decideSize() lets a container inherit that starts long after its pod, as one whose image was pulled (L40)",
    },
    {
      breaks: "takes a busy server for one that refuses the size",
      in: "isAnyRefused",
      find: 'reason !== "RetryLater"',
      replace: "reason !== undefined",
      test: "decideSize() sends an inherited size again that a busy server has not taken (L40, C44)",
    },
    {
      breaks: "goes to its siblings' size in steps",
      in: "newCandidate",
      find: 'ignoresStep: cause !== "usage"',
      replace: 'ignoresStep: cause === "oom"',
      test: "decideSize() takes no steps to the size of the siblings, and holds bounds (L40)",
    },
    {
      breaks: "waits for usage of its own",
      in: "isByUsage",
      find: 'first.cause === "usage"',
      replace: 'first.cause !== "oom"',
      test: "decideSize() inherits without having read any usage (L40)",
    },
  ],
};

export const RECOMMENDING: Mutations = {
  L51: [
    {
      breaks: "lets a recommendation wait for that of another container",
      in: "toOutcome",
      find: ' && it.autoscaler.mode === "apply"',
      replace: "",
      test: "decideSize() in mode recommend says of no container that another one is resized first (L51)",
    },
    {
      breaks: "says nothing of what follows from a recommendation",
      in: "addRecommended",
      find: "[...notices, ...enacted.notices]",
      replace: "[...notices]",
      test: "decideSize() in mode recommend publishes what one recommendation makes of the next (L51)",
    },
    {
      breaks: "explains a recommendation by what the pod that is there leaves",
      in: "explainSize",
      find: "toRecommendedInput(recommending)",
      replace:
        "{ ...toRecommendedInput(recommending), input: { ...toRecommendedInput(recommending).input, room: input.room } }",
      test: "explainSize() explains a recommending autoscaler as it decides (L51)",
    },
    {
      breaks: "takes a recommended answer to a kill for one that was sent",
      in: "adoptViews",
      find: 'mode === "apply" ?',
      replace: "key === containerName ?",
      test:
        "decideSize() answers a kill for which it has only recommended a larger limit, once the mode is apply (L10, L51)",
    },
    {
      breaks: "loses the floor when the mode changes",
      in: "adoptContainer",
      find: "past.reflex ?? ended.reflex, killFloor }",
      replace: "past.reflex ?? ended.reflex, killFloor: ended.killFloor }",
      test: "decideSize() keeps the floor of memory and the kills of a container when the mode changes (L12, L51, L54)",
    },
    {
      breaks: "takes usage at the limit in force for all that is needed",
      in: "takeSample",
      find: 'getRealSize(container)["cpu.limits"]',
      replace: 'container.spec["cpu.limits"]',
      test:
        "decideSize() in mode recommend takes usage for held back by the limit in force, whatever it recommends (L20, L21, L51)",
    },
    {
      breaks: "counts the samples at a recommended limit",
      in: "countSample",
      find: "isOfSize ? real : null",
      replace: "isOfSize ? actual : null",
      test:
        "decideSize() in mode recommend takes usage for held back by the limit in force, whatever it recommends (L20, L21, L51)",
    },
    {
      breaks: "lets memory next to the limit in force leave no floor",
      in: "renewKillFloor",
      find: "findContainer(pod, name)?.real ?? actual",
      replace: "actual",
      test: "decideSize() in mode recommend keeps the floor of memory next to the limit in force (L12, L51)",
    },
    {
      breaks: "takes the recommended limit for the one that killed",
      in: "computeLimitAtEnd",
      find: "getRealSize(container)",
      replace: "container.spec",
      test:
        "decideSize() in mode recommend takes a kill for one at the limit in force, not at the recommended one (L10, L12, L51)",
    },
    {
      breaks: "takes the recommended limit of before for the one that killed",
      in: "computeLimitAtEnd",
      find: " || container.real !== undefined",
      replace: "",
      test:
        "decideSize() in mode recommend takes a kill for one at the limit in force, not at the recommended one (L10, L12, L51)",
    },
    {
      breaks: "gives the headroom of a node again and again",
      in: "toRecommendedInput",
      find: "...takeGrowth(input, pod), ",
      replace: "",
      test: "decideSize() in mode recommend gives what a node or a quota has left only once (L51)",
    },
    {
      breaks: "resizes what it recommends",
      in: "splitByMode",
      find: 'listOfMode(input, "apply")',
      replace: "input.contenders",
      test: "decideSize() in mode recommend says what it would do, sends nothing and publishes no resize (L51)",
    },
    {
      breaks: "begins anew with the mode",
      in: "adoptViews",
      find: "view === undefined || state.views[key] !== undefined",
      replace: "view !== null",
      test: "decideSize() forgets a shadow once nobody recommends, and keeps what was seen (L51)",
    },
  ],
  L53: [
    {
      breaks: "looks at a limit of many pods as seldom as at all else",
      in: "createLimitedSink",
      find: "onChange(uid)",
      replace: "void onChange",
      test: "Limited is True as soon with many pods as with one, although many are looked at seldom (C51, L53)",
    },
    {
      breaks: "never lets go",
      in: "nextLimitedView",
      find: "up === null ? null",
      replace: "up === null ? view.limited",
      test: "decideSize() counts a pod as limited no longer once nothing is wanted of it (L53)",
    },
    {
      breaks: "counts scale-downs",
      in: "askChoices",
      find: 'choice === choices[0] && choice.direction === "up"',
      replace: "choice === choices[0]",
      test: "decideSize() counts no pod as limited whose scale-down is held (L53)",
    },
  ],
};
