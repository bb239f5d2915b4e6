/** What is podfit called by whoever runs it? A plug-in of kubectl is a program of another name. */

/** How the process was started. */
export interface Invocation {
  /** It is one program, made by `deno compile`. */
  readonly isStandalone: boolean;
  /** The program's file. */
  readonly readExecPath: () => string;
  /** URL of the first module. */
  readonly mainModule: string;
}

/** `kubectl podfit` where the file is called kubectl-podfit, as kubectl finds its plug-ins by name; else `podfit`. */
export function readProgramName({ isStandalone, readExecPath, mainModule }: Invocation): string {
  const file = isStandalone ? readExecPath() : mainModule;
  return /(^|[/\\])kubectl-podfit(\.\w+)?$/.test(file) ? "kubectl podfit" : "podfit";
}
