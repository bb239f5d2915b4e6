/** Two podfits of which one is blind; podfits that die at any point; nodes and pods that are made again under their names. */
import type { Scenario, Stage } from "../stage.ts";
import { autoscaler, statefulSet } from "../../../e2e/support/workloads.ts";
import { type Subject, World } from "../world.ts";

const UNREACHABLE = "Cannot read usage: error sending request from 10.0.0.5:";

export const TWO_PODFITS: Scenario = {
  name: "two-podfits",
  about: "another podfit runs beside it and has no way to the kubelets",
  isShort: true,
  async run(stage) {
    await using world = await World.open(stage, { replicas: stage.isShort ? 1 : 2 });
    let port = 40_000;
    let before = 0;
    const lastsS = stage.isShort ? 300 : 3600;
    await world.fault({
      name: "a blind podfit",
      lastsS,
      isQuiet: true,
      withinS: 120,
      begin() {
        const message = () => `${UNREACHABLE}${port++} for https://10.0.0.1:10250/stats/summary`;
        const blind = world.start({
          name: "blind",
          answer: () => Promise.resolve({ kind: "failed", reason: "unreachable", message: message() }),
        });
        before = world.countSent(STATUS);
        return async () => void await world.end(blind);
      },
      check() {
        // A few a minute in all, and those of its start.
        const [writes, most] = [world.countSent(STATUS) - before, 20 + 5 * lastsS / 60];
        return writes <= most ? "" : `${writes} writes of statuses in ${lastsS / 60} minutes`;
      },
    });
    const [first] = world.subjects as [Subject];
    await world.fault({
      name: "another podfit that sees the same",
      lastsS: stage.isShort ? 60 : 600,
      withinS: 120,
      begin() {
        const second = world.start({ name: "second" });
        return async () => void await world.end(second);
      },
      check: () => first.podfit.describe(),
    });
  },
};

const STATUS = "PATCH podresourceautoscalers/status";

export const KILLED: Scenario = {
  name: "killed",
  about: "podfit dies at any point of what it does, and another one starts",
  isShort: true,
  async run(stage) {
    await using world = await World.open(stage, { isEmpty: true, replicas: 1 });
    const kills = stage.isShort ? 4 : 1000;
    for (let kill = 0; kill < kills; kill++) await killOnce(stage, world, kill);
  },
};

/** The one that is cut off comes to its end without anything of it reaching anybody. */
async function killOnce(stage: Stage, world: World, kill: number): Promise<void> {
  const step = 1 + Math.floor(stage.random() * MOST_STEPS);
  await world.fault({
    name: `kill ${kill} at step ${step}`,
    lastsS: 30,
    withinS: 120,
    begin() {
      const victim = world.start({ name: `podfit-${kill}` });
      const die = () => {
        victim.wire.cut();
        victim.podfit.end();
        world.subjects.splice(world.subjects.indexOf(victim), 1);
        world.ending.push(victim.podfit);
      };
      victim.wire.onStep = (at) => {
        if (at === step) die();
      };
      return () => {
        victim.wire.onStep = () => {};
        if (world.subjects.includes(victim)) die();
        world.start({ name: `podfit-${kill}-next` });
      };
    },
  });
  for (const subject of [...world.subjects]) await world.end(subject);
}

/** A start takes some 20 requests and as many parts of answers, each resize some ten. */
const MOST_STEPS = 90;

export const MADE_AGAIN: Scenario = {
  name: "made-again",
  about: "a node, and a pod, are made again under their names, also while a resize of it is under way",
  isShort: true,
  async run(stage) {
    await using world = await World.open(stage, { isEmpty: true, replicas: 1 });
    await createStatefulPod(world);
    const { wire } = world.start();
    await world.settle(120);
    const begin = async () => {
      await world.run.delete("pods/db-0");
      return () => {};
    };
    await world.fault({ name: "a pod", lastsS: 20, withinS: 120, begin });
    await world.fault({
      name: "a pod whose resize is under way",
      lastsS: 60,
      withinS: 120,
      begin() {
        const planted = wire.add({ path: /\/db-0\/resize$/, times: 1, effect: { kind: "loseAnswer" } });
        wire.onStep = deleteOnce(world, wire);
        return () => planted[Symbol.dispose]();
      },
    });
    await world.fault({ name: "a node", lastsS: 90, withinS: 240, begin: () => remakeNode(world) });
  },
};

async function createStatefulPod(world: World): Promise<void> {
  const [like] = await world.run.list("podresourceautoscalers");
  const spec = { ...like.spec, target: { kind: "statefulset", name: "db" } };
  const containers = [{ requests: { cpu: "200m", memory: "64Mi" }, limits: { cpu: "1500m" }, cpuMillicores: 120 }];
  await world.run.create(statefulSet("db", { containers }), autoscaler("db", spec));
  await world.advance(20);
}

/** As soon as a resize of the pod has been sent. */
function deleteOnce(world: World, wire: Subject["wire"]): () => void {
  const before = world.countSent("PATCH pods/resize");
  return () => {
    if (world.countSent("PATCH pods/resize") === before) return;
    wire.onStep = () => {};
    void world.run.delete("pods/db-0").catch(() => {});
  };
}

async function remakeNode(world: World): Promise<() => void> {
  const [node] = world.run.cluster.nodes.values();
  if (node === undefined) throw new Error("Cannot remake a node: there is none");
  await node.lose();
  await world.run.delete(`nodes/${node.name}`);
  return () => node.comeBack();
}
