/**
 * Which slips can a source file have, by its syntax alone? Lists the blocks of its functions that always run as a whole,
 * and in each block the mutants: a term deleted, an operator turned, a constant changed. Pure.
 *
 * A mutant's key has placeholders in place of names and texts, and no path: a rename or a move does not change it.
 */
import { ts } from "@ts-morph/common";

/** A stretch of a function that runs as a whole. `end` is excluded. */
export interface CodeBlock {
  /** What to insert so that an entry is counted: before a statement, around an expression, or around a lone statement. */
  readonly entry: "statement" | "expression" | "lone";
  readonly start: number;
  readonly end: number;
  readonly isLoop: boolean;
}

export type Operator =
  | "statement dropped"
  | "guard dropped"
  | "left dropped"
  | "right dropped"
  | "boundary moved"
  | "equality turned"
  | "sign turned"
  | "factor turned"
  | "number changed"
  | "boolean turned"
  | "condition turned"
  | "branch chosen"
  | "element dropped"
  | "member dropped"
  | "method swapped";

export interface SyntaxMutant {
  readonly operator: Operator;
  /** Operator, and the statement around it with names replaced; the changed part stands between « and ». */
  readonly key: string;
  /** Of the key. */
  readonly hash: number;
  /** Its block, by its place in `blocks`. */
  readonly block: number;
  readonly start: number;
  readonly end: number;
  /** `expression`: `code` stands in its place. `statement`: it is left out. `spread`: it is one element or member. */
  readonly kind: "expression" | "statement" | "array" | "object";
  readonly code: string;
  /** The line, from 1, for people. */
  readonly line: number;
}

export interface Syntax {
  readonly blocks: readonly CodeBlock[];
  readonly mutants: readonly SyntaxMutant[];
  /** Where the body of a loop begins, after its brace. */
  readonly loops: readonly number[];
}

const { SyntaxKind } = ts;

const TURNED: ReadonlyMap<ts.SyntaxKind, readonly [Operator, string]> = new Map([
  [SyntaxKind.LessThanToken, ["boundary moved", "<="]],
  [SyntaxKind.LessThanEqualsToken, ["boundary moved", "<"]],
  [SyntaxKind.GreaterThanToken, ["boundary moved", ">="]],
  [SyntaxKind.GreaterThanEqualsToken, ["boundary moved", ">"]],
  [SyntaxKind.EqualsEqualsEqualsToken, ["equality turned", "!=="]],
  [SyntaxKind.ExclamationEqualsEqualsToken, ["equality turned", "==="]],
  [SyntaxKind.PlusToken, ["sign turned", "-"]],
  [SyntaxKind.MinusToken, ["sign turned", "+"]],
  [SyntaxKind.AsteriskToken, ["factor turned", "/"]],
  [SyntaxKind.SlashToken, ["factor turned", "*"]],
]);

const SWAPPED: ReadonlyMap<string, string> = new Map([
  ["min", "max"],
  ["max", "min"],
  ["ceil", "floor"],
  ["floor", "ceil"],
  ["some", "every"],
  ["every", "some"],
]);

/** Of one file's text. */
export function readSyntax(text: string): Syntax {
  const file = ts.createSourceFile("a.ts", text, ts.ScriptTarget.Latest, true);
  const reader = new SyntaxReader(file);
  reader.visit(file, null);
  return reader;
}

class SyntaxReader implements Syntax {
  readonly blocks: CodeBlock[] = [];
  readonly mutants: SyntaxMutant[] = [];
  readonly loops: number[] = [];
  readonly #file: ts.SourceFile;

  constructor(file: ts.SourceFile) {
    this.#file = file;
  }

  /** `block` is `null` outside of functions. Never mutated: types, messages of errors, and what ends a loop. */
  visit(node: ts.Node, block: number | null): void {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isThrowStatement(node)) return;
    if (ts.isTemplateExpression(node)) return;
    if (block !== null) this.#findMutants(node, block);
    if (ts.isFunctionLike(node)) return this.#visitFunction(node);
    if (ts.isPropertyDeclaration(node) && ts.isClassElement(node)) return this.#visitChildren(node, null);
    if (ts.isBlock(node) || ts.isCaseOrDefaultClause(node)) return this.#visitStatements(node, block);
    if (ts.isIterationStatement(node, false)) return this.#visitLoop(node, block);
    if (ts.isIfStatement(node)) return this.#visitIf(node, block);
    if (block !== null && ts.isConditionalExpression(node)) {
      this.visit(node.condition, block);
      this.#visitExpression(node.whenTrue);
      this.#visitExpression(node.whenFalse);
      return;
    }
    if (block !== null && ts.isBinaryExpression(node) && isLogical(node.operatorToken.kind)) {
      this.visit(node.left, block);
      this.#visitExpression(node.right);
      return;
    }
    this.#visitChildren(node, block);
  }

  #visitChildren(node: ts.Node, block: number | null): void {
    ts.forEachChild(node, (child) => this.visit(child, block));
  }

  #visitFunction(node: ts.SignatureDeclaration): void {
    const body = "body" in node ? node.body as ts.Node | undefined : undefined;
    if (body === undefined) return;
    if (ts.isBlock(body)) this.#visitStatements(body, null);
    else this.#visitExpression(body);
  }

  #visitExpression(node: ts.Node): void {
    this.visit(node, this.#open(node, "expression"));
  }

  /** After a statement that may leave the list, a new block begins. */
  #visitStatements(node: ts.Block | ts.CaseOrDefaultClause, around: number | null): void {
    if (ts.isCaseClause(node)) this.visit(node.expression, around);
    let block: number | null = null;
    for (const statement of node.statements) {
      block ??= this.#open(statement, "statement");
      this.visit(statement, block);
      if (mayLeave(statement)) block = null;
    }
  }

  /** What ends a loop stays as it is: a mutant that never ends says little. */
  #visitLoop(node: ts.IterationStatement, block: number | null): void {
    if (ts.isForOfStatement(node) || ts.isForInStatement(node)) this.visit(node.expression, block);
    if (ts.isBlock(node.statement)) this.loops.push(node.statement.getStart(this.#file) + 1);
    this.#visitBranch(node.statement, true);
  }

  #visitIf(node: ts.IfStatement, block: number | null): void {
    this.visit(node.expression, block);
    this.#visitBranch(node.thenStatement, false);
    if (node.elseStatement === undefined) return;
    if (ts.isIfStatement(node.elseStatement)) this.#visitIf(node.elseStatement, block);
    else this.#visitBranch(node.elseStatement, false);
  }

  #visitBranch(node: ts.Statement, isLoop: boolean): void {
    if (ts.isBlock(node)) this.#visitStatements(node, null);
    else this.visit(node, this.#open(node, "lone", isLoop));
  }

  #open(node: ts.Node, entry: CodeBlock["entry"], isLoop = false): number {
    return this.blocks.push({ entry, start: node.getStart(this.#file), end: node.end, isLoop }) - 1;
  }

  #findMutants(node: ts.Node, block: number): void {
    if (ts.isExpressionStatement(node) && !isLogged(node)) this.#add("statement dropped", node, block, "", "statement");
    if (ts.isIfStatement(node)) this.#findInIf(node, block);
    if (ts.isBinaryExpression(node)) this.#findInBinary(node, block);
    if (ts.isConditionalExpression(node) && !(isText(node.whenTrue) && isText(node.whenFalse))) {
      this.#add("branch chosen", node, block, this.#textOf(node.whenTrue));
      this.#add("branch chosen", node, block, this.#textOf(node.whenFalse));
    }
    if (ts.isNumericLiteral(node) && isValue(node) && !isDefault(node)) {
      this.#add("number changed", node, block, `${Number(node.text) + 1}`);
    }
    if (node.kind === SyntaxKind.TrueKeyword) this.#add("boolean turned", node, block, "false");
    if (node.kind === SyntaxKind.FalseKeyword) this.#add("boolean turned", node, block, "true");
    if (ts.isCallExpression(node)) this.#findInCall(node, block);
    if (ts.isArrayLiteralExpression(node) && node.elements.length > 1 && !isPattern(node)) {
      for (const element of node.elements) this.#add("element dropped", element, block, "", "array");
    }
    if (ts.isObjectLiteralExpression(node) && !isPattern(node)) {
      for (const member of node.properties) {
        if (ts.isMethodDeclaration(member) || ts.isAccessor(member)) continue;
        if (ts.isPropertyAssignment(member) && isIdle(member.initializer)) continue;
        this.#add("member dropped", member, block, "", "object");
      }
    }
  }

  #findInIf(node: ts.IfStatement, block: number): void {
    const { expression, thenStatement, elseStatement } = node;
    if (elseStatement === undefined && mayLeave(thenStatement)) {
      this.#add("guard dropped", node, block, "", "statement");
    }
    if (!ts.isBinaryExpression(expression)) {
      this.#add("condition turned", expression, block, `!(${this.#textOf(expression)})`);
    }
  }

  #findInBinary(node: ts.BinaryExpression, block: number): void {
    const { left, operatorToken, right } = node;
    const [before, after] = [this.#textOf(left), this.#textOf(right)];
    if (isLogical(operatorToken.kind) && !isDefault(right)) {
      this.#add("right dropped", node, block, before);
      if (operatorToken.kind !== SyntaxKind.QuestionQuestionToken) this.#add("left dropped", node, block, after);
    }
    const turned = TURNED.get(operatorToken.kind);
    if (turned !== undefined && !isText(left) && !isText(right)) {
      this.#add(turned[0], node, block, `(${before}) ${turned[1]} (${after})`);
    }
  }

  #findInCall(node: ts.CallExpression, block: number): void {
    const { expression } = node;
    if (!ts.isPropertyAccessExpression(expression)) return;
    const other = SWAPPED.get(expression.name.text);
    if (other === undefined || node.arguments.length === 0) return;
    const text = this.#textOf(node);
    const at = expression.name.getStart(this.#file) - node.getStart(this.#file);
    this.#add("method swapped", node, block, text.slice(0, at) + other + text.slice(at + expression.name.text.length));
  }

  #add(
    operator: Operator,
    node: ts.Node,
    block: number,
    code: string,
    kind: SyntaxMutant["kind"] = "expression",
  ): void {
    const start = node.getStart(this.#file);
    const line = this.#file.getLineAndCharacterOfPosition(start).line + 1;
    const shape = describeShape(findFrame(node), node, this.#file);
    const which = operator === "branch chosen" && code === this.#textOf((node as ts.ConditionalExpression).whenTrue)
      ? " first"
      : "";
    const key = `${operator}${which}: ${shape}`;
    this.mutants.push({ operator, key, hash: hashText(key), block, start, end: node.end, kind, code, line });
  }

  #textOf(node: ts.Node): string {
    return node.getText(this.#file);
  }
}

function isLogical(kind: ts.SyntaxKind): boolean {
  return kind === SyntaxKind.AmpersandAmpersandToken || kind === SyntaxKind.BarBarToken ||
    kind === SyntaxKind.QuestionQuestionToken;
}

function isText(node: ts.Node): boolean {
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
}

function isValue({ parent }: ts.NumericLiteral): boolean {
  return !ts.isPropertyAssignment(parent) || !ts.isNumericLiteral(parent.name);
}

/** What `??` gives in place of nothing is mostly there for the type checker. */
function isDefault(node: ts.Node): boolean {
  const { parent } = node;
  const isLiteral = isIdle(node) || ts.isNumericLiteral(node) || ts.isArrayLiteralExpression(node) ||
    ts.isObjectLiteralExpression(node);
  return isLiteral && ts.isBinaryExpression(parent) && parent.right === node &&
    parent.operatorToken.kind === SyntaxKind.QuestionQuestionToken;
}

/** A text, or what an absent member is mostly taken for. */
function isIdle(node: ts.Node): boolean {
  return isText(node) || node.kind === SyntaxKind.NullKeyword || node.kind === SyntaxKind.FalseKeyword;
}

/** A destructuring assignment has the syntax of a literal. */
function isPattern({ parent }: ts.Node): boolean {
  return ts.isBinaryExpression(parent) && parent.operatorToken.kind === SyntaxKind.EqualsToken ||
    ts.isForOfStatement(parent);
}

/** `super()` and words for a log. */
function isLogged({ expression }: ts.ExpressionStatement): boolean {
  return ts.isCallExpression(expression) && expression.expression.kind === SyntaxKind.SuperKeyword ||
    ts.isStringLiteral(expression);
}

/** Whether a statement has a way past the rest of its list. */
function mayLeave(node: ts.Node): boolean {
  if (ts.isFunctionLike(node) || ts.isClassLike(node)) return false;
  if (
    ts.isReturnStatement(node) || ts.isThrowStatement(node) || ts.isBreakStatement(node) || ts.isContinueStatement(node)
  ) return true;
  return ts.forEachChild(node, (child) => mayLeave(child) || undefined) ?? false;
}

/** What describes a mutant's surroundings: its statement, or the expression that an arrow function gives. */
function findFrame(node: ts.Node): ts.Node {
  for (let at = node;; at = at.parent) {
    const { parent } = at;
    if (ts.isStatement(at) || ts.isSourceFile(parent)) return at;
    if (ts.isArrowFunction(parent) && parent.body === at) return at;
    if (ts.isParameter(at)) return at;
  }
}

const MAX_SHAPE = 160;

/** The tokens of `frame` without names, texts and inner blocks; `marked` between « and ». */
export function describeShape(frame: ts.Node, marked: ts.Node, file: ts.SourceFile): string {
  const names = new Map<string, string>();
  const tokens: string[] = [];
  const add = (node: ts.Node): void => {
    if (node.kind >= SyntaxKind.FirstJSDocNode && node.kind <= SyntaxKind.LastJSDocNode) return;
    if (node === marked) tokens.push("«");
    const isInner = ts.isBlock(node) && node !== frame;
    const children = isInner ? [] : node.getChildren(file);
    if (isInner) tokens.push("{}");
    else if (ts.isTypeNode(node)) tokens.push("type");
    else if (ts.isTemplateExpression(node) || ts.isStringLiteralLike(node)) tokens.push('""');
    else if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) {
      const name = names.get(node.text) ?? `$${names.size + 1}`;
      names.set(node.text, name);
      tokens.push(name);
    } else if (children.length > 0) children.forEach(add);
    else tokens.push(node.getText(file));
    if (node === marked) tokens.push("»");
  };
  add(frame);
  const text = tokens.filter((token) => token !== "").join(" ").replace(/ , (?=[)\]}])/g, " ")
    .replace(/ ?([.?!]\.?) ?(?=[$#[(])/g, "$1").replace(/([([«]) /g, "$1").replace(/ ([)\],;»])/g, "$1");
  return text.length <= MAX_SHAPE ? text : `${text.slice(0, MAX_SHAPE)}… ${hashText(text).toString(16)}`;
}

/** FNV-1a. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
