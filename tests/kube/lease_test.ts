/** Who leads, when processes end, hang, are cut off or stopped, and when somebody else writes the Lease (C55)? */
import { assert, assertEquals, assertRejects } from "#assert";
import { createFullApiServer } from "../support/embedded/full_cluster.ts";
import fc from "fast-check";
import { createClient } from "../../lib/kube/client.ts";
import { createElection, type Election, type Term } from "../../lib/kube/leader_election.ts";
import type { LeaseError } from "../../lib/kube/lease.ts";
import type { Transport } from "../../lib/kube/transport.ts";
import { settleEventLoop, VirtualClock } from "../support/virtual_clock.ts";
import type { Json } from "../support/api_objects.ts";
import { Pausable } from "../support/pausable.ts";

const SECOND = 1000;
const HOUR = 3_600_000;
const LEASES = "coordination.k8s.io/leases";

/** An API server with candidates for one Lease. */
class Stage implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly #api = createFullApiServer({ clock: this.clock, random: Math.random });
  readonly candidates: Candidate[] = [];

  get transport(): Transport {
    return this.#api.handle;
  }

  get #leases() {
    return this.#api.store.collection(LEASES);
  }

  get lease(): Json | null {
    return this.#leases.get("default", "podfit")?.object ?? null;
  }

  /** As somebody with `kubectl edit` does it. */
  edit(change: (lease: Json) => void): void {
    const lease = structuredClone(this.lease);
    change(lease);
    this.#api.store.put(LEASES, lease);
  }

  delete(): void {
    if (this.lease !== null) this.#api.store.remove(LEASES, this.lease);
  }

  add(name: string, options: CandidateOptions = {}): Candidate {
    const candidate = new Candidate(name, { ...options, clock: this.clock, transport: this.#api.handle });
    this.candidates.push(candidate);
    return candidate;
  }

  async advance(seconds: number): Promise<void> {
    await this.clock.advance(seconds * SECOND);
  }

  /** Seconds until it is so, to a tenth; fails after five minutes. */
  async until(isSo: () => boolean): Promise<number> {
    for (let tenth = 0; tenth < 3000; tenth++) {
      if (isSo()) return tenth / 10;
      await this.advance(0.1);
    }
    throw new Error("Cannot wait longer: it does not come to pass");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.candidates) one.end();
    for (const one of this.candidates) one.process.resume();
    await this.advance(60);
    for (const one of this.candidates) assert(one.isOver, `${one.name} has not ended`);
    assertEquals(this.clock.pending, 0, "timers were left behind");
  }
}

interface CandidateOptions {
  /** Its name to the others; of a restarted process it may be the same. */
  readonly identity?: string;
  /** How long its work takes to end. */
  readonly endsInS?: number;
  readonly random?: () => number;
}

/** A process that wants to lead; its work is to count for how long it may. */
class Candidate {
  readonly name: string;
  readonly process: Pausable;
  readonly election: Election;
  readonly heard: string[] = [];
  readonly failures: LeaseError[] = [];
  readonly terms: Term[] = [];
  readonly sent: string[] = [];
  /** In place of the API server; `null` = nothing comes back. */
  answer: (request: Request) => Response | Promise<Response> | null | undefined = () => undefined;
  isOver = false;
  isWorking = false;
  readonly #ending = new AbortController();

  constructor(
    name: string,
    { clock, transport, identity = name, endsInS = 0, random = () => 0.5 }: CandidateOptions & {
      readonly clock: VirtualClock;
      readonly transport: Transport;
    },
  ) {
    this.name = name;
    this.process = new Pausable(clock);
    const own = this.process.clock;
    const send: Transport = async (request) => {
      this.sent.push(`${request.method} ${new URL(request.url).pathname.split("/").slice(-1)}`);
      const other = this.answer(request);
      if (other === null) return await new Promise<never>(() => {});
      return await (other ?? transport(request));
    };
    this.election = createElection({
      client: createClient({ origin: "http://api.test", transport: this.process.wrap(send) }),
      namespace: "default",
      name: "podfit",
      identity,
      clock: own,
      random,
      listener: {
        onStandby: (holder) => this.heard.push(`standby ${holder}`),
        onLeading: () => this.heard.push("leading"),
        onLost: (why) => this.heard.push(`lost: ${why}`),
        onFailure: (error) => this.failures.push(error),
        onAnswered: () => {},
      },
      lead: async (term) => {
        this.terms.push(term);
        this.isWorking = true;
        await own.sleep(24 * HOUR, term.signal).catch(() => {});
        await own.sleep(endsInS * SECOND);
        this.isWorking = false;
      },
    });
    void this.election.run(this.#ending.signal).then(() => this.isOver = true);
  }

  /** What it would write at this moment would be sent; a process that is stopped writes nothing. */
  get mayWrite(): boolean {
    return !this.process.isPaused && this.terms.at(-1)?.isLeading() === true;
  }

  end(): void {
    this.#ending.abort();
  }

  cut(): void {
    this.answer = () => null;
  }

  heal(): void {
    this.answer = () => undefined;
  }
}

Deno.test("createElection() makes the Lease that client-go makes, and leads at once where nobody has", async () => {
  await using stage = new Stage();
  const a = stage.add("a");
  await settleEventLoop();
  assertEquals([a.heard, a.election.isLeading(), a.election.holder(), a.election.isKnown()], [
    ["leading"],
    true,
    "a",
    true,
  ]);
  assertEquals(stage.lease?.spec, {
    holderIdentity: "a",
    leaseDurationSeconds: 15,
    acquireTime: "2026-11-20T11:00:00.000000Z",
    renewTime: "2026-11-20T11:00:00.000000Z",
    leaseTransitions: 0,
  });
  await stage.advance(2.05);
  assertEquals(stage.lease?.spec.renewTime, "2026-11-20T11:00:02.000000Z");
  await stage.advance(58);
  assertEquals(a.sent.slice(0, 3), ["GET podfit", "POST leases", "PUT podfit"]);
  assertEquals(a.sent.length, 2 + 30, "a renewal each 2 s is one request");
});

Deno.test("createElection() keeps labels and annotations that somebody gives the Lease", async () => {
  await using stage = new Stage();
  stage.add("a");
  await stage.advance(3);
  stage.edit(({ metadata }) => metadata.labels = { team: "ops" });
  await stage.advance(3);
  assertEquals([stage.lease?.metadata.labels, stage.lease?.spec.holderIdentity], [{ team: "ops" }, "a"]);
});

Deno.test("a leader that ends releases the Lease when its work has ended, and another leads within a retry (C55)", async () => {
  await using stage = new Stage();
  const a = stage.add("a", { endsInS: 20 });
  await stage.advance(5);
  const b = stage.add("b");
  await stage.advance(30);
  assertEquals(b.heard, ["standby a"]);
  a.end();
  await stage.advance(19);
  assertEquals([a.isWorking, a.mayWrite, b.isWorking], [true, true, false], "it is renewed until the work has ended");
  assertEquals(a.terms[0]?.lost.aborted, false);
  await stage.advance(1.1);
  assertEquals([a.isOver, a.mayWrite], [true, false]);
  const { holderIdentity, leaseDurationSeconds } = b.isWorking ? {} as Json : stage.lease?.spec;
  if (!b.isWorking) assertEquals([holderIdentity, leaseDurationSeconds], ["", 1]);
  assert(await stage.until(() => b.isWorking) <= 4.4);
  assertEquals([stage.lease?.spec.holderIdentity, stage.lease?.spec.leaseTransitions], ["b", 1]);
});

Deno.test("a leader that is cut off stops by 10 s after its last renewal was sent, another starts after 15 s (C55)", async () => {
  await using stage = new Stage();
  const a = stage.add("a");
  const b = stage.add("b");
  await stage.advance(20.5);
  a.cut();
  const stopped = await stage.until(() => !a.mayWrite);
  assert(stopped > 9 && stopped <= 9.6, `after ${stopped} s: the last renewal is half a second old`);
  assertEquals([a.terms[0]?.lost.aborted, a.isWorking], [true, false]);
  assertEquals(a.heard.at(-1), 'lost: Lease "default/podfit" could not be renewed for 10 s');
  const started = stopped + await stage.until(() => b.isWorking);
  assert(started >= 14 && started <= 15 + 4.4, `after ${started} s`);
  a.heal();
  await stage.advance(10);
  assertEquals([a.isWorking, a.heard.at(-1)], [false, "standby b"]);
});

Deno.test("answers that come late do not prolong a leadership, which counts from when a renewal was sent (C55)", async () => {
  await using stage = new Stage();
  const a = stage.add("a");
  await stage.advance(1);
  // Each is stored at once, and answered 4.9 s later.
  a.answer = async (request) => {
    const response = await stage.transport(request);
    await stage.clock.sleep(4900);
    return response;
  };
  await stage.advance(60);
  assertEquals([a.terms.length, a.mayWrite], [1, true], "4.9 s are in time");
  let sinceMs = 0;
  a.answer = async (request) => {
    sinceMs ||= stage.clock.monotonic();
    const response = await stage.transport(request);
    if (sinceMs < stage.clock.monotonic()) return await new Promise<never>(() => {});
    await stage.clock.sleep(4900);
    return response;
  };
  await stage.until(() => sinceMs > 0);
  await stage.until(() => !a.mayWrite);
  assertEquals(stage.clock.monotonic(), sinceMs + 10_000);
  a.heal();
});

Deno.test("a leader that was stopped writes nothing when it wakes, before any timer has told it", async () => {
  await using stage = new Stage();
  const a = stage.add("a");
  const b = stage.add("b");
  await stage.advance(20);
  const [term] = a.terms;
  assert(term !== undefined);
  a.process.pause();
  await stage.until(() => b.isWorking);
  assertEquals([term.isLeading(), term.lost.aborted], [false, false], "the clock says it, though nothing has run");
  a.process.resume();
  await stage.advance(0);
  assertEquals([term.isLeading(), term.lost.aborted, a.isWorking], [false, true, false]);
  await stage.advance(30);
  assertEquals([a.heard.at(-1), b.isWorking, b.terms.length], ["standby b", true, 1]);
});

Deno.test("a leader that was stopped for 12 s, and whom nobody has followed, leads anew and not on", async () => {
  await using stage = new Stage();
  const a = stage.add("a");
  await stage.advance(20);
  a.process.pause();
  await stage.advance(12);
  a.process.resume();
  await stage.advance(10);
  assertEquals([a.terms.map((term) => term.isLeading()), a.isWorking], [[false, true], true]);
});

Deno.test("wall clocks that are hours apart, or are set, change nothing", async () => {
  await using stage = new Stage();
  const a = stage.add("a");
  const b = stage.add("b");
  b.process.skewMs = 5 * HOUR;
  await stage.advance(60);
  for (const skewMs of [-7 * HOUR, 7 * HOUR, 0]) {
    a.process.skewMs = skewMs;
    await stage.advance(30);
    b.process.skewMs = -skewMs;
    await stage.advance(30);
  }
  assertEquals([a.terms.length, a.mayWrite, b.terms.length], [1, true, 0]);
});

Deno.test("a leader restores the Lease that was deleted, and nobody leads meanwhile who knew of it (C55)", async () => {
  await using stage = new Stage();
  const a = stage.add("a");
  const b = stage.add("b");
  for (let time = 0; time < 5; time++) {
    await stage.advance(20.3 + time / 2);
    stage.delete();
  }
  await stage.advance(10);
  assertEquals([a.terms.length, a.mayWrite, b.terms.length, stage.lease?.spec.holderIdentity], [1, true, 0, "a"]);
  a.cut();
  stage.delete();
  const started = await stage.until(() => b.isWorking);
  assert(started > 10, `not before it has had to stop: ${started} s`);
});

const EDITS: Readonly<Record<string, (lease: Json) => void>> = {
  "taken out of it": ({ spec }) => spec.holderIdentity = "",
  "left a second": ({ spec }) => spec.leaseDurationSeconds = 1,
  "dated years ago": ({ spec }) => spec.renewTime = "2001-01-01T00:00:00.000000Z",
  "left nothing of its spec": (lease) => lease.spec = {},
};

for (const [what, edit] of Object.entries(EDITS)) {
  Deno.test(`a leader that is ${what} by hand leads on, and nobody else meanwhile`, async () => {
    await using stage = new Stage();
    const a = stage.add("a");
    const b = stage.add("b");
    for (let time = 0; time < 8; time++) {
      await stage.advance(9.7 + time / 3);
      stage.edit(edit);
    }
    await stage.advance(10);
    assertEquals([a.terms.length, a.mayWrite, b.terms.length], [1, true, 0]);
    assertEquals([stage.lease?.spec.holderIdentity, stage.lease?.spec.leaseDurationSeconds], ["a", 15]);
  });
}

Deno.test("a leader whose Lease is given to another by hand stops at once, and the other's time passes like any", async () => {
  await using stage = new Stage();
  const a = stage.add("a");
  await stage.advance(20);
  stage.edit(({ spec }) => spec.holderIdentity = "nobody-there");
  assert(await stage.until(() => !a.isWorking) <= 2.1);
  assertEquals(a.heard.at(-1), 'lost: "nobody-there" has taken Lease "default/podfit"');
  const again = await stage.until(() => a.isWorking);
  assert(again >= 15 && again <= 20, `${again} s`);
});

const NONSENSE: Readonly<Record<string, Json>> = {
  "has no spec": {},
  "names nobody for a day": { holderIdentity: "", leaseDurationSeconds: 86_400 },
  "counts as far as it can": { holderIdentity: "x", leaseDurationSeconds: 15, leaseTransitions: 2 ** 31 - 1 },
};

for (const [what, spec] of Object.entries(NONSENSE)) {
  Deno.test(`a Lease that ${what} is taken in the end`, async () => {
    await using stage = new Stage();
    const first = stage.add("first");
    await stage.advance(5);
    first.end();
    await stage.advance(1);
    stage.edit((lease) => lease.spec = spec);
    const a = stage.add("a");
    for (let minute = 0; minute < 62 && !a.isWorking; minute++) await stage.advance(60);
    assertEquals([a.mayWrite, a.failures], [true, []]);
  });
}

Deno.test("a process that finds its own name in the Lease leads at once, as after a write whose answer was lost", async () => {
  await using stage = new Stage();
  const old = stage.add("a");
  await stage.advance(5);
  old.process.pause();
  const a = stage.add("a again", { identity: "a" });
  await stage.advance(0.1);
  assertEquals(a.heard, ["leading"]);
});

Deno.test("createElection() tells what is wrong with a request, and leads once it is answered", async () => {
  const status = (code: number, message: string) => () =>
    Response.json({ kind: "Status", apiVersion: "v1", status: "Failure", code, message }, { status: code });
  const cases: readonly (readonly [NonNullable<Candidate["answer"]>, number, string])[] = [
    [
      status(403, "leases is forbidden"),
      403,
      'Cannot get Lease "default/podfit": 403 leases is forbidden; grant get, create and update on leases ' +
      '(coordination.k8s.io) in namespace "default"',
    ],
    [status(500, "etcd is away"), 500, 'Cannot get Lease "default/podfit": 500 etcd is away'],
    [() => Response.json({ hello: "world" }), 0, 'Cannot get Lease "default/podfit": the answer is not a Lease'],
    [() => new Response("<html>"), 0, ""],
    [() => null, 0, 'Cannot get Lease "default/podfit": Timed out after 5000 ms'],
    [() => Promise.reject(new TypeError("connection reset")), 0, 'Cannot get Lease "default/podfit": connection reset'],
  ];
  for (const [answer, code, message] of cases) {
    await using stage = new Stage();
    const a = stage.add("a");
    a.answer = answer;
    await stage.advance(20);
    assertEquals([a.failures[0]?.code, a.election.isKnown(), a.heard], [code, false, []], message);
    if (message !== "") assertEquals(a.failures[0]?.message, message);
    a.heal();
    assert(await stage.until(() => a.mayWrite) <= 5 + 4.4);
  }
});

Deno.test("createElection() says which namespace is missing when it cannot make the Lease", async () => {
  await using stage = new Stage();
  const a = stage.add("a");
  a.answer = ({ method }) =>
    method === "POST"
      ? Response.json({ kind: "Status", code: 404, message: 'namespaces "default" not found' }, { status: 404 })
      : undefined;
  await stage.advance(5);
  assertEquals(
    a.failures[0]?.message,
    'Cannot create Lease "default/podfit": 404 namespaces "default" not found; is there a namespace "default"?',
  );
});

Deno.test("createElection() asks no sooner than a busy server says, but for 15 s at most", async () => {
  await using stage = new Stage();
  const a = stage.add("a");
  a.answer = () => new Response("busy", { status: 429, headers: { "retry-after": "3600" } });
  await stage.advance(59);
  assertEquals(a.sent.length, 4);
});

Deno.test("a leader whose Lease was made anew, which its write is no update of, reads it and leads on", async () => {
  await using stage = new Stage();
  const a = stage.add("a");
  await stage.advance(5);
  let refused = 0;
  a.answer = ({ method }) =>
    method === "PUT" && refused++ < 1
      ? Response.json({ kind: "Status", code: 422, message: "metadata.uid: field is immutable" }, { status: 422 })
      : undefined;
  await stage.advance(5);
  assertEquals([a.terms.length, a.mayWrite, a.failures], [1, true, []]);
  assertEquals(a.sent.filter((one) => one === "GET podfit").length, 2, "at its start, and then");
});

Deno.test("of candidates that start together one leads, and a conflict is no failure", async () => {
  await using stage = new Stage();
  const all = Array.from({ length: 5 }, (_, index) => stage.add(`p${index}`));
  await stage.advance(30);
  assertEquals(all.filter(({ isWorking }) => isWorking).length, 1);
  assertEquals(all.flatMap(({ failures }) => failures), []);
});

Deno.test("work that ends by itself, or fails, gives the Lease back", async () => {
  const stage = new Stage();
  const election = createElection({
    client: createClient({ origin: "http://api.test", transport: stage.transport }),
    namespace: "default",
    name: "podfit",
    identity: "x",
    clock: stage.clock,
    random: () => 0,
    listener: { onStandby() {}, onLeading() {}, onLost() {}, onFailure() {}, onAnswered() {} },
    lead: () => Promise.reject(new Error("broken")),
  });
  await assertRejects(() => election.run(new AbortController().signal), Error, "broken");
  assertEquals([stage.lease?.spec.holderIdentity, election.isLeading()], ["", false]);
  assertEquals(stage.clock.pending, 0);
});

type Fault = { readonly who: number; readonly what: typeof FAULTS[number]; readonly forS: number };
const FAULTS = ["cut", "pause", "refuse", "loseAnswers", "skew", "delete", "empty", "shorten"] as const;

Deno.test("whatever happens to three candidates, never may two of them write, and one leads again (50 rounds)", async () => {
  const faults = fc.array(
    fc.record<Fault>({
      who: fc.nat(2),
      what: fc.constantFrom(...FAULTS),
      forS: fc.integer({ min: 1, max: 40 }),
    }),
    { minLength: 1, maxLength: 8 },
  );
  let led = 0;
  await fc.assert(
    fc.asyncProperty(faults, fc.integer({ min: 0, max: 2 ** 31 }), async (all, seed) => {
      await using stage = new Stage();
      let drawn = seed;
      const random = () => (drawn = (drawn * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
      const three = ["a", "b", "c"].map((name) => stage.add(name, { endsInS: random() * 3, random }));
      const watch = async (seconds: number) => {
        for (let half = 0; half < 2 * seconds; half++) {
          await stage.advance(0.5);
          const writing = three.filter(({ mayWrite }) => mayWrite).map(({ name }) => name);
          assert(writing.length <= 1, `${writing} at ${stage.clock.monotonic()} ms`);
        }
      };
      await watch(5 + random() * 5);
      for (const { who, what, forS } of all) {
        const one = three[who];
        if (one === undefined) continue;
        strike(stage, one, what);
        await watch(forS);
        one.heal();
        one.process.resume();
      }
      await watch(45);
      assertEquals(three.filter(({ mayWrite }) => mayWrite).length, 1, "one leads again");
      led += three.reduce((sum, { terms }) => sum + terms.length, 0);
    }),
    { numRuns: 50 },
  );
  assert(led > 80, `leadership has changed hands: ${led}`);
});

function strike(stage: Stage, one: Candidate, what: Fault["what"]): void {
  switch (what) {
    case "cut":
      return one.cut();
    case "pause":
      return one.process.pause();
    case "refuse":
      return void (one.answer = () => new Response("no", { status: 500 }));
    case "loseAnswers":
      return void (one.answer = async (request) => {
        await (await stage.transport(request)).body?.cancel();
        throw new TypeError("connection reset");
      });
    case "skew":
      return void (one.process.skewMs = stage.clock.monotonic() % 2 === 0 ? 5 * HOUR : -5 * HOUR);
    case "delete":
      return stage.delete();
    case "empty":
      return stage.lease === null ? undefined : stage.edit(({ spec }) => spec.holderIdentity = "");
    case "shorten":
      return stage.lease === null ? undefined : stage.edit(({ spec }) => spec.leaseDurationSeconds = 1);
  }
}
