/** Which resources does the server have right now: those it was born with, and those that stored definitions define. */
import { toCustomTypes } from "../kinds/custom/types.ts";
import type { Target } from "./route.ts";
import { unknownResource } from "./refusal.ts";
import type { ResourceType } from "../kinds/resource_type.ts";
import { BUILT_IN } from "../kinds/resources.ts";
import type { Store } from "../store/store.ts";

export class Catalog {
  readonly #store: Store;
  #types: readonly ResourceType[] | null = null;

  constructor(store: Store) {
    this.#store = store;
    this.#definitions().listen(() => this.#types = null, null);
  }

  all(): readonly ResourceType[] {
    return this.#types ??= [
      ...BUILT_IN,
      ...this.#definitions().list().flatMap(({ object }) => toCustomTypes(object)),
    ];
  }

  /** Is anything served of this group at this version? */
  hasVersion({ group, version }: Pick<Target, "group" | "version">): boolean {
    return this.all().some((type) => type.group === group && type.version === version);
  }

  /** Throws a Refusal for what is not served. */
  find({ group, version, plural }: Target): ResourceType {
    const found = this.all().find((type) => type.plural === plural && type.group === group && type.version === version);
    if (found === undefined) throw unknownResource();
    return found;
  }

  #definitions() {
    return this.#store.collection("apiextensions.k8s.io/customresourcedefinitions");
  }
}
