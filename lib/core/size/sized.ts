/** A side on its way to a size: what is proposed of it, and what comes of that. */
import type { SideRule } from "../../autoscaler/autoscaler.ts";
import type { SideKey } from "../../units/resources.ts";
import type { Fitted } from "./caps.ts";

/** A side that is proposed to move. */
export interface Mover {
  readonly rule: SideRule;
  /** The recommendation, millicores or bytes. */
  readonly amount: number;
  /** The size in force: what steps and directions are measured from. */
  readonly actual: number;
  /** It moves with the other side of its resource, which is a mover too, or not at all (L35). */
  readonly isPaired?: boolean;
  /** An answer to an OOM kill goes as far as it needs (L11). */
  readonly ignoresStep?: boolean;
}

/** Why a side stays that node or namespace have nothing left for (L30, L32). */
export type ShortReason = "NodeCapacity" | "Quota" | "LimitRange";

/** Where a side goes, or why it stays. */
export type Sized =
  | {
    readonly kind: "moves";
    readonly key: SideKey;
    readonly to: number;
    readonly cappedBy: Fitted["cappedBy"];
  }
  | {
    readonly kind: "holds";
    readonly key: SideKey;
    readonly reason: "AtBound" | "AtTarget" | "MemoryInUse" | ShortReason;
    readonly message: string;
  };

/** What has become of the side so far; undefined while nothing has. */
export function findSized(sized: readonly Sized[], key: SideKey): Sized | undefined {
  return sized.find((one) => one.key === key);
}

/** Puts it in the place of what was there for its side. */
export function replaceSized(sized: Sized[], by: Sized): void {
  sized[sized.findIndex(({ key }) => key === by.key)] = by;
}
