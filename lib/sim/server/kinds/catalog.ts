/** Which resources does the server have right now: those it was born with, and those that stored definitions define. */
import { toCustomTypes } from "./custom/types.ts";
import { unknownResource } from "../refusal.ts";
import type { ResourceType } from "./resource_type.ts";
import { BUILT_IN } from "./resources.ts";
import type { Store } from "../store/store.ts";

/** Where a resource is served. */
export interface ResourceName {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

/** The types of every resource that is served at the moment. */
export class Catalog {
  readonly #store: Store;
  #types: readonly ResourceType[] | null = null;

  constructor(store: Store) {
    this.#store = store;
    this.#definitions().listen(() => this.#types = null, null);
  }

  /** Every type, the built-in ones first. */
  all(): readonly ResourceType[] {
    return this.#types ??= [
      ...BUILT_IN,
      ...this.#definitions().list().flatMap(({ object }) => toCustomTypes(object)),
    ];
  }

  /** Is anything served of this group at this version? */
  hasVersion({ group, version }: Omit<ResourceName, "plural">): boolean {
    return this.all().some((type) => type.group === group && type.version === version);
  }

  /** Throws a Refusal for what is not served. */
  find({ group, version, plural }: ResourceName): ResourceType {
    const found = this.all().find((type) => type.plural === plural && type.group === group && type.version === version);
    if (found === undefined) throw unknownResource();
    return found;
  }

  #definitions() {
    return this.#store.collection("apiextensions.k8s.io/customresourcedefinitions");
  }
}
