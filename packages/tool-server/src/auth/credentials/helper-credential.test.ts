import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ResolvedCommand } from "../../config/substitute-entry.js";
import type { TrackOperation } from "../../diagnostics.js";
import { ToolServerError } from "../../errors.js";
import { failureOf } from "../../failure-of.test.helper.js";
import { createFakeClock, type FakeClock } from "../../fake-clock.test.helper.js";
import { prepareSandbox, sandboxAdvice } from "../../process/sandbox.js";
import {
  allGone,
  createScriptFolder,
  type ScriptFolder,
  wordsOf,
} from "../../process/temporary-scripts.test.helper.js";
import { createSecretRegistry, type SecretRegistry } from "../../secrets/redactor.js";
import type { Credential } from "./credential.js";
import { describeCredentialContract } from "./credential-contract.test.helper.js";
import { createHelperCredential, type HelperCredentialOptions, type HelperRunReport } from "./helper-credential.js";

interface World extends ScriptFolder {
  readonly clock: FakeClock;
  readonly secrets: SecretRegistry;
  readonly reports: HelperRunReport[];
  /** Sets the output of the helper from now on. */
  write(output: string | Record<string, string>): Promise<void>;
  /** How often the helper ran. */
  runs(): number;
  credential(options?: Partial<HelperCredentialOptions>): Credential;
}

/** A plugin whose helper records each run and writes the content of `output.json`. */
async function createWorld(secrets: SecretRegistry = createSecretRegistry()): Promise<World> {
  const folder = await createScriptFolder();
  const clock = createFakeClock();
  const reports: HelperRunReport[] = [];
  await folder.sh("echo run >> runs; cat output.json", "helper.sh");
  const write = (output: string | Record<string, string>): Promise<void> =>
    writeFile(join(folder.path, "output.json"), typeof output === "string" ? output : JSON.stringify(output));
  await write({ Authorization: "Bearer fresh-token-1" });
  return {
    ...folder,
    clock,
    secrets,
    reports,
    write,
    runs: () =>
      existsSync(join(folder.path, "runs"))
        ? readFileSync(join(folder.path, "runs"), "utf8").split("\n").length - 1
        : 0,
    credential: (options) =>
      createHelperCredential({
        server: "notes",
        url: "https://notes.example/mcp",
        helper: "./helper.sh",
        pluginRoot: folder.path,
        environment: { PATH: process.env.PATH },
        secrets,
        clock,
        onRun: (report) => reports.push(report),
        ...options,
      }),
  };
}

function tokenUntil(expiresAt: number): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "RS256" })}.${part({ exp: expiresAt / 1000 })}.c2lnbmF0dXJl`;
}

function failureFrom(credential: Credential): Promise<ToolServerError> {
  return failureOf(credential.headers());
}

describeCredentialContract("a helper", async (registry) => {
  const world = await createWorld(registry);
  await world.write({ Authorization: "Bearer fresh-token-1", "X-Signature": "c2lnbmVkLXdpdGg" });
  const environment = { PATH: process.env.PATH, SIGNING_SECRET: "sign-with-this" };
  return {
    credential: world.credential({ environment, headers: [{ name: "X-API-Key", value: "static-key-1" }] }),
    secrets: ["fresh-token-1", "c2lnbmVkLXdpdGg", "static-key-1", "sign-with-this"],
    work: world.runs,
    expire: () => world.clock.advance(300_000),
  };
});

test("[TS-D-HELPER-8] uses headers until the expiry that the helper states, or until that of a token if it is earlier", async () => {
  const world = await createWorld();
  const credential = world.credential();
  const seconds = (ms: number): number => (world.clock.now() + ms) / 1000;
  await world.write(JSON.stringify({ headers: { "X-Key": "key-1" }, expiresAt: seconds(3_600_000) }));
  await credential.headers();
  const [first] = world.reports;
  expect(first?.expiresAt).toBe(world.clock.now() + 3_595_000);
  const token = tokenUntil(world.clock.now() + 7_200_000);
  await world.write(JSON.stringify({ headers: { Authorization: `Bearer ${token}` }, expiresAt: seconds(9_000_000) }));
  world.clock.advance(3_600_000);
  await credential.headers();
  expect(world.runs()).toBe(2);
  expect(world.reports[1]?.expiresAt).toBe(world.clock.now() + 3_595_000);
});

describe("the input of a helper", () => {
  test("[TS-D-HELPER-2] a helper gets the server, the url, the plugin root, and the user's variables without credentials of other servers", async () => {
    const world = await createWorld();
    await world.node(
      `const { HOST_SERVER_NAME, HOST_SERVER_URL, HOST_PLUGIN_ROOT, MINE, OTHERS, WIRESCOPE_KEY } = process.env;
       console.log(JSON.stringify({ "X-Seen": JSON.stringify([HOST_SERVER_NAME, HOST_SERVER_URL, HOST_PLUGIN_ROOT,
         process.cwd(), process.argv.length, MINE, OTHERS ?? "none", WIRESCOPE_KEY ?? "none"]) }))`,
      "helper.sh",
    );
    const headers = await world
      .credential({
        environment: { PATH: process.env.PATH, MINE: "mine", OTHERS: "theirs", WIRESCOPE_KEY: "ours" },
        scrubbed: ["OTHERS"],
      })
      .headers();
    expect(JSON.parse(headers["X-Seen"] ?? "")).toEqual([
      "notes",
      "https://notes.example/mcp",
      world.path,
      world.path,
      2,
      "mine",
      "none",
      "none",
    ]);
  });

  test("[TS-D-HELPER-3] the headers of a helper replace configured ones, regardless of case", async () => {
    const world = await createWorld();
    const credential = world.credential({
      headers: [
        { name: "authorization", value: "Bearer static", variables: ["OLD_TOKEN"] },
        { name: "X-Tenant-ID", value: "acme", variables: ["TENANT_ID"] },
      ],
    });
    expect({ ...(await credential.headers()) }).toEqual({
      "X-Tenant-ID": "acme",
      Authorization: "Bearer fresh-token-1",
    });
    expect(credential.describe().headers).toEqual([
      { name: "X-Tenant-ID", from: "configuration", scheme: undefined, variables: ["TENANT_ID"] },
      { name: "Authorization", from: "helper", scheme: "Bearer", variables: [] },
    ]);
  });
});

test("[TS-HEADER-4, TS-HELPER-4] a helper can sign with the time, create a token, and select a tenant", async () => {
  const world = await createWorld();
  await world.node(
    `const { createHmac } = require("node:crypto");
     const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
     const sign = (text) => createHmac("sha256", process.env.SIGNING_SECRET).update(text).digest("base64url");
     const body = part({ alg: "HS256" }) + "." + part({ exp: 1893459600 });
     const time = "1893456000";
     console.log(JSON.stringify({ "X-Timestamp": time, "X-Signature": sign(time + process.env.HOST_SERVER_URL),
       Authorization: "Bearer " + body + "." + sign(body), "X-Workspace-ID": "blue" }));`,
    "helper.sh",
  );
  const credential = world.credential({ environment: { SIGNING_SECRET: "correct-horse-battery" } });
  const sign = (text: string): string => createHmac("sha256", "correct-horse-battery").update(text).digest("base64url");
  const headers = await credential.headers();
  expect(headers).toMatchObject({
    "X-Timestamp": "1893456000",
    "X-Signature": sign("1893456000https://notes.example/mcp"),
    "X-Workspace-ID": "blue",
  });
  const [, body = "", signature] = /^Bearer (.*)\.(.*)$/.exec(headers.Authorization ?? "") ?? [];
  expect(signature).toBe(sign(body));
  expect(credential.describe().helper?.expiresAt).toBe(1_893_459_600_000 - 5000);
});

describe("the lifetime of helper headers", () => {
  test("[TS-D-HELPER-4] helper headers are used until shortly before their earliest token expires", async () => {
    const world = await createWorld();
    const start = world.clock.now();
    await world.write({
      Authorization: `Bearer ${tokenUntil(start + 3_600_000)}`,
      "X-Auth-Token": tokenUntil(start + 605_000),
    });
    const credential = world.credential();
    await credential.headers();
    expect(credential.describe().helper).toMatchObject({ obtainedAt: start, expiresAt: start + 600_000 });
    world.clock.advance(539_999);
    await credential.headers();
    expect(world.runs()).toBe(1);
    world.clock.advance(60_001);
    await credential.headers();
    expect(world.runs()).toBe(2);
  });

  test("[TS-D-HELPER-4] helper headers without an expiring token are used for the configured time", async () => {
    const world = await createWorld();
    const credential = world.credential({ ttlMs: 100_000 });
    await credential.headers();
    world.clock.advance(79_999);
    await credential.headers();
    expect(world.runs()).toBe(1);
    world.clock.advance(20_001);
    await credential.headers();
    expect(world.runs()).toBe(2);
    expect(world.reports.map(({ cause }) => cause)).toEqual(["first", "renewal"]);
  });

  test.each([
    [100_000, 80_000],
    [600_000, 540_000],
  ])(
    "[TS-D-HELPER-4] a helper whose headers are used for %i ms runs again in the background after %i ms, and not earlier",
    async (ttlMs, renewAfterMs) => {
      const world = await createWorld();
      let started = 0;
      const beforeRun = async (): Promise<void> => {
        started += 1;
      };
      const credential = world.credential({ ttlMs, beforeRun });
      await credential.headers();
      world.clock.advance(renewAfterMs - 1);
      await credential.headers();
      await turn();
      expect(started).toBe(1);
      world.clock.advance(1);
      await credential.headers();
      await turn();
      expect(started).toBe(2);
      await untilReport(world, 2);
      // After a failed renewal, the next one waits for the end of the pause.
      await world.write("no JSON");
      world.clock.advance(renewAfterMs);
      await credential.headers();
      await untilReport(world, 3);
      await credential.headers();
      await turn();
      expect(started).toBe(3);
      world.clock.advance(1000);
      await credential.headers();
      await turn();
      expect(started).toBe(4);
      await credential.dispose();
    },
  );

  test("helper headers are used while the helper renews them in the background", async () => {
    const world = await createWorld();
    await world.sh(
      "echo run >> runs; while [ $(wc -l < runs) -gt 1 ] && [ ! -e go ]; do sleep 0.01; done; cat output.json",
      "helper.sh",
    );
    const credential = world.credential({ ttlMs: 100_000 });
    const old = await credential.headers();
    await world.write({ Authorization: "Bearer fresh-token-2" });
    world.clock.advance(80_000);
    expect(await credential.headers()).toBe(old);
    await wordsOf(join(world.path, "runs"), 2);
    expect(await credential.headers()).toBe(old);
    await writeFile(join(world.path, "go"), "");
    await untilReport(world, 2);
    expect((await credential.headers()).Authorization).toBe("Bearer fresh-token-2");
    expect(world.runs()).toBe(2);
  });

  test("a failed renewal leaves the old headers in use until they expire", async () => {
    const world = await createWorld();
    const credential = world.credential({ ttlMs: 100_000 });
    const old = await credential.headers();
    await world.write("no JSON");
    world.clock.advance(80_000);
    expect(await credential.headers()).toBe(old);
    await untilReport(world, 2);
    expect(await credential.headers()).toBe(old);
    expect(world.runs()).toBe(2);
    world.clock.advance(20_000);
    expect(await failureFrom(credential)).toMatchObject({ code: "HELPER_OUTPUT_INVALID" });
  });

  test("helper headers with an expired token are used for a few seconds, so that not every request runs the helper", async () => {
    const world = await createWorld();
    await world.write({ Authorization: `Bearer ${tokenUntil(world.clock.now() - 1000)}` });
    const credential = world.credential();
    await credential.headers();
    await credential.headers();
    expect(world.runs()).toBe(1);
  });
});

describe("a refusal", () => {
  test.each([401, 403])(
    "[TS-D-HELPER-5] a %i response runs the helper again, once for all refused requests",
    async (status) => {
      const world = await createWorld();
      const credential = world.credential();
      const sent = await credential.headers();
      await world.write({ Authorization: "Bearer fresh-token-2" });
      const again = await Promise.all(
        Array.from({ length: 10 }, async () => {
          expect(await credential.refused({ status, sent, attempt: 1 })).toEqual({ action: "retry" });
          return credential.headers();
        }),
      );
      expect(new Set(again.map((headers) => headers.Authorization))).toEqual(new Set(["Bearer fresh-token-2"]));
      expect(world.runs()).toBe(2);
      expect(world.reports.map(({ cause }) => cause)).toEqual(["first", "refusal"]);
      // A late refusal of headers that are no longer in use runs nothing.
      expect(await credential.refused({ status, sent, attempt: 1 })).toEqual({ action: "retry" });
      expect(await credential.headers()).toBe(again[0]);
      expect(world.runs()).toBe(2);
    },
  );

  test("[TS-D-HELPER-5] a refusal of new headers gives up, and the helper pauses with exponential back-off", async () => {
    const world = await createWorld();
    const credential = world.credential();
    const request = async (): Promise<string> => {
      for (let attempt = 1; ; attempt += 1) {
        const decision = await credential.refused({ status: 401, sent: await credential.headers(), attempt });
        if (decision.action === "give-up") return decision.reason;
      }
    };
    expect(await request()).toContain("rejected the helper's headers again after a new run");
    expect(world.runs()).toBe(2);
    expect(await request()).toContain("runs again with the first request that is rejected after 5 s.");
    expect(world.runs()).toBe(2);
    world.clock.advance(5000);
    expect(await request()).toContain("rejected the helper's headers again after a new run");
    expect(world.runs()).toBe(3);
    world.clock.advance(5000);
    expect(await request()).toContain("runs again with the first request that is rejected after 5 s.");
    expect(world.runs()).toBe(3);
  });

  test("[TS-D-HELPER-5] refusals of the same new headers pause the helper once, and those of older headers do not", async () => {
    const world = await createWorld();
    const credential = world.credential();
    const pause = (): number | undefined => credential.describe().helper?.pausedUntil;
    const older = await credential.headers();
    expect(await credential.refused({ status: 401, sent: older, attempt: 1 })).toEqual({ action: "retry" });
    const sent = await credential.headers();
    expect(await credential.refused({ status: 401, sent: older, attempt: 2 })).toMatchObject({ action: "give-up" });
    expect(pause()).toBeUndefined();
    for (let count = 0; count < 3; count += 1)
      expect(await credential.refused({ status: 401, sent, attempt: 2 })).toMatchObject({ action: "give-up" });
    expect(pause()).toBe(world.clock.now() + 5000);
    world.clock.advance(4999);
    expect(pause()).toBe(world.clock.now() + 1);
    world.clock.advance(1);
    expect(pause()).toBeUndefined();
  });

  test("a refusal after the credential was disposed of gives up", async () => {
    const world = await createWorld();
    const credential = world.credential();
    const sent = await credential.headers();
    await credential.dispose();
    expect(await credential.refused({ status: 401, sent, attempt: 1 })).toMatchObject({
      action: "give-up",
      reason: expect.stringContaining("disposed"),
    });
  });

  test("a status that is not a refusal does not concern the credential, and runs nothing", async () => {
    const world = await createWorld();
    const credential = world.credential();
    const sent = await credential.headers({});
    expect(await credential.refused({ status: 500, sent, attempt: 1 })).toMatchObject({
      action: "give-up",
      reason: "HTTP 500 does not concern the credential.",
    });
    expect(await credential.headers()).toBe(sent);
    expect(world.runs()).toBe(1);
  });

  test("a refusal of the headers of another credential is retried, even before the first run", async () => {
    const world = await createWorld();
    expect(await world.credential().refused({ status: 401, sent: {}, attempt: 1 })).toEqual({ action: "retry" });
    expect(world.runs()).toBe(0);
  });

  test("[TS-D-HELPER-5] headers that the server accepted reset the back-off of refusals", async () => {
    const world = await createWorld();
    const credential = world.credential();
    const pauseAfterRefusals = async (): Promise<number> => {
      for (const attempt of [1, 2])
        await credential.refused({ status: 401, sent: await credential.headers(), attempt });
      return (credential.describe().helper?.pausedUntil ?? 0) - world.clock.now();
    };
    expect(await pauseAfterRefusals()).toBe(5000);
    world.clock.advance(5000);
    expect(await pauseAfterRefusals()).toBe(10_000);
    // The headers were renewed without a refusal in between.
    world.clock.advance(300_000);
    await credential.headers();
    expect(await pauseAfterRefusals()).toBe(5000);
  });

  test("a refusal of headers that worked before runs the helper again without a pause", async () => {
    const world = await createWorld();
    const credential = world.credential();
    for (let served = 1; served <= 4; served += 1) {
      const sent = await credential.headers();
      expect(world.runs()).toBe(served);
      expect(await credential.refused({ status: 401, sent, attempt: 1 })).toEqual({ action: "retry" });
    }
  });
});

const sandbox = await prepareSandbox({ hidden: [], cwd: "/", hidesProcesses: false });
const surroundings = [
  ["without the sandbox", undefined, ""],
  ...("reason" in sandbox ? [] : [["in the sandbox", async () => sandbox, ` ${sandboxAdvice.failed}`] as const]),
] as const;

describe.each(surroundings)("[TS-D-HELPER-7] a helper %s that fails", (_, prepareSandbox, sandboxHint) => {
  async function createSurroundedWorld(): Promise<World> {
    const world = await createWorld();
    return { ...world, credential: (options) => world.credential({ prepareSandbox, ...options }) };
  }

  test("a failing helper is reported with its exit code and the redacted end of its standard error", async () => {
    const world = await createSurroundedWorld();
    const token = tokenUntil(world.clock.now());
    await world.sh(
      `echo "signing with $SIGNING_SECRET" >&2; echo "made ${token}" >&2
       echo "sent Authorization: Bearer opaque1 to them" >&2
       echo '{"X-API-Key": "half-made-key"}'; echo '{"X-API-Key": "half-made-key"}' >&2; exit 3`,
      "helper.sh",
    );
    const credential = world.credential({
      environment: { PATH: process.env.PATH, SIGNING_SECRET: "correct-horse-battery" },
    });
    const error = await failureFrom(credential);
    expect(error).toMatchObject({ code: "HELPER_FAILED" });
    expect(error.message).toBe(
      `The helper of server "notes" (${world.path}/helper.sh) exited with code 3; last lines of standard error: ` +
        `"signing with [redacted] | made [redacted] | sent Authorization: Bearer [redacted] to them | {"X-API-Key": "[redacted]"}". ` +
        `Run it in a terminal to see why.${sandboxHint}`,
    );
    expect(world.reports).toEqual([
      {
        server: "notes",
        path: join(world.path, "helper.sh"),
        program: "helper",
        cause: "first",
        outcome: "exited",
        isSandboxed: prepareSandbox !== undefined,
        code: 3,
        durationMs: 0,
        expiresAt: undefined,
        error,
      },
    ]);
  });

  test("a helper that is missing, not executable, or has no interpreter is reported", async () => {
    const world = await createSurroundedWorld();
    expect(await failureFrom(world.credential({ helper: "gone.sh" }))).toMatchObject({
      code: "HELPER_NOT_RUNNABLE",
      message: expect.stringContaining("was not found"),
    });
    // A program in PATH is not found as a helper.
    expect(await failureFrom(world.credential({ helper: "true" }))).toMatchObject({ code: "HELPER_NOT_RUNNABLE" });
    await chmod(join(world.path, "helper.sh"), 0o644);
    expect((await failureFrom(world.credential())).message).toContain("is not executable");
    await rm(join(world.path, "helper.sh"));
    await writeFile(join(world.path, "helper.sh"), "#!/no/such/shell\n", { mode: 0o755 });
    expect((await failureFrom(world.credential())).message).toContain("the interpreter");
  });

  test("[TS-D-HELPER-1] a helper that exceeds its time limit is stopped with all its child processes", async () => {
    const world = await createSurroundedWorld();
    await world.sh("sleep 1000 & echo $! $$ > pids; echo waiting >&2; wait", "helper.sh");
    const failed = failureFrom(world.credential());
    const pids = await wordsOf(join(world.path, "pids"), 2);
    world.clock.advance(10_000);
    await allGone(pids);
    expect(await failed).toMatchObject({
      code: "HELPER_TIMEOUT",
      message: expect.stringContaining("did not end within 10000 ms"),
    });
    expect(world.reports).toMatchObject([{ outcome: "timed-out", code: undefined, durationMs: 10_000 }]);
    await rm(join(world.path, "pids"));
    const sooner = failureFrom(world.credential({ timeLimitMs: 500 }));
    const more = await wordsOf(join(world.path, "pids"), 2);
    world.clock.advance(500);
    await allGone(more);
    expect((await sooner).message).toContain("did not end within 500 ms");
  });

  test("[TS-D-HELPER-1, TS-D-HELPER-6] a helper that writes too much, or no JSON, is reported", async () => {
    const world = await createSurroundedWorld();
    await world.write({ "X-Long": "x".repeat(2000) });
    expect(await failureFrom(world.credential({ maxOutputBytes: 1000 }))).toMatchObject({
      code: "HELPER_OUTPUT_INVALID",
    });
    await world.write('{"Authorization": "Bearer hunter2hunter2"');
    const error = await failureFrom(world.credential());
    expect(error.message).toContain("is not JSON, at line 1, column 42");
    expect(error.message).not.toContain("hunter2");
  });

  test("a helper that keeps failing pauses with exponential back-off, which a success resets", async () => {
    const world = await createSurroundedWorld();
    await world.write("no JSON");
    const credential = world.credential();
    for (const [restMs, runs] of [
      [1000, 1],
      [2000, 2],
      [4000, 3],
    ] as const) {
      expect((await failureFrom(credential)).message).not.toContain("runs again");
      const paused = await failureFrom(credential);
      expect(paused.message).toContain(`It runs again with the first request after ${restMs / 1000} s.`);
      expect(paused.cause).toMatchObject({ code: "HELPER_OUTPUT_INVALID" });
      expect(world.runs()).toBe(runs);
      expect(credential.describe().helper).toMatchObject({ failures: runs, pausedUntil: world.clock.now() + restMs });
      world.clock.advance(restMs);
    }
    await world.write({ Authorization: "Bearer fresh-token-2" });
    await credential.headers();
    expect(credential.describe().helper).toMatchObject({ failures: 0, pausedUntil: undefined, runs: 4 });
  });
});

describe("[TS-D-SECRET-1] commands that print the values of headers", () => {
  const command = (name: string, program: string, ttlMs?: number): ResolvedCommand => ({
    target: "header",
    name,
    field: `headers.${name}`,
    command: [program, "read"],
    prefix: "",
    timeoutMs: undefined,
    ttlMs,
  });

  test("runs commands one after the other, and uses their headers for the shortest of their times", async () => {
    const world = await createWorld();
    const one = await world.sh("echo one >> order; echo key-of-one", "one.sh");
    const two = await world.sh("echo two >> order; echo key-of-two", "two.sh");
    const commands = [command("X-One", one, 60_000), command("X-Two", two), command("X-Three", two, 90_000)];
    const credential = world.credential({ helper: undefined, commands, headers: [{ name: "x-one", value: "static" }] });
    expect({ ...(await credential.headers()) }).toEqual({
      "X-One": "key-of-one",
      "X-Two": "key-of-two",
      "X-Three": "key-of-two",
    });
    expect(await wordsOf(join(world.path, "order"))).toEqual(["one", "two", "two"]);
    const expiresAt = world.clock.now() + 60_000;
    expect(credential.describe()).toMatchObject({
      kind: "helper",
      summary: `command ${one}, ${two} (X-One, X-Two, X-Three)`,
      helper: { path: one, runs: 1, expiresAt },
    });
    expect(world.reports).toMatchObject([{ path: two, program: "command", outcome: "exited", code: 0, expiresAt }]);
    expect(await credential.refused({ status: 401, sent: {}, attempt: 2 })).toMatchObject({
      reason: expect.stringContaining("rejected the command's headers again"),
    });
  });

  test("uses the headers of commands for five minutes if no command states a time", async () => {
    const world = await createWorld();
    const program = await world.sh("echo the-key", "op.sh");
    const credential = world.credential({ helper: undefined, commands: [command("X-Key", program)] });
    await credential.headers();
    expect(credential.describe().helper?.expiresAt).toBe(world.clock.now() + 300_000);
  });

  test("runs commands before the helper, whose headers take precedence", async () => {
    const world = await createWorld();
    const program = await world.sh("echo the-key", "op.sh");
    const commands = [command("X-Key", program), command("authorization", program)];
    const credential = world.credential({ commands });
    expect({ ...(await credential.headers()) }).toEqual({ "X-Key": "the-key", Authorization: "Bearer fresh-token-1" });
    expect(credential.describe().summary).toBe(`headers helper (${join(world.path, "helper.sh")})`);
    expect(world.reports).toMatchObject([{ path: join(world.path, "helper.sh"), program: "helper" }]);
  });

  test("stops at the first command that fails, and reports it", async () => {
    const world = await createWorld();
    const fails = await world.sh("exit 3", "fails.sh");
    const program = await world.sh("touch ran; echo the-key", "op.sh");
    const error = await failureFrom(world.credential({ commands: [command("X-A", fails), command("X-B", program)] }));
    expect(error.message).toContain(`The command ${fails} for headers.X-A of server "notes" exited with code 3`);
    expect(world.reports).toMatchObject([{ path: fails, outcome: "exited", code: 3, error }]);
    expect([existsSync(join(world.path, "ran")), world.runs()]).toEqual([false, 0]);
  });
});

describe("a caller that gives up on a helper", () => {
  const endless = "echo $$ > pid; exec sleep 1000";

  test("the last caller that gives up stops the helper, which does not count as a failure", async () => {
    const world = await createWorld();
    await world.sh(endless, "helper.sh");
    const credential = world.credential();
    const controllers = [new AbortController(), new AbortController()];
    const results = controllers.map(({ signal }) => credential.headers({ signal }).catch((error: unknown) => error));
    const pids = await wordsOf(join(world.path, "pid"));
    for (const controller of controllers) controller.abort();
    expect(await Promise.all(results)).toEqual(controllers.map(({ signal }) => signal.reason));
    await allGone(pids);
    await world.sh("cat output.json", "helper.sh");
    expect((await credential.headers()).Authorization).toBe("Bearer fresh-token-1");
  });

  test("disposing of the credential rejects callers and stops the helper", async () => {
    const world = await createWorld();
    await world.sh(endless, "helper.sh");
    const credential = world.credential();
    const failed = failureFrom(credential);
    const pids = await wordsOf(join(world.path, "pid"));
    await credential.dispose();
    await allGone(pids);
    expect(await failed).toMatchObject({ code: "CREDENTIAL_CLOSED" });
  });
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function untilReport({ reports }: World, count: number): Promise<void> {
  while (reports.length < count) await new Promise((resolve) => setImmediate(resolve));
}

test("each run of a helper is published with its cause, and whether it failed or was cancelled", async () => {
  const world = await createWorld();
  const operations: object[] = [];
  const track: TrackOperation = (kind, cause, task) => {
    const operation = { kind, cause, outcome: "done" };
    operations.push(operation);
    return task((outcome) => Object.assign(operation, outcome));
  };
  const credential = world.credential({ track, onRun: undefined as never });
  const sent = await credential.headers();
  await world.write("no JSON");
  await credential.refused({ status: 401, sent, attempt: 1 });
  await failureFrom(credential);
  world.clock.advance(1000);
  await world.sh("echo $$ > pid; exec sleep 1000", "helper.sh");
  const controller = new AbortController();
  const result = credential.headers({ signal: controller.signal }).catch((error: unknown) => error);
  await wordsOf(join(world.path, "pid"));
  controller.abort();
  expect(await result).toBe(controller.signal.reason);
  await credential.dispose();
  expect(operations).toEqual([
    { kind: "helper", cause: "first", outcome: "done" },
    { kind: "helper", cause: "refusal", outcome: "failed", code: "HELPER_OUTPUT_INVALID" },
    { kind: "helper", cause: "refusal", outcome: "cancelled", code: "HELPER_FAILED" },
  ]);
  expect(credential.environment()).toEqual({});
  expect(credential.describe()).toMatchObject({ environment: [], headers: [], helper: { expiresAt: undefined } });
});

test("a credential whose run is not allowed runs no helper and says why", async () => {
  const world = await createWorld();
  const refused = new ToolServerError("NOT_TRUSTED", { problem: "It is not approved.", advice: "Approve it." });
  for (const option of ["beforeRun", "prepareSandbox"]) {
    const credential = world.credential({ [option]: () => Promise.reject(refused) });
    expect(await failureFrom(credential)).toBe(refused);
  }
  expect(world.runs()).toBe(0);
});

describe("a helper that cannot be run", () => {
  const toUnix = (path: string): void => void execFileSync("sh", ["-c", "sed -i.bak 's/\\r$//' \"$0\"", path]);

  test.each(["#!/bin/sh", "#!/usr/bin/env sh"])(
    "a helper with Windows line endings in %j is reported, and the advice works",
    async (line) => {
      const world = await createWorld();
      const path = join(world.path, "helper.sh");
      await writeFile(path, `${line}\r\necho '{"Authorization": "Bearer abc-def"}'\r\n`);
      const failure = await failureFrom(world.credential());
      expect(failure.code).toBe("HELPER_NOT_RUNNABLE");
      expect(failure.message).toContain("Its lines end as on Windows (CRLF)");
      expect(failure.message).toContain(`sed -i.bak 's/\\r$//' ${path}`);
      toUnix(path);
      expect(await world.credential().headers()).toMatchObject({ Authorization: "Bearer abc-def" });
    },
  );

  test("the advice about Windows line endings is safe to paste for any file name", async () => {
    const world = await createWorld();
    const helper = "./$(touch pasted); 'x' helper.sh";
    await writeFile(join(world.path, helper), '#!/bin/sh\r\necho \'{"Authorization": "Bearer abc-def"}\'\r\n', {
      mode: 0o755,
    });
    const { message } = await failureFrom(world.credential({ helper }));
    const command = /Convert it: (.+); and keep it so in git/.exec(message)?.[1] ?? "";
    execFileSync("sh", ["-c", command], { cwd: world.path });
    expect(existsSync(join(world.path, "pasted"))).toBe(false);
    expect(await world.credential({ helper }).headers()).toMatchObject({ Authorization: "Bearer abc-def" });
  });

  test("a helper path with arguments is reported", async () => {
    const world = await createWorld();
    const failure = await failureFrom(world.credential({ helper: "./helper.sh --verbose" }));
    expect(failure.message).toContain("headersHelper is a path without arguments");
  });
});
