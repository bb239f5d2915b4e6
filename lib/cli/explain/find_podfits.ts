/** Which pods of a cluster are podfits, in which mode, and where their records are: read from what the chart writes into them. */
import { isRecord } from "../../units/untrusted.ts";

/** The chart's modes: one Deployment, one podfit on each node, one in each pod. */
const MODES = ["central", "node-local", "sidecar"] as const;
export type Mode = typeof MODES[number];

/** A pod that podfit runs in. */
export interface PodfitPod {
  readonly namespace: string;
  readonly name: string;
  readonly mode: Mode;
  readonly node: string | null;
  readonly isReady: boolean;
  /** The port of --debug-listen; `null` = it has none. */
  readonly debugPort: number | null;
  readonly isTls: boolean;
  /** Who of several leads; `null` where they elect nobody. */
  readonly lease: { readonly namespace: string; readonly name: string } | null;
}

/** What the chart gives its pods under whatever name it is installed, and its users the pods with a sidecar (C17). */
const LABEL = "podfit.dev/mode";

/** Of the pods of podfits in these modes. */
export function selectModes(modes: readonly Mode[]): string {
  return `${LABEL} in (${modes.join(",")})`;
}

/** `null` for a pod that is none, or that is going. */
export function readPodfit(pod: unknown): PodfitPod | null {
  const { name, namespace, labels, deletionTimestamp } = toRecord(pick(pod, "metadata"));
  if (typeof name !== "string" || typeof namespace !== "string" || deletionTimestamp !== undefined) return null;
  const mode = readMode(labels);
  const container = listContainers(pod).find((one) => pick(one, "name") === "podfit") ?? listContainers(pod)[0];
  if (mode === null || container === undefined) return null;
  const flags = readFlags(container);
  const leads = mode === "central" && flags.get("leader-elect") !== "false";
  return {
    namespace,
    name,
    mode,
    node: toText(pick(pod, "spec", "nodeName")),
    isReady: isReady(pod),
    debugPort: readPort(flags.get("debug-listen")),
    isTls: flags.has("tls-cert-file"),
    lease: leads
      ? {
        namespace: flags.get("leader-elect-resource-namespace") ?? namespace,
        name: flags.get("leader-elect-resource-name") ?? "podfit",
      }
      : null,
  };
}

function readMode(labels: unknown): Mode | null {
  return MODES.find((mode) => mode === toRecord(labels)[LABEL]) ?? null;
}

/** Native sidecars are init containers. */
function listContainers(pod: unknown): readonly unknown[] {
  return [pick(pod, "spec", "containers"), pick(pod, "spec", "initContainers")].flatMap((list) =>
    Array.isArray(list) ? list : []
  );
}

/** Flags by name without dashes, and variables `PODFIT_...` where no flag is given. */
function readFlags(container: unknown): ReadonlyMap<string, string> {
  const flags = new Map<string, string>();
  for (const one of toList(pick(container, "env"))) {
    const [name, value] = [toText(pick(one, "name")), toText(pick(one, "value"))];
    const known = /^PODFIT_([A-Z_]+)$/.exec(name ?? "")?.[1];
    if (known !== undefined && value !== null) flags.set(known.toLowerCase().replaceAll("_", "-"), value);
  }
  const args = [...toList(pick(container, "command")), ...toList(pick(container, "args"))].map(String);
  for (const [at, arg] of args.entries()) {
    const [, name = "", value] = /^--([a-z-]+)(?:=(.*))?$/s.exec(arg) ?? [];
    const next = args[at + 1];
    if (name !== "") flags.set(name, value ?? (next === undefined || next.startsWith("-") ? "true" : next));
  }
  return flags;
}

function readPort(listen: string | undefined): number | null {
  const port = Number(/(\d+)$/.exec(listen ?? "")?.[1] ?? NaN);
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : null;
}

function isReady(pod: unknown): boolean {
  return toList(pick(pod, "status", "conditions")).some((one) =>
    pick(one, "type") === "Ready" && pick(one, "status") === "True"
  );
}

/** A field of a value of any shape. */
export function pick(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce((at: unknown, key) => isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined, value);
}

function toRecord(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function toText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
