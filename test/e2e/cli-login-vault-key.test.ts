import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Run, TerminalUser } from "./command.test.helper.js";
import { browsingPerson, createLoginWorld, type LoginWorld } from "./login-world.test.helper.js";
import { runGateway } from "./running-command.test.helper.js";

/** Neither a keychain nor a key: the variable is removed, and the kind requires a key. */
const withoutKey = { WIRESCOPE_VAULT: "file", WIRESCOPE_VAULT_KEY: undefined };
const keyFile = ({ home }: LoginWorld): string => join(home, ".config", "wirescope", "vault.key");
const login = ["login", "notes", "--trust"];

async function expectKept(world: LoginWorld, { code, stderr }: Run): Promise<void> {
  expect(code).toBe(0);
  const [beforeSignIn, ...rest] = stderr.split("Sign in to notes with");
  expect(beforeSignIn).toContain(keyFile(world));
  expect(rest).toHaveLength(1);
  expect(statSync(keyFile(world)).mode & 0o777).toBe(0o600);
  expect(stderr).not.toContain(readFileSync(keyFile(world), "utf8").trim());
  // The next process finds the key, and the tokens by it.
  const next = await world.run(["call", "notes", "read", "--trust"], { env: withoutKey });
  expect(next).toMatchObject({ code: 0, stdout: "milk, eggs\n" });
  expect(world.filesWith(world.authorization.issued)).toEqual([]);
}

test("login offers to generate a key before the browser opens, and the tokens outlive the process", async () => {
  const world = await createLoginWorld();
  const browse = browsingPerson();
  const questions: string[] = [];
  const person: TerminalUser = (question, ...rest) => {
    questions.push(question);
    return browse(question, ...rest);
  };
  await expectKept(world, await world.run(login, { env: withoutKey, person }));
  expect(questions[0]).toBe("Generate a key and store the tokens? [y/N] ");
});

test("login generates a key without a terminal only with the option", async () => {
  const world = await createLoginWorld();
  const refused = await world.run(login, { env: withoutKey });
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(remediesIn(refused)).toEqual(["--create-vault-key"]);
  expect(existsSync(keyFile(world))).toBe(false);
  const person = browsingPerson();
  await expectKept(world, await world.run([...login, "--create-vault-key"], { env: withoutKey, person }));
});

/** What a run advises to do so that tokens can be stored. */
function remediesIn({ stdout, stderr }: Run): string[] {
  return (stdout + stderr).match(/--create-vault-key|WIRESCOPE_VAULT_\w+|Secret Service|reply y/g) ?? [];
}

// A keychain of this machine would be used, and must not be touched by a test.
const mayHaveKeychain = process.platform !== "linux" || process.env.DBUS_SESSION_BUS_ADDRESS !== undefined;

describe.skipIf(mayHaveKeychain)("without a keychain and without a key", () => {
  const env = { WIRESCOPE_VAULT: "", WIRESCOPE_VAULT_KEY: undefined };

  test.each([
    ["nobody can be asked for a key", undefined, "--create-vault-key"],
    ["the user declines a key", async () => "", "reply y"],
  ] as const)("login signs in to nothing, and says what to do, if %s", async (_, person, remedy) => {
    const world = await createLoginWorld();
    const run = await world.run(login, { env, person });
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr).toContain("Tokens cannot be stored");
    expect(remediesIn(run)).toEqual([remedy]);
    expect(run.stderr).not.toContain("Sign in to notes");
    expect(world.authorization.issued).toEqual([]);
    expect(existsSync(keyFile(world))).toBe(false);
  });

  test.each([["call", "notes", "read"], ["tools"], ["status"], ["why", "notes"]])(
    "names the command that stores the sign-in in the advice of %s",
    async (...argv) => {
      const world = await createLoginWorld();
      const run = await world.run([...argv, "--trust"], { env });
      expect(run.code).toBe(1);
      expect(run.stdout + run.stderr).toMatch(/wirescope login notes .*--create-vault-key/);
      expect(remediesIn(run)).toEqual(["--create-vault-key"]);
    },
  );

  test.each([false, true])(
    "the advice of a call works when it is followed, and later advice no longer has the option (with a gateway: %s)",
    async (hasGateway) => {
      const world = await createLoginWorld();
      // It keeps its tokens in memory, so a sign-in of the gateway would not help the call.
      if (hasGateway) await runGateway(["--trust", ...world.shared], { env: { ...world.env, ...env } });
      const call = ["call", "notes", "read", "--trust"];
      expect(remediesIn(await world.run(call, { env }))).toEqual(["--create-vault-key"]);
      const person = browsingPerson();
      expect(await world.run(["login", "notes", "--create-vault-key"], { env, person })).toMatchObject({ code: 0 });
      expect(await world.run(call, { env })).toMatchObject({ code: 0, stdout: "milk, eggs\n" });
      await world.run(["logout", "notes", "--trust"], { env });
      const run = await world.run(call, { env });
      expect(run).toMatchObject({ code: 1, stderr: expect.stringContaining("wirescope login notes") });
      expect(remediesIn(run)).toEqual([]);
    },
  );
});
