import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createUserFolder, runCommand, startGateway } from "./command.test.helper.js";
import { smallEntry } from "./small-servers.test.helper.js";
import { createSpyWorld, hasBubblewrap, pathWithout, type SpyWorld, whyNoSpying } from "./spy-server.test.helper.js";

const reason = whyNoSpying();
const noSandbox = reason ?? (hasBubblewrap() ? undefined : "bubblewrap is not installed or not allowed here");

/** The name of a test, with the reason if it cannot run here. */
function named(name: string, skipped: string | undefined): string {
  return skipped === undefined ? name : `${name} (skipped: ${skipped})`;
}

const inSandbox = test.skipIf(noSandbox !== undefined);
const anywhere = test.skipIf(reason !== undefined);

inSandbox(
  named("[TS-OAUTH-5] [TS-D-SUB-9] a server in the sandbox sees no other process, no key and no vault", noSandbox),
  async () => {
    const world = await createSpyWorld();
    const file = world.keyFile();
    const { found, processes, stderr } = await world.spy({ env: { WIRESCOPE_VAULT_KEY_FILE: file }, places: [file] });
    expect(found).toEqual([]);
    // Itself, and the process that waits for it.
    expect(processes).toBe(2);
    expect(stderr).toContain("in the sandbox");
    expect(stderr).not.toContain("Debugger listening");
  },
);

inSandbox(
  named(
    "[TS-OAUTH-5] a helper in the sandbox finds no key and no vault, also not by way of other processes",
    noSandbox,
  ),
  async () => {
    const world = await createSpyWorld();
    const file = world.keyFile();
    world.startNeighbour();
    const env = { WIRESCOPE_VAULT_KEY_FILE: file };
    const { found, processes, stderr } = await world.spy({ as: "helper", env, places: [file] });
    expect(found).toEqual([]);
    // Those of others are not hidden from a helper.
    expect(processes).toBeGreaterThan(2);
    expect(stderr).toContain("Ran the helper in the sandbox to obtain headers: exit code 0");
    expect(stderr).not.toContain("Debugger listening");
  },
);

anywhere.each([
  ["the file that holds the key", (world: SpyWorld) => ({ WIRESCOPE_VAULT_KEY_FILE: world.keyFile() })],
  ["the variable that holds the key", (world: SpyWorld) => ({ WIRESCOPE_VAULT_KEY: world.key })],
])(named("[TS-OAUTH-5] a server without the sandbox does not learn of %s", reason), async (_, envOf) => {
  const world = await createSpyWorld();
  const { found, processes, stderr } = await world.spy({ env: envOf(world), entry: { sandbox: false } });
  expect(processes).toBeGreaterThan(2);
  // The encrypted vault can be read, but neither the process with the key nor its initial environment.
  expect(found.filter((each) => !each.startsWith("file ") || each.includes(" holds "))).toEqual([]);
  expect(stderr).toContain("It runs without a sandbox. Its entry turns the sandbox off.");
  expect(stderr).not.toContain("Debugger listening");
});

anywhere.each([0, 3] as const)(
  named("[TS-OAUTH-5] a key from the descriptor %i is in no file and in no environment", reason),
  async (descriptor) => {
    const world = await createSpyWorld();
    const env = { WIRESCOPE_VAULT_KEY_FD: String(descriptor) };
    const { found } = await world.spy({ env, input: { descriptor, text: world.key }, entry: { sandbox: false } });
    expect(found.filter((each) => !each.startsWith("file ") || each.includes(" holds "))).toEqual([]);
  },
);

inSandbox(
  named(
    "[TS-OAUTH-5] a server gets no file that was open when the command was started, whatever its number",
    noSandbox,
  ),
  async () => {
    const world = await createSpyWorld();
    const file = world.keyFile();
    const { found } = await world.spy({ env: { WIRESCOPE_VAULT_KEY_FILE: file }, openFile: file });
    expect(found).toEqual([]);
  },
);

anywhere(
  named("[TS-OAUTH-5] a machine without bubblewrap runs servers and helpers without, and reports why", reason),
  async () => {
    const world = await createSpyWorld();
    const env = { WIRESCOPE_VAULT_KEY: world.key };
    const path = pathWithout(world.folder);
    const missing = "runs without a sandbox. The sandbox needs bubblewrap (bwrap), which is not in PATH.";
    expect((await world.spy({ env, path })).stderr).toContain(`It ${missing}`);
    expect((await world.spy({ as: "helper", env, path })).stderr).toContain(`Its helper ${missing}`);
  },
);

anywhere(
  named("[TS-OAUTH-5] a machine that denies namespaces runs servers without, and reports why", reason),
  async () => {
    const world = await createSpyWorld();
    const path = pathWithout(world.folder);
    writeFileSync(join(path, "bwrap"), "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n");
    chmodSync(join(path, "bwrap"), 0o755);
    const { stderr } = await world.spy({ env: { WIRESCOPE_VAULT_KEY: world.key }, path });
    expect(stderr).toContain("cannot be used here: bwrap: No permissions to create new namespace.");
  },
);

test("[TS-D-VAULT-1] status says that a server without the sandbox can read a key file, and nothing if the key is in no file", async () => {
  const { folder, home, configure } = createUserFolder();
  const file = configure({
    notes: { type: "http", url: "https://127.0.0.1:1/mcp" },
    small: { ...smallEntry, sandbox: false },
  });
  const keyPath = join(home, ".config", "wirescope", "vault.key");
  const key = randomBytes(32).toString("base64");
  mkdirSync(dirname(keyPath), { recursive: true });
  writeFileSync(keyPath, key, { mode: 0o600 });
  const env = { PATH: pathWithout(folder), HOME: home, WIRESCOPE_VAULT: "file" };
  const status = async (options: readonly string[], more: object = {}): Promise<string> => {
    const run = await runCommand(["status", "--config", file, ...options], { env: { ...env, ...more } });
    return run.stdout.replaceAll(/\s+/g, " ");
  };
  const note = "A stdio server ran without the sandbox, so it could read the stored tokens and their key.";
  expect(await status(["--trust"])).toContain(
    `${note} Its entry turns the sandbox off. The key is in ${keyPath}: let it run`,
  );
  expect(await status(["--trust"], { WIRESCOPE_VAULT_KEY: key })).not.toContain(note);
  const gateway = await startGateway(["--config", file, "--trust", "--port", "0"], { env });
  await expect.poll(() => status([])).toContain(note);
  const through = await status([]);
  expect(through).toContain(`Servers of the gateway at ${new URL(gateway.endpoint).origin}.`);
  expect(through).toContain(keyPath);
});

test("[TS-D-STDIO-1] logs once for all servers why a gateway runs without a sandbox", async () => {
  const { folder, home, configure } = createUserFolder();
  const script = `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    const result = method === "initialize"
      ? { protocolVersion: params.protocolVersion, capabilities: {}, serverInfo: { name: "n", version: "1" } }
      : undefined;
    const outcome = result ? { result } : { error: { code: -32601, message: "no" } };
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
  });`;
  const server = { command: process.execPath, args: ["-e", script] };
  const config = configure({ one: server, two: server, three: { ...server, sandbox: false } });
  const options = ["--config", config, "--trust", "--port", "0", "--log", "json"];
  const gateway = await startGateway(options, { env: { PATH: pathWithout(folder), HOME: home } });
  for (const name of ["one", "two", "three"]) {
    await expect.poll(() => gateway.stderr).toMatch(new RegExp(`"server":"${name}",.*"READY"`));
  }
  gateway.process.kill("SIGTERM");
  await gateway.ended;
  const lines = gateway.stderr.split("\n").filter((line) => line.includes("without a sandbox"));
  expect(lines).toHaveLength(process.platform === "linux" ? 1 : 0);
});
