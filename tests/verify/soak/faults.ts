/** The faults of a soak, drawn one at a time. */
import type { PlainWorld } from "../chaos/plain_world.ts";
import type { Effect, WireFault } from "../chaos/wire.ts";

/** A fault that was planted. */
export interface Planted {
  /** Nodes that do not answer meanwhile. */
  readonly nodes: Set<string>;
  /** No trigger has a value meanwhile. */
  readonly hasTriggers: boolean;
  readonly end: () => void;
}

const STALLED: Effect = { kind: "dribble", everyMs: 1e9 };

/** Each as what strikes which requests. */
const KINDS: readonly (readonly WireFault[])[] = [
  [{ effect: { kind: "fail", message: "connection refused" } }],
  [{ effect: { kind: "hang" } }, { effect: STALLED }],
  [{ effect: { kind: "dribble", everyMs: 20_000 } }],
  [{ path: /\/resize$/, effect: refuse(429, 5) }],
  [{ path: /\/resize$/, effect: refuse(500, null) }],
  [{ path: /\/resize$/, effect: { kind: "loseAnswer" } }],
  [{ method: "POST", effect: { kind: "loseAnswer" } }, { method: "PATCH", effect: { kind: "loseAnswer" } }],
  [{ path: /\/(events|status)/, effect: refuse(403, null) }],
  [{ isWatch: true, effect: refuse(410, null) }],
  [{ method: "GET", effect: refuse(503, 1) }],
  [{ effect: { kind: "slow", ms: 3000 } }],
];

/** `random` gives a number in [0, 1) for each word. */
export function plantFault({ wire, cluster }: PlainWorld, random: (what: string) => number): Planted {
  const kind = Math.floor(random("kind") * (KINDS.length + 2));
  const faults = KINDS[kind];
  if (faults === undefined && kind > KINDS.length) return { nodes: new Set(), hasTriggers: true, end: () => {} };
  if (faults === undefined) {
    const nodes = cluster.list("nodes").map(({ metadata }) => metadata.name as string);
    return { nodes: new Set(nodes.filter((name) => random(name) < 0.3)), hasTriggers: false, end: () => {} };
  }
  const planted = faults.map((fault) => wire.add(fault));
  if (random("breaks") < 0.5) wire.breakAnswers();
  return {
    nodes: new Set(),
    hasTriggers: false,
    end() {
      for (const one of planted) one[Symbol.dispose]();
    },
  };
}

function refuse(code: number, retryAfterS: number | null): Effect {
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", code, message: "no", reason: "Unknown" };
  const headers: Record<string, string> = retryAfterS === null ? {} : { "retry-after": String(retryAfterS) };
  return { kind: "answer", answer: () => Response.json(status, { status: code, headers }) };
}
