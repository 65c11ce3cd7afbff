import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parseConfiguration } from "../../config/parse-configuration.js";
import { createScriptFolder } from "../../process/temporary-scripts.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import type { SandboxRule } from "../../trust/policy.js";
import type { Connection } from "../connection.js";
import { prepareEntrySandbox, type SandboxedProgram, type SandboxSettings } from "./entry-sandbox.js";
import { createToolServers } from "./tool-servers.js";

const nowhere = { hidden: [], searchPath: "/nowhere" };

function settingsOf(rule: SandboxRule, more: SandboxSettings = { hidden: [] }): SandboxSettings {
  return { rule: async () => rule, ...more };
}

async function prepare(settings: SandboxSettings, isEnabled = true, program: SandboxedProgram = "server") {
  const reported: string[] = [];
  const onUnsandboxed = (reason: string): void => void reported.push(reason);
  const sandbox = await prepareEntrySandbox({ settings, server: "s", program, isEnabled, cwd: "/", onUnsandboxed });
  return { sandbox, reported };
}

const { sandbox: available } = await prepare(settingsOf("auto"));

test("[TS-D-STDIO-1] runs a server without a sandbox if its entry or the policy says so, and reports that", async () => {
  expect(await prepare(settingsOf("auto"), false)).toEqual({
    sandbox: undefined,
    reported: ["Its entry turns the sandbox off."],
  });
  expect(await prepare(settingsOf("off"))).toEqual({
    sandbox: undefined,
    reported: ["The policy turns the sandbox off."],
  });
});

test("[TS-D-STDIO-1] runs a server without a sandbox if none is available, and reports that", async () => {
  const missing: string[] = [];
  const { sandbox, reported } = await prepare({ ...nowhere, onMissing: (reason) => void missing.push(reason) });
  expect(sandbox).toBeUndefined();
  expect(reported).toHaveLength(1);
  expect(missing).toEqual(process.platform === "linux" ? reported : []);
});

test.skipIf(available === undefined)(
  `[TS-D-STDIO-2] uses the sandbox if the policy requires it, even if the entry turns it off${available ? "" : " (skipped: no sandbox)"}`,
  async () => {
    expect((await prepare(settingsOf("required"), false)).sandbox).toEqual(available);
  },
);

/** Opens an entry when the policy requires a sandbox and none is available. */
async function openWithoutSandbox(entry: object, pluginRoot: string): Promise<Connection> {
  const secrets = createSecretRegistry();
  const servers = createToolServers({
    configuration: parseConfiguration(JSON.stringify({ notes: entry }), { secrets }),
    variables: { PATH: process.env.PATH },
    pluginRoot,
    secrets,
    assertTrusted: async () => {},
    sandbox: settingsOf("required", nowhere),
    settings: { info: { name: "test", version: "0" } },
  });
  onTestFinished(() => servers.close());
  return servers.open("notes");
}

test("[TS-D-HELPER-7] does not run a helper if the policy requires a sandbox and it is not available", async () => {
  const { path, sh } = await createScriptFolder();
  await sh(`echo started > ${path}/started`, "helper.sh");
  const entry = { type: "http", url: "https://127.0.0.1:1/mcp", headersHelper: "./helper.sh", sandbox: false };
  const connection = await openWithoutSandbox(entry, path);
  await expect(connection.connect()).rejects.toMatchObject({
    code: "HELPER_NOT_RUNNABLE",
    message: expect.stringContaining('The helper of the server "notes" cannot be started: the policy requires the'),
  });
  expect(existsSync(join(path, "started"))).toBe(false);
});

test("[TS-D-STDIO-2] does not start a server if the policy requires a sandbox and it is not available", async () => {
  const { path, sh } = await createScriptFolder();
  const command = await sh(`echo started > ${path}/started`);
  const connection = await openWithoutSandbox({ command, sandbox: false }, path);
  await expect(connection.connect()).rejects.toMatchObject({
    code: "CHILD_NOT_RUNNABLE",
    message: expect.stringContaining('The server "notes" cannot be started: the policy requires the sandbox. '),
  });
});
