/**
 * Two podfits in pods of the cluster, of which one leads: it is killed, paused, or cut off from the API server. The other
 * has to take over, and no pod may be resized by both.
 */
import { cutPod, type Fault, killPod, pausePod } from "../../../e2e/support/pod_faults.ts";
import { installRelease, readLeader, type Release, waitForLeader } from "../../../e2e/support/release.ts";
import type { Values } from "../../../../tools/helm.ts";
import type { RealFault } from "./main.ts";
import type { RealPodfit } from "./world.ts";

/** As its chart installs it, for one namespace. */
export class Installed implements RealPodfit {
  readonly #values: Values;
  #release: Release | null = null;

  /** `values`: of the chart, next to those of every scenario. */
  constructor(values: Values = {}) {
    this.#values = values;
  }

  async start(namespace: string): Promise<void> {
    this.#release = await installRelease(namespace, this.#values);
  }

  get release(): Release {
    if (this.#release === null) throw new Error("Cannot use podfit: it is not installed");
    return this.#release;
  }

  async describe(): Promise<string> {
    const { namespace, name } = this.release;
    const pods = await this.release.listPods();
    const ready = pods.filter(({ status }) =>
      status.conditions?.some(({ type, status }) => type === "Ready" && status === "True")
    );
    const leader = await readLeader(namespace, name);
    return [
      ...(ready.length === 2 ? [] : [`${ready.length} of 2 podfits are ready`]),
      ...(pods.some(({ metadata }) => metadata.name === leader) ? [] : [`"${leader}" leads and is not there`]),
    ].join("; ");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#release?.[Symbol.asyncDispose]();
  }
}

const KINDS = [["killed", killPod], ["paused", pausePod], ["cut off", cutPod]] as const;
/** A lease is 15 s long, and taken within 2 s of its end. */
const TAKEN_MS = 30_000;

/** One after the other, in turns; each ends when the other one leads. */
export function listTakeovers(podfit: Installed, rounds: number): readonly RealFault[] {
  return Array.from({ length: rounds }, (_, index): RealFault => {
    const [what, harm] = KINDS[index % KINDS.length] ?? KINDS[0];
    let fault: Fault | null = null;
    let before: string | null = null;
    return {
      name: `leader ${what} (${index + 1} of ${rounds})`,
      lastsS: 0,
      withinS: 90,
      async begin() {
        const { namespace, name } = podfit.release;
        before = await readLeader(namespace, name);
        if (before === null) throw new Error("Cannot harm the leader: nobody leads");
        fault = await harm({ namespace, name: before });
      },
      async end() {
        try {
          await waitForLeader(podfit.release, { not: before, timeoutMs: TAKEN_MS });
        } finally {
          await fault?.[Symbol.asyncDispose]();
        }
      },
    };
  });
}
