/** One object at one version, written as JSON once, whoever asks for it. */
import type { JsonObject } from "../../json.ts";

/** An object as it is stored. Its metadata has the version as text. */
export class Entry {
  readonly object: JsonObject;
  readonly version: number;
  #text: string | null = null;

  constructor(object: JsonObject, version: number) {
    this.object = object;
    this.version = version;
  }

  /** The object as JSON. */
  get text(): string {
    return this.#text ??= JSON.stringify(this.object);
  }
}
