/** Stories of the demo by their few facts: what a container used at a look, and what the daemon evaluated. */
import type { Action } from "../../lib/model/autoscaler.ts";
import { formatFieldAmount, type ResizeRequest } from "../../lib/model/resize_request.ts";
import { withEvaluation, withReplicas } from "../../lib/cli/demo/evaluations.ts";
import { addEvent, type ContainerUse, newStory, nextStory, type Story } from "../../lib/cli/demo/story.ts";
import type { Decision, ScaleAction, SizeInput, SizeOutcome } from "../../lib/model/decision.ts";
import type { BlockReason, HoldReason, Notice, NoticeName } from "../../lib/model/reasons.ts";
import type { ReplicasObservation } from "../../lib/model/replicas_decision.ts";
import type { Evaluation } from "../../lib/daemon/pods/controller.ts";
import { pod, policy, resources } from "./builders.ts";
import { evaluation } from "./evaluations.ts";
import type { Fold } from "./replicas_fold.ts";

export interface UseFacts {
  /** `web-x` and the like unless given. */
  readonly pod?: string;
  readonly container?: string;
  /** Millicores and bytes. */
  readonly used?: readonly [cpu: number, memory: number];
  readonly requests?: readonly [cpu: number, memory: number];
  readonly limits?: readonly [cpu: number, memory: number];
  readonly throttled?: ContainerUse["throttled"];
  readonly killedAt?: number | null;
  readonly isDown?: boolean;
}

export function use(facts: UseFacts): ContainerUse {
  const { container = "web", used = [100, 64], requests = [200, 128], limits = [400, 256] } = facts;
  const { pod = `${container}-x`, throttled = { instance: 1, ns: 0 }, killedAt = null, isDown = false } = facts;
  return {
    pod,
    container,
    throttled,
    killedAt,
    used: isDown ? null : { cpuMillicores: used[0], memoryBytes: used[1] },
    size: {
      "cpu.requests": requests[0],
      "cpu.limits": limits[0],
      "memory.requests": requests[1],
      "memory.limits": limits[1],
    },
  };
}

export const WEB = policy({ namespace: "default", name: "web" });

/** An evaluation of the pod of autoscaler "web" in namespace default, `at` ms after the story's beginning. */
export function evaluated(at: number, outcome: Partial<SizeOutcome>, facts: Partial<SizeInput> = {}): Evaluation {
  return evaluation({ input: { now: at, contenders: [WEB], ...facts }, outcome });
}

/** One that ended with this decision. */
export function decided(at: number, decision: Decision, isNewSample = true): Evaluation {
  return evaluated(at, {
    decisions: [{ autoscaler: WEB.uid, container: "main", decision, candidates: [], isNewSample }],
  });
}

export function held(at: number, reason: HoldReason): Evaluation {
  return decided(at, { kind: "hold", reason, message: "" });
}

export function blocked(at: number, reason: BlockReason, isNewSample = true): Evaluation {
  return decided(at, { kind: "blocked", action: "scaleUp", reason, message: "" }, isNewSample);
}

/** One that decided to resize, and sends its request. */
export function requested(at: number, why: string): Evaluation {
  const [from, to] = [resources(), resources()];
  const request: ResizeRequest = {
    autoscaler: WEB.uid,
    autoscalerGeneration: WEB.generation,
    container: "main",
    kind: "container",
    action: "scaleUp",
    uid: "pod-1",
    resourceVersion: "100",
    generation: 1,
    from,
    to,
    changes: [],
    stuck: null,
    reason: null,
    givesUp: null,
    why,
    reflex: null,
  };
  const decision = { kind: "resize", action: "scaleUp", from, to } as const;
  return evaluated(at, {
    request,
    decisions: [{ autoscaler: WEB.uid, container: "main", decision, candidates: [], isNewSample: true }],
  });
}

/** One that folded in the answer to an accepted request. */
export function scaled(at: number, action: Action, deltas: ScaleAction["deltas"]): Evaluation {
  const change = deltas.map(({ key, from, to }) =>
    `${key} ${formatFieldAmount(key, from)} -> ${formatFieldAmount(key, to)}`
  );
  return evaluated(at, {
    scaled: { autoscaler: WEB.uid, container: "main", action, at, change: change.join(", "), deltas },
  });
}

/** A notice about autoscaler "web". */
export function notice(name: NoticeName, message: string): Notice {
  return { autoscaler: WEB.uid, name, message };
}

/** The story with one pass through the fold, as the daemon tells of it. */
export function passed(story: Story, fold: Fold, observation: ReplicasObservation): Story {
  const before = fold.state;
  const input = { now: fold.now, object: fold.object, observation, dryRun: fold.dryRun };
  return withReplicas(story, { before, input, outcome: fold.see(observation), tookMs: 0, lateMs: 0 });
}

/** Begins at 0. */
export function toStory(...evaluations: readonly Evaluation[]): Story {
  return evaluations.reduce(withEvaluation, newStory(0, 1_200_000));
}

const MI = 2 ** 20;

/** Ten minutes of all workloads, a look each 10 s: a rise, a resize that waits, and a kill in the comparison. */
export function toTenMinutes(): Story {
  let story = newStory(0, 1_200_000);
  for (let at = 0; at <= 600_000; at += 10_000) {
    const isBusy = at > 300_000;
    const size = isBusy
      ? { requests: [600, 128 * MI], limits: [900, 256 * MI] } as const
      : { requests: [200, 128 * MI], limits: [700, 256 * MI] } as const;
    const comparison = { requests: [600, 128 * MI], limits: [700, 256 * MI] } as const;
    const leaked = (64 + at / 3000) * MI;
    if (at === 310_000) {
      story = withEvaluation(story, requested(at, "cpu.requests at 215 %; cpu.limits at 82 %"));
      const rise = [{ key: "cpu.requests", from: 200, to: 600 }, { key: "cpu.limits", from: 700, to: 900 }] as const;
      story = withEvaluation(story, scaled(at, "scaleUp", rise));
    }
    story = nextStory(story, {
      at,
      podfit: [
        use({ used: [isBusy ? 430 : 100, 90 * MI], ...size }),
        use({ container: "cache", used: [40, leaked], requests: [50, 192 * MI], limits: [200, 512 * MI] }),
        use({ container: "worker", used: [15, 86 * MI], requests: [22, 115 * MI], limits: [1000, 1536 * MI] }),
      ],
      comparison: [
        use({ ...comparison, throttled: { instance: 1, ns: isBusy ? (at - 300_000) * 50_000 : 0 } }),
        use({
          container: "cache",
          requests: [50, 192 * MI],
          limits: [200, 256 * MI],
          isDown: at === 580_000,
          killedAt: at >= 580_000 ? 576_000 : null,
        }),
        use({ container: "worker", requests: [900, 1024 * MI], limits: [1000, 1536 * MI] }),
      ],
    });
  }
  story = withEvaluation(story, blocked(590_000, "ResizeDeferred"));
  const note = 'Resize of pod "web-x" is stuck (ResizeDeferred): Node didn\'t have enough resource: cpu';
  const pending = { reason: "Deferred", message: "Node didn't have enough resource: cpu", since: 590_000 };
  const stuck = evaluated(590_000, { notices: [notice("ResizePending", note)] }, { pod: pod({ pending }) });
  return withEvaluation(story, stuck);
}

/** Ten minutes of the scene with replicas, a look each 10 s: a pod grows, then there are three, and the comparison has seven. */
export function toTenMinutesOfBoth(): Story {
  let story = newStory(0, 1_200_000, "both");
  const shop = (index: number, cpu: number, used: number) =>
    use({
      pod: `shop-${index}`,
      container: "shop",
      used: [used, 180 * MI],
      requests: [cpu, 256 * MI],
      limits: [3000, 512 * MI],
    });
  for (let at = 0; at <= 600_000; at += 10_000) {
    const count = at > 400_000 ? 3 : 1;
    const grown = at > 200_000 ? 1800 : 500;
    story = nextStory(story, {
      at,
      podfit: Array.from({ length: count }, (_, index) => shop(index, grown, at > 200_000 ? 1200 : 300)),
      comparison: Array.from({ length: at > 200_000 ? 7 : 1 }, (_, index) => shop(index, 500, 340)),
    });
  }
  const changes = { out: 1, in: 0 };
  const last = { at: 410_000, tone: "up", text: "1 -> 3 pods" } as const;
  const standing = { reason: "VerticalFirst", since: 420_000 };
  return {
    ...addEvent(story, { ...last, subject: "shop", why: "ScaledOut: at full size it takes 3, at initial size 9" }),
    changes: { "shop.cpu": { at: 210_000, tone: "up", requests: "500m → 1800m", limits: null } },
    resizes: { up: 1, down: 0 },
    replicas: { changes, last, standing, asked: { lo: 3, hi: 9 }, pendingSince: null },
  };
}
