/** Types as far as they are known before a formula runs (expr's checker/nature). */

export type Type =
  | { readonly kind: "nil" | "bool" | "int" | "float" }
  /** Nobody can say; `any` is a function's way to say so, and differs where two types become one. */
  | { readonly kind: "unknown" | "any" }
  | { readonly kind: "array"; readonly element: Type };

export const NIL: Type = { kind: "nil" };
export const BOOL: Type = { kind: "bool" };
export const INT: Type = { kind: "int" };
export const FLOAT: Type = { kind: "float" };
export const ANY: Type = { kind: "any" };
export const UNKNOWN: Type = { kind: "unknown" };
export const ANY_ARRAY: Type = { kind: "array", element: ANY };

/** Says whether nothing is known. */
export function isOpen({ kind }: Type): boolean {
  return kind === "unknown" || kind === "any";
}

/** Says whether it is an integer or a float for certain. */
export function isNumeric({ kind }: Type): boolean {
  return kind === "int" || kind === "float";
}

/** Says whether both can be what `isFit` accepts: one is, and the other is too or is not known. */
export function canBoth(left: Type, right: Type, isFit: (type: Type) => boolean): boolean {
  return (isFit(left) || isOpen(left)) && (isFit(right) || isOpen(right));
}

/** Says whether == may compare them. */
export function isComparable(left: Type, right: Type): boolean {
  if (isOpen(left) || isOpen(right) || left.kind === "nil" || right.kind === "nil") return true;
  return left.kind === right.kind || (isNumeric(left) && isNumeric(right));
}

/** Of + - and *. */
export function promote(left: Type, right: Type): Type {
  if (isOpen(left) || isOpen(right)) return UNKNOWN;
  return left.kind === "float" || right.kind === "float" ? FLOAT : INT;
}

/** Of a condition's two ways. */
export function unite(then: Type, otherwise: Type): Type {
  if (then.kind === "nil") return otherwise;
  if (otherwise.kind === "nil") return then;
  if (!isAssignable(then, otherwise)) return UNKNOWN;
  if (then.kind !== "array" || otherwise.kind !== "array") return then;
  const isSame = isAssignable(then.element, otherwise.element) && isAssignable(otherwise.element, then.element);
  return isSame ? then : ANY_ARRAY;
}

/** Of `left ?? right`. */
export function coalesce(left: Type, right: Type): Type {
  if (left.kind === "nil") return right;
  return right.kind === "nil" || isAssignable(right, left) ? left : UNKNOWN;
}

/** Of an array that is written out. */
export function toArray(items: readonly Type[]): Type {
  const [first = UNKNOWN] = items;
  const isUniform = items.every((item) => isSameKind(item, first));
  return isUniform ? { kind: "array", element: items.at(-1) ?? UNKNOWN } : ANY_ARRAY;
}

/** Of what a predicate gives, as the function that it becomes declares it. */
export function toDeclared(type: Type): Type {
  if (type.kind === "array") return ANY_ARRAY;
  return type.kind === "unknown" ? ANY : type;
}

/** By its name in messages. */
export function nameKind({ kind }: Type): string {
  return {
    nil: "nil",
    bool: "a bool",
    int: "an integer",
    float: "a float",
    array: "an array",
    any: "unknown",
    unknown: "unknown",
  }[kind];
}

function isAssignable(from: Type, to: Type): boolean {
  if (from.kind === "unknown" || to.kind === "unknown") return false;
  if (from.kind === "nil") return to.kind === "any" || to.kind === "array";
  return to.kind === "any" || from.kind === to.kind;
}

/** expr compares reflect kinds, of which neither nil nor the unknown has one. */
function isSameKind(a: Type, b: Type): boolean {
  const toKind = ({ kind }: Type) => kind === "nil" ? "unknown" : kind;
  return toKind(a) === toKind(b);
}
