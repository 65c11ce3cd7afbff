import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Run, TerminalUser } from "./command.test.helper.js";
import { browsingPerson, createLoginWorld, type LoginWorld } from "./login-world.test.helper.js";

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
  expect(refused.stderr).toContain("--create-vault-key");
  expect(existsSync(keyFile(world))).toBe(false);
  const person = browsingPerson();
  await expectKept(world, await world.run([...login, "--create-vault-key"], { env: withoutKey, person }));
});

// A keychain of this machine would be used, and must not be touched by a test.
const mayHaveKeychain = process.platform !== "linux" || process.env.DBUS_SESSION_BUS_ADDRESS !== undefined;

test.skipIf(mayHaveKeychain)("login warns that tokens are lost when it exits if the user declines a key", async () => {
  const world = await createLoginWorld();
  const browse = browsingPerson();
  const person: TerminalUser = (question, ...rest) =>
    question.startsWith("Generate a key") ? Promise.resolve("") : browse(question, ...rest);
  const env = { WIRESCOPE_VAULT: "", WIRESCOPE_VAULT_KEY: undefined };
  const { code, stderr } = await world.run(login, { env, person });
  expect(code).toBe(0);
  const [beforeSignIn, ...rest] = stderr.split("Sign in to notes with");
  expect(beforeSignIn).toContain("tokens would be lost when this process ends");
  expect(rest).toHaveLength(1);
  expect(existsSync(keyFile(world))).toBe(false);
});
