/** Faults that nobody catches, on request: a rejection for SIGUSR1, an exception for SIGUSR2. */
Deno.addSignalListener("SIGUSR1", () => void Promise.reject(new Error("a promise of nobody")));
Deno.addSignalListener("SIGUSR2", () => {
  throw new Error("a callback of nobody");
});
