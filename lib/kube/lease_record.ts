/**
 * What a Lease says of who leads, read at the edge: whoever may write Leases may write anything into one.
 * https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/lease-v1/
 */
import type { Lease } from "../api/kubernetes.ts";
import { isRecord } from "../units/untrusted.ts";

/** A Lease as it was seen. */
export interface LeaseRecord {
  /** `null` = nobody. */
  readonly holder: string | null;
  /** For how long it is the holder's after a change was seen, ms. */
  readonly durationMs: number;
  /** Nobody holds it because its last holder has given it back; false where somebody else took the holder out. */
  readonly isReleased: boolean;
  readonly transitions: number;
  /** Two records with the same are the same: nobody has renewed between them. */
  readonly fingerprint: string;
  /** The object as it came, to be written back with another `spec`. */
  readonly lease: Lease;
}

/** Who holds the Lease from now on. */
export interface Hold {
  readonly holder: string;
  readonly durationMs: number;
  /** Epoch ms, for people: nobody reckons with it. */
  readonly now: number;
}

const LONGEST_MS = 3_600_000;
/** What a release writes, as client-go does. */
const RELEASED_SECONDS = 1;
/** The field is an int32. */
const MOST_TRANSITIONS = 2 ** 31 - 1;

/**
 * Gives the record of a Lease, `null` for what is none. A duration that makes no sense, or is shorter than `durationMs`
 * without a release, is taken for `durationMs`, because the holder that wrote the rest goes by that.
 */
export function parseLease(value: unknown, durationMs: number): LeaseRecord | null {
  if (!isRecord(value) || !isRecord(value["metadata"])) return null;
  if (typeof value["metadata"]["resourceVersion"] !== "string") return null;
  const spec = isRecord(value["spec"]) ? value["spec"] : {};
  const { holderIdentity, leaseDurationSeconds: seconds, leaseTransitions: transitions } = spec;
  const holder = typeof holderIdentity === "string" && holderIdentity !== "" ? holderIdentity : null;
  const writtenMs = isWhole(seconds) ? seconds * 1000 : 0;
  return {
    holder,
    durationMs: Math.min(Math.max(writtenMs, durationMs), Math.max(LONGEST_MS, durationMs)),
    isReleased: holder === null && seconds === RELEASED_SECONDS,
    transitions: isWhole(transitions) ? transitions : 0,
    fingerprint: JSON.stringify(spec),
    lease: value,
  };
}

/** The first Lease of its name. */
export function newLease(name: string, hold: Hold): Lease {
  const time = formatMicroTime(hold.now);
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name },
    spec: { ...toSpec(hold), acquireTime: time, leaseTransitions: 0 },
  };
}

/** The Lease with another holder, or the same one who renews it. */
export function holdLease({ holder, transitions, lease }: LeaseRecord, hold: Hold): Lease {
  const isRenewal = holder === hold.holder;
  const taken = {
    acquireTime: formatMicroTime(hold.now),
    leaseTransitions: Math.min(transitions + 1, MOST_TRANSITIONS),
  };
  return { ...lease, spec: { ...lease.spec, ...toSpec(hold), ...(!isRenewal && taken) } };
}

/** The Lease as its holder gives it back: anybody may take it at once. */
export function releaseLease({ lease }: LeaseRecord, now: number): Lease {
  const time = formatMicroTime(now);
  const released = { holderIdentity: "", leaseDurationSeconds: RELEASED_SECONDS, renewTime: time, acquireTime: time };
  return { ...lease, spec: { ...lease.spec, ...released } };
}

/** Writes epoch ms as a MicroTime, which has six digits of a second's fraction and no other number of them. */
export function formatMicroTime(at: number): string {
  return new Date(at).toISOString().replace(/Z$/, "000Z");
}

function toSpec({ holder, durationMs, now }: Hold): NonNullable<Lease["spec"]> {
  return {
    holderIdentity: holder,
    leaseDurationSeconds: Math.ceil(durationMs / 1000),
    renewTime: formatMicroTime(now),
  };
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
