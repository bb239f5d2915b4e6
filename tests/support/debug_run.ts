/**
 * Pod "web" on an embedded cluster that podfits look after, whose debug listeners are reached through `pods/proxy` as on a real one: the token
 * of a request stays with the API server, and nobody answers for a podfit that does not run.
 */
import { createHandler, debugRoutes, type Handler } from "../../lib/daemon/server/routes.ts";
import { createFindPodAt, createRecordsAccess } from "../../lib/daemon/server/records_access.ts";
import { createFlightRecorder } from "../../lib/daemon/recorder.ts";
import { createClient } from "../../lib/kube/client.ts";
import type { ApiServer } from "../../lib/kube/transport.ts";
import { systemClock } from "../../lib/runtime/clock.ts";
import { autoscaler, pod } from "../e2e/support/workloads.ts";
import { ClusterRun, type PodfitRun } from "./cluster_run.ts";
import { POLICY } from "./explain_run.ts";
import { keepLines } from "./record_lines.ts";

const PROXY = /^\/api\/v1\/namespaces\/default\/pods\/([a-z0-9-]+):8081\/proxy(\/.*)$/;

const API_SERVER = "192.0.2.1";

/** Of a second. */
const STEPS = 4;

interface RunningPodfit {
  readonly podfit: PodfitRun;
  readonly handler: Handler;
}

/** The pod has 100m and uses 300m: it is resized. Podfits are named podfit-0, podfit-1. */
export class DebugRun implements AsyncDisposable {
  readonly run: ClusterRun;
  readonly server: Pick<ApiServer, "origin" | "transport">;
  /** Paths with their queries, but for those of the podfits themselves. */
  readonly asked: string[] = [];
  /** Every evaluation of every podfit. */
  readonly lines = keepLines();
  #answering = 0;
  readonly #uids = new Map<string, string>();
  readonly #running = new Map<string, RunningPodfit>();

  private constructor(run: ClusterRun) {
    this.run = run;
    const { origin, transport } = run.cluster.connect();
    this.server = {
      origin,
      transport: (request) => {
        const path = request.url.slice(origin.length);
        this.asked.push(path);
        const [, name, rest] = PROXY.exec(path) ?? [];
        if (name === undefined) return transport(request);
        const { handler } = this.#running.get(name) ?? {};
        if (handler === undefined) return Promise.resolve(refuse());
        const { headers, signal } = request;
        headers.delete("authorization");
        return this.#answer(handler, new Request(`http://podfit${rest}`, { headers, signal }));
      },
    };
  }

  static async start(): Promise<DebugRun> {
    const run = await ClusterRun.start();
    const sizes = { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "2", memory: "256Mi" } };
    const flags = { args: ["--debug-listen=0.0.0.0:8081"] };
    await run.create(
      pod("web", { containers: [{ ...sizes, cpuMillicores: 300, memoryMiB: 20 }], fields: { nodeName: "node-1" } }),
      autoscaler("web", { selector: { matchLabels: { app: "web" } }, containerName: "main", policy: POLICY }),
      ...["podfit-0", "podfit-1"].map((name) =>
        pod(name, {
          labels: { "podfit.dev/mode": "central" },
          containers: [{ name: "podfit", fields: flags }],
          fields: { nodeName: "node-1" },
        })
      ),
    );
    await run.advance(10);
    const started = new DebugRun(run);
    for (const name of ["podfit-0", "podfit-1"]) started.#uids.set(name, await started.#readUid(name));
    return started;
  }

  /** One of those that take turns. */
  startPodfit(name: string): void {
    const flightRecorder = createFlightRecorder(this.run.clock);
    const podfit = this.run.startPodfit(undefined, {
      flightRecorder,
      identity: `${name}_1`,
      sinks: [this.lines.onEvaluation],
    });
    const { clock } = this.run;
    const client = createClient(this.run.cluster.connect());
    const findPodAt = createFindPodAt({ client, clock, namespaces: null });
    const podUid = this.#uids.get(name) ?? "";
    const check = createRecordsAccess({ podUid, podIp: null, findPodAt, checkReader: null, clock });
    this.#running.set(name, { podfit, handler: createHandler([debugRoutes(flightRecorder, check)]) });
  }

  async stopPodfit(name: string): Promise<void> {
    const running = this.#running.get(name);
    this.#running.delete(name);
    await running?.podfit[Symbol.asyncDispose]();
  }

  /** Bodies are made in rounds of the real event loop, which virtual time waits for. */
  async advance(seconds: number): Promise<void> {
    for (let step = 0; step < seconds * STEPS; step++) {
      await this.run.advance(1 / STEPS);
      for (let round = 0; round < 1000 && this.#answering > 0; round++) await systemClock.sleep(0);
    }
    await this.run.advance(0);
  }

  /** Moves time until it holds, for five minutes at most. */
  async until(what: string, holds: () => boolean): Promise<void> {
    for (let second = 0; second < 300 && !holds(); second++) await this.advance(1);
    if (!holds()) throw new Error(`Cannot go on: ${what} in five minutes`);
  }

  async #readUid(name: string): Promise<string> {
    const { origin, transport } = this.run.cluster.connect();
    const response = await transport(new Request(`${origin}/api/v1/namespaces/default/pods/${name}`));
    return (await response.json()).metadata.uid;
  }

  async #answer(handler: Handler, request: Request): Promise<Response> {
    const response = await handler(request, { address: API_SERVER });
    if (new URL(request.url).searchParams.has("watch")) return response;
    this.#answering++;
    try {
      return new Response(await response.text(), response);
    } finally {
      this.#answering--;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of [...this.#running.keys()]) await this.stopPodfit(name);
    await this.run[Symbol.asyncDispose]();
  }
}

function refuse(): Response {
  const message = "error trying to reach service: dial tcp 10.0.0.7:8081: connect: connection refused";
  return Response.json({ kind: "Status", apiVersion: "v1", status: "Failure", code: 503, message }, { status: 503 });
}
