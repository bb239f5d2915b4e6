/** Lint rules of this project: core and units stay pure (no I/O, clock, randomness, timers, async). */

const PURE = /\/lib\/(core|units)\//;
const GLOBALS = new Set([
  "Deno",
  "fetch",
  "setTimeout",
  "setInterval",
  "queueMicrotask",
  "console",
  "crypto",
  "performance",
  "process",
]);
const MEMBERS: Record<string, readonly string[]> = { Date: ["now"], Math: ["random"] };

const plugin: Deno.lint.Plugin = {
  name: "podfit",
  rules: {
    pure: {
      create(context) {
        if (!PURE.test(context.filename)) return {};
        const report = (node: Deno.lint.Node, what: string) =>
          context.report({ node, message: `${what} in a pure layer: the shell gathers it and passes the value in` });
        const reportAsync = (node: { async: boolean } & Deno.lint.Node) => {
          if (node.async) report(node, "async");
        };
        return {
          FunctionDeclaration: reportAsync,
          FunctionExpression: reportAsync,
          ArrowFunctionExpression: reportAsync,
          AwaitExpression: (node) => report(node, "await"),
          Identifier(node) {
            const parent = node.parent;
            const isProperty = parent.type === "MemberExpression" && parent.property === node && !parent.computed;
            const isKey = parent.type === "Property" && parent.key === node;
            if (GLOBALS.has(node.name) && !isProperty && !isKey) report(node, `"${node.name}"`);
          },
          MemberExpression(node) {
            if (node.object.type !== "Identifier" || node.property.type !== "Identifier") return;
            if (MEMBERS[node.object.name]?.includes(node.property.name)) {
              report(node, `"${node.object.name}.${node.property.name}"`);
            }
          },
          NewExpression(node) {
            if (node.callee.type === "Identifier" && node.callee.name === "Date" && node.arguments.length === 0) {
              report(node, `"new Date()"`);
            }
          },
        };
      },
    },
  },
};
export default plugin;
