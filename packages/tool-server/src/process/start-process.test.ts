import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { createFakeClock } from "../fake-clock.test.helper.js";
import { type RunningProcess, type StartOptions, startProcess } from "./start-process.js";
import { allGone, createScriptFolder, isRunning, wordsOf } from "./temporary-scripts.test.helper.js";

const eventually = { timeout: 60_000, interval: 10 };
const env = { PATH: process.env.PATH ?? "" };

async function start(command: string, options: Partial<StartOptions> = {}): Promise<RunningProcess> {
  const child = await startProcess({ command, env, redact: (text) => text, ...options });
  if (child.kind !== "running") throw new Error(child.kind);
  return child;
}

describe("an orderly end", () => {
  test("lets a child end by itself once its stdin is closed", async () => {
    const { sh } = await createScriptFolder();
    const child = await start(await sh("cat; exit 7"));
    child.stdin?.write("hello");
    const [chunk] = await once(child.stdout, "data");
    expect(String(chunk)).toBe("hello");
    expect(await child.end()).toEqual({ kind: "exited", code: 7 });
  });

  test("sends TERM to a child that ignores the end of its stdin, and KILL to one that ignores TERM", async () => {
    const { path, sh } = await createScriptFolder();
    const clock = createFakeClock();
    const script = await sh(`trap 'echo TERM > ${path}/seen' TERM; echo up; while :; do sleep 0.02; done`);
    const child = await start(script, { clock, exitTimeoutMs: 1000, graceMs: 2000 });
    await once(child.stdout, "data");
    const ending = child.end();
    clock.advance(999);
    expect(readdirSync(path)).toEqual(["script.sh"]);
    clock.advance(1);
    expect(await wordsOf(join(path, "seen"))).toEqual(["TERM"]);
    expect(isRunning(child.pid)).toBe(true);
    const end = await vi.waitFor(async () => {
      clock.advance(100);
      const state = await Promise.race([ending, new Promise((resolve) => setImmediate(resolve, "pending"))]);
      if (state === "pending") throw new Error("not yet");
      return state;
    }, eventually);
    expect(end).toEqual({ kind: "signalled", signal: "SIGKILL" });
  });

  test("ends a child once, however often that is requested", async () => {
    const { sh } = await createScriptFolder();
    const child = await start(await sh("exec sleep 1000"), { exitTimeoutMs: 0 });
    const ends = await Promise.all([child.end(), child.end(), child.ended]);
    expect(new Set(ends).size).toBe(1);
    expect(await child.end()).toEqual({ kind: "signalled", signal: "SIGTERM" });
  });

  test("ends the grandchild behind a shell at once", async () => {
    const { path, sh } = await createScriptFolder();
    const child = await start(await sh(`sleep 1000 & echo $! > ${path}/pid; wait`), { exitTimeoutMs: 0 });
    const pids = await wordsOf(join(path, "pid"));
    await child.end();
    await allGone([child.pid, ...pids]);
  });

  test("ends a child when the signal aborts", async () => {
    const { sh } = await createScriptFolder();
    const controller = new AbortController();
    const child = await start(await sh("exec sleep 1000"), { signal: controller.signal, exitTimeoutMs: 0 });
    controller.abort();
    expect(await child.ended).toEqual({ kind: "signalled", signal: "SIGTERM" });
  });

  test("leaves no process for the watchdog to end", async () => {
    const { sh } = await createScriptFolder();
    const child = await start(await sh("exec cat"));
    expect(child.isGuarded).toBe(true);
    await child.end();
    await vi.waitFor(() => expect(child.isGuarded).toBe(false), eventually);
  });
});

test("reports the code and the last standard error of a child that dies at its start", async () => {
  const { sh } = await createScriptFolder();
  const child = await start(await sh("echo 'cannot open database' >&2; exit 12"));
  expect(await child.ended).toEqual({ kind: "exited", code: 12 });
  expect(child.stderr()).toEqual(["cannot open database"]);
});

describe("the end of this process", () => {
  const index = fileURLToPath(new URL("../../dist/process/start-process.js", import.meta.url));

  /** A process like ours, with a child and a grandchild that ignore every signal except KILL. */
  async function parentOf(path: string, script: string, then = ""): Promise<{ parent: ChildProcess; pids: string[] }> {
    const program = `
      import { startProcess } from ${JSON.stringify(index)};
      const child = await startProcess({ command: ${JSON.stringify(script)}, env: process.env, redact: (text) => text });
      if (child.kind !== "running") throw new Error(child.kind);
      ${then}
      setInterval(() => {}, 1000);
    `;
    const parent = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    return { parent, pids: await wordsOf(join(path, "pids"), 2) };
  }

  async function family(): Promise<{ path: string; script: string }> {
    const { path, sh } = await createScriptFolder();
    const deaf = `trap '' TERM HUP INT PIPE; echo $$ >> ${path}/pids; while :; do sleep 1; done`;
    await sh(deaf, "grandchild.sh");
    return { path, script: await sh(`${path}/grandchild.sh & ${deaf}`) };
  }

  /** The process ids of the watchdogs of a process; on Linux only. */
  function watchdogsOf({ pid }: ChildProcess): string[] {
    if (process.platform !== "linux") return [];
    return readdirSync("/proc").filter((name) => {
      try {
        return (
          /^\d+$/.test(name) &&
          readFileSync(`/proc/${name}/cmdline`, "utf8").includes("wirescope-watchdog") &&
          new RegExp(`\\) \\w ${pid} `).test(readFileSync(`/proc/${name}/stat`, "utf8"))
        );
      } catch {
        return false;
      }
    });
  }

  test("leaves no descendant and no watchdog after KILL", async () => {
    const { path, script } = await family();
    const { parent, pids } = await parentOf(path, script);
    expect(pids.map(isRunning)).toEqual([true, true]);
    const watchdogs = watchdogsOf(parent);
    expect(watchdogs).toHaveLength(process.platform === "linux" ? 1 : 0);
    parent.kill("SIGKILL");
    await once(parent, "exit");
    await allGone([...pids, ...watchdogs]);
  });

  test("leaves no descendant after its own exit with the child still running", async () => {
    const { path, script } = await family();
    const { parent, pids } = await parentOf(
      path,
      script,
      `const { existsSync, readFileSync } = await import("node:fs");
       const pids = ${JSON.stringify(join(path, "pids"))};
       setInterval(() => existsSync(pids) && readFileSync(pids, "utf8").split("\\n").length > 2 && process.exit(), 5);`,
    );
    if (parent.exitCode === null) await once(parent, "exit");
    await allGone(pids);
  });

  test("leaves no descendant after KILL during an orderly end", async () => {
    const { path, script } = await family();
    const { parent, pids } = await parentOf(path, script, "child.end();");
    parent.kill("SIGKILL");
    await once(parent, "exit");
    await allGone(pids);
  });

  test.runIf(process.platform === "linux")(
    "leaves no descendant after KILL before it could register the child with the watchdog",
    async () => {
      const { path, script } = await family();
      const program = `
        import { spawn } from "node:child_process";
        import { startWatchdog } from ${JSON.stringify(index.replace("start-process.js", "process-group.js"))};
        const env = { ...process.env, ...startWatchdog().mark };
        spawn(${JSON.stringify(script)}, { env, detached: true, stdio: "ignore" });
        setInterval(() => {}, 1000);
      `;
      const parent = spawn(process.execPath, ["--input-type=module", "-e", program], {
        stdio: ["ignore", "ignore", "inherit"],
      });
      const pids = await wordsOf(join(path, "pids"), 2);
      parent.kill("SIGKILL");
      await allGone(pids);
    },
  );
});

test.runIf(process.platform === "linux")(
  "reports that a child cannot be started if the limit of open files is reached, with and without a sandbox",
  async () => {
    const index = fileURLToPath(new URL("../../dist/process/start-process.js", import.meta.url));
    const program = `
      import { closeSync, openSync } from "node:fs";
      const { startProcess } = await import(${JSON.stringify(index)});
      const options = { command: "/bin/true", env: {}, redact: (text) => text };
      const sandbox = { path: "/bin/true", args: [], hidden: [], visible: [] };
      // Modules and threads of Node open files at first use.
      for (const more of [{}, { sandbox }]) await (await startProcess({ ...options, ...more })).ended;
      const open = [];
      try {
        for (;;) open.push(openSync("/dev/null"));
      } catch {}
      // The number of free descriptors decides which pipe fails.
      const outcomes = new Set();
      for (let free = 0; free < 30; free += 1) {
        for (const more of [{}, { sandbox }]) {
          const child = await startProcess({ ...options, ...more });
          outcomes.add(child.kind === "not-started" ? child.reason : child.kind);
          await child.ended;
        }
        closeSync(open.pop());
      }
      console.log(JSON.stringify([...outcomes]));
    `;
    const child = spawn("/bin/sh", ["-c", 'ulimit -n 64; exec "$@"', "sh", process.execPath, "--input-type=module"], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    child.stdin.end(program);
    const texts = { stdout: "", stderr: "" };
    child.stdout.on("data", (chunk) => (texts.stdout += String(chunk)));
    child.stderr.on("data", (chunk) => (texts.stderr += String(chunk)));
    const [code] = await once(child, "close");
    expect({ code, stderr: texts.stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(texts.stdout)).toEqual(["EMFILE", "running"]);
  },
);
