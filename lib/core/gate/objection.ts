/** What a gate says of a candidate that it does not let pass. */
import type { SideKey } from "../../units/resources.ts";
import type { BlockReason, HoldReason } from "../reasons.ts";

/** Why these sides do not move now; the others are asked about again without them. */
export type Objection = Held | Blocked;

interface Held {
  readonly kind: "hold";
  readonly reason: HoldReason;
  readonly message: string;
  readonly sides: readonly SideKey[];
}

interface Blocked {
  readonly kind: "blocked";
  readonly reason: BlockReason;
  readonly message: string;
  /** When it ends by itself, epoch ms, where that is known. */
  readonly until?: number;
  readonly sides: readonly SideKey[];
}
