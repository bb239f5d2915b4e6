/** The API server is down, hangs or dribbles for an hour; its name is not found; its answers are lost. */
import type { Scenario } from "../stage.ts";
import type { Effect, Wire } from "../wire.ts";
import { type Subject, World } from "../world.ts";

/** Longer than podfit believes what it is not told of. */
const SHORT_S = 390;
const HOUR_S = 3600;

/** What keeps answers that are under way from arriving. */
const STALLED: Effect = { kind: "dribble", everyMs: 1e9 };
const DNS = "error sending request for url (https://api.test/): client error (Connect): dns error: failed to lookup " +
  "address information: Temporary failure in name resolution";

export const API_LOST: Scenario = {
  name: "api-lost",
  about: "the API server is down, hangs, or dribbles a byte a minute, for an hour each",
  isShort: true,
  async run(stage) {
    await using world = await World.open(stage, { replicas: stage.isShort ? 1 : 2 });
    const [{ wire }] = world.subjects as [Subject];
    const lastsS = stage.isShort ? SHORT_S : HOUR_S;
    await world.fault({ name: "down", lastsS, withinS: 120, begin: () => goDown(wire, "connection refused") });
    await world.fault({ name: "hanging", lastsS, withinS: 180, begin: () => plant(wire, [{ kind: "hang" }, STALLED]) });
    const dribble = { kind: "dribble", everyMs: 60_000 } as const;
    await world.fault({ name: "dribbling", lastsS, withinS: 240, begin: () => plant(wire, [dribble]) });
  },
};

export const DNS_FAILURE: Scenario = {
  name: "dns",
  about: "no name is found any more, neither that of the API server nor those of nodes",
  isShort: true,
  async run(stage) {
    await using world = await World.open(stage, { isEmpty: true });
    let isLost = false;
    const plain = world.run.cluster.connect();
    const source = world.run.cluster.openSource(plain);
    const { wire } = world.start({
      answer: (node, signal) =>
        isLost
          ? Promise.resolve({ kind: "failed", reason: "unreachable", message: `${DNS} (${node.name})` })
          : source.fetchSummary(node, signal),
    });
    await world.settle(120);
    await world.fault({
      name: "no names",
      lastsS: stage.isShort ? 120 : HOUR_S,
      withinS: 120,
      begin() {
        isLost = true;
        const end = goDown(wire, DNS);
        return () => {
          isLost = false;
          end();
        };
      },
    });
  },
};

export const DROPPED: Scenario = {
  name: "dropped",
  about: "connections break: before the answer, after the request has arrived, in the middle of watches",
  isShort: true,
  async run(stage) {
    await using world = await World.open(stage, { replicas: stage.isShort ? 1 : 2 });
    const [{ wire }] = world.subjects as [Subject];
    const resize = /\/resize$/;
    const lost: Effect = { kind: "loseAnswer" };
    await world.fault({
      name: "answers to resizes are lost",
      lastsS: stage.isShort ? 60 : 600,
      withinS: 90,
      begin: () => dispose([wire.add({ path: resize, effect: lost })]),
    });
    await world.fault({
      name: "every write is lost",
      lastsS: stage.isShort ? 60 : 600,
      withinS: 120,
      begin: () => dispose(["PATCH", "POST"].map((method) => wire.add({ method, effect: lost }))),
    });
    await world.fault({
      name: "watches break again and again",
      lastsS: 1,
      withinS: 120,
      begin: () => shake(world, wire),
    });
  },
};

async function shake(world: World, wire: Wire): Promise<() => void> {
  for (let round = 0; round < 20; round++) {
    wire.breakAnswers();
    await world.advance(3);
  }
  return () => {};
}

function goDown(wire: Wire, message: string): () => void {
  const end = plant(wire, [{ kind: "fail", message }]);
  wire.breakAnswers();
  return end;
}

function plant(wire: Wire, effects: readonly Effect[]): () => void {
  return dispose(effects.map((effect) => wire.add({ effect })));
}

/** Ends the faults that were planted. */
export function dispose(planted: readonly Disposable[]): () => void {
  return () => {
    for (const one of planted) one[Symbol.dispose]();
  };
}
