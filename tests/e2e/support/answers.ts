/**
 * Does one API server answer like another? The same requests go to both; what differs by nature (uids, times, versions)
 * is named the same in both answers, and what then still differs is named by its path.
 */
import { systemClock } from "../../../lib/runtime/clock.ts";
import type { ApiServer } from "../../../lib/kube/transport.ts";
import type { ApiRequest } from "./ask.ts";

export type Asked = Pick<ApiServer, "origin" | "transport">;

/** Where two answers differ, as text: `message: "a" | "b"`. */
export type Difference = string;

/** One server's side of the conversation: what it said of its objects is what later requests speak of. */
export class Conversation {
  readonly #server: Asked;
  readonly #namespace: string;
  /** By kind and name. */
  readonly #objects = new Map<string, { readonly uid: string; readonly version: string }>();
  readonly #names = new Map<string, string>();
  readonly #versions = new Map<string, string[]>();
  #token = "";

  constructor(server: Asked, namespace: string) {
    this.#server = server;
    this.#namespace = namespace;
  }

  /** What it answers, with the same names for what is the same. */
  async ask({ method, path, body, contentType = "application/json" }: ApiRequest): Promise<Json> {
    using timeout = systemClock.timeout(TIMEOUT_MS);
    const text = body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body);
    const response = await this.#server.transport(
      new Request(this.#server.origin + this.#fill(path), {
        method,
        headers: { accept: "application/json", "user-agent": AGENT, "content-type": contentType },
        body: text === null ? null : this.#fill(text),
        signal: timeout.signal,
      }),
    );
    const answer = await response.text();
    const lines = answer.split("\n").filter((line) => line !== "").map(toJson);
    const isWatch = /[?&]watch=/.test(path) && response.ok;
    lines.forEach((line) => this.#learn(isWatch ? at(line, "object") : line));
    const said = isWatch ? { events: lines.filter((line) => !isHeartbeat(line)) } : { body: lines[0] ?? null };
    return this.#level({ code: response.status, ...said });
  }

  #fill(text: string): string {
    return text.replaceAll("NS", this.#namespace).replaceAll("TOKEN", this.#token)
      .replaceAll(/(uid|version)\((\w+\/\w+)\)/g, (whole, what, name) => {
        const known = this.#objects.get(name);
        return known === undefined ? whole : what === "uid" ? known.uid : known.version;
      });
  }

  #learn(object: Json): void {
    const metadata = at(object, "metadata");
    const [uid, version] = [at(metadata, "uid"), at(metadata, "resourceVersion")];
    const token = at(metadata, "continue");
    if (typeof token === "string") this.#token = token;
    if (typeof uid !== "string" || typeof version !== "string") return;
    const name = `${at(object, "kind")}/${at(metadata, "name")}`;
    this.#objects.set(name, { uid, version });
    this.#names.set(uid, `uid of ${name}`);
  }

  #level(value: Json, key = "", uid = ""): Json {
    if (Array.isArray(value)) {
      const levelled = value.map((one) => this.#level(one, "", uid));
      return key === "managedFields" ? sortEntries(levelled) : levelled;
    }
    if (isObject(value)) {
      const inner = typeof value.uid === "string" ? value.uid : uid;
      return Object.fromEntries(
        Object.entries(withoutControllers(value)).map(([key, one]) => [key, this.#level(one, key, inner)]),
      );
    }
    if (typeof value !== "string") return value;
    if (key === "resourceVersion" && value !== "") return this.#count(value, uid);
    if (key === "continue") return "a token";
    if (isRecent(value)) return "a time";
    let text = value;
    for (const [uid, name] of this.#names) text = text.replaceAll(uid, name);
    // `too old resource version: 1 (8231)`
    text = text.replaceAll(/\(\d+\)/g, "(a version)");
    return text.replaceAll(this.#namespace, "NS").replaceAll(UID, "a uid");
  }

  /** `version 2` = the second that was seen of this object; a list's says nothing. */
  #count(version: string, uid: string): string {
    if (uid === "") return "a version";
    const seen = this.#versions.get(uid) ?? [];
    if (!seen.includes(version)) seen.push(version);
    this.#versions.set(uid, seen);
    return `version ${seen.indexOf(version) + 1}`;
  }
}

/** By path, in order: `body.metadata.name: "a" | nothing`; of different codes, these and their words alone. */
export function findDifferences(one: Json, other: Json): readonly Difference[] {
  if (at(one, "code") !== at(other, "code")) return [`code: ${formatVerdict(one)} | ${formatVerdict(other)}`];
  const [left, right] = [new Map(listLeaves(one, "")), new Map(listLeaves(other, ""))];
  const paths = [...new Set([...left.keys(), ...right.keys()])].sort();
  const show = (leaf: string | undefined) => leaf ?? "nothing";
  return paths.filter((path) => left.get(path) !== right.get(path))
    .map((path) => `${path}: ${show(left.get(path))} | ${show(right.get(path))}`);
}

type Json = null | boolean | number | string | Json[] | JsonObject;
interface JsonObject {
  readonly [key: string]: Json;
}

const TIMEOUT_MS = 15_000;
/** That of podfit's own transport. */
const AGENT = "podfit/test";
const UID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;

function formatVerdict(answer: Json): string {
  return `${at(answer, "code")} ${JSON.stringify(at(at(answer, "body"), "message"))}`;
}

function* listLeaves(value: Json, path: string): Iterable<readonly [string, string]> {
  const entries = Array.isArray(value)
    ? value.map((one, index): [string, Json] => [`[${index}]`, one])
    : isObject(value)
    ? Object.entries(value).map(([key, one]): [string, Json] => [path === "" ? key : `.${key}`, one])
    : [];
  if (entries.length === 0) yield [path, JSON.stringify(value)];
  for (const [key, one] of entries) yield* listLeaves(one, path + key);
}

/** What the real cluster's controllers do to an object comes when it comes. */
function withoutControllers(object: JsonObject): JsonObject {
  if (!CONTROLLED.includes(String(object.kind))) return object;
  const { status, metadata, ...rest } = object;
  const shown = at(status, "selector") === null ? {} : { status: { selector: at(status, "selector") } };
  const { resourceVersion: _version, annotations, ...kept } = isObject(metadata) ? metadata : {};
  const own = Object.entries(isObject(annotations) ? annotations : {}).filter(([key]) => key !== REVISION);
  return { ...rest, ...shown, metadata: { ...kept, annotations: Object.fromEntries(own) } };
}

const CONTROLLED = ["Deployment", "StatefulSet", "ReplicaSet", "Scale"];
const REVISION = "deployment.kubernetes.io/revision";

/** Without those of controllers; by manager, as their order is that of their times. */
function sortEntries(entries: readonly Json[]): Json[] {
  const nameOf = (entry: Json) => ["manager", "operation", "subresource"].map((key) => at(entry, key)).join(" ");
  return entries.filter((entry) => !nameOf(entry).startsWith("kube-"))
    .sort((a, b) => nameOf(a) < nameOf(b) ? -1 : 1);
}

/** A server may send a bookmark at any time; only the one that ends the initial events has to come where it does. */
function isHeartbeat(event: Json): boolean {
  if (at(event, "type") !== "BOOKMARK") return false;
  return at(at(at(event, "object"), "metadata"), "annotations") === null;
}

/** A time that a server set while the test ran. */
function isRecent(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) && Math.abs(Date.parse(text) - systemClock.now()) < 300_000;
}

function toJson(line: string): Json {
  return /^[{[]/.test(line) ? JSON.parse(line) : line;
}

function at(value: Json | undefined, key: string): Json {
  return isObject(value) ? value[key] ?? null : null;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
