/**
 * How is a running container of the load image asked to use more or less?
 */
import type { Kubelet } from "../../../lib/embedded/kubelet/kubelet.ts";
import { type LoadSetting, parseMemory } from "../../../lib/embedded/kubelet/loads.ts";
import type { LoadRef } from "../../../lib/embedded/kubelet/machine.ts";
import type { ProxyToPod } from "./proxy.ts";

/** The load images that run on one node. */
export interface LoadServer {
  /** Throws when no container listens there, and when the new load kills it. */
  readonly set: (container: LoadRef, change: Partial<LoadSetting>) => LoadSetting;
  /** `null` when no container listens there. */
  readonly findLimits: (container: LoadRef) => Limits | null;
  /** Answers `/set?cpu=300&mem=64`, `/limits` and `/` as the program does; `null` when no container listens there. */
  readonly answer: (container: LoadRef, pathAndQuery: string) => Response | null;
}

/** `null` = no limit, or not in this cgroup version. */
export interface Limits {
  readonly cgroupVersion: 1;
  readonly cpuMillicores: number | null;
  readonly memoryBytes: number | null;
  readonly cpuShares: number;
  readonly cpuWeight: null;
}

/** The load images on this kubelet's node. */
export function createLoadServer({ machine, wake }: Pick<Kubelet, "machine" | "wake">): LoadServer {
  const server: LoadServer = {
    set(container, change) {
      machine.advance();
      const found = machine.findLoad(container);
      if (found === null) throw new Error(`Cannot reach ${toText(container)}: connection refused`);
      const setting = { ...found.setting, ...change };
      machine.order(found, setting);
      machine.advance();
      wake();
      if (parseMemory(setting) > (found.state.actual["memory.limits"] ?? Infinity)) {
        throw new Error(`Cannot reach ${toText(container)}: it was killed before it answered`);
      }
      return setting;
    },
    findLimits(container) {
      machine.advance();
      const found = machine.findLoad(container);
      if (found === null) return null;
      const { actual } = found.state;
      return {
        cgroupVersion: 1,
        cpuMillicores: actual["cpu.limits"],
        memoryBytes: actual["memory.limits"],
        cpuShares: Math.max(2, Math.floor((actual["cpu.requests"] ?? 0) * 1024 / 1000)),
        cpuWeight: null,
      };
    },
    answer(container, pathAndQuery) {
      const { pathname, searchParams } = new URL(pathAndQuery, "http://load/");
      const limits = server.findLimits(container);
      if (limits === null) return null;
      if (pathname === "/limits") return Response.json(limits);
      if (pathname !== "/set") return new Response(toLine(machine.findLoad(container)?.setting));
      const change = parseChange(searchParams);
      if (change === null) return new Response("want whole numbers\n", { status: 400 });
      return new Response(toLine(server.set(container, change)));
    },
  };
  return server;
}

/** Requests through the API server's proxy reach the load image of a pod. */
export const PROXY_TO_LOADS: ProxyToPod = (kubelets, container, pathAndQuery) => {
  for (const kubelet of kubelets) {
    const answer = createLoadServer(kubelet).answer(container, pathAndQuery);
    if (answer !== null) return answer;
  }
  return null;
};

function parseChange(params: URLSearchParams): Partial<LoadSetting> | null {
  const [cpu, memory] = [params.get("cpu") ?? "", params.get("mem") ?? ""];
  if (![cpu, memory].every((text) => /^\d*$/.test(text))) return null;
  return {
    ...(cpu === "" ? {} : { cpuMillicores: Number(cpu) }),
    ...(memory === "" ? {} : { memoryMiB: Number(memory) }),
  };
}

function toLine(setting: LoadSetting | undefined): string {
  return `cpu=${setting?.cpuMillicores ?? 0}m mem=${setting?.memoryMiB ?? 0}Mi\n`;
}

function toText({ namespace, name, port }: LoadRef): string {
  return `the load of pod "${namespace}/${name}" at port ${port}`;
}
