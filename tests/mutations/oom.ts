/** Slips in what keeps memory up, in OOM kills and in what follows from them (L6, L7, L10 to L15). */
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
  L10: [
    {
      breaks: "takes a kill of long ago for usage of now",
      in: "addKillsToEvidence",
      find: "{ at, bytes",
      replace: "{ at: view.dueAt, bytes",
      test: "decideSize() at podfit's start takes a kill for a sample which the window has left behind (L2, L10)",
    },
    {
      breaks: "takes the limit of today for the one that killed before a resize",
      in: "listNewKills",
      find: "before === undefined && reflex !== null",
      replace: "before === undefined && reflex === null",
      test:
        "decideSize() at podfit's start takes a kill for a sample unless a resize followed, which may have changed the limit (L2, L10)",
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
  L13: [
    {
      breaks: "takes no killed process for a sample of memory",
      in: "addSampledKills",
      find: "addKillsToEvidence(view, autoscaler, killed)",
      replace: "addKillsToEvidence(view, autoscaler, killed.slice(killed.length))",
      test: "decideSize() takes the kill of a process for a sample of memory, once (L10, L13)",
    },
    {
      breaks: "takes a kill that the cgroup has shown for a sample of its time again",
      in: "listNewKills",
      find: " || (one.at === at && isProcessKillOf(one, id))",
      replace: "",
      test: "decideSize() takes the kill of a process for a sample of memory, once (L10, L13)",
    },
    {
      breaks: "takes a killed process for a restart",
      in: "crashFree",
      find: "endings.filter((one) => !isProcessKill(one))",
      replace: "endings",
      test: "decideSize() takes no killed process for a restart of its container (L7, L13)",
    },
    {
      breaks: "counts a kill again that the cgroup has shown",
      in: "nextEndings",
      find: "nameCountedKills(remembered, context)",
      replace: "remembered",
      test: "decideSize() takes a kill that the cgroup and then the pod's status show for one (L13)",
    },
    {
      breaks: "takes any kill in the cgroup for the one that ended the container",
      in: "nameCountedKills",
      find: " && one.at >= finishedAt - wallAheadMs",
      replace: "",
      test: "decideSize() takes a process killed before the container itself was killed for another kill (L13)",
    },
  ],
  L15: [
    {
      breaks: "waits for a threshold that nothing reaches",
      in: "nextStreaks",
      find: 'isStalled ? "up" : compareWithThresholds',
      replace: "compareWithThresholds",
      test: "decideSize() raises by the target what waits below a threshold that it cannot reach (L15)",
    },
    {
      breaks: "takes each wait for a lack of memory in the container",
      in: "isNearLimit",
      find: "isStalled ? STALLED_NEAR_PERCENT : NEAR_LIMIT_PERCENT",
      replace: "isStalled ? 0 : NEAR_LIMIT_PERCENT",
      test: "decideSize() waits with memory that is hardly waited for, or far from its limit (L15)",
    },
    {
      breaks: "takes a pod for quiet that waits for memory",
      in: "sampleContainer",
      find: "isStalledPercent(getNumber(rows, ROW.memoryStallPercent))",
      replace: "step.kind === undefined",
      test: "a quiet evaluation comes to the state and the verdict of decideSize(), on any course (C36, L15)",
    },
    {
      breaks: "takes what some wait for what all wait",
      in: "newSummaryPlace",
      find: "newPlace({ full: record(newPlace({ avg10",
      replace: "newPlace({ some: record(newPlace({ avg10",
      test: "a scanner reads for how long a container waited for memory as the plain parser does (L15)",
    },
    {
      breaks: "takes the first mean of the file",
      in: "findFullPercent",
      find: "/^full avg10=",
      replace: "/avg10=",
      test: "a container that never waited for memory, or of a kernel that does not say, has no share of it (L15, L61)",
    },
  ],
};
