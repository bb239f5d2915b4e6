/** Slips in seeing sooner (L60, L61). */
import type { Mutations } from "../../tools/mutation.ts";

export const SEEING: Mutations = {
  L60: [
    {
      breaks: "mixes the pod's counter with the container's",
      in: "nextWitness",
      find: "cpu.counterNs - witness.counterNs) / elapsedMs",
      replace: "cpu.counterNs - anchor.counterNs) / elapsedMs",
      test: "nextWitness() makes a rate of the pod's own points, with the memory of the newest sample (L60)",
    },
    {
      breaks: "hears the same usage twice",
      in: "isNews",
      find: "< (at - from) / 2",
      replace: "< at - from",
      test: "nextWitness() gives no sample that half overlaps the newest, but moves on (L60)",
    },
    {
      breaks: "rates across a restart of the container",
      in: "nextWitness",
      find: "|| witness.instance !== anchor.instance",
      replace: "",
      test: "nextWitness() begins anew over a restart of the container (L60)",
    },
    {
      breaks: "begins with what another instance used",
      in: "nextWitness",
      find: "|| cpu.at < context.runningAt",
      replace: "",
      test: "nextWitness() leaves a point from before the container ran aside (L60)",
    },
    {
      breaks: "rates points that are mostly rounding",
      in: "nextWitness",
      find: "MIN_RESOLUTIONS * cpu.resolutionMs",
      replace: "cpu.resolutionMs",
      test: "nextWitness() leaves a point closer than four resolutions aside (L60)",
    },
    {
      breaks: "takes a pod for any of its containers",
      in: "isAlone",
      find: "one.name === name || one.runningAt === null",
      replace: "one.runningAt !== undefined",
      test: "decide() hears no pod of more containers than one that runs (L60)",
    },
    {
      breaks: "counts memory again with the pod's CPU",
      in: "countSample",
      find: "nextStreaks(listCpuSides(autoscaler), view.streaks, taken)",
      replace: "nextStreaks(autoscaler.sides, view.streaks, taken)",
      test: "decide() acts on the pod's counter before the container's is read again (L60)",
    },
    {
      breaks: "forgets memory's streak at the pod's point",
      in: "countSample",
      find: "...keepMemory(view.streaks),",
      replace: "",
      test: "decide() acts on the pod's counter before the container's is read again (L60)",
    },
    {
      breaks: "holds every up for half an interval",
      in: "addEarlyUps",
      find: 'autoscaler.throttling === "ignore" || taken.sample.isSaturated',
      replace: "before !== undefined",
      test: "decide() counts an unsaturated up of before the new size, and a down or a saturated one not (L60)",
    },
    {
      breaks: "goes down by usage of before the new size",
      in: "addEarlyUps",
      find: 'one.direction === "up"',
      replace: "one.direction.length > 0",
      test: "decide() counts an unsaturated up of before the new size, and a down or a saturated one not (L60)",
    },
    {
      breaks: "goes up again by usage that the old limit held back",
      in: "addEarlyUps",
      find: "|| taken.sample.isSaturated",
      replace: "",
      test: "decide() counts an unsaturated up of before the new size, and a down or a saturated one not (L60)",
    },
    {
      breaks: "asks for less than the container's own series would",
      in: "nextWitness",
      find: "held.isSaturated && held.heldBack === null && anchor.pressure !== null",
      replace: "held.isSaturated && held.heldBack === null && anchor.at < 0",
      test: "nextWitness() leaves a saturated sample to the container's series where only that one is measured (L60)",
    },
    {
      breaks: "has the zeros of a new pod for a point",
      in: "toPodCpu",
      find: "|| counterNs === 0",
      replace: "",
      test: "parseSummary() reads the pod's own counter, and not the zeros of its first seconds (L60)",
    },
  ],
};
