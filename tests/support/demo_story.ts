/** Stories of the demo by their few facts: what a container used at a look, and what the daemon told. */
import { newStory, nextStory, noteTold, type Story, type Told } from "../../lib/cli/demo/story.ts";
import type { ContainerUse } from "../../lib/cli/demo/use.ts";

export interface UseFacts {
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
  const { throttled = { instance: 1, ns: 0 }, killedAt = null, isDown = false } = facts;
  return {
    ...{ pod: `${container}-x`, container, throttled, killedAt },
    used: isDown ? null : { cpuMillicores: used[0], memoryBytes: used[1] },
    size: {
      ...{ "cpu.requests": requests[0], "cpu.limits": limits[0] },
      ...{ "memory.requests": requests[1], "memory.limits": limits[1] },
    },
  };
}

/** A line of the daemon's log about an autoscaler of namespace default. */
export function told(at: number, message: string, fields: Readonly<Record<string, unknown>> = {}): Told {
  return { at, level: "debug", message, fields: { autoscaler: "default/web", ...fields } };
}

/** Begins at 0. */
export function tell(...lines: readonly Told[]): Story {
  return lines.reduce(noteTold, newStory(0, 1_200_000));
}

const MI = 2 ** 20;

/** Ten minutes of all workloads, a look each 10 s: a rise, a resize that waits, and a kill in the shadow. */
export function tellTenMinutes(): Story {
  let story = newStory(0, 1_200_000);
  for (let at = 0; at <= 600_000; at += 10_000) {
    const isBusy = at > 300_000;
    const size = isBusy ? { requests: [600, 128 * MI], limits: [900, 256 * MI] } as const : {
      ...{ requests: [200, 128 * MI], limits: [700, 256 * MI] } as const,
    };
    const shadow = { requests: [600, 128 * MI], limits: [700, 256 * MI] } as const;
    const leaked = (64 + at / 3000) * MI;
    if (at === 310_000) {
      story = noteTold(story, told(at, "Decided", { action: "scaleUp" }));
      story = noteTold(story, told(at, "Resizing", { why: "cpu.requests at 215 %; cpu.limits at 82 %" }));
      const change = "cpu.requests 200m -> 600m, cpu.limits 700m -> 900m";
      story = noteTold(story, told(at, "Resized pod", { action: "scaleUp", change }));
    }
    story = nextStory(story, {
      at,
      podfit: [
        use({ used: [isBusy ? 430 : 100, 90 * MI], ...size }),
        use({ container: "cache", used: [40, leaked], requests: [50, 192 * MI], limits: [200, 512 * MI] }),
        use({ container: "worker", used: [15, 86 * MI], requests: [22, 115 * MI], limits: [1000, 1536 * MI] }),
      ],
      shadow: [
        use({ ...shadow, throttled: { instance: 1, ns: isBusy ? (at - 300_000) * 50_000 : 0 } }),
        use({
          ...{ container: "cache", requests: [50, 192 * MI], limits: [200, 256 * MI] },
          ...{ isDown: at === 580_000, killedAt: at >= 580_000 ? 576_000 : null },
        }),
        use({ container: "worker", requests: [900, 1024 * MI], limits: [1000, 1536 * MI] }),
      ],
    });
  }
  const blocked = { action: "scaleUp", reason: "ResizeDeferred", isNewSample: true };
  story = noteTold(story, told(590_000, "Blocked", blocked));
  const note = 'Resize of pod "web-x" is stuck (ResizeDeferred): Node didn\'t have enough resource: cpu';
  return noteTold(story, told(590_000, "Notice", { reason: "ResizePending", note }));
}
