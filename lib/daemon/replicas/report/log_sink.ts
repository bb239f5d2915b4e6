/** The sink that logs: a change of replicas at info, and at debug what each half found and why it left them (R94). */
import { readObstacleReason } from "../../../core/replicas/obstructed.ts";
import type { ReplicasReport, TriggerReport } from "../../../core/replicas/report.ts";
import type { Log, LogFields } from "../../../runtime/log.ts";
import { formatName } from "../../inventory/facts.ts";
import type { ReplicasPass, ReplicasSink } from "../sink.ts";

/** Never throws, as the log does not. */
export function createReplicasLog(log: Log): ReplicasSink {
  return {
    onPass(pass) {
      logAnswer(pass, log);
      logObstacle(pass, log);
      const { input: { object }, outcome: { report } } = pass;
      if (report !== null && log.level === "debug") log.debug("Evaluated", { ...toFields(object, report) });
    },
  };
}

function logAnswer({ input: { object, observation } }: ReplicasPass, log: Log): void {
  if (observation.kind !== "answered") return;
  const { write, answer } = observation;
  const fields = {
    scaledObject: formatName(object),
    target: object.scaledObject?.target.name ?? null,
    from: write.from.replicas,
    to: write.replicas,
    half: write.half,
    reason: write.reason,
    why: write.message,
  };
  if (answer.kind === "accepted") return log.info("Set replicas", fields);
  if (answer.kind === "dropped") return log.debug("Somebody else has set replicas meanwhile", fields);
  const code = answer.kind === "refused" ? answer.code : 0;
  log.warn("Cannot set replicas, trying again", { ...fields, code, error: answer.message });
}

/** Once for each: the same obstacle is met with each half. */
function logObstacle({ before, input: { object, observation }, outcome: { state } }: ReplicasPass, log: Log): void {
  const why = state.conditions.Ready?.message;
  if (observation.kind !== "obstructed" || before.conditions.Ready?.message === why) return;
  log.info("Leaving replicas alone", {
    scaledObject: formatName(object),
    reason: readObstacleReason(observation.obstacle),
    why,
  });
}

function toFields(object: { readonly namespace: string; readonly name: string }, report: ReplicasReport): LogFields {
  const { half, replicas, desired, reason, message, need, stabilized, triggers } = report;
  return {
    scaledObject: formatName(object),
    half,
    replicas,
    desired,
    reason,
    why: message,
    need,
    stabilized,
    triggers: triggers.map(formatTrigger),
  };
}

/** `s0-prometheus: value 12, 4 replicas (ratio 1.2; 10 ready, 1 unready, 0 missing)`, or why there is none. */
export function formatTrigger({ metricName, value, error, proposal }: TriggerReport): string {
  if (error !== null) return `${metricName}: ${error}`;
  const said = value === null ? metricName : `${metricName}: value ${value}`;
  if (proposal === null) return said;
  const { replicas, lo, hi, ratio, ready, unready, missing } = proposal;
  const range = lo === hi ? "" : ` (${lo} to ${hi})`;
  const counts = `${ready} ready, ${unready} unready, ${missing} missing`;
  return `${said}, ${replicas} replicas${range}, ${ratio === null ? "" : `ratio ${ratio.toPrecision(4)}, `}${counts}`;
}
