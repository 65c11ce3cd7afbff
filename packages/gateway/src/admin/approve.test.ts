import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { connect, pollOptions } from "../gateway.test.helper.js";
import type { GatewayConfiguration } from "../servers/gateway-configuration.js";
import { makeEcho, serveModern } from "../tool-servers.test.helper.js";
import {
  type ApprovedProject,
  createApprovedProject,
  explain,
  startTestAdmin,
  type TestAdmin,
} from "./admin.test.helper.js";
import { ConnectivityState, TrustState } from "./client/index.js";

const variable = (name: string): string => `\${${name}}`;

/** A tool server program in the project. */
function writeProgram({ folder }: ApprovedProject, comment: string): void {
  const program = `// ${comment}
import { createInterface } from "node:readline";
const results = {
  initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "tiny", version: "1" } },
  "tools/list": { tools: [{ name: "go", inputSchema: { type: "object" } }] },
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  const result = results[method];
  const response = result === undefined ? { error: { code: -32601, message: "no" } } : { result };
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...response }) + "\\n");
});
`;
  writeFileSync(join(folder, "server.mjs"), program);
}

const entries = (...more: string[]): object => ({
  tools: { command: process.execPath, args: [`${variable("HOST_PLUGIN_ROOT")}/server.mjs`, ...more] },
});

async function startUnapproved(project: ApprovedProject): Promise<TestAdmin> {
  writeProgram(project, "first");
  const world = await startTestAdmin({}, { configurations: [project.write(entries())], secrets: project.secrets });
  await expect.poll(() => world.gateway.servers()[0]?.failure?.code, pollOptions).toBe("NOT_TRUSTED");
  return world;
}

const notWhatWasShown = /\[aborted\] Server "tools" has changed since it was shown.*Review it again/;

describe("approvals", () => {
  test("[TS-D-ADMIN-6] approves exactly what was shown, and starts the server at once for connected clients", async () => {
    const project = createApprovedProject();
    const world = await startUnapproved(project);
    const { admin } = world;
    let changes = 0;
    const client = await connect(world, "legacy", {
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => (changes += 1) } },
    });
    expect((await client.listTools()).tools).toEqual([]);
    const shown = await admin.getApproval({ server: "tools" });
    expect(shown).toMatchObject({ state: TrustState.NEW, changes: [] });
    expect(shown.fingerprint).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(shown.description.join("\n")).toContain("is a local program (stdio)");
    await expect(admin.approve({ server: "tools" })).rejects.toThrow(/\[invalid_argument\].*GetApproval/);
    const { server } = await admin.approve({ server: "tools", fingerprint: shown.fingerprint });
    expect(server?.state).toBe(ConnectivityState.READY);
    await expect.poll(() => changes, pollOptions).toBeGreaterThan(0);
    expect((await client.listTools(undefined, { cacheMode: "refresh" })).tools.length).toBeGreaterThan(0);
    expect(await admin.getApproval({ server: "tools" })).toMatchObject({
      state: TrustState.TRUSTED,
      reason: "approved",
      fingerprint: shown.fingerprint,
      description: [],
    });
  });

  test("[TS-D-ADMIN-6] refuses an approval if a file or the entry has changed since it was shown, and reports the change", async () => {
    const project = createApprovedProject();
    const { admin, gateway } = await startUnapproved(project);
    const { fingerprint } = await admin.getApproval({ server: "tools" });
    writeProgram(project, "another");
    await expect(admin.approve({ server: "tools", fingerprint })).rejects.toThrow(notWhatWasShown);
    expect(gateway.servers()[0]?.state).not.toBe("READY");

    const second = await admin.getApproval({ server: "tools" });
    await admin.approve({ server: "tools", fingerprint: second.fingerprint });
    await gateway.reload([project.write(entries("stdio"))]);
    await expect.poll(() => gateway.servers()[0]?.failure?.code, pollOptions).toBe("NOT_TRUSTED");
    const changed = await admin.getApproval({ server: "tools" });
    expect(changed.state).toBe(TrustState.CHANGED);
    expect(changed.changes).toMatchObject([{ field: "args[1]", after: "stdio" }]);
    expect(changed.description.join("\n")).toMatch(/has changed since approval:\n +args\[1\]\n +\+ "stdio"/);
    await expect(admin.approve({ server: "tools", fingerprint: second.fingerprint })).rejects.toThrow(notWhatWasShown);
    const { server } = await admin.approve({ server: "tools", fingerprint: changed.fingerprint });
    expect(server?.state).toBe(ConnectivityState.READY);
  });
});

test("[TS-D-TRUST-10] requires a new approval after a reload if a variable changes the origin of a URL", async () => {
  const project = createApprovedProject();
  const [first, second] = [await serveModern(makeEcho("first")), await serveModern(makeEcho("second"))];
  const leadingTo = (url: string): GatewayConfiguration =>
    project.write({ api: { type: "http", url: `${variable("API_URL")}/mcp` } }, { API_URL: new URL(url).origin });
  const { admin, gateway } = await startTestAdmin({}, { configurations: [leadingTo(first)], secrets: project.secrets });
  await expect.poll(() => gateway.servers()[0]?.failure?.code, pollOptions).toBe("NOT_TRUSTED");
  const shown = await admin.getApproval({ server: "api" });
  expect(shown.description).toContain(`  origin    ${new URL(first).origin}`);
  const { server } = await admin.approve({ server: "api", fingerprint: shown.fingerprint });
  expect(server?.state).toBe(ConnectivityState.READY);

  await gateway.reload([leadingTo(second)]);
  await expect.poll(() => gateway.servers()[0]?.failure?.code, pollOptions).toBe("NOT_TRUSTED");
  const changed = await admin.getApproval({ server: "api" });
  expect(changed.changes).toMatchObject([
    { field: "origin", before: new URL(first).origin, after: new URL(second).origin },
  ]);
  await expect(admin.approve({ server: "api", fingerprint: shown.fingerprint })).rejects.toThrow(/\[aborted\]/);
  await admin.approve({ server: "api", fingerprint: changed.fingerprint });
  await gateway.reload([leadingTo(first)]);
  await expect.poll(() => gateway.servers()[0]?.state, pollOptions).toBe("READY");
});

test("[TS-D-ADMIN-7] diagnoses a server in Explain with the variables, approvals and last failure of the gateway", async () => {
  const project = createApprovedProject();
  const { admin } = await startUnapproved(project);
  const { explanation: untrusted } = await explain(admin, "tools");
  expect(untrusted).toMatchObject({ server: "tools", well: false });
  expect(untrusted.causes[0]).toMatchObject({
    code: "not-approved",
    fix: { command: expect.stringContaining("wirescope trust tools") },
  });
  const { fingerprint } = await admin.getApproval({ server: "tools" });
  await admin.approve({ server: "tools", fingerprint });
  // Concurrent callers share one diagnosis.
  const [first, same] = await Promise.all([explain(admin, "tools"), explain(admin, "tools")]);
  expect(same).toEqual(first);
  const { steps, explanation: well } = first;
  expect(well).toMatchObject({ well: true, causes: [] });
  expect(well.steps.map(({ name }) => name)).toContain("process");
  expect(steps.map(({ name }) => name).slice(0, 2)).toEqual(["configuration", "trust"]);
});
