/**
 * Leader election: only the holder of the Lease runs controllers. The other replicas watch the cluster and wait. Each
 * time that this process becomes the leader, it builds new controllers.
 */
import type { ApiClient } from "../kube/client.ts";
import { createElection, type Term } from "../kube/leader_election.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log } from "../runtime/log.ts";
import type { CheckResult, OnFailure, Runnable } from "./health.ts";
import type { Metrics } from "./metrics/metrics.ts";

/** The Lease and the identity that this process writes into it. */
export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
  /** Unique for each process. */
  readonly identity: string;
}

interface LeadershipOptions {
  readonly lease: LeaseName;
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "setLeading" | "standBy">;
  readonly onTrouble: OnFailure;
  /** Called once for each leadership. */
  readonly createRunnable: (term: Term) => Runnable;
}

interface Leadership extends Runnable {
  /** Not ok before the first answer about the Lease. The message names another leader. */
  readonly isReady: () => CheckResult;
}

const WHAT = "Cannot take part in the election of a leader";

/** Returns the leader election; nothing runs before `run` is called. Clauses: C55. */
export function createLeadership(options: LeadershipOptions): Leadership {
  const { lease: { namespace, name, identity }, client, clock, random, log, metrics, onTrouble } = options;
  const subject = `${namespace}/${name}`;
  const fields = { lease: subject, identity };
  let running: Runnable | null = null;
  let failure = "";
  let isRefused = false;

  const election = createElection({
    client,
    namespace,
    name,
    identity,
    clock,
    random,
    listener: {
      onStandby(leader) {
        metrics.setLeading(name, false);
        log.info("Waiting as standby", { ...fields, leader: leader ?? "none" });
      },
      onLeading() {
        metrics.setLeading(name, true);
        log.info("Leading", fields);
      },
      onLost(why) {
        metrics.setLeading(name, false);
        log.warn("No longer leading", { ...fields, why });
      },
      onFailure({ message, code }) {
        failure = message;
        isRefused = code === 403 || code === 404;
        const topic = { what: WHAT, reason: code === 0 ? "NoAnswer" : String(code), subject };
        const level = isRefused ? "error" : "warn";
        onTrouble({
          kind: "failure",
          level,
          message: `${WHAT}, retrying`,
          autoscaler: null,
          fields: { why: message },
          topic,
        });
      },
      onAnswered() {
        if (failure === "") return;
        failure = "";
        isRefused = false;
        onTrouble({ kind: "recovered", what: WHAT, subject });
      },
    },
    async lead(term) {
      running = options.createRunnable(term);
      try {
        await running.run(term.signal);
      } finally {
        running = null;
        metrics.setLeading(name, false);
        metrics.standBy();
      }
    },
  });

  return {
    isAlive: () => running?.isAlive() ?? { ok: true, message: "ok" },
    isReady() {
      if (election.isLeading()) return { ok: true, message: "ok" };
      if (!election.isKnown()) {
        return {
          ok: false,
          message: `waiting for the first answer about Lease "${subject}"${failure && `: ${failure}`}`,
          reason: "waiting for the first answer about the Lease",
        };
      }
      // A process that cannot read or write the Lease cannot take over.
      if (isRefused) return { ok: false, message: `cannot become leader: ${failure}`, reason: "cannot become leader" };
      const leader = election.holder();
      return {
        ok: true,
        message: `standby: ${leader === null || leader === identity ? "no pod" : `"${leader}"`} leads`,
        reason: "standby",
      };
    },
    async run(signal) {
      metrics.setLeading(name, false);
      await election.run(signal);
    },
  };
}
