/** Walks a formula's tree from its leaves to its root. */
import type { Node } from "./ast.ts";
import { MAX_VISITS } from "./check.ts";
import { FormulaError } from "./formula_error.ts";

/**
 * Gives the tree with each node replaced by what `visit` gives for it, its parts having been visited before. Throws FormulaError
 * for a tree of too many parts: `x in 1..3` becomes two comparisons of x, so trees grow, and double with each level.
 */
export function rewrite(node: Node, visit: (node: Node) => Node): Node {
  let visits = 0;
  const go = (part: Node): Node => {
    if (++visits > MAX_VISITS) throw new FormulaError(`more than ${MAX_VISITS} parts: simplify it`);
    return rewriteParts(part, { go, visit });
  };
  return go(node);
}

interface Rewriting {
  readonly go: (node: Node) => Node;
  readonly visit: (node: Node) => Node;
}

function rewriteParts(node: Node, { go, visit }: Rewriting): Node {
  switch (node.kind) {
    case "constant":
    case "name":
    case "pointer":
      return visit(node);
    case "unary":
      return visit({ ...node, operand: go(node.operand) });
    case "binary":
      return visit({ ...node, left: go(node.left), right: go(node.right) });
    case "index":
      return visit({ ...node, array: go(node.array), index: go(node.index) });
    case "array":
    case "call":
      return visit({ ...node, items: node.items.map(go) });
    case "if":
      return visit({ ...node, condition: go(node.condition), then: go(node.then), otherwise: go(node.otherwise) });
    case "let":
      return visit({ ...node, value: go(node.value), body: go(node.body) });
    case "loop":
      // As in expr, `result` is not walked again.
      return visit({
        ...node,
        array: go(node.array),
        body: node.body === null ? null : go(node.body),
        initial: node.initial === null ? null : go(node.initial),
      });
  }
}
