import { getEventListeners } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { createFakeClock } from "../fake-clock.test.helper.js";
import { describeOutcome, describeSearch, type NotStarted, type ProcessOutcome } from "./process-outcome.js";
import { type RunOptions, runProcess } from "./run-process.js";
import { allGone, createScriptFolder, isRunning, wordsOf } from "./temporary-scripts.test.helper.js";

const env = { PATH: process.env.PATH ?? "" };
const run = (command: string, options: Partial<RunOptions> = {}): Promise<ProcessOutcome> =>
  runProcess({ command, env, redact: (text) => text, ...options });
const stdoutOf = (outcome: ProcessOutcome): string => ("stdout" in outcome ? outcome.stdout.toString() : outcome.kind);

/** The zombie children of this process. */
function zombies(): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return new RegExp(`\\) Z ${process.pid} `).test(readFileSync(`/proc/${pid}/stat`, "utf8"));
      } catch {
        return false;
      }
    });
}

describe("a run that ends by itself", () => {
  test("reports the code, the output and the last lines of standard error", async () => {
    const { sh } = await createScriptFolder();
    const outcome = await run(await sh("echo out; echo first >&2; echo second >&2; exit 3"));
    expect(outcome).toMatchObject({ kind: "exited", code: 3, stderr: ["first", "second"] });
    expect(stdoutOf(outcome)).toBe("out\n");
    expect(describeOutcome(outcome)).toBe("exited with code 3");
  });

  test("reports the signal that ended a run", async () => {
    const { sh } = await createScriptFolder();
    expect(await run(await sh("kill -s SEGV $$"))).toMatchObject({ kind: "signalled", signal: "SIGSEGV" });
  });

  test("passes arguments unchanged, even if a shell would interpret them", async () => {
    const { node } = await createScriptFolder();
    const args = ["$(id)", "; rm -rf x", "a b", "", "*", "'\"\\", "ü"];
    const outcome = await run(await node("process.stdout.write(JSON.stringify(process.argv.slice(2)))"), { args });
    expect(JSON.parse(stdoutOf(outcome))).toEqual(args);
  });

  test("passes the given environment and no other variable but the mark of its watchdog", async () => {
    const { node } = await createScriptFolder();
    vi.stubEnv("SOMEBODY_ELSES_TOKEN", "not for you");
    const outcome = await run(await node("process.stdout.write(JSON.stringify(process.env))"), {
      env: { "with.dot": "1", GIVEN: "2" },
    });
    vi.unstubAllEnvs();
    const { WIRESCOPE_WATCHDOG: _, ...rest } = JSON.parse(stdoutOf(outcome));
    expect(rest).toEqual({ "with.dot": "1", GIVEN: "2" });
  });

  test("runs in the given directory, and reads the given input or nothing", async () => {
    const { path, sh } = await createScriptFolder();
    const script = await sh("pwd; cat");
    expect(stdoutOf(await run(script, { cwd: path, input: "read me" }))).toBe(`${path}\nread me`);
    expect(stdoutOf(await run(script, { cwd: path }))).toBe(`${path}\n`);
  });

  test("accepts a program that leaves its input unread", async () => {
    const { sh } = await createScriptFolder();
    const outcome = await run(await sh("exec 0<&-; echo done"), { input: Buffer.alloc(1024 * 1024) });
    expect(outcome).toMatchObject({ kind: "exited", code: 0 });
  });

  test("does not apply the time limit while it ends what the run left behind", async () => {
    const { path, sh } = await createScriptFolder();
    const script = await sh(`(trap "" TERM; echo ready > ${path}/ready; while :; do sleep 0.05; done) &
      while [ ! -s ${path}/ready ]; do sleep 0.01; done; echo done`);
    const outcome = await run(script, { timeLimitMs: 5000, graceMs: 100 });
    expect(outcome).toMatchObject({ kind: "exited", code: 0 });
    expect(stdoutOf(outcome)).toBe("done\n");
  });
});

describe("a run that is stopped", () => {
  test("stops a run at its time limit", async () => {
    const { path, sh } = await createScriptFolder();
    const clock = createFakeClock();
    const running = run(await sh(`echo $$ > ${path}/pid; exec sleep 1000`), { clock, timeLimitMs: 10_000 });
    const [pid = ""] = await wordsOf(join(path, "pid"));
    clock.advance(9999);
    expect(isRunning(pid)).toBe(true);
    clock.advance(1);
    expect(await running).toMatchObject({ kind: "timed-out", limitMs: 10_000 });
    expect(isRunning(pid)).toBe(false);
    expect(clock.waiting).toBe(0);
  });

  test("stops a run at its output limit, and drops output beyond the limit", async () => {
    const { sh } = await createScriptFolder();
    const outcome = await run(await sh("exec cat /dev/zero"), { maxOutputBytes: 100_000 });
    expect(outcome).toMatchObject({ kind: "too-much-output", limitBytes: 100_000 });
    expect(stdoutOf(outcome).length).toBeLessThanOrEqual(100_000);
  });

  test("stops a run for its caller, before and while it runs, and leaves no listener on the signal", async () => {
    const { path, sh } = await createScriptFolder();
    const script = await sh(`echo $$ > ${path}/pid; exec sleep 1000`);
    expect(await run(script, { signal: AbortSignal.abort() })).toEqual({ kind: "aborted" });
    const controller = new AbortController();
    const running = run(script, { signal: controller.signal });
    const [pid = ""] = await wordsOf(join(path, "pid"));
    controller.abort();
    expect(await running).toMatchObject({ kind: "aborted" });
    expect(isRunning(pid)).toBe(false);
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
  });

  test("stops a run with all its descendants, also those that ignore TERM", async () => {
    const { path, sh } = await createScriptFolder();
    const stubborn = `trap '' TERM; echo $$ >> ${path}/pids; while :; do sleep 0.05; done`;
    await sh(stubborn, "grandchild.sh");
    const script = await sh(`${path}/grandchild.sh & ${stubborn}`);
    const controller = new AbortController();
    const running = run(script, { signal: controller.signal, graceMs: 50 });
    const pids = await wordsOf(join(path, "pids"), 2);
    controller.abort();
    expect(await running).toMatchObject({ kind: "aborted" });
    await allGone(pids);
  });
});

describe("a run that cannot begin", () => {
  test("reports which folders were searched for a command", async () => {
    const outcome = await run("no-such-program", { env: { PATH: "/usr/bin:relative::/bin" } });
    expect(outcome).toEqual({
      kind: "not-found",
      what: "command",
      path: "no-such-program",
      searched: ["/usr/bin", "/bin"],
    });
    expect(describeOutcome(outcome)).toBe("was not found");
    expect(describeSearch(outcome as NotStarted)).toBe("PATH searched: /usr/bin:/bin.");
  });

  test("reports that the file is not executable, or is a directory", async () => {
    const { path, sh } = await createScriptFolder();
    const script = await sh("true");
    await chmod(script, 0o644);
    expect(await run(script)).toEqual({ kind: "not-executable", path: script, isDirectory: false });
    expect(await run("./", { cwd: path })).toMatchObject({ kind: "not-executable", isDirectory: true });
    expect(await run("script.sh", { env: { PATH: path } })).toMatchObject({ kind: "not-executable", path: script });
  });

  test("reports that the working directory or the interpreter is missing", async () => {
    const { path, sh } = await createScriptFolder();
    const script = await sh("true");
    expect(await run(script, { cwd: join(path, "gone") })).toMatchObject({ kind: "not-found", what: "directory" });
    await writeFile(script, "#!/no/such/interpreter\n");
    expect(await run(script)).toMatchObject({ kind: "not-found", what: "interpreter", path: script });
  });

  test("reports the system's error, and never an argument", async () => {
    const { sh } = await createScriptFolder();
    const script = await sh("true");
    const secret = "s3cret-value";
    const huge = await run(script, { args: [secret.repeat(100_000)] });
    const nul = await run(script, { env: { TOKEN: `${secret}\0` } });
    expect(huge).toMatchObject({ kind: "not-started", reason: "E2BIG" });
    expect(nul).toMatchObject({ kind: "not-started" });
    expect(JSON.stringify([huge, nul])).not.toContain(secret);
  });
});

test("ends what a run left behind, and leaves no zombie", async () => {
  const { path, sh } = await createScriptFolder();
  const script = await sh(`sleep 1000 & echo $! > ${path}/pids; echo done`);
  const outcome = await run(script);
  expect(outcome).toMatchObject({ kind: "exited", code: 0 });
  expect(stdoutOf(outcome)).toBe("done\n");
  await allGone(await wordsOf(join(path, "pids")));
  if (process.platform === "linux")
    await vi.waitFor(() => expect(zombies()).toEqual([]), { timeout: 60_000, interval: 10 });
});

test("lets a daemon with its own session live, and does not wait for the pipes that it holds", async () => {
  const { path, node } = await createScriptFolder();
  const script = await node(`
    const daemon = require("node:child_process").spawn("sleep", ["1000"], { detached: true, stdio: "inherit" });
    require("node:fs").writeFileSync(${JSON.stringify(join(path, "pid"))}, String(daemon.pid));
    process.stdout.write("done", () => process.exit());
  `);
  const outcome = await run(script);
  const [pid = ""] = await wordsOf(join(path, "pid"));
  expect([outcome.kind, stdoutOf(outcome), isRunning(pid)]).toEqual(["exited", "done", true]);
  process.kill(Number(pid), "SIGKILL");
});

test.runIf(process.platform === "linux")("leaves no descriptor open after many runs", async () => {
  const { sh } = await createScriptFolder();
  const script = await sh("echo out; echo err >&2");
  const descriptors = (): number => readdirSync("/proc/self/fd").length;
  await run(script);
  const before = descriptors();
  for (let round = 0; round < 5; round += 1) {
    await Promise.all(Array.from({ length: 8 }, () => run(script, { input: "in" })));
  }
  await vi.waitFor(() => expect(descriptors()).toBeLessThanOrEqual(before), { timeout: 60_000, interval: 10 });
});

test("removes secrets from the errors of a run", async () => {
  const { sh } = await createScriptFolder();
  const redact = (text: string): string => text.replaceAll("hunter2hunter2", "[redacted]");
  const outcome = await run(await sh("echo token hunter2hunter2 is bad >&2; printf '\\033[31mred' >&2"), { redact });
  expect(outcome).toMatchObject({ stderr: ["token [redacted] is bad", "\\x1b[31mred"] });
});
