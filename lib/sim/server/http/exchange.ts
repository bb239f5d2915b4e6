/** What a request for a resource and its answer consist of, between the handler and those who answer it. */
import type { Clock } from "../../../runtime/clock.ts";
import type { Catalog } from "../kinds/catalog.ts";
import type { Store } from "../store/store.ts";
import type { Access } from "./access.ts";
import type { Body } from "./body.ts";
import type { Lister } from "./list.ts";
import type { Target } from "./route.ts";
import type { OpenWatch } from "./watch.ts";

/** What every answer is made from. */
export interface AnswerContext {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly lister: Lister;
  readonly access: Access;
  readonly clock: Clock;
  readonly now: number;
  readonly random: () => number;
}

/** A request for a resource, read but for what its body means. */
export interface ResourceRequest {
  readonly target: Target;
  readonly verb: string;
  readonly query: URLSearchParams;
  readonly body: Body;
  readonly accept: string | null;
  readonly contentType: string;
  /** The name in its User-Agent, which is its field manager unless it says so. */
  readonly agent: string;
  readonly signal: AbortSignal;
}

/** A status code and a body of JSON. */
export interface Answer {
  readonly code: number;
  readonly text: string;
  /** Opens the stream of a watch, whose body it is instead of the text. */
  readonly open?: (register: (watch: OpenWatch) => () => void) => ReadableStream<Uint8Array>;
}
