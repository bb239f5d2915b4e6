/** podfit as a process of this machine, as its image starts it and under the chart's limits, for one namespace. */
import { type Limited, startLimited } from "../limited.ts";
import { PodfitProcess } from "../process.ts";
import type { RealPodfit } from "./world.ts";

/** One at a time. */
export class OwnProcess implements RealPodfit {
  #process: PodfitProcess | null = null;
  #limited: Limited | null = null;

  /** How its memory and CPU are bounded; `null` before it was started. */
  get limits(): string | null {
    return this.#limited?.bound ?? null;
  }

  get pid(): number {
    return this.#running.pid;
  }

  async start(namespace: string): Promise<void> {
    const args = ["--listen", "127.0.0.1:0", "--namespace", namespace];
    this.#limited = await startLimited({ args, env: { KUBECONFIG: Deno.env.get("KUBECONFIG") ?? "" } });
    this.#process = new PodfitProcess(this.#limited.child, this.#limited);
  }

  async kill(): Promise<void> {
    await this.#running[Symbol.asyncDispose]();
    await this.#limited?.[Symbol.asyncDispose]();
  }

  async describe(): Promise<string> {
    const { code } = this.#running;
    if (code !== null) return `podfit has ended with ${code}: ${this.#running.tail()}`;
    const health = await this.#running.ask("/readyz");
    return health === 200 ? "" : `/readyz answers ${health}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process !== null) await this.kill();
  }

  get #running(): PodfitProcess {
    if (this.#process === null) throw new Error("Cannot use podfit: it was not started");
    return this.#process;
  }
}
