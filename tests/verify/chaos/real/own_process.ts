/** podfit as a process of this machine, started from its source, for one namespace. */
import { createPodfitCommand } from "../../../support/podfit_process.ts";
import { PodfitProcess } from "../process.ts";
import type { RealPodfit } from "./world.ts";

/** One at a time. */
export class OwnProcess implements RealPodfit {
  #process: PodfitProcess | null = null;

  get pid(): number {
    return this.#running.pid;
  }

  async start(namespace: string): Promise<void> {
    const args = ["run", "--listen", "127.0.0.1:0", "--namespace", namespace];
    const env = { PRA_ENABLED: "true", KUBECONFIG: Deno.env.get("KUBECONFIG") ?? "" };
    this.#process = new PodfitProcess((await createPodfitCommand({ args, env })).spawn());
  }

  async kill(): Promise<void> {
    await this.#running[Symbol.asyncDispose]();
  }

  async describe(): Promise<string> {
    const { code } = this.#running;
    if (code !== null) return `podfit has ended with ${code}: ${this.#running.tail()}`;
    const health = await this.#running.ask("/readyz");
    return health === 200 ? "" : `/readyz answers ${health}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process?.[Symbol.asyncDispose]();
  }

  get #running(): PodfitProcess {
    if (this.#process === null) throw new Error("Cannot use podfit: it was not started");
    return this.#process;
  }
}
