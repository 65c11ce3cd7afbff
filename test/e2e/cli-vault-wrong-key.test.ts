import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test, vi } from "vitest";
import { runCommand } from "./command.test.helper.js";
import { browsingPerson, createLoginWorld, type LoginWorld } from "./login-world.test.helper.js";
import { runGateway } from "./running-command.test.helper.js";
import { serveSmall, smallEntry } from "./small-servers.test.helper.js";

const withoutKey = { WIRESCOPE_VAULT_KEY: undefined };
const login = ["login", "notes", "--trust"];
const vaultOf = ({ home }: LoginWorld): string => join(home, ".local", "share", "wirescope", "tokens", "file");
const keyFile = ({ home }: LoginWorld): string => join(home, ".config", "wirescope", "vault.key");

/** A user who signed in with a key that is in a variable. */
async function createSignedIn(): Promise<LoginWorld> {
  const world = await createLoginWorld();
  expect(await world.run(login, { person: browsingPerson() })).toMatchObject({ code: 0 });
  return world;
}

function writeKeyFile(world: LoginWorld, key = randomBytes(32).toString("base64")): void {
  mkdirSync(dirname(keyFile(world)), { recursive: true });
  writeFileSync(keyFile(world), key, { mode: 0o600 });
}

test("login neither offers nor generates a key while there are tokens that need another one", async () => {
  const world = await createSignedIn();
  const questions: string[] = [];
  const person = async (question: string): Promise<string> => {
    questions.push(question);
    return "y";
  };
  for (const [argv, setting] of [
    [login, { env: withoutKey }],
    [login, { env: withoutKey, person }],
    [[...login, "--create-vault-key"], { env: withoutKey }],
  ] as const) {
    const { code, stderr } = await world.run(argv, setting);
    expect(code).toBe(1);
    expect(stderr).toContain("Set WIRESCOPE_VAULT_KEY to the key that the vault was created with.");
    expect(stderr).toContain(`move ${vaultOf(world)} away`);
    expect(stderr).not.toContain("--create-vault-key");
  }
  expect(questions).toEqual([]);
  expect(existsSync(keyFile(world))).toBe(false);
  // Its advice works: the right key, or no vault.
  expect(await world.run(["call", "notes", "read", "--trust"])).toMatchObject({ code: 0, stdout: "milk, eggs\n" });
  renameSync(vaultOf(world), `${vaultOf(world)}.old`);
  const again = await world.run([...login, "--create-vault-key"], { env: withoutKey, person: browsingPerson() });
  expect(again).toMatchObject({ code: 0 });
});

test("servers that need no tokens work although the key is wrong, and the others say what is wrong", async () => {
  const world = await createSignedIn();
  world.configure({
    notes: { type: "http", url: world.tool.url },
    open: { type: "http", url: await serveSmall() },
    child: smallEntry,
    keyed: { ...smallEntry, env: { KEY: "${input:key}" } },
  });
  writeKeyFile(world);
  const reason = `The vault ${vaultOf(world)} was not created with this key, which is read from the file ${keyFile(world)}.`;
  const expectStatus = (stdout: string): void => {
    // A gateway knows since when.
    const text = stdout.replace(/, failing since \S+Z(?=:)/g, "");
    expect(text).toMatch(/^notes +vault unusable /m);
    expect(text).toMatch(/^keyed +vault unusable /m);
    expect(text).toMatch(/^open +connected /m);
    expect(text).toMatch(/^child +connected /m);
    expect(text).toContain(`notes: The server "notes" refused the request. ${reason}`);
    expect(text).toContain(`keyed: ${reason}`);
  };

  const tools = await world.run(["tools", "--trust"], { env: withoutKey });
  expect(tools).toMatchObject({ code: 1, stderr: expect.stringContaining(reason) });
  expect(tools.stdout).toMatch(/^open +echo /m);
  expect(tools.stdout).toMatch(/^child +echo /m);
  expectStatus((await world.run(["status", "--trust"], { env: withoutKey })).stdout);

  const { WIRESCOPE_VAULT_KEY: _, ...env } = world.env;
  await runGateway(["--trust", ...world.shared], { env });
  // A server whose connection is being retried is briefly "connecting".
  await vi.waitFor(async () => expectStatus((await world.run(["status"], { env: withoutKey })).stdout), {
    timeout: 60_000,
    interval: 100,
  });
});

test("a gateway uses the right key once the key file has it, without a restart", async () => {
  const world = await createSignedIn();
  world.configure({ notes: { type: "http", url: world.tool.url } });
  writeKeyFile(world);
  const { WIRESCOPE_VAULT_KEY: key, ...env } = world.env;
  await runGateway(["--trust", ...world.shared], { env });
  const status = async () => (await world.run(["status"], { env: withoutKey })).stdout;
  const waiting = { timeout: 60_000, interval: 100 };
  await expect.poll(status, waiting).toMatch(/^notes +vault unusable /m);
  writeKeyFile(world, key);
  expect(await runCommand(["reload"], { env })).toMatchObject({ code: 0 });
  await expect.poll(status, waiting).toMatch(/^notes +connected /m);
});
