/**
 * Why does the API server refuse a request? In the words of a real one (1.36).
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#standard-api-terminology
 */
import type { Json, JsonObject } from "../json.ts";

/** The names of a resource in a refusal: `deployments` of `apps`, kind Deployment. */
export interface Named {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

/** A request that is refused, with the Status that says so. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: number;
  readonly status: JsonObject;

  constructor(
    code: number,
    fields: { readonly message: string; readonly reason?: string; readonly details?: JsonObject },
  ) {
    super(fields.message);
    this.code = code;
    this.status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", ...fields, code };
  }
}

/** A finding of validation, as a cause of a 422. */
export interface Problem {
  readonly field: string;
  readonly reason: string;
  readonly message: string;
}

/** A field that is missing. */
export function required(field: string, why = ""): Problem {
  return { field, reason: "FieldValueRequired", message: why === "" ? "Required value" : `Required value: ${why}` };
}

/** A value that will not do. */
export function invalidValue(field: string, value: Json | undefined, why: string): Problem {
  return { field, reason: "FieldValueInvalid", message: `Invalid value: ${showValue(value ?? null)}: ${why}` };
}

/** A field that must not be set, or not so. */
export function forbiddenField(field: string, why: string): Problem {
  return { field, reason: "FieldValueForbidden", message: `Forbidden: ${why}` };
}

/** A value that is there twice. */
export function duplicateValue(field: string, value: Json): Problem {
  return { field, reason: "FieldValueDuplicate", message: `Duplicate value: ${showValue(value)}` };
}

/** A value that is none of those that are supported. */
export function unsupportedValue(field: string, value: Json, supported: readonly Json[]): Problem {
  const known = supported.map((one) => showValue(one)).join(", ");
  return {
    field,
    reason: "FieldValueNotSupported",
    message: `Unsupported value: ${showValue(value)}: supported values: ${known}`,
  };
}

/** 422 for an object with problems. */
export function invalid(named: Named, name: string, problems: readonly Problem[]): Refusal {
  // A problem that is found twice stands once in the message, and stays two causes.
  const texts = [...new Set(problems.map(({ field, message }) => `${field}: ${message}`))];
  const message = `${qualify(named.kind, named.group)} "${name}" is invalid: ${
    texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`
  }`;
  const causes = problems.map(({ reason, message, field }) => ({ reason, message, field }));
  const { kind } = named;
  const details = { ...(name === "" ? {} : { name }), ...toGroup(named), ...(kind === "" ? {} : { kind }), causes };
  return new Refusal(422, { message, reason: "Invalid", details });
}

/** 404 for an object that is not there. */
export function notFound(named: Named, name: string): Refusal {
  const message = `${qualify(named.plural, named.group)} "${name}" not found`;
  return new Refusal(404, { message, reason: "NotFound", details: toDetails(named, name) });
}

/** 409 for a name that is taken. */
export function alreadyExists(named: Named, name: string): Refusal {
  const message = `${qualify(named.plural, named.group)} "${name}" already exists`;
  return new Refusal(409, { message, reason: "AlreadyExists", details: toDetails(named, name) });
}

/** 409 for an object that has changed in the meantime, or for another reason why it cannot be changed. */
export function conflict(named: Named, name: string, why = MODIFIED): Refusal {
  const message = `Operation cannot be fulfilled on ${qualify(named.plural, named.group)} "${name}": ${why}`;
  return new Refusal(409, { message, reason: "Conflict", details: toDetails(named, name) });
}

/** 403 for what a right, a quota or another rule forbids. */
export function forbidden(named: Named, name: string, why: string, causes: readonly JsonObject[] = []): Refusal {
  const whose = name === "" ? qualify(named.plural, named.group) : `${qualify(named.plural, named.group)} "${name}"`;
  const details = { ...toDetails(named, name), ...(causes.length === 0 ? {} : { causes: [...causes] }) };
  return new Refusal(403, { message: `${whose} is forbidden: ${why}`, reason: "Forbidden", details });
}

/** 422 for an update that says nothing of the version it was made of. */
export function versionNeeded({ plural, group }: Named, name: string): Refusal {
  const problem = invalidValue("metadata.resourceVersion", 0, "must be specified for an update");
  return invalid({ group, plural, kind: plural }, name, [problem]);
}

/** 500 for a new object that says a version. */
export function versionOnCreate(): Refusal {
  return new Refusal(500, { message: "resourceVersion should not be set on objects to be created" });
}

/** 422 for a resourceVersionMatch that does not fit. */
export function badMatch(why: string): Refusal {
  return badOptions(forbiddenField("resourceVersionMatch", why));
}

/** 422 for the options of a list or watch. */
export function badOptions(problem: Problem): Refusal {
  return invalid({ group: "meta.k8s.io", plural: "", kind: "ListOptions" }, "", [problem]);
}

/** The API server's message for a resource version that is not a number. */
export function notAVersion(text: string): string {
  const shown = JSON.stringify(text);
  return `resourceVersion: Invalid value: ${shown}: strconv.ParseUint: parsing ${shown}: invalid syntax`;
}

/** 400 for a request that cannot be read. */
export function badRequest(message: string): Refusal {
  return new Refusal(400, { message, reason: "BadRequest" });
}

/** A refusal of an object that cannot be read as one of its kind. */
export function cannotHandle({ kind, version }: { readonly kind: string; readonly version: string }, why: string) {
  return badRequest(`${kind} in version "${version}" cannot be handled as a ${kind}: ${why}`);
}

/** 410 for a version of too long ago. */
export function expired(message: string): Refusal {
  return new Refusal(410, { message, reason: "Expired" });
}

/** 404 for a path that names no resource. */
export function unknownResource(): Refusal {
  return new Refusal(404, {
    message: "the server could not find the requested resource",
    reason: "NotFound",
    details: {},
  });
}

/** 405 for a verb that the resource does not have. */
export function methodNotAllowed(): Refusal {
  const message = "the server does not allow this method on the requested resource";
  return new Refusal(405, { message, reason: "MethodNotAllowed", details: {} });
}

/** 415 for a body in none of these formats. */
export function unsupportedMediaType(accepted: readonly string[]): Refusal {
  const message = "the body of the request was in an unknown format - accepted media types include: " +
    accepted.join(", ");
  return new Refusal(415, { message, reason: "UnsupportedMediaType" });
}

/** 413 for a body beyond the limit. */
export function tooLargeBody(limitBytes: number): Refusal {
  const message = `Request entity too large: limit is ${limitBytes}`;
  return new Refusal(413, { message, reason: "RequestEntityTooLarge" });
}

/** 504 for a version that is still to come. */
export function tooLargeVersion(asked: string, current: number): Refusal {
  return new Refusal(504, {
    message: `Timeout: Too large resource version: ${asked}, current: ${current}`,
    reason: "Timeout",
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
  });
}

/** `"a\x00"`, `1.5e+19`, `{"type":"Ready"}` */
export function showValue(value: Json): string {
  if (typeof value === "string") return quote(value);
  if (typeof value === "number") return formatNumber(value);
  return JSON.stringify(value);
}

const MODIFIED = "the object has been modified; please apply your changes to the latest version and try again";

/** `deployments.apps`, `pods`. */
function qualify(word: string, group: string): string {
  return group === "" ? word : `${word}.${group}`;
}

function toGroup({ group }: Named): JsonObject {
  return group === "" ? {} : { group };
}

function toDetails(named: Named, name: string): JsonObject {
  return { ...(name === "" ? {} : { name }), ...toGroup(named), kind: named.plural };
}

/** Quotes a text as `%q` does: what cannot be printed is escaped with two, four or eight hexadecimal digits. */
function quote(text: string): string {
  const escaped = text.replaceAll(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, (one) => {
    const short = SHORT[one];
    if (short !== undefined) return short;
    const code = one.codePointAt(0) ?? 0;
    const digits = code.toString(16);
    if (code < 0x80) return `\\x${digits.padStart(2, "0")}`;
    return code < 0x10000 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
  });
  return `"${escaped}"`;
}

const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
};

/** Writes a number as `%v` does: an integer that Go holds as one in full, any other as short as it reads back. */
function formatNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 63) return BigInt(value).toString();
  const [digits = "", exponent = "0"] = value.toExponential().split("e");
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}
