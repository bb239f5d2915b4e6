/** Two podfits of which the holder of a Lease leads: they end, die, are stopped or cut off, and the Lease is lost. */
import type { Scenario, Stage } from "../stage.ts";
import { type Subject, World } from "../world.ts";

export const LEADER: Scenario = {
  name: "leader",
  about: "of two podfits the leader, or the other, ends, dies, is stopped or cut off; the Lease is deleted or edited",
  isShort: true,
  async run(stage) {
    await using world = await World.open(stage, { isEmpty: true, replicas: 1 });
    let started = 0;
    const start = () => world.start({ name: `podfit-${started++}`, isElected: true });
    start();
    await world.advance(5);
    start();
    await world.settle(120);
    const rounds = stage.isShort ? 8 : 50;
    for (let round = 0; round < rounds; round++) await playRound(round, { stage, world, start });
  },
};

interface Play {
  readonly stage: Stage;
  readonly world: World;
  readonly start: () => Subject;
}

/** What happens to one of them, and how it ends. */
type Happen = (victim: Subject, play: Play) => () => void | Promise<void>;

async function playRound(round: number, play: Play): Promise<void> {
  const { stage, world } = play;
  const names = Object.keys(FAULTS);
  // Each once, then by chance.
  const name = names[round] ?? names[Math.floor(stage.random() * names.length)] ?? "";
  const isLeader = stage.random() < 0.7;
  const victim = world.subjects.find(({ podfit }) => isLeading(podfit) === isLeader) ?? world.subjects[0];
  const happen = FAULTS[name];
  if (victim === undefined || happen === undefined) throw new Error(`Cannot play round ${round}: nobody is there`);
  await world.fault({
    name: `round ${round}: ${isLeader ? "the leader" : "the standby"} ${name}`,
    lastsS: 5 + Math.floor(stage.random() * 50),
    withinS: 120,
    begin: () => happen(victim, play),
    check: () => countLeaders(world) > 1 ? "more than one leads" : "",
  });
  if (countLeaders(world) !== 1) throw new Error(`Round ${round}: ${countLeaders(world)} lead`);
}

const FAULTS: Readonly<Record<string, Happen>> = {
  "ends in good order": (victim, { world, start }) => {
    leave(world, victim);
    return () => void start();
  },
  "dies": (victim, { world, start }) => {
    victim.wire.cut();
    leave(world, victim);
    return () => void start();
  },
  "is stopped": ({ process }) => {
    process.pause();
    return () => process.resume();
  },
  "is cut off": ({ wire }) => {
    const planted = wire.add({ effect: { kind: "hang" } });
    wire.breakAnswers();
    return () => planted[Symbol.dispose]();
  },
  "loses every answer": ({ wire }) => {
    const planted = ["POST", "PUT", "PATCH"].map((method) => wire.add({ method, effect: { kind: "loseAnswer" } }));
    return () => planted.forEach((one) => one[Symbol.dispose]());
  },
  "is cut off, as is the other": (_, { world }) => {
    const planted = world.subjects.map(({ wire }) => wire.add({ effect: { kind: "hang" } }));
    return () => planted.forEach((one) => one[Symbol.dispose]());
  },
  "has its wall clock set by hours": ({ process }, { stage }) => {
    process.skewMs = (stage.random() - 0.5) * 10 * 3_600_000;
    return () => void (process.skewMs = 0);
  },
  "loses its Lease, which is deleted": (_, { world }) => {
    const { store } = world.run.cluster.api;
    const found = store.collection(LEASES).get("default", "podfit");
    if (found !== null) store.remove(LEASES, found.object);
    return () => {};
  },
};

const LEASES = "coordination.k8s.io/leases";

function leave({ subjects, ending }: World, victim: Subject): void {
  subjects.splice(subjects.indexOf(victim), 1);
  ending.push(victim.podfit);
  victim.podfit.end();
}

function isLeading(podfit: Subject["podfit"]): boolean {
  return podfit.sum("leader_election_master_status") === 1;
}

function countLeaders({ subjects }: World): number {
  return subjects.filter(({ podfit, process }) => isLeading(podfit) && !process.isPaused).length;
}
