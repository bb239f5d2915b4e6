/** A test that needs a shell: ignored, with the reason in its name, where it is not installed. */

/** As Deno.test(). */
export async function shellTest(shell: string, name: string, fn: () => Promise<void>): Promise<void> {
  const ignore = !await hasProgram(shell);
  Deno.test({ name: ignore ? `${name} [${shell} is not installed: apt-get install ${shell}]` : name, ignore, fn });
}

async function hasProgram(program: string): Promise<boolean> {
  try {
    return (await new Deno.Command(program, { args: ["--version"], stdout: "null", stderr: "null" }).output()).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
