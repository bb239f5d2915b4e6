/** Walks a formula's tree from its leaves to its root. */
import type { Node } from "./ast.ts";

/** Gives the tree with each node replaced by what `visit` gives for it, its parts having been visited before. */
export function rewrite(node: Node, visit: (node: Node) => Node): Node {
  const go = (part: Node) => rewrite(part, visit);
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
