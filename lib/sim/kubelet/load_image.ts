/**
 * What the image `localhost/load` does (tests/cluster/images/load): burns CPU and holds MEM as its environment says and
 * as it is asked to while it runs. Only the instance that was asked obeys: its successor reads its environment.
 */
import type { Container } from "../../api/kubernetes.ts";
import type { Curve } from "../model/curve.ts";
import { IDLE, type Load } from "../model/load.ts";

/** The image whose containers use what they are asked to. */
export const LOAD_IMAGE = "localhost/load:1";

/** How much a container of the load image uses. */
export interface LoadSetting {
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
}

/** What a container of the load image does with its environment. */
export type LoadProgram =
  | { readonly kind: "runs"; readonly port: number; readonly setting: LoadSetting }
  /** It cannot work with its environment, and ends. */
  | { readonly kind: "fails"; readonly code: number };

/** `null` for another image. */
export function readProgram({ image, env = [] }: Container): LoadProgram | null {
  if (image !== LOAD_IMAGE) return null;
  const read = (name: string) => env.find((variable) => variable.name === name)?.value ?? "";
  const [cpu, memory, port] = [read("CPU"), read("MEM"), read("PORT") || "8080"];
  if (![cpu, memory].every((text) => /^\+?\d*$/.test(text))) return { kind: "fails", code: 2 };
  if (!(Number(port) > 0 && Number(port) < 65_536)) return { kind: "fails", code: 1 };
  return { kind: "runs", port: Number(port), setting: { cpuMillicores: Number(cpu), memoryMiB: Number(memory) } };
}

/** A setting that an instance was given while it ran. */
export interface Told {
  readonly setting: LoadSetting;
  /** The age of the instance at that time. */
  readonly ageMs: number;
}

/** The load that a program makes, with what its instance was asked to use since. */
export function toLoad(program: LoadProgram, told: Told | null): Load {
  if (program.kind === "fails") return { ...IDLE, exits: { afterMs: 10, code: program.code } };
  const { setting } = program;
  const curve = (read: (setting: LoadSetting) => number): Curve =>
    told === null ? { kind: "constant", value: read(setting) } : {
      kind: "step",
      clock: "container",
      atMs: Math.max(told.ageMs, LEAST_AGE_MS),
      before: read(setting),
      after: read(told.setting),
    };
  return { ...IDLE, cpuMillicores: curve(readCpu), workingSetBytes: curve(readMemory) };
}

/** Beside what it is told: Go's runtime and the timers of its burners (measured). */
function readCpu({ cpuMillicores }: LoadSetting): number {
  return cpuMillicores + IDLE_MILLICORES;
}

/** A program that holds something has a page table and a heap's spans beside it (1.2 and 2.0 MB were measured). */
export function readMemory({ memoryMiB }: LoadSetting): number {
  return memoryMiB * 2 ** 20 + (memoryMiB > 0 ? 2_000_000 : 1_200_000);
}

const IDLE_MILLICORES = 1;
/** The least age: by then it is known that a new instance runs, which keeps to its environment. */
const LEAST_AGE_MS = 300;
