import { chmod } from "node:fs/promises";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../clock.js";
import { prepareSandbox, sandboxAdvice } from "../../process/sandbox.js";
import { createScriptFolder } from "../../process/temporary-scripts.test.helper.js";
import { createSecretRegistry } from "../../secrets/redactor.js";
import { type HelperRun, type HelperTask, runHelper } from "./run-helper.js";

/** The result of a helper with this script. */
async function run(script: string, more: Partial<HelperTask> = {}): Promise<HelperRun & { readonly path: string }> {
  const folder = await createScriptFolder();
  const path = more.path ?? (await folder.sh(script));
  const secrets = createSecretRegistry();
  const task: HelperTask = {
    server: "notes",
    url: "https://notes.example/mcp",
    path,
    pluginRoot: folder.path,
    environment: { PATH: process.env.PATH },
    scrubbed: [],
    sandbox: undefined,
    secrets,
    tokens: secrets,
    timeLimitMs: 20_000,
    maxOutputBytes: 65_536,
    clock: systemClock,
    ...more,
  };
  return { ...(await runHelper(task, new AbortController().signal)), path };
}

test("redacts the values of secret variables in the message of a failed helper, but not short settings", async () => {
  const environment = { PATH: process.env.PATH, AUTH: "none", REGION: "eu-west-1", API_KEY: "12345678" };
  const { result } = await run('echo "auth $AUTH, region $REGION, key $API_KEY" >&2; exit 1', { environment });
  expect(result).toHaveProperty("message", expect.stringContaining('"auth none, region eu-west-1, key [redacted]"'));
});

test("redacts what follows Bearer or Basic in the message of a failed helper, however it is separated", async () => {
  const { result } = await run(`echo "Bearer  abc, basic%20def; 'bearer ghi'" >&2; exit 1`);
  expect(result).toHaveProperty(
    "message",
    expect.stringContaining(`"Bearer [redacted], basic [redacted]; 'bearer [redacted]'"`),
  );
});

test("reports a helper without output on standard error by its exit code alone", async () => {
  const { result, path } = await run("exit 3");
  expect(result).toMatchObject({
    code: "HELPER_FAILED",
    message: `The helper of server "notes" (${path}) exited with code 3. Run it in a terminal to see why.`,
  });
});

test("reports a helper that was ended by a signal as failed, even if it printed headers before", async () => {
  const { result, outcome } = await run(`echo '{"X-API-Key": "half-made-key"}'; kill -9 $$`);
  expect(outcome.kind).toBe("signalled");
  expect(result).toMatchObject({ code: "HELPER_FAILED", message: expect.stringContaining("was ended by SIGKILL") });
});

test("advises chmod for a helper that is not executable, and another path for one that is missing", async () => {
  const folder = await createScriptFolder();
  const path = await folder.sh("exit 0");
  await chmod(path, 0o644);
  const denied = await run("", { path });
  expect(denied.result).toMatchObject({
    code: "HELPER_NOT_RUNNABLE",
    message: expect.stringContaining("Make it executable with chmod +x."),
  });
  const missing = await run("", { path: `${folder.path}/gone.sh` });
  expect(missing.result).toMatchObject({
    code: "HELPER_NOT_RUNNABLE",
    message: expect.stringContaining("Check the path in headersHelper, and the first line of the script."),
  });
});

test("advises checking the limits if the system cannot start a helper", async () => {
  const environment = { PATH: process.env.PATH, LARGE: "x".repeat(3_000_000) };
  const { result, outcome } = await run("exit 0", { environment });
  expect(outcome.kind).toBe("not-started");
  expect(result).toMatchObject({
    code: "HELPER_NOT_RUNNABLE",
    message: expect.stringContaining("Check the limits of this machine and of this user."),
  });
});

const probe = await prepareSandbox({ hidden: [], cwd: "/", hidesProcesses: false });

test.skipIf("reason" in probe)("advises moving a helper out of a folder that the sandbox hides", async () => {
  const folder = await createScriptFolder();
  const path = await folder.sh("exit 0");
  const sandbox = await prepareSandbox({ hidden: [dirname(path)], cwd: "/", hidesProcesses: false });
  if ("reason" in sandbox) throw new Error(sandbox.reason);
  const { result, outcome } = await run("", { path, pluginRoot: "/", sandbox });
  expect(outcome.kind).toBe("hidden");
  expect(result).toMatchObject({
    code: "HELPER_NOT_RUNNABLE",
    message: expect.stringContaining(sandboxAdvice.hidden),
  });
});

const until = 1_800_000_000_000;

test.each([
  ["a time", `"${new Date(until).toISOString()}"`],
  ["a time with an offset", '"2027-01-15T09:00:00+01:00"'],
  ["seconds", `${until / 1000}`],
])("[TS-D-HELPER-8] takes the expiry of the headers from a helper that writes %s", async (_, expiresAt) => {
  const { result } = await run(`echo '{"headers": {"X-Key": "key-1"}, "expiresAt": ${expiresAt}}'`);
  expect(result).toEqual({ headers: { "X-Key": "key-1" }, expiresAt: until });
});

test("[TS-HELPER-3, TS-D-HELPER-8] sends headers that are named headers and expiresAt, because a header is a string", async () => {
  const { result } = await run(`echo '{"headers": "a", "expiresAt": "b"}'`);
  expect(result).toEqual({ headers: { headers: "a", expiresAt: "b" }, expiresAt: undefined });
});

test.each(['"tomorrow"', '"2026-01-31T12:00:00"', "-1", "true", "1800000000000"])(
  "[TS-D-HELPER-8] rejects the expiry %s of a helper, with its position",
  async (expiresAt) => {
    const { result } = await run(`echo '{"headers": {"X-Key": "key-1"}, "expiresAt": ${expiresAt}}'`);
    expect(result).toMatchObject({
      code: "HELPER_OUTPUT_INVALID",
      message: expect.stringContaining("wrote an invalid expiresAt, at line 1, column 46"),
    });
  },
);
