/** Slips in what keeps memory up, in OOM kills and in what follows from them (L6, L7, L10 to L14). */
import type { Mutations } from "../../tools/mutation.ts";

export const OOM: Mutations = {
  L6: [
    {
      breaks: "says it again whenever something else was wanted in between",
      in: "reportRestartRequired",
      find: '"shrink", "RestartRequired"',
      replace: '"block", `${Math.random()}`',
      test: "decideSize() never takes memory from a container that this restarts, and says so once (L6)",
    },
  ],
  L11: [
    {
      breaks: "takes the limit of a pod without one for short",
      in: "computeCgroupShortfall",
      find: "if (limit === null) return 0;",
      replace: "if (limit === null) continue;",
      test: "decideSize() takes a pod's cgroup as it is where a container has no limit, or the pod has its own (L11)",
    },
  ],
  L14: [
    {
      breaks: "takes what another container needs",
      in: "computeKillFloor",
      find: "killFloors !== undefined && Object.hasOwn(killFloors, name) ? killFloors[name] ?? 0 : 0",
      replace: "Math.max(0, ...Object.values(killFloors ?? {}))",
      test: "decideSize() keeps of a limit what siblings that were killed need (L14)",
    },
  ],
};
