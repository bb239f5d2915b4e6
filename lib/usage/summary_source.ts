/** The port to summaries: what a kubelet answers to a poll, by whatever way it was asked. */
import type { FailureReason } from "../api/usage.ts";
import type { Address } from "./watch_usage.ts";

/** A node and where its kubelet answers. */
export interface NodeAddress extends Address {
  readonly name: string;
}

/** The bytes of a summary, or why there is none. */
export type SummaryAnswer =
  | {
    readonly kind: "summary";
    /** JSON in UTF-8, until they are released. */
    readonly bytes: Uint8Array;
    /** The node's clock minus ours by the Date header, whole seconds; 0 below two. */
    readonly clockOffsetMs: number;
    /** Gives the memory of `bytes` to the next answer. */
    readonly release?: () => void;
  }
  | { readonly kind: "failed"; readonly reason: FailureReason; readonly message: string };

/** Throws nothing but the reason of an abort that isn't a timeout. */
export type FetchSummary = (node: NodeAddress, signal: AbortSignal) => Promise<SummaryAnswer>;

/** A way to summaries; disposal closes its connections. */
export interface SummarySource extends Disposable {
  readonly fetchSummary: FetchSummary;
}
