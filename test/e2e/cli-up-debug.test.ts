import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, onTestFinished, test } from "vitest";
import { type Run, runCommand } from "./command.test.helper.js";
import { browsingPerson, createLoginWorld, type LoginWorld } from "./login-world.test.helper.js";
import { type RunningGateway, runGateway } from "./running-command.test.helper.js";

const pollOptions = { timeout: 60_000, interval: 50 };
const apiKey = "the-key-of-the-ledger-0123456789";

interface LogLine {
  readonly kind: string;
  readonly server?: string;
  readonly text?: string;
}

/** A gateway to `notes`, behind OAuth, and `ledger`, which gets an API key. */
async function startWorld(
  lifetimeS: number,
  ...more: string[]
): Promise<LoginWorld & { readonly up: RunningGateway; lines(): string[] }> {
  const world = await createLoginWorld({ lifetimeS });
  world.configure({
    notes: { type: "http", url: world.tool.url },
    ledger: { type: "http", url: world.tool.url, headers: { "X-API-Key": "${LEDGER_KEY}", "X-Workspace-ID": "w-77" } },
  });
  const env = { ...world.env, LEDGER_KEY: apiKey };
  const options = ["--json", "--print-token", "--trust", "--log", "json", ...more, ...world.shared];
  const up = await runGateway(options, { env });
  const lines = (): string[] => {
    const whole = up.stderr.slice(0, up.stderr.lastIndexOf("\n") + 1);
    const events = whole.split("\n").flatMap((line): LogLine[] => (line === "" ? [] : [JSON.parse(line)]));
    return events.flatMap(({ kind, server, text }) => (kind === "debug" ? [`${server}: ${text}`] : []));
  };
  return { ...world, up, lines };
}

async function connect({ endpoint, token }: RunningGateway): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "legacy" } });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(endpoint), { requestInit }));
  onTestFinished(() => client.close());
  return client;
}

const readNote = { name: "notes__read", arguments: {} };

function expectNoSecret({ authorization, up, env }: LoginWorld & { readonly up: RunningGateway }): void {
  const secrets = [...authorization.issued, apiKey, "w-77", up.token, env.WIRESCOPE_VAULT_KEY ?? ""];
  expect(authorization.issued.length).toBeGreaterThan(1);
  for (const secret of secrets) expect(up.stderr).not.toContain(secret);
}

test("[TS-DIAG-1] [TS-D-DEBUG-2] up --debug logs sanitized headers, the steps of OAuth, refreshes and errors", async () => {
  // Tokens that are due for renewal after two seconds.
  const world = await startWorld(3, "--debug");
  const { lines, up } = world;
  await expect.poll(lines, pollOptions).toContainEqual(expect.stringMatching(/^notes: failed: .*401/));
  expect(lines()).toContain("ledger: sends X-API-Key: [redacted] (LEDGER_KEY); X-Workspace-ID: [redacted]");
  expect((await world.run(["login", "notes"], { person: browsingPerson() })).code).toBe(0);
  await expect.poll(lines, pollOptions).toContain("notes: connected");
  for (const step of [
    /: Asking the user to sign in with http/,
    /: Signed in\./,
    /: sends Authorization: Bearer \[redacted\] \(oauth\)$/,
  ]) {
    expect(lines()).toContainEqual(expect.stringMatching(step));
  }
  const client = await connect(up);
  const called = async (): Promise<string[]> => {
    await client.callTool(readNote);
    return lines();
  };
  await expect
    .poll(called, { ...pollOptions, interval: 200 })
    .toContainEqual(expect.stringMatching(/^notes: Renewed the token\./));
  expectNoSecret(world);
});

test("[TS-D-DEBUG-2] debug on logs the state of each server and what happens from then on, until debug off", async () => {
  const world = await startWorld(3600);
  const { lines, run, up } = world;
  expect((await run(["login", "notes"], { person: browsingPerson() })).code).toBe(0);
  expect(lines()).toEqual([]);

  const on = ["debug", "on", "--config", world.shared[1] ?? ""];
  const off = ["debug", "off", "--config", world.shared[1] ?? ""];
  expect(await runAlone(world, on)).toMatchObject({ code: 0, stdout: expect.stringContaining("is on. It logs") });
  await expect.poll(lines, pollOptions).toContain("notes: sends Authorization: Bearer [redacted] (oauth)");
  expect(lines()).toContainEqual(expect.stringMatching(/^notes: connected; http.*; auth: OAuth, signed in/));
  expect(JSON.parse((await runAlone(world, [...on, "--json"])).stdout)).toMatchObject({ debug: true, before: true });

  expect(await runAlone(world, off)).toMatchObject({ code: 0, stdout: expect.stringMatching(/ is off\.\n$/) });
  const before = lines().length;
  expect((await (await connect(up)).callTool(readNote)).content).toEqual([{ type: "text", text: "milk, eggs" }]);
  expect((await run(["logout", "notes"])).code).toBe(0);
  await expect.poll(() => up.stderr, pollOptions).toContain('"state":"TRANSIENT_FAILURE"');
  expect(lines()).toHaveLength(before);
  expectNoSecret(world);
});

test("explains how to use debug, and says that no gateway runs", async () => {
  const world = await createLoginWorld();
  expect(await runAlone(world, ["debug"])).toMatchObject({ code: 2, stderr: expect.stringContaining("on or off") });
  expect(await runAlone(world, ["debug", "on"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("wirescope up --debug"),
  });
});

/** Runs a command without the options that servers need. */
function runAlone({ env }: LoginWorld, argv: readonly string[]): Promise<Run> {
  return runCommand(argv, { env });
}
