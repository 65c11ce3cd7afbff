import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Clock } from "../clock.js";
import { ToolServerError } from "../errors.js";
import { prepareSandbox } from "../process/sandbox.js";
import { createScriptFolder } from "../process/temporary-scripts.test.helper.js";
import { codesOf, explainEntry, firstOf, outcomesOf, startToolServer, trusted } from "./explain.test.helper.js";

const url = "https://api.example.com/mcp";
const bearer = { type: "http", url, headers: { Authorization: "Bearer ${API_TOKEN}" } };

describe("an entry", () => {
  test("that has an error is not walked on, and the place is told", async () => {
    const explained = await explainEntry({ type: "http", url, headers: { Host: "example.com" } });
    expect(firstOf(explained)).toMatchObject({
      cause: "entry-invalid",
      weight: 1,
      mend: { what: "Take it away.", place: { file: "/plugin/.mcp.json", line: 7 } },
    });
    expect(outcomesOf(explained)).toMatchObject({ configuration: "failed", trust: "skipped", http: "skipped" });
  });

  test("that cannot be understood is explained all the same", async () => {
    const explained = await explainEntry("https://api.example.com/mcp");
    expect(firstOf(explained)).toMatchObject({ cause: "entry-invalid", weight: 1 });
    expect(explained.type).toBeUndefined();
  });

  test("[TS-ERR-2] without the prefix of its token is told what to write", async () => {
    const explained = await explainEntry(
      { type: "http", url, headers: { Authorization: "${API_TOKEN}" } },
      { variables: { API_TOKEN: "a-token-of-mine" } },
    );
    expect(firstOf(explained)).toMatchObject({
      cause: "scheme-missing",
      mend: { place: { line: 7 }, write: '"Bearer ${API_TOKEN}"' },
    });
  });

  test("that is not there is an error which names those that are", async () => {
    const failing = explainEntry(bearer, { server: "apy" });
    await expect(failing).rejects.toThrow(/There is no server "apy".*Did you mean "api"\?/);
    await expect(failing).rejects.toMatchObject({ code: "SERVER_UNKNOWN" });
  });
});

describe("a variable", () => {
  test.each([
    ["variable-unset", {}],
    ["variable-empty", { API_TOKEN: "" }],
    ["variable-white-space", { API_TOKEN: "a-token-of-mine\n" }],
    ["scheme-doubled", { API_TOKEN: "Bearer a-token-of-mine" }],
    ["variable-unusable", { API_TOKEN: "${OTHER}" }],
  ] as const)("[TS-ERR-2] is told of as %s, with how to set it", async (cause, variables) => {
    const explained = await explainEntry(bearer, { variables });
    expect(firstOf(explained)).toMatchObject({ cause, weight: 1, mend: { command: "export API_TOKEN=…" } });
    expect(outcomesOf(explained)).toMatchObject({ configuration: "ok", variables: "failed", http: "skipped" });
    expect(JSON.stringify(explained)).not.toContain("a-token-of-mine");
  });

  test("[TS-ERR-2] that holds a placeholder is the cause where the server refuses it", async () => {
    const server = await startToolServer((_, response) => response.writeHead(401).end());
    const explained = await explainEntry(
      { ...bearer, url: server.url.href },
      { variables: { API_TOKEN: "your-token-here" } },
    );
    expect(firstOf(explained)).toMatchObject({
      cause: "variable-placeholder",
      mend: { command: "export API_TOKEN=…" },
    });
  });

  test("that several are unset is told of each", async () => {
    const entry = { type: "http", url, headers: { "X-API-Key": "${API_KEY}", "X-API-Secret": "${API_SECRET}" } };
    const { causes } = await explainEntry(entry, { variables: {} });
    expect(causes.map(({ mend }) => mend.command)).toEqual(["export API_KEY=…", "export API_SECRET=…"]);
  });
});

describe("trust", () => {
  const subject = { fingerprint: {} } as never;
  const approval = { server: "api" } as never;

  test.each([
    ["not-approved", { state: "new", approval, subject }, "wirescope trust api --config other.json"],
    [
      "changed-since-approval",
      { state: "changed", approval, diff: [], subject },
      "wirescope trust api --config other.json",
    ],
    ["denied-by-policy", { state: "denied", rule: { kind: "others", policy: "/etc/policy.json" } }, undefined],
  ] as const)(
    "[TS-D-WHY-4] that is missing (%s) ends the walk before anything is run or connected to",
    async (cause, judgement, command) => {
      const folder = await createScriptFolder();
      const witness = join(folder.path, "ran");
      await folder.sh(`touch ${witness}; echo '{}'`);
      const server = await startToolServer();
      const explained = await explainEntry(
        { type: "http", url: server.url.href, headersHelper: "${HOST_PLUGIN_ROOT}/script.sh" },
        { pluginRoot: folder.path, judgeTrust: async () => judgement, commandArguments: ["--config", "other.json"] },
      );
      expect(firstOf(explained)).toMatchObject({ cause, weight: 1 });
      expect(firstOf(explained).mend.command).toBe(command);
      expect(server.connections).toBe(0);
      await expect(writeFile(witness, "", { flag: "wx" })).resolves.toBeUndefined();
      expect(explained.demands).toEqual([]);
    },
  );

  test("that cannot be judged is told of, and nothing acts", async () => {
    const explained = await explainEntry(bearer, {
      variables: { API_TOKEN: "a-token-of-mine" },
      judgeTrust: async () => {
        throw new ToolServerError("APPROVALS_UNREADABLE", { problem: "The file of approvals is damaged.", advice: "" });
      },
    });
    expect(firstOf(explained)).toMatchObject({
      cause: "trust-unreadable",
      message: "The file of approvals is damaged.",
    });
  });

  test("that is taken back during the walk ends it", async () => {
    const server = await startToolServer();
    let asked = 0;
    const explained = await explainEntry(
      { type: "http", url: server.url.href },
      {
        judgeTrust: async () => {
          asked += 1;
          return asked === 1 ? trusted : { state: "new", approval, subject };
        },
      },
    );
    expect(codesOf(explained)).toEqual(["changed-since-approval"]);
    expect(server.requests).toEqual([]);
  });
});

describe("a helper", () => {
  // Written out, the random name of a folder may be taken for a secret.
  const headersHelper = "${HOST_PLUGIN_ROOT}/script.sh";
  const entryOf = (place = url) => ({ type: "http", url: place, headersHelper });
  /** Time runs forty times as fast, so that a limit of 10 s is here in a moment. */
  const hasty: Clock = {
    now: () => Date.now(),
    after(delayMs, wake) {
      const timer = setTimeout(wake, delayMs / 40);
      return () => clearTimeout(timer);
    },
  };

  test("that is missing has its place told", async () => {
    const folder = await createScriptFolder();
    const explained = await explainEntry(entryOf(), { pluginRoot: folder.path });
    expect(firstOf(explained)).toMatchObject({ cause: "helper-missing", weight: 1, mend: { place: { line: 6 } } });
    expect(outcomesOf(explained).helper).toBe("failed");
  });

  test("that is not executable is made so by a command", async () => {
    const folder = await createScriptFolder();
    const helper = await folder.sh("echo '{}'");
    await chmod(helper, 0o644);
    const explained = await explainEntry(entryOf(), { pluginRoot: folder.path });
    expect(firstOf(explained)).toMatchObject({
      cause: "helper-not-executable",
      mend: { command: `chmod +x ${helper}` },
    });
  });

  test("that fails is run by hand, and its last words are told without secrets", async () => {
    const folder = await createScriptFolder();
    const helper = await folder.sh('echo "no session for $MY_TOKEN" >&2; exit 3');
    const explained = await explainEntry(entryOf(), {
      pluginRoot: folder.path,
      variables: { MY_TOKEN: "a-token-of-mine" },
    });
    expect(firstOf(explained)).toMatchObject({ cause: "helper-failed", mend: { command: helper } });
    const isSandboxed = !("reason" in (await prepareSandbox({ hidden: [], cwd: "/", hidesProcesses: false })));
    const hint = 'it may not work in the sandbox: write "sandbox": false into its entry.';
    expect(firstOf(explained).mend.what.includes(hint)).toBe(isSandboxed);
    expect(firstOf(explained).message).toMatch(/exited with code 3; its last words: "no session for \[redacted\]/);
  });

  test("[TS-D-HELPER-7] that the policy does not let run without a sandbox is told what the sandbox needs", async () => {
    const folder = await createScriptFolder();
    await folder.sh("echo '{}'");
    const sandbox = { rule: async () => "required" as const, searchPath: "/nowhere" };
    const explained = await explainEntry(entryOf(), { pluginRoot: folder.path, sandbox });
    expect(firstOf(explained)).toMatchObject({
      cause: "helper-not-executable",
      message: expect.stringContaining("the policy requires the sandbox"),
      mend: { what: expect.stringMatching(/Install the package bubblewrap|on Linux only/) },
    });
  });

  test("that writes no headers is told the form", async () => {
    const folder = await createScriptFolder();
    const helper = await folder.sh("echo not json");
    const explained = await explainEntry(entryOf(), { pluginRoot: folder.path });
    expect(firstOf(explained)).toMatchObject({ cause: "helper-output-invalid", mend: { command: helper } });
  });

  test("that does not end is told of", async () => {
    const folder = await createScriptFolder();
    const helper = await folder.sh("sleep 600");
    const explained = await explainEntry(entryOf(), { pluginRoot: folder.path, clock: hasty, totalMs: 10_000_000 });
    expect(firstOf(explained)).toMatchObject({ cause: "helper-timeout", mend: { command: `time ${helper}` } });
  });

  test("that is well leads on to the server", async () => {
    const server = await startToolServer();
    const folder = await createScriptFolder();
    await folder.sh(`echo '{"Authorization": "Bearer a-token-of-mine"}'`);
    const explained = await explainEntry(entryOf(server.url.href), { pluginRoot: folder.path });
    expect(explained).toMatchObject({ isWell: true, causes: [] });
    expect(outcomesOf(explained)).toMatchObject({ helper: "ok", credential: "ok", protocol: "ok" });
    expect(server.requests[0]?.headers.authorization).toBe("Bearer a-token-of-mine");
    expect(JSON.stringify(explained)).not.toContain("a-token-of-mine");
  });
});

test("for a gateway that runs, a variable is set by what reaches its process, not by export", async () => {
  const entry = { type: "http", url: "https://a.example.com/mcp", headers: { Authorization: "Bearer ${API_TOKEN}" } };
  const setVariable = (name: string): string => `Set ${name} in the file.`;
  const cause = firstOf(await explainEntry(entry, { variables: {}, setVariable }));
  expect(cause).toMatchObject({
    cause: "variable-unset",
    mend: { what: "Set API_TOKEN in the file." },
  });
  expect(cause.mend.command).toBeUndefined();
  expect(firstOf(await explainEntry(entry, { variables: {} })).mend.command).toBe("export API_TOKEN=…");
});
