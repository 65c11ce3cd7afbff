import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { runProcess } from "./run-process.js";
import { ownFolders, prepareSandbox, type Sandbox, sandboxAdvice } from "./sandbox.js";
import { startProcess } from "./start-process.js";
import { allGone, createScriptFolder, isRunning, wordsOf } from "./temporary-scripts.test.helper.js";

const env = { PATH: process.env.PATH ?? "", GREETING: "hello" };
const found = await prepareSandbox({ hidden: [], cwd: "/" });
const skipped = "reason" in found ? ` (skipped: ${found.reason})` : "";

async function sandboxOf(hidden: readonly string[], cwd = "/"): Promise<Sandbox> {
  const sandbox = await prepareSandbox({ hidden, cwd });
  if ("reason" in sandbox) throw new Error(sandbox.reason);
  return sandbox;
}

/** The processes whose arguments name a path. */
function processesOf(path: string): string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, "utf8").includes(path);
    } catch {
      return false;
    }
  });
}

const redact = (text: string): string => text;

describe.skipIf("reason" in found)(`[TS-D-STDIO-1] a program in the sandbox${skipped}`, () => {
  async function run(body: string, hidden: readonly string[] = [], cwd?: string) {
    const { sh, path } = await createScriptFolder();
    const folder = cwd ?? path;
    const command = await sh(body);
    const sandbox = await sandboxOf(hidden, folder);
    const outcome = await runProcess({ command, env, redact, sandbox, cwd: folder, input: "" });
    return { ...outcome, text: "stdout" in outcome ? outcome.stdout.toString() : "" };
  }

  test("runs in its working directory with its variables, and ends with its own code", async () => {
    const { path } = await createScriptFolder();
    const outcome = await run('pwd; echo "$GREETING $LD_PRELOAD"; exit 7', [], path);
    expect(outcome).toMatchObject({ kind: "exited", code: 7, text: `${path}\nhello \n` });
  });

  test("reports the signal that ended a program", async () => {
    expect(await run("kill -KILL $$")).toMatchObject({ kind: "signalled", signal: "SIGKILL" });
  });

  test("hides folders and files under any of their names, and prevents writing there", async () => {
    const { path } = await createScriptFolder();
    mkdirSync(join(path, "real"));
    writeFileSync(join(path, "real", "token"), "secret");
    writeFileSync(join(path, "key"), "secret");
    symlinkSync(join(path, "real"), join(path, "link"));
    const hidden = [join(path, "link", "/"), join(path, "key"), join(path, "new", "/"), join(path, "absent")];
    const { text } = await run(`cd ${path}; cat real/* link/* key; echo x > new/x; ls new; echo end`, hidden);
    expect(text).toBe("end\n");
    expect(readdirSync(join(path, "new"))).toEqual([]);
    expect(readFileSync(join(path, "key"), "utf8")).toBe("secret");
  });

  test("hides a folder that a program moved away, at its next start", async () => {
    const { path } = await createScriptFolder();
    mkdirSync(join(path, "config", "own"), { recursive: true });
    writeFileSync(join(path, "config", "own", "token"), "secret");
    writeFileSync(join(path, "config", "key"), "secret");
    const hidden = [join(path, "config", "own", "/"), join(path, "config", "key")];
    await run(`cd ${path}; mv config once`, hidden);
    await run(`cd ${path}; mv once moved`, hidden);
    const { text } = await run(`cd ${path}; cat moved/key moved/own/token; ls moved moved/own`, hidden);
    expect(text).toBe("moved:\nkey\nown\n\nmoved/own:\n");
    expect(readFileSync(join(path, "moved", "own", "token"), "utf8")).toBe("secret");
    rmSync(join(path, "moved"), { recursive: true });
    expect(await run("exit 3", hidden)).toMatchObject({ code: 3 });
  });

  test.each(["own", "config"])("prevents creating a hidden folder behind a dangling link: %s", async (linked) => {
    const { path } = await createScriptFolder();
    if (linked === "own") mkdirSync(join(path, "config"));
    symlinkSync(join(path, "elsewhere"), linked === "own" ? join(path, "config", "own") : join(path, "config"));
    const own = join(path, "config", "own");
    const { text } = await run(`mkdir -p ${path}/elsewhere/own; echo x > ${own}/code; cat ${own}/code`, [`${own}/`]);
    expect(text).toBe("");
    expect(readdirSync(own)).toEqual([]);
  });

  test("prevents a program from undoing the sandbox", async () => {
    const { path } = await createScriptFolder();
    writeFileSync(join(path, "token"), "secret");
    const attempts = `umount ${path}; umount -l ${path}; unshare -Urm umount ${path}; unshare -m umount ${path}`;
    const { text } = await run(`${attempts}; cat ${path}/token; ls ${path}; echo end`, [join(path, "/")], "/tmp");
    expect(text).toBe("end\n");
  });

  test("shows the program's own folder within a hidden one", async () => {
    const { path } = await createScriptFolder();
    mkdirSync(join(path, "plugin"));
    writeFileSync(join(path, "token"), "secret");
    const { text } = await run("echo x > own; ls . ..", [join(path, "/")], join(path, "plugin"));
    expect(text).toBe(".:\nown\n\n..:\nplugin\n");
    expect(existsSync(join(path, "plugin", "own"))).toBe(true);
  });

  test("shows the content of a hidden folder that is the program's own, except our files and what comes later", async () => {
    const { path } = await createScriptFolder();
    for (const name of ["server.js", "vault.key", "approvals.json", "given"]) writeFileSync(join(path, name), name);
    const later = `echo x > ${path}/server.js; echo y > new; ls`;
    const { text } = await run(later, [join(path, "/"), join(path, "given")], path);
    expect(text).toBe("server.js\n");
    expect(readFileSync(join(path, "server.js"), "utf8")).toBe("x\n");
  });

  test("does not start a program in a hidden folder, nor one without its interpreter", async () => {
    const { path, sh } = await createScriptFolder();
    const command = await sh("exit 0");
    const hidden = await sandboxOf([join(path, "/")]);
    const options = { env, redact };
    expect(await startProcess({ ...options, command, sandbox: hidden })).toMatchObject({
      kind: "hidden",
      folder: path,
    });
    writeFileSync(command, "#!/no/such/interpreter\n");
    const outcome = await startProcess({ ...options, command, sandbox: await sandboxOf([]) });
    expect(outcome).toMatchObject({ kind: "not-found", what: "interpreter" });
  });

  test("keeps the variables out of the arguments and the environment of bubblewrap", async () => {
    const { sh } = await createScriptFolder();
    const given = { ...env, LD_PRELOAD: "", API_TOKEN: "very-secret" };
    const child = await startProcess({
      command: await sh("echo up; exec cat"),
      env: given,
      redact,
      sandbox: await sandboxOf([]),
    });
    if (child.kind !== "running") throw new Error(child.kind);
    await once(child.stdout, "data");
    expect(readFileSync(`/proc/${child.pid}/cmdline`, "utf8")).not.toContain("very-secret");
    expect(readFileSync(`/proc/${child.pid}/environ`, "utf8")).toMatch(/^WIRESCOPE_WATCHDOG=[\w-]+\0$/);
    await child.end();
  });

  test("notices that a program closes its standard output while it runs", async () => {
    const { sh } = await createScriptFolder();
    const command = await sh("echo up; exec >&-; while read -r line; do :; done");
    const child = await startProcess({ command, env, redact, sandbox: await sandboxOf([]) });
    if (child.kind !== "running") throw new Error(child.kind);
    child.stdout.resume();
    await once(child.stdout, "end");
    expect(isRunning(child.pid)).toBe(true);
    await child.end();
  });

  test("gives a program time to end by itself after TERM", async () => {
    const { path, sh } = await createScriptFolder();
    const body = `trap 'echo begun > ${path}/seen; sleep 0.2; echo done >> ${path}/seen; exit 0' TERM; echo up; while :; do sleep 0.02; done`;
    const sandbox = await sandboxOf([]);
    const child = await startProcess({
      command: await sh(body),
      env,
      redact,
      sandbox,
      exitTimeoutMs: 0,
      graceMs: 60_000,
    });
    if (child.kind !== "running") throw new Error(child.kind);
    await once(child.stdout, "data");
    await child.end();
    expect(await wordsOf(join(path, "seen"), 2)).toEqual(["begun", "done"]);
    expect(processesOf(path)).toEqual([]);
  });

  test("shows other processes if that is allowed, but not their variables, and lets a daemon live", async () => {
    const { path, sh } = await createScriptFolder();
    mkdirSync(join(path, "hidden"));
    writeFileSync(join(path, "hidden", "token"), "secret");
    const daemon = await sh(`echo $$ > ${path}/pid; while [ -e ${path}/pid ]; do sleep 0.05; done`, "daemon.sh");
    const command = await sh(`setsid ${daemon} > /dev/null 2>&1 &
      while ! [ -s ${path}/pid ]; do sleep 0.02; done
      test -d /proc/${process.pid} && echo seen
      cat /proc/${process.pid}/environ /proc/${process.pid}/root${path}/hidden/token ${path}/hidden/token
      exit 7`);
    const hidden = [join(path, "hidden", "/")];
    const sandbox = await prepareSandbox({ hidden, cwd: path, hidesProcesses: false });
    if ("reason" in sandbox) throw new Error(sandbox.reason);
    const outcome = await runProcess({ command, env, redact, sandbox, cwd: path });
    expect(outcome).toMatchObject({ kind: "exited", code: 7 });
    expect("stdout" in outcome && outcome.stdout.toString()).toBe("seen\n");
    const [pid = ""] = await wordsOf(join(path, "pid"));
    expect(isRunning(Number(pid))).toBe(true);
    rmSync(join(path, "pid"));
    await allGone([pid]);
  });

  test("ends with all that it started, including daemons and processes that ignore signals", async () => {
    const { path, sh } = await createScriptFolder();
    const deaf = await sh(`trap '' TERM HUP; echo up >> ${path}/up; while :; do sleep 0.05; done`, "deaf.sh");
    const command = await sh(`setsid ${deaf} & ${deaf}`);
    const child = await startProcess({
      command,
      env,
      redact,
      sandbox: await sandboxOf([]),
      exitTimeoutMs: 0,
      graceMs: 100,
    });
    if (child.kind !== "running") throw new Error(child.kind);
    await wordsOf(join(path, "up"), 2);
    await child.end();
    await allGone(processesOf(path));
  });

  test("ends when its parent is killed", async () => {
    const { path, sh } = await createScriptFolder();
    const command = await sh(`trap '' TERM HUP PIPE; echo up > ${path}/up; while :; do sleep 0.05; done`);
    const program = `
      import { prepareSandbox } from ${JSON.stringify(distOf("sandbox.js"))};
      import { startProcess } from ${JSON.stringify(distOf("start-process.js"))};
      const sandbox = await prepareSandbox({ hidden: [], cwd: "/" });
      await startProcess({ command: ${JSON.stringify(command)}, env: process.env, redact: (text) => text, sandbox });
      setInterval(() => {}, 1000);
    `;
    const parent = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    await wordsOf(join(path, "up"));
    const pids = processesOf(path);
    expect(pids.length).toBeGreaterThan(2);
    parent.kill("SIGKILL");
    await allGone(pids);
  });
});

function distOf(name: string): string {
  return fileURLToPath(new URL(`../../dist/process/${name}`, import.meta.url));
}

test("[TS-D-STDIO-1] reports without bubblewrap in PATH that there is no sandbox, and what to install", async () => {
  const absence = await prepareSandbox({ hidden: [], cwd: "/", searchPath: "/nowhere" });
  const reason = process.platform === "linux" ? /needs bubblewrap .* Install the package bubblewrap/ : /on Linux only/;
  expect(absence).toMatchObject({ reason: expect.stringMatching(reason) });
});

test.skipIf("reason" in found)("[TS-D-STDIO-1] tries again to use bubblewrap after it failed", async () => {
  const { path: folder } = await createScriptFolder();
  const { path } = found as Sandbox;
  writeFileSync(join(folder, "bwrap"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  const options = { hidden: [], cwd: "/", searchPath: `${folder}:${dirname(path)}` };
  expect(await prepareSandbox(options)).toMatchObject({ isFixable: true });
  rmSync(join(folder, "bwrap"));
  expect(await prepareSandbox(options)).toMatchObject({ path });
});

test('[TS-D-STDIO-1] gives advice that continues "run it in a terminal to see why"', () => {
  expect(sandboxAdvice.failed).toBe(
    'If it works there, the sandbox may be the reason: turn it off with "sandbox": false.',
  );
});

test("[TS-D-STDIO-1] finds our own folders by the XDG variables, and ignores a relative one", () => {
  const folders = ownFolders({
    HOME: "/home/u",
    XDG_DATA_HOME: "/data",
    XDG_RUNTIME_DIR: "/run/u",
    XDG_CACHE_HOME: "c",
  });
  expect(folders).toEqual([
    "/home/u/.config/wirescope/",
    "/data/wirescope/",
    "/home/u/.cache/wirescope/",
    "/run/u/wirescope/",
  ]);
});
