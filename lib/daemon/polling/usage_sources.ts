/** Which source of usage serves each node, where there are several: told in metrics, and in the log when it changes (C54). */
import type { Reading } from "../../api/usage.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { OnTrouble } from "../report/trouble.ts";

/** Who is told. */
export interface UsageSourcesOptions {
  readonly metrics: Pick<Metrics, "setNodesBySource">;
  readonly onTrouble: OnTrouble;
}

/** Remembers the source of each node. */
export class UsageSources {
  readonly #options: UsageSourcesOptions;
  readonly #byNode = new Map<string, { readonly source: string; readonly isBetter: boolean }>();
  readonly #counts = new Map<string, number>();

  constructor(options: UsageSourcesOptions) {
    this.#options = options;
  }

  /** Takes every reading. */
  note({ node, served }: Reading): void {
    if (served === undefined) return;
    const { source, because } = served;
    const before = this.#byNode.get(node);
    if (before?.source === source) return;
    const isBetter = because === null;
    this.#byNode.set(node, { source, isBetter });
    if (before !== undefined) this.#add(before.source, -1);
    this.#add(source, 1);
    this.#publish();
    if (!isBetter) this.#tell(node, source, because);
    else if (before !== undefined) this.#recover(node, `Usage of node is read from ${source} again`);
  }

  forget(node: string): void {
    const before = this.#byNode.get(node);
    if (before === undefined) return;
    this.#byNode.delete(node);
    this.#add(before.source, -1);
    this.#publish();
    if (!before.isBetter) this.#recover(node);
  }

  #add(source: string, count: number): void {
    this.#counts.set(source, (this.#counts.get(source) ?? 0) + count);
  }

  #publish(): void {
    this.#options.metrics.setNodesBySource(this.#counts);
  }

  #tell(node: string, source: string, because: string): void {
    this.#options.onTrouble({
      kind: "failure",
      level: "warn",
      message: `Usage of node "${node}" is read from ${source}: ${because}`,
      autoscaler: null,
      fields: { node, source },
      topic: { what: WHAT, reason: source, subject: node },
    });
  }

  #recover(subject: string, message?: string): void {
    this.#options.onTrouble({ kind: "recovered", what: WHAT, subject, ...(message !== undefined && { message }) });
  }
}

const WHAT = "Usage of nodes is read from another source";
