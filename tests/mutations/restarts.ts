/** Slips in what limits restarts (L70 to L72). */
import type { Mutations } from "../../tools/mutation.ts";

export const RESTARTS: Mutations = {
  L70: [
    {
      breaks: "rounds a share of pods up",
      in: "computeMaxUnavailable",
      find: "Math.floor",
      replace: "Math.ceil",
      test:
        "ten replicas whose resize restarts them are restarted two at a time, each once, and say that they wait (L70)",
    },
    {
      breaks: "lets the last pod that is allowed wait too",
      in: "explainUnavailable",
      find: "unavailable < allowed",
      replace: "unavailable < allowed - 1",
      test: "decideSize() restarts where one of ten is down (L70)",
    },
    {
      breaks: "holds what restarts nothing",
      in: "restartBudget",
      find: "listRestartingFields(container, moving)",
      replace: "moving",
      test: "decideSize() restarts where two are down, and cpu changes in place (L70)",
    },
    {
      breaks: "forgets what it has just sent",
      in: "PodController.#reserve",
      find: "if (request !== null) disruptions.reserve(pod, request);",
      replace: "",
      test:
        "ten replicas whose resize restarts them are restarted two at a time, each once, and say that they wait (L70)",
    },
    {
      breaks: "takes a pod for done while its old instance still runs",
      in: "isOver",
      find: "findContainer(pod, container)?.instance !== instance",
      replace: "pod.uid !== ''",
      test: "Disruptions counts a restart from the request until the pod runs anew and is Ready (L70)",
    },
    {
      breaks: "calls a wait of a moment a limit",
      in: "isLimitReason",
      find: '(isLasting || !RESTART_WAITS.has(reason ?? ""))',
      replace: '(isLasting || RESTART_WAITS.has(reason ?? ""))',
      test: "a restart that waits for ten minutes makes the autoscaler Limited, one that waits less does not (L70)",
    },
  ],
  L71: [
    {
      breaks: "believes a status that is older than its spec",
      in: "parseDisruptionBudget",
      find: "isCurrent ? toCount(disruptionsAllowed) : 0",
      replace: "toCount(disruptionsAllowed)",
      test: "parseDisruptionBudget() allows nothing while the status is older than the spec, or is missing (L71)",
    },
    {
      breaks: "takes budgets that it may not list for none",
      in: "explainDisruptionBudgets",
      find: "if (budgets === null) {",
      replace: "if (budgets === null) return null; {",
      test: "without the right to PodDisruptionBudgets nothing is restarted, and podfit says so once (L71)",
    },
    {
      breaks: "relies on the status alone",
      in: "Disruptions.#listBudgets",
      find: "Math.min(allowed, spare)",
      replace: "Math.min(allowed, allowed + 0 * spare)",
      test: "a PodDisruptionBudget allows what its status says, less what it does not show yet (L71)",
    },
  ],
  L72: [
    {
      breaks: "lets the answer to a kill wait",
      in: "isDownAnyway",
      find: "isAfterOom(proposals) &&",
      replace: "!isAfterOom(proposals) &&",
      test: "the answer to an OOM kill does not wait: its container was down anyway (L72)",
    },
    {
      breaks: "lets no answer to a kill wait, however late",
      in: "isDownAnyway",
      find: "now - running.since < JUST_STARTED_MS",
      replace: "now >= running.since",
      test: "a late answer to an OOM kill waits like any restart while its pod is Ready (L72)",
    },
  ],
};
