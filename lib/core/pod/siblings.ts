/** What is known of the other pods of a pod's workload (L40): the shell finds them, and the size that they have come to. */
import { readOwnedSides } from "../../units/managed_fields.ts";
import type { Resources } from "../../units/resources.ts";
import type { PodFacts } from "./pod_facts.ts";

/** By container name; a container is absent where no sibling says anything of it. */
export type Siblings = Readonly<Record<string, SiblingSize>>;

/** The size of a container in the siblings of its pod. */
export interface SiblingSize {
  /** How many siblings it is the size of. */
  readonly pods: number;
  /** The median in force, each side by itself; of an even number the lower one. `null` where most have no such side. */
  readonly median: Resources;
  /** The highest floor that an OOM kill of one of them has left of its memory limit, bytes; 0 = none (L12). */
  readonly floorBytes: number;
}

/** Whether anybody has resized the container since the pod was made: else its size is its template's. */
export function isResized({ resizes }: PodFacts, container: string): boolean {
  return resizes.length > 0 && resizes.some(({ owned }) => readOwnedSides(owned, container).length > 0);
}

/** Own properties only: a container may be named `constructor`. */
export function findSiblingSize(siblings: Siblings | null, container: string): SiblingSize | null {
  return siblings !== null && Object.hasOwn(siblings, container) ? siblings[container] ?? null : null;
}
