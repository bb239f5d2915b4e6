/**
 * Which scenarios may run at the same time? Each claims its share of the cluster before it begins and gives it back at
 * its end. One desk per run hands the shares out, over HTTP, because test files run in workers of their own.
 */
import { systemClock } from "../lib/runtime/clock.ts";

/**
 * `shared`: beside others; `spare`, `cgroup2`: beside others too, with that node for itself; `calm`: beside those with a
 * node for themselves, which leave the machine calm; `alone`: beside no other.
 */
export type Place = "shared" | "spare" | "cgroup2" | "calm" | "alone";

export interface Claim {
  /** The scenario's, for the line that says how long it ran. */
  readonly name: string;
  readonly place: Place;
  /** CPU request that it may take on the nodes that are shared. */
  readonly millicores: number;
}

/** What all scenarios that run at the same time may claim together. */
export interface Capacity {
  readonly scenarios: number;
  readonly millicores: number;
}

export interface ClaimDesk extends AsyncDisposable {
  /** Where it is asked, for `E2E_CLAIMS`. */
  readonly url: string;
}

export interface ClaimDeskOptions {
  readonly capacity: Capacity;
  /** How long each scenario ran, without its wait for its share. */
  readonly onRelease: (claim: Claim, ranMs: number) => void;
}

/**
 * Those of the waiting claims that may begin now, beside the running ones. First go those with a node for themselves,
 * one after the other, as they last longest, then the largest, as they are the hardest to find room for. Those that need
 * a calm machine go when no shared one waits or runs, and those that have to be alone when no other waits.
 */
export function admit(
  waiting: readonly Claim[],
  { running, capacity }: { readonly running: readonly Claim[]; readonly capacity: Capacity },
): readonly Claim[] {
  if (running.some(({ place }) => place === "alone")) return [];
  const sociable = waiting.filter(({ place }) => place !== "alone").toSorted((a, b) => rank(b) - rank(a));
  if (sociable.length === 0) return running.length === 0 ? waiting.slice(0, 1) : [];
  const admitted: Claim[] = [];
  for (const claim of sociable) {
    const beside = [...running, ...admitted];
    if (beside.length === 0 || fits(claim, { beside, capacity })) admitted.push(claim);
  }
  return admitted;
}

/** Above what any node has. */
const OWN_NODE_RANK = 1e9;

function hasOwnNode(place: Place): boolean {
  return place === "spare" || place === "cgroup2";
}

function rank({ place, millicores }: Claim): number {
  return hasOwnNode(place) ? OWN_NODE_RANK : place === "calm" ? -1 : millicores;
}

function fits(
  { place, millicores }: Claim,
  { beside, capacity }: { readonly beside: readonly Claim[]; readonly capacity: Capacity },
): boolean {
  if (beside.length >= capacity.scenarios) return false;
  if (hasOwnNode(place)) return !beside.some((other) => other.place === place);
  if (place === "calm") return beside.every((other) => hasOwnNode(other.place));
  if (beside.some((other) => other.place === "calm")) return false;
  const shared = beside.filter((other) => other.place === "shared");
  return shared.reduce((sum, other) => sum + other.millicores, millicores) <= capacity.millicores;
}

/** Serves until its disposal: POST a claim, which is answered with its path once it may begin, and DELETE that path. */
export function openClaimDesk({ capacity, onRelease }: ClaimDeskOptions): ClaimDesk {
  const waiting = new Map<Claim, () => void>();
  const running = new Map<string, { readonly claim: Claim; readonly sinceMs: number }>();
  let count = 0;

  function admitMore(): void {
    const beside = [...running.values()].map(({ claim }) => claim);
    for (const claim of admit([...waiting.keys()], { running: beside, capacity })) {
      waiting.get(claim)?.();
      waiting.delete(claim);
    }
  }

  async function take(claim: Claim): Promise<Response> {
    const path = `/${++count}`;
    const admitted = new Promise<void>((resolve) => {
      waiting.set(claim, () => {
        running.set(path, { claim, sinceMs: systemClock.monotonic() });
        resolve();
      });
    });
    admitMore();
    await admitted;
    return new Response(path);
  }

  function release(path: string): Response {
    const released = running.get(path);
    if (released === undefined) return new Response(`there is no claim ${path}`, { status: 404 });
    running.delete(path);
    onRelease(released.claim, systemClock.monotonic() - released.sinceMs);
    admitMore();
    return new Response(null, { status: 204 });
  }

  const ending = new AbortController();
  const options = { hostname: "127.0.0.1", port: 0, signal: ending.signal, onListen: () => {} };
  const server = Deno.serve(options, async (request) => {
    return request.method === "POST" ? await take(await request.json()) : release(new URL(request.url).pathname);
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    // A shutdown would wait for the answers that nobody waits for any more, once the tests were interrupted.
    async [Symbol.asyncDispose]() {
      ending.abort();
      await server.finished;
    },
  };
}
