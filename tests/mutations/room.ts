/** Slips in room, limits of the namespace and pairs (L30 to L35). */
import type { Mutations } from "../../tools/mutation.ts";

export const ROOM: Mutations = {
  L30: [
    {
      breaks: "adds containers up in a pod that has resources of its own",
      in: "sumPod",
      find: "own !== null",
      replace: "own === -1",
      test: "sumPod() counts a pod's own resources instead of its containers', which then share them (L30)",
    },
    {
      breaks: "takes a pod that leaves for gone",
      in: "findNode",
      find: "pod.finished",
      replace: "pod.finished || pod.deleting",
      test: "Rooms counts a pod that is being deleted, and none that has ended (L30)",
    },
    {
      breaks: "takes what it sees for all there is",
      in: "seesWholeNodes",
      find: "namespaces === null && pod === null",
      replace: "true || (namespaces === null && pod === null)",
      test: "L30 where the scope does not see all pods of a node its room is unknown, and the kubelet is believed",
    },
    {
      breaks: "forgets what it has just commanded",
      in: "NodeHeadroom.reserve",
      find: "this.#add(nodeName, growth, 1);",
      replace: "this.#add(nodeName, growth, 0 as 1);",
      test: "L30 two pods of one node that want the same room at once do not both get it",
    },
    {
      breaks: "looks at the clock alone",
      in: "NodePoller.evaluateNow",
      find: "entry.changes.add(uid)",
      replace: "entry.pods.get(uid)",
      test: "L30 a request that waits for room goes as soon as there is some, without a look at the clock",
    },
    {
      breaks: "hears of no room that a node's growth gives",
      in: "NodeHeadroom.moveNode",
      find: "this.#options.onHeadroom(name)",
      replace: "void name",
      test: "createDaemon() sends what waited for room when its node grows (L30)",
    },
    {
      breaks: "never tells again",
      in: "isHoldOver",
      find: 'own?.decision.kind === "hold"',
      replace: 'own?.decision.kind === "resize"',
      test: "decideSize() tells once of a held request, though its limit is resized again and again (L30)",
    },
  ],
  L31: [
    {
      breaks: "holds everything for a request without room",
      in: "enoughLeft",
      find: "sides: held.map(({ key }) => key)",
      replace: 'sides: ["cpu.requests", "cpu.limits", "memory.requests", "memory.limits"]',
      test: "decideSize() holds a request that does not fit, and its limit goes (L30, L31)",
    },
    {
      breaks: "asks again at once for what it took back",
      in: "nextResizedContainer",
      find: "request.givesUp !== null",
      replace: "request.givesUp === request.to",
      test: "decideSize() makes what it took back wait like a refused size where room is unknown (L31)",
    },
    {
      breaks: "overlooks what waits in another container",
      in: "isOwnResizeWaiting",
      find: 'one.kind === "init"',
      replace: "one !== container",
      test: "decideSize() only reports a waiting resize beside which another's waits (L31)",
    },
    {
      breaks: "sends a waiting size again though nobody knows of room",
      in: "listStillWaiting",
      find: "room === null ||",
      replace: "room !== null &&",
      test: "decideSize() takes it back too where it is still wanted, and that waits on (L31)",
    },
    {
      breaks: "leaves another container behind what waits for five minutes",
      in: "isRevertDue",
      find: 'status.kind === "deferred" &&',
      replace: 'status.kind === "infeasible" &&',
      test: "decideSize() gives up at once what waits for room in one container and holds up another (L31)",
    },
    {
      breaks: "makes the limit wait for the room that its request lacks",
      in: "addRefusals",
      find: 'reason === "NodeCapacity"',
      replace: 'reason === "Invalid"',
      test: "decideSize() lets a limit go whose request the node refused (L31)",
    },
  ],
  L32: [
    {
      breaks: "overlooks quotas",
      in: "computeAllowance",
      find: 'capPod("Quota", sumPod(pod, key) + left)',
      replace: "void left",
      test: "computeAllowance() takes the tightest of node, quota and ranges (L30, L32)",
    },
    {
      breaks: "looks at the resized container alone",
      in: "checkContainers",
      find: "of pod.containers",
      replace: "of [container]",
      test: "findLimitRangeViolation() finds what a sibling breaks, which no size of this one heals (L32)",
    },
  ],
  L33: [
    {
      breaks: "holds the request along with the limit",
      in: "memoryLowered",
      find: 'sides: ["memory.limits"]',
      replace: "sides: moving",
      test: "decideSize() lowers no memory limit before Kubernetes 1.34, says so once, and lowers the request (L33)",
    },
  ],
  L34: [
    {
      breaks: "scales down first",
      in: "listChoices",
      find: "[first, second]",
      replace: "[second, first]",
      test: "decideSize() with veto: resource goes up first, then down: two actions, each with its cooldown (L34, C42)",
    },
    {
      breaks: "warns of the wider veto where it is narrowed",
      in: "warnOfLimits",
      find: "VETO_TEXT[veto]",
      replace: "VETO_TEXT.all",
      test: "warnOfLimits() names the veto that comes of it, and what narrows it (L34)",
    },
  ],
  L35: [
    {
      breaks: "goes down when either side wants down",
      in: "listPairProposals",
      find: ".size === 2",
      replace: ".size > 0",
      test: "decideSize() takes a pair down only when both sides want down, to the larger desired (L35)",
    },
    {
      breaks: "pairs what the size of the pod sets free",
      in: "listPairs",
      find: 'computeQosAfter(pod, container, apart) !== "Guaranteed"',
      replace: "apart !== null",
      test: "decideSize() pairs only what the class ties: no Burstable pod, no pod with a size of its own (L35)",
    },
  ],
};
