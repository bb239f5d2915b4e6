/** The API server refuses: it is overloaded, or podfit's right to watch is gone while an autoscaler is paused. */
import type { Scenario } from "../stage.ts";
import type { Wire } from "../wire.ts";
import { type Subject, World } from "../world.ts";
import { dispose } from "./api.ts";

const OVERLOAD_S = 120;

export const OVERLOADED: Scenario = {
  name: "overloaded",
  about: "429 to every resize, with Retry-After and without, and 503 to everything",
  isShort: true,
  async run(stage) {
    await using world = await World.open(stage, { replicas: 3 });
    const [{ wire }] = world.subjects as [Subject];
    const sent: number[] = [];
    for (const seconds of [1, 5, null]) {
      const before = world.countSent(RESIZE);
      await world.fault({
        name: seconds === null ? "429 without Retry-After" : `429, Retry-After ${seconds}`,
        lastsS: OVERLOAD_S,
        withinS: 120,
        begin: () => dispose([wire.add({ path: /\/resize$/, effect: refuse(429, seconds) })]),
        check: () => judgeFlood(sent, world.countSent(RESIZE) - before, { pods: 6, waitS: seconds ?? 1 }),
      });
    }
    await world.fault({
      name: "503 to everything",
      lastsS: OVERLOAD_S,
      withinS: 180,
      begin() {
        const end = dispose([wire.add({ effect: refuse(503, 2) })]);
        wire.breakAnswers();
        return end;
      },
    });
  },
};

const RESIZE = "PATCH pods/resize";

/** Who is asked to wait longer asks less often, and not once per pod each time. */
function judgeFlood(
  sent: number[],
  now: number,
  { pods, waitS }: { readonly pods: number; readonly waitS: number },
): string {
  const [first = Infinity] = sent;
  sent.push(now);
  const most = Math.ceil(pods * OVERLOAD_S / waitS / 2);
  if (now > most) return `${now} PATCHes in ${OVERLOAD_S} s, at most ${most} expected`;
  return waitS > 1 && now > first ? `${now} PATCHes, more than the ${first} of Retry-After 1` : "";
}

export const BLIND_AND_PAUSED: Scenario = {
  name: "watch-403",
  about: "the list and watch of autoscalers are refused, and meanwhile these are paused",
  isShort: true,
  async run(stage) {
    await using world = await World.open(stage, { replicas: stage.isShort ? 1 : 2 });
    const [{ wire }] = world.subjects as [Subject];
    const lastsS = stage.isShort ? 420 : 3600;
    for (const isWatch of stage.isShort ? [null] : [true, null]) {
      await world.fault({
        name: isWatch === true ? "the watch is refused" : "list and watch are refused",
        lastsS,
        withinS: 240,
        begin: () => pauseUnseen(world, wire, isWatch),
      });
    }
  },
};

async function pauseUnseen(world: World, wire: Wire, isWatch: boolean | null): Promise<() => Promise<void>> {
  const path = /\/podresourceautoscalers$/;
  const message = 'podresourceautoscalers.keda.kedify.io is forbidden: User "podfit" cannot watch resource';
  const planted = wire.add({
    path,
    method: "GET",
    ...(isWatch === null ? {} : { isWatch }),
    effect: refuse(403, null, message),
  });
  wire.breakAnswers();
  await setPaused(world, true);
  return async () => {
    planted[Symbol.dispose]();
    await setPaused(world, false);
  };
}

async function setPaused(world: World, paused: boolean): Promise<void> {
  for (const { metadata: { name } } of await world.run.list("podresourceautoscalers")) {
    await world.run.patch(`podresourceautoscalers/${name}`, { spec: { paused } });
  }
}

function refuse(code: number, retryAfterS: number | null, message = "please try again later") {
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", code, message, reason: REASONS[code] };
  const headers: Record<string, string> = retryAfterS === null ? {} : { "retry-after": String(retryAfterS) };
  return { kind: "answer", answer: () => Response.json(status, { status: code, headers }) } as const;
}

const REASONS: Readonly<Record<number, string>> = {
  403: "Forbidden",
  429: "TooManyRequests",
  503: "ServiceUnavailable",
};
