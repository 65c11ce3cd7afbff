import { spawn } from "node:child_process";
import { describe, expect, test } from "vitest";
import { createBrowser } from "./browser.test.helper.js";
import { program } from "./command.test.helper.js";
import { createLoginWorld, type LoginWorld, urlPrintedIn } from "./login-world.test.helper.js";
import { hasTerminals } from "./terminal.test.helper.js";

interface Typing {
  /** What the terminal shows by now. */
  readonly shown: string;
  type(keys: string): void;
}

/** Runs the command in a terminal. `act` is called at each question, with its number from 1. */
async function runInTerminal(
  world: LoginWorld,
  argv: readonly string[],
  act: (typing: Typing, question: number) => unknown,
): Promise<{ readonly code: number | null; readonly shown: string }> {
  const command = [process.execPath, program, ...argv, ...world.shared].map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    env: { ...world.env, TERM: "xterm" },
    stdio: ["pipe", "pipe", "ignore"],
  });
  let shown = "";
  let questions = 0;
  child.stdout.on("data", (chunk) => {
    shown += String(chunk).replaceAll("\r\n", "\n");
    const asked = shown.match(/(\[y\/N\]|or wait:) /g)?.length ?? 0;
    if (asked <= questions) return;
    questions = asked;
    void act({ shown, type: (keys) => void child.stdin.write(keys) }, questions);
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, shown };
}

describe.skipIf(!hasTerminals)("in a terminal", () => {
  test("ends a sign-in at once at Ctrl+C, and starts the next one normally", async () => {
    const world = await createLoginWorld();
    const login = ["login", "notes", "--trust"];
    const first = await runInTerminal(world, login, ({ type }) => type("\x03"));
    expect(first.code).toBe(130);
    expect(first.shown).toContain("The sign-in to notes was interrupted.");
    const second = await runInTerminal(world, login, ({ shown }) => createBrowser().signIn(urlPrintedIn(shown)));
    expect(second.code).toBe(0);
    // What the command says begins on a line of its own, though the question got no reply.
    expect(second.shown).toMatch(/^Signed in to notes/m);
    expect(world.authorization.count("/reg")).toBe(1);
  });

  test("ends a sign-in at the first Ctrl+C, also at the question whether to generate a key", async () => {
    const { env, ...rest } = await createLoginWorld();
    const { WIRESCOPE_VAULT_KEY: _, ...withoutKey } = env;
    const world = { ...rest, env: withoutKey };
    const { code, shown } = await runInTerminal(world, ["login", "notes", "--trust"], ({ type }) => type("\x03"));
    expect(shown).toContain("Generate a key and store the tokens?");
    expect(shown).toContain("The sign-in to notes was interrupted.");
    expect(shown).not.toContain("Sign in to notes with");
    expect(code).toBe(130);
  });

  test("asks for an approval at the first use, then for a sign-in, and treats the end of the input as no", async () => {
    const world = await createLoginWorld();
    const { code, shown } = await runInTerminal(world, ["call", "notes", "read"], async (typing, question) => {
      if (question === 1) return typing.type("y\r");
      typing.type("\x04");
      return createBrowser().signIn(urlPrintedIn(typing.shown));
    });
    expect(code).toBe(0);
    expect(shown).toMatch(/^milk, eggs$/m);
  });

  test("ends the command at Ctrl+C during a question", async () => {
    const world = await createLoginWorld();
    const { code, shown } = await runInTerminal(world, ["tools", "notes"], ({ type }) => type("\x03"));
    expect(code).toBe(130);
    expect(shown).not.toContain("Sign in to");
  });
});
