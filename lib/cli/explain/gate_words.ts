/** What each gate and each cap asks, in few words. */
import type { CAPS } from "../../core/size/caps.ts";
import type { GateName } from "../../core/gate/ask_every.ts";

/** True of what passes. */
export const GATE_WORDS: Readonly<Record<GateName, string>> = {
  fresh: "usage is not older than 60s",
  seenTwice: "a new leader has seen two samples",
  lowForLong: "usage was low for the whole window",
  withRoom: "bounds, step and target leave a way to go",
  cooledDown: "the cooldown is over",
  scaledInFirst: "replicas are not about to fall",
  memoryFree: "memory above the new limit is free",
  restartAllowed: "it restarts nothing",
  crashFree: "not killed or crashed a short while ago",
  refusalsOver: "the API server has not refused this size",
  enoughLeft: "node and quotas have room",
  memoryLowered: "Kubernetes lowers memory limits in place",
  limitRangeKept: "limit ranges allow it",
  notCommanded: "it is not on its way already",
  running: "the container runs",
  started: "it is ready (after)",
  delayed: "the delay is over",
  resizeIdle: "no other resize of the pod is under way",
  conflictSettled: "the pod is seen as it is",
  qosUnchanged: "the QoS class stays",
  notDryRun: "no --dry-run",
  siblingDone: "no other container goes first",
};

/** What a cap that changed a size stands for. */
export const CAP_WORDS: Readonly<Record<keyof typeof CAPS, string>> = {
  bounds: "bounds min and max",
  worthAUnit: "less than a unit is no move",
  step: "step, and up to a whole unit",
  allowed: "node, quotas and limit ranges",
  memoryInUse: "memory in use",
  killFloor: "a limit that has killed",
  partner: "a request never above its limit",
};
