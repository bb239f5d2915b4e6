/** What the parts of the checker share: the names that mean something where they are, and the node with its type. */
import type { Node } from "./ast.ts";
import type { Type } from "./types.ts";

export interface Typed {
  /** The node, made more exact by what its type tells. */
  readonly node: Node;
  readonly type: Type;
}

export interface Place {
  /** `null` = any name that is not defined is a trigger. */
  readonly triggers: ReadonlySet<string> | null;
  readonly variables: ReadonlyMap<string, Type>;
  /** The type of #; `null` outside of predicates. */
  readonly element: Type | null;
  /** Within reduce(), where #acc is. */
  readonly hasAcc: boolean;
  readonly depth: number;
  /** Names of triggers that are used, in order; the checker adds to it. */
  readonly used: Set<string>;
  /** Counts visits of nodes: a chain of comparisons is visited in parts more than once. */
  readonly visits: { count: number };
  /** Checks a node within this one. */
  readonly check: (place: Place, node: Node) => Typed;
}
