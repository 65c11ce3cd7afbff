import { chmod } from "node:fs/promises";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { prepareSandbox, sandboxAdvice } from "../../process/sandbox.js";
import { createScriptFolder } from "../../process/temporary-scripts.test.helper.js";
import { programTask } from "./program-task.test.helper.js";
import { type HelperRun, type HelperTask, parseHelperOutput, runHelper } from "./run-helper.js";

/** The result of a helper with this script. */
async function run(script: string, more: Partial<HelperTask> = {}): Promise<HelperRun & { readonly path: string }> {
  const folder = await createScriptFolder();
  const path = more.path ?? (await folder.sh(script));
  const task: HelperTask = { ...programTask(folder.path), url: "https://notes.example/mcp", path, ...more };
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

describe("the output of a helper", () => {
  const parse = (output: string) => parseHelperOutput(Buffer.from(output), "The helper");
  const headersOf = (count: number): string =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-${index}`, "s3cret"])));

  test.each([
    ["", "wrote nothing to standard output. It must write one JSON object."],
    [" \r\n", "wrote nothing to standard output. It must write one JSON object."],
    [
      '{"A": "s3cret",}',
      "wrote output that is not JSON, at line 1, column 15. It must write one JSON object and nothing",
    ],
    ['Token:\n{"A": "s3cret"}', "wrote output that is not JSON, at line 1, column 1."],
    ['{"A": "s3cret",\n "A": "s3cret"}', "wrote output that has the same key twice, at line 2, column 2."],
    ["[]", 'wrote an array, not an object. It must write {"Header-Name": "value"}.'],
    ["null", "wrote null, not an object."],
    ['"s3cret"', "wrote a string, not an object."],
    ["{}", 'wrote an empty object. It must write {"Header-Name": "value"}, or exit with a nonzero code'],
    ['{"headers": {}}', "wrote an empty object."],
    [headersOf(65), "wrote 65 headers. The maximum is 64."],
    ['{"s3cret value": "A"}', "wrote an invalid header name: at line 1, column 2, it contains a character"],
    [
      '{"A": "1",\n"Host": "s3cret"}',
      "wrote an invalid header name: at line 2, column 1, it is set by the connection itself.",
    ],
    [
      '{"A": {"B": "s3cret"}}',
      "wrote an object instead of a string, at line 1, column 7. Write the value of A in double",
    ],
    ['{"A": ["s3cret"]}', "wrote an array instead of a string, at line 1, column 7."],
    ['{"A": null}', "wrote null instead of a string, at line 1, column 7."],
    ['{"A": 1}', "wrote a number instead of a string, at line 1, column 7."],
    ['{"headers": {"A": true}}', "wrote a boolean instead of a string, at line 1, column 19."],
    ['{"A": "s3cret\\n"}', ": A cannot be sent, because its value contains a line break at position 7."],
    ['{"A": "s3cret", "a": "s3cret"}', ": a and A are the same header"],
  ])("[TS-D-HELPER-6] rejects %j with a reason and without its content", (output, reason) => {
    try {
      parse(output);
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({ code: "HELPER_OUTPUT_INVALID" });
      expect(String(error)).toContain(`The helper${reason.startsWith(":") ? "" : " "}${reason}`);
      expect(String(error)).not.toContain("s3cret");
    }
  });

  test("[TS-D-HELPER-6] rejects output that is not UTF-8", () => {
    const output = Buffer.concat([Buffer.from('{"A": "'), Buffer.from([0xe9]), Buffer.from('"}')]);
    expect(() => parseHelperOutput(output, "The helper")).toThrow("The helper wrote output that is not UTF-8.");
  });

  test("[TS-HELPER-3] accepts 64 headers, and an envelope without an expiry", () => {
    expect(Object.keys(parse(headersOf(64)).headers)).toHaveLength(64);
    expect(parse('{"headers": {"A": "1"}}')).toEqual({ headers: { A: "1" }, expiresAt: undefined });
  });

  test.each([
    ['"2027-01-15T08:00Z"', until],
    ['"2027-01-15T08:00:00.5Z"', until + 500],
    ["0.5", 500],
    ["99999999999", 99_999_999_999_000],
    ["0", undefined],
    ["100000000000", undefined],
    ['"2027-13-15T08:00:00Z"', undefined],
    ['"at 2027-01-15T08:00:00Z"', undefined],
    ['"2027-01-15T08:00:00Z or later"', undefined],
    ["null", undefined],
    ["[1800000000]", undefined],
  ])("[TS-D-HELPER-8] reads the expiry %s as %s", (expiresAt, expected) => {
    const output = `{"headers": {"A": "1"}, "expiresAt": ${expiresAt}}`;
    if (expected === undefined) expect(() => parse(output)).toThrow("wrote an invalid expiresAt, at line 1, column 38");
    else expect(parse(output).expiresAt).toBe(expected);
  });
});
