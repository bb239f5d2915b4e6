/** The flags of `podfit demo`, and the names of its scenes. */
import { createFlag, defineCommand, type Typed } from "../command/command.ts";
import { parseBetween, parseChoice } from "../command/parse_values.ts";
import { COLOR_WHENS, type ColorWhen } from "../terminal/text.ts";

/** What the demo shows: sizes only, or sizes and the number of pods together. */
export const SCENES = ["sizes", "both"] as const;

export type SceneName = typeof SCENES[number];

/** The demo's options, checked. */
export interface DemoOptions {
  /** What the demo shows. */
  readonly scene: SceneName;
  /** How many times faster time passes in the cluster. */
  readonly speed: number;
  /** Real seconds until the run ends. */
  readonly seconds: number;
  /** The run has no end but a signal. */
  readonly keeps: boolean;
  readonly color: ColorWhen;
}

const NOTES = `
Needs no cluster and touches none. API server, kubelet and usage are podfit's own models, and the daemon is the real one.
It listens on 127.0.0.1. With --keep the screen shows how to fetch its kubeconfig, for kubectl and for podfit's own commands:
podfit explain, top, record and lint --cluster. The manifests are in deploy/demo. The same cluster without podfit runs next to it.

Scenes: "sizes" resizes three workloads. "both" grows the pods of a workload in place, then adds pods, and goes back. It
runs next to the same cluster with the same ScaledObject and no resizes, where the number of pods is that of an HPA.

Ends with exit code 0, also after Ctrl-C. Without a terminal it prints plain lines.
`;

type Given = Readonly<{ scene: string; speed: string; seconds: string; keep?: boolean; color: string }>;

export const createDemoCommand = defineCommand({
  name: "demo",
  description: "watch podfit at work on an embedded cluster, for a minute",
  flags: [
    createFlag("--scene <name>", "what it shows", { fallback: "sizes", choices: SCENES }),
    createFlag("--color <when>", "colour; auto: on a terminal, unless NO_COLOR is set", {
      fallback: "auto",
      choices: COLOR_WHENS,
    }),
    createFlag("--speed <n>", "how much faster time passes in the cluster, 1 to 60", { fallback: "20" }),
    createFlag("--seconds <n>", "how long it runs, 1 to 3600", { fallback: "60" }),
    createFlag("--keep", "run until Ctrl-C"),
  ],
  notes: NOTES,
  examples: [
    ["three workloads that are resized, for a minute", "podfit demo"],
    ["larger pods first, then more of them, in slow motion", "podfit demo --scene both --speed 5"],
    ["until Ctrl-C, with a kubeconfig for kubectl and podfit", "podfit demo --keep"],
  ],
  parse: ({ given: { scene, speed, seconds, keep = false, color } }: Typed<Given>): DemoOptions => ({
    scene: parseChoice({ name: "--scene", text: scene }, SCENES),
    speed: parseBetween({ name: "--speed", text: speed }, [1, 60]),
    seconds: parseBetween({ name: "--seconds", text: seconds }, [1, 3600]),
    keeps: keep,
    color: parseChoice({ name: "--color", text: color }, COLOR_WHENS),
  }),
});
