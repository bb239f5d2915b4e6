/** What the API server answered, beside what podfit counted of it. */
import type { PlainWorld } from "../chaos/plain_world.ts";

/** By method, resource and status code, how many answers there were; code 0 where there was none. */
export type Answers = Map<string, number>;

/** One answer. */
export interface Answer {
  readonly method: string;
  readonly resource: string;
  readonly code: number;
}

/** Writes it down. */
export function noteAnswer(answers: Answers, answer: Answer): void {
  const key = toKey(answer);
  answers.set(key, (answers.get(key) ?? 0) + 1);
}

/** Who counted, and how many resizes were applied. */
export interface Counted {
  readonly podfit: Pick<PlainWorld["podfit"], "sum">;
  readonly witness: Pick<PlainWorld["witness"], "resizes">;
}

const COUNTED = [
  { method: "PATCH", resource: "pods/resize" },
  { method: "PATCH", resource: "podresourceautoscalers/status" },
  { method: "POST", resource: "events" },
  { method: "PATCH", resource: "events" },
  { method: "GET", resource: "deployments/scale" },
  { method: "PUT", resource: "deployments/scale" },
  { method: "PATCH", resource: "scaledobjects/status" },
];

/** A line for each of podfit's counters that does not agree with what was answered. */
export function countDisagreements({ podfit, witness }: Counted, answers: Answers): readonly string[] {
  const wrong: string[] = [];
  for (const { method, resource } of COUNTED) {
    for (const code of listCodes(answers, { method, resource })) {
      const seen = answers.get(toKey({ method, resource, code })) ?? 0;
      const labels = [`verb="${method.toLowerCase()}"`, `resource="${resource}"`, `code="${code}"`];
      const counted = podfit.sum("podfit_api_requests_total", labels);
      if (counted !== seen) wrong.push(`${method} ${resource}: ${seen} answers of ${code}, podfit counted ${counted}`);
    }
  }
  const resizes = answers.get("PATCH pods/resize 200") ?? 0;
  const updates = podfit.sum("kedify_agent_pra_resource_updates");
  // One whose answer was lost is counted when the pod shows it, unless the pod goes before.
  if (updates < resizes || updates > witness.resizes) {
    wrong.push(`${resizes} resizes were answered with 200 and ${witness.resizes} applied, podfit counted ${updates}`);
  }
  const [written, lost] = [
    sumWrites(answers, (code) => code >= 200 && code < 300),
    sumWrites(answers, (code) => code === 0),
  ];
  const published = podfit.sum("podfit_events_total", ['result="ok"']);
  // One whose answer was lost is tried again under its name.
  if (published < written || published > written + lost) {
    wrong.push(`${written} events were written and ${lost} answers lost, podfit counted ${published}`);
  }
  return wrong;
}

function sumWrites(answers: Answers, isCounted: (code: number) => boolean): number {
  let sum = 0;
  for (const method of ["POST", "PATCH"]) {
    for (const code of listCodes(answers, { method, resource: "events" })) {
      if (isCounted(code)) sum += answers.get(toKey({ method, resource: "events", code })) ?? 0;
    }
  }
  return sum;
}

function listCodes(answers: Answers, { method, resource }: Omit<Answer, "code">): readonly number[] {
  const start = `${method} ${resource} `;
  return [...answers.keys()].filter((key) => key.startsWith(start)).map((key) => Number(key.slice(start.length)));
}

function toKey({ method, resource, code }: Answer): string {
  return `${method} ${resource} ${code}`;
}
