import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createOAuthWorld } from "../../auth/oauth/oauth-world.test.helper.js";
import { createMemoryVault } from "../../auth/vault/memory-vault.js";
import { type Clock, systemClock } from "../../clock.js";
import { ToolServerError } from "../../errors.js";
import { createScriptFolder, isRunning, wordsOf } from "../../process/temporary-scripts.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import type { TrustDecision } from "../../trust/evaluate-trust.js";
import { explainOptionsOf, startToolServer, trusted } from "../explain.test.helper.js";
import type { ExplainOptions } from "../explanation.js";
import { walkServer } from "./walk-server.js";

const untrusted = {
  state: "new",
  approval: { server: "api" },
  subject: { fingerprint: { files: [] } },
} as unknown as TrustDecision;
const walk = (entry: unknown, options: Partial<ExplainOptions> = {}) => walkServer(explainOptionsOf(entry, options));

describe("a helper", () => {
  const entryOf = (url: string) => ({
    type: "http",
    url,
    headers: { "X-Own": "x" },
    headersHelper: "${HOST_PLUGIN_ROOT}/script.sh",
  });

  test("reports a helper with its path, duration and the names of its own headers", async () => {
    const server = await startToolServer();
    const folder = await createScriptFolder();
    const helper = await folder.sh(`echo '{"X-Token": "a-token-of-mine"}'`);
    const seen = await walk(entryOf(server.url.href), { pluginRoot: folder.path });
    expect(seen.helper).toEqual({
      path: helper,
      program: "helper",
      outcome: "exited",
      durationMs: expect.any(Number),
      headers: ["X-Token"],
    });
    expect(Number.isInteger(seen.helper?.durationMs)).toBe(true);
    expect(seen.attempt?.credential).toBe("helper");
    expect(seen.attempt?.failure).toBeUndefined();
  });

  test.each([
    ["helper", (url: string) => entryOf(url), "script.sh"],
    ["secret command", (url: string) => ({ type: "http", url, headers: { "X-Key": { command: ["./op"] } } }), "op"],
  ])("runs no %s if the entry is no longer trusted", async (_, entry, script) => {
    const server = await startToolServer();
    const folder = await createScriptFolder();
    await folder.sh(`touch ${folder.path}/ran; echo '{"X-Token": "x"}'`, script);
    let asked = 0;
    // Once before the walk, and again right before it runs.
    const evaluateTrust = async () => {
      asked += 1;
      return asked >= 2 ? untrusted : trusted;
    };
    const seen = await walk(entry(server.url.href), { pluginRoot: folder.path, evaluateTrust });
    expect(seen.trust?.state).toBe("changed");
    expect(existsSync(join(folder.path, "ran"))).toBe(false);
    expect(server.requests).toEqual([]);
  });

  test("reports a helper that fails, and checks the host, but not the server", async () => {
    const server = await startToolServer();
    const folder = await createScriptFolder();
    const helper = await folder.sh("exit 3");
    const seen = await walk(entryOf(server.url.href), { pluginRoot: folder.path });
    expect(seen.helper).toMatchObject({
      path: helper,
      program: "helper",
      outcome: "exited",
      headers: [],
      failure: { code: "HELPER_FAILED" },
    });
    expect(seen.network?.connected).toBeDefined();
    expect(seen.attempt).toBeUndefined();
    expect(server.requests).toEqual([]);
  });

  test("reports a helper that does not exist with the path of the entry", async () => {
    const folder = await createScriptFolder();
    const { helper } = await walk(entryOf("http://localhost:1/"), { pluginRoot: folder.path });
    expect(helper).toMatchObject({ path: `${folder.path}/script.sh`, program: "helper", headers: [] });
    expect(helper?.failure).toBeDefined();
  });

  // The helper ignores the first signal to end.
  const ignoring = "trap '' TERM; while :; do sleep 1; done";
  test.each([
    ["helper", (url: string) => entryOf(url), "script.sh", ignoring],
    [
      "command",
      (url: string) => ({ type: "http", url, headers: { "X-Key": { command: ["./op"] } } }),
      "op",
      "sleep 600",
    ],
  ])("waits for the end of a %s that still runs when the walk times out", async (program, entry, script, body) => {
    const server = await startToolServer();
    const folder = await createScriptFolder();
    await folder.sh(`echo $$ > ${folder.path}/pid; ${body}`, script);
    let timeOut = (): void => {};
    const after: Clock["after"] = (delayMs, wake) => {
      if (delayMs !== 5000) return systemClock.after(delayMs, wake);
      timeOut = wake;
      return () => {};
    };
    const clock = { now: systemClock.now, after };
    const walking = walk(entry(server.url.href), { pluginRoot: folder.path, clock, totalMs: 5000, sandbox: false });
    const [pid = ""] = await wordsOf(join(folder.path, "pid"));
    timeOut();
    const { helper } = await walking;
    expect(isRunning(pid)).toBe(false);
    expect(helper).toMatchObject({
      path: expect.stringContaining(`/${script}`),
      program,
      outcome: undefined,
      durationMs: 0,
      headers: [],
      failure: { code: "CALL_TIMEOUT", message: "The diagnosis took longer than 5 s and was stopped." },
    });
    expect(server.requests).toEqual([]);
  });

  test("distinguishes a command for the secret of a header from a helper", async () => {
    const server = await startToolServer();
    const folder = await createScriptFolder();
    await folder.sh("echo a-token-of-mine", "op");
    const entry = (program: string) => ({
      type: "http",
      url: server.url.href,
      headers: { "X-Token": { command: [program, "read"] } },
    });
    const works = await walk(entry("./op"), { pluginRoot: folder.path });
    expect(works.helper).toMatchObject({ program: "command", headers: ["X-Token"] });
    expect(works.helper?.failure).toBeUndefined();
    expect(works.attempt?.failure).toBeUndefined();
    const missing = await walk(entry("./missing"), { pluginRoot: folder.path });
    expect(missing.helper).toMatchObject({ path: expect.stringContaining("missing"), program: "command" });
    expect(missing.helper?.failure).toBeDefined();
  });
});

describe("a stored sign-in", () => {
  const vaultOf = () => {
    let disposed = 0;
    const memory = createMemoryVault();
    const dispose = async () => {
      disposed += 1;
    };
    return { vault: { ...memory, dispose }, disposals: () => disposed };
  };

  test("reports a stored sign-in with its vault, without secrets, and closes the vault", async () => {
    const world = await createOAuthWorld();
    const secrets = createSecretRegistry();
    secrets.add("a-secret-of-mine");
    const { vault, disposals } = vaultOf();
    const describe = () => ({ ...vault.describe(), summary: "At a-secret-of-mine.", warning: "Not a-secret-of-mine." });
    const openVault = async () => ({ ...vault, describe });
    const options = { secrets, oauth: { profile: "test", openVault } };
    const { oauth } = await walk({ type: "http", url: world.tool.url }, options);
    expect(oauth).toMatchObject({
      vault: { summary: "At [redacted].", warning: "Not [redacted]." },
      before: { isSignedIn: false },
    });
    expect(disposals()).toBe(1);
  });

  test("renews a token only with the first request, and reports what OAuth does", async () => {
    const world = await createOAuthWorld();
    await world.session({ server: "api", tenant: "[]" }).signIn(world.person);
    world.authorization.quirks.add("refresh-failing");
    // The token expired.
    const clock = { ...systemClock, now: () => Date.now() + 7_200_000 };
    const openVault = async () => ({ ...world.vault, dispose: async () => {} });
    const options = { secrets: world.secrets, clock, oauth: { profile: "test", openVault } };
    const { network, attempt, oauth } = await walk({ type: "http", url: world.tool.url }, options);
    expect(network?.connected).toBeDefined();
    expect(attempt).toMatchObject({ credential: "oauth", failure: { code: expect.any(String) } });
    expect(oauth?.events).toContainEqual(expect.objectContaining({ kind: "renewal-retry" }));
  });

  test("does not report the command of a client secret as a helper", async () => {
    const world = await createOAuthWorld();
    const folder = await createScriptFolder();
    const client = { clientId: "mine", clientSecret: { command: ["./secret"] } };
    const { helper, attempt } = await walk(
      { type: "http", url: world.tool.url, oauth: client },
      { pluginRoot: folder.path, oauth: { profile: "test", openVault: async () => vaultOf().vault } },
    );
    expect(helper).toBeUndefined();
    expect(attempt).toMatchObject({ credential: "oauth", refusal: { status: 401 } });
  });

  test("reads no sign-in without OAuth, or for an entry with a token", async () => {
    const world = await createOAuthWorld();
    let opened = 0;
    const openVault = async () => {
      opened += 1;
      return vaultOf().vault;
    };
    expect((await walk({ type: "http", url: world.tool.url })).oauth).toBeUndefined();
    const entry = { type: "http", url: world.tool.url, headers: { Authorization: "Bearer ${TOKEN}" } };
    const variables = { TOKEN: "a-token-of-mine" };
    await walk(entry, { variables, oauth: { profile: "test", openVault } });
    expect(opened).toBe(0);
  });

  test("reports a vault that cannot be opened or read, and closes it", async () => {
    const world = await createOAuthWorld();
    const secrets = createSecretRegistry();
    secrets.add("a-secret-of-mine");
    const wrong = new ToolServerError("VAULT_KEY_WRONG", { problem: "Not a-secret-of-mine.", advice: "" });
    const reject = () => Promise.reject(wrong);
    const walkWith = (openVault: NonNullable<ExplainOptions["oauth"]>["openVault"]) =>
      walk({ type: "http", url: world.tool.url }, { secrets, oauth: { profile: "test", openVault } });
    const closed = await walkWith(reject);
    expect(closed.oauth).toEqual({
      vaultFailure: expect.objectContaining({ code: "VAULT_KEY_WRONG", message: "Not [redacted]." }),
      events: [],
    });
    const { vault, disposals } = vaultOf();
    const unreadable = await walkWith(async () => ({ ...vault, get: reject }));
    expect(unreadable.oauth?.vaultFailure).toMatchObject({ code: "VAULT_KEY_WRONG" });
    await expect.poll(disposals).toBe(1);
    await expect(walkWith(() => Promise.reject(new TypeError("A defect.")))).rejects.toThrow("A defect.");
  });
});
