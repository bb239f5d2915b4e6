/**
 * Resizes of other podfits, as the watch of pods shows them (C51): a container's size changes, and the API server names
 * podfit as the manager that changed it. Who resized stays unsaid where podfit was not watching yet.
 */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import type { LastScale } from "../../autoscaler/conditions.ts";
import { describeChange, listChanges } from "../../core/changes.ts";
import { type ContainerFacts, findContainer, type PodFacts, readActual } from "../../core/pod/pod_facts.ts";
import { readOwnedSides } from "../../units/managed_fields.ts";
import type { SideKey } from "../../units/resources.ts";
import { keepFirst } from "../inventory/contenders.ts";
import type { Tracked } from "../inventory/tracked.ts";
import type { LastScales } from "./last_scales.ts";

/** Where resizes are noted. */
export interface WatchedScalesOptions {
  readonly lastScales: Pick<LastScales, "note">;
  /** This process resizes the pod with this uid itself, and notes it better: at once, and with the autoscaler that did it. */
  readonly isOwn: (uid: string) => boolean;
}

/** Remembers the pods as they were seen last. */
export class WatchedScales {
  readonly #options: WatchedScalesOptions;
  readonly #seen = new Map<string, PodFacts>();

  constructor(options: WatchedScalesOptions) {
    this.#options = options;
  }

  /** The pod is new, or has changed. */
  put({ pod, contenders }: Tracked): void {
    const before = this.#seen.get(pod.uid);
    this.#seen.set(pod.uid, pod);
    if (before === undefined || before === pod || this.#options.isOwn(pod.uid)) return;
    for (const after of pod.containers) {
      const scale = readScale(findContainer(before, after.name), after, pod);
      const autoscaler = scale === null ? null : findFirst(contenders, after.name);
      if (scale !== null && autoscaler !== null) this.#options.lastScales.note(autoscaler.uid, scale);
    }
  }

  remove({ uid }: Pick<PodFacts, "uid">): void {
    this.#seen.delete(uid);
  }
}

/** `null` where podfit did not change the size, or only put back what was in force (C47), which is no scale action. */
function readScale(before: ContainerFacts | null, after: ContainerFacts, { resizes }: PodFacts): LastScale | null {
  if (before === null || before.spec === after.spec) return null;
  const changed = listChanges(before.spec, after.spec);
  const entry = changed.length === 0 ? undefined : resizes.find(({ manager, owned }) => {
    if (manager !== `podfit.${after.name}`) return false;
    const sides: readonly SideKey[] = readOwnedSides(owned, after.name);
    return changed.some((key) => sides.includes(key));
  });
  if (entry === undefined) return null;
  const from = readActual(before);
  const [first, ...others] = listChanges(from, after.spec);
  if (first === undefined) return null;
  const action = (after.spec[first] ?? 0) > (from[first] ?? 0) ? "scaleUp" : "scaleDown";
  return { at: entry.at, action, change: describeChange(from, after.spec, [first, ...others]) };
}

/** The one that most likely did it: of those of one rank the cooldowns decide, which its podfit alone knows. */
function findFirst(contenders: readonly Autoscaler[], container: string): Autoscaler | null {
  const all = contenders.filter(({ containerName, mode }) => containerName === container && mode === "apply");
  return keepFirst(all, 1)[0] ?? null;
}
