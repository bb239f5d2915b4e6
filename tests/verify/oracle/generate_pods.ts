/** Makes up pods, with everything that may be wrong with one. */
import type { CourseContainer, CoursePod } from "./course.ts";
import type { Random } from "./random.ts";

export interface PodsSetting {
  readonly at: number;
  readonly count: number;
  /** Most pods are ready and old. */
  readonly isCalm: boolean;
  readonly sizes: Sizes;
}

interface Sizes {
  readonly cpu: number;
  readonly memoryMi: number;
}

export function generatePods(random: Random, setting: PodsSetting): readonly CoursePod[] {
  const { isCalm } = setting;
  return Array.from({ length: setting.count }, (_, at) => {
    const name = `p${at}`;
    return isCalm && random.chance(0.96) ? toCalm(random, name, setting) : generatePod(random, name, setting);
  });
}

function toCalm(random: Random, name: string, { at, sizes }: PodsSetting): CoursePod {
  const start = at - random.pick([900_000, 400_000, 300_000]);
  const common = { name, phase: "Running", start, readyAt: start + 1000 } as const;
  return { ...common, ready: "True", containers: [container("a", sizes), container("b", { ...sizes, cpu: 50 })] };
}

function generatePod(random: Random, name: string, { at, sizes }: PodsSetting): CoursePod {
  const start = at -
    random.pick([1000, 20_000, 45_000, 100_000, 299_999, 300_000, 300_000, 300_001, 400_000, 400_000, 900_000]);
  const ready = random.pick(["True", "True", "True", "True", "True", "False", "False", "Unknown", undefined] as const);
  const transitions = [start, start + 1000, start + 29_000, start + 30_000, start + 30_001];
  const readyAt = random.pick([...transitions, at - 10_000, at - 15_000, at - 20_000, at - 1000]);
  const { init, ...containers } = generateContainers(random, sizes);
  return {
    name,
    phase: random.pick(PHASES),
    ...(random.chance(0.04) ? { deleting: true } : {}),
    ...(random.chance(0.97) ? { start } : {}),
    ...(ready === undefined ? {} : { ready }),
    readyAt,
    ...containers,
    ...(init.length === 0 ? {} : { init }),
    ...(random.chance(0.06) ? { resources: { requests: generateOwn(random) } } : {}),
    ...(random.chance(0.3) ? { overhead: { cpu: "200m", memory: "90Mi" } } : {}),
  };
}

const PHASES = [...Array<"Running">(14).fill("Running"), "Pending", "Failed", "Succeeded"] as const;

/** A pod may say one of them only: the other is then the sum of its containers. */
function generateOwn(random: Random): Readonly<Record<string, string>> {
  return random.pick([{ cpu: "300m" }, { memory: "200Mi" }, { cpu: "300m", memory: "200Mi" }]);
}

function generateContainers(random: Random, sizes: Sizes): Pick<CoursePod, "containers"> & {
  readonly init: readonly CourseContainer[];
} {
  const first = random.chance(0.01) ? { ...sizes, cpu: null } : sizes;
  const containers = [container("a", first)];
  if (random.chance(0.98)) containers.push(container("b", { ...sizes, cpu: random.pick([50, 100]) }));
  const init: CourseContainer[] = [];
  if (random.chance(0.1)) init.push(container("i", { ...sizes, cpu: 900 }));
  if (random.chance(0.4)) init.push({ ...container("s", { ...sizes, cpu: 20 }), restartPolicy: "Always" });
  if (random.chance(0.1)) init.push(container("j", { ...sizes, cpu: 900 }));
  return { containers, init };
}

function container(
  name: string,
  { cpu, memoryMi }: { readonly cpu: number | null; readonly memoryMi: number },
): CourseContainer {
  const requests = { ...(cpu === null ? {} : { cpu: `${cpu}m` }), memory: `${memoryMi}Mi` };
  return { name, image: "i", resources: { requests } };
}
