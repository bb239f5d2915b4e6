/**
 * Lint rules of this project. `output`: commands print through lib/cli/terminal/output.ts alone. `pure`: the
 * decisions and what they are made of (model, vertical, horizontal, resources, formula, units, embedded/model, simulate,
 * simulate/model) stay pure: no I/O, clock, randomness, timers, async or module state. The name of a global is also reported
 * where it is declared for something else, because a reader could not tell the two apart.
 */

const PURE =
  /\/lib\/(model|vertical|horizontal|resources|formula|units|embedded\/model|simulate\/model)\/|\/lib\/simulate\/[a-z_]+\.ts$/;

/** What reaches outside the function, by whatever way it is named. */
const GLOBALS = new Set([
  "Deno",
  "EventSource",
  "Function",
  "Promise",
  "WebSocket",
  "Worker",
  "clearInterval",
  "clearTimeout",
  "console",
  "crypto",
  "eval",
  "fetch",
  "global",
  "globalThis",
  "localStorage",
  "navigator",
  "performance",
  "process",
  "queueMicrotask",
  "require",
  "self",
  "sessionStorage",
  "setImmediate",
  "setInterval",
  "setTimeout",
]);

/** Globals of which only some members, or all but some, are pure; they are used as `Name.member` alone. */
const MEMBERS: Readonly<Record<string, (member: string) => boolean>> = {
  AbortSignal: (member) => member !== "timeout",
  Date: (member) => member === "parse" || member === "UTC",
  Math: (member) => member !== "random",
  Temporal: (member) => member !== "Now",
};

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
        const reportSource = (node: Deno.lint.Node, source: Deno.lint.StringLiteral | null) => {
          if (source !== null && !source.value.startsWith(".")) report(node, `Import of "${source.value}"`);
        };
        return {
          // Methods of classes and objects are FunctionExpressions too.
          FunctionDeclaration: reportAsync,
          FunctionExpression: reportAsync,
          ArrowFunctionExpression: reportAsync,
          AwaitExpression: (node) => report(node, "await"),
          ForOfStatement(node) {
            if (node.await) report(node, "for await");
          },
          VariableDeclaration(node) {
            if (node.kind === "await using") report(node, "await using");
            const isModuleState = node.parent.type === "Program" || node.parent.type === "ExportNamedDeclaration";
            if (isModuleState && (node.kind === "let" || node.kind === "var")) report(node, "Module state");
          },
          ImportExpression: (node) => report(node, "import()"),
          MetaProperty(node) {
            if (node.meta.name === "import") report(node, "import.meta");
          },
          ImportDeclaration: (node) => reportSource(node, node.source),
          ExportAllDeclaration: (node) => reportSource(node, node.source),
          ExportNamedDeclaration: (node) => reportSource(node, node.source),
          Identifier(node) {
            if (isKey(node)) return;
            if (GLOBALS.has(node.name)) report(node, `"${node.name}"`);
            else if (Object.hasOwn(MEMBERS, node.name) && !isType(node)) {
              const impure = findImpureUse(node);
              if (impure !== null) report(node, impure);
            }
          },
        };
      },
    },
    output: {
      create(context) {
        if (!PRINTING.test(context.filename) || WRITERS.test(context.filename)) return {};
        const report = (node: Deno.lint.Node, what: string) =>
          context.report({ node, message: `${what}: print through lib/cli/terminal/output.ts` });
        return {
          MemberExpression(node) {
            const owner = readName(node.object);
            const member = readMember(node);
            if (member === null || owner === null || !OWNERS.has(owner) || !STREAMS.has(member)) return;
            const { parent } = node;
            const isAsked = parent.type === "MemberExpression" && readMember(parent) === "isTerminal";
            if (!isAsked) report(node, `"${owner}.${member}"`);
          },
          ObjectPattern(node) {
            for (const one of node.properties) {
              if (one.type !== "Property" || one.key.type !== "Identifier" || !STREAMS.has(one.key.name)) continue;
              const { parent } = node;
              const owner = parent.type === "VariableDeclarator" && parent.init !== null ? readName(parent.init) : null;
              if (owner !== null && OWNERS.has(owner)) report(one, `"${owner}.${one.key.name}"`);
            }
          },
          ImportDeclaration(node) {
            if (/^(node:)?(console|process|tty)$/.test(node.source.value)) report(node, `"${node.source.value}"`);
          },
          Identifier(node) {
            if (node.name === "console" && COMMANDS.test(context.filename) && !isKey(node)) report(node, '"console"');
          },
          Literal(node) {
            if (typeof node.value === "string" && hasSequence(node.value, context.filename)) {
              report(node, "A control sequence");
            }
          },
          TemplateElement(node) {
            if (hasSequence(node.cooked, context.filename)) report(node, "A control sequence");
          },
        };
      },
    },
  },
};
export default plugin;

const PRINTING = /\/lib\//;
const COMMANDS = /\/lib\/cli\//;
/** The writer of commands, and the writer of log lines, which are escaped before. */
const WRITERS = /\/lib\/(cli\/terminal\/output|runtime\/log)\.ts$/;
const OWNERS = new Set(["Deno", "process"]);
const STREAMS = new Set(["stdout", "stderr"]);

function hasSequence(text: string, file: string): boolean {
  return COMMANDS.test(file) && (text.includes("\x1b") || text.includes("\x9b"));
}

/** The name of what a member is read of: `Deno`, also of `globalThis.Deno`. */
function readName(node: Deno.lint.Node): string | null {
  if (node.type === "Identifier") return node.name;
  return node.type === "MemberExpression" ? readMember(node) : null;
}

/** The name of a member, a property or a method, which is no use of a global of that name. */
function isKey(node: Deno.lint.Identifier): boolean {
  const parent = node.parent;
  switch (parent.type) {
    case "MemberExpression":
      return parent.property === node && !parent.computed;
    case "Property":
      // Of `{ fetch }` the name is visited twice, as key and as value.
      return parent.key === node && !parent.computed;
    case "MethodDefinition":
    case "PropertyDefinition":
    case "TSPropertySignature":
    case "TSMethodSignature":
      return parent.key === node && !parent.computed;
    case "TSQualifiedName":
      return parent.right === node;
    case "ImportSpecifier":
      // Where it comes from is judged instead.
      return true;
    default:
      return false;
  }
}

function isType(node: Deno.lint.Identifier): boolean {
  return node.parent.type === "TSTypeReference" || node.parent.type === "TSQualifiedName";
}

/** How a global of MEMBERS is used impurely; `null` when it isn't. */
function findImpureUse(node: Deno.lint.Identifier): string | null {
  const { name, parent } = node;
  if (parent.type === "MemberExpression" && parent.object === node) {
    const member = readMember(parent);
    return member !== null && MEMBERS[name]?.(member) ? null : `"${name}.${member ?? "[...]"}"`;
  }
  if (name === "Date" && parent.type === "NewExpression" && parent.callee === node) {
    const [first] = parent.arguments;
    return first === undefined || first.type === "SpreadElement" ? '"new Date()"' : null;
  }
  if (parent.type === "BinaryExpression" && parent.operator === "instanceof") return null;
  return name === "Date" && parent.type === "CallExpression" ? '"Date()"' : `"${name}" as a value`;
}

function readMember({ computed, property }: Deno.lint.MemberExpression): string | null {
  if (!computed) return property.type === "Identifier" ? property.name : null;
  return property.type === "Literal" && typeof property.value === "string" ? property.value : null;
}
